/* The things that one looks at: the selected operation, the rank, the range of the timeline, the lines of the plan. */
#include <math.h>

#include "viz/scene/lane_area.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/scene_parts.h"
#include "viz/window/parts.h"

bool window_has_timeline(const struct window *w)
{
	const struct playback *p = w->playback;
	return p->shown->foreign || (!p->compare && scene_row(p->scene)->timeline);
}

/* ---- the selection ---- */

void window_select(struct window *w, int64_t rank, int op)
{
	struct playback *p = w->playback;
	if (rank >= 0)
		p->focus_rank = rank;
	p->selected_rank = op >= 0 ? rank : -1;
	p->selected_op = op;
	w->focus = -1; /* Enter is about the selection now */
	w->dirty = true;
}

/* The range moves there. */
void window_show(struct window *w, int64_t begin, int64_t end)
{
	struct playback *p = w->playback;
	int64_t width = p->to - p->from;
	if (width <= 0 || (end > p->from && begin < p->to))
		return;
	int64_t last = p->shown->lanes.end, from = begin - width / 3;
	from = from + width > last ? last - width : from;
	p->from = from < 0 ? 0 : from;
	p->to = p->from + width;
}

/* Along the order of issue. Memory operations are lines of the plan, but nothing in a timeline. */
void window_select_by(struct window *w, int by)
{
	struct playback *p = w->playback;
	const struct timeline *s = &p->shown->timeline;
	if (p->shown->foreign) {
		foreign_select_by(w, by);
		return;
	}
	int index = timeline_index_of(s, p->focus_rank);
	if (index < 0)
		return;
	const struct role *role = timeline_role_of(s, index);
	const struct timeline_rank *r = &s->ranks[index];
	int now = plan_current_op(&p->state, index);
	bool selected = p->selected_op >= role->step.begin && p->selected_op < role->step.end &&
	                p->selected_rank == p->focus_rank;
	int op = selected ? p->selected_op + by : now;
	while (p->scene != SCENE_PLAN && op >= role->step.begin && op < role->step.end &&
	       op_class(role->ops[op].kind) == OP_CLASS_M)
		op += by;
	if (op < role->step.begin || op >= role->step.end) {
		window_note(w, by > 0 ? "This is the last operation of the step."
		                      : "This is the first operation of the step.");
		return;
	}
	window_select(w, p->focus_rank, op);
	p->plan_scroll = op - now;
	p->first_lane = -1;
	char text[256];
	int k = op - role->step.begin;
	if (r->begin[k] >= 0)
		window_show(w, r->begin[k], r->end[k]);
	op_explain(s, p->focus_rank, op, text, sizeof text);
	window_note(w, "%s", text);
}

void window_next_rank(struct window *w)
{
	struct playback *p = w->playback;
	const struct timeline *s = &p->shown->timeline;
	char text[256];
	if (p->shown->foreign) {
		foreign_next_lane(w);
		return;
	}
	if (!s->rank_count)
		return;
	int index = timeline_index_of(s, p->focus_rank);
	p->focus_rank = s->ranks[(index + 1) % s->rank_count].rank;
	p->selected_rank = p->selected_op = -1;
	p->first_lane = -1;
	p->plan_scroll = 0;
	rank_explain(&p->state, p->focus_rank, text, sizeof text);
	window_note(w, "%s", text);
}

void window_to_selected(struct window *w)
{
	struct playback *p = w->playback;
	const struct timeline *s = &p->shown->timeline;
	if (p->shown->foreign) {
		foreign_to_selected(w);
		return;
	}
	int index = timeline_index_of(s, p->selected_rank);
	if (index < 0 || p->selected_op < 0) {
		window_note(w, "No operation is selected: press ↓ or ↑, or click one.");
		return;
	}
	int k = p->selected_op - timeline_role_of(s, index)->step.begin;
	size_t event = s->ranks[index].event[k];
	if (event == SIZE_MAX) {
		window_note(w, "Nothing was recorded of this operation.");
		return;
	}
	w->playing = false;
	window_move(w, timeline_position_of(s, event), false);
}

