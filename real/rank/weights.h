/* The initial values of parameters and of the model's buffers, and the values that are shown at the end, wherever they
 * are stored. */
#ifndef SHARDLAB_RANK_WEIGHTS_H
#define SHARDLAB_RANK_WEIGHTS_H

#include "real/rank/memory.h"

enum status rank_initialize(struct rank_memory *memory, const struct op *op);
enum status rank_show_weights(struct rank_memory *memory, const struct op *op);
enum status rank_initialize_buffers(struct rank_memory *memory, const struct op *op);
enum status rank_show_buffers(struct rank_memory *memory, const struct op *op);

#endif
