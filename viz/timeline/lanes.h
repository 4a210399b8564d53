/* Lanes of a timeline: one a queue of a rank, or a thread of a process of another program's trace, whose processes have
 * a heading above their lanes and their counters below. Where calls nest, a lane has a row for each depth. Spans of a
 * row are in order of time, so that what is in sight is found by halving.
 */
#ifndef SHARDLAB_VIZ_LANES_H
#define SHARDLAB_VIZ_LANES_H

#include "strategy/trace/trace_file.h"
#include "viz/timeline/gpu_use.h"
#include "viz/timeline/timeline.h"

struct lane_span {
	int64_t begin, end; /* ns; a message's from when its rank has come to it */
	int64_t came;       /* up to then it waits for another rank */
	int64_t awaits;     /* that rank; -1: none, or one that is not shown */
	int op;             /* of the rank's role; or the index of a message's event; -1: another program's */
	int depth;          /* in a lane of another program: of how many others it is part */
	const char *name;   /* another program's; else NULL */
	size_t number;      /* another program's: of the file's spans */
	enum gpu_kind kind; /* another program's */
};

enum lane_kind {
	LANE_SPANS,
	LANE_PROCESS, /* the heading of a process: what its GPU does, if it is one */
	LANE_COUNTER, /* a curve */
};

/* Operations of a compute lane that follow each other and are drawn as one from afar: those of a unit in a pass, and
 * all units of a pass over a micro-batch. A backward pass has the forward passes that it repeats in it. */
struct lane_fold {
	int64_t begin, end; /* ns */
	int64_t busy;       /* of it, computing */
	size_t first, last; /* its spans are [first, last) */
	int part, part_end; /* of a pass, its units */
	enum pass pass;
	int micro, unit; /* -1: none; of a pass, unit is -1 */
	double opens;    /* units of the picture a ns from which most of its parts have room for their names */
};

/* One drawn piece of a lane: a fold, or one span. */
struct lane_piece {
	const struct lane_fold *fold; /* NULL: a span */
	size_t span;                  /* the first */
	int64_t begin, end;
};

struct lane {
	char name[96];    /* "compute" */
	char process[96]; /* "rank 0" */
	enum lane_kind kind;
	int process_number; /* another program's: of the file's processes */
	const struct foreign_counter *counter;
	int64_t rank;            /* -1: another program's */
	enum queue queue;        /* QUEUE_COUNT: the messages that it sends */
	struct lane_span *spans; /* by depth, then time */
	size_t span_count, capacity;
	int depth;   /* of the deepest span, and 1 */
	size_t *row; /* spans of depth d: [row[d], row[d + 1]) */
	/* Idle stretches of a compute lane: exposed is where communication moves data meanwhile, else it is a bubble.
	 */
	struct lane_gap {
		int64_t begin, end;
		bool exposed, waits;            /* waits: communication of this rank waits for another meanwhile */
		bool beside;                    /* a stack's constant time, before the first operation of any rank */
		int64_t awaits;                 /* the rank it waits for; -1: one that is not shown */
		int64_t before, exposed_before; /* ns of gaps before it, and of those that are exposed */
	} * gaps;
	size_t gap_count, gap_capacity;
	struct lane_fold *passes, *units; /* in order of time */
	int pass_count, unit_count;
	size_t pass_capacity, unit_capacity;
	/* Lanes of other ranks can be equal to this one, operation by operation and to the ns. */
	int twin;       /* the first of them, as an index into the lanes; itself: none before it */
	uint64_t ranks; /* of the first: all of them, by their index among those shown */
};

struct lanes {
	struct lane *lanes;
	int lane_count;
	size_t lane_capacity;
	int64_t end;                     /* of the last span, ns */
	const struct timeline *timeline; /* NULL: another program's */
	/* another program's */
	const struct trace_file *file; /* the lanes' names and counters are its own */
	struct gpu_use gpus;
	struct span_place {
		int lane;
		size_t span; /* of the lane */
	} * places;          /* of each span of the file */
	/* The same with one rank for all that are equal; NULL: none are. Spans, gaps and folds are those above. */
	struct lanes *folded;
	bool is_folded; /* it is that */
};

void lanes_of_timeline(struct lanes *l, const struct timeline *s);
void lanes_of_file(struct lanes *l, const struct trace_file *f); /* another program's trace, which must outlive it */
void lanes_find_twins(struct lanes *l);                          /* twins.c */
void lanes_release(struct lanes *l);

/* True for the lane of a rank, or the first of those that are equal to it. */
bool lane_has_rank(const struct lanes *l, const struct lane *lane, int64_t rank);

/* ---- folds (folds.c) ---- */

void lane_find_folds(const struct timeline *s, struct lane *lane);
/* Steps through the drawn pieces of a lane from a time on, where a ns is so many units of the picture wide: parts
 * instead of a fold where they are not narrower than their names. `at` is where to look: begin with lane_piece_first().
 * False: none is left. */
struct lane_place {
	int pass, unit;
	size_t span, span_end;
};
struct lane_place lane_piece_first(const struct lane *lane, int64_t from);
bool lane_piece_next(const struct lane *lane, double scale, struct lane_place *at, struct lane_piece *out);
/* The piece under a time; false: none. */
bool lane_piece_at(const struct lane *lane, double scale, int64_t time, struct lane_piece *out);
/* Its name from long (0) to short: "block.5 forward", "block.5", "5"; "F2", "2". "" where there is no shorter one. */
enum { FOLD_WORD = 96 };
const char *fold_word(char *out, const struct timeline *s, const struct lane_fold *f, int shorter);
/* "forward of micro-batch 2: 24 operations, 3.1 ms, from 1.2 s" */
void fold_explain(const struct timeline *s, const struct lane_fold *f, char *out, size_t size);

/* The first span of a row that ends after a time, or the end of the row: those in sight follow it. */
size_t lane_find(const struct lane *l, int depth, int64_t time);
/* The first gap that ends after a time, or their number. */
size_t lane_find_gap(const struct lane *l, int64_t time);
/* The span under a time and depth; -1: none. */
int64_t lane_span_at(const struct lane *l, int64_t time, int depth);
/* The span of any depth that begins next, or began last, from a time and depth on, which are not part of it; -1: none.
 */
int64_t lane_next_span(const struct lane *l, int64_t begin, int depth);
int64_t lane_previous_span(const struct lane *l, int64_t begin, int depth);

/* For the files that make lanes. */
struct lane *lanes_add(struct lanes *l);
struct lane_span *lanes_add_span(struct lanes *l, struct lane *lane, int64_t begin, int64_t end);
void lane_make_rows(struct lane *lane);

#endif
