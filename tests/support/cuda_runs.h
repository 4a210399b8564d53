/* The same on all ranks of this job, twice: on CPUs, and on stand-ins for GPUs (tests/support/fake_cuda.h). What was
 * measured there is held against the plan, and nothing may stay allocated; how the two compare is the caller's to say.
 * Differences are counted as failed checks (tests/support/ranks.h); rank 0 has the reports.
 *
 *     struct cuda_runs r;
 *     if (cuda_runs_train(&r, settings, "ring", STEPS))
 *         … r.cpu, r.cuda …
 */
#ifndef SHARDLAB_TESTS_CUDA_RUNS_H
#define SHARDLAB_TESTS_CUDA_RUNS_H

#include "strategy/trace/report.h"
#include "tests/support/plans.h"

struct cuda_runs {
	const struct report *cpu, *cuda;
};

/* communicator: `ring` or `mpi`, on both and on GPUs that ranks share; or `nccl`, a GPU a rank, beside `mpi`. */
bool cuda_runs_train(struct cuda_runs *r, const struct settings *q, const char *communicator, int steps);

/* Every strategy, and what else makes operations of other kinds: types, offload, normalization, several groups; of more
 * than four ranks, one plan. */
void cuda_runs_each(void (*try_settings)(const struct settings *));

#endif
