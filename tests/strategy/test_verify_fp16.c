/* Plans in fp16: those of every strategy are right, none of their operations can be left out, and those broken on
 * purpose (scaled by one scaler and unscaled by another, an update that hears of some groups or some ranks, …) are
 * refused. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"

static const char *const requests[] = {
        "mlp:sizes=4-4-4-4 single accumulate=2 clip=1",
        "mlp:sizes=4-4-4-4 dp ranks=3 accumulate=2",
        "mlp:sizes=4-4-4-4 dp ranks=2 clip=1 optimizer=sgd",
        "mlp:sizes=4-4-4-4 ddp ranks=3 accumulate=2 bucket=32 clip=1",
        "mlp:sizes=4-4-4-4 zero1 ranks=3 bucket=32 clip=1",
        "mlp:sizes=4-4-4-4 zero2 ranks=2 accumulate=2 bucket=32 clip=1",
        "mlp:sizes=4-4-4-4 zero3 ranks=4 accumulate=2",
        "gpt:layers=2,width=4,heads=2,context=3,vocabulary=5 fsdp ranks=2 clip=1",
        "gpt:layers=1,width=4,heads=2,context=3,vocabulary=5 fsdp:sync=last:reshard=no ranks=3 accumulate=2 "
        "optimizer=sgd",
        "gpt:layers=2,width=4,heads=2,context=3,vocabulary=5 ddp ranks=2 activation_checkpointing=full",
};
enum { SINGLE_2, DP_2, DP_SGD, DDP_2, ZERO1, ZERO2_2, ZERO3_2, GPT_FSDP, GPT_LAST, GPT_FULL };

static void open_plan(struct made *m, int i)
{
	struct request r = requests[i];
	r.precision = TYPE_FP16;
	r.loss_scaler = i % 2 ? LOSS_SCALER_PYTORCH : LOSS_SCALER_NONE; /* none given: DeepSpeed's */
	must_open_verified(m, &r);
}

START_LOOP_TEST(right_plans_come_back_from_their_text, 0, COUNT(requests))
{
	struct made m;
	open_plan(&m, _i);
	char *text = must_come_back(&m.plan);
	ck_assert(strstr(text, _i % 2 ? "set loss_scaler pytorch\n" : "set loss_scaler deepspeed\n"));
	free(text);
	made_release(&m);
}
END_TEST

START_LOOP_TEST(every_operation_is_needed, 0, COUNT(requests))
{
	struct made m;
	open_plan(&m, _i);
	must_need_every_op(&m.plan);
	made_release(&m);
}
END_TEST

/* ---- broken on purpose ---- */

static int find(const struct plan *p, enum op_kind kind, int nth)
{
	for (int i = p->roles[0].step.begin; i < p->roles[0].step.end; i++)
		if (p->roles[0].ops[i].kind == kind && !nth--)
			return i;
	ck_abort_msg("there is no such operation");
}

static struct op *at(struct plan *p, enum op_kind kind, int nth)
{
	return &p->roles[0].ops[find(p, kind, nth)];
}

static void leave_out(struct op *op, const char *operand)
{
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (!strcmp(op_operand_name(op->kind, i), operand))
			op->operand[i].buffer = -1;
}

