#include "viz/export/html_steps.h"

#include <stdlib.h>

#include "viz/export/export.h"

/* round: from 1. */
static bool round_is_kept(int round, int rounds)
{
	return round <= 2 || round == rounds / 2 || round == rounds;
}

static bool is_kept(const struct playback *p, size_t stop)
{
	const struct timeline *s = &p->shown->timeline;
	size_t position = p->shown->foreign ? 0 : timeline_stop(s, p->step_size, stop);
	if (!position || p->step_size == STEP_SIZE_PHASE || position == s->instant_count)
		return true;
	const struct event *e = &s->events[s->instants[position - 1].end - 1];
	if (e->kind != EVENT_MESSAGE || s->collectives[e->collective].schedule.ranks <= TIMELINE_MESSAGE_RANKS)
		return true;
	return round_is_kept(e->round + 1, s->collectives[e->collective].rounds);
}

enum status page_steps_init(struct page_steps *steps, const struct playback *p)
{
	size_t all = export_steps(p);
	*steps = (struct page_steps){.stop = calloc(all + 1, sizeof *steps->stop)};
	if (!steps->stop)
		return status_fail(STATUS_MEMORY, "no memory for the page");
	for (size_t k = 0; k < all; k++)
		if (is_kept(p, k))
			steps->stop[steps->count++] = k;
	steps->all = steps->count == all;
	return STATUS_OK;
}

void page_steps_release(struct page_steps *steps)
{
	if (!steps)
		return;
	free(steps->stop);
	*steps = (struct page_steps){0};
}

size_t page_step_before(const struct page_steps *steps, size_t stop)
{
	size_t low = 0, high = steps->count - 1;
	while (low < high) {
		size_t middle = (low + high + 1) / 2;
		if (steps->stop[middle] <= stop)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

size_t page_step_behind(const struct page_steps *steps, size_t stop)
{
	size_t before = page_step_before(steps, stop);
	return steps->stop[before] < stop && before + 1 < steps->count ? before + 1 : before;
}
