/* What lies under the mouse, in words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "viz/scene/scene_parts.h"
#include "viz/scene/timeline_place.h"

static bool inside(struct box b, double x, double y)
{
	return x >= b.x && x < b.x + b.width && y >= b.y && y < b.y + b.height;
}

void op_explain(const struct score *s, int64_t rank, int op, char *out, size_t size)
{
	char words[160], begin[WORD], time[WORD], more[96] = "";
	const struct role *role = plan_role_of(s->plan, rank);
	const struct op *one = &role->ops[op];
	int index = score_index_of(s, rank), k = op - role->step.begin;
	op_describe(s->plan, one, words, sizeof words);
	if (op_class(one->kind) == OP_CLASS_C) {
		char bytes[WORD];
		snprintf(more, sizeof more, ", sends %s", bytes_word(bytes, op_sent_bytes(s->plan, role, one, rank)));
	}
	if (index < 0 || op_class(one->kind) == OP_CLASS_M || s->ranks[index].begin[k] < 0) {
		snprintf(out, size, "%d: %.120s on rank %" PRId64, op, words, rank);
		return;
	}
	snprintf(out, size, "%d: %.120s on rank %" PRId64 ": %s, from %s%s", op, words, rank,
	         time_word(time, s->ranks[index].end[k] - s->ranks[index].begin[k]),
	         time_word(begin, s->ranks[index].begin[k]), more);
}

static void hit_span(struct hit *h, const struct timeline *l, const struct lane *lane, const struct lane_span *s)
{
	char begin[WORD], time[WORD];
	if (s->name) {
		snprintf(h->text, sizeof h->text, "%.140s: %s, from %s", s->name, time_word(time, s->end - s->begin),
		         time_word(begin, s->begin));
		return;
	}
	h->op = s->op;
	op_explain(l->lanes->score, lane->rank, s->op, h->text, sizeof h->text);
}

static void hit_gap(struct hit *h, const struct lane *lane)
{
	for (size_t i = 0; i < lane->gap_count; i++)
		if (lane->gaps[i].begin <= h->time && lane->gaps[i].end > h->time) {
			char time[WORD];
			time_word(time, lane->gaps[i].end - lane->gaps[i].begin);
			snprintf(h->text, sizeof h->text, "rank %" PRId64 " does not compute for %s: %s", lane->rank,
			         time, lane->gaps[i].exposed ? "communication is exposed" : "a bubble");
		}
}

static void hit_one(struct hit *h, const struct timeline *l, double x, double y)
{
	int depth;
	if (!inside(l->plot, x, y))
		return;
	h->time = timeline_time(l, x);
	int number = timeline_lane(l, y, &depth);
	if (number < 0)
		return;
	const struct lane *lane = &l->lanes->lanes[number];
	h->rank = lane->rank;
	int64_t span = lane_span_at(lane, h->time, depth);
	if (span >= 0)
		hit_span(h, l, lane, &lane->spans[span]);
	else
		hit_gap(h, lane);
}

static void hit_timeline(struct hit *h, const struct view *v, struct box b, bool small, double x, double y)
{
	struct timeline l[2];
	if (!v->lanes || !v->lanes->lane_count)
		return;
	for (int i = 0, n = timelines_lay(l, v, b, small); i < n; i++)
		hit_one(h, &l[i], x, y);
}

void rank_explain(const struct state *st, int64_t rank, char *out, size_t size)
{
	char live[WORD], peak[WORD], sent[WORD];
	int index = score_index_of(st->score, rank);
	out[0] = 0;
	if (index < 0)
		return;
	const struct state_rank *r = &st->ranks[index];
	snprintf(out, size, "rank %" PRId64 ": holds %s (most so far %s), has sent %s in this step", rank,
	         bytes_word(live, r->live[SPACE_DEVICE]), bytes_word(peak, r->peak[SPACE_DEVICE]),
	         bytes_word(sent, r->sent));
}

struct hit scene_hit(struct canvas *c, const struct view *v, struct box all, double x, double y)
{
	struct hit h = {.rank = -1, .op = -1, .time = -1};
	struct box b = frame_scene(v, all), phases = frame_phases(v, all);
	int64_t rank = -1;
	struct fit fit = scene_fit(v, b);
	if (!v->state) {
		fit_point(&fit, &x, &y);
		hit_timeline(&h, v, fit.inner, false, x, y);
		return h;
	}
	const struct score *s = v->state->score;
	if (inside(phases, x, y)) {
		h.phases = true;
		h.position = (size_t)((x - phases.x) / phases.width * (double)s->moment_count + 0.5);
		for (int i = 0; i < s->notable_count; i++)
			if (s->notables[i].position == h.position)
				snprintf(h.text, sizeof h.text, "%s", notable_name(s->notables[i].kind));
		return h;
	}
	if (v->contender_count || !inside(b, x, y))
		return h;
	fit_point(&fit, &x, &y);
	b = fit.inner;
	struct overview o = overview_boxes(b);
	bool all_of_it = v->scene == SCENE_OVERVIEW;
	if (v->scene == SCENE_RING || (all_of_it && inside(o.ring, x, y)))
		rank = ring_rank_at(c, v, all_of_it ? o.ring : b, all_of_it, x, y);
	if (v->scene == SCENE_MEMORY || (all_of_it && inside(o.memory, x, y)))
		rank = memory_rank_at(c, v, all_of_it ? o.memory : b, all_of_it, x, y);
	if (v->scene == SCENE_TIMELINE || (all_of_it && inside(o.timeline, x, y)))
		hit_timeline(&h, v, all_of_it ? o.timeline : b, all_of_it, x, y);
	if (v->scene == SCENE_PLAN && (h.op = plan_op_at(c, v, b, x, y)) >= 0)
		h.rank = v->focus_rank;
	if (v->scene == SCENE_PLAN && h.op >= 0)
		op_explain(s, h.rank, h.op, h.text, sizeof h.text);
	if (rank >= 0) {
		h.rank = rank;
		rank_explain(v->state, rank, h.text, sizeof h.text);
	}
	return h;
}
