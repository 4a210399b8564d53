/* Attention as graphs of cuDNN: the highest rung of the ladder, where cuDNN is installed. Forward
 *
 *     S = Q·Kᵀ · scale, and −∞ where a key comes after its query
 *     statistics = log Σ exp S,   Y = softmax(S)·V
 *
 * and backward, with D = Σ dY·Y of each row and P = exp(S − statistics)
 *
 *     dV = Pᵀ·dY,   dS = P · (dY·Vᵀ − D) · scale,   dK = dSᵀ·Q,   dQ = dS·K
 *
 * which cuDNN recognizes, and has kernels for. Q, K and V stand in one tensor, as our kernels have them: the strides
 * say so. Statistics are the log-sum-exp that our kernels keep, so passes of different rungs go together.
 *
 * Backward is deterministic: dS is kept whole in the workspace, 2·T² bytes a head, rather than having blocks add to dQ
 * in any order; so as many samples are done at once as that has room for. */
#ifndef SHARDLAB_CUDA_ATTENTION_CUDNN_H
#define SHARDLAB_CUDA_ATTENTION_CUDNN_H

#include "kernels/cuda/cudnn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of a pass's tensors; those that a pass does not have are not made. */
enum cudnn_attention_tensor {
	CUDNN_Q = 1,
	CUDNN_K,
	CUDNN_V,
	CUDNN_Y,
	CUDNN_STATISTICS,
	CUDNN_SCALE,
	CUDNN_MASKED, /* −∞ */
	CUDNN_FORWARD_TENSORS = CUDNN_MASKED,
	CUDNN_DY,
	CUDNN_DQ,
	CUDNN_DK,
	CUDNN_DV,
	CUDNN_ONE,
	CUDNN_SUMS, /* D, in the workspace */
	CUDNN_BACKWARD_TENSORS = CUDNN_SUMS
};

/* Puts a pass over such samples, without window and ALiBi, into a graph that has just begun. */
void cudnn_attention_graph(struct cudnn_graph *g, const struct attention_shape *s, bool backward);
/* The most samples that a pass does at once in so many bytes of workspace: a divisor of the shape's; 0: not one. */
int64_t cudnn_attention_samples(const struct attention_shape *s, bool backward, int64_t workspace_bytes);
/* For tests: a plan of a pass for a card that is described, the first from the *which-th on. Returns 0 or an error. */
int cudnn_attention_check(const struct attention_shape *s, bool backward, const char *card, int64_t *which,
                          int64_t most_bytes, int64_t *workspace_bytes);
void attention_cudnn_close(struct kernel_context *c); /* accepts one that made no plan */

#ifdef __cplusplus
}

struct attention_arguments;

/* True where cuDNN is installed, knows this card and has a plan for the shape, which is made when it is first asked
 * about: the first from the `which`-th on, which takes a second or so. */
bool attention_cudnn_takes(struct kernel_context *c, const struct attention_shape *s, bool backward, int64_t which);
/* A shape that it takes has another plan from now on, the first from the `which`-th on. Returns which; −1: there is
 * none, and it keeps the one it has. */
int64_t attention_cudnn_plan(struct kernel_context *c, const struct attention_shape *s, bool backward, int64_t which);
/* That plan, and the others that were made for it go. */
void attention_cudnn_keep(struct kernel_context *c, const struct attention_shape *s, bool backward, int64_t which);
/* Attention of a shape that it takes. */
int attention_cudnn(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape,
                    const struct attention_arguments *a, bool backward);
#endif
#endif
