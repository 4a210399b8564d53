#include "sim/fit.h"

#include <stdio.h>

#include "sim/sim.h"
#include "strategy/strategies/strategy.h"
#include "strategy/strategies/variants.h"

/* How long a step of it takes where it fits; -1: it does not, or cannot be. */
static int64_t step_of(const struct settings *s, const char *cluster)
{
	struct model m = {0};
	struct plan p = {0};
	struct cluster c = {0};
	struct report r = {0};
	int64_t step = -1;
	if (!model_open(&m, s->model, s->sequence) && !plan_compile(&p, &m, s) && !cluster_open(&c, cluster, p.ranks) &&
	    !sim_run(&p, &c, GRAIN_OPERATION, NULL, &r) && r.fits)
		step = r.time.step;
	report_release(&r);
	cluster_release(&c);
	plan_release(&p);
	model_release(&m);
	return step;
}

void fit_find_change(const struct plan *p, const char *cluster, struct report_change *out)
{
	struct variant list[VARIANTS];
	int count = variants_of(&p->settings, list), had = -1;
	*out = (struct report_change){0};
	for (int i = 0; i < count; i++) {
		if (*out->words && list[i].effort > list[i - 1].effort)
			return;
		int64_t step = list[i].family == had ? -1 : step_of(&list[i].settings, cluster);
		if (step < 0)
			continue;
		had = list[i].family;
		if (*out->words && step >= out->step)
			continue;
		snprintf(out->words, sizeof out->words, "%s", status_words(list[i].change));
		out->step = step;
	}
}
