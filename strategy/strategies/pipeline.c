/* Pipeline parallelism: layers over ranks, and the micro-batches of a step (--accumulate) fill the pipeline. See
 * stage.h for the schedules.
 */
#include "strategy/step/stage.h"

static void micros(struct step *s)
{
	stage_micros(s, step_view(s).choices->schedule == PIPELINE_GPIPE ? STAGE_GPIPE : STAGE_1F1B);
}

/* Under 1F1B the first stage has as many micro-batches under way as there are stages. */
static int64_t most_in_flight(const struct settings *s, const struct choices *c)
{
	return c->schedule == PIPELINE_GPIPE ? s->accumulate : s->ranks;
}

const struct strategy strategy_pipeline = {
        .name = "pipeline",
        .what = "layers over ranks; micro-batches ({accumulate}) fill the pipeline",
        .keys = {{"schedule", "1f1b|gpipe", "1f1b",
                  "one backward after each forward; or all forwards, then all backwards"}},
        STAGES(micros),
        .most_in_flight = most_in_flight,
};
