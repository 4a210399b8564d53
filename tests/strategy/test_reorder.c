/* A step in another order: its waits follow. */
#include <stdlib.h>
#include <string.h>

#include "strategy/plan/reorder.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

#define GPT "gpt:layers=3,width=8,heads=2,context=4,vocabulary=16"

/* The operations of the step as they are. */
static int *own_order(const struct plan *p, int *count)
{
	const struct section *s = &p->roles[0].step;
	int *order = calloc((size_t)(s->end - s->begin) + 2, sizeof *order);
	*count = s->end - s->begin;
	for (int i = 0; i < *count; i++)
		order[i] = s->begin + i;
	return order;
}

/* In its own order no plan changes, by a single wait. */
static const char *const kept[] = {
        GPT " single",
        GPT " ddp ranks=2 bucket=512",
        GPT " zero1 ranks=3 bucket=512",
        GPT " zero2 ranks=2 bucket=512 accumulate=2",
        GPT " zero3 ranks=4",
        GPT " zero3 ranks=2 accumulate=2 clip=1 precision=fp16",
        GPT " fsdp ranks=2 activation_checkpointing=full",
        GPT " fsdp:reshard=no ranks=2",
        GPT " zero2 ranks=2 offload=optimizer",
        GPT " hybrid:shard=2 ranks=4",
        GPT " tensor ranks=2",
        "mlp:sizes=12-16-16-10 zero3 ranks=2",
        "mlp:sizes=12-16-8-4,norm=sync-batch ddp ranks=2",
        GPT " zero3 ranks=2 offload=optimizer,parameters",
        GPT " ddp:algorithm=halving-doubling ranks=4 accumulate=3",
        GPT " single offload=activations",
};

START_LOOP_TEST(own_order_changes_nothing, 0, COUNT(kept))
{
	const struct plan *p = right_plan("%s", kept[_i]);
	int count, *order = own_order(p, &count);
	struct plan again;
	plan_reorder(&again, p, 0, order, count);
	char *was = plan_to_text(p, NULL), *is = plan_to_text(&again, NULL);
	ck_assert_msg(!strcmp(is, was), "%s", kept[_i]); /* too long to print */
	free(was);
	free(is);
	free(order);
	plan_release(&again);
}

static int find(const struct plan *p, enum op_kind kind, int from)
{
	const struct role *r = &p->roles[0];
	for (int i = from < 0 ? r->step.begin : from; i < r->step.end; i++)
		if (r->ops[i].kind == kind)
			return i;
	ck_abort_msg("no such operation");
}

static void move(int *order, int count, int from, int to)
{
	int moved = order[from];
	if (from < to)
		memmove(order + from, order + from + 1, (size_t)(to - from) * sizeof *order);
	else
		memmove(order + to + 1, order + to, (size_t)(from - to) * sizeof *order);
	ck_assert_int_lt(to, count);
	order[to] = moved;
}

/* An all-reduce that comes at the end of the backward pass is waited for there. */
START_TEST(what_reads_later_waits)
{
	const struct plan *p = right_plan(GPT " ddp ranks=2 bucket=512");
	int count, *order = own_order(p, &count), first = p->roles[0].step.begin;
	int reduce = find(p, OP_ALL_REDUCE, -1), advance = find(p, OP_ADVANCE, -1);
	struct plan mine;
	move(order, count, reduce - first, advance - first - 1);
	plan_reorder(&mine, p, 0, order, count);
	must(plan_verify(&mine, NULL));
	ck_assert_int_eq(mine.roles[0].ops[advance - 1].kind, OP_ALL_REDUCE);
	free(order);
	plan_release(&mine);
}

/* If the later of two was waited for, and is the earlier now, the other is waited for too. */
START_TEST(what_was_covered_waits)
{
	const struct plan *p =
	        right_plan("gpt:layers=2,width=64,heads=2,context=16,vocabulary=64 ddp ranks=4 bucket=200448");
	int count, *order = own_order(p, &count), first = p->roles[0].step.begin;
	int last = p->roles[0].step.end - 1;
	while (p->roles[0].ops[last].kind != OP_ALL_REDUCE)
		last--;
	ck_assert_int_eq(p->roles[0].ops[last - 1].kind, OP_ALL_REDUCE);
	struct plan mine;
	move(order, count, last - first, last - 1 - first);
	plan_reorder(&mine, p, 0, order, count);
	ck_assert_msg(!plan_verify(&mine, NULL), "%s", status_message());
	free(order);
	plan_release(&mine);
}

/* Memory is there again when the other queue is done with it: the next kernel waits. */
START_TEST(computing_waits_for_what_is_freed)
{
	const struct plan *p = right_plan(GPT " zero3 ranks=2");
	int count, *order = own_order(p, &count), first = p->roles[0].step.begin;
	const struct role *r = &p->roles[0];
	int scatter = find(p, OP_REDUCE_SCATTER, -1);
	int gradients = r->ops[scatter].operand[REDUCE_SCATTER_X].buffer, freed = find(p, OP_FREE, scatter);
	while (op_buffer(&r->ops[freed]) != gradients)
		freed = find(p, OP_FREE, freed + 1);
	ck_assert_int_gt(freed, scatter + 1);
	struct plan mine;
	move(order, count, freed - first, scatter + 1 - first);
	plan_reorder(&mine, p, 0, order, count);
	must(plan_verify(&mine, NULL));
	int next = scatter + 2;
	while (mine.roles[0].ops[next].queue != QUEUE_COMPUTE || op_class(mine.roles[0].ops[next].kind) == OP_CLASS_M)
		next++;
	const struct op *op = &mine.roles[0].ops[next];
	bool waits = false;
	for (int i = 0; i < op->after_count; i++)
		waits |= op->after[i] == scatter;
	ck_assert(waits);
	free(order);
	plan_release(&mine);
}

/* Left out and doubled: the sections behind move, and the verifier has its say. */
START_TEST(fewer_and_more)
{
	const struct plan *p = right_plan(GPT " ddp ranks=2 bucket=512");
	int count, *order = own_order(p, &count), first = p->roles[0].step.begin;
	int reduce = find(p, OP_ALL_REDUCE, -1) - first;
	struct refusal why;
	struct plan mine;
	move(order, count, reduce, count - 1);
	plan_reorder(&mine, p, 0, order, count - 1);
	ck_assert_int_eq(mine.roles[0].op_count, p->roles[0].op_count - 1);
	ck_assert_int_eq(plan_verify_why(&mine, NULL, &why), STATUS_REFUSED);
	ck_assert_int_eq(why.rule, 5);
	ck_assert_int_eq(mine.roles[0].ops[why.op].kind, OP_ADAMW);
	plan_release(&mine);
	move(order, count, count - 1, reduce);
	memmove(order + reduce + 1, order + reduce, (size_t)(count - reduce) * sizeof *order);
	plan_reorder(&mine, p, 0, order, count + 1);
	ck_assert_int_eq(mine.roles[0].op_count, p->roles[0].op_count + 1);
	ck_assert_int_eq(plan_verify_why(&mine, NULL, &why), STATUS_REFUSED);
	ck_assert_int_eq(why.rule, 5);
	free(order);
	plan_release(&mine);
}

SUITE("reorder", 0)
