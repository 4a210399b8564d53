/* A strategy states where parameters, gradients and optimizer state stand (the three columns of the ZeRO paper), and
 * its hooks in the shared training step.
 *
 * A placement decides which hooks of the shared step act where a strategy has none of its own:
 *
 *     parameters  SHARD   gathered before use, freed after (gather.c)
 *     gradients   WHOLE   written where they stay, reduced there on the last micro-batch: all-reduced, or
 *                         reduce-scattered where optimizer state is a SLICE (reduce.c)
 *                 SHARD   whole in a buffer until their group is full, then reduce-scattered (reduce.c)
 *     optimizer   SLICE   with whole parameters, an all-gather after the update brings everyone the rest (gather.c)
 */
#ifndef SHARDLAB_DEFINITION_H
#define SHARDLAB_DEFINITION_H

#include "strategy/plan/plan.h"
#include "strategy/step/choices.h"

struct step;

/* The place of the part of a group that a rank is responsible for. */
enum placement {
	PLACE_WHOLE, /* the buffer holds all groups whole, and all of them are ours: [base, base + padded) */
	PLACE_SLICE, /* the buffer holds all groups whole; ours is slice r of each */
	PLACE_SHARD, /* the buffer holds slice r of every group: [base/ranks, (base + padded)/ranks) */
};

/* Called in this order. NULL: what follows from the placements, or nothing. */
struct hooks {
	void (*prologue)(struct step *s);    /* state is there and initialised */
	void (*micros)(struct step *s);      /* all micro-batches of a step; NULL: one after another */
	void (*evaluate)(struct step *s);    /* NULL: forward */
	void (*begin_micro)(struct step *s); /* a micro-batch begins */
	void (*load)(struct step *s);        /* NULL: each rank loads its own samples */
	void (*before_forward)(struct step *s, int unit);
	void (*after_forward)(struct step *s, int unit);
	void (*alloc_outputs)(struct step *s); /* NULL: as any value */
	void (*loss)(struct step *s);          /* NULL: each rank computes its own */
	void (*before_backward)(struct step *s, int unit);
	void (*gradient_needed)(struct step *s, int tensor); /* backward is about to write it */
	void (*gradient_ready)(struct step *s, int tensor);  /* all kernels that add to it have done so */
	void (*after_backward)(struct step *s, int unit);
	void (*end_backward)(struct step *s);
};

enum { STRATEGY_KEYS = 7 };

/* The key `save` of strategies with sharded parameters on one axis: what the epilogue does (save_gathered.c). */
#define SAVE_KEY                                                                                                       \
	{                                                                                                              \
		"save", "shards|full|16bit", "shards",                                                                 \
		        "gather the weights on rank 0 to save them, in fp32 or the precision"                          \
	}

struct strategy {
	const char *name;
	const char *what;               /* one line for help */
	struct key keys[STRATEGY_KEYS]; /* `fsdp:reshard=no`; their values are in choices.h */
	/* Makes the axes of the mesh, and checks the settings against them. NULL: one axis, as data parallelism has. */
	enum status (*mesh)(struct plan *p, const struct choices *c);
	/* How tensors are packed in groups: buckets, units, or all in one. */
	void (*pack)(struct plan *p);
	/* Where parameters, gradients and optimizer state stand. */
	enum placement parameters, gradients, optimizer;
	bool one_rank;     /* it runs on one rank only */
	bool root_alone;   /* rank 0 has a program of its own, and only it keeps state */
	bool slices;       /* ranks along axis "tensor" have slices of the model (model/slice.h) */
	bool same_samples; /* all ranks serve the same samples: there is one data rank, however many ranks */
	bool stages;       /* every rank is a stage with a program of its own (stage.h) */
	/* With stages: from how many micro-batches on no more of them are under way at once, so that more of them need
	 * no more memory. NULL: never. */
	int64_t (*most_in_flight)(const struct settings *s, const struct choices *c);
	/* The key that says how many ranks share one copy of the model; NULL: there is none. Without a mesh of its own
	 * the strategy then has axes "replica" and "shard". */
	const char *group_key;
	struct hooks hooks;
};

#endif
