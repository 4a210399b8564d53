/* Can ranks be started here? */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command/launch.h"
#include "strategy/base/file.h"

enum status launch_check(int64_t ranks, const char *hosts)
{
	/* With more, the machine does not respond for minutes. */
	enum { RANKS_A_CORE = 64 };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (!hosts && ranks > RANKS_A_CORE * (cores > 1 ? cores : 1))
		return status_fail(STATUS_INPUT,
		                   "--ranks %" PRId64
		                   ": more than %d for each of this machine's %ld cores; use fewer, or "
		                   "several machines: --hosts FILE",
		                   ranks, RANKS_A_CORE, cores);
	char mpirun[4096];
	if (!file_on_path("mpirun", mpirun, sizeof mpirun))
		return status_fail(STATUS_INPUT,
		                   "several ranks need Open MPI, and there is no mpirun on the PATH; install it "
		                   "(Debian: apt-get install openmpi-bin) or use --ranks 1");
	return STATUS_OK;
}

enum status launch_check_alone(void)
{
	static const struct {
		const char *name, *rank, *ranks, *instead;
	} launchers[] = {
	        {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "start it with srun --mpi=pmix, or with mpirun"},
	        {"torchrun, accelerate or deepspeed", "LOCAL_RANK", "WORLD_SIZE",
	         "start shardlab itself, which starts its ranks (--ranks), or mpirun"},
	};
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		const char *rank = getenv(launchers[i].rank), *ranks = getenv(launchers[i].ranks);
		if (rank && ranks && atoi(ranks) > 1)
			return status_fail(
			        STATUS_INPUT,
			        "started by %s as one of %d, which MPI does not connect, so each would train "
			        "alone; %s",
			        launchers[i].name, atoi(ranks), launchers[i].instead);
	}
	return STATUS_OK;
}
