/* Lanes of another program's trace: of each process a heading, its threads, and its counters. */
#include <stdio.h>

#include "viz/timeline/lanes.h"

enum { DEEPEST = 24 };

static struct lane *add_lane(struct lanes *l, int process, const char *name, enum lane_kind kind)
{
	struct lane *lane = lanes_add(l);
	snprintf(lane->process, sizeof lane->process, "%s", l->file->processes[process].name);
	snprintf(lane->name, sizeof lane->name, "%s", name);
	lane->process_number = process;
	lane->kind = kind;
	lane->queue = QUEUE_COUNT;
	return lane;
}

/* The spans of a file's lane from the i-th on; returns where the next lane's begin. */
static size_t add_spans(struct lanes *l, struct lane *lane, int number, size_t i)
{
	const struct trace_file *f = l->file;
	int64_t open[DEEPEST];
	int depth = 0;
	for (; i < f->span_count && f->spans[i].lane == number; i++) {
		const struct foreign_span *s = &f->spans[i];
		const char *what;
		while (depth && open[depth - 1] <= s->begin)
			depth--;
		struct lane_span *span = lanes_add_span(l, lane, s->begin, s->end);
		span->name = s->name;
		span->number = i;
		span->kind = gpu_kind_of_span(f, s, &what);
		span->depth = depth;
		lane->depth = depth + 1 > lane->depth ? depth + 1 : lane->depth;
		if (depth < DEEPEST - 1)
			open[depth++] = s->end;
	}
	return i;
}

/* Finds the new place of each span of the file. */
static void find_places(struct lanes *l)
{
	l->places = array_make(l->file->span_count, sizeof *l->places);
	for (int i = 0; i < l->lane_count; i++)
		for (size_t k = 0; k < l->lanes[i].span_count; k++)
			l->places[l->lanes[i].spans[k].number] = (struct span_place){i, k};
}

void lanes_of_file(struct lanes *l, const struct trace_file *f)
{
	size_t span = 0;
	int lane = 0, counter = 0;
	*l = (struct lanes){.file = f};
	gpu_use_make(&l->gpus, f);
	for (int p = 0; p < f->process_count; p++) {
		add_lane(l, p, "", LANE_PROCESS);
		for (; lane < f->lane_count && f->lanes[lane].number == p; lane++)
			span = add_spans(l, add_lane(l, p, f->lanes[lane].thread, LANE_SPANS), lane, span);
		for (; counter < f->counter_count && f->counters[counter].process == p; counter++)
			add_lane(l, p, f->counters[counter].name, LANE_COUNTER)->counter = &f->counters[counter];
	}
	for (int i = 0; i < l->lane_count; i++)
		lane_make_rows(&l->lanes[i]);
	find_places(l);
}
