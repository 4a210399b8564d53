/* Operations of checkpoints: what a rank saves goes to the store of its memory (struct state_store), and what it
 * restores comes from there, as fp32, by its place in whole tensors. So the store knows nothing of ranks. */
#ifndef SHARDLAB_RANK_RESTORE_H
#define SHARDLAB_RANK_RESTORE_H

#include "real/rank/memory.h"

/* An operation with a snapshot fills that. Else what is saved goes to the store; without its function, nothing is done.
 */
enum status rank_save(struct rank_memory *memory, const struct op *op);
/* Writes the operation's snapshot to the store. It touches nothing else that a step uses, so another thread may call it
 * while steps go on. */
enum status rank_save_snapshot(struct rank_memory *memory, const struct op *op);
enum status rank_restore(struct rank_memory *memory, const struct op *op);

#endif
