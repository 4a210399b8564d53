/* Each file of the library fills its part of the table. */
#ifndef SHARDLAB_CUDA_TABLE_H
#define SHARDLAB_CUDA_TABLE_H

#include "kernels/cuda/context.h"

#ifdef __cplusplus
extern "C" {
#endif

void cuda_fill_runtime(struct cuda_api *api);    /* runtime.cu: the device, streams, events, graphs */
void cuda_fill_linear(struct cuda_api *api);     /* linear.cu */
void cuda_fill_finish(struct cuda_api *api);     /* finish.cu: linear_finish */
void cuda_fill_attention(struct cuda_api *api);  /* attention.cu */
void cuda_fill_norm(struct cuda_api *api);       /* norm.cu */
void cuda_fill_batch_norm(struct cuda_api *api); /* batch_norm.cu */
void cuda_fill_embedding(struct cuda_api *api);  /* embedding.cu */
void cuda_fill_classifier(struct cuda_api *api); /* classifier.cu */
void cuda_fill_optimizer(struct cuda_api *api);  /* optimizer.cu */
void cuda_fill_vector(struct cuda_api *api);     /* vector.cu: vectors, and the state that steps carry */

#ifdef __cplusplus
}
#endif
#endif
