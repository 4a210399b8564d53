/* For the tests of model, pipeline and hybrid. */
#ifndef SHARDLAB_CONTRASTS_CHECK_H
#define SHARDLAB_CONTRASTS_CHECK_H

#include "sim/sim.h"
#include "tests/support/plan_check.h"

#define GPT "gpt:layers=4,width=8,heads=2,context=4,vocabulary=9"
#define MLP "mlp:sizes=6-8-8-8-4"

static inline void simulate(const struct plan *p, const char *cluster, enum grain grain, struct report *out)
{
	struct cluster c;
	must(cluster_open(&c, cluster, p->ranks));
	must(sim_run(p, &c, grain, NULL, out));
	cluster_release(&c);
}

#endif
