/* The cost of recomputing: the step time of `gpt` with activation checkpointing ÷ without, one rank, one thread.
 *
 *     bench_checkpointing [rounds]            default: 9
 *
 * The steps are what training runs: plans of `gpt` on one rank, 16 × 128 tokens, carried out by the CPU executor. All
 * modes are measured in turn, so that what else the machine does falls on all alike. The forward pass is a third of the
 * work, so doing all of it again would be 1.33; the last kernel of a block need not be done again.
 */
#include <stdio.h>

#include "kernels/kernels.h"
#include "tests/bench/bench_steps.h"

enum { SAMPLES = 16, ROUNDS_MOST = 1000 };

static const struct {
	const char *mode;
	double target; /* of the ratio; 0: none */
} cases[] = {{"none", 0}, {"full", 1.4}, {"every=2", 0}, {"selective", 0}};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
	static double steps[CASES][ROUNDS_MOST];
	static double recompute[CASES][ROUNDS_MOST];
	struct timed_run r[CASES];
	int rounds = bench_rounds(argc, argv, 9, ROUNDS_MOST);
	kernels_set_threads(1);
	for (int c = 0; c < CASES; c++)
		bench_open(&r[c], NULL, "gpt single micro_batch=%d activation_checkpointing=%s", SAMPLES,
		           cases[c].mode);
	for (int i = -1; i < rounds; i++) /* the first warms up */
		for (int c = 0; c < CASES; c++) {
			must(executor_run(r[c].executor, r[c].step));
			struct times t = executor_times(r[c].executor);
			steps[c][i < 0 ? 0 : i] = (double)t.step * 1e-9;
			recompute[c][i < 0 ? 0 : i] = (double)t.recompute * 1e-9;
		}
	printf("gpt, 1 rank, 1 thread, 16 × 128 tokens a step; step with activation checkpointing ÷ without\n");
	double none = median(steps[0], rounds);
	for (int c = 0; c < CASES; c++) {
		struct memory_use use;
		double step = median(steps[c], rounds);
		plan_memory(&r[c].plan, r[c].device.rank->role, SPACE_DEVICE, &use);
		printf("    %-10s %5.2f   (step %6.1f ms, of it recomputing %6.1f ms; peak %6.1f MB)", cases[c].mode,
		       step / none, step * 1e3, median(recompute[c], rounds) * 1e3, (double)use.peak_bytes * 1e-6);
		if (cases[c].target > 0)
			printf("   target ≤ %.2f   %s", cases[c].target, verdict(step / none <= cases[c].target));
		putchar('\n');
		timed_run_release(&r[c]);
	}
	return 0;
}