static void not_scaled(struct plan *p)
{
	leave_out(at(p, OP_CLASSIFIER, 1), "scaler");
}
static void not_unscaled(struct plan *p)
{
	leave_out(at(p, OP_ADAMW, 1), "scaler");
}
static void not_told(struct plan *p)
{
	leave_out(at(p, OP_ADAMW, 1), "overflow");
}
/* The update unscales by the next step's scale. */
static void scaler_updated_before(struct plan *p)
{
	plan_move_op(p, 0, find(p, OP_SCALER_UPDATE, 0), find(p, OP_ADAMW, 0));
}
/* Half of the parameters, too. */
static void scaler_updated_between(struct plan *p)
{
	plan_move_op(p, 0, find(p, OP_SCALER_UPDATE, 0), find(p, OP_ADAMW, 1));
}
static void scaler_updated_twice(struct plan *p)
{
	plan_double_op(p, 0, find(p, OP_SCALER_UPDATE, 0));
}
static void scaler_updated_first(struct plan *p)
{
	plan_move_op(p, 0, find(p, OP_SCALER_UPDATE, 0), p->roles[0].step.begin);
}
static void begun_late(struct plan *p)
{
	struct op *op = at(p, OP_SCALER_UPDATE, 0);
	op->kind = OP_SCALER_BEGIN;
	op->operand[SCALER_UPDATE_OVERFLOW].buffer = -1;
}
static void own_overflow_alone(struct plan *p)
{
	int sum = find(p, OP_SUM, 0);
	while (strcmp(p->roles[0].buffers[p->roles[0].ops[sum].operand[SUM_X].buffer].name, "overflow") != 0)
		sum++;
	plan_drop_op(p, 0, sum);
}
static void own_overflow_twice(struct plan *p)
{
	int sum = find(p, OP_SUM, 0);
	while (strcmp(p->roles[0].buffers[p->roles[0].ops[sum].operand[SUM_X].buffer].name, "overflow") != 0)
		sum++;
	plan_double_op(p, 0, sum);
}
static void one_group_unseen(struct plan *p)
{
	plan_drop_op(p, 0, find(p, OP_OVERFLOW, 1));
}
static void one_group_forgotten(struct plan *p)
{
	at(p, OP_OVERFLOW, 1)->accumulate = 0;
}
static void one_group_twice(struct plan *p)
{
	at(p, OP_OVERFLOW, 1)->operand[OVERFLOW_X] = at(p, OP_OVERFLOW, 0)->operand[OVERFLOW_X];
	at(p, OP_OVERFLOW, 1)->group = at(p, OP_OVERFLOW, 0)->group;
}
/* What is still to come can overflow the sum. */
static void seen_too_early(struct plan *p)
{
	plan_move_op(p, 0, find(p, OP_OVERFLOW, 0), find(p, OP_CLASSIFIER, 1));
}
static void norm_for_overflow(struct plan *p)
{
	struct op *op = at(p, OP_ADAMW, 0);
	op->operand[ADAMW_OVERFLOW] = op->operand[ADAMW_NORM];
}
static void overflow_for_norm(struct plan *p)
{
	struct op *op = at(p, OP_ADAMW, 0);
	op->operand[ADAMW_NORM] = op->operand[ADAMW_OVERFLOW];
}
static void part_of_the_scaler(struct plan *p)
{
	at(p, OP_ADAMW, 0)->operand[ADAMW_SCALER].count = 1;
}
static void sixteen_bit_scaler(struct plan *p)
{
	p->roles[0].buffers[at(p, OP_SCALER_UPDATE, 0)->operand[SCALER_UPDATE_SCALER].buffer].type = TYPE_FP16;
}
static void no_scale(struct plan *p)
{
	p->settings.loss_scale = 0;
}
static void too_large_a_scale(struct plan *p)
{
	p->settings.loss_scale = 1e39;
}
static void below_the_minimum(struct plan *p)
{
	p->settings.loss_scale = 0.5;
}
static void no_window(struct plan *p)
{
	p->settings.loss_scale_window = 0;
}
static void no_scaler(struct plan *p)
{
	p->settings.loss_scaler = LOSS_SCALER_NONE;
}
static void scaler_in_bf16(struct plan *p)
{
	p->settings.precision = TYPE_BF16;
	for (int i = 0; i < p->roles[0].buffer_count; i++)
		if (p->roles[0].buffers[i].type == TYPE_FP16)
			p->roles[0].buffers[i].type = TYPE_BF16;
}

