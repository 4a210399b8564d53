/* The gain of a second rank: samples a second of two DDP ranks ÷ those of one rank alone, the same samples a rank; and
 * how much of its collectives a step waits for.
 * ranks: 2
 *
 *     mpirun -n 2 bench_scaling [rounds]            default: 7
 *
 * In each round rank 0 makes steps of its own while the other sleeps, then both make steps together: so what else the
 * machine does falls on both alike. The steps are those of training: plans of `gpt`, the CPU executor, the ring.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <time.h>

#include "kernels/kernels.h"
#include "tests/bench/bench_steps.h"

enum { STEPS = 3, ROUNDS_MOST = 1000 };
static const double TARGET = 0.9; /* of the number of ranks */

/* Ranks that wait leave the cores to the one that works. */
static void wait_asleep(void)
{
	const struct timespec pause = {0, 2000000};
	MPI_Request request;
	int done = 0;
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
		nanosleep(&pause, NULL);
}

static double steps(struct timed_run *r)
{
	double begin = MPI_Wtime();
	for (int i = 0; i < STEPS; i++)
		must(executor_run(r->executor, r->step));
	return (MPI_Wtime() - begin) / STEPS;
}

static void compare(int64_t samples, int rounds, struct communicator *communicator)
{
	static double alone[ROUNDS_MOST], together[ROUNDS_MOST];
	struct timed_run r, joint;
	int rank = communicator->rank, ranks = communicator->ranks;
	bench_open(&joint, communicator, "gpt ddp ranks=%d micro_batch=%d", ranks, (int)samples);
	if (!rank)
		bench_open(&r, NULL, "gpt single micro_batch=%d", (int)samples);
	for (int i = -1; i < rounds; i++) { /* the first round warms up */
		double s = rank ? 0 : steps(&r);
		if (i >= 0)
			alone[i] = s;
		wait_asleep();
		MPI_Barrier(MPI_COMM_WORLD);
		s = steps(&joint);
		MPI_Allreduce(MPI_IN_PLACE, &s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		if (i >= 0)
			together[i] = s;
	}
	if (!rank) {
		double one_s = median(alone, rounds), all_s = median(together, rounds), gain = ranks * one_s / all_s;
		printf("(b) %d DDP ranks ÷ one, %2lld samples a rank %5.2f   (%.1f and %.1f samples/s)   target ≥ %.1f "
		       "  %s\n",
		       ranks, (long long)samples, gain, ranks * (double)samples / all_s, (double)samples / one_s,
		       TARGET * ranks, verdict(gain >= TARGET * ranks));
		timed_run_release(&r);
	}
	timed_run_release(&joint);
}

/* Overlap pays: the compute queue waits for less than the collectives take. Buckets so small that all but the
 * last can be sent while others are computed. */
static void show_overlap(int rounds, struct communicator *communicator)
{
	struct timed_run r;
	static double exposed[ROUNDS_MOST], communication[ROUNDS_MOST];
	bench_open(&r, communicator, "mlp ddp ranks=%d micro_batch=64 bucket=65536", communicator->ranks);
	for (int i = -1; i < rounds; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		must(executor_run(r.executor, r.step));
		struct times t = executor_times(r.executor);
		if (i >= 0) {
			exposed[i] = 1e-6 * (double)t.exposed;
			communication[i] = 1e-6 * (double)t.communication;
		}
	}
	if (!communicator->rank) {
		double waits = median(exposed, rounds), sum = median(communication, rounds);
		printf("(e) DDP of mlp, buckets of 64 KiB: exposed %.3f ms of %.3f ms of collectives   target: less   "
		       "%s\n",
		       waits, sum, verdict(waits < sum));
	}
	timed_run_release(&r);
}

int main(int argc, char **argv)
{
	struct communicator *communicator;
	int level, rounds = bench_rounds(argc, argv, 7, ROUNDS_MOST);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm world = MPI_COMM_WORLD;
	must(communicator_open(&communicator, "ring", &world));
	if (communicator->ranks < 2)
		bench_fail("start it as: mpirun -n 2 bench_scaling [rounds]");
	kernels_set_threads(1);
	compare(4, rounds, communicator);
	compare(16, rounds, communicator);
	show_overlap(rounds, communicator);
	communicator_close(communicator);
	MPI_Finalize();
	return 0;
}
