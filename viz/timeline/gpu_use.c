#include "viz/timeline/gpu_use.h"

#include "strategy/base/search.h"

#include <stdlib.h>

/* ---- when kernels begin and end ---- */

struct edge {
	int process;
	int64_t time;
	int compute, communication; /* so many more run from then on */
};

static int by_process_and_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

static enum gpu_kind kind_of(const struct trace_file *f, const struct foreign_span *s)
{
	const char *what;
	return gpu_kind_of_span(f, s, &what);
}

static struct edge *collect_edges(struct gpu_use *u, const struct trace_file *f, size_t *count)
{
	struct edge *edges = NULL;
	size_t capacity = 0;
	*count = 0;
	u->begin = INT64_MAX;
	for (size_t i = 0; i < f->span_count; i++) {
		const struct foreign_span *s = &f->spans[i];
		enum gpu_kind kind = s->end > s->begin ? kind_of(f, s) : GPU_NONE;
		if (kind == GPU_NONE)
			continue;
		for (int end = 0; end < 2; end++) {
			edges = array_reserve(edges, *count, &capacity, sizeof *edges);
			edges[(*count)++] = (struct edge){.process = f->lanes[s->lane].number,
			                                  .time = end ? s->end : s->begin,
			                                  .compute = kind == GPU_COMPUTE ? 1 - 2 * end : 0,
			                                  .communication = kind == GPU_COMPUTE ? 0 : 1 - 2 * end};
		}
		u->begin = s->begin < u->begin ? s->begin : u->begin;
		u->end = s->end > u->end ? s->end : u->end;
	}
	return edges;
}

/* ---- stretches ---- */

/* All before the last, and the last itself. */
static void add_before(struct gpu_stretch *all, size_t i)
{
	for (int state = 0; i && state < GPU_STATES; state++)
		all[i].before[state] = all[i - 1].before[state];
	if (i)
		all[i].before[all[i - 1].state] += all[i - 1].end - all[i - 1].begin;
}

static void add_stretch(struct gpu_process *g, int64_t begin, int64_t end, enum gpu_state state)
{
	struct gpu_stretch *last = g->stretch_count ? &g->stretches[g->stretch_count - 1] : NULL;
	if (begin >= end)
		return;
	g->compute += state == GPU_COMPUTES || state == GPU_BOTH ? end - begin : 0;
	g->communication += state == GPU_EXPOSED || state == GPU_BOTH ? end - begin : 0;
	g->idle += state == GPU_IDLE ? end - begin : 0;
	if (last && last->state == state) {
		last->end = end;
	} else {
		g->stretches = array_reserve(g->stretches, g->stretch_count, &g->capacity, sizeof *g->stretches);
		g->stretches[g->stretch_count] = (struct gpu_stretch){.begin = begin, .end = end, .state = state};
		add_before(g->stretches, g->stretch_count++);
	}
	g->exposed += state == GPU_EXPOSED ? end - begin : 0;
}

static enum gpu_state state_of(int compute, int communication)
{
	return compute ? communication ? GPU_BOTH : GPU_COMPUTES : communication ? GPU_EXPOSED : GPU_IDLE;
}

/* The edges of one process; returns where the next one's begin. */
static size_t add_gpu(struct gpu_use *u, const struct edge *edges, size_t at, size_t count)
{
	int process = edges[at].process, compute = 0, communication = 0;
	int64_t begin = u->begin;
	u->gpus = array_reserve(u->gpus, (size_t)u->count, &u->capacity, sizeof *u->gpus);
	struct gpu_process *g = &u->gpus[u->count++];
	*g = (struct gpu_process){.process = process};
	for (; at < count && edges[at].process == process; at++) {
		add_stretch(g, begin, edges[at].time, state_of(compute, communication));
		begin = edges[at].time;
		compute += edges[at].compute;
		communication += edges[at].communication;
	}
	add_stretch(g, begin, u->end, GPU_IDLE);
	return at;
}

size_t gpu_stretch_at(const struct gpu_process *g, int64_t time)
{
	return FIRST_PAST(g->stretches, end, 0, g->stretch_count, time);
}

static int64_t time_until(const struct gpu_process *g, enum gpu_state state, int64_t time)
{
	size_t i = gpu_stretch_at(g, time);
	if (!g->stretch_count)
		return 0;
	const struct gpu_stretch *s = &g->stretches[i < g->stretch_count ? i : i - 1];
	int64_t in = time < s->end ? time - s->begin : s->end - s->begin;
	return s->before[state] + (s->state == state && in > 0 ? in : 0);
}

int64_t gpu_time_in(const struct gpu_process *g, enum gpu_state state, int64_t begin, int64_t end)
{
	return time_until(g, state, end) - time_until(g, state, begin);
}

int64_t gpu_exposed(const struct gpu_process *g, int64_t begin, int64_t end)
{
	return gpu_time_in(g, GPU_EXPOSED, begin, end);
}

const struct gpu_process *gpu_of_process(const struct gpu_use *u, int process)
{
	int low = 0, high = u->count;
	while (low < high) {
		int middle = low + (high - low) / 2;
		if (u->gpus[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low < u->count && u->gpus[low].process == process ? &u->gpus[low] : NULL;
}

/* ---- the longest ---- */

static int by_exposed(const void *a, const void *b)
{
	const struct exposed_span *x = a, *y = b;
	if (x->exposed != y->exposed)
		return x->exposed > y->exposed ? -1 : 1;
	return (x->span > y->span) - (x->span < y->span);
}

/* A range stands for the kernels in it, which have the arguments. */
static bool is_range(const struct trace_file *f, size_t i)
{
	const struct foreign_span *s = &f->spans[i], *next = s + 1;
	return i + 1 < f->span_count && next->lane == s->lane && next->end <= s->end &&
	       kind_of(f, next) == GPU_COMMUNICATION;
}

static void find_exposed(struct gpu_use *u, const struct trace_file *f)
{
	const struct gpu_process *g = NULL;
	int lane = -1;
	for (size_t i = 0; i < f->span_count; i++) {
		const struct foreign_span *s = &f->spans[i];
		if (s->lane != lane) {
			lane = s->lane;
			g = gpu_of_process(u, f->lanes[lane].number);
		}
		if (!g || kind_of(f, s) != GPU_COMMUNICATION || is_range(f, i))
			continue;
		int64_t exposed = gpu_exposed(g, s->begin, s->end);
		if (exposed <= 0)
			continue;
		u->exposed = array_reserve(u->exposed, u->exposed_count, &u->exposed_capacity, sizeof *u->exposed);
		u->exposed[u->exposed_count++] = (struct exposed_span){i, exposed};
	}
	if (u->exposed_count)
		qsort(u->exposed, u->exposed_count, sizeof *u->exposed, by_exposed);
}

void gpu_use_make(struct gpu_use *u, const struct trace_file *f)
{
	size_t count;
	*u = (struct gpu_use){0};
	struct edge *edges = collect_edges(u, f, &count);
	if (count)
		qsort(edges, count, sizeof *edges, by_process_and_time);
	else
		u->begin = 0;
	for (size_t at = 0; at < count;)
		at = add_gpu(u, edges, at, count);
	free(edges);
	find_exposed(u, f);
}

void gpu_use_release(struct gpu_use *u)
{
	for (int i = 0; i < u->count; i++)
		free(u->gpus[i].stretches);
	free(u->gpus);
	free(u->exposed);
	*u = (struct gpu_use){0};
}
