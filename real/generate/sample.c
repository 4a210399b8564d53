#include "real/generate/sample.h"

#include <math.h>
#include <stdlib.h>

#include "real/rank/random.h"
#include "strategy/base/arena.h"

static int32_t largest(const float *logits, int64_t classes)
{
	int64_t best = 0;
	for (int64_t i = 1; i < classes; i++)
		if (logits[i] > logits[best])
			best = i;
	return (int32_t)best;
}

/* Larger logits first, of equal ones the first. */
static int by_logit(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->logit != y->logit)
		return x->logit > y->logit ? -1 : 1;
	return x->token < y->token ? -1 : 1;
}

/* The `most` largest, in order: each new one is put in its place among those before. */
static void keep_largest(struct candidate *list, const float *logits, int64_t classes, int64_t most)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < classes; i++) {
		int64_t at = kept < most ? kept++ : most - 1;
		if (at == most - 1 && i >= most && logits[i] <= list[at].logit)
			continue;
		for (; at > 0 && list[at - 1].logit < logits[i]; at--)
			list[at] = list[at - 1];
		list[at] = (struct candidate){.logit = logits[i], .token = (int32_t)i};
	}
}

/* The candidates; they are in order if only some of them stay. */
static struct candidate *candidates(const struct sampler_rule *rule, struct sampler_scratch *scratch,
                                    const float *logits, int64_t classes, int64_t n)
{
	enum { FEW = 256 };
	if (scratch->capacity < classes) {
		free(scratch->list);
		scratch->list = array_make((size_t)classes, sizeof *scratch->list);
		scratch->capacity = classes;
	}
	if (n <= FEW && n < classes) {
		keep_largest(scratch->list, logits, classes, n);
		return scratch->list;
	}
	for (int64_t i = 0; i < classes; i++)
		scratch->list[i] = (struct candidate){.logit = logits[i], .token = (int32_t)i};
	if (n < classes || rule->top_p < 1)
		qsort(scratch->list, (size_t)classes, sizeof *scratch->list, by_logit);
	return scratch->list;
}

/* e^((logit − the largest)/temperature), and their sum */
static double weigh(struct candidate *list, int64_t n, float top, double temperature)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += list[i].weight = exp(((double)list[i].logit - (double)top) / temperature);
	return sum;
}

/* How many of the first reach top_p of the sum, which becomes theirs. */
static int64_t nucleus(const struct candidate *list, int64_t n, double top_p, double *sum)
{
	double part = 0;
	int64_t i = 0;
	if (top_p >= 1)
		return n;
	while (i < n && (i == 0 || part < top_p * *sum))
		part += list[i++].weight;
	*sum = part;
	return i;
}

/* In (0, 1), from the 53 upper bits of 64. */
static double uniform_at(uint64_t seed, int64_t position)
{
	uint64_t bits = random_u64(seed, random_stream(RANDOM_GENERATE, 0), (uint64_t)position);
	return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

int32_t sample(const struct sampler_rule *rule, struct sampler_scratch *scratch, const float *logits, int64_t classes,
               int64_t position)
{
	if (rule->temperature <= 0)
		return largest(logits, classes);
	int64_t n = rule->top_k > 0 && rule->top_k < classes ? rule->top_k : classes, i = 0;
	struct candidate *list = candidates(rule, scratch, logits, classes, n);
	double sum = weigh(list, n, logits[largest(logits, classes)], rule->temperature);
	n = nucleus(list, n, rule->top_p, &sum);
	double at = uniform_at(rule->seed, position) * sum;
	while (i < n - 1 && at >= list[i].weight)
		at -= list[i++].weight;
	return list[i].token;
}

void sampler_scratch_release(struct sampler_scratch *scratch)
{
	if (!scratch)
		return;
	free(scratch->list);
	*scratch = (struct sampler_scratch){0};
}
