/* Refuses plans whose sizes do not fit in 64 bits: the same ones, whether compiled or read from text. */
#include <inttypes.h>

#include "strategy/base/number.h"
#include "strategy/plan/plan.h"

/* The root of `dp` moves every rank's samples and parameters in every micro-batch: a handful of times, at 4 bytes. */
#define MOST_VALUES ((int64_t)1 << 56)
#define MOST_PARAMETERS ((int64_t)1 << 58)
/* FLOPs of a rank are summed up over a step to see which messages of a pipeline's stages are ready first. GPT-3's own
 * batch, all of it on one rank, is 3.5e18. */
#define MOST_FLOPS 4.6e18

static bool fits(int64_t elements, int64_t times, int64_t most)
{
	int64_t product;
	return multiply(elements, times, &product) && product <= most;
}

static bool elements_fit(const struct model *m, const struct settings *t, int64_t data_ranks)
{
	int64_t largest = 1, times, samples;
	for (int v = 0; v < m->value_count; v++)
		if (m->values[v].elements > largest)
			largest = m->values[v].elements;
	return multiply(data_ranks, t->accumulate, &times) && multiply(times, t->micro_batch, &samples) &&
	       fits(m->parameters, times, MOST_PARAMETERS) && fits(largest, samples, MOST_VALUES);
}

enum status plan_check_sizes(const struct model *m, const struct settings *t, int64_t data_ranks)
{
	if (t->ranks > m->parameters)
		return status_fail(STATUS_INPUT,
		                   "{ranks}: %" PRId64 " ranks are more than the model has elements (%" PRId64 ")",
		                   t->ranks, m->parameters);
	if (!elements_fit(m, t, data_ranks))
		return status_fail(STATUS_INPUT,
		                   "{batch}: %" PRId64 " ranks × micro-batch %" PRId64 " × accumulate %" PRId64
		                   " of this model are too large for 64-bit sizes; use a smaller batch",
		                   data_ranks, t->micro_batch, t->accumulate);
	double flops = model_flops(m) * (double)t->micro_batch * (double)t->accumulate;
	if (flops > MOST_FLOPS)
		return status_fail(STATUS_INPUT,
		                   "{model} %s: a step is %.2g FLOPs on a rank, and at most %.2g can be counted; use a "
		                   "smaller model, sequence or batch",
		                   m->name, flops, MOST_FLOPS);
	return STATUS_OK;
}
