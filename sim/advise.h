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

enum { ADVISE_STRATEGIES = 32, ADVISE_PRECISIONS = 3, ADVISE_OPTIONS = 240 };

struct advise_request {
	struct settings given; /* not resolved; strategy, precision, checkpointing and offload are chosen */
	const char *cluster;
	double margin; /* of each memory, for the allocator */
	const char *strategy[ADVISE_STRATEGIES];
	enum type precision[ADVISE_PRECISIONS];
	const char *checkpointing[VARIANT_LEVELS];
	struct offload offload[VARIANT_LEVELS];
	int strategies, precisions, checkpointings, offloads; /* the last two: 0 for all */
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
};

/* One that does not, with the smallest micro-batch. */
struct advise_lack {
	struct settings settings;
	struct report_tightest tightest;
	enum category category; /* the largest category at the peak */
	int64_t category_bytes;
	char peak_at[96];
	char mend[ADVISE_OPTIONS]; /* the cheapest change: all its options; "": none was found */
	int64_t mend_step;
};

struct advise_skipped {
	char strategy[64];
	char why[512];
};

/* The gain or loss of one more step up or down. */
struct advise_next {
	char what[ADVISE_OPTIONS]; /* "16 ranks", "links twice as fast" */
	int64_t step;
	int64_t missing_bytes; /* 0: it fits */
};
enum { ADVISE_NEXT = 4 };

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
	int64_t candidates, plans; /* the number judged, and the number compiled for it */
	bool cut;
	int done, total; /* walks */
	size_t fit_capacity, lack_capacity, skipped_capacity;
	struct grid_search walk;
	bool walking;
	bool has_ranges; /* the cluster has a stack */
	char stack[64];  /* its name; "": none */
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

/* The options that make a line, for any other command: --strategy zero2 --precision bf16 --micro-batch 4 … */
void advise_options(const struct settings *s, char out[ADVISE_OPTIONS]);

#endif
