/* A GPU for tests, as a table of functions: streams are queues that are first in, first out, and nothing else but
 * events orders them. Work is done when somebody waits for it, one piece at a time, from a stream that a seed chooses
 * among those that may go on: a plan that lacks a wait gives other results under another seed. Kernels are the CPU's
 * own table, for tests that compare bits or do not ask what is computed, or those that are shipped, under emulation
 * (tests/emulate/emulate.h).
 *
 * Device memory can be touched by work on a stream alone: from anywhere else, a host call among them, it is a
 * segmentation fault. New memory holds NaNs. Host calls are made by a thread of their own. As CUDA has it, it is an
 * error to call from a host call or another thread, to leave a capture unjoined, to wait in one for something outside
 * of it or outside for something in one, and, while one is under way, to take or release memory, to wait, to ask for a
 * time, and to copy what is neither the device's nor pinned. Kernels that use the workspace must be on one stream.
 *
 *     cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = 3}));
 *     … train_run with device "cuda" …
 *     ck_assert_int_eq(fake_cuda_counts()->launches, 2);
 */
#ifndef SHARDLAB_TESTS_FAKE_CUDA_H
#define SHARDLAB_TESTS_FAKE_CUDA_H

#include "kernels/cuda/cuda.h"

/* Beside what is asked for: the context, cuBLASLt's handle, code that is loaded with the first kernel, each graph. */
enum {
	FAKE_CONTEXT_BYTES = 16 << 20,
	FAKE_CUBLASLT_BYTES = 3 << 20,
	FAKE_CODE_BYTES = 5 << 20,
	FAKE_GRAPH_BYTES = 1 << 16
};

struct fake_cuda_settings {
	uint64_t seed;        /* 0: streams go on in turn */
	int devices;          /* 0: one; -1: none */
	int64_t memory_bytes; /* 0: 8 GiB */
	int count_error;      /* the result of `count` */
	bool no_code;         /* for this compute capability */
	bool no_attention;    /* the table lacks attention_forward */
	int64_t kernel_ns; /* time is what the work says, not the clock: kernels take 1 to 4 times so long; 0: the clock
	                    */
	int cudnn;         /* its version; 0: there is none */
	int plain_products; /* the number it reports for which cuBLASLt had nothing */
	bool no_capture;    /* a capture does not end well */
	int fail_after;     /* so many kernels are put on streams, and then one fails; 0: none */
	/* Kernels in place of the CPU's, and their device. They are done on return. NULL: the CPU's */
	const struct cuda_api *shipped;
	struct kernel_context *shipped_on;
};

struct fake_cuda_counts {
	int algorithms_given; /* by use_algorithms; a device that is to time them has one more of its own */
	bool times_products;  /* the last argument of use_algorithms */
	bool times_attention; /* the last argument of use_attention */
	enum cuda_product_rung rung_of_products; /* that of use_products */
	int64_t launches;                        /* of graphs */
	int64_t kernels, copies, host_calls;     /* the number carried out */
	int64_t live;                            /* allocations, streams, events and graphs that are not released */
};

/* The settings are kept until the next call. */
const struct cuda_api *fake_cuda(const struct fake_cuda_settings *settings);
/* The last argument of allow_tf32. */
bool fake_cuda_tf32(void);
const struct fake_cuda_counts *fake_cuda_counts(void);

#endif
