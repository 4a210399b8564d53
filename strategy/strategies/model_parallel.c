/* Model parallelism without a pipeline: layers over ranks, and one rank works at a time. A micro-batch goes forward
 * through all stages and back before the next begins, so a rank keeps the activations of one micro-batch of its own
 * layers, and is idle (p-1)/p of the time. `pipeline` is compared with it. See stage.h.
 */
#include "strategy/step/stage.h"

static void micros(struct step *s)
{
	stage_micros(s, STAGE_ONE_AT_A_TIME);
}

/* One, and what the first has left to the next. */
static int64_t most_in_flight(const struct settings *s, const struct choices *c)
{
	(void)s;
	(void)c;
	return 2;
}

const struct strategy strategy_model = {
        .name = "model",
        .what = "layers over ranks, one works at a time: activations go forward, their gradients back",
        STAGES(micros),
        .most_in_flight = most_in_flight,
};
