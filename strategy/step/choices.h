/* The settings of a strategy (`fsdp:reshard=no`) as values. They are parsed once, before anything is compiled; hooks
 * and the shared step read them from here. A key means the same in every strategy that has it, and a strategy without
 * it behaves as with the default below.
 */
#ifndef SHARDLAB_CHOICES_H
#define SHARDLAB_CHOICES_H

#include "strategy/base/keys.h"
#include "strategy/collective/schedule.h"

/* A word where a number could stand, by its place among the key's words: `prefetch=unit`, `live=unlimited`;
 * `prefetch=two`; `prefetch=all`. */
enum { CHOICE_WORD = -1, CHOICE_TWO = -2, CHOICE_ALL = -3 };

enum { SYNC_EVERY, SYNC_LAST };
enum { SAVE_SHARDS, SAVE_FULL, SAVE_16BIT };
enum { BACKWARD_AHEAD, BACKWARD_UNIT, BACKWARD_POST, BACKWARD_NONE };
enum { PIPELINE_1F1B, PIPELINE_GPIPE };

struct choices {
	/* The algorithms of collectives on groups of tensors; by default the first that an operation has.
	 * `algorithm=NAME` chooses it for every operation that has one of that name, `broadcast=NAME` for that
	 * operation. */
	enum schedule_algorithm algorithm[OPERATION_COUNT];
	/* Numbers. */
	int64_t prefetch; /* elements gathered ahead, or with `live` by each module; CHOICE_WORD, the default: one unit
	                   */
	int64_t live;     /* gathered elements of blocks that stop the prefetch; CHOICE_WORD, the default: no limit */
	int64_t reuse;    /* a unit that is used again within so many elements stays gathered; 0 */
	int64_t pieces; /* elements of a rank's share that an update of --as takes at once, in whole tensors; 0: all */
	int64_t shard;  /* ranks that share one copy of the model */
	int64_t secondary; /* ranks that share a second copy of the parameters in each step; 0 or 1: there is none */
	/* The place of the word among the key's words; 0, the first, is the default. */
	int64_t keep;     /* `reshard=no`, 1: a unit stays gathered from its forward to its backward pass */
	int64_t waits;    /* `overlap=no`, 1: kernels wait for each collective of the backward pass, and for gathers */
	int64_t all;      /* `reduce=all`, 1: all-reduced gradients, of which a rank's update reads its slice alone; in
	                   * zero2 by --as */
	int64_t late;     /* by --as, 1: gradients stay whole until the backward pass has ended, and are reduced then */
	int64_t sync;     /* the micro-batches that reduce gradients */
	int64_t backward; /* what is gathered ahead in the backward pass: as in the forward pass, one unit, one once
	                   * this one's gradients are made, or nothing */
	int64_t schedule; /* of a pipeline */
	int64_t whole;    /* `units=model`, 1: the whole model is one unit of what is gathered */
	int64_t save; /* how the weights leave in the end: by shards, or gathered for rank 0, in fp32 or the precision
	               */
	int64_t sequence; /* 1: tensor parallelism also divides the rows of the sequence */
};

/* pairs: key=value:…, or NULL. They have been checked (keys_check). */
struct choices choices_parse(const struct keys *keys, const char *pairs);
bool choices_same(const struct choices *a, const struct choices *b);

#endif
