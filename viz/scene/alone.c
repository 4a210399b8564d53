/* A scene without the words around it. */
#include <math.h>

#include "viz/scene/scene_parts.h"

enum { EDGE = 8, PHASES = 30, GAP = 14, NARROW = 600 };

/* The least size of a scene as a part of another. */
static const struct {
	double width, height;
} parts[SCENE_COUNT] = {
        [SCENE_RING] = {510, 234},
        [SCENE_MEMORY] = {356, 234},
        [SCENE_TIMELINE] = {420, 142},
};

static void draw_part(struct canvas *c, const struct view *v, enum scene scene, struct box b)
{
	double scale = fmin(1, fmin(b.width / parts[scene].width, b.height / parts[scene].height));
	cairo_save(c->cr);
	cairo_translate(c->cr, b.x, b.y);
	cairo_scale(c->cr, scale, scale);
	c->pixel /= scale;
	scene_row(scene)->draw(c, v, (struct box){0, 0, b.width / scale, b.height / scale}, true);
	c->pixel *= scale;
	cairo_restore(c->cr);
}

/* One below the other. */
static void draw_overview(struct canvas *c, const struct view *v, struct box b)
{
	static const struct {
		enum scene scene;
		double part;
	} shown[] = {{SCENE_RING, 0.4}, {SCENE_MEMORY, 0.35}, {SCENE_TIMELINE, 0.25}};
	double room = fmax(1, b.height - 2 * GAP), y = b.y;
	for (int i = 0; i < 3; i++) {
		double height = shown[i].part * room;
		draw_part(c, v, shown[i].scene, (struct box){b.x, y, b.width, height});
		y += height + GAP;
	}
}

void scene_draw_alone(struct canvas *c, const struct view *v)
{
	double phases = v->state ? PHASES : 0;
	struct box b = {EDGE, EDGE, fmax(1, c->width - 2 * EDGE), fmax(1, c->height - phases - EDGE)};
	bool narrow = b.width < NARROW && v->state && !v->contender_count && !asking_hides(v->asking);
	if (narrow && v->scene == SCENE_OVERVIEW)
		draw_overview(c, v, b);
	else if (narrow && v->scene == SCENE_RING)
		draw_part(c, v, SCENE_RING, b);
	else
		draw_fitted(c, v, b);
	if (v->state)
		draw_phases(c, v, (struct box){b.x, c->height - PHASES, b.width, PHASES});
}
