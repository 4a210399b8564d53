/* A rank's slice of a model, for tensor parallelism (Shoeybi et al. 2019, arXiv 1909.08053, section 3).
 *
 * All ranks of a tensor group work on the same samples, each with its slice of the weights. Linear layers come in
 * pairs: the first is divided by columns (its outputs), the second by rows (its inputs), so that what stands between
 * them never has to be whole:
 *
 *     x whole ─► qkv │ columns: own heads ─► attention │ own heads ─► proj │ rows ─► partial sums ─ all-reduce ─► whole
 *     x whole ─► fc  │ columns ──────────────────────── GELU ────────► out  │ rows ─► partial sums ─ all-reduce ─►
 * whole
 *
 * backward, the gradient of x is what comes out as partial sums. The token table is divided by rows, its tokens: the
 * embedding looks up those it has and is summed over the ranks, the tied head gives each rank the logits of its own
 * tokens, and the loss is computed from them without any rank holding all (section 3, "parallel cross entropy").
 * Everything else (norms, position table, biases behind a sum) every rank has whole, and computes alike.
 *
 *     divided by  tensors
 *     rows        token table; proj and out [in,out]; of torch.nn.Linear's [out,in], the layers divided by columns
 *     columns     qkv (three pieces q|k|v, of each the own heads) and fc; of [out,in], the layers divided by rows
 *
 * A token table that does not divide is padded at the end: padded rows are zeros and stay zeros, and the loss leaves
 * their logits out, so they change nothing. They are neither shown nor saved.
 *
 * With sequence parallelism (Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2) what lies between the pairs is
 * divided too, by rows: norms, dropouts and the residual stream have a rank's own 1/t of the samples' tokens. A pair
 * begins with an all-gather of its input and ends with a reduce-scatter of its sum: together as many bytes as the
 * all-reduce. The input is kept as the rank's rows and gathered again for the backward pass.
 *
 *     x rows ─ all-gather ─► qkv │ columns ─► attention ─► proj │ rows ─► partial sums ─ reduce-scatter ─► x rows
 *
 * The gradients of norms are then sums over the ranks' rows, and are all-reduced. Biases behind a sum come from its
 * gathered gradient, which is whole.
 *
 * Of a multilayer perceptron, layers 0 and 1 are a pair, 2 and 3, and so on; a last layer without a partner is whole on
 * every rank.
 */
#ifndef SHARDLAB_SLICE_H
#define SHARDLAB_SLICE_H

#include "strategy/model/model.h"

/* Makes `out` a slice of `whole`. It serves every rank, since all slices have the same sizes. Its arrays are in the
 * arena; `whole` must outlive it. A size that does not divide by `ranks` is STATUS_INPUT, with a line that names it. */
enum status model_slice(struct model *out, const struct model *whole, int64_t ranks, bool sequence,
                        struct arena *arena);

/* True if the kernel (a linear layer or an embedding) computes a part of a sum over the tensor group. Bias, residual,
 * GELU and the position table follow once the sum is complete. */
bool kernel_sums(const struct model *m, const struct kernel *k);
/* The value that holds the sum: the input of GELU, or the kernel's output. */
int kernel_sum(const struct kernel *k);
/* True if an operation completes that sum; else the sum is the output. */
bool kernel_finishes(const struct kernel *k);
/* True if its backward pass computes a part of such a sum, the gradient of x. */
bool kernel_sums_backward(const struct model *m, const struct kernel *k);

/* Sequence parallelism. kernel_gathers: the kernel reads all ranks' rows of x. kernel_scatters: its sum goes to the
 * ranks by rows, and the gradient of the sum comes from them by rows. */
bool kernel_gathers(const struct model *m, const struct kernel *k);
bool kernel_scatters(const struct model *m, const struct kernel *k);

/* ---- places ---- */

/* A run of elements that stand side by side both in a slice and in the whole tensor. */
struct run_of_tensor {
	int64_t whole; /* place of the first in the whole tensor; -1: padding, which has none */
	int64_t count;
};
/* The run that begins with element `at` of rank `rank`'s slice. */
struct run_of_tensor tensor_run(const struct tensor *t, int64_t slices, int64_t rank, int64_t at);

int64_t tensor_whole_elements(const struct tensor *t);

/* The classes of a rank's slice, of `stride` with padding: the first, and how many are no padding. */
struct class_range {
	int64_t first, count;
};
struct class_range model_classes_of(const struct model *m, int64_t stride, int64_t rank);

#endif
