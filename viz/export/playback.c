#include "viz/export/playback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/pair.h"

enum status trace_view_open(struct trace_view *p, const struct trace *trace, const struct limits *limits,
                            const struct trace *other)
{
	enum status s = timeline_open(&p->timeline, trace, limits);
	if (s)
		return s;
	if (other && (s = timeline_open(&p->other, other, limits))) {
		timeline_release(&p->timeline);
		return s;
	}
	p->has_other = other != NULL;
	lanes_of_timeline(&p->lanes, &p->timeline);
	p->notables = notables_make(&p->lanes, &p->notable_count);
	p->exposed_count = exposed_longest(&p->lanes, p->exposed, EXPOSED_LISTED);
	if (other)
		lanes_of_timeline(&p->other_lanes, &p->other);
	return STATUS_OK;
}

void trace_view_open_foreign(struct trace_view *p, const struct trace_file *f)
{
	p->foreign = true;
	lanes_of_file(&p->lanes, f);
	p->exposed_count = exposed_longest(&p->lanes, p->exposed, EXPOSED_LISTED);
}

void trace_view_release(struct trace_view *p)
{
	if (!p)
		return;
	free(p->notables);
	lanes_release(&p->lanes);
	lanes_release(&p->other_lanes);
	timeline_release(&p->timeline);
	timeline_release(&p->other);
	*p = (struct trace_view){0};
}

void playback_init(struct playback *p, const struct fonts *fonts)
{
	*p = (struct playback){.fonts = fonts,
	                       .step_size = STEP_SIZE_ROUND,
	                       .text = 1,
	                       .values = true,
	                       .first_lane = -1,
	                       .selected_rank = -1,
	                       .selected_op = -1,
	                       .tween = 1};
}

void playback_release(struct playback *p)
{
	state_release(&p->state);
	state_release(&p->before);
	state_release(&p->second_state);
	state_release(&p->second_before);
	for (int i = 0; i < CONTENDERS; i++)
		state_release(&p->contenders[i]);
	*p = (struct playback){0};
}

void playback_show(struct playback *p, const struct trace_view *shown)
{
	p->shown = shown;
	p->from = p->to = p->cursor = 0;
	p->measured_from = p->measured_to = 0;
	p->search = NULL; /* it was of another */
	p->plan_scroll = 0;
	p->first_lane = -1;
	p->selected_rank = p->selected_op = -1;
	p->focus_rank = shown->foreign || !shown->timeline.rank_count ? 0 : shown->timeline.ranks[0].rank;
	playback_go(p, 0);
}

void playback_go(struct playback *p, size_t position)
{
	p->position = position;
	p->plan_scroll = 0;
	if (!p->shown->foreign)
		state_make(&p->state, &p->shown->timeline, p->step_size, position);
}

/* The second run's position: the last of its own stops up to the corresponding place. */
static size_t place_of_second(const struct playback *p, size_t position)
{
	const struct timeline *s = &p->second->timeline;
	size_t there = timeline_same_place(&p->shown->timeline, position, s);
	return timeline_stop(s, p->step_size, timeline_stop_of(s, p->step_size, there));
}

void playback_ask(struct playback *p, const struct asking *a)
{
	const struct question *q = a ? asking_now(a) : NULL;
	p->asking = a;
	if (!q)
		return;
	if (timeline_index_of(&p->shown->timeline, q->rank) >= 0)
		p->focus_rank = q->rank;
	p->scene = q->scene;
	p->compare = false;
	playback_pair(p, NULL);
	p->from = p->to = 0;
	p->first_lane = -1;
	p->selected_rank = p->selected_op = -1;
	p->tween = 1;
	playback_go(p, a->stage == ASKED ? q->position : q->shown);
}

void playback_make_before(struct playback *p)
{
	const struct timeline *s = &p->shown->timeline;
	if (p->shown->foreign)
		return;
	size_t before = timeline_previous(s, p->step_size, p->position);
	state_make(&p->before, s, p->step_size, before);
	if (p->second)
		state_make(&p->second_before, &p->second->timeline, p->step_size, place_of_second(p, before));
}

void playback_pair(struct playback *p, const struct trace_view *second)
{
	bool can = second && !second->foreign && !p->shown->foreign;
	p->second = can ? second : NULL;
	p->compare = p->compare && !p->second;
	/* Another one may stand where one that was freed stood. */
	state_release(&p->second_state);
	state_release(&p->second_before);
}

/* ---- the view ---- */

