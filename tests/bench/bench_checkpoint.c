/* Measures the cost of checkpoints: how much longer the steps of a run take with one every 50 steps, for `gpt` on two
 * ranks of one thread each; written while the ranks wait, and (--checkpoint-async) while steps go on.
 * ranks: 2
 *
 *     mpirun -n 2 bench_checkpoint [rounds]            default: 4
 *
 * A run saves after every hundredth step. The 50 steps behind a checkpoint, with all that they wait for, are compared
 * with the 50 after those, which follow none: so what else the machine does falls on both alike. Where that is more
 * than a checkpoint costs, the times of saving itself bound it.
 */
#include <mpi.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "real/checkpoint/folder.h"
#include "real/checkpoint/manifest.h"
#include "real/train/train.h"
#include "strategy/base/path.h"
#include "tests/bench/bench.h"
#include "tests/support/plans.h"

enum { EVERY = 50, ROUND = 2 * EVERY, ROUNDS_MOST = 100 };
static const double TARGET = 3; /* percent */

static double ends[ROUNDS_MOST * ROUND + EVERY + 2]; /* by step */

static void note_end(void *context, const struct train_step *step)
{
	(void)context;
	ends[step->step] = clock_seconds();
}

/* Made by rank 0, which alone uses it before the run. */
static char *folder_of_run(int rank)
{
	static char folder[4096];
	snprintf(folder, sizeof folder, "%s/bench_checkpoint", support_folder());
	if (!rank && mkdir(folder, 0777))
		bench_fail(folder);
	MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
	return folder;
}

static void forget(const char *folder, int steps)
{
	char *latest = path_in_folder(folder, CHECKPOINT_LATEST);
	for (int step = ROUND; step <= steps; step++) {
		char *path = checkpoint_path(folder, step);
		if (step % ROUND == 0 || step == steps)
			folder_remove(path, MANIFEST_NAME);
		free(path);
	}
	unlink(latest);
	rmdir(folder);
	free(latest);
}

/* Percent, of the steps that follow no checkpoint. */
static double cost(int rounds, double *plain_s)
{
	static double more[ROUNDS_MOST], plain[ROUNDS_MOST];
	for (int i = 0; i < rounds; i++) {
		const double *at = &ends[ROUND * (i + 1)];
		plain[i] = at[ROUND] - at[EVERY];
		more[i] = 100 * ((at[EVERY] - at[0]) / plain[i] - 1);
	}
	*plain_s = median(plain, rounds) / EVERY;
	return median(more, rounds);
}

static void measure(bool async, int rounds)
{
	struct settings q = settings_of("gpt zero1 ranks=2 micro_batch=4 checkpoints=yes");
	struct train_options o = train_options_default();
	struct report r;
	double step_s;
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	q.checkpoint_async = async;
	o.settings = settings_resolved(&q);
	o.steps = ROUND * (rounds + 1);
	o.evaluate = false;
	o.data = "tests/golden/text.txt";
	o.checkpoint = folder_of_run(rank);
	o.checkpoint_every = ROUND;
	o.checkpoint_keep = 2;
	o.on_step = note_end;
	must(train_run(&o, &r));
	if (!rank) {
		double percent = cost(rounds, &step_s);
		double stall_s = 1e-9 * (double)r.saved.stall_ns / (double)r.saved.saves,
		       write_s = 1e-9 * (double)r.saved.write_ns;
		/* An upper bound: the thread that writes takes all of its time from the steps, and nothing else
		 * does. */
		double own = 100 * (stall_s + (async ? write_s : 0)) / (EVERY * step_s);
		printf("gpt, 2 ranks, a checkpoint of %.0f MB every %d steps, %s: %+.1f %% of a step, by its own times "
		       "at most "
		       "%.1f %% (a step %.0f ms, a save stalls %.0f ms, the slowest part written in %.0f ms)",
		       1e-6 * (double)r.saved.bytes, EVERY, async ? "async" : "sync ", percent, own, step_s * 1e3,
		       stall_s * 1e3, write_s * 1e3);
		printf(async ? "   target ≤ %.0f %%   %s\n" : "\n", TARGET, verdict(percent <= TARGET));
		forget(o.checkpoint, (int)o.steps);
	}
	report_release(&r);
}

int main(int argc, char **argv)
{
	int level, ranks, rounds = bench_rounds(argc, argv, 4, ROUNDS_MOST);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2)
		bench_fail("start it as: mpirun -n 2 bench_checkpoint [rounds]");
	measure(false, rounds);
	measure(true, rounds);
	MPI_Finalize();
	return 0;
}
