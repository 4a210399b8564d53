/* Of each rule there are plans broken on purpose: refused by number, in one line with the operation, the buffer and the
 * rank. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/plan_edit.h"
#include "tests/support/plans.h"
#include "tests/support/suite.h"

enum { WORKER = 1 }; /* role 0 is the root, or everyone */

static int find(const struct plan *p, int role, enum op_kind kind, int nth)
{
	for (int i = 0; i < p->roles[role].op_count; i++)
		if (p->roles[role].ops[i].kind == kind && !nth--)
			return i;
	ck_abort_msg("there is no such operation");
}

/* … in the step. */
static struct op *in_step(struct plan *p, int role, enum op_kind kind, int nth)
{
	for (int i = p->roles[role].step.begin; i < p->roles[role].step.end; i++)
		if (p->roles[role].ops[i].kind == kind && !nth--)
			return &p->roles[role].ops[i];
	ck_abort_msg("there is no such operation");
}

static int number(const struct plan *p, int role, const struct op *op)
{
	return (int)(op - p->roles[role].ops);
}

static void drop(struct plan *p, int role, struct op *op)
{
	plan_drop_op(p, role, number(p, role, op));
}

static void wait_for(struct plan *p, struct op *op, int on)
{
	plan_set_waits(p, 0, number(p, 0, op), &on, 1);
}

/* Rule 1 */
static void waits_for_itself(struct plan *p)
{
	struct op *op = in_step(p, 0, OP_ADAMW, 0);
	wait_for(p, op, number(p, 0, op));
}
static void wait_for_each_other(struct plan *p)
{
	struct op *reduce = in_step(p, 0, OP_ALL_REDUCE, 0);
	wait_for(p, &p->roles[0].ops[reduce->after[0]], number(p, 0, reduce));
}
static void waits_for_later(struct plan *p)
{
	wait_for(p, in_step(p, 0, OP_ALL_REDUCE, 0), number(p, 0, in_step(p, 0, OP_ADVANCE, 0)));
}
static void waits_across_sections(struct plan *p)
{
	wait_for(p, in_step(p, 0, OP_LOAD, 0), find(p, 0, OP_INITIALIZE, 0));
}
static void waits_for_memory(struct plan *p)
{
	wait_for(p, in_step(p, 0, OP_ALL_REDUCE, 0), number(p, 0, in_step(p, 0, OP_ALLOC, 0)));
}
static void has_no_partner(struct plan *p)
{
	drop(p, WORKER, in_step(p, WORKER, OP_REDUCE, 0));
}
/* Rule 2 */
static void other_order(struct plan *p)
{
	struct op *gather = in_step(p, WORKER, OP_GATHER, 0);
	plan_move_op(p, WORKER, number(p, WORKER, gather), number(p, WORKER, gather) + 1);
}
static void other_root(struct plan *p)
{
	in_step(p, WORKER, OP_BROADCAST, 0)->root = 1;
}
static void other_algorithm(struct plan *p)
{
	in_step(p, WORKER, OP_REDUCE, 0)->algorithm = SCHEDULE_TREE_REDUCE;
}
static void other_size(struct plan *p)
{
	in_step(p, WORKER, OP_SCATTER, 0)->operand[SCATTER_Y].count--;
}
static void other_payload(struct plan *p)
{
	in_step(p, 0, OP_ALL_REDUCE, 0)->payload++;
}
static void short_operand(struct plan *p)
{
	in_step(p, 0, OP_LINEAR_FORWARD, 1)->operand[LINEAR_FORWARD_X].count--;
}
static void other_queue(struct plan *p)
{
	in_step(p, 0, OP_LINEAR_FORWARD, 1)->queue = QUEUE_HOST_COMPUTE;
}
static void half_the_staging(struct plan *p)
{
	in_step(p, 0, OP_ALL_REDUCE, 0)->operand[ALL_REDUCE_STAGING].count /= 2;
}
static void staging_of_smaller_elements(struct plan *p)
{
	p->roles[0].buffers[in_step(p, 0, OP_ALL_REDUCE, 0)->operand[ALL_REDUCE_STAGING].buffer].type = TYPE_BF16;
}
static void slice_of_another_size(struct plan *p)
{
	in_step(p, 0, OP_REDUCE_SCATTER, 0)->operand[REDUCE_SCATTER_Y].count -= 2;
}
static void other_type(struct plan *p)
{
	p->roles[0].buffers[in_step(p, 0, OP_LOAD, 0)->operand[LOAD_TARGETS].buffer].type = TYPE_FP32;
}

