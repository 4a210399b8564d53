#include "viz/timeline/measure.h"

#include <string.h>

/* ---- whose lanes ---- */

static bool together(const struct lane *a, const struct lane *b)
{
	return a->rank < 0 ? a->rank == b->rank && a->process_number == b->process_number : a->rank == b->rank;
}

bool measure_begins(const struct lanes *l, int lane)
{
	return !lane || !together(&l->lanes[lane], &l->lanes[lane - 1]);
}

bool measure_has(const struct lanes *l, int lane)
{
	return measure_begins(l, lane) &&
	       (l->timeline || gpu_of_process(&l->gpus, l->lanes[lane].process_number) != NULL);
}

int measure_lanes(const struct lanes *l, int lane)
{
	int n = 1;
	while (lane + n < l->lane_count && together(&l->lanes[lane], &l->lanes[lane + n]))
		n++;
	return n;
}

static const struct lane *lane_of(const struct lanes *l, int first, enum queue queue)
{
	for (int i = first, end = first + measure_lanes(l, first); i < end; i++)
		if (l->lanes[i].queue == queue)
			return &l->lanes[i];
	return NULL;
}

/* ---- parts of spans ---- */

/* The range as far as something was recorded: of GPUs, from the first operation on any of them to the last. */
static void clip(const struct lanes *l, int64_t *from, int64_t *to)
{
	int64_t first = l->timeline ? 0 : l->gpus.begin, last = l->timeline ? l->end : l->gpus.end;
	*from = *from > first ? *from : first;
	*to = *to < last ? *to : last;
	*to = *to > *from ? *to : *from;
}

static int64_t common(int64_t begin, int64_t end, int64_t from, int64_t to)
{
	int64_t first = begin > from ? begin : from, last = end < to ? end : to;
	return last > first ? last - first : 0;
}

/* A span without length counts where it stands. */
static bool is_in(const struct lane_span *s, int64_t from, int64_t to)
{
	return s->begin < to && (s->end > from || (s->begin == s->end && s->begin >= from));
}

/* Counts the bytes up to a time, which move evenly from `begin` to `end`, so that parts add up to the whole. */
static int64_t bytes_until(int64_t bytes, int64_t begin, int64_t end, int64_t time)
{
	if (time <= begin)
		return 0;
	return time >= end ? bytes : (int64_t)((double)bytes * ((double)(time - begin) / (double)(end - begin)));
}

static int64_t bytes_in(int64_t bytes, int64_t begin, int64_t end, int64_t from, int64_t to)
{
	if (begin == end) /* at once */
		return begin >= from && begin < to ? bytes : 0;
	return bytes_until(bytes, begin, end, to) - bytes_until(bytes, begin, end, from);
}

/* ---- a rank ---- */

/* Idle time before a moment, by the gaps of the compute lane; exposed: of those that are. */
static int64_t idle_until(const struct lane *compute, int64_t time, bool exposed)
{
	size_t i = lane_find_gap(compute, time);
	if (!compute->gap_count)
		return 0;
	const struct lane_gap *g = &compute->gaps[i < compute->gap_count ? i : i - 1];
	int64_t in = common(g->begin, g->end, 0, time);
	return exposed ? g->exposed_before + (g->exposed ? in : 0) : g->before + in;
}

/* A rank that computes nothing: all that it moves is exposed. */
static int64_t moved_in(const struct lane *communication, int64_t from, int64_t to)
{
	int64_t sum = 0;
	size_t first = communication ? lane_find(communication, 0, from) : 0;
	for (size_t i = first; communication && i < communication->span_count; i++) {
		const struct lane_span *s = &communication->spans[i];
		if (s->begin >= to)
			break;
		sum += common(s->came, s->end, from, to);
	}
	return sum;
}

static struct measured times_of_rank(const struct lanes *l, int first, int64_t from, int64_t to)
{
	const struct lane *compute = lane_of(l, first, QUEUE_COMPUTE);
	struct measured m = {.length = to - from};
	int64_t idle = m.length;
	if (compute) {
		idle = idle_until(compute, to, false) - idle_until(compute, from, false);
		m.exposed = idle_until(compute, to, true) - idle_until(compute, from, true);
	} else {
		m.exposed = moved_in(lane_of(l, first, QUEUE_COMMUNICATION), from, to);
	}
	m.compute = m.length - idle;
	m.bubble = idle - m.exposed;
	return m;
}

static void count_lane(const struct lanes *l, const struct lane *lane, int64_t from, int64_t to, struct measured *m)
{
	const struct plan *p = l->timeline->plan;
	const struct role *r = plan_role_of(p, lane->rank);
	size_t i = lane_find(lane, 0, from);
	while (i && lane->spans[i - 1].begin == lane->spans[i - 1].end && lane->spans[i - 1].begin >= from)
		i--;
	for (; i < lane->span_count && lane->spans[i].begin < to; i++) {
		const struct lane_span *s = &lane->spans[i];
		const struct op *op = &r->ops[s->op];
		m->operations += is_in(s, from, to);
		if (op_class(op->kind) == OP_CLASS_C && op->traffic != TRAFFIC_CONTROL)
			m->sent_bytes += bytes_in(op_sent_bytes(p, r, op, lane->rank), s->came, s->end, from, to);
	}
}

/* ---- a GPU ---- */

static struct measured times_of_gpu(const struct lanes *l, int first, int64_t from, int64_t to)
{
	const struct gpu_process *g = gpu_of_process(&l->gpus, l->lanes[first].process_number);
	struct measured m = {.length = to - from};
	if (g) {
		int64_t both = gpu_time_in(g, GPU_BOTH, from, to);
		m.compute = gpu_time_in(g, GPU_COMPUTES, from, to) + both;
		m.exposed = gpu_time_in(g, GPU_EXPOSED, from, to);
		m.communication = m.exposed + both;
	}
	m.bubble = m.length - m.compute - m.exposed;
	return m;
}

static void count_stream(const struct lanes *l, const struct lane *lane, int64_t from, int64_t to, struct measured *m)
{
	for (size_t i = 0; i < lane->span_count; i++) {
		const struct lane_span *s = &lane->spans[i];
		bool range = !strcmp(l->file->spans[s->number].category, "gpu_user_annotation"); /* around kernels */
		if (s->kind == GPU_NONE || range || !is_in(s, from, to))
			continue;
		m->operations++;
		m->sent_bytes += bytes_in(l->file->spans[s->number].bytes, s->begin, s->end, from, to);
	}
}

/* ---- both ---- */

struct measured measure_times(const struct lanes *l, int lane, int64_t from, int64_t to)
{
	clip(l, &from, &to);
	return l->timeline ? times_of_rank(l, lane, from, to) : times_of_gpu(l, lane, from, to);
}

struct measured measure_range(const struct lanes *l, int lane, int64_t from, int64_t to)
{
	struct measured m = measure_times(l, lane, from, to);
	clip(l, &from, &to);
	if (l->timeline)
		m.communication = moved_in(lane_of(l, lane, QUEUE_COMMUNICATION), from, to);
	for (int i = lane, end = lane + measure_lanes(l, lane); i < end; i++) {
		if (l->lanes[i].kind != LANE_SPANS)
			continue;
		if (l->timeline)
			count_lane(l, &l->lanes[i], from, to, &m);
		else
			count_stream(l, &l->lanes[i], from, to, &m);
	}
	return m;
}
