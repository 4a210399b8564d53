/* Two rates that no operation's own rate has in it: that at which large weights reach a product, and that of tensors
 * which begin inside a cache line.
 *
 * A product's time is its FLOPs at a rate, and beside that its weights, which no cache has any more. Few samples and
 * many, of the same weights, tell the one from the other: t = work / rate + weights / bandwidth.
 * Layers in a bucket, behind an odd number of other parameters, show what it takes to begin inside a line.
 */
#include <stdlib.h>

#include "real/calibrate/internal.h"
#include "strategy/base/arena.h"

static const struct timed_case few_rows = {"mlp", "single", 4, TYPE_FP32},
                               many_rows = {"mlp", "single", 256, TYPE_FP32}, in_buckets = {"mlp", "ddp", 4, TYPE_FP32};

/* The median of a kind's operation with the most weights. */
static struct duration heaviest(struct durations *all, enum op_kind kind)
{
	struct duration most = {.kind = (int)kind};
	int64_t *ns = array_unset(all->count + 1, sizeof *ns);
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

/* The median of the operations that are like this one; 0: there are none. */
static int64_t median_like(const struct durations *sorted, const struct duration *like, int64_t *ns)
{
	for (size_t i = 0; i < sorted->count; i++) {
		const struct duration *d = &sorted->d[i];
		if (d->kind == like->kind && d->type == like->type && d->work == like->work && !d->straddling)
			return calibrate_rate(0, ns, (int)(durations_equal(sorted, i, ns) - i)).value;
	}
	return 0;
}

struct rate calibrate_fit_straddle(struct durations *whole, struct durations *straddling)
{
	int64_t bytes = 0, wait = 0, *ns = array_unset(whole->count + straddling->count + 1, sizeof *ns);
	durations_sort(whole);
	durations_sort(straddling);
	for (size_t i = 0, next; i < straddling->count; i = next) {
		next = durations_equal(straddling, i, ns);
		int64_t median = calibrate_rate(0, ns, (int)(next - i)).value;
		int64_t like = median_like(whole, &straddling->d[i], ns);
		if (!straddling->d[i].straddling || !like)
			continue;
		bytes += straddling->d[i].straddling;
		wait += median - like;
	}
	free(ns);
	return wait > 0 ? calibrate_rate(bytes, &wait, 1) : rate_assumed(0);
}

static double seconds_at(int64_t bytes, const struct rate *bandwidth)
{
	return bandwidth->value ? (double)bytes / (double)bandwidth->value : 0;
}

int64_t calibrate_rate_time(const struct duration *d, const struct cluster *c, int64_t ns)
{
	double beside =
	        seconds_at(d->weights, &c->weight_bandwidth) + seconds_at(d->straddling, &c->straddle_bandwidth);
	int64_t rest = ns - (int64_t)(beside * 1e9);
	return rest > ns / 4 ? rest : ns / 4;
}

enum status calibrate_weights(struct calibration *k)
{
	struct durations few = {0}, many = {0}, straddling = {0};
	enum status s = calibrate_case(k, &few_rows, false, &few);
	if (!s)
		s = calibrate_case(k, &many_rows, false, &many);
	if (!s)
		s = calibrate_case(k, &in_buckets, false, &straddling);
	if (!s) {
		k->cluster->weight_bandwidth = calibrate_fit_weights(&few, &many);
		k->cluster->straddle_bandwidth = calibrate_fit_straddle(&few, &straddling);
	}
	durations_release(&few);
	durations_release(&many);
	durations_release(&straddling);
	return s;
}
