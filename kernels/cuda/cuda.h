/* The GPU as one table of functions: memory, streams, events, graphs, and the kernels.
 *
 * The table lives in a library of its own, libshardlab-cuda.so, which is built where nvcc is found and opened by
 * real/cuda/library.c when `--device cuda` asks for it: the program needs no CUDA to run on CPUs. Because everything
 * goes through the table, tests put one of their own in its place and carry out a GPU's plan on the CPU.
 *
 *     const struct cuda_api *api = …;
 *     struct kernel_context *c;
 *     int error = api->open(&c, 0, 64 << 20);
 *     error = api->kernels.norm_forward(c, stream, ELEMENT_BF16, rows, width, x, weight, bias, y, statistics);
 *     if (error) … api->error_text(error) …
 *
 * Functions return 0, or an error that error_text() puts into words. Those that take a stream put work on it and
 * return at once; what they are given must stay as it is until the work is done. Pointers are to device memory unless
 * a name or a comment says host. Kernels give what the CPU's give: the order of a sum is all that may differ. There are
 * no atomic additions of floating-point numbers, and nothing is allocated after open(), which took the workspace.
 */
#ifndef SHARDLAB_CUDA_H
#define SHARDLAB_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/table.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_API_VERSION 9
#define CUDA_API_SYMBOL "shardlab_cuda_api" /* const struct cuda_api *shardlab_cuda_api(void) */

typedef struct CUevent_st *cuda_event;
typedef struct CUgraphExec_st *cuda_graph;

struct cuda_properties {
	char name[256];
	int major, minor; /* compute capability */
	int multiprocessors;
	int64_t memory_bytes; /* in all */
	int64_t l2_bytes;
	int driver, runtime; /* versions as CUDA counts: 13000 is 13.0 */
	bool runs_kernels;   /* the library has code for this compute capability */
};

/* The device's memory while open() took it: in all, and what was free once there was a context, then the workspace,
 * then cuBLASLt's handle. */
struct cuda_opening {
	int64_t total_bytes, after_context, after_workspace, after_cublaslt;
};

/* Rungs of the ladder of products (docs/ladder.md): each but the first takes fewer shapes than the one before. */
#define CUDA_PRODUCT_LIST(X)                                                                                           \
	X(CUBLASLT, cublaslt) /* cuBLASLt's, and PLAIN what it has nothing for */                                      \
	X(PLAIN, plain)       /* a thread makes an element */                                                          \
	X(SIMPLE, simple)     /* tiles, fp32 arithmetic */                                                             \
	X(TENSOR, tensor)     /* tensor cores: 16 bits, rows of whole pieces of 16 bytes */                            \
	X(HOPPER, hopper)     /* wgmma: the same on compute capability 9.0 */
enum cuda_product_rung {
#define X(NAME, name) CUDA_PRODUCT_##NAME,
	CUDA_PRODUCT_LIST(X)
#undef X
	        CUDA_PRODUCT_RUNGS
};

/* Products of linear layers and who computed them, counted as they are put on a stream: a replayed step counts none. */
struct cuda_products {
	int64_t by[CUDA_PRODUCT_RUNGS];
	/* Calls of linear_backward with x_pre whose product could not give the slope of GELU: it took a pass more. */
	int64_t gelu_passes;
	/* Products that cuBLASLt had nothing for, so that a thread made an element: right, and hundreds of times
	 * slower.
	 */
	int64_t plain;
	char first[96]; /* the first of those, as "16384 x 3072 x 768 bf16, A whole, B transposed" */
	int why;        /* the library's reason to refuse that one, for error_text() */
};

/* The choice for one shape, as words that mean something to the same library, with the same cuBLASLt, on the same kind
 * of card: an algorithm of cuBLASLt for a product, a rung for a pass of attention, or the way of a bias's gradient. */
enum {
	CUDA_PRODUCT_CHOICES = 96,   /* more than a step of any model here has products */
	CUDA_ATTENTION_CHOICES = 16, /* shapes and passes */
	CUDA_BIAS_CHOICES = 32,      /* shapes */
	CUDA_CHOICES = CUDA_PRODUCT_CHOICES + CUDA_ATTENTION_CHOICES + CUDA_BIAS_CHOICES
};
struct cuda_algorithm {
	uint64_t product[15], algorithm[8];
};

/* Rungs of attention's ladder (docs/ladder.md): each takes fewer shapes than the one before. */
#define CUDA_ATTENTION_LIST(X)                                                                                         \
	X(AUTO, auto)     /* the fastest, as was measured */                                                           \
	X(PLAIN, plain)   /* a thread makes a row */                                                                   \
	X(SIMPLE, simple) /* tiles, fp32 arithmetic */                                                                 \
	X(TENSOR, tensor) /* tensor cores: 16 bits, heads of multiples of 8 up to 128 */                               \
	X(HOPPER,                                                                                                      \
	  hopper) /* wgmma: the same on compute capability 9.0, heads above 32; backward without windows and ALiBi */  \
	X(CUDNN, cudnn) /* cuDNN, where it is installed: 16 bits on compute capability 9.0, no windows, no ALiBi */
enum cuda_attention {
#define X(NAME, name) CUDA_ATTENTION_##NAME,
	CUDA_ATTENTION_LIST(X)
#undef X
	        CUDA_ATTENTIONS
};

/* Why a pass has its rung. */
enum cuda_attention_why {
	CUDA_ATTENTION_HIGHEST, /* the highest of our own that takes the shape: nothing was measured */
	CUDA_ATTENTION_ASKED,
	CUDA_ATTENTION_MEASURED
};

