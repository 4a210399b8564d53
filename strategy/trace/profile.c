#include "strategy/trace/profile.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/compare.h"
#include "strategy/trace/interval.h"

/* ---- names ---- */

static const struct {
	const char *key, *name;
	enum profile_does does;
} kinds[PROFILE_KINDS] = {
#define X(constant, key, name, does) {key, name, PROFILE_##does},
        PROFILE_KIND_LIST(X)
#undef X
};

const char *profile_kind_name(enum profile_kind k)
{
	return kinds[k].name;
}

const char *profile_kind_key(enum profile_kind k)
{
	return kinds[k].key;
}

enum profile_does profile_kind_does(enum profile_kind k)
{
	return kinds[k].does;
}

const char *profile_phase_name(enum profile_phase p)
{
	static const char *const names[PROFILE_PHASES] = {
#define X(constant, name) name,
	        PROFILE_PHASE_LIST(X)
#undef X
	};
	return names[p];
}

enum profile_kind profile_kind_of_collective(const char *name)
{
	static const enum profile_kind by_collective[GPU_COLLECTIVES + 1] = {
	        [GPU_ALL_REDUCE] = PROFILE_ALL_REDUCE, [GPU_REDUCE_SCATTER] = PROFILE_REDUCE_SCATTER,
	        [GPU_ALL_GATHER] = PROFILE_ALL_GATHER, [GPU_ALL_TO_ALL] = PROFILE_ALL_TO_ALL,
	        [GPU_GATHER] = PROFILE_GATHER,         [GPU_SCATTER] = PROFILE_SCATTER,
	        [GPU_BROADCAST] = PROFILE_BROADCAST,   [GPU_REDUCE] = PROFILE_REDUCE,
	        [GPU_MESSAGE] = PROFILE_MESSAGE,       [GPU_COLLECTIVES] = PROFILE_COMMUNICATION};
	return by_collective[gpu_collective_of(name)];
}

/* ---- the figures of a rank ---- */

/* Each has those before it: while computing, while computing or communicating, and while anything at all runs. */
struct layers {
	struct intervals does[PROFILE_DOES];
	struct intervals communication; /* alone */
};

static void find_layers(struct layers *l, const struct profile_work *w)
{
	*l = (struct layers){0};
	for (size_t i = 0; i < w->item_count; i++) {
		const struct profile_item *item = &w->items[i];
		enum profile_does does = kinds[item->kind].does;
		for (int k = (int)does; k < PROFILE_DOES; k++)
			intervals_add(&l->does[k], item->begin, item->end);
		if (does == PROFILE_COMMUNICATES)
			intervals_add(&l->communication, item->begin, item->end);
	}
	for (int k = 0; k < PROFILE_DOES; k++)
		intervals_unite(&l->does[k]);
	intervals_unite(&l->communication);
}

static void layers_release(struct layers *l)
{
	for (int k = 0; k < PROFILE_DOES; k++)
		free(l->does[k].list);
	free(l->communication.list);
}

static struct profile_step step_of(const struct layers *l, const struct profile_window *w)
{
	int64_t busy[PROFILE_DOES];
	for (int k = 0; k < PROFILE_DOES; k++)
		busy[k] = intervals_within(&l->does[k], w->begin, w->end);
	return (struct profile_step){.number = w->number,
	                             .host = w->host,
	                             .step = w->end - w->begin,
	                             .compute = busy[PROFILE_COMPUTES],
	                             .exposed = busy[PROFILE_COMMUNICATES] - busy[PROFILE_COMPUTES],
	                             .copies = busy[PROFILE_COPIES] - busy[PROFILE_COMMUNICATES],
	                             .idle = w->end - w->begin - busy[PROFILE_COPIES],
	                             .communication = intervals_within(&l->communication, w->begin, w->end)};
}

/* Neither is negative. What a file says may be absurd. */
static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void add_item(struct profile_step *s, const struct layers *l, const struct profile_item *item)
{
	struct profile_part *part = &s->kinds[item->kind];
	int64_t time = item->end - item->begin;
	part->calls += item->calls;
	part->time = add(part->time, time);
	part->bytes = add(part->bytes, item->bytes);
	if (kinds[item->kind].does == PROFILE_COMPUTES)
		s->phases[item->phase] = add(s->phases[item->phase], time);
	else
		part->exposed =
		        add(part->exposed, time - intervals_within(&l->does[PROFILE_COMPUTES], item->begin, item->end));
}

/* ---- means: a step is a row of numbers ---- */

enum { FIGURES = sizeof(struct profile_step) / sizeof(int64_t) };
static_assert(sizeof(struct profile_step) % sizeof(int64_t) == 0, "a step is nothing but numbers");

/* The mean of steps that stand `stride` bytes apart. It rounds down, so parts may miss a nanosecond of their whole,
 * which idle gets. */
static struct profile_step mean_of(const struct profile_step *first, size_t stride, int count)
{
	union {
		struct profile_step step;
		int64_t figure[FIGURES];
	} sum = {.figure = {0}}, one;
	for (int i = 0; i < count; i++) {
		memcpy(&one.step, (const char *)first + (size_t)i * stride, sizeof one.step);
		for (int k = 0; k < FIGURES; k++)
			sum.figure[k] = add(sum.figure[k], one.figure[k]);
	}
	for (int k = 0; k < FIGURES; k++)
		sum.figure[k] /= count > 0 ? count : 1;
	struct profile_step *s = &sum.step;
	s->number = -1;
	s->idle = s->step - s->compute - s->exposed - s->copies;
	return *s;
}

