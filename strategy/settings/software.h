/* The habits of a software stack in a training step, in memory and in messages: `--as NAME[:key=value:…]`. They belong
 * to the plan; a stack's speed belongs to the cluster (strategy/cluster/stack.h).
 *
 *     struct software s;
 *     enum status status = software_parse("deepspeed:reduce=scatter", &s);
 *     … s.does[SOFTWARE_MASTER] == MASTER_ALWAYS …
 *
 * Each thing that stacks do differently is a switch: a key whose words begin with what shardlab's trainer does. A name
 * sets every switch to what that stack does as shipped, and a key after it changes one. `compile=yes|no` is another
 * word for kernels=fused|eager, by what the user of a framework decides. Plans of other software are for the simulator:
 * shardlab's trainer carries out its own alone.
 */
#ifndef SHARDLAB_SOFTWARE_H
#define SHARDLAB_SOFTWARE_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/status.h"

/* constant, name */
#define SOFTWARE_LIST(X)                                                                                               \
	X(SHARDLAB, shardlab)                                                                                          \
	X(PYTORCH, pytorch)                                                                                            \
	X(DEEPSPEED, deepspeed)                                                                                        \
	X(MEGATRON, megatron)

enum software_name {
#define X(constant, name) SOFTWARE_OF_##constant,
	SOFTWARE_LIST(X)
#undef X
	        SOFTWARE_NAMES
};

/* constant, key, words, what shardlab, pytorch, deepspeed, megatron do, help */
#define SOFTWARE_SWITCH_LIST(X)                                                                                        \
	X(ROOT, root, "again|kept", "again", "kept", "again", "again",                                                 \
	  "gathered units: embeddings and head stay from the forward to the backward pass")                            \
	X(UNIT, unit, "block|module", "block", "block", "module", "block",                                             \
	  "zero3, fsdp, hybrid: what is gathered at once, a block or each of its matrices")                            \
	X(REDUCE, reduce, "scatter|all", "scatter", "scatter", "all", "scatter",                                       \
	  "zero1, zero2: a bucket is reduce-scattered, or all-reduced and a slice kept")                               \
	X(STAGE1, stage1, "whole|slice", "whole", "whole", "slice", "whole",                                           \
	  "zero1: gradients a rank keeps once reduced; slice: with overlap=no reduced after the backward pass")        \
	X(BORDER, border, "no|yes", "no", "no", "yes", "no",                                                           \
	  "zero1, zero2: a tensor across the border of two slices is kept whole on both ranks")                        \
	X(BUCKET, bucket, "views|copies|fixed", "views", "copies", "fixed", "views",                                   \
	  "what is reduced: where kernels write gradients; a copy; or a copy in a buffer of the bucket's full size")   \
	X(FREED, freed, "none|units|buckets", "none", "units", "buckets", "none",                                      \
	  "reduced gradients that are allocated anew in each step: of zero3, fsdp, hybrid; or of zero1, zero2")        \
	X(KERNELS, kernels, "fused|eager", "fused", "eager", "eager", "fused",                                         \
	  "eager: a pass over memory more for norms, activations, residuals, casts, and what autograd keeps")          \
	X(ATTENTION, attention, "flash|efficient|math|standard", "flash", "flash", "flash", "flash",                   \
	  "what is kept of scores: their log-sum-exp, or that in whole 32 tokens; as PyTorch's math kernel; or "       \
	  "Megatron's softmax")                                                                                        \
	X(LOSS, loss, "inplace|one|two|freed|kept", "inplace", "freed", "kept", "one",                                 \
	  "tensors of the logits' size beside them: none; in fp32 one or two; cross_entropy's, logits let go or kept") \
	X(GRADIENTS, gradients, "16bit|fp32|kept", "16bit", "fp32", "16bit", "fp32",                                   \
	  "bf16, fp16: of what type gradients are where they are added up, sent and kept; kept: fp32 in a "            \
	  "rank's shard alone")                                                                                        \
	X(WEIGHTS, weights, "16bit|fp32", "16bit", "fp32", "16bit", "16bit",                                           \
	  "bf16, fp16: a rank's shard: 16-bit with fp32 master weights, or fp32 alone, rounded for each gather")       \
	X(UPDATE, update, "inplace|foreach|fp32", "inplace", "foreach", "fp32", "inplace",                             \
	  "the update's own memory: none; square roots of adamw's foreach; gradients as fp32 (a rank's share)")        \
	X(ALLOCATOR, allocator, "arena|caching", "arena", "caching", "caching", "caching",                             \
	  "memory by the plan's layout, or from PyTorch's caching allocator, with its rounding and segments")          \
	X(MASTER, master, "16bit|always", "16bit", "16bit", "always", "16bit",                                         \
	  "fp32 master weights beside 16-bit parameters only, or beside fp32 ones too")                                \
	X(GROUPS, groups, "one|four", "one", "one", "one", "four",                                                     \
	  "NCCL communicators: of all ranks; or besides of data, tensor and model parallelism, 688 MB each")           \
	X(SAVED, saved, "gathered|broadcast", "gathered", "gathered", "broadcast", "gathered",                         \
	  "save=: weights that were gathered are freed, or rank 0 broadcasts them first")                              \
	X(PINNED, pinned, "all|optimizer|parameters|none", "all", "all", "all", "all",                                 \
	  "offload: whose host memory is page-locked; copies from other memory are slower, and kernels wait for them") \
	X(DISK, disk, "both|reads|writes|none", "both", "both", "none", "both",                                        \
	  "offload optimizer:to=disk: what goes on while another group is updated")                                    \
	X(COPIES, copies, "all|one", "all", "all", "one", "all",                                                       \
	  "zero1, zero2, offload: who copies a bucket's gradients to the host, and for whom all wait: all ranks "      \
	  "their slices at a time, or the rank whose piece of the model it is")                                        \
	X(SUMS, sums, "host|device", "host", "host", "device", "host",                                                 \
	  "offload optimizer: the host adds up micro-batches, or the sum so far comes to the device and goes back")    \
	X(REQUESTS, requests, "waves|ahead", "waves", "ahead", "ahead", "ahead",                                       \
	  "offload …:to=disk:queue=N: the disk is asked for more once all of N bytes are there, or as each part is")

