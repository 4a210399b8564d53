/* Another program's flows, from span to span. */
#include <stdlib.h>

#include "strategy/base/compare.h"
#include "strategy/trace/trace_foreign.h"

struct flow_end {
	int lane;
	int64_t order; /* in the file */
	size_t span;   /* SIZE_MAX: it lies in none */
	const struct raw_flow *raw;
	int64_t time;
};

static int by_place(const void *a, const void *b)
{
	const struct flow_end *x = a, *y = b;
	return x->lane != y->lane   ? compare(x->lane, y->lane)
	       : x->time != y->time ? compare(x->time, y->time)
	                            : compare(x->order, y->order);
}

static int by_order(const void *a, const void *b)
{
	const struct flow_end *x = a, *y = b;
	return compare(x->order, y->order);
}

/* The ends whose thread has spans. */
static struct flow_end *collect_ends(const struct foreign_reader *r, size_t *count)
{
	struct flow_end *ends = array_make(r->e->flow_count + 1, sizeof *ends);
	*count = 0;
	for (size_t i = 0; i < r->e->flow_count; i++) {
		const struct raw_flow *raw = &r->e->flows[i];
		const struct text_entry *lane = text_table_find(&r->lanes, raw->pid, raw->tid);
		if (lane)
			ends[(*count)++] =
			        (struct flow_end){(int)lane->number, (int64_t)i, SIZE_MAX, raw, raw->time - r->first};
	}
	return ends;
}

/* Spans that are open, of one lane. */
struct open_spans {
	size_t *span, count, capacity, next;
	int lane;
};

static void open_until(const struct trace_file *f, struct open_spans *o, int64_t time)
{
	for (; o->next < f->span_count && f->spans[o->next].lane == o->lane && f->spans[o->next].begin <= time;
	     o->next++) {
		while (o->count && f->spans[o->span[o->count - 1]].end <= f->spans[o->next].begin)
			o->count--;
		*ARRAY_ADD(o->span, o->count, o->capacity) = o->next;
	}
	while (o->count && f->spans[o->span[o->count - 1]].end < time)
		o->count--;
}

/* The deepest span around an end, or the next one that begins. */
static size_t span_of(const struct trace_file *f, const struct open_spans *o, const struct flow_end *end)
{
	bool inside = o->count > 0, next = o->next < f->span_count && f->spans[o->next].lane == o->lane;
	size_t top = inside ? o->span[o->count - 1] : SIZE_MAX;
	if (end->raw->enclosing || (inside && f->spans[top].begin == end->time))
		return top;
	return next ? o->next : SIZE_MAX;
}

static void find_spans(const struct trace_file *f, struct flow_end *ends, size_t count)
{
	struct open_spans o = {.lane = -1};
	for (size_t i = 0; i < count; i++) {
		if (ends[i].lane != o.lane) {
			o.lane = ends[i].lane;
			o.count = 0;
			while (o.next < f->span_count && f->spans[o.next].lane < o.lane)
				o.next++;
		}
		open_until(f, &o, ends[i].time);
		ends[i].span = span_of(f, &o, &ends[i]);
	}
	free(o.span);
}

static void add_flow(struct trace_file *f, size_t *capacity, size_t from, size_t to)
{
	if (from == SIZE_MAX || to == SIZE_MAX)
		return;
	*ARRAY_ADD(f->flows, f->flow_count, *capacity) = (struct foreign_flow){from, to};
}

/* Ends of one category and number belong together. The second may stand before the first in the file: a profiler
 * writes what the GPU did when it comes to know of it. */
void foreign_read_flows(struct foreign_reader *r)
{
	struct text_table waiting = {0};
	size_t count, capacity = 0;
	struct flow_end *ends = collect_ends(r, &count);
	qsort(ends, count, sizeof *ends, by_place);
	find_spans(r->f, ends, count);
	qsort(ends, count, sizeof *ends, by_order);
	for (size_t i = 0; i < count; i++) {
		struct text_entry *e = text_table_add(&waiting, ends[i].raw->id, ends[i].raw->category);
		const struct flow_end *other = e->number < 0 ? NULL : &ends[e->number];
		bool starts = ends[i].raw->phase == 's';
		if (!other || (other->raw->phase == 's') == starts) {
			if (other && !starts && other->raw->phase == 't') /* a flow of several parts */
				add_flow(r->f, &capacity, other->span, ends[i].span);
			e->number = (int64_t)i;
			continue;
		}
		add_flow(r->f, &capacity, starts ? ends[i].span : other->span, starts ? other->span : ends[i].span);
		e->number = ends[i].raw->phase == 't' ? (int64_t)i : -1;
	}
	free(ends);
	text_table_release(&waiting);
}
