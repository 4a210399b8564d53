/* The cheapest change that makes a plan fit. */
#ifndef SHARDLAB_SIM_FIT_H
#define SHARDLAB_SIM_FIT_H

#include "strategy/plan/plan.h"
#include "strategy/trace/report.h"

/* Simulates the variants of a plan that does not fit on a cluster (strategy/strategies/variants.h), those with the
 * least effort first, and says which of those that fit is the fastest: one setting where that is enough, several
 * together otherwise, and more ranks last. cluster: name or file. The plan's own failure to compile as a variant is no
 * error: the variant is left out. out->words is "" where none fits. */
void fit_find_change(const struct plan *p, const char *cluster, struct report_change *out);

/* The same, one variant at a time, for those who have something else to do meanwhile:
 *
 *     struct fit_search *f = fit_begin(&plan, "v100-16gb");
 *     while (fit_next(f, &change))
 *             …
 *     fit_end(f);
 */
struct fit_search;
struct fit_search *fit_begin(const struct plan *p, const char *cluster); /* NULL: out of memory */
/* False: `out` is what was looked for. */
bool fit_next(struct fit_search *f, struct report_change *out);
void fit_end(struct fit_search *f); /* accepts NULL */

#endif
