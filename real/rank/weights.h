/* The initial values of parameters and of the model's buffers, and the values that are shown at the end, wherever they
 * are stored. */
#ifndef SHARDLAB_RANK_WEIGHTS_H
#define SHARDLAB_RANK_WEIGHTS_H

#include "real/rank/memory.h"

struct group_walk {
	struct rank_memory *memory;
	enum status (*visit)(const struct group_walk *w, int tensor, int64_t first, int64_t count, float *at);
	bool fills;    /* visited elements are written, and those past the last tensor become zero */
	bool snapshot; /* of a save: what its snapshot holds, which other threads leave alone meanwhile */
	enum item item;
};

/* Visits the tensors, or parts of tensors, that the operand holds of the operation's group. */
enum status rank_walk_group(const struct op *op, const struct group_walk *w);
/* The place of one of the model's buffers among n elements, which are a stage's own buffers; -1: it is another
 * stage's. */
int64_t rank_place_of_buffer(const struct rank_memory *memory, const struct model_buffer *b, int64_t n);

enum status rank_initialize(struct rank_memory *memory, const struct op *op);
enum status rank_show_weights(struct rank_memory *memory, const struct op *op);
enum status rank_initialize_buffers(struct rank_memory *memory, const struct op *op);
enum status rank_show_buffers(struct rank_memory *memory, const struct op *op);

#endif
