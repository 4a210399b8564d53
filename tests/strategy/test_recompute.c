/* Activations that are not kept are made again: no more than is needed, just before it is, and from what they were made
 * of; no bit of a result changes. */

#include "tests/strategy/checkpointing_check.h"
#include "tests/support/refusal.h"
#include "tests/support/suite.h"

/* ---- what is made again ---- */

static int count_recomputed(const struct plan *p, int unit)
{
	int n = 0;
	for (int i = 0; i < p->roles[0].op_count; i++) {
		const struct op *op = &p->roles[0].ops[i];
		bool in_step = i >= p->roles[0].step.begin && i < p->roles[0].step.end;
		ck_assert(op->pass != PASS_RECOMPUTE || in_step);
		n += op->pass == PASS_RECOMPUTE && op->kernel >= 0 && (unit < 0 || op->unit == unit);
	}
	return n;
}

START_TEST(only_what_is_needed_is_recomputed)
{
	static const struct {
		const char *model, *mode;
		int recomputed; /* kernels */
	} want[] = {{small, "none", 0},
	            {small, "full", 4 * 6}, /* all but a block's last */
	            {small, "every=2", 2 * 13},
	            {small, "every=4", 27},
	            {small, "selective", 4},          /* attention */
	            {small, "operations", 4 * 3},     /* two norms and the second product */
	            {"mlp:sizes=8-7-6-5", "full", 2}, /* the last layer has no GELU, so nothing to make again */
	            {"mlp:sizes=8-7-6-5", "every=2", 2},
	            {"mlp:sizes=8-5", "full", 0}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const struct plan *p = right_plan("%s ddp ranks=2 accumulate=2 activation_checkpointing=%s",
		                                  want[i].model, want[i].mode);
		ck_assert_int_eq(count_recomputed(p, -1), 2 * want[i].recomputed);
	}
}

/* Before the first backward kernel of the segment, and after the last of what comes behind it. */
START_TEST(segments_are_recomputed_just_in_time)
{
	int unit = LAYERS + 1; /* the last that went backward */
	const struct plan *p = right_plan("%s fsdp ranks=2 activation_checkpointing=every=2", small);
	const struct role *r = &p->roles[0];
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kernel < 0 || op->unit == 0)
			continue;
		if (op->pass == PASS_RECOMPUTE) {
			ck_assert(unit % 2 == 1 && (op->unit - 1) / 2 == (unit - 3) / 2);
		} else if (op->pass == PASS_BACKWARD) {
			ck_assert(op->unit == unit || op->unit == unit - 1);
			unit = op->unit;
		}
	}
	ck_assert_int_eq(unit, 1);
}

/* A unit that is recomputed and goes backward next is gathered once for both; other units of a segment twice, unless
 * the strategy's own setting keeps them. */
START_TEST(gathers_serve_recomputing)
{
	static const struct {
		const char *strategy, *mode;
		int gathers; /* of 10 without */
	} want[] = {{"zero3", "none", 10},
	            {"zero3", "full", 10},
	            {"fsdp", "full", 10},
	            {"zero3", "selective", 10},
	            {"zero3", "every=2", 12},
	            {"fsdp", "every=2", 12},
	            {"fsdp", "every=4", 13},
	            {"zero3:prefetch=0", "every=4", 13},
	            {"zero3:reuse=1000000", "every=4", 5},
	            {"fsdp:reshard=no", "full", 5},
	            {"fsdp:reshard=no", "every=2", 5}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const struct plan *p =
		        right_plan("%s %s ranks=2 activation_checkpointing=%s", small, want[i].strategy, want[i].mode);
		ck_assert_msg(plan_moved(p, 0, TRAFFIC_ALL_GATHER).calls == want[i].gathers, "%s, %s: %d gathers",
		              want[i].strategy, want[i].mode, (int)plan_moved(p, 0, TRAFFIC_ALL_GATHER).calls);
	}
}

/* ---- the same result ---- */

START_LOOP_TEST(no_bit_changes, 0, plans_strategies())
{
	static const char *const modes[] = {
	        "full",
	        "every=2",
	        "full:number_checkpoints=3",
	        "full:contiguous_memory_optimization=yes:synchronize_checkpoint_boundary=yes",
	        "every=2:cpu_checkpointing=yes:synchronize_checkpoint_boundary=yes",
	        "selective",
	        "operations"};
	for (int model = 0; model < 2; model++)
		for (int accumulate = 1; accumulate <= 2; accumulate++) {
			char request[200];
			snprintf(request, sizeof request,
			         "%s %s ranks=%d micro_batch=2 accumulate=%d learning_rate=0.05 "
			         "activation_checkpointing",
			         model ? "mlp:sizes=5-4-7-3-6" : "gpt:layers=4,width=8,heads=2,context=5,vocabulary=7",
			         strategy_at(_i)->name, _i ? 2 : 1, accumulate);
			const struct plan *plain = right_plan("%s=none", request);
			for (int mode = 0; mode < COUNT(modes) - 2 * model; mode++)
				must_train_alike(right_plan("%s=%s", request, modes[mode]), plain, 3, 0);
		}
}

/* ---- the verifier ---- */

static int find_recompute(const struct role *r, enum op_kind kind)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].pass == PASS_RECOMPUTE && r->ops[i].kind == kind)
			return i;
	ck_abort_msg("no such operation");
	return -1;
}

/* Recomputed from another block's weights, or from another micro-batch: refused, with the rule's number. */
START_TEST(recomputing_something_else_is_refused)
{
	struct plan *p = right_plan("%s ddp ranks=2 accumulate=2 activation_checkpointing=full", small);
	struct role *r = &p->roles[0];
	struct op *op = &r->ops[find_recompute(r, OP_LINEAR_FORWARD)];
	const struct region old = op->operand[LINEAR_FORWARD_WEIGHT];
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].pass == PASS_FORWARD && r->ops[i].kind == op->kind && r->ops[i].kernel != op->kernel &&
		    r->ops[i].operand[LINEAR_FORWARD_WEIGHT].count == op->operand[LINEAR_FORWARD_WEIGHT].count)
			op->operand[LINEAR_FORWARD_WEIGHT] = r->ops[i].operand[LINEAR_FORWARD_WEIGHT];
	ck_assert(op->operand[LINEAR_FORWARD_WEIGHT].offset != old.offset);
	must_fail(plan_verify(p, NULL), STATUS_REFUSED, "rule 6 (version)");
	op->operand[LINEAR_FORWARD_WEIGHT] = old;
	ck_assert_int_eq(plan_verify(p, NULL), STATUS_OK);
	op->micro = 1;
	must_fail(plan_verify(p, NULL), STATUS_REFUSED, "rule 7 (saved)");
}

SUITE("recompute", 0)
