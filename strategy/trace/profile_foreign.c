/* PyTorch's profiler's traces: which spans are work of a step, of which kind and of which phase. */
#include <stdlib.h>
#include <string.h>

#include "strategy/base/compare.h"
#include "strategy/base/search.h"
#include "strategy/trace/profile.h"
#include "strategy/trace/profile_walk.h"

enum { NOTHING = -1 };

/* ---- kinds ---- */

/* Kineto: Memcpy HtoD; XLA: MemcpyH2D. */
static enum profile_kind kind_of_copy(const char *name)
{
	static const struct {
		const char *pattern;
		enum profile_kind kind;
	} rows[] = {{"*HtoD*", PROFILE_TO_DEVICE},
	            {"*H2D*", PROFILE_TO_DEVICE},
	            {"*DtoH*", PROFILE_TO_HOST},
	            {"*D2H*", PROFILE_TO_HOST},
	            {"*", PROFILE_BETWEEN}};
	size_t i = 0;
	while (!name_fits(rows[i].pattern, name))
		i++;
	return rows[i].kind;
}

/* The kind by gpu_names.def. -1: no work of a GPU, or a range around some. */
static int kind_of_gpu_span(const struct trace_file *f, const struct foreign_span *s)
{
	static const struct {
		const char *what;
		enum profile_kind kind;
	} rows[] = {{"matrix product", PROFILE_PRODUCTS},
	            {"attention", PROFILE_ATTENTION},
	            {"copy within the GPU", PROFILE_WITHIN}};
	const char *what;
	enum gpu_kind kind = gpu_kind_of_span(f, s, &what);
	if (kind == GPU_NONE || !strcmp(s->category, "gpu_user_annotation"))
		return NOTHING;
	if (kind == GPU_COMMUNICATION)
		return (int)(strcmp(what, "copy") ? profile_kind_of_collective(s->collective ? s->collective : s->name)
		                                  : kind_of_copy(s->name));
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (!strcmp(what, rows[i].what))
			return (int)rows[i].kind;
	return PROFILE_REST;
}

/* ---- windows ---- */

/* ProfilerStep#3; false: it is none. */
static bool step_number(const struct trace_file *f, const struct foreign_span *s, int64_t *number)
{
	static const char prefix[] = "ProfilerStep#";
	const char *what;
	char *end;
	if (strncmp(s->name, prefix, sizeof prefix - 1) != 0 || gpu_kind_of_span(f, s, &what) != GPU_NONE ||
	    !strcmp(s->category, "gpu_user_annotation"))
		return false;
	*number = strtoll(s->name + sizeof prefix - 1, &end, 10);
	return *number >= 0 && end > s->name + sizeof prefix - 1;
}

static int by_begin(const void *a, const void *b)
{
	const struct profile_window *x = a, *y = b;
	return compare(x->begin, y->begin);
}

/* The steps of a process, as its host had them. */
static void find_windows(struct profile_work *w, const struct trace_file *f, int process)
{
	int64_t number;
	size_t end = profile_first_span(f, process + 1);
	for (size_t i = profile_first_span(f, process); i < end; i++) {
		const struct foreign_span *s = &f->spans[i];
		if (step_number(f, s, &number))
			*ARRAY_ADD(w->windows, w->window_count, w->window_capacity) =
			        (struct profile_window){number, s->begin, s->end, s->end - s->begin};
	}
	if (w->window_count)
		qsort(w->windows, w->window_count, sizeof *w->windows, by_begin);
}

/* -1: before the first, or between two. late: what comes after the last belongs to it. */
static int window_at(const struct profile_work *w, int64_t time, bool late)
{
	size_t n = w->window_count;
	int i = n ? (int)FIRST_PAST(w->windows, begin, 0, n, time) - 1 : NOTHING;
	bool within = i >= 0 && (time < w->windows[i].end || (late && i == (int)n - 1));
	return within ? i : NOTHING;
}

/* Steps of which nothing was recorded are left out. */
static void drop_empty(struct profile_work *w)
{
	int *place = array_make(w->window_count, sizeof *place);
	size_t kept = 0;
	for (size_t i = 0; i < w->item_count; i++)
		if (w->items[i].step >= 0)
			place[w->items[i].step] = 1;
	for (size_t i = 0; i < w->window_count; i++)
		if (place[i]) {
			w->windows[kept] = w->windows[i];
			place[i] = (int)kept++;
		}
	for (size_t i = 0; i < w->item_count; i++)
		if (w->items[i].step >= 0)
			w->items[i].step = place[w->items[i].step];
	w->window_count = kept;
	free(place);
}

/* ---- a GPU ---- */

struct reader {
	const struct trace_file *f;
	const char *name;
	enum profile_phase *phases; /* of each span of a host */
	size_t *launch;             /* the host's span that launched it; SIZE_MAX: none is known */
	int first_host;             /* the first host that has steps; -1 */
};

static void find_launches(struct reader *r)
{
	r->launch = array_make(r->f->span_count, sizeof *r->launch);
	for (size_t i = 0; i < r->f->span_count; i++)
		r->launch[i] = SIZE_MAX;
	for (size_t i = 0; i < r->f->flow_count; i++)
		r->launch[r->f->flows[i].to] = r->f->flows[i].from;
}

