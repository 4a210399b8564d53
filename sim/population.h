/* Who takes part in a simulation.
 *
 * At the grain of messages, every rank is an *actor*. At the grain of operations, ranks that cannot be told apart are
 * one actor: same role, same speed, same kind of node. So 16,384 ranks of ZeRO-3 on equal nodes are one actor, and
 * nothing here is a list of ranks.
 *
 *     16,384 ranks, 8 a node, rank 9 slow       actors                          nodes
 *       node 0          0 …  7                  A: ranks 0 … 7, …               first kind: all but node 1 (2047 times)
 *       node 1          8 9 10 … 15             B: rank 9    C: the other 7     second kind: node 1
 *       node 2 …       16 …                     A
 *
 * A kind of node is: a plain one (full, all of one role, nobody slow), or one that is special: where roles meet, with a
 * slow rank, or not full.
 */
#ifndef SHARDLAB_SIM_POPULATION_H
#define SHARDLAB_SIM_POPULATION_H

#include "strategy/cluster/cluster.h"
#include "strategy/plan/plan.h"

struct population_actor {
	int role;
	int64_t rank;   /* the one that stands for them: the lowest */
	int64_t copies; /* how many there are on one node */
	int64_t nodes;  /* how many nodes of this kind there are */
	int node;       /* kind of node */
	int64_t factor; /* millionths: how much longer it computes */
};

struct population {
	struct population_actor *actors;
	int actor_count;
	size_t actor_capacity;
	int64_t *node_ranks; /* by kind of node: ranks on one */
	int node_count;
	size_t node_capacity;
	int64_t ranks, per_node;
};

void population_classes(struct population *p, const struct plan *plan, const struct cluster *c);
void population_ranks(struct population *p, const struct plan *plan, const struct cluster *c);
void population_release(struct population *p);

/* The actor that stands for a rank. */
int population_actor_of(const struct population *p, const struct plan *plan, const struct cluster *c, int64_t rank);

#endif
