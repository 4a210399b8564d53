/* The work of training in model FLOPs: what the model's mathematics asks for, however it is carried out. Model FLOPs
 * over the time of a step, over the peak of the devices, is the model FLOPs utilization (MFU: Chowdhery et al. 2022,
 * PaLM, arXiv 2204.02311, appendix B).
 *
 *     linear layer   2 · in · out a token, the head included: a multiplication and an addition
 *     attention      2 · heads · head_size · T² a sample: two products, of which causal attention has half; with a
 *                    sliding window of W tokens 2WT − W² instead of T²
 *
 * So much in the forward pass, and in training three times that: the backward pass has two products, for the input and
 * for the weights, of the same size.
 *
 * For a transformer that is 6 a token for each parameter of its products, and 6 · layers · width · T for attention.
 * PaLM counts the whole T × T, twice that, also where half of it is masked: its MFU is larger. What is computed again
 * (activation checkpointing, the probabilities of attention) does not count, nor do lookups, norms, activations, the
 * loss and the update. So FLOPs of operations (strategy/plan/ops.h), from which times are predicted, are others.
 */
#ifndef SHARDLAB_FLOPS_H
#define SHARDLAB_FLOPS_H

#include "strategy/model/model.h"

/* The operations of a whole model, for one sample. 0: an abstract model, which has states only. In an open model this
 * is `training_flops`. */
double model_training_flops(const struct model *m);

#endif
