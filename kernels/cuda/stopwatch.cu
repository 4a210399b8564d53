#include <cuda_runtime.h>

#include "kernels/cuda/context.h"
#include "kernels/cuda/stopwatch.h"

enum { RUNS = 3 };

bool stopwatch_may(kernel_stream s)
{
	cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
	return !cudaStreamIsCapturing(cuda_stream(s), &capturing) && capturing == cudaStreamCaptureStatusNone;
}

void *stopwatch_memory(size_t bytes)
{
	void *memory = nullptr;
	const bool there = !cudaMalloc(&memory, bytes);
	(void)cudaGetLastError();
	return there ? memory : nullptr;
}

void stopwatch_memory_release(void *memory)
{
	cudaFree(memory);
	(void)cudaGetLastError();
}

static float best_of(kernel_stream s, int (*run)(void *context), void *context, cudaEvent_t begin, cudaEvent_t end)
{
	float best = -1, once = 0;
	for (int i = 0; i <= RUNS; i++) {
		if (cudaEventRecord(begin, cuda_stream(s)) || run(context) || cudaEventRecord(end, cuda_stream(s)) ||
		    cudaEventSynchronize(end) || cudaEventElapsedTime(&once, begin, end))
			return -1;
		if (i && (best < 0 || once < best))
			best = once;
	}
	return best;
}

float stopwatch_run(kernel_stream s, int (*run)(void *context), void *context)
{
	cudaEvent_t begin = nullptr, end = nullptr;
	const bool made = !cudaEventCreate(&begin) && !cudaEventCreate(&end);
	float best = made ? best_of(s, run, context, begin, end) : -1;
	if (begin)
		cudaEventDestroy(begin);
	if (end)
		cudaEventDestroy(end);
	(void)cudaGetLastError();
	return best;
}
