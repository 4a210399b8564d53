/* Classes of ranks that a simulation need not tell apart.
 *
 * At the grain of messages every rank is a class of its own, or every rank of the first node (sim/symmetry.h). At the
 * grain of operations, ranks of the same role and the same speed on the same kind of node are one class. So 16,384
 * ranks of ZeRO-3 on equal nodes are one class, and nothing here is a list of ranks.
 *
 *     16,384 ranks, 8 a node, rank 9 slow       classes                         nodes
 *       node 0          0 …  7                  A: ranks 0 … 7, …               first kind: all but node 1 (2047 times)
 *       node 1          8 9 10 … 15             B: rank 9    C: the other 7     second kind: node 1
 *       node 2 …       16 …                     A
 *
 * A plain node is full, and all its ranks are of one role and of full speed. A node where two roles meet, with a slow
 * rank or with room left is special, and a kind of its own. Of processors a node here is a machine: hosts that share
 * one (cluster_machine_nodes()) are told apart at the grain of messages alone, where each has its own network.
 */
#ifndef SHARDLAB_SIM_RANK_CLASS_H
#define SHARDLAB_SIM_RANK_CLASS_H

#include "strategy/cluster/cluster.h"
#include "strategy/plan/plan.h"

struct rank_class {
	int role;
	int64_t rank;   /* its lowest, which stands for all */
	int64_t copies; /* ranks of the class on one node */
	int64_t nodes;  /* nodes of this kind */
	int node;       /* kind of node */
	int64_t factor; /* millionths: how much longer it computes */
};

struct rank_classes {
	struct rank_class *classes; /* by rank, ascending */
	int count;
	size_t capacity;
	int64_t *node_ranks; /* by kind of node: ranks on one */
	int node_count;
	size_t node_capacity;
	int64_t ranks, per_node;
	int64_t together; /* nodes that follow each other and share a machine */
};

/* Makes as few classes as the cluster allows, or gives each of the first `count` ranks one of its own. */
void rank_classes_make(struct rank_classes *p, const struct plan *plan, const struct cluster *c);
void rank_classes_each(struct rank_classes *p, const struct plan *plan, const struct cluster *c, int64_t count);
void rank_classes_release(struct rank_classes *p);

/* The class that a rank belongs to. */
int rank_class_of(const struct rank_classes *p, const struct plan *plan, const struct cluster *c, int64_t rank);

#endif
