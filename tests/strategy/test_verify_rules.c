/* Each rule has plans broken on purpose, which are refused by number, in one line with the operation, the buffer and
 * the rank. */
#include <string.h>

#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"

#define MLP "mlp:sizes=4-4-4-4 "
#define GPT "gpt:layers=2,width=4,heads=2,context=3,vocabulary=5 "
#define MLP_SINGLE MLP "single"
#define MLP_DP MLP "dp ranks=3"
#define MLP_DDP MLP "ddp ranks=3 bucket=64"
#define MLP_DDP_2 MLP "ddp ranks=2 accumulate=2 bucket=64"
#define MLP_ZERO1 MLP "zero1 ranks=4 bucket=64"
#define MLP_ZERO2_2 MLP "zero2 ranks=4 accumulate=2 bucket=64"
#define MLP_ZERO2_CLIP MLP "zero2 ranks=4 clip=1 bucket=64"
#define MLP_ZERO3 MLP "zero3 ranks=4"
#define GPT_SINGLE GPT "single"
#define GPT_DDP GPT "ddp ranks=2"
#define GPT_ZERO3 "gpt:layers=4,width=4,heads=2,context=3,vocabulary=5 zero3 ranks=2"

static void other_algorithm(struct plan *p)
{
	plan_op(p, "1:reduce")->algorithm = SCHEDULE_TREE_REDUCE;
}

static void last_step_added(struct plan *p)
{
	plan_op(p, "linear.backward")->accumulate = 1u << LINEAR_BACKWARD_DWEIGHT;
}

