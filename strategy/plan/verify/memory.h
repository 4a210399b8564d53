/* The memory of rules 5, 6 and 7: what buffers stand for, without numbers.
 *
 * A buffer is a row of blocks; a block stands for one thing (a *meaning*), or for one thing on the rank's own slice of
 * a frame and for another on the slices of the others:
 *
 *     parameters   │ weights of bucket.0, version 1 │ bucket.1: own slice version 1, the others' version 0 │
 *     after        all_gather bucket.0                 adamw bucket.1 (ZeRO-1)
 *
 * Meanings are numbers, equal if and only if what they stand for is equal. A meaning knows where it stands: element p
 * of the buffer is element p - origin of the group, of the value, or of what it is. A *shard* is this rank's slice of a
 * group and nothing else: element p is p - origin of the slice.
 */
#ifndef SHARDLAB_VERIFY_MEMORY_H
#define SHARDLAB_VERIFY_MEMORY_H

#include "strategy/plan/verify/sum.h"
#include "strategy/plan/verify/verify.h"

enum meaning_kind {
	MEANING_UNDEFINED, /* never written since its alloc: 0 */
	MEANING_ZERO,
	MEANING_SPOILED, /* partial sums that a collective or kernel left behind */
	MEANING_STALE,   /* of an earlier step, and not state that is carried on */
	MEANING_COUNTER, /* version: how often it was advanced */
	MEANING_WEIGHTS, /* index: group; version */
	MEANING_FIRST_MOMENT,
	MEANING_SECOND_MOMENT,
	MEANING_RUNNING,  /* the model's buffers; version: micro-batches taken in; all_ranks: the same on all ranks */
	MEANING_SCALER,   /* the loss scale; version: how often it was updated */
	MEANING_GRADIENT, /* index: group; version: of which step; sum: by micro-batch and use of the tensor */
	MEANING_VALUE,    /* index: value of the model; micro; all_ranks: of the samples of all ranks */
	MEANING_VALUE_GRADIENT, /* of such a value; consumers: the kernels that contributed */
	MEANING_STATISTICS,     /* index: batch norm; micro; all_ranks: one part a rank, else this rank's own */
	MEANING_SUMS,           /* the batch norm's sums for the backward pass; all_ranks: over all ranks */
	MEANING_INNER_GRADIENT, /* of what the batch norm's GELU was applied to */
	MEANING_LOSS,           /* sum: by micro-batch */
	MEANING_NORM,           /* sum: by group */
	MEANING_OVERFLOW,       /* whether gradients are finite; sum: by group */
	MEANING_KINDS
};

/* True if it is one thing of many elements, each with its place (`origin`). */
static inline bool meaning_has_places(enum meaning_kind k)
{
	return k >= MEANING_WEIGHTS && k <= MEANING_INNER_GRADIENT;
}

/* True if it is state that every step brings to its next version. */
static inline bool meaning_is_versioned(enum meaning_kind k)
{
	return k >= MEANING_COUNTER && k <= MEANING_SCALER;
}

/* Values and their gradients, if the model is sliced over a tensor group. A rank's part of a sliced value is whole: it
 * is all of its slice. */
enum meaning_form {
	FORM_WHOLE,
	FORM_PARTIAL,    /* a part of a sum (or of a maximum) over the group */
	FORM_UNFINISHED, /* the sum, before bias, residual or GELU */
	FORM_GATHERED,   /* of a value that is spread: all ranks' rows */
};

struct meaning {
	enum meaning_kind kind;
	enum meaning_form form;
	int index, micro, version, sum;
	int scaled;     /* gradients and the norm: the step whose loss scale they are multiplied by; 0: none */
	unsigned shard; /* this rank's shard along these axes; 0: all of it */
	bool all_ranks;
	int64_t origin;
	uint64_t consumers;
};

struct block {
	int64_t begin;              /* up to the next block, or the end of the buffer */
	int own, rest;              /* meanings; the same unless there is a frame */
	int64_t frame, frame_count; /* own: this rank's slice of [frame, frame + frame_count) */
	unsigned axes;              /* along these */
};