/* Rule 3 */
static void used_after_free(struct plan *p)
{
	struct op *free_op = in_step(p, 0, OP_FREE, 0);
	plan_move_op(p, 0, number(p, 0, free_op), number(p, 0, in_step(p, 0, OP_CLASSIFIER, 0)));
}
static void never_allocated(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_ALLOC, 2));
}
static void freed_twice(struct plan *p)
{
	plan_double_op(p, 0, number(p, 0, in_step(p, 0, OP_FREE, 1)));
}
static void never_freed(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_FREE, 1));
}
static void state_in_the_step(struct plan *p)
{
	p->roles[0].buffers[in_step(p, 0, OP_ALLOC, 1)->operand[ALLOC_BUFFER].buffer].state = true;
}
static void state_freed_early(struct plan *p)
{
	struct op *op = in_step(p, 0, OP_FREE, 1);
	op->operand[FREE_BUFFER] = p->roles[0].ops[find(p, 0, OP_INITIALIZE, 0)].operand[INITIALIZE_WEIGHTS];
	op->operand[FREE_BUFFER].count = p->roles[0].buffers[op->operand[FREE_BUFFER].buffer].elements;
	op->operand[FREE_BUFFER].offset = 0;
}

/* Rule 4 */
static void updates_too_early(struct plan *p)
{
	plan_set_waits(p, 0, number(p, 0, in_step(p, 0, OP_ADAMW, 0)), NULL, 0);
}
static void reduces_too_early(struct plan *p)
{
	plan_set_waits(p, 0, number(p, 0, in_step(p, 0, OP_ALL_REDUCE, 0)), NULL, 0);
}
static void gathers_too_early(struct plan *p)
{
	plan_set_waits(p, 0, number(p, 0, in_step(p, 0, OP_ALL_GATHER, 1)), NULL, 0);
}
static void reads_too_early(struct plan *p)
{
	plan_set_waits(p, 0, number(p, 0, in_step(p, 0, OP_LINEAR_FORWARD, 0)), NULL, 0);
}
static void in_its_own_way(struct plan *p)
{
	struct op *op = in_step(p, 0, OP_LINEAR_BACKWARD, 0);
	op->operand[LINEAR_BACKWARD_DBIAS] = op->operand[LINEAR_BACKWARD_DWEIGHT];
	op->operand[LINEAR_BACKWARD_DBIAS].count = p->model->tensors[p->model->kernels[op->kernel].bias].elements;
}

/* Rule 5 */
static void own_gradient_alone(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_ALL_REDUCE, 1));
}
static void reduced_twice(struct plan *p)
{
	plan_double_op(p, 0, number(p, 0, in_step(p, 0, OP_ALL_REDUCE, 1)));
}
static void first_micro_batch_lost(struct plan *p)
{
	in_step(p, 0, OP_LINEAR_BACKWARD, p->model->kernel_count - 1)->accumulate = 0;
}
static void last_step_added(struct plan *p)
{
	in_step(p, 0, OP_LINEAR_BACKWARD, 0)->accumulate = 1u << LINEAR_BACKWARD_DWEIGHT;
}
static void tied_use_lost(struct plan *p)
{
	in_step(p, 0, OP_EMBEDDING_BACKWARD, 0)->accumulate = 0;
}
static void slice_never_added(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_ADD, 0));
}
static void other_scale(struct plan *p)
{
	in_step(p, 0, OP_CLASSIFIER, 0)->scale *= 2;
}
static void own_loss_alone(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_SUM, 0));
}
static void norm_of_a_slice(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_SUM, 1));
}
static void nothing_evaluated(struct plan *p)
{
	plan_drop_op(p, 0, find(p, 0, OP_EVALUATE, 0));
}

