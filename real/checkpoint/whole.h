/* A checkpoint as a whole, for those that look at it without training: its model, its pieces, what is in them.
 *
 *     struct checkpoint c;
 *     s = checkpoint_open(&c, "run");              (a checkpoint, or a run's folder: the latest)
 *     … c.manifest.step, c.model.parameters …
 *     s = checkpoint_verify(&c);
 *     checkpoint_release(&c);
 */
#ifndef SHARDLAB_CHECKPOINT_WHOLE_H
#define SHARDLAB_CHECKPOINT_WHOLE_H

#include "real/checkpoint/manifest.h"
#include "real/checkpoint/pieces.h"

/* A zeroed one is released. */
struct checkpoint {
	char *path;
	struct manifest manifest;
	struct model model;
	struct piece_reader pieces;
};

/* STATUS_INPUT: it is no checkpoint, or its files are not of its model. On failure c is released. */
enum status checkpoint_open(struct checkpoint *c, const char *given);
void checkpoint_release(struct checkpoint *c); /* accepts NULL and a zeroed one */

/* Elements of an item, over all files; 0: the checkpoint has none. */
int64_t checkpoint_elements(const struct checkpoint *c, enum item item);

/* STATUS_CHECK: a file is not as it was saved, an element is missing, or the state adds up to something else. */
enum status checkpoint_verify(const struct checkpoint *c);

/* Writes the weights as train --save does: a file, or a folder that transformers loads. shard_bytes: the most in one
 * file; 0: 5 GB. */
enum status checkpoint_weights(const struct checkpoint *c, const char *path, int64_t shard_bytes);

#endif