/* Keeps where it begins. begin, end, axes: the frame, if there is one. */
void block_set(struct block *b, int own, int rest, int64_t begin, int64_t end, unsigned axes);

/* The struct is as large as a cache line: a long pipeline's step has more of them alive than caches hold. */
struct cells {
	struct block *blocks;
	int count, capacity; /* count 0: they are unused */
	int64_t elements;
	union {
		struct block first; /* room for one, which most buffers are content with */
		struct cells *next; /* of those that are unused */
	};
};

struct memory {
	const struct verify *v;
	struct sums sums;
	struct meaning *meanings;
	size_t count, capacity;
	size_t lasting;  /* meanings below keep their numbers: a snapshot may name them */
	size_t sweep_at; /* so many meanings, and those that nothing stands for any more are forgotten */
	struct slot {
		int number;    /* of a meaning; -1: free */
		unsigned hash; /* a part of it: most meanings that differ are told apart without a look at them */
	} * table;
	size_t table_size;
	struct cells **cells[ROLES]; /* by buffer; NULL: it is not alive */
	struct slab *slabs;          /* which hold all cells */
	struct cells *unused;
};

void memory_init(struct memory *m, const struct verify *v);
void memory_release(struct memory *m);

bool meanings_equal(const struct meaning *a, const struct meaning *b);
int meaning_number(struct memory *m, const struct meaning *what);
static inline const struct meaning *meaning_of(const struct memory *m, int number)
{
	return &m->meanings[number];
}
void meaning_describe(const struct memory *m, int number, char *out, size_t size);

/* Writing. `region` is resolved: with slice, the own slice alone is written (false: its frame is not that of what
 * stands there, so the result could not be told). */
void memory_clear(struct memory *m, int role, int buffer);  /* alloc */
void memory_forget(struct memory *m, int role, int buffer); /* free */
bool memory_set(struct memory *m, int role, const struct region *g, int meaning);
void memory_set_but_zeros(struct memory *m, int role, const struct region *g, int meaning); /* zeros stay zeros */
void memory_spoil(struct memory *m, int role, const struct region *g); /* any region; zeros stay zeros */

/* The one meaning of all of a region that is no slice; -1 if there are several. */
int memory_get(const struct memory *m, int role, const struct region *g);
/* For messages: of the first element that is not `good` (-1: the first at all). */
void memory_describe(const struct memory *m, int role, const struct region *g, int good, char *out, size_t size);

/* Between two operations: forgets meanings that no buffer holds and that no snapshot names, once they are many. Numbers
 * of the others change. */
void memory_sweep(struct memory *m);

/* Walks the meanings of a region: of a slice, those on the own slice. */
struct memory_walk {
	const struct cells *cells;
	const struct region *region;
	int block;
	int64_t begin, end; /* elements of the buffer that `meaning` covers */
	int meaning;        /* -1: split, and the region asks for all of it */
};
void memory_walk_begin(struct memory_walk *w, const struct memory *m, int role, const struct region *g);
bool memory_walk_next(struct memory_walk *w);

/* state.c */
/* Steps that pass between a gradient and the update that applies it: 0, or 1 where the plan declares it. */
static inline int verify_lag(const struct verify *v)
{
	return v->p->settings.offload.delayed ? 1 : 0;
}
/* Between steps: what is not carried on becomes stale. Gradients are carried on where the update is delayed. */
void memory_age(struct memory *m);
/* State as it was: of all state buffers. */
struct snapshot {
	struct cells **cells[ROLES]; /* by buffer; NULL: it is no state */
};
void snapshot_take(struct snapshot *s, struct memory *m);
void snapshot_release(struct snapshot *s, const struct memory *m);
/* True if state is the same now, except that versions are `later` higher. If not, tells where. */
bool snapshot_same(const struct snapshot *s, struct memory *m, int later, int *role, int *buffer);

#endif
