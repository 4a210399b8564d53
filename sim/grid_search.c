#include "sim/grid_search.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/cluster/effective.h"
#include "strategy/strategies/strategy.h"

/* A step of more micro-batches is predicted from steps of this many and of one less; of stages, from so many as fill
 * and drain them, and these. */
enum { PREDICTED_FROM = 3 };
/* Memory is the same from the second micro-batch on, but for stages, which have several under way. */
enum { ALIKE_FROM = 2 };
/* Operations that are compiled before what has been found by then is taken: some seconds. */
enum { BUDGET = 3000000 };

/* ---- one plan ---- */

/* Laying out the memory of an unusually large plan takes longer than all else: for each role, time with the square
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

/* The device itself stays as large as it is: a caching allocator takes what there is before it gives back. */
static void leave_margin(struct cluster *c, double margin, bool surely)
{
	if (surely && cluster_has_stack(c))
		c->device_spared = c->device_memory / REPORT_CLOSE + 1;
	c->device_spared += (int64_t)(margin * (double)(c->device_memory - c->device_spared));
	c->node_memory -= (int64_t)(margin * (double)c->node_memory);
}

static enum status open_cluster(const struct grid_search *f, int64_t ranks, struct cluster *c)
{
	TRY(cluster_open(c, f->cluster_name, ranks));
	leave_margin(c, f->margin, f->surely);
	return STATUS_OK;
}

static enum status report_on(struct grid_search *f, const struct plan *p, bool timed, struct report *out)
{
	struct cluster other = {0}, *c = &f->cluster;
	enum status s = STATUS_OK;
	if (p->ranks != f->grid.given.ranks && !(s = open_cluster(f, p->ranks, &other)))
		c = &other;
	if (!s && timed)
		s = sim_run(p, c, GRAIN_OPERATION, NULL, out);
	else if (!s)
		sim_memory(p, c, out);
	cluster_release(&other);
	return s;
}

static enum status compile(struct grid_search *f, const struct settings *s, struct plan *out)
{
	enum status status = plan_compile(out, &f->model, s);
	f->compiled += status ? 0 : price_of(out);
	f->plans += !status;
	return status;
}

enum status grid_search_report(struct grid_search *f, const struct settings *s, bool timed, struct report *out)
{
	struct plan p = {0};
	*out = (struct report){0};
	TRY(compile(f, s, &p));
	enum status status = report_on(f, &p, timed, out);
	plan_release(&p);
	return status;
}

enum status grid_search_try(struct grid_search *f, const struct settings *s)
{
	struct plan p = {0};
	int64_t step;
	TRY(compile(f, s, &p));
	enum status status = sim_time(&p, &f->cluster, &step, NULL);
	plan_release(&p);
	return status;
}

/* Once the walk has taken its time, nothing more is compiled for it. */
static bool is_spent(const struct grid_search *f)
{
	return f->compiled > BUDGET && f->stage < SEARCH_OVER;
}

static void drop_kept(struct grid_search *f)
{
	if (f->has_kept)
		plan_release(&f->kept[f->at_kept]);
	f->has_kept = false;
}

/* The last plan that fits is kept, since what comes next is mostly its time. */
static bool settings_fit(struct grid_search *f, const struct settings *s)
{
	struct plan *p = &f->kept[!f->at_kept];
	if (is_spent(f) || compile(f, s, p))
		return false;
	if (!sim_fits(p, &f->cluster)) {
		plan_release(p);
		return false;
	}
	drop_kept(f);
	f->at_kept = !f->at_kept;
	f->kept_settings = *s;
	f->has_kept = true;
	return true;
}

/* The time of a step, whether it fits or not; -1: it cannot be compiled. */
static int64_t step_of(struct grid_search *f, const struct settings *s)
{
	struct plan p = {0};
	int64_t step = -1;
	if (is_spent(f) || compile(f, s, &p))
		return -1;
	if (sim_time(&p, &f->cluster, &step, &f->exposed))
		step = -1;
	plan_release(&p);
	return step;
}

