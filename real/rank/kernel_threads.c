#include "real/rank/kernel_threads.h"

#include "kernels/kernels.h"

enum status kernel_threads_start(int threads)
{
	int64_t bytes;
	kernels_set_threads(threads);
	if (!kernels_have_stack(&bytes))
		return status_fail(STATUS_INPUT,
		                   "a thread has a stack of %lld bytes, and kernels need %lld: raise OMP_STACKSIZE and "
		                   "ulimit -s, or leave them unset",
		                   (long long)bytes, (long long)KERNELS_STACK_BYTES);
	if (!kernels_prepare(&bytes))
		return status_fail(
		        STATUS_RUN,
		        "no memory for OpenBLAS's working buffers, %lld bytes; raise the memory limit or use fewer "
		        "{threads}",
		        (long long)bytes);
	return STATUS_OK;
}
