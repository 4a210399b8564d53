/* Linked with a benchmark of tests/bench, this is the table that it measures: the kernels that are shipped, compiled
 * for the host, on streams of the stand-in (tests/support/fake_cuda.h), with cuBLASLt as its manual has it. What is
 * computed is right; times mean nothing. */
#include "kernels/cuda/context.h"
#include "tests/emulate/emulate.h"
#include "tests/support/fake_cuda.h"

const struct cuda_api *shardlab_cuda_api(void);

const struct cuda_api *shardlab_cuda_api(void)
{
	static unsigned epilogues = ~0U;
	struct kernel_context *on = emulated_open(3, 1 << 20);
	on->algorithms = &epilogues;
	emulated_races(false); /* tests of the kernels look for them */
	return fake_cuda(&(struct fake_cuda_settings){.seed = 0, .shipped = emulated_api(), .shipped_on = on});
}
