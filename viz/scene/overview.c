/* All that is most worth seeing on one cursor: the collective, memory, and below them the timeline. */
#include <math.h>

#include "viz/scene/scene_parts.h"

struct overview overview_boxes(struct box b)
{
	double gap = 14, upper = floor(b.height * 0.6), left = floor(b.width * 0.58);
	return (struct overview){.ring = {b.x, b.y, left, upper},
	                         .memory = {b.x + left + gap, b.y, b.width - left - gap, upper},
	                         .timeline = {b.x, b.y + upper + gap, b.width, b.height - upper - gap}};
}

static void draw(struct canvas *c, const struct view *v, struct box b, bool small)
{
	struct overview o = overview_boxes(b);
	(void)small;
	scene_ring.draw(c, v, o.ring, true);
	scene_memory.draw(c, v, o.memory, true);
	scene_timeline.draw(c, v, o.timeline, true);
}

static void hit(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y, struct hit *h)
{
	struct overview o = overview_boxes(b);
	(void)small;
	if (box_has(o.ring, x, y))
		scene_ring.hit(c, v, o.ring, true, x, y, h);
	if (box_has(o.memory, x, y))
		scene_memory.hit(c, v, o.memory, true, x, y, h);
	if (box_has(o.timeline, x, y))
		scene_timeline.hit(c, v, o.timeline, true, x, y, h);
}

/* ---- with little room ---- */

static struct overview upright_boxes(struct box b)
{
	double upper = floor(b.height * 0.5), gap = 10;
	return (struct overview){.ring = {b.x, b.y, b.width, upper},
	                         .memory = {b.x, b.y + upper + gap, b.width, b.height - upper - gap}};
}

static void draw_collective(struct canvas *c, const struct view *v, struct box b, bool small)
{
	(void)small;
	scene_ring.draw(c, v, b, true);
}

static void hit_collective(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y,
                           struct hit *h)
{
	(void)small;
	scene_ring.hit(c, v, b, true, x, y, h);
}

/* Memory has a title, bars, what they hold, and a legend, in lines as high as the least text. */
static bool has_room_for_memory(const struct canvas *c, const struct overview *o)
{
	return o->memory.height >= 60 + 12 * c->least;
}

static void draw_upright(struct canvas *c, const struct view *v, struct box b, bool small)
{
	struct overview o = upright_boxes(b);
	if (!has_room_for_memory(c, &o)) {
		draw_collective(c, v, b, small);
		return;
	}
	scene_ring.draw(c, v, o.ring, true);
	scene_memory.draw(c, v, o.memory, true);
}

static void hit_upright(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y,
                        struct hit *h)
{
	struct overview o = upright_boxes(b);
	if (!has_room_for_memory(c, &o)) {
		hit_collective(c, v, b, small, x, y, h);
		return;
	}
	if (box_has(o.ring, x, y))
		scene_ring.hit(c, v, o.ring, true, x, y, h);
	if (box_has(o.memory, x, y))
		scene_memory.hit(c, v, o.memory, true, x, y, h);
}

const struct scene_row scene_ring_alone = {
        .title = "Collective",
        .what = "ranks, links, and what every chunk holds",
        .width = 540,
        .height = 300,
        .elastic = true,
        .draw = draw_collective,
        .hit = hit_collective,
        .messages = true,
};

const struct scene_row scene_upright = {
        .title = "Overview",
        .what = "the collective and the memory",
        .width = 510,
        .height = 478,
        .draw = draw_upright,
        .hit = hit_upright,
        .messages = true,
};

const struct scene_row scene_overview = {
        .title = "Overview",
        .what = "all on one cursor",
        .width = 880,
        .height = 390,
        .draw = draw,
        .hit = hit,
        .messages = true,
        .timeline = true,
        .narrow = &scene_upright,
};