/* The process that launched the work of a GPU; where none is known, the first that has steps. */
static int host_of(const struct reader *r, int process)
{
	const struct trace_file *f = r->f;
	size_t end = profile_first_span(f, process + 1);
	for (size_t i = profile_first_span(f, process); i < end; i++)
		if (r->launch[i] != SIZE_MAX && kind_of_gpu_span(f, &f->spans[i]) != NOTHING)
			return f->lanes[f->spans[r->launch[i]].lane].number;
	return r->first_host;
}

static void add_gpu_span(const struct reader *r, struct profile_work *w, size_t i)
{
	const struct foreign_span *s = &r->f->spans[i];
	int kind = kind_of_gpu_span(r->f, s);
	bool launched = r->launch[i] != SIZE_MAX;
	if (kind == NOTHING)
		return;
	int64_t time = launched ? r->f->spans[r->launch[i]].begin : s->begin;
	*ARRAY_ADD(w->items, w->item_count, w->item_capacity) =
	        (struct profile_item){.begin = s->begin,
	                              .end = s->end,
	                              .bytes = s->bytes,
	                              .kind = (enum profile_kind)kind,
	                              .phase = launched ? r->phases[r->launch[i]] : PROFILE_BESIDE,
	                              .step = window_at(w, time, !launched),
	                              .calls = true};
}

/* From the host's times to the GPU's. */
static void move_windows(struct profile_work *w)
{
	int64_t last = 0;
	for (size_t i = 0; i < w->window_count; i++)
		w->windows[i].begin = INT64_MAX;
	for (size_t i = 0; i < w->item_count; i++) {
		const struct profile_item *item = &w->items[i];
		if (item->step >= 0 && item->begin < w->windows[item->step].begin)
			w->windows[item->step].begin = item->begin;
		if (item->step == (int)w->window_count - 1 && item->end > last)
			last = item->end;
	}
	for (size_t i = w->window_count; i-- > 0; last = w->windows[i].begin) {
		if (w->windows[i].begin > last) /* two steps at once: nothing is this one's alone */
			w->windows[i].begin = last;
		w->windows[i].end = last;
	}
}

static void add_gpu(struct profile *p, const struct reader *r, struct profile_rank rank, int process)
{
	struct profile_work w = {0};
	int host = host_of(r, process);
	if (host >= 0)
		find_windows(&w, r->f, host);
	size_t end = w.window_count ? profile_first_span(r->f, process + 1) : 0;
	for (size_t i = profile_first_span(r->f, process); i < end; i++)
		add_gpu_span(r, &w, i);
	drop_empty(&w);
	move_windows(&w);
	if (w.window_count)
		profile_add_rank(p, &w, rank);
	profile_work_release(&w);
}

/* ---- a host alone ---- */

static void add_host(struct profile *p, const struct reader *r, struct profile_rank rank, int process)
{
	struct profile_work w = {0};
	find_windows(&w, r->f, process);
	if (w.window_count)
		profile_walk(r->f, process, r->phases, &w);
	for (size_t i = 0; i < w.item_count; i++)
		w.items[i].step = window_at(&w, w.items[i].begin, false);
	drop_empty(&w);
	if (w.window_count)
		profile_add_rank(p, &w, rank);
	profile_work_release(&w);
}

/* ---- a file ---- */

static bool has_work(const struct profile *p, const struct trace_file *f, int process)
{
	size_t end = profile_first_span(f, process + 1);
	for (size_t i = profile_first_span(f, process); i < end; i++)
		if (p->source == PROFILE_OPERATORS || kind_of_gpu_span(f, &f->spans[i]) != NOTHING)
			return true;
	return false;
}

static int find_first_host(const struct trace_file *f)
{
	int64_t number;
	for (size_t i = 0; i < f->span_count; i++)
		if (step_number(f, &f->spans[i], &number))
			return f->lanes[f->spans[i].lane].number;
	return NOTHING;
}

static enum status fail_without(const struct reader *r)
{
	return r->first_host >= 0
	               ? status_fail(STATUS_INPUT,
	                             "%s: neither an operator nor a kernel in its steps: record with "
	                             "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
	                             r->name)
	               : status_fail(STATUS_INPUT,
	                             "%s: no range ProfilerStep#N in it, which says where steps begin: record with a "
	                             "schedule and call prof.step() after each step",
	                             r->name);
}

/* A file that says whose it is has that rank, if it has one device; else ranks are counted as they come. */
enum status profile_add_foreign(struct profile *p, const struct trace_file *f, const char *name)
{
	struct reader r = {.f = f, .name = name, .first_host = find_first_host(f)};
	int before = p->rank_count;
	r.phases = array_make(f->span_count, sizeof *r.phases);
	for (int i = 0; i < f->process_count; i++)
		profile_walk(f, i, r.phases, NULL);
	find_launches(&r);
	for (int i = 0; i < f->process_count; i++) {
		struct profile_rank rank = {
		        .rank = p->rank_count, .file = name, .device = arena_copy(&p->arena, f->processes[i].name)};
		if (has_work(p, f, i))
			(p->source == PROFILE_OPERATORS ? add_host : add_gpu)(p, &r, rank, i);
	}
	if (p->rank_count == before + 1 && f->rank >= 0)
		p->ranks[before].rank = f->rank;
	free(r.phases);
	free(r.launch);
	return p->rank_count > before ? STATUS_OK : fail_without(&r);
}
