/* Linked with the program, this puts the stand-ins of tests/support/fake_cuda.h and fake_nccl.h in place of GPUs and
 * NCCL: so the scripts beside this are tried where there is neither.
 *
 * FAKE_GPUS: how many, 1 if that is not said. FAKE_GPU_MIB: their memory; their time is then what the work says, so
 * that `calibrate` is done soon, with rates that hold. FAKE_GPU_PLAIN: products that cuBLASLt has nothing for.
 */
#include <stdlib.h>

#include "real/cuda/library.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_nccl.h"

static void __attribute__((constructor)) take(void)
{
	struct fake_cuda_settings s = {.seed = 0};
	const char *mib = getenv("FAKE_GPU_MIB"), *gpus = getenv("FAKE_GPUS"), *plain = getenv("FAKE_GPU_PLAIN");
	if (gpus)
		s.devices = atoi(gpus);
	if (mib) {
		s.memory_bytes = (int64_t)atoi(mib) << 20;
		s.kernel_ns = 2000;
	}
	s.plain_products = plain ? atoi(plain) : 0;
	cuda_library_use(fake_cuda(&s));
	fake_nccl();
}