static const struct {
	const char *rule;
	int request;
	void (*breaks)(struct plan *p);
	const char *says;
} broken[] = {
        {"rule 2 (matching)", SINGLE_2, not_scaled, "operand scaler is missing"},
        {"rule 5 (gradient)", DDP_2, not_unscaled, "operand scaler"},
        {"rule 6 (version)", DDP_2, not_told, "operand overflow"},
        {"rule 5 (gradient)", DDP_2, scaler_updated_before, "updated 1 times"},
        {"rule 5 (gradient)", ZERO1, scaler_updated_between, "updated 1 times"},
        {"rule 5 (gradient)", ZERO2_2, scaler_updated_twice, "updated 1 times"},
        {"rule 6 (version)", SINGLE_2, scaler_updated_first, "whether the update is skipped"},
        {"rule 2 (matching)", SINGLE_2, begun_late, "no place in section step"},
        {"rule 6 (version)", DDP_2, own_overflow_alone, "of this rank alone"},
        {"rule 6 (version)", ZERO3_2, own_overflow_alone, "of this rank alone"},
        {"rule 5 (gradient)", ZERO3_2, own_overflow_twice, "more than once"},
        {"rule 6 (version)", ZERO2_2, one_group_unseen, "whether gradients overflowed"},
        {"rule 6 (version)", GPT_FSDP, one_group_forgotten, "whether gradients overflowed"},
        {"rule 5 (gradient)", ZERO1, one_group_twice, "are in there already"},
        {"rule 5 (gradient)", SINGLE_2, seen_too_early, "must be the gradient of"},
        {"rule 6 (version)", DDP_2, norm_for_overflow, "a norm with groups"},
        {"rule 5 (gradient)", DDP_2, overflow_for_norm, "whether gradients overflowed"},
        {"rule 2 (matching)", DDP_2, part_of_the_scaler, "operand scaler is 1 elements"},
        {"rule 2 (matching)", DDP_2, sixteen_bit_scaler, "fp32"},
        {"rule 2 (matching)", DDP_2, no_scale, "loss_scale 0"},
        {"rule 2 (matching)", DDP_2, too_large_a_scale, "out of range"},
        {"rule 2 (matching)", SINGLE_2, below_the_minimum, "out of range"},
        {"rule 2 (matching)", DDP_2, no_window, "out of range"},
        {"rule 2 (matching)", DDP_2, no_scaler, "no loss scaler"},
        {"rule 2 (matching)", DDP_2, scaler_in_bf16, "operand scaler has no place"},
};

START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	struct made m;
	struct plan p;
	open_plan(&m, broken[_i].request);
	plan_copy(&p, &m.plan);
	broken[_i].breaks(&p);
	ck_assert_msg(plan_verify(&p, NULL) == STATUS_REFUSED, "broken plan %d is let through", _i);
	ck_assert_msg(!strncmp(status_message(), broken[_i].rule, strlen(broken[_i].rule)) &&
	                      strstr(status_message(), broken[_i].says) && !strchr(status_message(), '\n'),
	              "broken plan %d: \"%s\" without \"%s\" and \"%s\"", _i, status_message(), broken[_i].rule,
	              broken[_i].says);
	plan_release(&p);
	made_release(&m);
}
END_TEST

/* ---- texts ---- */

static const struct {
	enum type precision;
	const char *from, *to, *says;
} texts[] = {
        {TYPE_FP16, "set loss_scaler deepspeed\n", "", "set loss_scaler"},
        {TYPE_FP16, "set loss_scale 65536\n", "", "set loss_scale"},
        {TYPE_FP16, "set loss_scale 65536\n", "set loss_scale 0\n", "loss_scale: '0' is below 1e-06"},
        {TYPE_FP16, "set loss_scale 65536\n", "set loss_scale -1\n", "loss_scale: '-1' is below 1e-06"},
        {TYPE_FP16, "set loss_scaler deepspeed\n", "set loss_scaler none\n", "'none' is not one of: deepspeed|pytorch"},
        {TYPE_FP16, "set loss_scale_window 1000\n", "set loss_scale_window 99999999\n", "'99999999' is above 16777216"},
        {TYPE_BF16, "set seed 1\n", "set seed 1\nset loss_scale 2\n", "a plan in fp16, and no other"},
};

START_LOOP_TEST(texts_put_wrong, 0, COUNT(texts))
{
	struct made m, again = {0};
	struct request r = {
	        .model = "mlp:sizes=4-3-2", .strategy = "ddp", .ranks = 2, .precision = texts[_i].precision};
	ck_assert_int_eq(made_open(&m, &r), STATUS_OK);
	char *text = plan_to_text(&m.plan, NULL), *place = strstr(text, texts[_i].from), changed[100000];
	ck_assert_ptr_nonnull(place);
	snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - text), text, texts[_i].to,
	         place + strlen(texts[_i].from));
	enum status s = plan_read(&again.plan, &again.model, changed, strlen(changed), "my.plan");
	ck_assert_msg(s == STATUS_INPUT && !strncmp(status_message(), "my.plan:", 8) &&
	                      strstr(status_message(), texts[_i].says),
	              "\"%s\" without \"%s\"", status_message(), texts[_i].says);
	free(text);
	made_release(&again);
	made_release(&m);
}
END_TEST

SUITE("verify fp16", 120)
