/* Plans of model, pipeline and hybrid broken on purpose: messages and groups that are not as they should be are refused
 * by the rule that they break. */
#include "tests/strategy/contrasts_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"

static int number(const struct plan *p, int role, const struct op *op)
{
	return (int)(op - p->roles[role].ops);
}

/* A copy or an addition to the buffer, or a reduce-scatter that leaves its slice there. */
static bool fills(const struct op *op, int buffer)
{
	return (op->kind == OP_COPY && op->operand[COPY_Y].buffer == buffer) ||
	       (op->kind == OP_ADD && op->operand[ADD_Y].buffer == buffer) ||
	       (op->kind == OP_REDUCE_SCATTER && op->operand[REDUCE_SCATTER_Y].buffer == buffer);
}

/* The copy that takes to the host what the operation made takes instead what it would have worked on. */
static void skip_before_copy(struct plan *p, int skipped)
{
	struct role *r = &p->roles[0];
	int buffer = op_buffer(&r->ops[skipped]), before = skipped, copy = skipped;
	do
		before--;
	while (!fills(&r->ops[before], buffer));
	do
		copy++;
	while (r->ops[copy].kind != OP_COPY || r->ops[copy].operand[COPY_X].buffer != buffer);
	plan_drop_op(p, 0, skipped);
	plan_set_waits(p, 0, copy - 1, &before, 1);
}

static void copy_replicas_by_luck(struct plan *p)
{
	skip_before_copy(p, number(p, 0, plan_op(p, "prologue/broadcast#-1")));
}

static void copy_one_group(struct plan *p)
{
	skip_before_copy(p, number(p, 0, plan_op(p, "all_reduce")));
}

/* Both stages of a tied tensor skip its all-reduce, and update with their own use of it. */
static void copy_own_use(struct plan *p)
{
	for (int role = 0; role < p->role_count; role += p->role_count - 1) {
		struct role *r = &p->roles[role];
		int reduce = number(p, role, plan_op(p, role ? "2:all_reduce" : "all_reduce")), copy = reduce,
		    last = reduce;
		while (r->ops[copy].kind != OP_COPY)
			copy++;
		while (op_class(r->ops[last].kind) != OP_CLASS_K)
			last--;
		plan_drop_op(p, role, reduce);
		plan_set_waits(p, role, copy - 1, &last, 1);
	}
}

static void count_the_tied_squares_twice(struct plan *p)
{
	plan_edit_words(p,
	                "double 2:squares, wait 2:squares#1 for 2:all_reduce, put 2:squares#1.x 2:adamw#1.gradients");
	plan_op(p, "2:squares#1")->group = plan_op(p, "2:adamw#1")->group;
	plan_op(p, "2:squares#1")->accumulate = 1u << SQUARES_NORM;
}

static const struct broken broken[] = {
        /* the first stage awaits a gradient before it has sent anything */
        {"rule 1 ", MLP " pipeline ranks=3 accumulate=2", "move receive-1 to send, move receive to send", "", NULL},
        {"rule 1 ", MLP " pipeline ranks=3 accumulate=2", "drop 1:receive", "", NULL},
        {"rule 2 ", MLP " pipeline ranks=3 accumulate=2", "set send neighbour -2", "", NULL},
        {"rule 2 ", MLP " pipeline ranks=3 accumulate=2", "set send.x count /2, set send payload /2", "", NULL},
        {"rule 2 ", MLP " pipeline ranks=3 accumulate=2", "set send micro 1", "", NULL},
        {"rule 2 ", MLP " pipeline ranks=3 accumulate=2",
         "set send traffic activation_gradients, set 1:receive traffic activation_gradients", "", NULL},
        {"rule 2 ", MLP " model ranks=2", "put send.x linear.forward.x", "", NULL},
        {"rule 4 ", MLP " pipeline ranks=2 accumulate=2", "unwait send", "", NULL},
        {"rule 4 ", MLP " pipeline ranks=2 accumulate=2", "unwait 1:load", "", NULL},
        {"rule 3 ", MLP " pipeline ranks=2 accumulate=2", "move 1:receive-1 to 1:receive", "", NULL},
        {"rule 2 ", MLP " pipeline ranks=3 accumulate=2", "set 1:sum ends_only 1", "", NULL},
        {"rule 5 ", MLP " pipeline ranks=3 accumulate=2", "drop zero", "", NULL},
        {"rule 5 ", GPT " pipeline ranks=3 accumulate=2", "drop all_reduce, drop 2:all_reduce", "", NULL},
        {"rule 5 ", GPT " pipeline ranks=3 accumulate=2 clip=0.5", NULL, "", count_the_tied_squares_twice},
        {"rule 1 ", GPT " model ranks=3", "drop prologue/broadcast#-1", "", NULL},
        /* along the replicas */
        {"rule 5 ", MLP " hybrid:shard=2 ranks=4 accumulate=2", "set reduce_scatter axes 1", "", NULL},
        {"rule 2 ", MLP " hybrid:shard=2 ranks=4 accumulate=2", "set all_reduce axes 0", "", NULL},
        {"rule 5 ", MLP " hybrid:shard=2 ranks=4 accumulate=2", "drop all_reduce", "", NULL},
        {"rule 6 ", MLP " hybrid:shard=2 ranks=4 accumulate=2", "drop prologue/broadcast#-1", "", NULL},
        {"rule 6 ", MLP " hybrid:shard=2 ranks=4 accumulate=2", "set epilogue/weights.weights slice 0", "", NULL},
        {"rule 6 ", MLP " hybrid:shard=2 ranks=4 accumulate=2 offload=optimizer,parameters", NULL, "",
         copy_replicas_by_luck},
        {"rule 6 ", MLP " hybrid:shard=2 ranks=4 accumulate=2 offload=optimizer,parameters:to=disk", NULL, "",
         copy_replicas_by_luck},
        /* each shard visits the device for the broadcast, and the old one stays on the host */
        {"rule 6 ", MLP " hybrid:shard=2 ranks=4 accumulate=2 offload=optimizer,parameters",
         "drop prologue/copy#-1@device-to-host", "", NULL},
        {"rule 5 ", MLP " hybrid:shard=2 ranks=4 accumulate=2 offload=optimizer", NULL, "", copy_one_group},
        {"rule 5 ", GPT " pipeline ranks=3 accumulate=2 offload=optimizer", NULL, "", copy_own_use},
        /* the last micro-batch's takes the place of those that were there */
        {"rule 5 ", MLP " pipeline ranks=3 accumulate=4 offload=optimizer", "set 1:linear.backward#-1 accumulate 0", "",
         NULL},
};

START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	must_be_refused(&broken[_i]);
}

SUITE("broken contrasts", 0)
