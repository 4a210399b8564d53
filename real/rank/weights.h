/* Values that parameters and the model's buffers begin with, and those that are shown in the end: values that this
 * process makes or looks at, wherever they stand. */
#ifndef SHARDLAB_RANK_WEIGHTS_H
#define SHARDLAB_RANK_WEIGHTS_H

#include "real/rank/memory.h"

enum status rank_initialize(struct rank_memory *memory, const struct op *op);
enum status rank_show_weights(struct rank_memory *memory, const struct op *op);
enum status rank_initialize_buffers(struct rank_memory *memory, const struct op *op);
enum status rank_show_buffers(struct rank_memory *memory, const struct op *op);

#endif