struct cuda_attention_choice {
	enum cuda_attention rung;
	enum cuda_attention_why why;
	double seconds[CUDA_ATTENTIONS]; /* of each rung; 0: it was not measured */
	int64_t cudnn_plan;              /* the fastest of cuDNN's plans: its place in what cuDNN advises, from 0 on */
};

/* How a linear layer without an activation gets the gradient of its bias. */
enum cuda_bias_way {
	CUDA_BIAS_EPILOGUE, /* as the epilogue of the product that makes dweight */
	CUDA_BIAS_PASS,     /* by a pass over dy of its own */
	CUDA_BIAS_WAYS
};

/* The faster of them, as was measured: of dweight and the bias's gradient together. */
struct cuda_bias_choice {
	struct linear_shape shape;
	bool accumulates; /* dweight */
	bool used;        /* by a layer of this run */
	enum cuda_bias_way way;
	double seconds[CUDA_BIAS_WAYS]; /* 0: it does not run */
};

struct cuda_api {
	int version; /* CUDA_API_VERSION */

	/* ---- the device ---- */
	const char *(*error_text)(int error);
	int (*count)(int *devices); /* 0 devices is no error; a missing or old driver is */
	int (*describe)(int device, struct cuda_properties *out);
	int (*open)(struct kernel_context **out, int device, size_t workspace_bytes);
	void (*close)(struct kernel_context *c); /* accepts NULL */
	/* fp32 products on tensor cores: operands rounded to TF32's 10 bits, sums in fp32. Off unless set. */
	void (*allow_tf32)(struct kernel_context *c, bool allow);
	/* cuBLASLt's version as it counts, 130100 is 13.1.0: of the headers that the library was built with, and of
	 * what is here. Needs no device. */
	void (*cublaslt)(int *built, int *here);
	void (*products)(const struct kernel_context *c, struct cuda_products *out);
	/* From here on products by this rung of their ladder, or by the highest below it that takes one; cuBLASLt's
	 * unless set. GELU, its slope and a bias's gradient are passes of their own then. */
	void (*use_products)(struct kernel_context *c, enum cuda_product_rung most);
	/* From here on products and passes of attention of these shapes have what was chosen, as far as cuBLASLt and
	 * cuDNN still have it. With `time`, products of other shapes are timed when they are first put on a stream that
	 * is not captured: the fastest of up to 8 is kept, where cuBLASLt's own first one is otherwise. So are both
	 * ways of a bias's gradient; without it the pass is taken where a layer widens, and else the epilogue. */
	void (*use_algorithms)(struct kernel_context *c, const struct cuda_algorithm *given, int count, bool time);
	/* Those that were given and taken, or timed: the first `most`. Returns how many there are. */
	int (*algorithms)(const struct kernel_context *c, struct cuda_algorithm *out, int most);
	/* The measured ways that layers of this run have: the first `most`. Returns how many there are. */
	int (*bias_choices)(const struct kernel_context *c, struct cuda_bias_choice *out, int most);
	/* Attention by this rung of its ladder, or by the highest below it that takes a shape; AUTO, unless set: by the
	 * one that was measured to be the fastest. With `time`, AUTO times the rungs that take a shape when it is first
	 * put on a stream that is not captured. Returns 0, or why there is no cuDNN where it is asked for. */
	int (*use_attention)(struct kernel_context *c, enum cuda_attention most, bool time);
	/* The rung that such a shape gets, where its addresses are multiples of 16. */
	enum cuda_attention (*attention_rung)(struct kernel_context *c, const struct attention_shape *shape,
	                                      bool backward);
	/* The same rung, and the reason for it. */
	void (*attention_choice)(struct kernel_context *c, const struct attention_shape *shape, bool backward,
	                         struct cuda_attention_choice *out);
	/* cuDNN's version as it counts, 91900 is 9.19.0; 0: it is not installed. Needs no device. */
	int (*cudnn)(void);
	int (*memory)(struct kernel_context *c, int64_t *free_bytes, int64_t *total_bytes);
	void (*opening)(const struct kernel_context *c, struct cuda_opening *out);
	int (*allocate)(struct kernel_context *c, size_t bytes, void **out);
	void (*release)(struct kernel_context *c, void *p);
	int (*allocate_host)(struct kernel_context *c, size_t bytes, void **out); /* pinned */
	void (*release_host)(struct kernel_context *c, void *p);

	/* ---- streams, events, graphs ---- */
	int (*stream_create)(struct kernel_context *c, bool urgent, kernel_stream *out);
	void (*stream_destroy)(struct kernel_context *c, kernel_stream s);
	int (*stream_synchronize)(struct kernel_context *c, kernel_stream s);
	int (*stream_wait)(struct kernel_context *c, kernel_stream s, cuda_event e);
	int (*event_create)(struct kernel_context *c, bool timed, cuda_event *out);
	void (*event_destroy)(struct kernel_context *c, cuda_event e);
	int (*event_record)(struct kernel_context *c, cuda_event e, kernel_stream s);
	int (*event_is_done)(struct kernel_context *c, cuda_event e, bool *done);
	int (*event_elapsed)(struct kernel_context *c, cuda_event begin, cuda_event end,
	                     double *seconds); /* both are done */
	/* On a thread of the driver, when what is before it on the stream is done. It may not call this table. */
	int (*host_call)(struct kernel_context *c, kernel_stream s, void (*function)(void *context), void *context);
	int (*capture_begin)(struct kernel_context *c,
	                     kernel_stream s); /* streams that wait for events of `s` are captured with it */
	int (*capture_end)(struct kernel_context *c, kernel_stream s, cuda_graph *out);
	int (*graph_launch)(struct kernel_context *c, cuda_graph g, kernel_stream s);
	void (*graph_destroy)(struct kernel_context *c, cuda_graph g);

	struct kernel_table kernels;
};

#ifdef __cplusplus
}
#endif
#endif