struct profile_step profile_mean(const struct profile *p)
{
	return mean_of(&p->ranks->mean, sizeof *p->ranks, p->rank_count);
}

const struct profile_rank *profile_slowest(const struct profile *p)
{
	const struct profile_rank *slowest = p->ranks;
	for (int i = 1; i < p->rank_count; i++)
		if (p->ranks[i].mean.step > slowest->mean.step)
			slowest = &p->ranks[i];
	return slowest;
}

/* ---- ranks ---- */

void profile_add_rank(struct profile *p, const struct profile_work *w, struct profile_rank rank)
{
	struct layers l;
	find_layers(&l, w);
	rank.step_count = (int)w->window_count;
	rank.steps = array_make(w->window_count, sizeof *rank.steps);
	for (size_t i = 0; i < w->window_count; i++)
		rank.steps[i] = step_of(&l, &w->windows[i]);
	for (size_t i = 0; i < w->item_count; i++)
		if (w->items[i].step >= 0)
			add_item(&rank.steps[w->items[i].step], &l, &w->items[i]);
	layers_release(&l);
	rank.mean = mean_of(rank.steps, sizeof *rank.steps, rank.step_count);
	p->ranks = array_reserve(p->ranks, (size_t)p->rank_count, &p->rank_capacity, sizeof *p->ranks);
	p->ranks[p->rank_count++] = rank;
}

void profile_work_release(struct profile_work *w)
{
	free(w->items);
	free(w->windows);
	*w = (struct profile_work){0};
}

void profile_release(struct profile *p)
{
	if (!p)
		return;
	for (int i = 0; i < p->rank_count; i++)
		free(p->ranks[i].steps);
	free(p->ranks);
	arena_release(&p->arena);
	*p = (struct profile){0};
}

/* ---- files ---- */

static int by_rank(const void *a, const void *b)
{
	const struct profile_rank *x = a, *y = b;
	return compare(x->rank, y->rank);
}

static enum status sort_ranks(struct profile *p)
{
	qsort(p->ranks, (size_t)p->rank_count, sizeof *p->ranks, by_rank);
	for (int i = 1; i < p->rank_count; i++)
		if (p->ranks[i].rank == p->ranks[i - 1].rank)
			return status_fail(STATUS_INPUT,
			                   "%s and %s: both are of rank %" PRId64 "; give one file for each rank",
			                   p->ranks[i - 1].file, p->ranks[i].file, p->ranks[i].rank);
	p->world = p->rank_count > p->world ? p->rank_count : p->world;
	return STATUS_OK;
}

static enum profile_source source_of(const struct trace_file *f)
{
	const char *what;
	if (!f->foreign)
		return PROFILE_PLAN;
	for (size_t i = 0; i < f->span_count; i++)
		if (gpu_kind_of_span(f, &f->spans[i], &what) != GPU_NONE)
			return PROFILE_KERNELS;
	return PROFILE_OPERATORS;
}

enum status profile_add(struct profile *p, const struct trace_file *f, const char *name)
{
	static const char *const have[] = {"kernels of a GPU", "operators of a host alone", "a plan of shardlab's"};
	enum profile_source source = source_of(f);
	if (p->rank_count && source != p->source)
		return status_fail(STATUS_INPUT, "%s has %s, and %s has %s: give traces of one run", p->ranks[0].file,
		                   have[p->source], name, have[source]);
	p->source = source;
	p->world = f->ranks > p->world ? f->ranks : p->world;
	if (f->foreign)
		return profile_add_foreign(p, f, arena_copy(&p->arena, name));
	profile_add_plan(p, &f->trace, arena_copy(&p->arena, name));
	return STATUS_OK;
}

void profile_of_trace(struct profile *p, const struct trace *t)
{
	*p = (struct profile){.source = PROFILE_PLAN};
	profile_add_plan(p, t, "");
}

/* what: the words of a message for where the path stands. */
static enum status add_file(struct profile *p, const char *path, const char *what)
{
	struct trace_file f;
	TRY(trace_file_open_as(&f, path, what));
	enum status s = profile_add(p, &f, path);
	trace_file_release(&f);
	return s;
}

static enum status open_as(struct profile *p, const char *const *paths, int count, const char *what)
{
	enum status s = STATUS_OK;
	*p = (struct profile){0};
	for (int i = 0; i < count && !s; i++)
		s = add_file(p, paths[i], what);
	if (!s)
		s = sort_ranks(p);
	if (s)
		profile_release(p);
	return s;
}

enum status profile_open(struct profile *p, const char *const *paths, int count)
{
	return open_as(p, paths, count, "trace");
}

enum status profile_open_list(struct profile *p, const char *list)
{
	struct arena a = {0};
	char *rest = arena_copy(&a, list);
	const char **paths = arena_alloc(&a, (strlen(list) + 1) * sizeof *paths);
	int count = 0;
	for (char *path; (path = strsep(&rest, ","));)
		paths[count++] = path;
	enum status s = open_as(p, paths, count, "{trace}");
	arena_release(&a);
	return s;
}
