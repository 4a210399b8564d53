/* The cost of an operation on a cluster on which nothing else runs, before anything is shared.
 *
 * A kernel takes max(FLOPs / rate, bytes / bandwidth) + launch (the roofline: Williams et al., CACM 52(4), 2009). Where
 * the rate of the operation itself was measured, its memory traffic was measured with it: FLOPs / rate + launch. On a
 * CPU large weights of a product come beside that, at weight_bandwidth: no cache has them any more. And
 * so do, in vector operations, large tensors that begin inside a cache line, at straddle_bandwidth.
 *
 * A collective, by its algorithm, for n ranks and S bytes; hop(x) = latency + x / bandwidth of the slower of the links
 * that a round uses, inside a node or between nodes:
 *
 *     ring all-reduce                   2(n-1) · hop(S/n)       reduce-scatter, all-gather  (n-1) · hop(S/n)
 *     halving-doubling                  sum over its rounds of hop(what the round moves)
 *     tree broadcast, reduce            sum over ⌈log2 n⌉ rounds of hop(S)
 *     chain broadcast, reduce           the first of P pieces passes all hops, the others follow at the slowest:
 *                                       sum over n-1 hops of hop(S/P) + (P-1) · hop(S/P)
 *     star broadcast, reduce            sum over the n-1 others of hop(S)
 *     star scatter, gather              sum over the n-1 others of hop(S/n)
 *     sum (control values)              a tree to rank 0 and back: sum over 2·⌈log2 n⌉ rounds
 *     send, receive                     hop(S), from when both ends have arrived
 *
 * plus collective_launch. Where a stack runs on GPUs, rings and sums are NCCL's (sim/nccl.h) in place of these. Over
 * some of the axes only, n is the number of ranks in a group, and all groups are under way at once: as many messages of
 * a round leave a node as its ranks send to other nodes. Between nodes, messages are striped over the rails as NCCL's
 * channels are: a node sends and receives rails × bandwidth, which its messages of that round share. A device's own
 * link bounds each message.
 */
#ifndef SHARDLAB_SIM_COST_H
#define SHARDLAB_SIM_COST_H

#include "sim/fixed.h"
#include "strategy/cluster/cluster.h"
#include "strategy/plan/plan.h"

struct cost {
	int64_t ns;    /* alone, at full speed */
	int64_t bytes; /* through the memory that ranks share */
	bool measured; /* all rates that it rests on were measured */
};

/* The cost of an operation of class K or V, copies included. STATUS_INPUT: the cluster has no rate for its type, or no
 * link for it. */
enum status cost_kernel(const struct cluster *c, const struct plan *p, const struct role *r, const struct op *op,
                        struct cost *out);

/* The rounds of an algorithm that leave a node. They are found once, by walking over all ranks, and kept by the cache,
 * which owns them. */
struct cost_profile {
	enum schedule_algorithm algorithm;
	int64_t root;
	unsigned axes;
	bool ends;
	int64_t rounds;
	struct cost_round {
		int64_t crossing; /* messages that leave or reach the busiest node */
		bool inside;      /* some stay inside one */
	} * round;
};
struct cost_cache {
	struct cost_profile *profiles;
	size_t count, capacity;
	struct cost_circle {
		unsigned axes;
		bool ends, inside; /* some hops of a ring stay inside a node */
		int64_t crossing;  /* those that leave or reach the busiest */
		int64_t nodes;     /* nodes that a ring passes through */
	} * circles;
	size_t circle_count, circle_capacity;
};
void cost_cache_release(struct cost_cache *cache);

/* The cost of a collective. bytes: of all messages together. The cache is for one plan on one cluster. */
enum status cost_collective(struct cost_cache *cache, const struct cluster *c, const struct plan *p,
                            const struct role *r, const struct op *op, struct cost *out);

/* The cost of a message, whose two ends are ranks of `r` and their neighbours. */
enum status cost_message(const struct cluster *c, const struct plan *p, const struct role *r, const struct op *op,
                         struct cost *out);

/* One message between two ranks: its latency, and the rates at which its bytes go when nothing is shared. */
bool cost_crosses(const struct cluster *c, int64_t from, int64_t to); /* it leaves the node */
int64_t cost_latency(const struct cluster *c, bool crosses);
fixed cost_link_rate(const struct cluster *c);        /* of a device, each way: bytes a nanosecond */
fixed cost_network_rate(const struct cluster *c);     /* of a node, all rails, each way */
fixed cost_network_sum_rate(const struct cluster *c); /* of a node, where data is added up as it arrives */

#endif
