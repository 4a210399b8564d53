/* Shared by the benchmarks of training steps on the CPU: a step's plan from words, opened and ready to run.
 *
 *     struct timed_run r;
 *     bench_open(&r, NULL, "gpt zero3 micro_batch=2 offload=%s", offload);
 *     must(executor_run(r.executor, r.step));
 *     timed_run_release(&r);
 */
#ifndef SHARDLAB_TESTS_BENCH_STEPS_H
#define SHARDLAB_TESTS_BENCH_STEPS_H

#include "real/train/timed_run.h"
#include "tests/bench/bench.h"
#include "tests/support/plans.h"

/* c: among its ranks; NULL: alone. */
static inline __attribute__((format(printf, 3, 4))) void bench_open(struct timed_run *r, struct communicator *c,
                                                                    const char *words, ...)
{
	WORDS(words, text);
	struct settings asked = settings_of("%s", text), s = settings_resolved(&asked);
	const struct device_choice cpu = {.name = "cpu", .folder = support_folder()};
	must(timed_run_open_settings(r, &s, &cpu, c));
}

#endif
