/* The rate at which large weights reach a product.
 *
 * A product's time is its FLOPs at a rate, and beside that its weights, which no cache has any more. Few samples and
 * many, of the same weights, tell the one from the other: t = work / rate + weights / bandwidth.
 */
#include <stdlib.h>

#include "real/calibrate/internal.h"
#include "strategy/base/memory.h"

static const struct timed_case few_rows = {"mlp", "single", 4, TYPE_FP32},
                               many_rows = {"mlp", "single", 256, TYPE_FP32};

/* The median of a kind's operation with the most weights. */
static struct duration heaviest(struct durations *all, enum op_kind kind)
{
	struct duration most = {.kind = (int)kind};
	int64_t *ns = malloc((all->count + 1) * sizeof *ns);
	if (!ns)
		memory_exhausted();
	durations_sort(all);
	for (size_t i = 0, next; i < all->count; i = next) {
		next = durations_equal(all, i, ns);
		if (all->d[i].kind != (int)kind || all->d[i].weights <= most.weights)
			continue;
		most = all->d[i];
		most.ns = calibrate_rate(0, ns, (int)(next - i)).value;
	}
	free(ns);
	return most;
}

/* The faster of both passes: none of them is then predicted to wait for more than it did. */
struct rate calibrate_fit_weights(struct durations *few, struct durations *many)
{
	static const enum op_kind passes[] = {OP_LINEAR_FORWARD, OP_LINEAR_BACKWARD};
	double seen[2] = {0};
	for (int i = 0; i < 2; i++) {
		struct duration a = heaviest(few, passes[i]), b = heaviest(many, passes[i]);
		double wait = b.work > a.work ? ((double)a.ns * (double)b.work - (double)b.ns * (double)a.work) /
		                                        (double)(b.work - a.work)
		                              : 0;
		seen[i] = wait > 0 ? (double)a.weights * 1e9 / wait : 0;
	}
	double low = seen[0] < seen[1] ? seen[0] : seen[1], high = seen[0] < seen[1] ? seen[1] : seen[0];
	if (high <= 0)
		return rate_assumed(0);
	return rate_measured((int64_t)high, (int64_t)(low > 0 ? low : high), (int64_t)high);
}

int64_t calibrate_without_weights(const struct duration *d, int64_t ns, const struct rate *bandwidth)
{
	int64_t rest = ns;
	if (bandwidth->value)
		rest -= (int64_t)((double)d->weights * 1e9 / (double)bandwidth->value);
	return rest > ns / 4 ? rest : ns / 4;
}

enum status calibrate_weights(struct calibration *k)
{
	struct durations few = {0}, many = {0};
	enum status s = calibrate_case(k, &few_rows, false, &few);
	if (!s)
		s = calibrate_case(k, &many_rows, false, &many);
	if (!s)
		k->cluster->weight_bandwidth = calibrate_fit_weights(&few, &many);
	durations_release(&few);
	durations_release(&many);
	return s;
}
