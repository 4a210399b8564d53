/* Plans of model, pipeline and hybrid broken on purpose: messages and groups that are not as they should be are refused
 * by the rule that they break. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/strategy/contrasts_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"

static struct op *find(struct plan *p, int role, enum op_kind kind, int nth)
{
	for (int i = p->roles[role].step.begin; i < p->roles[role].step.end; i++)
		if (p->roles[role].ops[i].kind == kind && !nth--)
			return &p->roles[role].ops[i];
	ck_abort_msg("role %d has no such %s", role, op_name(kind));
}

static int number(const struct plan *p, int role, const struct op *op)
{
	return (int)(op - p->roles[role].ops);
}

/* The first stage awaits a gradient before it has sent anything. */
static void receive_in_another_order(struct plan *p)
{
	int receive = number(p, 0, find(p, 0, OP_RECEIVE, 0)), send = number(p, 0, find(p, 0, OP_SEND, 0));
	plan_move_op(p, 0, receive - 1, send); /* its alloc */
	plan_move_op(p, 0, receive, send + 1);
}

static void drop_receive(struct plan *p)
{
	plan_drop_op(p, 1, number(p, 1, find(p, 1, OP_RECEIVE, 0)));
}

static void send_to_oneself(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->shift = -1;
}

static void send_another_size(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->operand[SEND_X].count /= 2;
	find(p, 0, OP_SEND, 0)->payload /= 2;
}

static void send_another_micro_batch(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->micro = 1;
}

static void count_as_gradient(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->traffic = TRAFFIC_ACTIVATION_GRADIENTS;
	find(p, 1, OP_RECEIVE, 0)->traffic = TRAFFIC_ACTIVATION_GRADIENTS;
}

static void send_the_wrong_value(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->operand[SEND_X] = find(p, 0, OP_LINEAR_FORWARD, 0)->operand[LINEAR_FORWARD_X];
}

static void send_before_it_is_made(struct plan *p)
{
	plan_set_waits(p, 0, number(p, 0, find(p, 0, OP_SEND, 0)), NULL, 0);
}

static void use_before_it_is_there(struct plan *p)
{
	plan_set_waits(p, 1, number(p, 1, find(p, 1, OP_LOAD, 0)), NULL, 0);
}

static void receive_into_what_is_freed(struct plan *p)
{
	int receive = number(p, 1, find(p, 1, OP_RECEIVE, 0));
	plan_move_op(p, 1, receive - 1, receive); /* its alloc behind it */
}

static void run_ends_in_the_middle(struct plan *p)
{
	find(p, 1, OP_SUM, 0)->ends = true;
}

static void reduce_along_another_axis(struct plan *p)
{
	find(p, 0, OP_REDUCE_SCATTER, 0)->axes = plan_axis(p, "replica");
}

static void reduce_over_all_twice(struct plan *p)
{
	struct op *op = find(p, 0, OP_ALL_REDUCE, 0);
	op->axes = 0;
}

static void forget_replicas(struct plan *p)
{
	struct op *op = find(p, 0, OP_ALL_REDUCE, 0);
	plan_drop_op(p, 0, number(p, 0, op));
}

static void forget_the_other_use(struct plan *p)
{
	for (int role = 0; role < p->role_count; role += p->role_count - 1)
		plan_drop_op(p, role, number(p, role, find(p, role, OP_ALL_REDUCE, 0)));
}

static void make_replicas_by_luck(struct plan *p)
{
	for (int i = p->roles[0].op_count - 1; i >= 0; i--)
		if (p->roles[0].ops[i].kind == OP_BROADCAST) {
			plan_drop_op(p, 0, i);
			return;
		}
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
	for (int i = p->roles[0].prologue.end - 1; i >= 0; i--)
		if (p->roles[0].ops[i].kind == OP_BROADCAST) {
			skip_before_copy(p, i);
			return;
		}
}

static void copy_one_group(struct plan *p)
{
	skip_before_copy(p, number(p, 0, find(p, 0, OP_ALL_REDUCE, 0)));
}

/* Of what two stages use, both. */
static void copy_own_use(struct plan *p)
{
	for (int role = 0; role < p->role_count; role += p->role_count - 1) {
		struct role *r = &p->roles[role];
		int reduce = number(p, role, find(p, role, OP_ALL_REDUCE, 0)), copy = reduce, last = reduce;
		while (r->ops[copy].kind != OP_COPY)
			copy++;
		while (op_class(r->ops[last].kind) != OP_CLASS_K)
			last--;
		plan_drop_op(p, role, reduce);
		plan_set_waits(p, role, copy - 1, &last, 1);
	}
}

/* The last micro-batch's takes the place of those that were there. */
static void leave_out_micro_batches(struct plan *p)
{
	struct op *op = find(p, 1, OP_LINEAR_BACKWARD, 0);
	while (op->kind != OP_LINEAR_BACKWARD || op->micro != 3)
		op++;
	op->accumulate = 0;
}

