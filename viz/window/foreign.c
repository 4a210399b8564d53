/* Another program's trace in the window: the cursor goes where spans begin, spans are selected in their lanes, and N
 * goes from the longest exposed communication to the shortest. */
#include <limits.h>

#include "viz/scene/lane_foreign.h"
#include "viz/window/parts.h"

static const struct lanes *lanes_of(const struct window *w)
{
	return &w->playback->shown->lanes;
}

static void move_cursor(struct window *w, int64_t time)
{
	w->playback->cursor = time;
	window_show(w, time, time + 1);
	w->dirty = true;
}

void foreign_to_edge(struct window *w, bool end)
{
	move_cursor(w, end ? lanes_of(w)->end : 0);
}

/* ---- the cursor ---- */

/* The beginning of a span after the cursor, or before it, nearest to it; -1: there is none. */
static int64_t nearest_begin(const struct lanes *l, int lane, int64_t cursor, bool forward)
{
	const struct lane *one = &l->lanes[lane];
	int64_t i = one->kind != LANE_SPANS ? -1
	            : forward               ? lane_next_span(one, cursor, INT_MAX)
	                                    : lane_previous_span(one, cursor, 0);
	return i < 0 ? -1 : one->spans[i].begin;
}

void foreign_step(struct window *w, bool forward, bool own_lane)
{
	struct playback *p = w->playback;
	const struct lanes *l = lanes_of(w);
	int64_t best = -1;
	for (int i = 0; i < l->lane_count; i++) {
		int64_t begin = own_lane && i != p->focus_rank ? -1 : nearest_begin(l, i, p->cursor, forward);
		if (begin >= 0 && (best < 0 || (forward ? begin < best : begin > best)))
			best = begin;
	}
	if (best >= 0)
		move_cursor(w, best);
	else
		window_note(w, forward ? "No span begins after this." : "No span begins before this.");
}

/* ---- the selection ---- */

static void select_span(struct window *w, int64_t lane, int64_t span)
{
	struct playback *p = w->playback;
	const struct lane_span *spans = lanes_of(w)->lanes[lane].spans;
	if (!spans)
		return;
	const struct lane_span *s = &spans[span];
	window_select(w, lane, (int)span);
	p->first_lane = -1;
	window_show(w, s->begin, s->end > s->begin ? s->end : s->begin + 1);
}

/* The lane that one looks at, or the first that has spans. */
static int64_t focus_of(const struct window *w)
{
	const struct lanes *l = lanes_of(w);
	int64_t lane = w->playback->focus_rank;
	while (lane + 1 < l->lane_count && !l->lanes[lane].span_count)
		lane++;
	return lane;
}

void foreign_select_by(struct window *w, int by)
{
	struct playback *p = w->playback;
	int64_t lane = p->selected_op >= 0 ? p->selected_rank : focus_of(w);
	const struct lane *in = &lanes_of(w)->lanes[lane];
	const struct lane_span *now = p->selected_op >= 0 ? &in->spans[p->selected_op] : NULL;
	int64_t begin = now ? now->begin : p->cursor;
	int depth = now ? now->depth : -1; /* what begins at the cursor counts */
	int64_t span = by > 0 ? lane_next_span(in, begin, depth) : lane_previous_span(in, begin, now ? depth : INT_MAX);
	if (span >= 0)
		select_span(w, lane, span);
	else
		window_note(w, by > 0 ? "This lane has no span after this." : "This lane has no span before this.");
}

/* The span of another lane that is next to the cursor. */
void foreign_next_lane(struct window *w)
{
	struct playback *p = w->playback;
	const struct lanes *l = lanes_of(w);
	int64_t lane = focus_of(w);
	for (int i = 0; i < l->lane_count; i++) {
		lane = (lane + 1) % l->lane_count;
		if (l->lanes[lane].span_count)
			break;
	}
	int64_t span = lane_next_span(&l->lanes[lane], p->cursor, -1);
	select_span(w, lane, span < 0 ? lane_previous_span(&l->lanes[lane], p->cursor, INT_MAX) : span);
}

void foreign_to_selected(struct window *w)
{
	struct playback *p = w->playback;
	if (p->selected_op < 0)
		window_note(w, "No span is selected: press ↓ or ↑, or click one.");
	else
		move_cursor(w, lanes_of(w)->lanes[p->selected_rank].spans[p->selected_op].begin);
}

void foreign_go_to(struct window *w, int64_t lane, int64_t span, bool cursor)
{
	select_span(w, lane, span);
	if (cursor)
		foreign_to_selected(w);
}

/* ---- exposed communication ---- */

/* The place of the selected span among the exposed ones; their number: it is none of them. */
static size_t exposed_place(const struct window *w)
{
	const struct playback *p = w->playback;
	const struct lanes *l = lanes_of(w);
	size_t i = 0;
	if (p->selected_op < 0)
		return l->gpus.exposed_count;
	while (i < l->gpus.exposed_count &&
	       l->gpus.exposed[i].span != l->lanes[p->selected_rank].spans[p->selected_op].number)
		i++;
	return i;
}

void foreign_next_exposed(struct window *w, int by)
{
	const struct lanes *l = lanes_of(w);
	size_t count = l->gpus.exposed_count, now = exposed_place(w);
	size_t next = now < count ? now + (size_t)by : by > 0 ? 0 : count; /* before the first is a large number */
	if (!l->gpus.count) {
		window_note(w, "No span of this trace runs on a GPU, so that it has no communication to look for.");
	} else if (!count) {
		window_note(w, "All communication of this trace is hidden behind computing.");
	} else if (next >= count && by < 0) {
		window_note(w, "No communication is exposed for longer than this.");
	} else if (next >= count) {
		window_select(w, -1, -1);
		window_note(w, "This was the shortest of %zu exposed: N begins with the longest again.", count);
	} else {
		const struct exposed_span *x = &l->gpus.exposed[next];
		const struct span_place *place = &l->places[x->span];
		char words[216], time[WORD];
		foreign_go_to(w, place->lane, (int64_t)place->span, true);
		foreign_span_words(l, place->lane, (int64_t)place->span, words, sizeof words);
		window_note(w, "%zu of %zu, exposed for %s: %s", next + 1, count, time_word(time, x->exposed), words);
	}
}
