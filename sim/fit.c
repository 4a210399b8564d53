#include "sim/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grid_search.h"
#include "strategy/base/memory.h"

struct fit_search {
	struct grid_search search;
	bool over;
	int doublings;
	struct report_change best;
	char cluster[];
};

static int changed(const struct variant_place *p)
{
	return (p->strategy > 0) + (p->checkpointing > 0) + (p->offload > 0) + (p->micro > 0);
}

/* Among equal times, the one with fewer changes wins. */
static bool is_better(const struct found *a, const struct found *b)
{
	return a->step != b->step ? a->step < b->step : changed(&a->place) < changed(&b->place);
}

static struct found *best_left(const struct grid_search *f)
{
	struct found *best = NULL;
	for (int i = 0; i < f->count; i++)
		if (!f->list[i].tried && (!best || is_better(&f->list[i], best)))
			best = &f->list[i];
	return best;
}

static void propose(struct fit_search *f, const struct variant *v, int64_t step)
{
	snprintf(f->best.words, sizeof f->best.words, "%s", status_words(v->change));
	f->best.step = step;
}

static void propose_place(struct fit_search *f, const struct variant_place *place, int64_t step)
{
	struct variant v;
	if (variant_at(&f->search.grid, place, &v))
		propose(f, &v, step);
}

/* The shortest step is simulated as it is; if it does not hold what it promised, the next one is. False: none is left.
 */
static bool choose(struct fit_search *f)
{
	struct found *best = best_left(&f->search);
	f->best = (struct report_change){.cut = f->search.cut};
	if (!best)
		return false;
	best->tried = true;
	int64_t step = grid_search_time(&f->search, &best->place, true, NULL);
	if (step >= 0)
		propose_place(f, &best->place, step);
	f->over = step >= 0;
	return true;
}

static void try_ranks(struct fit_search *f)
{
	struct variant v;
	struct report r = {0};
	if (++f->doublings > VARIANT_RANKS) {
		f->over = true;
	} else if (variant_of_ranks(&f->search.grid.given, f->doublings, &v) &&
	           !grid_search_report(&f->search, &v.settings, true, &r) && r.fits) {
		propose(f, &v, r.time.step);
		f->over = true;
	}
	report_release(&r);
}

/* ---- the search ---- */

struct fit_search *fit_begin(const struct plan *p, const char *cluster)
{
	size_t n = strlen(cluster) + 1;
	struct fit_search *f = calloc(1, sizeof *f + n);
	if (!f)
		memory_exhausted();
	memcpy(f->cluster, cluster, n);
	f->search.cluster_name = f->cluster;
	f->search.given_is_out = true;
	variant_grid_make(&f->search.grid, &p->settings);
	f->over = grid_search_begin(&f->search) != STATUS_OK;
	return f;
}

/* More was found: the best so far. */
static void propose_found(struct fit_search *f, int before)
{
	const struct found *best = f->search.count > before ? best_left(&f->search) : NULL;
	if (best)
		propose_place(f, &best->place, best->step);
}

bool fit_next(struct fit_search *f, struct report_change *out)
{
	int before = f->search.count;
	bool over = f->over;
	if (!over && grid_search_next(&f->search))
		propose_found(f, before);
	else if (!over && !choose(f))
		try_ranks(f);
	*out = f->best;
	return !over;
}

void fit_end(struct fit_search *f)
{
	if (f)
		grid_search_release(&f->search);
	free(f);
}

void fit_find_change(const struct plan *p, const char *cluster, struct report_change *out)
{
	struct fit_search *f = fit_begin(p, cluster);
	*out = (struct report_change){0};
	while (f && fit_next(f, out))
		;
	out->none = !*out->words;
	fit_end(f);
}