/* Rule 6 */
static void never_gathered_again(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_ALL_GATHER, 1));
}
static void never_updated(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_ADAMW, 1));
}
static void updated_twice(struct plan *p)
{
	plan_double_op(p, 0, number(p, 0, in_step(p, 0, OP_ADAMW, 1)));
}
static void never_initialized(struct plan *p)
{
	plan_drop_op(p, 0, find(p, 0, OP_INITIALIZE, 1));
}
static void other_tensor(struct plan *p)
{
	in_step(p, 0, OP_LINEAR_FORWARD, 1)->operand[LINEAR_FORWARD_WEIGHT] =
	        in_step(p, 0, OP_LINEAR_FORWARD, 2)->operand[LINEAR_FORWARD_WEIGHT];
}
static void moments_of_another_group(struct plan *p)
{
	in_step(p, 0, OP_ADAMW, 1)->operand[ADAMW_FIRST] = in_step(p, 0, OP_ADAMW, 2)->operand[ADAMW_FIRST];
}
static void advanced_late(struct plan *p)
{
	plan_move_op(p, 0, number(p, 0, in_step(p, 0, OP_ADVANCE, 0)), p->roles[0].step.end - 1);
}
static void shown_twice(struct plan *p)
{
	plan_double_op(p, 0, find(p, 0, OP_WEIGHTS, 0));
}

/* Rule 7 */
static void other_value_saved(struct plan *p)
{
	in_step(p, 0, OP_LINEAR_BACKWARD, 1)->operand[LINEAR_BACKWARD_X] =
	        in_step(p, 0, OP_LOAD, 0)->operand[LOAD_INPUTS];
}
static void never_computed(struct plan *p)
{
	drop(p, 0, in_step(p, 0, OP_LINEAR_FORWARD, 1));
}
static void statistics_of_another_norm(struct plan *p)
{
	in_step(p, 0, OP_NORM_BACKWARD, 1)->operand[NORM_BACKWARD_STATISTICS] =
	        in_step(p, 0, OP_NORM_FORWARD, 1)->operand[NORM_FORWARD_STATISTICS];
}
static void overwritten_before_backward(struct plan *p)
{
	in_step(p, 0, OP_LINEAR_FORWARD, 1)->operand[LINEAR_FORWARD_PRE] =
	        in_step(p, 0, OP_LINEAR_FORWARD, 0)->operand[LINEAR_FORWARD_PRE];
}
static void samples_of_others(struct plan *p)
{
	in_step(p, 0, OP_LINEAR_FORWARD, 0)->operand[LINEAR_FORWARD_X].offset +=
	        in_step(p, 0, OP_LINEAR_FORWARD, 0)->operand[LINEAR_FORWARD_X].count;
}

enum {
	MLP_SINGLE,
	MLP_DP,
	MLP_DDP,
	MLP_DDP_2,
	MLP_ZERO1,
	MLP_ZERO2_2,
	MLP_ZERO2_CLIP,
	MLP_ZERO3,
	GPT_SINGLE,
	GPT_DDP,
	GPT_ZERO3
};
static const char *const requests[] = {
        [MLP_SINGLE] = "mlp:sizes=4-4-4-4 single",
        [MLP_DP] = "mlp:sizes=4-4-4-4 dp ranks=3",
        [MLP_DDP] = "mlp:sizes=4-4-4-4 ddp ranks=3 bucket=64",
        [MLP_DDP_2] = "mlp:sizes=4-4-4-4 ddp ranks=2 accumulate=2 bucket=64",
        [MLP_ZERO1] = "mlp:sizes=4-4-4-4 zero1 ranks=4 bucket=64",
        [MLP_ZERO2_2] = "mlp:sizes=4-4-4-4 zero2 ranks=4 accumulate=2 bucket=64",
        [MLP_ZERO2_CLIP] = "mlp:sizes=4-4-4-4 zero2 ranks=4 clip=1 bucket=64",
        [MLP_ZERO3] = "mlp:sizes=4-4-4-4 zero3 ranks=4",
        [GPT_SINGLE] = "gpt:layers=2,width=4,heads=2,context=3,vocabulary=5 single",
        [GPT_DDP] = "gpt:layers=2,width=4,heads=2,context=3,vocabulary=5 ddp ranks=2",
        [GPT_ZERO3] = "gpt:layers=4,width=4,heads=2,context=3,vocabulary=5 zero3 ranks=2",
};

