/* Activation checkpointing (Chen et al. 2016, arXiv 1604.06174): the forward pass keeps few activations, the backward
 * pass makes the others again.
 *
 *     full          a checkpoint at every block boundary: of a block, only its input is kept
 *     every=K       a checkpoint at every K-th boundary; the K blocks between two are made again together
 *     full:number_checkpoints=N
 *                   N checkpoints, evenly
 *     full:one_in=K of K blocks only the last is checkpointed (torchtitan's selective_ac_option)
 *     selective     everything is kept but attention's inner part (Korthikanti et al. 2023, arXiv 2205.05198,
 *                   section 5), which takes much memory and little time
 *     operations    of a block, its input, attention's results and those of every second product, the first among
 *                   them (torchtitan's selective_ac_option "op"); a joined layer (q|k|v, gate|up) in as many blocks
 *                   as products of it are kept there
 *
 * A *segment* is what is made again at once: blocks between two checkpoints, or one attention's inner part. A block of
 * a GPT is a transformer block, a block of the MLP is a linear layer with its activation.
 *
 *     forward    │ in ─► ln_1 ─► qkv ─► attention ─► proj ─► ln_2 ─► fc ─► out ─► in of the next
 *                  kept   └────── freed when the last forward kernel has read it ──────┘   kept
 *     backward   │ recompute ln_1 … fc (not out: nobody needs its output again), then backward out … ln_1
 *
 * Recomputed kernels are the forward kernels once more: the same operations on the same inputs and weights, in the pass
 * `recompute`. So results are the same, bit for bit. They are issued as late as possible: before the first backward
 * kernel that reads something they make, and only those that somebody needs (as PyTorch's early stop).
 *
 * The shipped kernels keep of a block of a GPT, for s tokens, b samples, width h, a heads and activations of w bytes,
 * and 4-byte statistics:
 *
 *     none          w · 16sbh + 4 · sb(a + 4)
 *     selective     w · 15sbh + 4 · 4sb
 *     full          w · sbh
 *
 * that is: the block's input, ln_1, queries, keys, values, attention's output, mid, ln_2, four times each GELU's input
 * and output; log-sum-exp of a heads, two statistics of each norm. No s × s matrix, no mask.
 */
#ifndef SHARDLAB_CHECKPOINTING_H
#define SHARDLAB_CHECKPOINTING_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/keys.h"
#include "strategy/model/model.h"

enum checkpointing_mode {
	CHECKPOINTING_NONE,
	CHECKPOINTING_FULL,
	CHECKPOINTING_EVERY,
	CHECKPOINTING_SELECTIVE,
	CHECKPOINTING_OPERATIONS
};

/* The keys behind the mode. Their names are those of DeepSpeed's activation_checkpointing section. */
enum { CHECKPOINTING_KEYS = 7 };
extern const struct key checkpointing_keys[CHECKPOINTING_KEYS];

struct checkpointing {
	enum checkpointing_mode mode;
	int64_t every;    /* blocks between two checkpoints */
	int64_t number;   /* of checkpoints; 0: not given */
	int64_t one_in;   /* of so many blocks the last is a segment, and the others are none; 0: as 1 */
	bool automatic;   /* the number is to be found: see checkpointing_choose in strategy/strategies/strategy.h */
	bool cpu;         /* checkpoints go to host memory */
	bool partition;   /* each rank of a tensor-parallel group keeps a slice of every checkpoint */
	bool contiguous;  /* all checkpoints are parts of one buffer */
	bool synchronize; /* at every boundary, every queue waits for all others */
	bool profile;     /* reports say how long the forward pass, recomputing and the backward pass take */
};

/* "none", "full:number_checkpoints=4", …; STATUS_INPUT with a line that names what is wrong. */
enum status checkpointing_parse(const char *text, struct checkpointing *out);
/* STATUS_INPUT if the model has nothing to recompute in this way. */
enum status checkpointing_check(const struct checkpointing *c, const struct model *m);

#endif
