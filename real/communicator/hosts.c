#include "real/communicator/hosts.h"

#include <inttypes.h>
#include <stdlib.h>

#define EAGER_LIMIT "OMPI_MCA_btl_tcp_eager_limit"
#define SUM_ALGORITHM "OMPI_MCA_coll_libnbc_iallreduce_algorithm"
#define RABENSEIFNER "3"
#define EAGER_BYTES "1114112" /* 1 MiB, the largest piece (ring.c), and 64 KiB for headers */

static int64_t number_of(const char *variable)
{
	const char *text = getenv(variable);
	return text ? atoll(text) : 0;
}

int64_t hosts_ranks_here(void)
{
	/* Slurm's is "2(x4)" for 2 on each of 4. */
	static const char *const pairs[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	                                       {"PMI_SIZE", "MPI_LOCALNRANKS"},
	                                       {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"}};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		int64_t all = number_of(pairs[i][0]), here = number_of(pairs[i][1]);
		if (all && here)
			return here < all ? here : 0;
	}
	return 0;
}

int64_t hosts_ranks_of_allocation(int64_t ranks)
{
	int64_t here = number_of("SLURM_TASKS_PER_NODE");
	return number_of("SLURM_JOB_NUM_NODES") > 1 && here && here < ranks ? here : 0;
}

void hosts_prepare(void)
{
	setenv(SUM_ALGORITHM, RABENSEIFNER, 0);
	if (hosts_ranks_here())
		setenv(EAGER_LIMIT, EAGER_BYTES, 0);
}

void hosts_say(int64_t hosts, int64_t ranks, FILE *out)
{
	const char *given = getenv(EAGER_LIMIT);
	char each[64] = "";
	if (ranks > 1)
		snprintf(each, sizeof each, " with up to %" PRId64 " ranks", ranks);
	fprintf(out, "on %" PRId64 " hosts%s; messages of up to %s bytes need no answer (%s%s)\n", hosts, each,
	        given ? given : EAGER_BYTES, EAGER_LIMIT, given ? ", as it was set" : "");
}
