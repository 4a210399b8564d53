/* How many candidates a second of one core's time advice judges: the median of several searches.
 *
 *     bench_advise [rounds]                 default: 5
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

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

static double core_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int rounds = bench_rounds(argc, argv, 5, ROUNDS_MOST);
	for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
		double times[ROUNDS_MOST];
		int64_t candidates = 0, plans = 0;
		struct settings s = settings_of("%s", jobs[i]);
		for (int k = 0; k < rounds; k++) {
			double begin = core_seconds();
			candidates = advise(&s, &plans);
			times[k] = core_seconds() - begin;
		}
		printf("%s: %" PRId64 " candidates in %" PRId64 " plans, %.0f a second (target: %d)\n", jobs[i],
		       candidates, plans, (double)candidates / median(times, rounds), TARGET);
	}
	return 0;
}
