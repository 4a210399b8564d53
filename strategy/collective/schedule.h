/* Collectives as schedules: a list of rounds; in a round, a rank sends at most one chunk and receives at most one,
 * which it adds to what it has or copies.
 *
 * One schedule serves three readers: the simulator costs it message by message, the CPU communicator carries it out
 * with MPI point-to-point calls, the window shows it moving. Nothing is stored: a round of a rank is computed from
 * (algorithm, ranks, rank, round), so 16,384 ranks cost nothing.
 *
 *     struct schedule s = {SCHEDULE_RING_ALL_REDUCE, 4, 0, elements, 0};
 *     for (int64_t round = 0; round < schedule_rounds(&s); round++) {
 *         struct round r = schedule_round(&s, rank, round);
 *         … send r.send_count elements from r.send_offset to r.send_to, receive r.receive_count from r.receive_from …
 *     }
 *
 * Offsets and counts are in elements of the collective's whole buffer of `elements`. Where it is cut into slices, that
 * is a multiple of `ranks` (the caller pads), and slice k is [k·elements/ranks, (k+1)·elements/ranks).
 */
#ifndef SHARDLAB_SCHEDULE_H
#define SHARDLAB_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that whoever carries out a schedule may use for what comes in and is yet to be added: the plan accounts for
 * it, the communicator gets it. Two pieces, one arriving while the other is added. */
#define SCHEDULE_STAGING_BYTES (1024 * 1024)

/* The result of a collective, whatever its algorithm. All of them work in place on the whole buffer: all-reduce and sum
 * leave the sum of everyone's buffer everywhere; reduce-scatter leaves the sum of slice r on rank r (the rest is
 * spoiled); all-gather reads slice r of rank r; broadcast and reduce move the whole buffer from and to the root (reduce
 * may spoil the buffers of the others); scatter: rank r gets slice r of the root; gather: the root gets slice r of rank
 * r. A sum is an all-reduce of a few control values, which travel together.
 * Constant, name, what a rank has of the buffer before and after it, whether contributions are added. */
#define OPERATION_LIST(X)                                                                                              \
	X(ALL_REDUCE, "all-reduce", WHOLE, WHOLE, true)                                                                \
	X(REDUCE_SCATTER, "reduce-scatter", WHOLE, SLICE, true)                                                        \
	X(ALL_GATHER, "all-gather", SLICE, WHOLE, false)                                                               \
	X(BROADCAST, "broadcast", AT_ROOT, WHOLE, false)                                                               \
	X(REDUCE, "reduce", WHOLE, AT_ROOT, true)                                                                      \
	X(SCATTER, "scatter", AT_ROOT, SLICE, false)                                                                   \
	X(GATHER, "gather", SLICE, AT_ROOT, false)                                                                     \
	X(SUM, "sum", WHOLE, WHOLE, true)

enum operation {
#define X(constant, ...) OPERATION_##constant,
	OPERATION_LIST(X)
#undef X
	        OPERATION_COUNT
};

/* The part of the buffer that a rank has. */
enum extent {
	EXTENT_WHOLE,   /* all of it */
	EXTENT_SLICE,   /* slice r */
	EXTENT_AT_ROOT, /* all of it at the root, nothing elsewhere */
};

struct operation_row {
	const char *name; /* "all-reduce" */
	enum extent before, after;
	bool adds;
};

/* OPERATION_COUNT: of a message, which is a broadcast between two. */
const struct operation_row *operation_row(enum operation o);
const char *operation_name(enum operation o);
bool operation_has_root(enum operation o);
bool operation_has_slices(enum operation o);
bool operation_sums_everywhere(enum operation o); /* everyone gets the whole sum */

/* The pattern of communication, from which a collective's drawing and its cost follow. */
enum schedule_shape {
	SHAPE_RING,  /* every rank sends to the next, all at once */
	SHAPE_CHAIN, /* a ring without the link that closes it, in pieces */
	SHAPE_TREE,  /* the binomial tree of tree.c */
	SHAPE_STAR,  /* the root with one of the others after another */
	SHAPE_PAIRS, /* any two; rank 0 takes part in every round and moves as much as any */
};

/* constant, row. To add an algorithm, write its file, which defines the row, and name it here. The first of an
 * operation is what a strategy takes that does not ask for another. */
