/* The device's part of the table: memory, streams, events and graphs; and the table itself. */
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "kernels/cuda/attention_cudnn.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/table.h"

/* nvcc made code for these, in ascending order, and PTX of the last, which newer cards compile for themselves. */
#ifndef SHARDLAB_CUDA_ARCHITECTURES
#define SHARDLAB_CUDA_ARCHITECTURES "80:90"
#endif

enum { BLAS_ERROR = 10000 }; /* as product.cu has it: cuBLASLt's errors follow CUDA's */

/* ---- the device ---- */

static const char *error_text(int error)
{
	switch (error) {
	case CUDA_ERROR_WORKSPACE:
		return "the workspace is too small for this shape";
	case CUDA_ERROR_SHAPE:
		return "no kernel is made for this shape";
	case CUDA_ERROR_NO_ALGORITHM:
		return "cuBLASLt has no algorithm for it";
	case CUDA_ERROR_NO_CUDNN:
		return "cuDNN is not installed";
	case CUDA_ERROR_OLD_CUDNN:
		return "cuDNN is older than 9.10";
	default:
		if (cudnn_error_text(error))
			return cudnn_error_text(error);
		return error < BLAS_ERROR ? cudaGetErrorString(static_cast<cudaError_t>(error))
		                          : cublasLtGetStatusString(static_cast<cublasStatus_t>(error - BLAS_ERROR));
	}
}

static int device_count(int *devices)
{
	*devices = 0;
	cudaError_t error = cudaGetDeviceCount(devices);
	(void)cudaGetLastError();
	return error;
}

static bool has_code_for(int capability)
{
	long last = 0;
	char *end = nullptr;
	for (const char *at = SHARDLAB_CUDA_ARCHITECTURES; *at; at = *end ? end + 1 : end) {
		last = strtol(at, &end, 10);
		if (end == at)
			return false;
		if (last / 10 == capability / 10 && last <= capability)
			return true;
	}
	return capability >= last;
}

static int describe(int device, struct cuda_properties *out)
{
	cudaDeviceProp p;
	cudaError_t error = cudaGetDeviceProperties(&p, device);
	if (error)
		return error;
	*out = {};
	snprintf(out->name, sizeof out->name, "%s", p.name);
	out->major = p.major;
	out->minor = p.minor;
	out->multiprocessors = p.multiProcessorCount;
	out->memory_bytes = static_cast<int64_t>(p.totalGlobalMem);
	out->l2_bytes = p.l2CacheSize;
	out->runs_kernels = has_code_for(10 * p.major + p.minor);
	error = cudaDriverGetVersion(&out->driver);
	return error ? error : cudaRuntimeGetVersion(&out->runtime);
}

static void device_close(struct kernel_context *c)
{
	if (!c)
		return;
	product_close(c);
	attention_cudnn_close(c);
	cudaFree(c->workspace);
	free(c);
}

static int memory(struct kernel_context *c, int64_t *free_bytes, int64_t *total_bytes)
{
	size_t free_now = 0, total = 0;
	(void)c;
	cudaError_t error = cudaMemGetInfo(&free_now, &total);
	*free_bytes = static_cast<int64_t>(free_now);
	*total_bytes = static_cast<int64_t>(total);
	return error;
}

static void opening(const struct kernel_context *c, struct cuda_opening *out)
{
	*out = c->opening;
}

/* CUDA's documents do not say what happens with 0 bytes. */
static size_t at_least_1(size_t bytes)
{
	return bytes ? bytes : 1;
}

static int take_products(struct kernel_context *c)
{
	int64_t *total = &c->opening.total_bytes;
	int error = memory(c, &c->opening.after_workspace, total);
	if (!error)
		error = product_open(c);
	return error ? error : memory(c, &c->opening.after_cublaslt, total);
}

static int take_device(struct kernel_context *c)
{
	const struct {
		int *to;
		cudaDeviceAttr attribute;
	} asked[] = {{&c->multiprocessors, cudaDevAttrMultiProcessorCount},
	             {&c->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin},
	             {&c->major, cudaDevAttrComputeCapabilityMajor},
	             {&c->minor, cudaDevAttrComputeCapabilityMinor}};
	cudaError_t error = cudaSetDevice(c->device);
	for (size_t i = 0; i < sizeof asked / sizeof *asked && !error; i++)
		error = cudaDeviceGetAttribute(asked[i].to, asked[i].attribute, c->device);
	/* Asking makes the context, if setting the device has not. */
	if (!error)
		error = static_cast<cudaError_t>(memory(c, &c->opening.after_context, &c->opening.total_bytes));
	if (!error)
		error = cudaMalloc(&c->workspace, at_least_1(c->workspace_bytes));
	return error ? static_cast<int>(error) : take_products(c);
}

static int device_open(struct kernel_context **out, int device, size_t workspace_bytes)
{
	struct kernel_context *c = static_cast<struct kernel_context *>(calloc(1, sizeof *c));
	*out = nullptr;
	if (!c)
		return cudaErrorMemoryAllocation;
	c->device = device;
	c->workspace_bytes = workspace_bytes;
	int error = take_device(c);
	if (error)
		device_close(c);
	else
		*out = c;
	return error;
}

/* An error that was returned is not left behind for the next call to report. */
static int said(cudaError_t error)
{
	if (error)
		(void)cudaGetLastError();
	return error;
}

static int allocate(struct kernel_context *, size_t bytes, void **out)
{
	*out = nullptr;
	return said(cudaMalloc(out, at_least_1(bytes)));
}

