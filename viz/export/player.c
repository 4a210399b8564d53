#include "viz/export/player.h"

#include <stdio.h>

enum status piece_open(struct piece *p, const struct trace *trace, const struct limits *limits,
                       const struct trace *other)
{
	enum status s = score_open(&p->score, trace, limits);
	if (s)
		return s;
	if (other && (s = score_open(&p->other, other, limits))) {
		score_release(&p->score);
		return s;
	}
	p->has_other = other != NULL;
	lanes_of_score(&p->lanes, &p->score);
	if (other)
		lanes_of_score(&p->other_lanes, &p->other);
	return STATUS_OK;
}

void piece_open_foreign(struct piece *p, const struct trace_file *f)
{
	p->foreign = true;
	lanes_of_file(&p->lanes, f);
}

void piece_release(struct piece *p)
{
	if (!p)
		return;
	lanes_release(&p->lanes);
	lanes_release(&p->other_lanes);
	score_release(&p->score);
	score_release(&p->other);
	*p = (struct piece){0};
}

void player_init(struct player *p, const struct fonts *fonts)
{
	*p = (struct player){.fonts = fonts,
	                     .stride = STRIDE_ROUND,
	                     .text = 1,
	                     .first_lane = -1,
	                     .selected_rank = -1,
	                     .selected_op = -1,
	                     .tween = 1};
}

void player_release(struct player *p)
{
	state_release(&p->state);
	state_release(&p->before);
	for (int i = 0; i < CONTENDERS; i++)
		state_release(&p->contenders[i]);
	*p = (struct player){0};
}

void player_set_piece(struct player *p, const struct piece *piece)
{
	p->piece = piece;
	p->from = p->to = p->cursor = 0;
	p->plan_scroll = 0;
	p->first_lane = -1;
	p->selected_rank = p->selected_op = -1;
	p->focus_rank = piece->foreign || !piece->score.rank_count ? 0 : piece->score.ranks[0].rank;
	player_go(p, 0);
}

size_t player_corresponding(const struct score *ours, size_t position, const struct score *other)
{
	size_t phases = ours->stop_count[STRIDE_PHASE], theirs = other->stop_count[STRIDE_PHASE];
	if (ours == other)
		return position;
	if (phases != theirs) /* another number of micro-batches: by the share of the step */
		return ours->moment_count ? position * other->moment_count / ours->moment_count : 0;
	size_t k = score_stop_of(ours, STRIDE_PHASE, position);
	if (k + 1 >= phases)
		return other->moment_count;
	const size_t *a = ours->stops[STRIDE_PHASE] + k, *b = other->stops[STRIDE_PHASE] + k;
	return b[0] + (position - a[0]) * (b[1] - b[0]) / (a[1] - a[0]);
}

void player_go(struct player *p, size_t position)
{
	p->position = position;
	p->plan_scroll = 0;
	if (!p->piece->foreign)
		state_make(&p->state, &p->piece->score, p->stride, position);
}

void player_make_before(struct player *p)
{
	const struct score *s = &p->piece->score;
	if (!p->piece->foreign)
		state_make(&p->before, s, p->stride, score_previous(s, p->stride, p->position));
}

const struct view *player_view(struct player *p)
{
	const struct piece *piece = p->piece;
	struct view *v = &p->view;
	*v = (struct view){.scene = p->scene,
	                   .theme = theme_of(p->theme),
	                   .heading = piece->heading,
	                   .state = piece->foreign ? NULL : &p->state,
	                   .before = p->tween < 1 && p->before.score == &piece->score ? &p->before : NULL,
	                   .tween = p->tween,
	                   .lanes = &piece->lanes,
	                   .other = p->beside && piece->has_other ? &piece->other_lanes : NULL,
	                   .cursor = p->cursor,
	                   .from = p->from,
	                   .to = p->to,
	                   .first_lane = p->first_lane,
	                   .selected_rank = p->selected_rank,
	                   .selected_op = p->selected_op,
	                   .focus_rank = p->focus_rank,
	                   .plan_scroll = p->plan_scroll,
	                   .presenter = p->presenter,
	                   .note = p->note};
	for (int i = 0; p->compare && !piece->foreign && i < p->contender_count; i++) {
		const struct piece *other = p->contender[i];
		struct contender *c = &v->contender[v->contender_count];
		size_t there = player_corresponding(&piece->score, p->position, &other->score);
		if (p->contenders[i].score != &other->score || p->contenders[i].position != there)
			state_make(&p->contenders[i], &other->score, p->stride, there);
		snprintf(c->label, sizeof c->label, "%s", other->label);
		c->state = &p->contenders[i];
		v->contender_count++;
	}
	return v;
}

void player_draw(struct player *p, cairo_t *cr, double width, double height)
{
	struct canvas c;
	const struct view *v = player_view(p);
	canvas_begin(&c, cr, width, height, p->text * (p->presenter ? 1.12 : 1), v->theme, p->fonts);
	scene_draw(&c, v);
	canvas_end(&c);
}
