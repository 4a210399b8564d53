/* Inside the reading of Trainer's arguments: what its judge and its taker of settings ask of them. */
#ifndef SHARDLAB_TRAINER_H
#define SHARDLAB_TRAINER_H

#include "strategy/recipe/recipe.h"

bool trainer_shards(const struct recipe *r); /* fsdp is there, and not false */
/* The i-th word of a text of words, or of a list; false past the last. */
bool trainer_word(const struct tree *v, int i, char *out, size_t size);
int64_t trainer_fsdp_version(const struct recipe *r);
bool trainer_recomputes(const struct recipe *r); /* activation_checkpointing, or by its old name */

#endif
