/* The bubble of a pipeline, measured: a step of 1F1B and of GPipe on p ranks against what the formula says.
 * ranks: 2 4
 *
 *     mpirun -n 2 bench_pipeline [rounds]            default: 7
 *
 * The model has p equal stages of hidden layers. A stage is idle for (p-1)/(m+p-1) of the time from its pipeline's
 * first forward to its last backward (Narayanan et al. 2021, section 2.2). What is measured is the executor's own
 * account: of every rank's step, the time in which its compute queue did nothing. Ranks need a core each; with fewer,
 * they wait for cores as well, and the figure says so.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "real/rehearsal.h"
#include "tests/bench/median.h"

enum { ROUNDS_MOST = 100, MICRO = 64 };

static int rank, ranks;

static void must(enum status s)
{
	if (!s)
		return;
	fprintf(stderr, "fatal: bench_pipeline: %s\n", status_message());
	MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Idle share of the compute queue of the rank that computes most, from the step's beginning to the last model kernel of
 * all ranks. */
static double idle(const struct rehearsal *r)
{
	int64_t end = 0, busy = 0;
	for (int i = r->step->begin; i < r->step->end; i++) {
		int64_t from, to;
		if (op_class(r->device.rank->role->ops[i].kind) != OP_CLASS_K)
			continue;
		executor_span(r->executor, i, &from, &to);
		end = to > end ? to : end;
		busy += to - from;
	}
	int64_t mine[2] = {end, busy}, most[2];
	MPI_Allreduce(mine, most, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
	return 1 - (double)most[1] / (double)most[0];
}

static double measure(struct communicator *c, const char *strategy, int64_t micros, int rounds)
{
	struct settings settings = settings_default();
	double values[ROUNDS_MOST];
	struct rehearsal r;
	int n = snprintf(settings.model, sizeof settings.model, "mlp:sizes=512");
	for (int i = 0; i < 3 * ranks; i++)
		n += snprintf(settings.model + n, sizeof settings.model - (size_t)n, "-512");
	snprintf(settings.strategy, sizeof settings.strategy, "%s", strategy);
	settings.ranks = ranks;
	settings.micro_batch = MICRO;
	settings.accumulate = micros;
	must(settings_resolve(&settings));
	must(rehearsal_open_settings(&r, &settings, &(struct device_choice){.name = "cpu"}, c));
	must(executor_run(r.executor, r.step));
	for (int i = 0; i < rounds; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		must(executor_run(r.executor, r.step));
		values[i] = idle(&r);
	}
	rehearsal_release(&r);
	return median(values, rounds);
}

int main(int argc, char **argv)
{
	static const char *const strategies[] = {"pipeline", "pipeline:schedule=gpipe"};
	int level, rounds = argc > 1 ? atoi(argv[1]) : 7;
	MPI_Comm world = MPI_COMM_WORLD;
	struct communicator *c = NULL;
	cpu_set_t set;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &ranks);
	if (rounds < 1 || rounds > ROUNDS_MOST || ranks < 2 || ranks > 16) {
		fprintf(stderr, "fatal: bench_pipeline: 2 to 16 ranks, 1 to %d rounds\n", ROUNDS_MOST);
		MPI_Abort(world, 2);
	}
	kernels_set_threads(1);
	must(communicator_open(&c, "ring", &world));
	int cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	for (int i = 0; i < 2; i++)
		for (int64_t micros = ranks; micros <= 4 * ranks; micros *= 2) {
			double got = measure(c, strategies[i], micros, rounds);
			double want = (ranks - 1.0) / (double)(micros + ranks - 1);
			if (!rank)
				printf("%-24s p = %d, m = %2d: bubble %.3f, formula %.3f%s\n", strategies[i], ranks,
				       (int)micros, got, want,
				       cores < ranks ? "   (fewer cores than ranks: they wait for those too)" : "");
		}
	communicator_close(c);
	MPI_Finalize();
	return 0;
}
