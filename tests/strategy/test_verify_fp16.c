/* Plans in fp16: those of every strategy are right, none of their operations can be left out, and those broken on
 * purpose (scaled by one scaler and unscaled by another, an update that hears of some groups or some ranks, …) are
 * refused. */

#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"

#define MLP "mlp:sizes=4-4-4-4 "
#define GPT(layers) "gpt:layers=" layers ",width=4,heads=2,context=3,vocabulary=5 "
#define FP16 " precision=fp16" /* none given: DeepSpeed's scaler */
#define PYTORCH FP16 " loss_scaler=pytorch"
#define SINGLE_2 MLP "single accumulate=2 clip=1" FP16
#define DDP_2 MLP "ddp ranks=3 accumulate=2 bucket=32 clip=1" PYTORCH
#define ZERO1 MLP "zero1 ranks=3 bucket=32 clip=1" FP16
#define ZERO2_2 MLP "zero2 ranks=2 accumulate=2 bucket=32 clip=1" PYTORCH
#define ZERO3_2 MLP "zero3 ranks=4 accumulate=2" FP16
#define GPT_FSDP GPT("2") "fsdp ranks=2 clip=1" PYTORCH
static const char *const requests[] = {
        SINGLE_2,
        MLP "dp ranks=3 accumulate=2" PYTORCH,
        MLP "dp ranks=2 clip=1 optimizer=sgd" FP16,
        DDP_2,
        ZERO1,
        ZERO2_2,
        ZERO3_2,
        GPT_FSDP,
        GPT("1") "fsdp:sync=last:reshard=no ranks=3 accumulate=2 optimizer=sgd" FP16,
        GPT("2") "ddp ranks=2 activation_checkpointing=full" PYTORCH,
};

START_LOOP_TEST(right_plans_come_back_from_their_text, 0, COUNT(requests))
{
	const struct plan *p = must_come_back(right_plan("%s", requests[_i]));
	ck_assert_int_eq(p->settings.loss_scaler, _i % 2 ? LOSS_SCALER_PYTORCH : LOSS_SCALER_DEEPSPEED);
}

START_LOOP_TEST(every_operation_is_needed, 0, COUNT(requests))
{
	must_need_every_op(right_plan("%s", requests[_i]));
}

/* ---- broken on purpose ---- */

static void begun_late(struct plan *p)
{
	struct op *op = plan_op(p, "scaler.update");
	op->kind = OP_SCALER_BEGIN;
	op->operand[SCALER_UPDATE_OVERFLOW].buffer = -1;
}
static void scaler_in_bf16(struct plan *p)
{
	p->settings.precision = TYPE_BF16;
	for (int i = 0; i < p->roles[0].buffer_count; i++)
		if (p->roles[0].buffers[i].type == TYPE_FP16)
			p->roles[0].buffers[i].type = TYPE_BF16;
}

static const struct broken broken[] = {
        {"rule 2 (matching)", SINGLE_2, "put classifier#1.scaler none", "operand scaler is missing", NULL},
        {"rule 5 (gradient)", DDP_2, "put adamw#1.scaler none", "operand scaler", NULL},
        {"rule 6 (version)", DDP_2, "put adamw#1.overflow none", "operand overflow", NULL},
        /* updates unscale by the next step's scale: all, or half of them */
        {"rule 5 (gradient)", DDP_2, "move scaler.update to adamw", "after update 1", NULL},
        {"rule 5 (gradient)", ZERO1, "move scaler.update to adamw#1", "after update 1", NULL},
        {"rule 5 (gradient)", ZERO2_2, "double scaler.update", "after update 1", NULL},
        {"rule 6 (version)", SINGLE_2, "move scaler.update to begin", "whether the update is skipped", NULL},
        {"rule 2 (matching)", SINGLE_2, NULL, "no place in section step", begun_late},
        {"rule 6 (version)", DDP_2, "drop sum#-1", "of this rank alone", NULL},
        {"rule 6 (version)", ZERO3_2, "drop sum#-1", "of this rank alone", NULL},
        {"rule 5 (gradient)", ZERO3_2, "double sum#-1", "more than once", NULL},
        {"rule 6 (version)", ZERO2_2, "drop overflow#1", "whether gradients overflowed", NULL},
        {"rule 6 (version)", GPT_FSDP, "set overflow#1 accumulate 0", "whether gradients overflowed", NULL},
        {"rule 5 (gradient)", ZERO1, "put overflow#1.x overflow.x, set overflow#1 group 0", "is in there already",
         NULL},
        /* what is still to come can overflow the sum */
        {"rule 5 (gradient)", SINGLE_2, "move overflow to classifier#1", "must be the gradient of", NULL},
        {"rule 6 (version)", DDP_2, "put adamw.overflow adamw.norm", "a norm with groups", NULL},
        {"rule 5 (gradient)", DDP_2, "put adamw.norm adamw.overflow", "whether gradients overflowed", NULL},
        {"rule 2 (matching)", DDP_2, "set adamw.scaler count 1", "operand scaler is 1 elements", NULL},
        {"rule 2 (matching)", DDP_2, "set scaler.update.scaler type fp16", "fp32", NULL},
        {"rule 2 (matching)", DDP_2, "set settings loss_scale 0", "loss_scale 0", NULL},
        {"rule 2 (matching)", DDP_2, "set settings loss_scale 1e39", "out of range", NULL},
        {"rule 2 (matching)", SINGLE_2, "set settings loss_scale 0.5", "out of range", NULL},
        {"rule 2 (matching)", DDP_2, "set settings loss_scale_window 0", "out of range", NULL},
        {"rule 2 (matching)", DDP_2, "set settings loss_scaler 0", "no loss scaler", NULL},
        {"rule 2 (matching)", DDP_2, NULL, "operand scaler has no place", scaler_in_bf16},
};

START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	must_be_refused(&broken[_i]);
}

SUITE("verify fp16", 120)