static const struct {
	const char *rule;
	int request;
	void (*breaks)(struct plan *p);
	const char *operation; /* in the message */
} broken[] = {
        {"rule 1 (deadlock)", MLP_DDP, waits_for_itself, "adamw bucket"},
        {"rule 1 (deadlock)", MLP_DDP, wait_for_each_other, "backward layer"},
        {"rule 1 (deadlock)", MLP_DDP, waits_for_later, "all_reduce bucket"},
        {"rule 1 (deadlock)", MLP_DDP, waits_across_sections, "load"},
        {"rule 1 (deadlock)", MLP_DDP, waits_for_memory, "all_reduce bucket"},
        {"rule 1 (deadlock)", MLP_DP, has_no_partner, "reduce all"},
        {"rule 2 (matching)", MLP_DP, other_order, "gather"},
        {"rule 2 (matching)", MLP_DP, other_root, "broadcast all"},
        {"rule 2 (matching)", MLP_DP, other_algorithm, "reduce all"},
        {"rule 2 (matching)", MLP_DP, other_size, "scatter"},
        {"rule 2 (matching)", MLP_DDP, other_payload, "all_reduce bucket"},
        {"rule 2 (matching)", MLP_DDP, short_operand, "forward layer.1.linear"},
        {"rule 2 (matching)", MLP_DDP, other_queue, "forward layer.1.linear"},
        {"rule 2 (matching)", MLP_DDP, half_the_staging, "all_reduce bucket"},
        {"rule 2 (matching)", MLP_DDP, staging_of_smaller_elements, "broadcast bucket"},
        {"rule 2 (matching)", MLP_ZERO3, slice_of_another_size, "reduce_scatter layer"},
        {"rule 2 (matching)", MLP_SINGLE, other_type, "load"},
        {"rule 3 (lifetime)", MLP_SINGLE, used_after_free, "classifier"},
        {"rule 3 (lifetime)", MLP_SINGLE, never_allocated, "forward layer.0"},
        {"rule 3 (lifetime)", MLP_SINGLE, freed_twice, "free"},
        {"rule 3 (lifetime)", MLP_SINGLE, never_freed, "alloc"},
        {"rule 3 (lifetime)", MLP_SINGLE, state_in_the_step, ""},
        {"rule 3 (lifetime)", MLP_SINGLE, state_freed_early, "free"},
        {"rule 4 (race)", MLP_DDP, updates_too_early, "adamw bucket"},
        {"rule 4 (race)", MLP_DDP, reduces_too_early, "all_reduce bucket"},
        {"rule 4 (race)", MLP_ZERO1, gathers_too_early, "all_gather bucket"},
        {"rule 4 (race)", MLP_ZERO3, reads_too_early, "forward layer.0"},
        {"rule 4 (race)", MLP_DDP, in_its_own_way, "backward layer.2"},
        {"rule 5 (gradient)", MLP_DDP, own_gradient_alone, "adamw bucket"},
        {"rule 5 (gradient)", MLP_DDP, reduced_twice, "all_reduce bucket"},
        {"rule 5 (gradient)", MLP_DDP_2, first_micro_batch_lost, "bucket"},
        {"rule 5 (gradient)", MLP_SINGLE, last_step_added, "backward layer.2"},
        {"rule 5 (gradient)", GPT_SINGLE, tied_use_lost, "adamw root"},
        {"rule 5 (gradient)", MLP_ZERO2_2, slice_never_added, "adamw bucket"},
        {"rule 5 (gradient)", MLP_DDP, other_scale, "classifier"},
        {"rule 5 (gradient)", MLP_DDP, own_loss_alone, "'loss'"},
        {"rule 5 (gradient)", MLP_ZERO2_CLIP, norm_of_a_slice, "adamw bucket"},
        {"rule 5 (gradient)", MLP_DDP, nothing_evaluated, "evaluate"},
        {"rule 6 (version)", MLP_ZERO1, never_gathered_again, "'parameters'"},
        {"rule 6 (version)", MLP_DDP, never_updated, "'parameters'"},
        {"rule 6 (version)", MLP_DDP, updated_twice, "adamw bucket"},
        {"rule 6 (version)", MLP_SINGLE, never_initialized, "forward layer.1"},
        {"rule 6 (version)", MLP_SINGLE, other_tensor, "forward layer.1"},
        {"rule 6 (version)", MLP_SINGLE, moments_of_another_group, "adamw layer.2"},
        {"rule 6 (version)", MLP_SINGLE, advanced_late, "adamw layer.0"},
        {"rule 6 (version)", MLP_ZERO3, shown_twice, "weights"},
        {"rule 7 (saved)", MLP_SINGLE, other_value_saved, "backward layer.1"},
        {"rule 7 (saved)", MLP_SINGLE, never_computed, "forward layer.2"},
        {"rule 7 (saved)", GPT_DDP, statistics_of_another_norm, "backward block.1.ln_2"},
        {"rule 7 (saved)", MLP_SINGLE, overwritten_before_backward, "backward layer.1"},
        {"rule 7 (saved)", MLP_DP, samples_of_others, "forward layer.0"},
};