static const struct broken broken[] = {
        {"rule 1 (deadlock)", MLP_DDP, "wait adamw for adamw", "adamw bucket", NULL},
        {"rule 1 (deadlock)", MLP_DDP, "wait linear.backward for all_reduce", "backward layer", NULL},
        {"rule 1 (deadlock)", MLP_DDP, "wait all_reduce for advance", "all_reduce bucket", NULL},
        {"rule 1 (deadlock)", MLP_DDP, "wait load for prologue/initialize", "load", NULL},
        {"rule 1 (deadlock)", MLP_DDP, "wait all_reduce for alloc", "all_reduce bucket", NULL},
        {"rule 1 (deadlock)", MLP_DP, "drop 1:reduce", "reduce all", NULL},
        {"rule 2 (matching)", MLP_DP, "move 1:gather to 1:gather+1", "gather", NULL},
        {"rule 2 (matching)", MLP_DP, "set 1:broadcast root 1", "broadcast all", NULL},
        {"rule 2 (matching)", MLP_DP, NULL, "reduce all", other_algorithm},
        {"rule 2 (matching)", MLP_DP, "set 1:scatter.y count -1", "scatter", NULL},
        {"rule 2 (matching)", MLP_DDP, "set all_reduce payload +1", "all_reduce bucket", NULL},
        {"rule 2 (matching)", MLP_DDP, "set linear.forward#1.x count -1", "forward layer.1.linear", NULL},
        {"rule 2 (matching)", MLP_DDP, "set linear.forward#1 queue host", "forward layer.1.linear", NULL},
        {"rule 2 (matching)", MLP_DDP, "set all_reduce.staging count /2", "all_reduce bucket", NULL},
        {"rule 2 (matching)", MLP_DDP, "set all_reduce.staging type bf16", "broadcast bucket", NULL},
        {"rule 2 (matching)", MLP_ZERO3, "set reduce_scatter.y count -2", "reduce_scatter layer", NULL},
        {"rule 2 (matching)", MLP_SINGLE, "set load.targets type fp32", "load", NULL},
        {"rule 3 (lifetime)", MLP_SINGLE, "move free to classifier", "classifier", NULL},
        {"rule 3 (lifetime)", MLP_SINGLE, "drop alloc#2", "forward layer.0", NULL},
        {"rule 3 (lifetime)", MLP_SINGLE, "double free#1", "free", NULL},
        {"rule 3 (lifetime)", MLP_SINGLE, "drop free#1", "alloc", NULL},
        {"rule 3 (lifetime)", MLP_SINGLE, "set alloc#1.buffer state 1", "", NULL},
        {"rule 3 (lifetime)", MLP_SINGLE,
         "put free#1.buffer prologue/initialize.weights, set free#1.buffer count 60, set free#1.buffer offset 0",
         "free", NULL},
        {"rule 4 (race)", MLP_DDP, "unwait adamw", "adamw bucket", NULL},
        {"rule 4 (race)", MLP_DDP, "unwait all_reduce", "all_reduce bucket", NULL},
        {"rule 4 (race)", MLP_ZERO1, "unwait all_gather#1", "all_gather bucket", NULL},
        {"rule 4 (race)", MLP_ZERO3, "unwait linear.forward", "forward layer.0", NULL},
        {"rule 4 (race)", MLP_DDP,
         "put linear.backward.dbias linear.backward.dweight, set linear.backward.dbias count 4", "backward layer.2",
         NULL},
        {"rule 5 (gradient)", MLP_DDP, "drop all_reduce#1", "adamw bucket", NULL},
        {"rule 5 (gradient)", MLP_DDP, "double all_reduce#1", "all_reduce bucket", NULL},
        {"rule 5 (gradient)", MLP_DDP_2, "set linear.backward#3 accumulate 0", "bucket", NULL},
        {"rule 5 (gradient)", MLP_SINGLE, NULL, "backward layer.2", last_step_added},
        {"rule 5 (gradient)", GPT_SINGLE, "set embedding.backward accumulate 0", "adamw root", NULL},
        {"rule 5 (gradient)", MLP_ZERO2_2, "drop add", "adamw bucket", NULL},
        {"rule 5 (gradient)", MLP_DDP, "set classifier scale *2", "classifier", NULL},
        {"rule 5 (gradient)", MLP_DDP, "drop sum", "'loss'", NULL},
        {"rule 5 (gradient)", MLP_ZERO2_CLIP, "drop sum#1", "adamw bucket", NULL},
        {"rule 5 (gradient)", MLP_DDP, "drop evaluate/evaluate", "evaluate", NULL},
        {"rule 6 (version)", MLP_ZERO1, "drop all_gather#1", "'parameters'", NULL},
        {"rule 6 (version)", MLP_DDP, "drop adamw#1", "'parameters'", NULL},
        {"rule 6 (version)", MLP_DDP, "double adamw#1", "adamw bucket", NULL},
        {"rule 6 (version)", MLP_SINGLE, "drop prologue/initialize#1", "forward layer.1", NULL},
        {"rule 6 (version)", MLP_SINGLE, "put linear.forward#1.weight linear.forward#2.weight", "forward layer.1",
         NULL},
        {"rule 6 (version)", MLP_SINGLE, "put adamw#1.first adamw#2.first", "adamw layer.2", NULL},
        {"rule 6 (version)", MLP_SINGLE, "move advance to end", "adamw layer.0", NULL},
        {"rule 6 (version)", MLP_ZERO3, "double epilogue/weights", "weights", NULL},
        {"rule 7 (saved)", MLP_SINGLE, "put linear.backward#1.x load.inputs", "backward layer.1", NULL},
        {"rule 7 (saved)", MLP_SINGLE, "drop linear.forward#1", "forward layer.2", NULL},
        {"rule 7 (saved)", GPT_DDP, "put norm.backward#1.statistics norm.forward#1.statistics", "backward block.1.ln_2",
         NULL},
        {"rule 7 (saved)", MLP_SINGLE, "put linear.forward#1.pre linear.forward#0.pre", "backward layer.1", NULL},
        {"rule 7 (saved)", MLP_DP, "set linear.forward.x offset +4", "forward layer.0", NULL},
};

/* The line names rule, operation, buffer and rank. */
static void assert_place(const char *rule)
{
	const char *line = status_message();
	ck_assert_msg(!strncmp(line, rule, strlen(rule)) && !strncmp(line + strlen(rule), ": operation ", 12), "%s",
	              line);
	ck_assert_msg(strstr(line, "buffer '") && strstr(line, "(rank ") && strstr(line, " of role "), "%s", line);
	ck_assert_msg(strchr(line, '\n') == NULL && strlen(line) < 1000, "%s", line);
}

/* Role 1 is the workers', where there is a root. */
START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	must_be_refused(&broken[_i]);
	assert_place(broken[_i].rule);
}

/* ---- rule 8: the plan is right, and its layout is not ---- */

