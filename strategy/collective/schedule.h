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
 * Offsets and counts are in elements of the collective's whole buffer of `elements`, which is a multiple of `ranks`
 * (the caller pads); slice k is [k·elements/ranks, (k+1)·elements/ranks).
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

/* name in text and options, constant, what it is
 *
 * In place on the whole buffer, all of them: reduce-scatter leaves the sum of slice r on rank r (the rest is spoiled);
 * all-gather reads slice r of rank r; scatter: rank r gets slice r of the root; gather: the root gets slice r of rank
 * r; broadcast and reduce move the whole buffer from and to the root (reduce spoils the buffers of the others on tree
 * and chain). */
#define SCHEDULE_LIST(X)                                                                                               \
	X("ring", RING_ALL_REDUCE, "reduce-scatter, then all-gather, each n-1 rounds round the ring")                  \
	X("ring", RING_REDUCE_SCATTER, "n-1 rounds; every rank passes on the partial sum of one slice")                \
	X("ring", RING_ALL_GATHER, "n-1 rounds; every rank passes on the slice that it got last")                      \
	X("halving-doubling", HALVING_DOUBLING_ALL_REDUCE, "recursive halving, then doubling (Rabenseifner); any n")   \
	X("tree", TREE_BROADCAST, "binomial tree from the root")                                                       \
	X("tree", TREE_REDUCE, "binomial tree to the root")                                                            \
	X("star", STAR_BROADCAST, "the root sends to each of the others in turn")                                      \
	X("star", STAR_REDUCE, "the root receives from each of the others in turn")                                    \
	X("chain", CHAIN_BROADCAST, "a pipelined chain: root, root+1, …; the buffer in pieces (as NCCL's ring)")       \
	X("chain", CHAIN_REDUCE, "a pipelined chain towards the root")                                                 \
	X("star", STAR_SCATTER, "the root sends slice r to rank r, in turn")                                           \
	X("star", STAR_GATHER, "the root receives slice r of rank r, in turn")

enum schedule_algorithm {
#define X(name, constant, what) SCHEDULE_##constant,
	SCHEDULE_LIST(X)
#undef X
	        SCHEDULE_COUNT
};

struct schedule {
	enum schedule_algorithm algorithm;
	int64_t ranks;
	int64_t root;     /* where one is needed */
	int64_t elements; /* of the whole buffer, a multiple of ranks */
	int64_t pieces;   /* of the chain algorithms: into how many the buffer is cut (0: one per rank) */
};

struct round {
	int64_t send_to, receive_from; /* -1: none in this round */
	int64_t send_offset, send_count;
	int64_t receive_offset, receive_count;
	bool add; /* what is received is added to what is there; else it replaces it */
};

int64_t schedule_rounds(const struct schedule *s); /* 0 for one rank */
struct round schedule_round(const struct schedule *s, int64_t rank, int64_t round);

/* Elements that `rank` sends and receives in the whole collective: by closed form, O(1) or O(log n), equal to the sum
 * over its rounds (a test holds them to it). */
int64_t schedule_sent(const struct schedule *s, int64_t rank);
int64_t schedule_received(const struct schedule *s, int64_t rank);

const char *schedule_name(enum schedule_algorithm a); /* "ring" */
const char *schedule_description(enum schedule_algorithm a);

#ifdef __cplusplus
}
#endif
#endif
