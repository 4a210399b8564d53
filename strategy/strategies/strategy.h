/* Strategies: who holds what, and who sends what when.
 *
 * Every data-parallel strategy shares one training step (strategy/step/step.c): for each micro-batch, forward through
 * the units, backward in reverse; then the update. A strategy states where parameters, gradients and optimizer state
 * stand (the three columns of the ZeRO paper), and the rest follows from that. Each has one short file:
 *
 *     single.c   one rank
 *     dp.c       one root keeps everything: sends parameters, gathers outputs, collects gradients
 *     ddp.c      everyone keeps everything; gradients are all-reduced in buckets while backward goes on
 *     zero1.c    … and each keeps the optimizer state of its own slices
 *     zero2.c    … and the gradients of its own slices
 *     zero3.c    … and the parameters: gathered before use, freed after
 *     fsdp.c     the same by flat parameter per unit, with PyTorch FSDP's settings
 *
 * The contrasts, which `all` leaves out, are
 *
 *     hybrid.c   FSDP inside groups of ranks, replicas across them
 *     model_parallel.c  layers over ranks, one rank works at a time
 *     pipeline.c layers over ranks, micro-batches fill the pipeline (stage.h is what the two share)
 *     tensor.c   all ranks share every layer of one model (Megatron)
 *
 * A placement decides which hooks of the shared step act where a strategy has none of its own:
 *
 *     parameters  SHARD   gathered before use, freed after (gather.c)
 *     gradients   WHOLE   written where they stay, reduced there on the last micro-batch: all-reduced, or
 *                         reduce-scattered where optimizer state is a SLICE (reduce.c)
 *                 SHARD   whole in a buffer until their group is full, then reduce-scattered (reduce.c)
 *     optimizer   SLICE   with whole parameters, an all-gather after the update brings everyone the rest (gather.c)
 *
 * To add a strategy, write its file with a `const struct strategy`, add it to STRATEGY_LIST, and let the verifier tell
 * what is wrong with it (`shardlab plan --strategy yours`). A hook uses what strategy/step/hooks.h offers.
 */
#ifndef SHARDLAB_STRATEGY_H
#define SHARDLAB_STRATEGY_H

#include "strategy/plan/plan.h"
#include "strategy/strategies/choices.h"

/* In the order of `--strategy all`. */
#define STRATEGY_LIST(X)                                                                                               \
	X(single)                                                                                                      \
	X(dp)                                                                                                          \
	X(ddp)                                                                                                         \
	X(zero1)                                                                                                       \
	X(zero2)                                                                                                       \
	X(zero3)                                                                                                       \
	X(fsdp)

/* What they are compared with. Not in `all`. */
#define CONTRAST_LIST(X)                                                                                               \
	X(hybrid)                                                                                                      \
	X(model)                                                                                                       \
	X(pipeline)                                                                                                    \
	X(tensor)

struct step;

/* Where the part of a group that this rank is responsible for stands. */
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
	void (*gradient_ready)(struct step *s, int tensor);  /* its last use has been written */
	void (*after_backward)(struct step *s, int unit);
	void (*end_backward)(struct step *s);
};

enum { STRATEGY_KEYS = 6 };

struct strategy {
	const char *name;
	const char *what;               /* one line for help */
	struct key keys[STRATEGY_KEYS]; /* `fsdp:reshard=no`; their values are in choices.h */
	/* The axes of the mesh, and whether the settings make sense on them. NULL: one axis, as data parallelism has.
	 */
	enum status (*mesh)(struct plan *p, const struct choices *c);
	/* How tensors are packed in groups: buckets, units, or all in one. */
	void (*pack)(struct plan *p);
	/* Where parameters, gradients and optimizer state stand. */
	enum placement parameters, gradients, optimizer;
	bool one_rank;     /* it makes no sense on several */
	bool root_alone;   /* rank 0 has a program of its own, and only it keeps state */
	bool slices;       /* ranks along axis "tensor" have slices of the model (model/slice.h) */
	bool same_samples; /* all ranks serve the same samples: there is one data rank, however many ranks */
	bool stages;       /* every rank is a stage with a program of its own (stage.h) */
	bool fills;        /* the micro-batches of a step are in the stages at the same time; else one after another */
	struct hooks hooks;
};

const struct strategy *strategy_find(const char *name); /* NULL if there is none */
const struct strategy *strategy_at(int i);              /* of `all`; NULL past the last */
const struct strategy *strategy_contrast_at(int i);     /* of the others */

/* Checks `text` (NAME[:key=value:…]) and gives the strategy. */
enum status strategy_parse(const char *text, const struct strategy **out);
/* The values of the settings in a text that has been checked. */
struct choices strategy_choices(const struct strategy *g, const char *text);

/* Ranks that have samples of their own: batch = data ranks × micro-batch × accumulate. All of them in data parallelism;
 * one where all ranks serve the same samples. Settings with an unknown strategy have as many as ranks. */
int64_t strategy_data_ranks(const struct settings *settings);

/* model + settings → plan. `settings` are resolved (settings_resolve). The plan is not yet verified. `model` must
 * outlive it. On failure nothing needs to be released. */
enum status plan_compile(struct plan *p, const struct model *model, const struct settings *settings);

#define X(name) extern const struct strategy strategy_##name;
STRATEGY_LIST(X)
CONTRAST_LIST(X)
#undef X

#endif
