/* The work of linear layers beside products: activations, their gradients, and the bias's gradient, where cuBLASLt does
 * not do them along with a product. */
#ifndef SHARDLAB_CUDA_LINEAR_CUH
#define SHARDLAB_CUDA_LINEAR_CUH

#include "kernels/cuda/product.h"

/* y[n] = activation(pre) */
int linear_activation(kernel_stream s, enum element type, enum activation activation, int64_t n, const void *pre,
                      void *y);

/* dy *= activation'(pre) in place, if there is a pre; then dbias[width] = or += the sums of its columns, if there is
 * one. In fixed order: partial sums of groups of rows stand in the workspace. */
int linear_columns(struct kernel_context *c, kernel_stream s, enum element type, enum activation activation,
                   int64_t rows, int64_t width, const void *pre, void *dy, void *dbias, bool accumulate);

/* The way of the bias's gradient that was measured for this shape; NULL: none was. */
struct cuda_bias_choice *linear_bias_measured(struct kernel_context *c, const struct linear_shape *shape,
                                              bool accumulates);
/* Shapes beyond CUDA_BIAS_CHOICES are not kept, so that none is measured again and again. */
void linear_bias_keep(struct kernel_context *c, const struct cuda_bias_choice *choice);
bool linear_bias_is_full(const struct kernel_context *c);

#endif
