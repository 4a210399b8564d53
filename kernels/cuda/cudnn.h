/* cuDNN's graphs: what is needed of them for attention, opened where cuDNN is installed. Its headers are not needed:
 * the numbers below are those of its C interface, which is the same in all versions 9.
 *
 *     struct cudnn_graph g;
 *     cudnn_begin(&g, place);                    a card's handle, or the properties of a card that is elsewhere
 *     int x = cudnn_tensor(&g, &shape_of_x), y = …;
 *     cudnn_pointwise(&g, CUDNN_EXP, x, CUDNN_NONE, CUDNN_NONE, y);
 *     int64_t which = 0;
 *     int error = cudnn_plan(&g, &which, most_bytes, &plan, &workspace_bytes);
 *     cudnn_end(&g);
 *
 * The first error stands in the graph, and what follows does nothing. Plain functions: no device is needed for a plan
 * of a card whose properties are given, which is how tests look at every shape. */
#ifndef SHARDLAB_CUDA_CUDNN_H
#define SHARDLAB_CUDA_CUDNN_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDNN_OLDEST = 91000 /* 9.10.0 */ };

/* ---- cuDNN's own numbers ---- */

enum cudnn_type { CUDNN_FLOAT = 0, CUDNN_HALF = 2, CUDNN_INT32 = 4, CUDNN_BFLOAT16 = 9, CUDNN_BOOLEAN = 11 };

enum cudnn_pointwise {
	CUDNN_ADD = 0,
	CUDNN_MUL = 1,
	CUDNN_DIV = 6,
	CUDNN_SUB = 9,
	CUDNN_EXP = 13,
	CUDNN_LOG = 15,
	CUDNN_GREATER_OR_EQUAL = 302,
	CUDNN_INDEX = 501,
	CUDNN_SELECT = 601
};

enum cudnn_reduction { CUDNN_SUM = 0, CUDNN_LARGEST = 3 };

/* ---- tensors and operations ---- */

enum {
	CUDNN_DIMENSIONS = 4,
	CUDNN_MOST_TENSORS = 40,
	CUDNN_MOST_DESCRIPTORS = 128,
	CUDNN_MOST_PLANS = 8,
	CUDNN_NONE = -1
};

enum cudnn_kind {
	CUDNN_BETWEEN, /* only ever in registers */
	CUDNN_MEMORY,  /* its address is given to a run */
	CUDNN_VALUE    /* one fp32 on the host, whose address is */
};

/* The description of a tensor. Its number, from 1 on, is also its name in a run. */
struct cudnn_shape {
	enum cudnn_kind kind;
	enum cudnn_type type;
	int64_t size[CUDNN_DIMENSIONS], stride[CUDNN_DIMENSIONS];
};

/* The card that a plan is for: one that is here, by its handle, or one whose properties are described. */
struct cudnn_place {
	void *handle, *properties;
};

struct cudnn_graph {
	struct cudnn_place place;
	int error;
	int tensors, operations, descriptors;
	void *tensor[CUDNN_MOST_TENSORS], *operation[CUDNN_MOST_TENSORS];
	void *descriptor[CUDNN_MOST_DESCRIPTORS]; /* all of them, in the order they were made */
	void *advice[CUDNN_MOST_PLANS];           /* engines, once cuDNN was asked for them, the best first */
	int64_t advised;
};

/* 0, or why there is none: CUDA_ERROR_NO_CUDNN, or CUDA_ERROR_OLD_CUDNN. */
int cudnn_open(void);
/* 91900 is 9.19.0; 0: there is none. */
int cudnn_version(void);
const char *cudnn_error_text(int error);

int cudnn_place_open(struct cudnn_place *out); /* on the current device */
/* A card that is elsewhere, as cuDNN's own JSON describes it. */
int cudnn_place_describe(struct cudnn_place *out, const char *json);
void cudnn_place_close(struct cudnn_place *p);

void cudnn_begin(struct cudnn_graph *g, struct cudnn_place place);
int cudnn_tensor(struct cudnn_graph *g, const struct cudnn_shape *about);
/* y = mode(x, b), or where t (0 or 1) is given, t ? x : b. Sums and such are in fp32. */
void cudnn_pointwise(struct cudnn_graph *g, enum cudnn_pointwise mode, int x, int b, int t, int y);
void cudnn_index(struct cudnn_graph *g, int64_t dimension, int x, int y); /* y = where along it an element of x is */
void cudnn_product(struct cudnn_graph *g, int a, int b, int c);
void cudnn_reduce(struct cudnn_graph *g, enum cudnn_reduction how, int x, int y);
void cudnn_reshape(struct cudnn_graph *g, int x, int y);
/* A plan by an engine that cuDNN advises: the first from the *which-th on whose sums have one order, that makes a plan,
 * and whose workspace is no more than `most` bytes. *which: its place. PyTorch takes the first, whatever its order. */
int cudnn_plan(struct cudnn_graph *g, int64_t *which, int64_t most, void **plan, int64_t *workspace_bytes);
void cudnn_end(struct cudnn_graph *g); /* plans stay */

/* Puts a plan on a stream. `tensors` numbers and where they are. Nothing is allocated on the device. */
int cudnn_run(void *handle, kernel_stream s, void *plan, int tensors, const int64_t *number, void *const *where,
              void *workspace);
void cudnn_plan_release(void *plan);

#ifdef __cplusplus
}
#endif
#endif
