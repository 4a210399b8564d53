/* How many candidates a second advice judges, on one core: the median of several searches.
 *
 *     bench_advise [rounds]                 default: 5
 */
#include <inttypes.h>
#include <stdio.h>

#include "sim/advise.h"
#include "tests/bench/bench.h"
#include "tests/support/plans.h"

enum { ROUNDS_MOST = 99, TARGET = 1000 };

static const char *const jobs[] = {"gpt2-124m ddp ranks=8 batch=512", "llama-2-7b ddp ranks=8 batch=256"};
static const char *const names[] = {"ddp", "zero1", "zero2", "zero3", "fsdp"};

static int64_t advise(const struct settings *given, int64_t *plans)
{
	struct advise_request q = {.given = *given,
	                           .cluster = "a100-80gb",
	                           .margin = 0.05,
	                           .strategies = sizeof names / sizeof names[0],
	                           .precision = {TYPE_BF16, TYPE_FP32},
	                           .precisions = 2};
	struct advice *a;
	for (int i = 0; i < q.strategies; i++)
		q.strategy[i] = names[i];
	must(advise_begin(&a, &q));
	while (advise_next(a))
		;
	int64_t candidates = a->candidates;
	*plans = a->plans;
	advise_end(a);
	return candidates;
}

int main(int argc, char **argv)
{
	int rounds = bench_rounds(argc, argv, 5, ROUNDS_MOST);
	for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
		double times[ROUNDS_MOST];
		int64_t candidates = 0, plans = 0;
		struct settings s = settings_of("%s", jobs[i]);
		for (int k = 0; k < rounds; k++) {
			double begin = bench_seconds();
			candidates = advise(&s, &plans);
			times[k] = bench_seconds() - begin;
		}
		printf("%s: %" PRId64 " candidates in %" PRId64 " plans, %.0f a second (target: %d)\n", jobs[i],
		       candidates, plans, (double)candidates / median(times, rounds), TARGET);
	}
	return 0;
}
