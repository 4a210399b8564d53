/* Data parallelism that waits: all gradients are added up in one all-reduce, when the backward pass is over. */
#include "strategy/step/hooks.h"

/* A gradient is there. Nothing happens until all are. */
static void leave(struct step *s, int tensor)
{
	(void)s;
	(void)tensor;
}

static void add_up(struct step *s)
{
	struct step_view v = step_view(s);
	if (v.ranks == 1 || !v.last_micro)
		return;
	struct op *op = step_collective(s, OP_ALL_REDUCE, TRAFFIC_ALL_REDUCE, 0);
	op->operand[ALL_REDUCE_X] = reduce_written(s, 0);
	reduce_done(s, 0, op);
}

const struct strategy strategy_late = {
        .name = "late",
        .what = "everyone keeps everything; one all-reduce when the backward pass is over",
        .pack = pack_all,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_WHOLE,
        .hooks = {.prologue = broadcast_parameters, .gradient_ready = leave, .end_backward = add_up},
};
