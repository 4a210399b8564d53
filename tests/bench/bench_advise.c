/* How many candidates a second of one core's time advice judges: the median of several searches.
 *
 *     bench_advise [rounds]                 default: 5
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "sim/advise_habits.h"
#include "tests/bench/bench.h"
#include "tests/support/plans.h"

enum { ROUNDS_MOST = 99, TARGET = 1000 };

/* target: whose file is written (--emit), and so which ways are searched too; EMIT_TARGET_COUNT: none. */
static const struct {
	const char *words;
	enum emit_target target;
} jobs[] = {
        {"gpt2-124m ddp ranks=8 batch=512", EMIT_TARGET_COUNT}, {"llama-2-7b ddp ranks=8 batch=256", EMIT_TARGET_COUNT},
        {"gpt2-124m ddp ranks=8 batch=512", EMIT_DEEPSPEED},    {"llama-2-7b ddp ranks=8 batch=256", EMIT_DEEPSPEED},
        {"llama-2-7b ddp ranks=8 batch=256", EMIT_TORCHTITAN},
};
static const char *const names[] = {"ddp", "zero1", "zero2", "zero3", "fsdp"};

static int64_t advise(const struct settings *given, enum emit_target target, int64_t *plans)
{
	struct advise_request q = {.given = *given,
	                           .cluster = "a100-80gb",
	                           .margin = 0.05,
	                           .strategies = sizeof names / sizeof names[0],
	                           .precision = {TYPE_BF16, TYPE_FP32},
	                           .precisions = 2};
	struct advice *a;
	struct arena arena = {0};
	for (int i = 0; i < q.strategies; i++)
		q.strategy[i] = names[i];
	if (target < EMIT_TARGET_COUNT)
		advise_take_habits(&q, target, "file", &arena);
	must(advise_begin(&a, &q));
	while (advise_next(a))
		;
	int64_t candidates = a->candidates;
	*plans = a->plans;
	advise_end(a);
	arena_release(&arena);
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
		struct settings s = settings_of("%s", jobs[i].words);
		for (int k = 0; k < rounds; k++) {
			double begin = core_seconds();
			candidates = advise(&s, jobs[i].target, &plans);
			times[k] = core_seconds() - begin;
		}
		bool emits = jobs[i].target < EMIT_TARGET_COUNT;
		printf("%s%s%s: %" PRId64 " candidates in %" PRId64 " plans, %.0f a second (target: %d)\n",
		       jobs[i].words, emits ? " for " : "", emits ? emit_target_name(jobs[i].target) : "", candidates,
		       plans, (double)candidates / median(times, rounds), TARGET);
	}
	return 0;
}
