/* What lies under the mouse, in words. */
#include <stdio.h>

#include "viz/scene/scene_parts.h"

static void hit_phases(const struct score *s, struct box phases, double x, struct hit *h)
{
	h->phases = true;
	h->position = (size_t)((x - phases.x) / phases.width * (double)s->moment_count + 0.5);
	for (int i = 0; i < s->notable_count; i++)
		if (s->notables[i].position == h->position)
			snprintf(h->text, sizeof h->text, "%s", notable_name(s->notables[i].kind));
}

struct hit scene_hit(struct canvas *c, const struct view *v, struct box all, double x, double y)
{
	struct hit h = {.rank = -1, .op = -1, .time = -1};
	struct box b = frame_scene(v, all), phases = frame_phases(v, all);
	struct fit fit = scene_fit(v, b);
	if (v->state && box_has(phases, x, y)) {
		hit_phases(v->state->score, phases, x, &h);
		return h;
	}
	if (v->state && (v->contender_count || !box_has(b, x, y)))
		return h;
	fit_point(&fit, &x, &y);
	scene_of(v)->hit(c, v, fit.inner, false, x, y, &h);
	return h;
}
