/* Advice: of all strategies, micro-batches, accumulations, checkpointings, offloads and precisions that take a wished
 * global batch, which fit a cluster, by predicted speed; and what the others lack.
 *
 *     struct advise_request q = {.given = settings, .cluster = "a100-80gb", .margin = 0.05, …};
 *     struct advice *a;
 *     enum status s = advise_begin(&a, &q);
 *     while (!s && advise_next(a))
 *             …
 *     … a->fit[0 … a->fit_count), a->lack[0 … a->lack_count) …
 *     advise_end(a);
 *
 * Each strategy in each precision is a walk over a grid (sim/grid_search.h): of each checkpointing and offload the
 * largest micro-batch that fits is a line. What takes less memory without a larger micro-batch is slower, and is left
 * out. Steps of many micro-batches are predicted from short ones.
 */
#ifndef SHARDLAB_SIM_ADVISE_H
#define SHARDLAB_SIM_ADVISE_H

#include "sim/grid_search.h"
#include "strategy/emit/emit.h"

enum { ADVISE_STRATEGIES = 32, ADVISE_PRECISIONS = 3, ADVISE_OPTIONS = 480, ADVISE_FIXED = 6 };

/* A setting that was asked for, so that it was not searched. */
struct advise_fixed {
	enum setting setting;
	const char *value, *by; /* what it is; the option or the file that says so */
};

/* One way in which a program's file states a strategy (sim/advise_habits.h). */
struct advise_habit {
	bool way;       /* another way of the strategy before it: its lines are kept where it pays */
	int64_t bucket; /* 0: as given */
	const char *software[ADVISE_PRECISIONS]; /* NULL: as given */
	const char *refused[ADVISE_PRECISIONS];  /* why the file cannot say it; NULL: it can */
};

struct advise_request {
	struct settings given; /* not resolved; strategy, precision, checkpointing and offload are chosen */
	const char *cluster;
	/* Another program, and so another stack, may run a strategy's plans. NULL: the same. */
	const char *cluster_of[ADVISE_STRATEGIES];
	struct advise_habit habit[ADVISE_STRATEGIES];
	bool told; /* there are no lines that a file of `target` cannot say */
	enum emit_target target;
	int asked;     /* strategies, without ways that were added to them; 0: none was */
	double margin; /* of each memory, for the allocator */
	const char *strategy[ADVISE_STRATEGIES];
	enum type precision[ADVISE_PRECISIONS];
	const char *checkpointing[VARIANT_LEVELS];
	struct offload offload[VARIANT_LEVELS];
	int strategies, precisions, checkpointings, offloads; /* the last two: 0 for all */
	struct advise_fixed fixed[ADVISE_FIXED];              /* for those who read the advice */
	int fixed_count;
};

/* One that fits. */
struct advised {
	struct settings settings;      /* resolved */
	int64_t step;                  /* ns */
	int64_t range_low, range_high; /* under a stack: nine of ten measured steps lie between; else both 0 */
	double tokens_per_s;           /* samples, of models without tokens */
	struct report_speed speed;
	struct report_tightest tightest;
	int place;     /* 1: the fastest; ties have the same */
	bool tied;     /* with another line */
	bool frontier; /* none is faster with as little memory */
	int order;     /* of the search, for equal times */
	int walk;
};

/* One that does not, with the smallest micro-batch. */
struct advise_lack {
	struct settings settings;
	struct report_tightest tightest;
	enum category category; /* the largest category at the peak */
	int64_t category_bytes;
	char peak_at[96];
	/* The cheapest change: all options then, and those that change; "": none was found. */
	char mend[ADVISE_OPTIONS], change[ADVISE_OPTIONS];
	int64_t mend_step;
};

struct advise_skipped {
	char strategy[256];
	char why[512];
};

/* One more step up or down. Where something fits, what it gains or loses beside the best line; where nothing does, what
 * would be enough, of what lacks least. */
struct advise_next {
	char what[ADVISE_OPTIONS + 80]; /* another number of ranks, "links twice as fast", "devices of 190 GB with …" */
	int64_t step;
	int64_t missing_bytes; /* 0: it fits */
};
enum { ADVISE_NEXT = 8 };

struct advice {
	struct advise_request request; /* its batch is resolved */
	char model[64];
	int64_t tokens; /* of a sample */
	struct advised *fit;
	struct advise_lack *lack;
	struct advise_skipped *skipped;
	int fit_count, lack_count, skipped_count;
	struct advise_next next[ADVISE_NEXT];
	int next_count;
	/* The micro-batch that memory would hold with a larger batch, and that batch, where the largest micro-batch is
	 * all of a rank's batch; 0: no larger one. */
	int64_t held_micro, held_batch;
	int64_t candidates, plans; /* the number judged, and the number compiled for it */
	bool cut;
	int done, total; /* walks */
	size_t fit_capacity, lack_capacity, skipped_capacity;
	struct grid_search walk;
	bool walking;
	bool has_ranges; /* the cluster has a stack */
	char stack[160]; /* its name, or those of all strategies; "": none */
};

/* STATUS_INPUT where the model or the cluster cannot be opened, or the batch cannot be divided. On failure `*out` is to
 * be ended as well. */
enum status advise_begin(struct advice **out, const struct advise_request *q);
/* One compiled plan at a time. False: it is all there. */
bool advise_next(struct advice *a);
/* STATUS_INPUT: every strategy was skipped. */
enum status advise_status(const struct advice *a);
void advise_end(struct advice *a); /* accepts NULL */

/* The line with the least offload and checkpointing among those that share the first place; NULL: none fits. */
const struct advised *advise_best(const struct advice *a);

/* The cluster that a strategy's lines are judged by. */
const char *advise_cluster(const struct advise_request *q, const char *strategy);

/* The options that make a line, for any other command: --strategy zero2 --precision bf16 --micro-batch 4 … And those
 * that differ from other settings. */
void advise_options(const struct settings *s, char out[ADVISE_OPTIONS]);
void advise_change(const struct settings *from, const struct settings *to, char out[ADVISE_OPTIONS]);
/* A rank's micro-batch is the whole of its batch, so that no memory makes it larger. */
bool advise_takes_all(const struct settings *s);

/* The fastest of the lines with the largest micro-batch; NULL: none fits. */
const struct advised *advise_largest(const struct advice *a);

/* Fills in `next`, and what memory would hold (sim/advise_next.c). */
void advise_find_next(struct advice *a);

#endif
