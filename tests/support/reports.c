#include "tests/support/reports.h"

#include <stdlib.h>

#include "tests/support/refusal.h"

static struct kept {
	struct report report;
	struct kept *next;
} * kept;

struct report *report_kept(void)
{
	struct kept *k = calloc(1, sizeof *k);
	if (!k)
		abort();
	k->next = kept;
	kept = k;
	return &k->report;
}

const struct report *report_planned(const struct plan *p)
{
	struct report *r = report_kept();
	report_from_plan(r, p);
	return r;
}

const struct report *report_simulated(const struct plan *p, const struct cluster *c, enum grain grain,
                                      struct trace *trace)
{
	struct report *r = report_kept();
	must(sim_run(p, c, grain, trace, r));
	return r;
}

const struct report *report_simulated_on(const struct plan *p, const char *cluster, enum grain grain,
                                         struct trace *trace)
{
	struct cluster c;
	must(cluster_open(&c, cluster, p->ranks));
	const struct report *r = report_simulated(p, &c, grain, trace);
	cluster_release(&c);
	return r;
}

const struct report *report_trained(const struct train_options *o)
{
	struct report *r = report_kept();
	must(train_run(o, r));
	return r;
}