/* ---- what is worth looking at ---- */

void window_go_to(struct window *w, int64_t rank, int op, bool cursor)
{
	struct playback *p = w->playback;
	const struct timeline *s = &p->shown->timeline;
	if (p->shown->foreign) {
		foreign_go_to(w, rank, op, cursor);
		return;
	}
	int index = timeline_index_of(s, rank), k = op - timeline_role_of(s, index)->step.begin;
	window_select(w, rank, op);
	p->first_lane = -1;
	if (s->ranks[index].begin[k] >= 0)
		window_show(w, s->ranks[index].begin[k], s->ranks[index].end[k] + 1);
	if (cursor)
		window_to_selected(w);
}

void window_next_collective(struct window *w, int by)
{
	struct playback *p = w->playback;
	size_t there =
	        p->shown->foreign ? SIZE_MAX : timeline_collective_begin(&p->shown->timeline, p->position, by > 0);
	w->playing = false;
	if (there != SIZE_MAX)
		window_move(w, there, false);
	else
		window_note(w, p->shown->foreign ? "L lists the communication of this trace."
		               : by > 0          ? "No collective begins after this."
		                                 : "No collective begins before this.");
}

void window_next_notable(struct window *w, int by)
{
	struct playback *p = w->playback;
	const struct trace_view *shown = p->shown;
	int count = (int)shown->notable_count;
	char words[216];
	if (shown->foreign) {
		foreign_next_exposed(w, by);
		return;
	}
	w->notable = w->notable_of == shown ? w->notable : -1;
	w->notable_of = shown;
	w->playing = false;
	if (w->notable + by < 0 || w->notable + by >= count) {
		window_note(w,
		            count ? by > 0 ? "Nothing matters less than this: N begins with the most important again."
		                           : "Nothing matters more than this."
		                  : "Nothing stands out in this step.");
		w->notable = by > 0 ? -1 : w->notable;
		return;
	}
	const struct notable *n = &shown->notables[w->notable += by];
	/* The step that shows it; phases are too long for that. */
	enum step_size size = p->step_size == STEP_SIZE_MESSAGE ? STEP_SIZE_MESSAGE : STEP_SIZE_ROUND;
	const struct timeline *s = &shown->timeline;
	size_t there = timeline_stop(s, size, timeline_stop_showing(s, size, n->position));
	window_move(w, there, false);
	window_select(w, n->rank, n->op);
	p->first_lane = -1;
	window_show(w, timeline_time(s, there), timeline_time(s, there) + 1);
	notable_words(s, n, words, sizeof words);
	window_note(w, "%d of %d: %s.", w->notable + 1, count, words);
}

/* ---- the measured range ---- */

void window_put_away(struct window *w)
{
	struct playback *p = w->playback;
	w->put_away_from = p->measured_from;
	w->put_away_to = p->measured_to;
	w->dirty |= p->measured_from < p->measured_to;
	p->measured_from = p->measured_to = 0;
}

void window_fit(struct window *w)
{
	struct playback *p = w->playback;
	bool there = p->from == p->measured_from && p->to == p->measured_to;
	p->from = there ? 0 : p->measured_from;
	p->to = there ? 0 : p->measured_to;
	p->first_lane = -1;
	w->dirty = true;
}