/* Names rule, operation, buffer and rank, and says more. */
static void assert_refusal(const char *rule, const char *operation, int which)
{
	const char *line = status_message();
	char begins[40];
	snprintf(begins, sizeof begins, "%s: operation ", rule);
	ck_assert_msg(!strncmp(line, begins, strlen(begins)), "%d: must begin '%s': %s", which, begins, line);
	ck_assert_msg(strstr(line, operation) != NULL, "%d: '%s' is not in: %s", which, operation, line);
	ck_assert_msg(strstr(line, "buffer '") && strstr(line, "(rank ") && strstr(line, " of role "), "%d: %s", which,
	              line);
	ck_assert_msg(strchr(line, '\n') == NULL && strlen(line) < 1000, "%d: one line: %s", which, line);
}

START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	struct made m;
	struct plan p;
	ck_assert_int_eq(made_open(&m, &requests[broken[_i].request]), STATUS_OK);
	plan_copy(&p, &m.plan);
	ck_assert_int_eq(plan_verify(&p, NULL), STATUS_OK);
	broken[_i].breaks(&p);
	ck_assert_int_eq(plan_verify(&p, NULL), STATUS_REFUSED);
	assert_refusal(broken[_i].rule, broken[_i].operation, _i);
	plan_release(&p);
	made_release(&m);
}
END_TEST

/* ---- rule 8: the plan is right, and its layout is not ---- */

static void same_bytes(const struct plan *p, struct layout *l)
{
	const struct role *r = &p->roles[0];
	const struct op *op = &r->ops[find(p, 0, OP_LINEAR_FORWARD, 0)];
	l->offset[op->operand[LINEAR_FORWARD_Y].buffer] = l->offset[op->operand[LINEAR_FORWARD_X].buffer];
}
static void bytes_of_state(const struct plan *p, struct layout *l)
{
	const struct role *r = &p->roles[0];
	const struct op *op = &r->ops[find(p, 0, OP_LINEAR_FORWARD, 0)];
	l->offset[op->operand[LINEAR_FORWARD_X].buffer] =
	        l->offset[r->ops[find(p, 0, OP_INITIALIZE, 0)].operand[INITIALIZE_WEIGHTS].buffer];
}
static void unaligned(const struct plan *p, struct layout *l)
{
	l->offset[p->roles[0].ops[find(p, 0, OP_LINEAR_FORWARD, 0)].operand[LINEAR_FORWARD_X].buffer] += 4;
}
static void outside(const struct plan *p, struct layout *l)
{
	l->offset[p->roles[0].ops[find(p, 0, OP_LINEAR_FORWARD, 0)].operand[LINEAR_FORWARD_X].buffer] =
	        l->arena_bytes[SPACE_DEVICE];
}
/* Freed, but the communication queue may still be sending it. */
static void still_on_its_way(const struct plan *p, struct layout *l)
{
	const struct role *r = &p->roles[0];
	const struct op *first = &r->ops[find(p, 0, OP_REDUCE_SCATTER, 0)];
	/* What is allocated while it is on its way takes its bytes. */
	int freed = first->operand[REDUCE_SCATTER_X].buffer, at = 0;
	while (r->ops[at].kind != OP_FREE || r->ops[at].operand[FREE_BUFFER].buffer != freed)
		at++;
	for (int i = (int)(first - r->ops); i < at; i++)
		if (r->ops[i].kind == OP_ALLOC)
			l->offset[op_buffer(&r->ops[i])] = l->offset[freed];
}

