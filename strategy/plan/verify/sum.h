/* The contributions that a sum holds: to a gradient (by micro-batch and use of the tensor), to the loss (by
 * micro-batch), to the norm (by group). A sum is a number; equal sums have equal numbers; 0 is the empty sum.
 *
 *     runs of one sum:   [0, 3) every use, all ranks   [3, 4) uses 0 and 2, this rank's own samples
 *
 * A valid plan fills micro-batches in order, so a sum has two or three runs however many micro-batches there are.
 */
#ifndef SHARDLAB_VERIFY_SUM_H
#define SHARDLAB_VERIFY_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/plan/plan.h"

#define USES_EVERY UINT64_MAX
enum { MOST_USES = 63 };

struct run {
	int begin, end; /* micro-batches (or groups) */
	uint64_t uses;  /* bit by use; USES_EVERY: complete */
	unsigned axes;  /* added up over the ranks along these; along the others it is this rank's own */
};

struct sums {
	struct run *runs;
	size_t run_count, run_capacity;
	struct sum {
		size_t first;
		int count;
		uint64_t hash;
	} * list;
	size_t count, capacity;
	const struct plan *plan; /* for descriptions */
	int *table;              /* by hash; -1 */
	size_t table_size;
};

void sums_init(struct sums *s, const struct plan *p);
void sums_release(struct sums *s);

enum { SUM_TWICE = -1, SUM_PARTIAL = -2, SUM_MIXED = -3 };

/* + use `use` of `uses` of micro-batch `at`. SUM_TWICE if it is there already. */
int sum_add(struct sums *s, int sum, int at, int use, int uses, unsigned axes);
/* a + b; SUM_TWICE if they share a contribution, SUM_PARTIAL if they would have to be mixed within one micro-batch. */
int sum_merge(struct sums *s, int a, int b);

/* The part that a role brings to a sum over ranks. */
struct addend {
	int sum;
	int64_t members; /* ranks of the group that are of the role */
	int64_t copies;  /* how many of those have the same samples */
};
/* Added up over a group of ranks. `axes`: those of the group along which what the ranks hold is their own; where the
 * group has none, roles may hold different uses of one micro-batch, and `every` is all of them. SUM_TWICE: some
 * contribution would be counted more than once; SUM_PARTIAL: a micro-batch still lacks uses; SUM_MIXED: some ranks have
 * it and some have not. */
int sum_over_group(struct sums *s, const struct addend *addends, int count, unsigned axes, uint64_t every);

/* Holds every use of 0 … n-1, added up over all of the axes. */
bool sum_is_complete(const struct sums *s, int sum, int n, unsigned axes);

/* "micro-batches 0 to 2 of all ranks; 3, in part, of this rank alone" */
void sum_describe(const struct sums *s, int sum, char *out, size_t size);

#endif