/* When the selected operation's rank had come to it, and when it ended. False: nothing is selected that has a time. */
static bool time_of_selected(const struct playback *p, int64_t *from, int64_t *to)
{
	const struct timeline *s = &p->shown->timeline;
	if (p->selected_op < 0)
		return false;
	if (p->shown->foreign) {
		const struct lane_span *span = &p->shown->lanes.lanes[p->selected_rank].spans[p->selected_op];
		*from = span->begin;
		*to = span->end;
		return *to > *from;
	}
	int index = timeline_index_of(s, p->selected_rank);
	const struct section *step = index < 0 ? NULL : &timeline_role_of(s, index)->step;
	if (!step || p->selected_op < step->begin || p->selected_op >= step->end)
		return false;
	*from = timeline_wait(s, index, p->selected_op).begin;
	*to = s->ranks[index].end[p->selected_op - step->begin];
	return *from >= 0 && *to > *from;
}

void window_measure(struct window *w)
{
	struct playback *p = w->playback;
	if (p->measured_from < p->measured_to)
		window_put_away(w);
	else if (!window_has_timeline(w))
		window_note(w, "The timeline is not shown: press V, or click its name.");
	else if (!time_of_selected(p, &p->measured_from, &p->measured_to))
		lane_area_range(playback_view(p), &p->measured_from, &p->measured_to);
	w->dirty = true;
}

/* ---- the range ---- */

/* The middle of the visible part of the selected operation, or else the cursor, or the middle of the range. */
static int64_t middle_of_zoom(const struct playback *p, int64_t from, int64_t to)
{
	int64_t begin, end, cursor = p->shown->foreign ? p->cursor : p->state.time;
	if (time_of_selected(p, &begin, &end) && begin < to && end > from) {
		begin = begin > from ? begin : from;
		end = end < to ? end : to;
		return begin + (end - begin) / 2;
	}
	return cursor >= from && cursor <= to ? cursor : from + (to - from) / 2;
}

void window_zoom(struct window *w, int64_t at, double factor)
{
	struct playback *p = w->playback;
	int64_t from, to, first, last;
	lane_area_range(playback_view(p), &from, &to);
	if (at < 0)
		at = middle_of_zoom(p, from, to);
	p->from = p->to = 0;
	lane_area_range(playback_view(p), &first, &last);
	double width = fmin((double)(last - first), fmax(20, (double)(to - from) * factor));
	double part = (double)(at - from) / (double)(to - from);
	p->from = at - (int64_t)(width * part);
	p->from = p->from < first ? first : p->from;
	p->to = p->from + (int64_t)width;
	if (p->to > last) {
		p->to = last;
		p->from = last - (int64_t)width;
	}
	if (p->from <= first && p->to >= last)
		p->from = p->to = 0;
	w->dirty = true;
}

void window_pan(struct window *w, double part)
{
	struct playback *p = w->playback;
	int64_t first, last, from = p->from, to = p->to;
	if (from >= to)
		return;
	p->from = p->to = 0;
	lane_area_range(playback_view(p), &first, &last);
	int64_t by = (int64_t)((double)(to - from) * part), width = to - from;
	from = from + by < first ? first : from + by;
	from = from + width > last ? last - width : from;
	p->from = from;
	p->to = from + width;
	w->dirty = true;
}

/* Lines of the plan, or lanes of the timeline. */
void window_scroll(struct window *w, int lines)
{
	struct playback *p = w->playback;
	w->dirty = true;
	if (!p->shown->foreign && p->scene == SCENE_PLAN && !p->compare) {
		int index = timeline_index_of(&p->shown->timeline, p->focus_rank), ops = 0;
		if (index >= 0)
			ops = timeline_role_of(&p->shown->timeline, index)->step.end;
		p->plan_scroll = (int)fmin(ops, fmax(-ops, p->plan_scroll + lines));
		return;
	}
	if (!window_has_timeline(w))
		return;
	int at = p->first_lane;
	const struct lanes *lanes = lane_area_lanes(&p->shown->lanes, 0); /* those that scroll */
	for (int i = 0; at < 0 && i < lanes->lane_count; i++)
		if (p->shown->foreign || lane_has_rank(lanes, &lanes->lanes[i], p->focus_rank))
			at = i;
	p->first_lane = (int)fmin(lanes->lane_count - 1, fmax(0, at + lines));
}
