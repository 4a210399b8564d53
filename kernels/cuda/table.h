/* The functions of this library's table: one for each row of kernels/table.def, in the file of its kernel, and those
 * that are a GPU's alone.
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

/* attention.cu */
int cuda_use_attention(struct kernel_context *c, enum cuda_attention most, bool time);
enum cuda_attention cuda_attention_rung(struct kernel_context *c, const struct attention_shape *shape, bool backward);
void cuda_attention_chosen(struct kernel_context *c, const struct attention_shape *shape, bool backward,
                           struct cuda_attention_choice *out);
int cuda_cudnn(void);
/* Words of a choice of attention's, among those of products. */
bool cuda_attention_is_word(const struct cuda_algorithm *a);
void cuda_attention_give(struct kernel_context *c, const struct cuda_algorithm *a);
int cuda_attention_tell(const struct kernel_context *c, struct cuda_algorithm *out, int most);
/* linear_bias.cu. cuda_bias_give: false if it is another's choice. */
bool cuda_bias_give(struct kernel_context *c, const struct cuda_algorithm *a);
int cuda_bias_tell(const struct kernel_context *c, struct cuda_algorithm *out, int most);
int cuda_bias_choices(const struct kernel_context *c, struct cuda_bias_choice *out, int most);
void cuda_products_lost(const struct kernel_context *c, struct cuda_products *out); /* linear.cu */
void cuda_use_products(struct kernel_context *c, enum cuda_product_rung most);      /* product_ladder.cu */
/* product.cu */
void cuda_cublaslt(int *built, int *here);
void cuda_use_algorithms(struct kernel_context *c, const struct cuda_algorithm *given, int count, bool time);
int cuda_algorithms(const struct kernel_context *c, struct cuda_algorithm *out, int most);
}

#endif
