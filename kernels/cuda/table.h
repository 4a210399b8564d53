/* The functions of this library's table: one for each row of kernels/table.def, in the file of its kernel, and two that
 * are a GPU's alone.
 *
 *     CUDA_KERNEL(norm_forward)
 *     {
 *             … c, s, and the row's parameters by their names …
 *     }
 */
#ifndef SHARDLAB_CUDA_TABLE_H
#define SHARDLAB_CUDA_TABLE_H

#include "kernels/cuda/context.h"

#define CUDA_KERNEL(name)                                                                                              \
	int cuda_##name([[maybe_unused]] struct kernel_context *c,                                                     \
	                kernel_stream s PARAMETERS_##name(KERNEL_VALUE, KERNEL_SHAPE))

extern "C" {

#define KERNEL(name, place) CUDA_KERNEL(name);
#include "kernels/table.def"

int cuda_attention_forward_hopper(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape,
                                  const void *qkv, void *y, float *log_sum_exp);    /* attention.cu */
void cuda_products_lost(const struct kernel_context *c, struct cuda_products *out); /* linear.cu */
/* product.cu */
void cuda_cublaslt(int *built, int *here);
void cuda_use_algorithms(struct kernel_context *c, const struct cuda_algorithm *given, int count, bool time);
int cuda_algorithms(const struct kernel_context *c, struct cuda_algorithm *out, int most);
}

#endif
