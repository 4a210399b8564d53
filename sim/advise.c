#include "sim/advise_habits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fixed.h"
#include "strategy/base/arena.h"
#include "strategy/base/compare.h"
#include "strategy/cluster/effective.h"
#include "strategy/strategies/strategy.h"
#include "strategy/trace/ratio.h"

bool advise_takes_all(const struct settings *s)
{
	return s->micro_batch * strategy_data_ranks(s) >= s->batch;
}

const char *advise_cluster(const struct advise_request *q, const char *strategy)
{
	for (int i = 0; i < q->strategies; i++)
		if (q->cluster_of[i] && !strcmp(q->strategy[i], strategy))
			return q->cluster_of[i];
	return q->cluster;
}

/* ---- one walk: a strategy in a precision ---- */

/* The batch is the same for all: as asked for, or what data-parallel ranks would take. */
static enum status settle_batch(struct settings *given)
{
	struct settings s = *given;
	bool free = !s.micro_batch && !s.accumulate;
	if (free && s.batch && s.ranks > 0 && s.batch % s.ranks)
		return status_fail(STATUS_INPUT, "{batch} %" PRId64 " is not divisible by %" PRId64 " ranks", s.batch,
		                   s.ranks);
	enum status status = settings_resolve(&s, s.ranks);
	given->batch = s.batch;
	return status;
}

static struct settings settings_of_walk(const struct advise_request *q, int walk)
{
	struct settings s = q->given;
	const struct advise_habit *habit = &q->habit[walk / q->precisions];
	const char *software = habit->software[walk % q->precisions];
	snprintf(s.strategy, sizeof s.strategy, "%s", q->strategy[walk / q->precisions]);
	s.precision = q->precision[walk % q->precisions];
	if (habit->bucket)
		s.bucket = habit->bucket;
	if (software)
		snprintf(s.software, sizeof s.software, "%s", software);
	if (q->checkpointings)
		snprintf(s.checkpointing, sizeof s.checkpointing, "%s", q->checkpointing[0]);
	if (q->offloads)
		s.offload = q->offload[0];
	return s;
}

/* The grid of one strategy, with the levels that were asked for. */
static void make_grid(const struct advise_request *q, const struct settings *resolved, struct variant_grid *g)
{
	variant_grid_make(g, resolved);
	g->strategies = 1;
	if (q->checkpointings) {
		g->checkpointings = q->checkpointings;
		memcpy(g->checkpointing, q->checkpointing, sizeof g->checkpointing);
		g->checkpointing[0] = g->given.checkpointing;
	}
	if (q->offloads) {
		g->offloads = q->offloads;
		memcpy(g->offload, q->offload, sizeof g->offload);
	}
	if (q->given.micro_batch || q->given.accumulate)
		g->micros = 1;
}

static void skip(struct advice *a, const char *strategy)
{
	struct advise_skipped skipped;
	for (int i = 0; i < a->skipped_count; i++)
		if (!strcmp(a->skipped[i].strategy, strategy) && !strcmp(a->skipped[i].why, status_message()))
			return;
	snprintf(skipped.strategy, sizeof skipped.strategy, "%s", strategy);
	snprintf(skipped.why, sizeof skipped.why, "%.500s", status_message());
	*ARRAY_ADD(a->skipped, a->skipped_count, a->skipped_capacity) = skipped;
}

/* A plan of one micro-batch says whether the strategy goes with the model, the ranks and the precision at all. */
static enum status try_plainly(struct grid_search *f)
{
	struct variant v;
	struct variant_place smallest = {.micro = f->grid.micros - 1};
	if (!variant_at(&f->grid, &smallest, &v))
		return STATUS_INPUT;
	v.settings.accumulate = 1;
	v.settings.batch = 0;
	enum status s = settings_resolve(&v.settings, strategy_data_ranks(&v.settings));
	return s ? s : grid_search_try(f, &v.settings);
}

