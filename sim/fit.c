#include "sim/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "strategy/base/memory.h"
#include "strategy/strategies/strategy.h"
#include "strategy/strategies/variants.h"

/* A step of more micro-batches is predicted from steps of this many and of one less. */
enum { PREDICTED_FROM = 4 };
/* Memory is the same from the second micro-batch on, but for stages, which have several under way. */
enum { ALIKE_FROM = 2 };
/* Operations that are compiled before what has been found by then is taken: some seconds. */
enum { BUDGET = 3000000 };

struct candidate {
	struct variant_place place;
	int64_t step; /* ns */
	bool tried;
};

enum { CANDIDATES = VARIANT_STRATEGIES * VARIANT_LEVELS * VARIANT_LEVELS };

/* The stages of the search. */
enum stage {
	STAGE_STRATEGY, /* does it fit in the smallest way? */
	STAGE_FITS,     /* does the next larger micro-batch? */
	STAGE_TIME,     /* how long is the step with the largest that fits? */
	STAGE_CHOOSE,   /* is the shortest step what it seemed to be? */
	STAGE_RANKS,
	STAGE_DONE
};

struct fit_search {
	struct variant_grid grid;
	enum stage stage;
	struct variant_place at;
	int largest[VARIANT_LEVELS][VARIANT_LEVELS]; /* the first micro-batch that fits, by checkpointing and offload */
	struct candidate list[CANDIDATES];
	int count, doublings;
	int64_t compiled; /* operations */
	bool any;         /* something fits, whatever its step takes: */
	struct variant_place smallest;
	struct report_change best;
	char cluster[];
};

/* ---- one plan ---- */

/* Of a plan far beyond the usual, laying out its memory takes longer than all else: for each role, time with the square
 * of its operations. */
static int64_t price_of(const struct plan *p)
{
	enum { LARGE = 1 << 14 };
	int64_t price = 0;
	for (int i = 0; i < p->role_count; i++) {
		int64_t ops = p->roles[i].step.end - p->roles[i].step.begin;
		price += ops + ops * ops / LARGE;
	}
	return price;
}

/* The time of a step that fits; -1: it does not fit, or cannot be compiled. Unless `timed`, any number from 0 on stands
 * for the time. */
static int64_t step_of(struct fit_search *f, const struct settings *s, bool timed)
{
	struct model m = {0};
	struct plan p = {0};
	struct cluster c = {0};
	struct report r = {0};
	int64_t step = -1;
	if (f->compiled > BUDGET && f->stage < STAGE_CHOOSE)
		return step;
	if (!model_open(&m, s->model, s->sequence) && !plan_compile(&p, &m, s) &&
	    !cluster_open(&c, f->cluster, p.ranks)) {
		f->compiled += price_of(&p);
		if (!timed)
			step = sim_fits(&p, &c) ? 0 : -1;
		else if (!sim_run(&p, &c, GRAIN_OPERATION, NULL, &r) && r.fits)
			step = r.time.step;
	}
	report_release(&r);
	cluster_release(&c);
	plan_release(&p);
	model_release(&m);
	return step;
}

/* The same settings with another number of micro-batches. */
static bool shorten(struct settings *s, int64_t accumulate)
{
	s->accumulate = accumulate;
	s->batch = 0;
	return settings_resolve(s, strategy_data_ranks(s)) == STATUS_OK;
}

/* From how many micro-batches on a step of more of them needs as much memory. */
static int64_t alike_from(const struct settings *s)
{
	const struct strategy *g;
	if (strategy_parse(s->strategy, &g))
		return s->accumulate;
	struct choices c = strategy_choices(g, s->strategy);
	if (g->most_in_flight)
		return g->most_in_flight(s, &c);
	return g->stages ? s->accumulate : ALIKE_FROM;
}

static bool fits(struct fit_search *f, const struct variant_place *place)
{
	struct variant v;
	if (!variant_at(&f->grid, place, &v))
		return false;
	struct settings *s = &v.settings;
	int64_t enough = alike_from(s);
	return (s->accumulate <= enough || shorten(s, enough)) && step_of(f, s, false) >= 0;
}

/* exactly: simulates the step as it is, however many micro-batches it has. */
static int64_t time_of(struct fit_search *f, const struct variant_place *place, bool exactly)
{
	struct variant v;
	if (!variant_at(&f->grid, place, &v))
		return -1;
	struct settings less = v.settings, more = v.settings;
	int64_t micros = v.settings.accumulate, a, b;
	if (exactly || micros <= PREDICTED_FROM)
		return step_of(f, &v.settings, true);
	if (!shorten(&less, PREDICTED_FROM - 1) || !shorten(&more, PREDICTED_FROM))
		return -1;
	a = step_of(f, &less, true);
	b = a < 0 ? -1 : step_of(f, &more, true);
	return b < 0 ? -1 : b + (b - a) * (micros - PREDICTED_FROM);
}

/* ---- walking over the grid ---- */

/* The largest micro-batch that fits with less checkpointing, less offload or both. It and smaller ones are not worth
 * another try. */
static int bound_of(const struct fit_search *f, int checkpointing, int offload)
{
	int bound = f->grid.micros;
	for (int c = 0; c <= checkpointing; c++)
		for (int o = 0; o <= offload; o++)
			if ((c < checkpointing || o < offload) && f->largest[c][o] < bound)
				bound = f->largest[c][o];
	return bound;
}

