/* All-reduce: our ring against the library, interleaved in one run, medians.
 * ranks: 2 4
 *
 *     mpirun -n 2 build/tests/bench/bench_all_reduce [MiB [repeats [huge|small [ways]]]]
 *
 * By default 64 MiB, 15 repeats, huge pages, and all ways; "ring" are those that begin so.
 *
 * Each repeat measures every way once, so that what else the machine does meanwhile falls on all of them alike. The
 * time of a repeat is that of the slowest rank. GB/s is the bus rate as in nccl-tests: 2(n-1)/n·S over the time.
 *
 * All ways work on the same buffer. On huge pages it is what an executor's arena should be: one process reads another's
 * memory through the kernel, which looks up and pins every page, and with pages of 4 KiB that takes longer than the
 * copy.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "real/communicator/communicator.h"
#include "real/communicator/hosts.h"
#include "tests/bench/bench.h"

enum way { RING, RING_SPINNING, MPI, MPI_SPINNING, LIBRARY, WAYS };

static const char *const way_names[WAYS] = {
        [RING] = "ring, sleeping polls",  [RING_SPINNING] = "ring, spinning",     [MPI] = "mpi, sleeping polls",
        [MPI_SPINNING] = "mpi, spinning", [LIBRARY] = "MPI_Allreduce (blocking)",
};

struct bench {
	int rank, ranks;
	int64_t elements;
	float *data;
	void *staging;
	struct communicator *ring, *mpi;
	const char *ways; /* the beginning of their names */
};

static float *buffer(int64_t elements, bool huge)
{
	size_t page = (size_t)2 << 20, bytes = ((size_t)elements * sizeof(float) + page - 1) / page * page;
	float *data = aligned_alloc(page, bytes);
	if (!data)
		bench_fail("out of memory");
	if (madvise(data, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		perror("bench_all_reduce: madvise");
	memset(data, 0, bytes);
	return data;
}

static void run(struct bench *b, struct communicator *c, bool spin)
{
	struct collective what = {.algorithm = SCHEDULE_RING_ALL_REDUCE,
	                          .elements = b->elements,
	                          .whole = b->data,
	                          .staging = b->staging};
	struct traffic traffic;
	c->ops->spin(c, spin);
	must(c->ops->run(c, &what, &traffic));
}

static bool is_asked(const struct bench *b, enum way way)
{
	return !strncmp(way_names[way], b->ways, strlen(b->ways));
}

static double seconds(struct bench *b, enum way way)
{
	double begin, mine, slowest;
	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	if (way == LIBRARY)
		MPI_Allreduce(MPI_IN_PLACE, b->data, (int)b->elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	else
		run(b, way == RING || way == RING_SPINNING ? b->ring : b->mpi,
		    way == RING_SPINNING || way == MPI_SPINNING);
	mine = MPI_Wtime() - begin;
	MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return slowest;
}

static void report(const struct bench *b, double *times[WAYS], int repeats, bool huge)
{
	double bytes = (double)b->elements * sizeof(float) * 2 * (b->ranks - 1) / b->ranks, library;
	library = median(times[LIBRARY], repeats);
	printf("all-reduce of %.3f MiB, %d ranks, %s pages, medians of %d\n", (double)b->elements * 4 / 1048576,
	       b->ranks, huge ? "huge" : "small", repeats);
	printf("%-26s %10s %10s %10s %12s\n", "", "ms", "fastest", "GB/s", "x library");
	for (int w = 0; w < WAYS; w++) {
		if (!is_asked(b, (enum way)w))
			continue;
		double middle = median(times[w], repeats);
		printf("%-26s %10.3f %10.3f %10.2f %12.2f\n", way_names[w], middle * 1e3, times[w][0] * 1e3,
		       bytes / middle * 1e-9, library / middle);
	}
}

int main(int argc, char **argv)
{
	double mib = argc > 1 ? atof(argv[1]) : 64;
	int repeats = argc > 2 ? atoi(argv[2]) : 15, level;
	bool huge = argc <= 3 || strcmp(argv[3], "small") != 0;
	double *times[WAYS];
	struct bench b = {.ways = argc > 4 ? argv[4] : ""};
	MPI_Comm world = MPI_COMM_WORLD;
	hosts_prepare();
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(world, &b.rank);
	MPI_Comm_size(world, &b.ranks);
	b.elements = (int64_t)(mib * 1048576 / 4) / b.ranks * b.ranks;
	if (!(mib > 0 && mib < 8192) || repeats < 1 || b.elements < 1)
		bench_fail("usage: bench_all_reduce [MiB [repeats [huge|small]]]");
	b.data = buffer(b.elements, huge);
	b.staging = buffer(SCHEDULE_STAGING_BYTES / 4, huge);
	for (int w = 0; w < WAYS; w++)
		times[w] = bench_zeroed((size_t)repeats, sizeof *times[w]);
	must(communicator_open(&b.ring, "ring", &world));
	must(communicator_open(&b.mpi, "mpi", &world));

	for (int w = 0; w < WAYS; w++)
		if (is_asked(&b, (enum way)w))
			seconds(&b, (enum way)w); /* connections are made and pages touched at first use */
	for (int i = 0; i < repeats; i++)
		for (int w = 0; w < WAYS; w++)
			times[w][i] = is_asked(&b, (enum way)w) ? seconds(&b, (enum way)w) : 0;
	if (b.rank == 0)
		report(&b, times, repeats, huge);

	communicator_close(b.ring);
	communicator_close(b.mpi);
	for (int w = 0; w < WAYS; w++)
		free(times[w]);
	free(b.data);
	free(b.staging);
	MPI_Finalize();
	return 0;
}
