/* The simulator: an executor that owns a clock instead of hardware. It walks the plan's step section as the real
 * executors do, with the same queues and waits, and says when everything happens; any number of devices, no hardware.
 *
 *     struct cluster c;
 *     struct report r = {0};
 *     struct trace t = {0};
 *     enum status s = cluster_open(&c, "a100-80gb", plan.ranks);
 *     if (!s)
 *         s = sim_run(&plan, &c, GRAIN_OPERATION, &t, &r);      // r.time.step nanoseconds, r.fits, …
 *     trace_release(&t);
 *     report_release(&r);
 *     cluster_release(&c);
 *
 * How time passes
 *
 *   A kernel takes max(FLOPs / rate, bytes / bandwidth) + launch, with the cluster's rate for its kind, type and size.
 *   A collective takes what its algorithm takes over the cluster's links (sim/cost.h has the formulas).
 *   Queues run side by side, as far as waits let them, and share what they run on (sim/fluid.h):
 *
 *     cpu   all ranks of a node share its cores and its memory bandwidth. A kernel wants `threads` cores, a running
 *           collective `collective_cores` of one for each rank. 4 ranks on 2 cores run at half speed.
 *     gpu   a collective holds `collective_share` of its device from the moment it is issued (as NCCL's kernels do,
 *           also while they wait for other ranks); kernels beside it run on the rest.
 *           Copies to and from the host take the host link, one in each direction; they and the host queue share the
 *           node's memory bandwidth and cores. Copies to and from the disk share the node's disk.
 *
 *   So overlap is a result: communication hides behind compute if the plan lets it, and slows it down meanwhile.
 *
 * Two grains
 *
 *   operation   a collective is one thing. It begins when the last rank has come to it, takes what the formula says,
 * and ends for all at once. Ranks that cannot be told apart are walked once (sim/rank_class.h): 16,384 ranks cost no
 * more than 8. message     every rank is walked, and every round of a collective's schedule is messages over links: a
 * device's link inside the node, the node's rails between nodes. Links are shared fairly. A message goes when the
 * sender has come to its round and the receiver to the same; a rank goes to its next round when it has sent and
 *               received. Without contention both grains agree within 1 %.
 *
 * The same plan and cluster give the same bytes, on every machine: whole nanoseconds, fixed-point rates, ties in order
 * of insertion.
 */
#ifndef SHARDLAB_SIM_H
#define SHARDLAB_SIM_H

#include "strategy/cluster/cluster.h"
#include "strategy/plan/plan.h"
#include "strategy/trace/report.h"
#include "strategy/trace/trace.h"

enum grain { GRAIN_OPERATION, GRAIN_MESSAGE };

const char *grain_name(enum grain g);
enum status grain_parse(const char *text, enum grain *out); /* of --grain */

/* Up to so many ranks, a trace at the grain of operations shows all of them; above, one of each kind. */
#define SIM_TRACE_RANKS 64

/* One step of a verified plan. plan->ranks are at most those that the cluster was opened for.
 *
 * trace: NULL, or a zeroed trace, which is opened and filled (to be released by the caller).
 * out: filled: all of report_from_plan(), and times (of the rank that ends last; among equals of the one that computes
 * most), overhead, fits, cluster and rates_measured (every rate that had a part in the times was measured).
 *
 * STATUS_INPUT: the cluster has no rate for something in the plan, the clock passes 73 years, or more than 2^28
 * messages at the grain of messages. STATUS_REFUSED: the plan stands still; the verifier finds that first. */
enum status sim_run(const struct plan *plan, const struct cluster *c, enum grain grain, struct trace *trace,
                    struct report *out);

#endif
