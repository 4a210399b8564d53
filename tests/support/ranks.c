#include "tests/support/ranks.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FAILURES_SHOWN = 5 };

int rank_number, ranks_count;
static long checks, failures;

void ranks_init(int *argc, char ***argv)
{
	int level;
	MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank_number);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks_count);
}

void ranks_check(bool holds, const char *format, ...)
{
	va_list args;
	checks++;
	if (holds || failures++ >= FAILURES_SHOWN)
		return;
	va_start(args, format);
	fprintf(stderr, "rank %d of %d: ", rank_number, ranks_count);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
}

long ranks_failures(void)
{
	return failures;
}

int ranks_finish(const char *name)
{
	long mine[2] = {checks, failures}, sum[2];
	MPI_Allreduce(mine, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!rank_number)
		printf("%s: %d ranks: %ld checks, %ld failures\n", name, ranks_count, sum[0], sum[1]);
	MPI_Finalize();
	return sum[1] || !sum[0] ? EXIT_FAILURE : EXIT_SUCCESS;
}

int ranks_skip(const char *why)
{
	if (!rank_number) {
		printf("skipped: %s\n", why);
		fflush(stdout);
	}
	MPI_Finalize();
	return 77;
}
