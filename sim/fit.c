#include "sim/fit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grid_search.h"
#include "strategy/base/memory.h"
#include "strategy/cluster/effective.h"
#include "strategy/trace/ratio.h"

enum phase { PHASE_SURELY, PHASE_CLOSELY, PHASE_RANKS, PHASE_OVER };

struct fit_search {
	struct grid_search search;
	enum phase phase;
	int doublings;
	bool found_sure;
	int64_t exact; /* operations of a step: up to so many it is simulated as it is */
	struct report_change best;
	char cluster[];
};

static bool ranges(const struct fit_search *f)
{
	return cluster_has_stack(&f->search.cluster);
}

static const struct found *shortest_left(const struct grid_search *f)
{
	const struct found *best = NULL;
	for (int i = 0; i < f->count; i++)
		if (!f->list[i].tried && (!best || f->list[i].step < best->step))
			best = &f->list[i];
	return best;
}

static int distance(const struct fit_search *f, const struct found *x)
{
	struct variant v;
	return variant_at(&f->search.grid, &x->place, &v) ? variant_distance(&v.settings, &f->search.grid.given)
	                                                  : INT_MAX;
}

/* The one that changes least among those as fast as the shortest step, within a tie; if several, the fastest. */
static struct found *best_left(struct fit_search *f)
{
	struct found *best = NULL;
	const struct found *shortest = shortest_left(&f->search);
	for (int i = 0, least = 0; i < f->search.count; i++) {
		struct found *x = &f->search.list[i];
		if (x->tried || !ratio_of(x->step, shortest->step, ranges(f)).tied)
			continue;
		int apart = distance(f, x);
		if (!best || apart < least || (apart == least && x->step < best->step)) {
			best = x;
			least = apart;
		}
	}
	return best;
}

static void propose(struct fit_search *f, const struct variant *v, int64_t step)
{
	snprintf(f->best.words, sizeof f->best.words, "%s", status_words(v->change));
	f->best.step = step;
	f->best.close = f->phase == PHASE_CLOSELY;
}

/* Beside what surely fits, one that does so closely is worth a word if it is faster by more than a tie. */
static void propose_near(struct fit_search *f, const struct variant *v, int64_t step)
{
	if (step >= f->best.step || ratio_of(step, f->best.step, ranges(f)).tied)
		return;
	snprintf(f->best.near, sizeof f->best.near, "%s", status_words(v->change));
	f->best.near_step = step;
}

static void propose_place(struct fit_search *f, const struct variant_place *place, int64_t step)
{
	struct variant v;
	if (!variant_at(&f->search.grid, place, &v))
		return;
	if (f->phase == PHASE_CLOSELY && f->found_sure)
		propose_near(f, &v, step);
	else
		propose(f, &v, step);
}

/* The same grid once more, with all of a device's memory. */
static void search_closely(struct fit_search *f)
{
	struct grid_search next = {
	        .grid = f->search.grid, .cluster_name = f->search.cluster_name, .given_is_out = true};
	f->best.cut |= f->search.cut;
	grid_search_release(&f->search);
	f->search = next;
	f->phase = grid_search_begin(&f->search) ? PHASE_OVER : PHASE_CLOSELY;
}

/* Goes on when a phase has nothing more to choose from, or has chosen. */
static void go_on(struct fit_search *f)
{
	if (f->phase == PHASE_SURELY && ranges(f))
		search_closely(f);
	else
		f->phase = *f->best.words ? PHASE_OVER : PHASE_RANKS;
}

static void forget(struct fit_search *f)
{
	if (f->found_sure)
		*f->best.near = 0;
	else
		f->best = (struct report_change){.cut = f->best.cut};
	f->best.cut |= f->search.cut;
}

/* The step of many micro-batches whose two short steps took part in the search is not simulated once more, where that
 * would take longer than all of the search: each further micro-batch takes as long as the one before, to the rounding
 * of nanoseconds. */
static int64_t step_as_it_is(struct fit_search *f, const struct found *x)
{
	return x->price > f->exact ? x->step : grid_search_time(&f->search, &x->place, true, NULL);
}

/* The best one is simulated as it is; if it does not hold what it promised, the next one is. */
static void choose(struct fit_search *f)
{
	struct found *best = best_left(f);
	forget(f);
	int64_t step = best ? step_as_it_is(f, best) : 0;
	if (best && step < 0) {
		best->tried = true;
		return;
	}
	if (best)
		propose_place(f, &best->place, step);
	f->found_sure |= best && f->phase == PHASE_SURELY;
	go_on(f);
}

/* The fewest that surely fit; without such, the fewest that do. */
static void try_ranks(struct fit_search *f)
{
	struct variant v;
	struct report r = {0};
	if (++f->doublings > VARIANT_RANKS) {
		f->phase = PHASE_OVER;
	} else if (variant_of_ranks(&f->search.grid.given, f->doublings, &v) &&
	           !grid_search_report(&f->search, &v.settings, true, &r) && r.fits) {
		bool close = report_fit(&r) == FIT_CLOSE;
		if (!close || !*f->best.words)
			propose(f, &v, r.time.step);
		f->best.close = close;
		f->phase = close ? PHASE_RANKS : PHASE_OVER;
	}
	report_release(&r);
}

/* ---- the search ---- */

struct fit_search *fit_begin(const struct plan *p, const char *cluster)
{
	enum { EXACT = 1000000 };
	size_t n = strlen(cluster) + 1;
	struct fit_search *f = calloc(1, sizeof *f + n);
	if (!f)
		memory_exhausted();
	memcpy(f->cluster, cluster, n);
	f->exact = EXACT;
	f->search.cluster_name = f->cluster;
	f->search.given_is_out = f->search.surely = true;
	variant_grid_make(&f->search.grid, &p->settings);
	f->phase = grid_search_begin(&f->search) ? PHASE_OVER : PHASE_SURELY;
	return f;
}

/* More was found: the best so far. */
static void propose_found(struct fit_search *f, int before)
{
	const struct found *best = f->search.count > before ? best_left(f) : NULL;
	if (best)
		propose_place(f, &best->place, best->step);
}

bool fit_next(struct fit_search *f, struct report_change *out)
{
	int before = f->search.count;
	bool over = f->phase == PHASE_OVER;
	if (f->phase == PHASE_RANKS)
		try_ranks(f);
	else if (!over && grid_search_next(&f->search))
		propose_found(f, before);
	else if (!over)
		choose(f);
	*out = f->best;
	out->halves = grid_search_halves(&f->search.cluster);
	return !over;
}

void fit_exact_up_to(struct fit_search *f, int64_t operations)
{
	f->exact = operations;
}

int64_t fit_plans(const struct fit_search *f)
{
	return f->search.plans;
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
