/* Linked with the program, this puts the stand-in of tests/support/fake_cuda.h in place of a GPU: so the scripts beside
 * this are tried where there is none.
 *
 * FAKE_GPU_MIB: its memory, and then its time is what the work says: `calibrate` is done soon, with rates that hold. */
#include <stdlib.h>

#include "real/cuda_library.h"
#include "tests/support/fake_cuda.h"

static void __attribute__((constructor)) take(void)
{
	struct fake_cuda_settings s = {.seed = 0};
	const char *mib = getenv("FAKE_GPU_MIB");
	if (mib) {
		s.memory_bytes = (int64_t)atoi(mib) << 20;
		s.kernel_ns = 2000;
	}
	cuda_library_use(fake_cuda(&s));
}