/* Each shard visits the device for it. */
static void broadcast_and_keep_the_old(struct plan *p)
{
	struct role *r = &p->roles[0];
	for (int i = r->prologue.end - 1; i >= r->prologue.begin; i--)
		if (r->ops[i].kind == OP_COPY && op_transfer(r, &r->ops[i]) == TRANSFER_DEVICE_TO_HOST) {
			plan_drop_op(p, 0, i);
			return;
		}
}

static void show_another_slice(struct plan *p)
{
	struct role *r = &p->roles[0];
	for (int i = r->epilogue.begin; i < r->epilogue.end; i++)
		if (r->ops[i].kind == OP_WEIGHTS)
			r->ops[i].operand[WEIGHTS_WEIGHTS].slice = 0;
}

static void add_the_loss_of_all(struct plan *p)
{
	struct op *op = find(p, 0, OP_ZERO, 0);
	while (p->roles[0].buffers[op_buffer(op)].type != TYPE_FP32 ||
	       strcmp(p->roles[0].buffers[op_buffer(op)].name, "loss"))
		op++;
	plan_drop_op(p, 0, number(p, 0, op));
}

static void count_the_tied_squares_twice(struct plan *p)
{
	int role = p->role_count - 1;
	plan_double_op(p, role, number(p, role, find(p, role, OP_SQUARES, 0)));
	struct op *op = find(p, role, OP_SQUARES, 1), *update = find(p, role, OP_ADAMW, 1);
	int reduced = number(p, role, find(p, role, OP_ALL_REDUCE, 0));
	plan_set_waits(p, role, number(p, role, op), &reduced, 1);
	op->group = update->group;
	op->operand[SQUARES_X] = update->operand[ADAMW_GRADIENTS];
	op->accumulate = 1u << SQUARES_NORM;
}

static const struct {
	const char *model, *strategy;
	int64_t ranks, accumulate;
	double clip;
	void (*break_it)(struct plan *p);
	int rule;
	const char *offload;
} broken[] = {
        {MLP, "pipeline", 3, 2, 0, receive_in_another_order, 1, NULL},
        {MLP, "pipeline", 3, 2, 0, drop_receive, 1, NULL},
        {MLP, "pipeline", 3, 2, 0, send_to_oneself, 2, NULL},
        {MLP, "pipeline", 3, 2, 0, send_another_size, 2, NULL},
        {MLP, "pipeline", 3, 2, 0, send_another_micro_batch, 2, NULL},
        {MLP, "pipeline", 3, 2, 0, count_as_gradient, 2, NULL},
        {MLP, "model", 2, 1, 0, send_the_wrong_value, 2, NULL},
        {MLP, "pipeline", 2, 2, 0, send_before_it_is_made, 4, NULL},
        {MLP, "pipeline", 2, 2, 0, use_before_it_is_there, 4, NULL},
        {MLP, "pipeline", 2, 2, 0, receive_into_what_is_freed, 3, NULL},
        {MLP, "pipeline", 3, 2, 0, run_ends_in_the_middle, 2, NULL},
        {MLP, "pipeline", 3, 2, 0, add_the_loss_of_all, 5, NULL},
        {GPT, "pipeline", 3, 2, 0, forget_the_other_use, 5, NULL},
        {GPT, "pipeline", 3, 2, 0.5, count_the_tied_squares_twice, 5, NULL},
        {GPT, "model", 3, 1, 0, make_replicas_by_luck, 1, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, reduce_along_another_axis, 5, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, reduce_over_all_twice, 2, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, forget_replicas, 5, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, make_replicas_by_luck, 6, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, show_another_slice, 6, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, copy_replicas_by_luck, 6, "optimizer,parameters"},
        {MLP, "hybrid:shard=2", 4, 2, 0, copy_replicas_by_luck, 6, "optimizer,parameters:to=disk"},
        {MLP, "hybrid:shard=2", 4, 2, 0, broadcast_and_keep_the_old, 6, "optimizer,parameters"},
        {MLP, "hybrid:shard=2", 4, 2, 0, copy_one_group, 5, "optimizer"},
        {GPT, "pipeline", 3, 2, 0, copy_own_use, 5, "optimizer"},
        {MLP, "pipeline", 3, 4, 0, leave_out_micro_batches, 5, "optimizer"},
};

START_LOOP_TEST(what_is_broken_is_refused, 0, COUNT(broken))
{
	struct plan p;
	char rule[16];
	const struct plan *p =
	        right_plan("%s %s ranks=%d accumulate=%d offload=%s clip=%g", broken[_i].model, broken[_i].strategy,
	                   (int)broken[_i].ranks, (int)broken[_i].accumulate, broken[_i].offload, broken[_i].clip);
	plan_copy(&p, p);
	broken[_i].break_it(&p);
	ck_assert_int_eq(plan_verify(&p, NULL), STATUS_REFUSED);
	snprintf(rule, sizeof rule, "rule %d ", broken[_i].rule);
	ck_assert_msg(!strncmp(status_message(), rule, strlen(rule)), "wanted %s: %s", rule, status_message());
	plan_release(&p);
}
END_TEST

SUITE("broken contrasts", 0)
