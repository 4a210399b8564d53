/* Linked with the program, this puts the stand-in of tests/support/fake_cuda.h in place of a GPU: so the scripts beside
 * this are tried where there is none. */
#include "real/cuda_library.h"
#include "tests/support/fake_cuda.h"

static void __attribute__((constructor)) take(void)
{
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = 0}));
}