#define SCHEDULE_LIST(X)                                                                                               \
	X(RING_ALL_REDUCE, ring_all_reduce)                                                                            \
	X(RING_REDUCE_SCATTER, ring_reduce_scatter)                                                                    \
	X(HALVING_REDUCE_SCATTER, halving_reduce_scatter)                                                              \
	X(RING_ALL_GATHER, ring_all_gather)                                                                            \
	X(HALVING_DOUBLING_ALL_REDUCE, halving_doubling_all_reduce)                                                    \
	X(TREE_BROADCAST, tree_broadcast)                                                                              \
	X(TREE_REDUCE, tree_reduce)                                                                                    \
	X(TREE_SUM, tree_sum)                                                                                          \
	X(STAR_BROADCAST, star_broadcast)                                                                              \
	X(STAR_REDUCE, star_reduce)                                                                                    \
	X(CHAIN_BROADCAST, chain_broadcast)                                                                            \
	X(CHAIN_REDUCE, chain_reduce)                                                                                  \
	X(STAR_SCATTER, star_scatter)                                                                                  \
	X(STAR_GATHER, star_gather)

enum schedule_algorithm {
#define X(constant, row) SCHEDULE_##constant,
	SCHEDULE_LIST(X)
#undef X
	        SCHEDULE_COUNT
};

struct schedule {
	enum schedule_algorithm algorithm;
	int64_t ranks;
	int64_t root;     /* where one is needed */
	int64_t elements; /* of the whole buffer; a multiple of ranks where it is cut into slices */
	int64_t pieces;   /* of the chain algorithms: into how many the buffer is cut (0: one per rank) */
};

struct round {
	int64_t send_to, receive_from; /* -1: none in this round */
	int64_t send_offset, send_count;
	int64_t receive_offset, receive_count;
	bool add; /* received data is added to what is there; else it replaces it */
};

/* times · elements: kept apart, since the product may not fit in 64 bits. */
struct amount {
	int64_t times, elements;
};

/* An algorithm. Its functions are called with two or more ranks, and with a rank and a round that exist. */
struct algorithm {
	const char *name; /* in plan text and in the strategies' settings: "ring" */
	const char *description;
	enum operation operation;
	enum schedule_shape shape;
	bool slices;    /* it cuts the buffer into a slice a rank */
	bool symmetric; /* all ranks send and receive the same */
	bool rotates;   /* in every round, rank r + 1 sends as much as rank r, one rank further */
	int64_t (*rounds)(const struct schedule *s);
	/* A message of no elements is turned into none, at both ends alike, by schedule_round(). */
	void (*round)(const struct schedule *s, int64_t rank, int64_t round, struct round *r);
	int64_t (*sent)(const struct schedule *s, int64_t rank);
	int64_t (*received)(const struct schedule *s, int64_t rank);
	/* The amount that each rank sends in a symmetric algorithm, else the amount that all send together. The text is
	 * a sum of products of n ranks, S, and p, the largest power of two up to n. */
	struct amount (*amount)(const struct schedule *s);
	const char *formula;
	/* The time inside one node, in hop(x), a message of x bytes: latency + x / bandwidth. NULL: not told. The other
	 * is for ranks that are no power of two; NULL: the same. */
	const char *time, *time_uneven;
	/* The rounds of each half of an all-reduce that is a reduce-scatter, then an all-gather as long. NULL: it is
	 * not. */
	int64_t (*half)(const struct schedule *s);
	/* Pairs of ranks exchange halves of what they still work on. NULL: they do not. */
	bool (*halves)(const struct schedule *s);
	/* Only so many ranks, counted from the root on, can send in this round; NULL: any can. */
	int64_t (*senders)(const struct schedule *s, int64_t round);
};

const struct algorithm *schedule_row(enum schedule_algorithm a);
/* Counts the SCHEDULE_COUNT algorithms of the tree and the user's own, which tools/own.sh adds behind them. */
int schedule_count(void);
bool schedule_is_own(enum schedule_algorithm a);

/* The algorithm of that name for an operation; false if there is none. */
bool schedule_find(enum operation o, const char *name, enum schedule_algorithm *out);
enum schedule_algorithm schedule_first(enum operation o);

int64_t schedule_rounds(const struct schedule *s); /* 0 for one rank */
struct round schedule_round(const struct schedule *s, int64_t rank, int64_t round);

/* Elements that `rank` sends and receives in the whole collective: by closed form, O(1) or O(log n), equal to the sum
 * over its rounds (a test holds them to it). */
int64_t schedule_sent(const struct schedule *s, int64_t rank);
int64_t schedule_received(const struct schedule *s, int64_t rank);
/* Whether a rank has that element, where a rank has so much of the buffer. */
bool schedule_holds(const struct schedule *s, enum extent e, int64_t rank, int64_t element);
/* The algorithm's amount (struct algorithm); nothing for one rank. */
struct amount schedule_amount(const struct schedule *s);

#ifdef __cplusplus
}
#endif
#endif