static enum status begin_walk(struct advice *a)
{
	const struct advise_request *q = &a->request;
	const struct strategy *strategy;
	struct grid_search *f = &a->walk;
	struct settings s = settings_of_walk(q, a->done);
	const char *refused = q->habit[a->done / q->precisions].refused[a->done % q->precisions];
	*f = (struct grid_search){.cluster_name = advise_cluster(q, s.strategy), .margin = q->margin};
	if (refused)
		return status_fail(STATUS_INPUT, "%s", refused);
	TRY(strategy_parse(s.strategy, &strategy));
	TRY(settings_resolve(&s, strategy_data_ranks(&s)));
	f->all_micros = strategy->stages;
	make_grid(q, &s, &f->grid);
	TRY(advise_keep_told(q, &f->grid));
	TRY(grid_search_begin(f));
	return try_plainly(f);
}

/* ---- what a walk found ---- */

static void set_speed(const struct grid_search *f, struct advised *line)
{
	const struct settings *s = &line->settings;
	struct report r = {.ranks = s->ranks,
	                   .time.step = line->step,
	                   .speed.model_flops = f->model.training_flops * (double)s->batch};
	report_set_speed(&r, (double)cluster_peak(&f->cluster, s->precision).value);
	line->speed = r.speed;
	line->tokens_per_s = line->step > 0 ? 1e9 * (double)s->batch * (double)f->model.tokens / (double)line->step : 0;
}

/* The same rule as `sim` has (sim.c). */
static void set_range(const struct grid_search *f, int64_t waiting, struct advised *line)
{
	const struct settings *s = &line->settings;
	if (!cluster_has_stack(&f->cluster))
		return;
	struct effective_range r = effective_range(&f->cluster.stack, model_width(&f->model), s->ranks,
	                                           s->micro_batch * f->model.tokens, waiting);
	line->range_low = time_clamp((wide)line->step * (uint64_t)r.low / MILLION);
	line->range_high = time_clamp((wide)line->step * (uint64_t)r.high / MILLION);
}

static bool is_way(const struct advice *a, int walk)
{
	return a->request.habit[walk / a->request.precisions].way;
}

/* The strategy's own line, of which another way is. */
static bool is_own_of(const struct advice *a, const struct advised *own, const struct advised *x)
{
	const struct settings *s = &own->settings, *t = &x->settings;
	int walk = x->walk;
	while (is_way(a, walk))
		walk -= a->request.precisions;
	return own->walk == walk && !strcmp(s->checkpointing, t->checkpointing) &&
	       s->offload.optimizer == t->offload.optimizer && s->offload.parameters == t->offload.parameters &&
	       s->offload.activations == t->offload.activations;
}

/* Another way of a strategy pays where it is faster than its own by more than a tie. */
static bool pays(const struct advice *a, const struct advised *x)
{
	for (int i = 0; is_way(a, x->walk) && i < a->fit_count; i++)
		if (is_own_of(a, &a->fit[i], x) &&
		    (x->step >= a->fit[i].step || ratio_of(a->fit[i].step, x->step, false).tied))
			return false;
	return true;
}

static void take_found(struct advice *a)
{
	const struct grid_search *f = &a->walk;
	for (int i = 0; i < f->count; i++) {
		struct variant v;
		if (!f->list[i].step || !variant_at(&f->grid, &f->list[i].place, &v))
			continue;
		struct advised line = {.settings = v.settings,
		                       .step = f->list[i].step,
		                       .tightest = f->list[i].tightest,
		                       .order = a->fit_count,
		                       .walk = a->done};
		if (!pays(a, &line))
			continue;
		set_speed(f, &line);
		set_range(f, report_waiting(f->list[i].exposed, f->list[i].step), &line);
		*ARRAY_ADD(a->fit, a->fit_count, a->fit_capacity) = line;
	}
}

static enum category largest_category(const int64_t bytes[CATEGORY_COUNT])
{
	enum category most = (enum category)0;
	for (int c = 1; c < CATEGORY_COUNT; c++)
		if (bytes[c] > bytes[most])
			most = (enum category)c;
	return most;
}

static const struct report_role *fullest_role(const struct report *r, enum space space)
{
	const struct report_role *most = &r->roles[0];
	for (int i = 1; i < r->role_count; i++)
		if (r->roles[i].memory[space].peak_bytes > most->memory[space].peak_bytes)
			most = &r->roles[i];
	return most;
}