/* The settings given do not fit. */
static int first_of(const struct variant_place *at)
{
	return !at->strategy && !at->checkpointing && !at->offload;
}

/* The first place from `at` on with a micro-batch that is worth a try; without one, the next strategy. */
static void go_on(struct fit_search *f)
{
	struct variant_place *at = &f->at;
	for (; at->offload < f->grid.offloads; at->offload++, at->checkpointing = 0)
		for (; at->checkpointing < f->grid.checkpointings; at->checkpointing++) {
			int bound = bound_of(f, at->checkpointing, at->offload);
			f->largest[at->checkpointing][at->offload] = bound;
			at->micro = bound - 1;
			if (at->micro >= first_of(at)) {
				f->stage = STAGE_FITS;
				return;
			}
		}
	*at = (struct variant_place){.strategy = at->strategy + 1};
	f->stage = STAGE_STRATEGY;
}

/* The smallest variant that can be compiled: not every model can recompute, and not every strategy can offload
 * parameters. */
static bool fits_at_all(struct fit_search *f, int strategy)
{
	const struct variant_grid *g = &f->grid;
	for (int c = g->checkpointings; c-- > 0;)
		for (int o = g->offloads; o-- > 0;) {
			struct variant_place place = {strategy, c, o, g->micros - 1};
			if (!fits(f, &place))
				continue;
			if (!f->any)
				f->smallest = place;
			f->any = true;
			return true;
		}
	return false;
}

static void try_strategy(struct fit_search *f)
{
	if (f->at.strategy == f->grid.strategies)
		f->stage = STAGE_CHOOSE;
	else if (fits_at_all(f, f->at.strategy))
		go_on(f);
	else
		f->at.strategy++;
}

static void next_place(struct fit_search *f)
{
	f->at.checkpointing++;
	go_on(f);
}

static void try_micro(struct fit_search *f)
{
	struct variant_place *at = &f->at;
	int *largest = &f->largest[at->checkpointing][at->offload], bound = bound_of(f, at->checkpointing, at->offload);
	bool fit = fits(f, at);
	if (fit)
		*largest = at->micro;
	if (fit && at->micro > first_of(at)) {
		at->micro--;
	} else if (*largest < bound) {
		at->micro = *largest;
		f->stage = STAGE_TIME;
	} else {
		next_place(f);
	}
}

static int changed(const struct variant_place *p)
{
	return (p->strategy > 0) + (p->checkpointing > 0) + (p->offload > 0) + (p->micro > 0);
}

/* Among equal times, the one with fewer changes wins. */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
	return a->step != b->step ? a->step < b->step : changed(&a->place) < changed(&b->place);
}

static struct candidate *best_left(struct fit_search *f)
{
	struct candidate *best = NULL;
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

static void propose_place(struct fit_search *f, const struct candidate *c)
{
	struct variant v;
	if (variant_at(&f->grid, &c->place, &v))
		propose(f, &v, c->step);
}

static void measure(struct fit_search *f)
{
	int64_t step = time_of(f, &f->at, false);
	if (step >= 0) {
		f->list[f->count++] = (struct candidate){f->at, step, false};
		propose_place(f, best_left(f));
	}
	next_place(f);
}

/* The search was cut before it had measured any: what is known to fit is better advice than more ranks. */
static void take_smallest(struct fit_search *f)
{
	if (f->any && !f->count)
		f->list[f->count++] = (struct candidate){.place = f->smallest};
}

static void choose(struct fit_search *f)
{
	take_smallest(f);
	struct candidate *best = best_left(f);
	f->stage = best ? STAGE_DONE : STAGE_RANKS;
	f->best = (struct report_change){.cut = f->best.cut};
	if (!best)
		return;
	best->tried = true;
	best->step = time_of(f, &best->place, true);
	if (best->step >= 0)
		propose_place(f, best);
	else
		f->stage = STAGE_CHOOSE;
}

static void try_ranks(struct fit_search *f)
{
	struct variant v;
	if (++f->doublings > VARIANT_RANKS) {
		f->stage = STAGE_DONE;
		return;
	}
	int64_t step = variant_of_ranks(&f->grid.given, f->doublings, &v) ? step_of(f, &v.settings, true) : -1;
	if (step < 0)
		return;
	propose(f, &v, step);
	f->stage = STAGE_DONE;
}

/* ---- the search ---- */

struct fit_search *fit_begin(const struct plan *p, const char *cluster)
{
	size_t n = strlen(cluster) + 1;
	struct fit_search *f = calloc(1, sizeof *f + n);
	if (!f)
		memory_exhausted();
	memcpy(f->cluster, cluster, n);
	variant_grid_make(&f->grid, &p->settings);
	return f;
}

bool fit_next(struct fit_search *f, struct report_change *out)
{
	static void (*const stages[])(struct fit_search *) = {[STAGE_STRATEGY] = try_strategy,
	                                                      [STAGE_FITS] = try_micro,
	                                                      [STAGE_TIME] = measure,
	                                                      [STAGE_CHOOSE] = choose,
	                                                      [STAGE_RANKS] = try_ranks};
	if (f->compiled > BUDGET && f->stage < STAGE_CHOOSE) {
		f->stage = STAGE_CHOOSE;
		f->best.cut = true;
	}
	bool over = f->stage == STAGE_DONE;
	if (!over)
		stages[f->stage](f);
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
	out->none = !*out->words;
	fit_end(f);
}