static void release(struct kernel_context *, void *p)
{
	cudaFree(p);
}

static int allocate_host(struct kernel_context *, size_t bytes, void **out)
{
	*out = nullptr;
	return said(cudaHostAlloc(out, at_least_1(bytes), cudaHostAllocDefault));
}

static void release_host(struct kernel_context *, void *p)
{
	cudaFreeHost(p);
}

/* ---- streams and events ---- */

static int stream_create(struct kernel_context *, bool urgent, kernel_stream *out)
{
	int least = 0, greatest = 0;
	cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
	if (!error)
		error = cudaStreamCreateWithPriority(reinterpret_cast<cudaStream_t *>(out), cudaStreamNonBlocking,
		                                     urgent ? greatest : least);
	return said(error);
}

static void stream_destroy(struct kernel_context *, kernel_stream s)
{
	cudaStreamDestroy(cuda_stream(s));
}

static int stream_synchronize(struct kernel_context *, kernel_stream s)
{
	return cudaStreamSynchronize(cuda_stream(s));
}

static int stream_wait(struct kernel_context *, kernel_stream s, cuda_event e)
{
	return cudaStreamWaitEvent(cuda_stream(s), e, 0);
}

static int event_create(struct kernel_context *, bool timed, cuda_event *out)
{
	return said(cudaEventCreateWithFlags(out, timed ? cudaEventDefault : cudaEventDisableTiming));
}

static void event_destroy(struct kernel_context *, cuda_event e)
{
	cudaEventDestroy(e);
}

static int event_record(struct kernel_context *, cuda_event e, kernel_stream s)
{
	return cudaEventRecord(e, cuda_stream(s));
}

static int event_is_done(struct kernel_context *, cuda_event e, bool *done)
{
	cudaError_t error = cudaEventQuery(e);
	*done = error == cudaSuccess;
	if (error != cudaErrorNotReady)
		return error;
	(void)cudaGetLastError();
	return 0;
}

static int event_elapsed(struct kernel_context *, cuda_event begin, cuda_event end, double *seconds)
{
	float milliseconds = 0;
	cudaError_t error = cudaEventElapsedTime(&milliseconds, begin, end);
	*seconds = static_cast<double>(milliseconds) * 1e-3;
	return error;
}

static int copy(struct kernel_context *, kernel_stream s, void *to, const void *from, size_t bytes)
{
	return bytes ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream(s)) : cudaSuccess;
}

static int fill(struct kernel_context *, kernel_stream s, void *to, int byte, size_t bytes)
{
	return bytes ? cudaMemsetAsync(to, byte, bytes, cuda_stream(s)) : cudaSuccess;
}

static int host_call(struct kernel_context *, kernel_stream s, void (*function)(void *context), void *context)
{
	return cudaLaunchHostFunc(cuda_stream(s), function, context);
}

/* ---- graphs ---- */

/* Other threads (the driver's, NCCL's) go on calling CUDA meanwhile. */
static int capture_begin(struct kernel_context *, kernel_stream s)
{
	return cudaStreamBeginCapture(cuda_stream(s), cudaStreamCaptureModeThreadLocal);
}

static int capture_end(struct kernel_context *, kernel_stream s, cuda_graph *out)
{
	cudaGraph_t graph = nullptr;
	*out = nullptr;
	cudaError_t error = cudaStreamEndCapture(cuda_stream(s), &graph);
	if (!error)
		error = cudaGraphInstantiate(out, graph, 0);
	if (graph)
		cudaGraphDestroy(graph);
	return said(error);
}

static int graph_launch(struct kernel_context *, cuda_graph g, kernel_stream s)
{
	return cudaGraphLaunch(g, cuda_stream(s));
}

static void graph_destroy(struct kernel_context *, cuda_graph g)
{
	cudaGraphExecDestroy(g);
}

extern "C" const struct cuda_api *shardlab_cuda_api(void);
const struct cuda_api *shardlab_cuda_api(void)
{
	static struct cuda_api api;
	api.version = CUDA_API_VERSION;
	api.error_text = error_text;
	api.count = device_count;
	api.describe = describe;
	api.open = device_open;
	api.close = device_close;
	api.allow_tf32 = product_allow_tf32;
	api.memory = memory;
	api.opening = opening;
	api.allocate = allocate;
	api.release = release;
	api.allocate_host = allocate_host;
	api.release_host = release_host;
	api.stream_create = stream_create;
	api.stream_destroy = stream_destroy;
	api.stream_synchronize = stream_synchronize;
	api.stream_wait = stream_wait;
	api.event_create = event_create;
	api.event_destroy = event_destroy;
	api.event_record = event_record;
	api.event_is_done = event_is_done;
	api.event_elapsed = event_elapsed;
	api.kernels.copy = copy;
	api.kernels.fill = fill;
	api.host_call = host_call;
	api.capture_begin = capture_begin;
	api.capture_end = capture_end;
	api.graph_launch = graph_launch;
	api.graph_destroy = graph_destroy;
	api.products = cuda_products_lost;
	api.use_products = cuda_use_products;
	api.cublaslt = cuda_cublaslt;
	api.use_algorithms = cuda_use_algorithms;
	api.algorithms = cuda_algorithms;
	api.bias_choices = cuda_bias_choices;
	api.use_attention = cuda_use_attention;
	api.attention_rung = cuda_attention_rung;
	api.attention_choice = cuda_attention_chosen;
	api.cudnn = cuda_cudnn;
#define KERNEL(name, place) api.kernels.name = cuda_##name;
#include "kernels/table.def"
	return &api;
}
