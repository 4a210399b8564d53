/* The settings of a strategy (`fsdp:reshard=no`) as values. They are parsed once, before anything is compiled; hooks
 * and the shared step read them from here. A key means the same in every strategy that has it, and a strategy without
 * it behaves as with the value 0, or CHOICE_WORD where the value is a number.
 */
#ifndef SHARDLAB_CHOICES_H
#define SHARDLAB_CHOICES_H

#include <stdint.h>

#include "strategy/base/keys.h"

/* A word where a number could stand: `prefetch=unit`, `live=unlimited`. */
enum { CHOICE_WORD = -1 };

enum { ALGORITHM_RING, ALGORITHM_HALVING_DOUBLING };
enum { ROUTE_STAR, ROUTE_TREE, ROUTE_CHAIN };
enum { SYNC_EVERY, SYNC_LAST };
enum { PIPELINE_1F1B, PIPELINE_GPIPE };

/* A number, or which of the key's words it is, counted from 0. */
struct choices {
	int64_t algorithm;         /* of the all-reduce of gradients */
	int64_t broadcast, reduce; /* routes through dp's root */
	int64_t prefetch;          /* elements gathered ahead; CHOICE_WORD: one unit */
	int64_t live;              /* gathered elements that stop the prefetch; CHOICE_WORD: no limit */
	int64_t reuse;             /* a unit that is used again within so many elements stays gathered */
	int64_t keep;              /* `reshard=no`: a unit stays gathered from its forward to its backward pass */
	int64_t sync;              /* which micro-batches reduce gradients */
	int64_t shard;             /* ranks that share one copy of the model */
	int64_t schedule;          /* of a pipeline */
	int64_t sequence;          /* 1: tensor parallelism also divides the rows of the sequence */
};

/* pairs: key=value:…, or NULL. They have been checked (keys_check). */
struct choices choices_parse(const struct keys *keys, const char *pairs);

#endif
