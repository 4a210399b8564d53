/* struct kernel_context, for the files of this library. kernels/cuda/runtime.cu opens and closes it. */
#ifndef SHARDLAB_CUDA_CONTEXT_H
#define SHARDLAB_CUDA_CONTEXT_H

#include "kernels/cuda/cuda.h"

/* cudaStream_t, which a queue of the device's work is here. */
static inline struct CUstream_st *cuda_stream(kernel_stream s)
{
	return (struct CUstream_st *)s;
}

struct attention_place {
	struct attention_shape shape;
	bool backward;
	int cudnn; /* its version then */
	struct cuda_attention_choice choice;
};

struct kernel_context {
	int device;
	int multiprocessors;
	int shared_bytes; /* shared memory that one block can have, at most */
	int major, minor; /* compute capability */
	/* Scratch of the kernels that table.def marks so, which are all put on one stream: each may use all of it from
	 * its start, and leaves nothing in it for the next. Aligned to 256 bytes. */
	void *workspace;
	size_t workspace_bytes;
	struct cuda_opening opening;
	void *blas;                    /* cublasLtHandle_t */
	enum cuda_attention attention; /* the rung that was asked for */
	bool times_attention;
	int choices; /* of attention; when all places are taken, the first ones are used again */
	struct attention_place choice[CUDA_ATTENTION_CHOICES];
	bool times_products; /* and both ways of a bias's gradient */
	int bias_choices;
	struct cuda_bias_choice bias_choice[CUDA_BIAS_CHOICES];
	void *algorithms;                        /* product.cu: those that were chosen */
	void *cudnn;                             /* attention_cudnn.cu: a handle and plans; NULL: not asked for yet */
	int product_refusal;                     /* the error of the last product that cuBLASLt had nothing for */
	struct cuda_products products;           /* who carried them out */
	enum cuda_product_rung rung_of_products; /* that was asked for */
};

/* Errors of this library's own, beside those of CUDA (below 1000) and cuBLASLt. */
enum {
	CUDA_ERROR_WORKSPACE = 20001,    /* the workspace is too small for this shape */
	CUDA_ERROR_SHAPE = 20002,        /* a shape that no kernel here is made for */
	CUDA_ERROR_NO_ALGORITHM = 20003, /* cuBLASLt has none for this product */
	CUDA_ERROR_NO_CUDNN = 20004,     /* it is not installed */
	CUDA_ERROR_OLD_CUDNN = 20005     /* it is older than what is needed */
};

#endif