static const struct {
	int request;
	void (*breaks)(const struct plan *p, struct layout *l);
} layouts[] = {
        {MLP_SINGLE, same_bytes}, {MLP_DDP, bytes_of_state},     {MLP_DDP, unaligned},
        {MLP_ZERO3, outside},     {MLP_ZERO3, still_on_its_way},
};

START_LOOP_TEST(broken_layouts_are_refused, 0, COUNT(layouts))
{
	struct made m;
	struct layout l;
	ck_assert_int_eq(made_open(&m, &requests[layouts[_i].request]), STATUS_OK);
	layout_make(&l, &m.plan, &m.plan.roles[0], 0);
	ck_assert_int_eq(plan_verify(&m.plan, &l), STATUS_OK);
	layouts[_i].breaks(&m.plan, &l);
	ck_assert_int_eq(plan_verify(&m.plan, &l), STATUS_REFUSED);
	assert_refusal("rule 8 (layout)", "", _i);
	layout_release(&l);
	made_release(&m);
}
END_TEST

/* A buffer that is freed while a collective still reads it, and another that takes its bytes at once: the layout may do
 * that only where a wait orders them, so without the wait the same layout is refused. */
START_TEST(layout_needs_the_waits_of_its_plan)
{
	struct made m;
	struct plan p;
	struct layout l;
	int refused = 0;
	ck_assert_int_eq(made_open(&m, &requests[MLP_ZERO3]), STATUS_OK);
	layout_make(&l, &m.plan, &m.plan.roles[0], 0);
	const struct role *r = &m.plan.roles[0];
	for (int i = r->step.begin; i < r->step.end; i++) {
		if (r->ops[i].kind != OP_ALL_GATHER || !r->ops[i].after_count)
			continue;
		plan_copy(&p, &m.plan);
		plan_set_waits(&p, 0, i, NULL, 0);
		refused += plan_verify(&p, &l) == STATUS_REFUSED && !strncmp(status_message(), "rule 8", 6);
		ck_assert_int_eq(plan_verify(&p, NULL), STATUS_OK); /* laid out for the fewer waits it is right */
		plan_release(&p);
	}
	ck_assert_int_gt(refused, 0);
	layout_release(&l);
	made_release(&m);
}
END_TEST

static bool share(const struct op *a, const struct op *b)
{
	for (int i = 0; i < op_operand_count(a->kind); i++)
		for (int k = 0; k < op_operand_count(b->kind); k++)
			if (a->operand[i].buffer >= 0 && a->operand[i].buffer == b->operand[k].buffer)
				return true;
	return false;
}

/* All uses of a buffer must be over when its bytes are taken, not the first alone: what waits for the last kernel that
 * reads a gathered unit is made to wait for an earlier one of the same unit. */
START_TEST(every_use_must_be_over)
{
	struct made m;
	struct plan p;
	struct layout l;
	int refused = 0;
	ck_assert_int_eq(made_open(&m, &requests[GPT_ZERO3]), STATUS_OK);
	layout_make(&l, &m.plan, &m.plan.roles[0], 0);
	const struct role *r = &m.plan.roles[0];
	for (int i = r->step.begin; i < r->step.end; i++) {
		if (r->ops[i].kind != OP_ALL_GATHER || r->ops[i].after_count != 1)
			continue;
		int last = r->ops[i].after[0], before = last - 1;
		while (before > r->step.begin &&
		       (op_class(r->ops[before].kind) != OP_CLASS_K || !share(&r->ops[before], &r->ops[last])))
			before--;
		plan_copy(&p, &m.plan);
		plan_set_waits(&p, 0, i, &before, 1);
		if (plan_verify(&p, NULL) == STATUS_OK && plan_verify(&p, &l) == STATUS_REFUSED)
			refused += strstr(status_message(), "may still use") != NULL;
		plan_release(&p);
	}
	ck_assert_int_gt(refused, 0);
	layout_release(&l);
	made_release(&m);
}
END_TEST

SUITE("verify rules", 600)