/* On CPUs the node's memory holds the ranks' devices too. */
static enum space space_of(const struct report *r)
{
	enum space space = r->tightest.space;
	bool empty = space == SPACE_HOST && !fullest_role(r, SPACE_HOST)->memory[SPACE_HOST].peak_bytes;
	return empty ? SPACE_DEVICE : space;
}

static void take_lack(struct advice *a, const struct variant_place *place, const struct report *r)
{
	const struct grid_search *f = &a->walk;
	struct variant v;
	const struct report_memory *m = &fullest_role(r, space_of(r))->memory[space_of(r)];
	struct advise_lack lack = {.tightest = r->tightest, .category = largest_category(m->at_peak)};
	if (!variant_at(&f->grid, place, &v))
		return;
	lack.settings = v.settings;
	lack.category_bytes = m->at_peak[lack.category];
	snprintf(lack.peak_at, sizeof lack.peak_at, "%s", m->peak_at);
	*ARRAY_ADD(a->lack, a->lack_count, a->lack_capacity) = lack;
}

/* Those of which no micro-batch fits. */
static void take_lacks(struct advice *a)
{
	struct grid_search *f = &a->walk;
	for (int o = 0; o < f->grid.offloads; o++)
		for (int c = 0; c < f->grid.checkpointings; c++) {
			struct report r;
			struct variant_place place = {.checkpointing = c, .offload = o, .micro = f->grid.micros - 1};
			if (f->any && f->largest[c][o] < f->grid.micros)
				continue;
			if (!grid_search_memory(f, &place, &r) && !r.fits)
				take_lack(a, &place, &r);
			report_release(&r);
		}
}

static void end_walk(struct advice *a)
{
	struct grid_search *f = &a->walk;
	take_found(a);
	if (!f->cut && !is_way(a, a->done))
		take_lacks(a);
	a->cut |= f->cut;
	a->candidates += (int64_t)f->grid.checkpointings * f->grid.offloads * f->grid.micros;
	a->plans += f->plans;
	grid_search_release(f);
	a->walking = false;
	a->done++;
}

/* ---- the order ---- */

static int faster_first(const void *a, const void *b)
{
	const struct advised *x = a, *y = b;
	return x->step != y->step ? compare(x->step, y->step) : compare(x->order, y->order);
}

/* A line and those that are slower by less than a tie's width share a place. */
static void set_places(struct advice *a)
{
	int first = 0;
	for (int i = 0; i < a->fit_count; i++) {
		struct advised *x = &a->fit[i], *head = &a->fit[first];
		if (!ratio_of(x->step, head->step, a->has_ranges).tied)
			first = i;
		x->place = first + 1;
		x->tied = first < i;
		if (first < i)
			a->fit[first].tied = true;
	}
}

static void set_frontier(struct advice *a)
{
	int64_t least = INT64_MAX;
	for (int i = 0; i < a->fit_count; i++) { /* the fastest first */
		a->fit[i].frontier = a->fit[i].tightest.needed_bytes < least;
		if (a->fit[i].frontier)
			least = a->fit[i].tightest.needed_bytes;
	}
}

static int changes(const struct settings *s)
{
	return 2 * (s->offload.optimizer + s->offload.parameters + s->offload.activations) +
	       (strcmp(s->checkpointing, "none") != 0);
}

const struct advised *advise_best(const struct advice *a)
{
	const struct advised *best = a->fit_count ? &a->fit[0] : NULL;
	for (int i = 1; i < a->fit_count && a->fit[i].place == 1; i++)
		if (changes(&a->fit[i].settings) < changes(&best->settings))
			best = &a->fit[i];
	return best;
}

const struct advised *advise_largest(const struct advice *a)
{
	const struct advised *most = a->fit_count ? &a->fit[0] : NULL;
	for (int i = 1; i < a->fit_count; i++)
		if (a->fit[i].settings.micro_batch > most->settings.micro_batch)
			most = &a->fit[i];
	return most;
}

/* ---- the cheapest change ---- */

/* How far a line is from what does not fit: the same precision and a strategy that divides as much or more come first.
 */
