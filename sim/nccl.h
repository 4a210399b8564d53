/* NCCL's time for a collective by its own cost model: the best of its algorithms and protocols for the size.
 *
 *     time = launch + hops inside · latency inside + hops between · latency between + bytes / bandwidth
 *
 *     ring   all-reduce 2(n-1) hops, of which 2 · (nodes - 1) leave one and the rest stay inside;
 *            reduce-scatter and all-gather half of that. Each hop moves S/n.
 *     tree   all-reduce alone: 2 · (ranks of a node - 1) hops inside and 2 · log2(nodes) between. It moves 2 S.
 *
 * Hops of a ring overlap in pieces, so that a collective over nodes pays the network's latency for each node and not
 * for each rank, and the bandwidth of the slowest link once. Three protocols trade latency for bandwidth: Simple;
 * LL128, which needs NVLink inside a node; LL, of which half are flags, and which is bounded by card and number of
 * nodes.
 *
 * NCCL_LIST has NCCL's figures, in ns and in millionths of the bandwidth that Simple reaches: NVIDIA/nccl 2.30.7
 * (5067397c), src/graph/tuning.cc: base and hardware latencies, lines 148 to 176; bandwidths 327 to 333; LL's bounds
 * 138 to 211; hops 411 to 417; on several nodes a large ring all-reduce of Simple pays its latency 1.4 times, before
 * ampere 1.9 times (647). A cluster's own launch and latencies are those of the ring with Simple, and the other rows
 * are in proportion. Its bandwidths, after the stack's share, are Simple's.
 *
 * Not modelled: CollNet and NVLS, which sum in the switch; PAT, of nodes with one GPU; bounds by channel, which bind
 * where fewer are open than the links need (a channel carries 20 GB/s of LL128 on ampere).
 */
#ifndef SHARDLAB_SIM_NCCL_H
#define SHARDLAB_SIM_NCCL_H

#include "sim/fixed.h"
#include "strategy/cluster/cluster.h"
#include "strategy/collective/schedule.h"

/* algorithm, protocol, launch; latency over NVLink, PCIe, the network; bandwidth in one node, over several; bounded by
 * the card's LL; needs NVLink */
#define NCCL_LIST(X)                                                                                                   \
	X(RING, "ring, Simple", 8400, 3400, 5700, 14000, 1000000, 1000000, false, false)                               \
	X(RING, "ring, LL128", 14000, 1900, 2500, 4000, 920000, 920000, false, true)                                   \
	X(RING, "ring, LL", 6600, 600, 1000, 2700, 500000, 500000, true, false)                                        \
	X(TREE, "tree, Simple", 8400, 4000, 4000, 14000, 920000, 920000, false, false)                                 \
	X(TREE, "tree, LL128", 14000, 1250, 1900, 8500, 777778, 937500, false, true)                                   \
	X(TREE, "tree, LL", 6800, 600, 1000, 5000, 263158, 263158, true, false)

/* generation, MB/s of LL on one node, on two, on more. Others have ampere's. */
#define NCCL_CARDS(X)                                                                                                  \
	X("ampere", 87700, 22500, 19000)                                                                               \
	X("volta", 39000, 39000, 20400)                                                                                \
	X("turing", 39000, 39000, 20400)                                                                               \
	X("hopper", 141000, 45000, 35000)                                                                              \
	X("blackwell", 282000, 90000, 70000)

struct nccl_call {
	enum operation operation;
	int64_t ranks, nodes; /* of a group */
	int64_t bytes;        /* of the whole buffer, S */
	fixed rate;           /* bytes a nanosecond of the slowest link of the ring */
};

/* call: of an operation without a root. name: NULL, or gets which of the rows it is. */
int64_t nccl_time(const struct cluster *c, const struct nccl_call *call, const char **name);

#endif
