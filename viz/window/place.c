/* Carries the user's place to another trace of the same model: the place of the step, the rank, the selected operation,
 * the range of the timeline. */
#include <string.h>

#include "viz/window/parts.h"

static bool is_same_op(const struct op *op, const struct same_op *s)
{
	return op->kind == s->kind && op->pass == s->pass && op->unit == s->unit && op->kernel == s->kernel &&
	       op->micro == s->micro && op->group == s->group;
}

static void remember_selected(struct place *out, const struct playback *p)
{
	const struct timeline *s = &p->shown->timeline;
	int index = timeline_index_of(s, p->selected_rank);
	if (index < 0 || p->selected_op < 0)
		return;
	const struct role *role = timeline_role_of(s, index);
	const struct op *op = &role->ops[p->selected_op];
	out->selected = p->selected_rank;
	out->op = (struct same_op){op->kind, op->pass, op->unit, op->kernel, op->micro, op->group, 1};
	for (int k = role->step.begin; k < p->selected_op; k++)
		out->op.nth += is_same_op(&role->ops[k], &out->op);
}

static bool has_stayed(const struct window *w)
{
	const struct playback *p = w->playback;
	const struct landing *l = &w->landing;
	return l->shown == p->shown && l->position == p->position && l->focus == p->focus_rank && l->from == p->from &&
	       l->to == p->to && l->selected_rank == p->selected_rank && l->selected_op == p->selected_op;
}

static void note_landing(struct window *w, const struct place *place)
{
	const struct playback *p = w->playback;
	w->landing = (struct landing){.place = *place,
	                              .shown = p->shown,
	                              .position = p->position,
	                              .focus = p->focus_rank,
	                              .from = p->from,
	                              .to = p->to,
	                              .selected_rank = p->selected_rank,
	                              .selected_op = p->selected_op};
}

static struct origin origin_at(const struct timeline *s, size_t position)
{
	struct origin out = {
	        .position = position, .instants = s->instant_count, .phases = s->stop_count[STEP_SIZE_PHASE]};
	size_t phase = timeline_stop_of(s, STEP_SIZE_PHASE, position);
	out.begin = timeline_stop(s, STEP_SIZE_PHASE, phase);
	out.end = timeline_stop(s, STEP_SIZE_PHASE, phase + 1);
	return out;
}

static struct place place_here(const struct playback *p)
{
	const struct timeline *s = &p->shown->timeline;
	struct place out = {.focus = p->focus_rank, .from = p->from, .to = p->to};
	if (p->shown->foreign)
		return out;
	out.timeline = s;
	out.position = p->position;
	out.origin = origin_at(s, p->position);
	out.step = s->step_ns;
	remember_selected(&out, p);
	return out;
}

void place_remember(struct place *out, const struct window *w)
{
	struct place here = place_here(w->playback);
	*out = here;
	if (!w->landing.shown || !has_stayed(w))
		return;
	*out = w->landing.place;
	/* The step that was shown then may be gone. */
	out->timeline = here.timeline;
	out->position = here.position;
}

/* The same operation of the same rank, if the other plan has it. */
static void select_again(struct playback *p, const struct place *place)
{
	const struct timeline *s = &p->shown->timeline;
	int index = timeline_index_of(s, place->selected), nth = 0;
	if (!place->op.nth || index < 0)
		return;
	const struct role *role = timeline_role_of(s, index);
	for (int k = role->step.begin; k < role->step.end; k++)
		if (is_same_op(&role->ops[k], &place->op) && ++nth == place->op.nth) {
			p->selected_rank = place->selected;
			p->selected_op = k;
		}
}

void place_return(const struct place *place, struct window *w)
{
	struct playback *p = w->playback;
	w->playing = false;
	w->dirty = true;
	p->tween = 1;
	if (!place->timeline || p->shown->foreign)
		return;
	const struct timeline *s = &p->shown->timeline;
	struct origin here = origin_at(s, place->origin.position);
	bool exact = !memcmp(&here, &place->origin, sizeof here); /* it is the very step, which may be made anew */
	size_t there = timeline_same_place(place->timeline, place->position, s);
	window_move(w,
	            exact ? place->origin.position
	                  : timeline_stop(s, p->step_size, timeline_stop_of(s, p->step_size, there)),
	            false);
	if (timeline_index_of(s, place->focus) >= 0)
		p->focus_rank = place->focus;
	select_again(p, place);
	if (place->from < place->to && place->step > 0) { /* the same part of the step */
		double longer = (double)s->step_ns / (double)place->step;
		p->from = (int64_t)((double)place->from * longer);
		p->to = (int64_t)((double)place->to * longer);
	}
	note_landing(w, place);
}