static int remoteness(const struct settings *lack, const struct settings *line)
{
	bool near = !strcmp(line->strategy, lack->strategy) || variant_divides_more(lack, line->strategy);
	return line->precision != lack->precision ? 2 : near ? 0 : 1;
}

/* The lines are in the order of their steps: so of the nearest kind the first is the fastest, and of those that tie
 * with it the one with the least change is the cheapest. */
static const struct advised *cheapest(const struct advice *a, const struct settings *lack)
{
	const struct advised *first = NULL, *best = NULL;
	for (int i = 0; i < a->fit_count; i++)
		if (!first || remoteness(lack, &a->fit[i].settings) < remoteness(lack, &first->settings))
			first = &a->fit[i];
	for (const struct advised *x = first; x && x < a->fit + a->fit_count; x++)
		if (remoteness(lack, &x->settings) == remoteness(lack, &first->settings) &&
		    ratio_of(x->step, first->step, a->has_ranges).tied &&
		    (!best || variant_distance(lack, &x->settings) < variant_distance(lack, &best->settings)))
			best = x;
	return best;
}

static void mend(struct advice *a)
{
	for (int i = 0; i < a->lack_count; i++) {
		struct advise_lack *x = &a->lack[i];
		const struct advised *line = cheapest(a, &x->settings);
		if (!line)
			continue;
		advise_options(&line->settings, x->mend);
		advise_change(&x->settings, &line->settings, x->change);
		x->mend_step = line->step;
	}
}

/* ---- the whole ---- */

static void finish(struct advice *a)
{
	if (a->fit_count > 1)
		qsort(a->fit, (size_t)a->fit_count, sizeof *a->fit, faster_first);
	set_places(a);
	set_frontier(a);
	mend(a);
	advise_find_next(a);
}

/* Adds the cluster's stack to those that are named. */
static void note_stack(struct advice *a, const struct cluster *c)
{
	size_t n = strlen(a->stack);
	a->has_ranges |= cluster_has_stack(c);
	if (!strstr(a->stack, c->stack.name))
		snprintf(a->stack + n, sizeof a->stack - n, "%s%s", n ? " and " : "", c->stack.name);
}

static enum status note_stacks(struct advice *a)
{
	const struct advise_request *q = &a->request;
	struct cluster c;
	enum status s = STATUS_OK;
	for (int i = 0; !s && i < q->strategies; i++) {
		const char *cluster = advise_cluster(q, q->strategy[i]);
		if (i && !strcmp(cluster, advise_cluster(q, q->strategy[i - 1])))
			continue;
		s = cluster_open(&c, cluster, q->given.ranks);
		if (!s) {
			note_stack(a, &c);
			cluster_release(&c);
		}
	}
	return s;
}

enum status advise_begin(struct advice **out, const struct advise_request *q)
{
	struct advice *a = *out = array_make(1, sizeof *a);
	struct model m;
	a->request = *q;
	a->total = q->strategies * q->precisions;
	enum status s = settle_batch(&a->request.given);
	if (!s && !(s = model_open(&m, q->given.model, q->given.sequence))) {
		snprintf(a->model, sizeof a->model, "%s", m.name);
		a->tokens = m.tokens;
		model_release(&m);
	}
	return s ? s : note_stacks(a);
}

bool advise_next(struct advice *a)
{
	if (a->walking) {
		if (!grid_search_next(&a->walk))
			end_walk(a);
	} else if (a->done < a->total) {
		a->walking = !begin_walk(a);
		if (!a->walking) {
			skip(a, a->request.strategy[a->done / a->request.precisions]);
			grid_search_release(&a->walk);
			a->done++;
		}
	} else {
		finish(a);
		return false;
	}
	return true;
}

/* Strategies that a program does not know come first among those that it cannot be told; of the last, what is wrong is
 * what was asked for. */
enum status advise_status(const struct advice *a)
{
	if (a->fit_count || a->lack_count || a->cut || !a->skipped_count)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "%s", a->skipped[a->request.told ? a->skipped_count - 1 : 0].why);
}

void advise_end(struct advice *a)
{
	if (!a)
		return;
	grid_search_release(&a->walk);
	free(a->fit);
	free(a->lack);
	free(a->skipped);
	free(a);
}
