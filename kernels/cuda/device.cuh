/* Included by every .cu file: CUDA as nvcc has it, or, with SHARDLAB_EMULATE, enough of it for g++ to compile the
 * same file into functions that run on the host, so that kernels are tested where no GPU is (emulate/emulate.cuh).
 *
 *     __global__ void scale(int64_t n, float factor, float *y) { … }
 *     return launch(scale, blocks, 256, 0, stream, n, 2.0F, y);      an error of CUDA, or 0
 */
#ifndef SHARDLAB_CUDA_DEVICE_CUH
#define SHARDLAB_CUDA_DEVICE_CUH

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/context.h"

#ifdef SHARDLAB_EMULATE
#include SHARDLAB_EMULATE
#else

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

/* More shared memory than every device has, 48 KiB, must be asked for: what a kernel declares counts too. */
enum { SHARED_BYTES_ALWAYS = 40 << 10 };

template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, kernel_stream stream,
           Arguments... arguments)
{
	if (shared_bytes > SHARED_BYTES_ALWAYS) {
		cudaError_t error = cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
		                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
		                                         static_cast<int>(shared_bytes));
		if (error)
			return error;
	}
	kernel<<<grid, block, shared_bytes, cuda_stream(stream)>>>(static_cast<Parameters>(arguments)...);
	return cudaGetLastError();
}

static inline int device_fill(kernel_stream stream, void *to, int byte, size_t bytes)
{
	return bytes ? cudaMemsetAsync(to, byte, bytes, cuda_stream(stream)) : 0;
}

/* `bytes` of shared memory, in place of `extern __shared__`, whose type must be one for all kernels of a file. */
template <typename T> static __device__ __forceinline__ T *shared_memory()
{
	extern __shared__ __align__(128) unsigned char shared_memory_of_block[];
	return reinterpret_cast<T *>(shared_memory_of_block);
}

/* e^x's fast sister, 2^x, to 2 units in the last place. */
static __device__ __forceinline__ float exp2_fast(float x)
{
	float y;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

#endif

enum { WARP = 32 };
#define WHOLE_WARP 0xffffffffU

#endif