static enum status report_kept(struct grid_search *f, const struct settings *s, struct report *out)
{
	*out = (struct report){0};
	return f->has_kept && !memcmp(&f->kept_settings, s, sizeof *s) ? report_on(f, &f->kept[f->at_kept], true, out)
	                                                               : grid_search_report(f, s, true, out);
}

/* With its memory; -1 also where it does not fit, unless that is all the same. */
static int64_t measured_step(struct grid_search *f, const struct settings *s, struct report_tightest *tightest)
{
	struct report r;
	if (is_spent(f))
		return -1;
	int64_t step = !report_kept(f, s, &r) && (r.fits || f->fits_or_not) ? r.time.step : -1;
	if (tightest)
		*tightest = r.tightest;
	f->exposed = r.time.exposed;
	report_release(&r);
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

/* The settings of a place, with no more micro-batches than its memory needs. */
static bool short_settings(const struct grid_search *f, const struct variant_place *place, struct settings *out)
{
	struct variant v;
	if (!variant_at(&f->grid, place, &v))
		return false;
	*out = v.settings;
	int64_t enough = alike_from(out);
	return out->accumulate <= enough || shorten(out, enough);
}

static bool fits(struct grid_search *f, const struct variant_place *place)
{
	struct settings s;
	return short_settings(f, place, &s) && settings_fit(f, &s);
}

enum status grid_search_memory(struct grid_search *f, const struct variant_place *place, struct report *out)
{
	struct settings s;
	*out = (struct report){0};
	return short_settings(f, place, &s) ? grid_search_report(f, &s, false, out) : STATUS_INPUT;
}

static bool has_stages(const struct settings *s)
{
	const struct strategy *g;
	return strategy_parse(s->strategy, &g) || g->stages;
}

/* From how many micro-batches on each takes as long as the one before. Two stages are filled and drained as well. */
static int64_t even_from(const struct settings *s)
{
	return has_stages(s) ? alike_from(s) + PREDICTED_FROM : PREDICTED_FROM;
}

int64_t grid_search_time(struct grid_search *f, const struct variant_place *place, bool exactly,
                         struct report_tightest *tightest)
{
	struct variant v;
	if (!variant_at(&f->grid, place, &v))
		return -1;
	struct settings less = v.settings, more = v.settings;
	int64_t micros = v.settings.accumulate, from = even_from(&v.settings), a, b;
	f->price = 0;
	if (exactly || micros <= from)
		return measured_step(f, &v.settings, tightest);
	if (!shorten(&less, from - 1) || !shorten(&more, from))
		return -1;
	a = measured_step(f, &less, tightest);
	int64_t exposed = f->exposed, before = f->compiled;
	b = a < 0 ? -1 : step_of(f, &more);
	f->exposed += (f->exposed - exposed) * (micros - from);
	f->price = (f->compiled - before) / from * micros;
	return b < 0 ? -1 : b + (b - a) * (micros - from);
}

/* ---- walking over the grid ---- */

/* The largest micro-batch that fits with less checkpointing, less offload or both. It and smaller ones are not worth
 * another try. */
static int bound_of(const struct grid_search *f, int checkpointing, int offload)
{
	int bound = f->grid.micros;
	for (int c = 0; c <= checkpointing; c++)
		for (int o = 0; o <= offload; o++)
			if ((c < checkpointing || o < offload) && f->largest[c][o] < bound)
				bound = f->largest[c][o];
	return bound;
}

static int first_of(const struct grid_search *f)
{
	const struct variant_place *at = &f->at;
	return f->given_is_out && !at->strategy && !at->checkpointing && !at->offload;
}

/* The first place from `at` on with a micro-batch that is worth a try; without one, the next strategy. */
static void go_on(struct grid_search *f)
{
	struct variant_place *at = &f->at;
	for (; at->offload < f->grid.offloads; at->offload++, at->checkpointing = 0)
		for (; at->checkpointing < f->grid.checkpointings; at->checkpointing++) {
			int bound = bound_of(f, at->checkpointing, at->offload);
			f->largest[at->checkpointing][at->offload] = bound;
			f->low = first_of(f);
			f->high = bound;
			if (f->low < f->high) {
				f->stage = SEARCH_FITS;
				return;
			}
		}
	*at = (struct variant_place){.strategy = at->strategy + 1};
	f->stage = SEARCH_STRATEGY;
}

/* The first micro-batch is all of a rank's batch. Without accumulation a plan may keep no gradients, so that this one
 * may fit where smaller ones, which accumulate, do not. */
static bool begins_whole(const struct grid_search *f)
{
	return f->grid.given.accumulate == 1;
}

static bool fits_somehow(struct grid_search *f, struct variant_place *place)
{
	if (fits(f, place))
		return true;
	bool known = f->given_is_out && !place->strategy && !place->checkpointing && !place->offload;
	if (known || !place->micro || !begins_whole(f))
		return false;
	place->micro = 0;
	return fits(f, place);
}

/* The smallest variant that can be compiled: not every model can recompute, and not every strategy can offload
 * parameters. */
static bool fits_at_all(struct grid_search *f, int strategy)
{
	const struct variant_grid *g = &f->grid;
	for (int c = g->checkpointings; c-- > 0;)
		for (int o = g->offloads; o-- > 0;) {
			struct variant_place place = {strategy, c, o, g->micros - 1};
			if (!fits_somehow(f, &place))
				continue;
			if (!f->any)
				f->smallest = place;
			f->any = true;
			return true;
		}
	return false;
}

static void try_strategy(struct grid_search *f)
{
	if (f->at.strategy == f->grid.strategies)
		f->stage = SEARCH_OVER;
	else if (fits_at_all(f, f->at.strategy))
		go_on(f);
	else
		f->at.strategy++;
}

static void next_place(struct grid_search *f)
{
	f->at.checkpointing++;
	go_on(f);
}

/* A plan that accumulates and fits fits with smaller micro-batches, so that the range in question is halved each time.
 */
static void try_micro(struct grid_search *f)
{
	struct variant_place *at = &f->at;
	int *largest = &f->largest[at->checkpointing][at->offload];
	if (f->low < f->high) {
		at->micro = !f->low && begins_whole(f) ? 0 : (f->low + f->high) / 2;
		if (fits(f, at))
			f->high = at->micro;
		else
			f->low = at->micro + 1;
	} else if (f->high < *largest) {
		*largest = at->micro = f->high;
		f->stage = SEARCH_TIME;
	} else {
		next_place(f);
	}
}

static void keep(struct grid_search *f, struct found found)
{
	*ARRAY_ADD(f->list, f->count, f->capacity) = found;
}

static void measure(struct grid_search *f)
{
	struct found found = {.place = f->at};
	found.step = grid_search_time(f, &f->at, false, &found.tightest);
	found.exposed = f->exposed;
	found.price = f->price;
	if (found.step >= 0)
		keep(f, found);
	if (!f->all_micros || ++f->at.micro == f->grid.micros)
		next_place(f);
}

/* ---- the search ---- */

enum status grid_search_begin(struct grid_search *f)
{
	const struct settings *s = &f->grid.given;
	enum status status = model_open(&f->model, s->model, s->sequence);
	return status ? status : open_cluster(f, s->ranks, &f->cluster);
}

enum type grid_search_halves(const struct cluster *c)
{
	return cluster_peak(c, TYPE_BF16).value > 0   ? TYPE_BF16
	       : cluster_peak(c, TYPE_FP16).value > 0 ? TYPE_FP16
	                                              : TYPE_FP32;
}

bool grid_search_next(struct grid_search *f)
{
	static void (*const stages[])(struct grid_search *) = {
	        [SEARCH_STRATEGY] = try_strategy, [SEARCH_FITS] = try_micro, [SEARCH_TIME] = measure};
	if (f->compiled > BUDGET && f->stage < SEARCH_OVER) {
		f->stage = SEARCH_OVER;
		f->cut = true;
		if (f->any && !f->count)
			keep(f, (struct found){.place = f->smallest});
	}
	if (f->stage == SEARCH_OVER)
		return false;
	stages[f->stage](f);
	return true;
}

void grid_search_release(struct grid_search *f)
{
	if (!f)
		return;
	free(f->list);
	drop_kept(f);
	cluster_release(&f->cluster);
	model_release(&f->model);
	*f = (struct grid_search){0};
}
