/* The CUDA executor with NCCL on all ranks of this job, on stand-ins for both (tests/support/fake_cuda.h, fake_nccl.h):
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_nccl
 *
 * Every strategy gives the losses that the CPU device gives, whose sums are made in another order; calls and payload
 * are the plan's, and steps are replayed. */
#include "real/cuda/library.h"
#include "tests/support/cuda_runs.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_nccl.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 6 };

static void try_settings(const struct settings *q)
{
	struct cuda_runs r;
	int64_t calls = fake_nccl_calls();
	if (!cuda_runs_train(&r, q, "nccl", STEPS))
		return;
	if (!rank_number)
		runs_compare_losses(runs_name(q), r.cuda, r.cpu->losses, q->precision == TYPE_FP32 ? 1e-6 : 1e-3);
	/* where all of a step is the GPU's */
	ranks_check(fake_cuda_counts()->launches == (q->offload.optimizer ? 0 : STEPS - 2), "%s: %lld replayed",
	            runs_name(q), (long long)fake_cuda_counts()->launches);
	ranks_check((fake_nccl_calls() > calls) == (ranks_count > 1), "%s: NCCL was called %lld times", runs_name(q),
	            (long long)(fake_nccl_calls() - calls));
}

int main(int argc, char **argv)
{
	if (!fake_nccl()) {
		ranks_init(&argc, &argv);
		return ranks_skip("this build is without NCCL (no nccl.h)");
	}
	runs_begin(&argc, &argv, 60, 20);
	cuda_runs_each(try_settings);
	cuda_library_use(NULL);
	return runs_finish("mpi_nccl");
}
