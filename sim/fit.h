/* The cheapest change that makes a plan fit: of all changes of the settings that the grid of variants has
 * (strategy/strategies/variants.h), the one that loses least speed in prediction. The global batch stays as it is, so
 * that the shortest step is also the shortest time of a sample. Steps that are as fast as the shortest, within a tie
 * (strategy/trace/ratio.h), are judged by how little of the job changes: first a smaller micro-batch in more
 * accumulation, then checkpointing, then another strategy, then offload.
 *
 * Under a stack a change is looked for that surely fits; only where there is none, one that is close. More ranks are
 * asked for only where no change of settings is enough.
 */
#ifndef SHARDLAB_SIM_FIT_H
#define SHARDLAB_SIM_FIT_H

#include "strategy/plan/plan.h"
#include "strategy/trace/report.h"

/* cluster: name or file. A variant that cannot be compiled is left out. out->none where nothing fits.
 *
 * Not all of the grid is compiled, since this is known: what is computed again, put on the host or cut into smaller
 * micro-batches takes less memory and not less time. So of each strategy, checkpointing and offload the largest
 * micro-batch that fits counts, and it counts only where less checkpointing and less offload do not fit with as large a
 * one. Whether a step of many micro-batches fits is judged by one of as many as are under way at once, its time is
 * predicted from one of two and one of three (with stages from two that fill and drain them), and what is chosen is
 * simulated as it is, if it has no more than a million operations. For jobs too large for all of this, out->cut says
 * that the search gave up before its end. */
void fit_find_change(const struct plan *p, const char *cluster, struct report_change *out);

/* fit_find_change() one compiled plan at a time, for a caller that does something else meanwhile:
 *
 *     struct fit_search *f = fit_begin(&plan, "v100-16gb");
 *     while (fit_next(f, &change))
 *             …
 *     fit_end(f);
 */
struct fit_search;
struct fit_search *fit_begin(const struct plan *p, const char *cluster); /* NULL: out of memory */
/* False: the search is over, and `out` is its result. */
bool fit_next(struct fit_search *f, struct report_change *out);
/* Call it before the first fit_next(): a chosen step of more operations has the time that two short ones predict. */
void fit_exact_up_to(struct fit_search *f, int64_t operations);
/* The number of plans compiled since memory was last searched. */
int64_t fit_plans(const struct fit_search *f);
void fit_end(struct fit_search *f); /* accepts NULL */

#endif
