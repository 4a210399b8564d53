/* The simulator: an executor that owns a clock instead of hardware. It walks through the plan's step as the real
 * executors do, with the same queues and waits, and says when everything happens. It simulates any number of devices.
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
 * - A kernel takes max(FLOPs / rate, bytes / bandwidth) + launch, with the cluster's rate for its kind, type and size.
 * - A collective takes what its algorithm takes over the cluster's links (sim/cost.h has the formulas).
 * - Queues run side by side as far as waits let them, and share the resources that they run on (sim/fluid.h):
 *
 *     cpu   All ranks of a node share its cores and its memory bandwidth. A kernel wants `threads` cores, and a running
 *           collective `collective_cores` for each rank. Four ranks on two cores run at half speed.
 *     gpu   A collective occupies `collective_share` of its device from the moment it is issued (as NCCL's kernels do,
 *           even while they wait for other ranks). Kernels beside it run on the rest. Copies to and from the host take
 *           the host link, one in each direction; together with the host queue they share the node's memory bandwidth
 *           and cores. Copies to and from the disk share the node's disk.
 *
 * So overlap is a result: communication hides behind computation if the plan lets it, and slows it down meanwhile.
 *
 * Two grains
 *
 *     operation   A collective begins when its last rank has arrived, takes the time of the formula, and ends for all
 *                 ranks at once. Ranks that are alike are simulated once (sim/rank_class.h), so 16,384 ranks cost no
 *                 more than 8.
 *     message     Every rank is simulated, and every round of a collective's schedule is messages over links: a
 *                 device's link inside the node, and the node's rails between nodes. Links are shared fairly. A message
 *                 goes when its sender and its receiver have both come to its round. A rank goes on to its next round
 *                 when it has sent and received. Without contention the two grains agree within 1 %,
 *                 unless a stack runs there: whole operations are then NCCL's (sim/nccl.h), messages the schedule's.
 *
 * The same plan and cluster give the same bytes on every machine: time is whole nanoseconds, rates are fixed-point, and
 * ties are broken by the order of insertion.
 */
#ifndef SHARDLAB_SIM_H
#define SHARDLAB_SIM_H

#include "strategy/cluster/cluster.h"
#include "strategy/plan/plan.h"
#include "strategy/trace/report.h"
#include "strategy/trace/trace.h"

enum grain { GRAIN_OPERATION, GRAIN_MESSAGE };

const char *grain_name(enum grain g); /* "operation", "message" */
enum status grain_parse(const char *text, enum grain *out);

/* Up to so many ranks, a trace at the grain of operations shows all of them; above, one of each class. */
#define SIM_TRACE_RANKS 64

/* Simulates one step of a verified plan. The cluster was opened for at least plan->ranks ranks.
 *
 * trace: NULL, or a zeroed trace, which is opened and filled; the caller releases it.
 * out: is filled with all of report_from_plan(), and with the grain, the times (of the slowest rank), overhead, fits,
 * cluster, and rates_measured (every rate that entered the times was measured).
 *
 * STATUS_INPUT: the cluster has no rate for something in the plan, the clock passes 73 years, or the grain of messages
 * comes to more than 2^28 messages. STATUS_REFUSED: the plan deadlocks; the verifier finds that first. */
enum status sim_run(const struct plan *plan, const struct cluster *c, enum grain grain, struct trace *trace,
                    struct report *out);
/* sim_run() in two halves, for a caller that has the plan verified meanwhile (plan_verify_beside). The first half takes
 * the time, needs no more than rules 1 to 3, and fills the trace. The second fills the report. The caller releases *out
 * whatever the status is. */
struct simulation;
enum status simulation_run(struct simulation **out, const struct plan *plan, const struct cluster *c, enum grain grain,
                           struct trace *trace);
void simulation_report(const struct simulation *x, struct report *out);
void simulation_release(struct simulation *x); /* accepts NULL */
/* Fills a report without simulating times: names, memory, traffic, tightest and fits. */
void sim_memory(const struct plan *plan, const struct cluster *c, struct report *out);
/* Answers the report's `fits` alone, sooner: a bound of the layout is enough for most plans. */
bool sim_fits(const struct plan *plan, const struct cluster *c);
/* The time of a step alone, ns, and what of it waits for communication; exposed: may be NULL. */
enum status sim_time(const struct plan *plan, const struct cluster *c, int64_t *step, int64_t *exposed);

#endif
