#include "sim/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct fit_search {
	struct variant list[VARIANTS];
	int count, at, had; /* had: the family of the last that fits */
	struct report_change best;
	char cluster[];
};

struct fit_search *fit_begin(const struct plan *p, const char *cluster)
{
	size_t n = strlen(cluster) + 1;
	struct fit_search *f = calloc(1, sizeof *f + n);
	if (!f)
		return NULL;
	memcpy(f->cluster, cluster, n);
	f->count = variants_of(&p->settings, f->list);
	f->had = -1;
	return f;
}

static void try(struct fit_search *f, const struct variant *v)
{
	int64_t step = v->family == f->had ? -1 : step_of(&v->settings, f->cluster);
	if (step < 0)
		return;
	f->had = v->family;
	if (*f->best.words && step >= f->best.step)
		return;
	snprintf(f->best.words, sizeof f->best.words, "%s", status_words(v->change));
	f->best.step = step;
}

bool fit_next(struct fit_search *f, struct report_change *out)
{
	bool over = f->at == f->count || (*f->best.words && f->at && f->list[f->at].effort > f->list[f->at - 1].effort);
	if (!over)
		try(f, &f->list[f->at++]);
	*out = f->best;
	return !over;
}

void fit_end(struct fit_search *f)
{
	free(f);
}

void fit_find_change(const struct plan *p, const char *cluster, struct report_change *out)
{
	struct fit_search *f = fit_begin(p, cluster);
	*out = (struct report_change){0};
	while (f && fit_next(f, out))
		;
	fit_end(f);
}