static int buffer_of(const struct plan *p, const char *operand)
{
	return plan_operand((struct plan *)(uintptr_t)p, operand)->buffer;
}
static void same_bytes(const struct plan *p, struct layout *l)
{
	l->offset[buffer_of(p, "linear.forward.y")] = l->offset[buffer_of(p, "linear.forward.x")];
}
static void bytes_of_state(const struct plan *p, struct layout *l)
{
	l->offset[buffer_of(p, "linear.forward.x")] = l->offset[buffer_of(p, "prologue/initialize.weights")];
}
static void unaligned(const struct plan *p, struct layout *l)
{
	l->offset[buffer_of(p, "linear.forward.x")] += 4;
}
static void outside(const struct plan *p, struct layout *l)
{
	l->offset[buffer_of(p, "linear.forward.x")] = l->arena_bytes[SPACE_DEVICE];
}
/* Freed, but the communication queue may still be sending it. */
static void still_on_its_way(const struct plan *p, struct layout *l)
{
	const struct role *r = &p->roles[0];
	/* Buffers allocated during the reduce-scatter take the bytes of its input. */
	int freed = buffer_of(p, "reduce_scatter.x"), at = r->step.begin;
	while (r->ops[at].kind != OP_REDUCE_SCATTER)
		at++;
	for (; r->ops[at].kind != OP_FREE || op_buffer(&r->ops[at]) != freed; at++)
		if (r->ops[at].kind == OP_ALLOC)
			l->offset[op_buffer(&r->ops[at])] = l->offset[freed];
}

static const struct {
	const char *words;
	void (*breaks)(const struct plan *p, struct layout *l);
} layouts[] = {
        {MLP_SINGLE, same_bytes}, {MLP_DDP, bytes_of_state},     {MLP_DDP, unaligned},
        {MLP_ZERO3, outside},     {MLP_ZERO3, still_on_its_way},
};

START_LOOP_TEST(broken_layouts_are_refused, 0, COUNT(layouts))
{
	const struct plan *p = made_plan("%s", layouts[_i].words);
	struct layout l;
	layout_make(&l, p, &p->roles[0], 0);
	ck_assert_int_eq(plan_verify(p, &l), STATUS_OK);
	layouts[_i].breaks(p, &l);
	ck_assert_int_eq(plan_verify(p, &l), STATUS_REFUSED);
	assert_place("rule 8 (layout)");
	layout_release(&l);
}

/* Each all-gather of the step in turn waits for something else. Of the plans that the verifier lets through when they
 * are laid out anew: how many does it refuse, in these words, with the layout of the plan as it was? */
static int refused_with_other_waits(const struct plan *right, int (*other)(const struct role *r, const struct op *op),
                                    const char *says)
{
	struct layout l;
	int refused = 0;
	const struct role *r = &right->roles[0];
	layout_make(&l, right, r, 0);
	for (int i = r->step.begin; i < r->step.end; i++) {
		struct plan p;
		if (r->ops[i].kind != OP_ALL_GATHER || r->ops[i].after_count != 1)
			continue;
		int before = other(r, &r->ops[i]);
		plan_copy(&p, right);
		plan_set_waits(&p, 0, i, &before, before >= 0);
		if (plan_verify(&p, NULL) == STATUS_OK && plan_verify(&p, &l) == STATUS_REFUSED)
			refused += !strncmp(status_message(), "rule 8", 6) && strstr(status_message(), says);
		plan_release(&p);
	}
	layout_release(&l);
	return refused;
}

static int nothing(const struct role *r, const struct op *op)
{
	(void)r;
	(void)op;
	return -1;
}

/* A buffer that is freed while a collective still reads it, and another that takes its bytes at once: the layout may do
 * that only where a wait orders them, so without the wait the same layout is refused. */
START_TEST(layout_needs_the_waits_of_its_plan)
{
	ck_assert_int_gt(refused_with_other_waits(made_plan(MLP_ZERO3), nothing, ""), 0);
}

static bool share(const struct op *a, const struct op *b)
{
	for (int i = 0; i < op_operand_count(a->kind); i++)
		for (int k = 0; k < op_operand_count(b->kind); k++)
			if (a->operand[i].buffer >= 0 && a->operand[i].buffer == b->operand[k].buffer)
				return true;
	return false;
}

static int an_earlier_use(const struct role *r, const struct op *op)
{
	int last = op->after[0], before = last - 1;
	while (before > r->step.begin &&
	       (op_class(r->ops[before].kind) != OP_CLASS_K || !share(&r->ops[before], &r->ops[last])))
		before--;
	return before;
}

/* All uses of a buffer must be over when its bytes are taken, not the first alone: what waits for the last kernel that
 * reads a gathered unit is made to wait for an earlier one of the same unit. */
START_TEST(every_use_must_be_over)
{
	ck_assert_int_gt(refused_with_other_waits(made_plan(GPT_ZERO3), an_earlier_use, "may still use"), 0);
}

SUITE("verify rules", 600)