/* "ddp on 4 ranks beside zero3 on 4 ranks · …" */
static void make_pair_heading(struct playback *p)
{
	const char *a = p->shown->heading, *b = p->second->heading;
	char(*names)[sizeof p->pair_names[0]] = p->pair_names, common[sizeof p->shown->heading];
	pair_name(a, b, p->shown->label, names[0], sizeof names[0]);
	pair_name(b, a, p->second->label, names[1], sizeof names[1]);
	pair_common(a, b, common, sizeof common);
	bool first = !strcmp(p->shown->label, p->second->label); /* the run from before stands first */
	snprintf(p->pair_heading, sizeof p->pair_heading, tr("%.180s beside %.180s%s%s"), names[first], names[!first],
	         *common ? " · " : "", common);
}

static void say_first(char *name, size_t size, const char *word)
{
	size_t n = strlen(word), kept = strlen(name);
	kept = kept + n < size ? kept : size - n - 1;
	memmove(name + n, name, kept);
	memcpy(name, word, n);
	name[n + kept] = 0;
}

static void view_second(struct playback *p)
{
	const struct trace_view *second = p->second;
	const struct timeline *s = &second->timeline;
	struct view *v = &p->second_view;
	size_t there = place_of_second(p, p->position);
	if (p->second_state.timeline != s || p->second_state.position != there ||
	    p->second_state.step_size != p->step_size)
		state_make(&p->second_state, s, p->step_size, there);
	*v = p->view;
	v->state = &p->second_state;
	v->before = p->tween < 1 && p->second_before.timeline == s ? &p->second_before : NULL;
	v->label = second->label;
	v->lanes = &second->lanes;
	v->selected_rank = v->selected_op = -1;
	v->search = NULL; /* it is of the other */
	v->focus_rank = timeline_index_of(s, p->focus_rank) < 0 && s->rank_count ? s->ranks[0].rank : p->focus_rank;
	make_pair_heading(p);
	p->view.heading = p->pair_heading;
	p->view.name = p->pair_names[0];
	v->name = p->pair_names[1];
	p->view.second = v;
	if (!strcmp(p->view.label, v->label)) { /* what if: one strategy with other settings */
		say_first(p->pair_names[0], sizeof p->pair_names[0], tr("Now: "));
		say_first(p->pair_names[1], sizeof p->pair_names[1], tr("Before: "));
		p->view.label = tr("now");
		v->label = tr("before");
		p->view.second_first = true;
	}
	p->view.other = v->other = NULL;
}

const struct view *playback_view(struct playback *p)
{
	const struct trace_view *shown = p->shown;
	struct view *v = &p->view;
	*v = (struct view){.scene = p->scene,
	                   .theme = theme_of(p->theme),
	                   .heading = shown->heading,
	                   .label = shown->label,
	                   .state = shown->foreign ? NULL : &p->state,
	                   .before = p->tween < 1 && p->before.timeline == &shown->timeline ? &p->before : NULL,
	                   .tween = p->tween,
	                   .lanes = &shown->lanes,
	                   .other = p->beside && shown->has_other ? &shown->other_lanes : NULL,
	                   .cursor = p->cursor,
	                   .from = p->from,
	                   .to = p->to,
	                   .first_lane = p->first_lane,
	                   .selected_rank = p->selected_rank,
	                   .selected_op = p->selected_op,
	                   .focus_rank = p->focus_rank,
	                   .plan_scroll = p->plan_scroll,
	                   .search = p->search,
	                   .measured_from = p->measured_from,
	                   .measured_to = p->measured_to,
	                   .values = p->values,
	                   .over_steps = p->over_steps,
	                   .presenter = p->presenter,
	                   .note = p->note,
	                   .asking = p->asking,
	                   .hint = p->hint};
	for (int i = 0; p->compare && !shown->foreign && i < p->contender_count; i++) {
		const struct trace_view *other = p->contender[i];
		struct contender *c = &v->contender[v->contender_count];
		size_t there = timeline_same_place(&shown->timeline, p->position, &other->timeline);
		if (p->contenders[i].timeline != &other->timeline || p->contenders[i].position != there)
			state_make(&p->contenders[i], &other->timeline, p->step_size, there);
		snprintf(c->label, sizeof c->label, "%s", other->label);
		c->state = &p->contenders[i];
		v->contender_count++;
	}
	if (p->second && !shown->foreign && !v->contender_count)
		view_second(p);
	return v;
}

void playback_draw(struct playback *p, cairo_t *cr, double width, double height)
{
	struct canvas c;
	const struct view *v = playback_view(p);
	canvas_begin(&c, cr, width, height, canvas_text(width, height, p->text, p->presenter), v->theme, p->fonts);
	double side = p->whatif ? whatif_side(c.width) : 0;
	scene_draw_asking(&c, v, (struct box){0, 0, c.width - side, c.height});
	if (p->whatif)
		whatif_draw(&c, p->whatif, (struct box){c.width - side, 0, side, c.height}, false);
	canvas_end(&c);
}
