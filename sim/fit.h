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

#endif
