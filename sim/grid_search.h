/* A walk over a grid of variants (strategy/strategies/variants.h): which of them fit a cluster's memory, and how long
 * their steps take.
 *
 *     struct grid_search f = {.cluster_name = "a100-80gb"};
 *     variant_grid_make(&f.grid, &settings);
 *     if (!grid_search_begin(&f))
 *             while (grid_search_next(&f))                          // one compiled plan at a time
 *                     … f.list[0 … f.count) …
 *     grid_search_release(&f);
 *
 * Not all of the grid is compiled, since this is known: what is computed again, put on the host or cut into smaller
 * micro-batches takes less memory and not less time. So of each strategy, checkpointing and offload the largest
 * micro-batch that fits counts, and it counts only where less checkpointing and less offload do not fit with as large a
 * one. Stages are the exception: smaller micro-batches fill a pipeline, so that with `all_micros` each that fits
 * counts. Whether a step of many micro-batches fits is judged by one of as many as are under way at once, and its time
 * is predicted from two short ones.
 */
#ifndef SHARDLAB_SIM_GRID_SEARCH_H
#define SHARDLAB_SIM_GRID_SEARCH_H

#include "sim/sim.h"
#include "strategy/strategies/variants.h"

/* One that fits. */
struct found {
	struct variant_place place;
	int64_t step;    /* ns */
	int64_t exposed; /* of it, waiting for communication */
	int64_t price;   /* operations of its whole step, about; 0: it was simulated as it is */
	struct report_tightest tightest;
	bool tried; /* for the caller */
};

enum search_stage {
	SEARCH_STRATEGY, /* does it fit in the smallest way? */
	SEARCH_FITS,     /* between which micro-batches does it begin to? */
	SEARCH_TIME,     /* how long is the step with the largest that fits? */
	SEARCH_OVER
};

struct grid_search {
	/* Set by the caller. */
	struct variant_grid grid;
	const char *cluster_name;
	double margin;     /* of each memory, left to its allocator: 0 … 1 */
	bool surely;       /* under a stack, nothing whose device is close to full (strategy/trace/report.h) */
	bool fits_or_not;  /* a time is asked for where the memory is not enough, too */
	bool given_is_out; /* the first place is known not to fit */
	bool all_micros;

	/* The plans found, in the order of the walk; if it was cut before any was timed, one that fits, with no time.
	 * Owned. */
	struct found *list;
	int count;
	bool any; /* something fits, whatever its step takes: `smallest` */
	bool cut; /* it gave up before its end */
	bool at_kept, has_kept;
	struct variant_place smallest;
	int64_t compiled; /* operations */
	int64_t plans;

	/* The walk. */
	enum search_stage stage;
	struct variant_place at;
	int low, high;                               /* micro-batches: those before low do not fit, high does */
	int largest[VARIANT_LEVELS][VARIANT_LEVELS]; /* the first micro-batch that fits, by checkpointing and offload */
	size_t capacity;
	int64_t exposed; /* of the step that was timed last */
	int64_t price;   /* the same as its operations */
	struct model model;
	struct cluster cluster;
	struct plan kept[2]; /* at_kept: the last that was found to fit. A plan cannot be moved */
	struct settings kept_settings;
};

/* Opens the model and the cluster. On failure `f` is to be released as well. */
enum status grid_search_begin(struct grid_search *f);
/* Takes one step of the walk. False: it is over. */
bool grid_search_next(struct grid_search *f);
/* The type with 16 bits that a cluster computes in: bf16, or else fp16; fp32: neither. */
enum type grid_search_halves(const struct cluster *c);
void grid_search_release(struct grid_search *f); /* accepts NULL and a zeroed struct */

/* Reports on settings: the time of a step (`timed`), its tightest memory and the rest. They may have another number of
 * ranks than the grid. STATUS_INPUT: they cannot be compiled, or the cluster has no rates for them. */
enum status grid_search_report(struct grid_search *f, const struct settings *s, bool timed, struct report *out);
/* STATUS_INPUT: settings with the grid's number of ranks cannot be compiled or timed. */
enum status grid_search_try(struct grid_search *f, const struct settings *s);
/* The time of a place's step; -1: it does not fit (unless fits_or_not), or cannot be compiled. exactly: it is simulated
 * as it is, however many micro-batches it has. tightest: NULL, or what its memory is. */
int64_t grid_search_time(struct grid_search *f, const struct variant_place *place, bool exactly,
                         struct report_tightest *tightest);
/* The memory of a place, judged by a step of as many micro-batches as are under way at once. */
enum status grid_search_memory(struct grid_search *f, const struct variant_place *place, struct report *out);

#endif