enum software_switch {
#define X(constant, ...) SOFTWARE_##constant,
	SOFTWARE_SWITCH_LIST(X)
#undef X
	        SOFTWARE_SWITCHES
};

/* The words of the switches, in their order. */
enum { ROOT_AGAIN, ROOT_KEPT };
enum { UNIT_BLOCK, UNIT_MODULE };
enum { REDUCE_SCATTERS, REDUCE_ALL };
enum { STAGE1_WHOLE, STAGE1_SLICE };
enum { BORDER_CUT, BORDER_KEPT };
enum { BUCKET_VIEWS, BUCKET_COPIES, BUCKET_FIXED };
enum { FREED_NONE, FREED_UNITS, FREED_BUCKETS };
enum { KERNELS_FUSED, KERNELS_EAGER };
enum { ATTENTION_FLASH, ATTENTION_EFFICIENT, ATTENTION_MATH, ATTENTION_STANDARD };
enum { LOSS_IN_PLACE, LOSS_ONE, LOSS_TWO, LOSS_FREED, LOSS_KEPT };
enum { GRADIENTS_16BIT, GRADIENTS_FP32, GRADIENTS_KEPT };
enum { WEIGHTS_16BIT, WEIGHTS_FP32 };
enum { UPDATE_IN_PLACE, UPDATE_FOREACH, UPDATE_FP32 };
enum { ALLOCATOR_ARENA, ALLOCATOR_CACHING };
enum { MASTER_16BIT, MASTER_ALWAYS };
enum { GROUPS_ONE, GROUPS_FOUR };
enum { SAVED_GATHERED, SAVED_BROADCAST };
enum { PINNED_ALL, PINNED_OPTIMIZER, PINNED_PARAMETERS, PINNED_NONE };
enum { DISK_BOTH, DISK_READS, DISK_WRITES, DISK_NONE };
enum { COPIES_ALL, COPIES_ONE };
enum { SUMS_HOST, SUMS_DEVICE };
enum { REQUESTS_WAVES, REQUESTS_AHEAD };

struct software {
	enum software_name name;
	int does[SOFTWARE_SWITCHES]; /* the place of the word among the switch's words */
};

struct software_row {
	const char *key, *words, *help;
	const char *way[SOFTWARE_NAMES]; /* the word that says what each stack does */
};
extern const struct software_row software_rows[SOFTWARE_SWITCHES];

/* An unknown name, key or word is STATUS_INPUT with a line that names it. */
enum status software_parse(const char *text, struct software *out);
/* True if it does all that shardlab's trainer does, and nothing else. */
bool software_is_own(const struct software *s);
/* STATUS_INPUT if a training run would have to do as other software does. */
enum status software_check_runs(const char *text);
const char *software_name(enum software_name name);
/* The class of stacks (strategy/cluster/stack.h) that is as fast; NULL: shardlab's own, which clusters have anyway. */
const char *software_class(const struct software *s);

#endif
