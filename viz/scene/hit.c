/* Says in words what lies under the mouse. */
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/pair.h"
#include "viz/scene/ring_parts.h"
#include "viz/scene/scene_parts.h"

static void hit_phases(const struct timeline *s, struct box phases, double x, struct hit *h)
{
	h->phases = true;
	h->position = (size_t)((x - phases.x) / phases.width * (double)s->instant_count + 0.5);
	for (int i = 0; i < s->highlight_count; i++)
		if (s->highlights[i].position == h->position)
			snprintf(h->text, sizeof h->text, "%s", tr(highlight_name(s->highlights[i].kind)));
}

struct hit scene_hit(struct canvas *c, const struct view *v, struct box all, double x, double y)
{
	struct hit h = {.rank = -1, .op = -1, .time = -1};
	struct box b = frame_scene(v, all), phases = frame_phases(v, all);
	if (v->state && box_has(phases, x, y)) {
		hit_phases(v->state->timeline, phases, x, &h);
		return h;
	}
	if (v->state && (v->contender_count || !box_has(b, x, y)))
		return h;
	struct pair pair;
	const struct view *there = pair_at(&pair, v, &b, x, y);
	if (!there)
		return h;
	struct fit fit = scene_fit(there, b);
	c->least = frame_least(v, all) / fit.scale;
	fit_point(&fit, &x, &y);
	fit.row->hit(c, there, fit.inner, false, x, y, &h);
	/* The second of two is looked at: what is selected belongs to the first. */
	if (v->second && there->state == v->second->state) {
		h.rank = h.op = -1;
		h.moves = false;
	}
	return h;
}

struct box scene_ledger(const struct view *v, struct box all)
{
	struct box b = frame_scene(v, all);
	struct fit fit = scene_fit(v, b);
	bool shows = fit.row == &scene_ring && !v->second && !v->contender_count && v->state->collective >= 0;
	struct box one = ring_ledger_box(fit.inner, !shows);
	return (struct box){b.x + (one.x - fit.inner.x) * fit.scale, b.y, one.width * fit.scale, b.height};
}
