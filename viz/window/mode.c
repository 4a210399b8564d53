#include "viz/window/mode.h"

#include <math.h>

#include "viz/window/parts.h"

void window_leave(struct window *w)
{
	const struct mode *was = w->mode;
	w->mode = NULL;
	w->focus = -1;
	w->dirty = true;
	if (was && was->leave)
		was->leave(w);
}

void window_enter(struct window *w, const struct mode *mode)
{
	bool again = w->mode == mode;
	window_leave(w);
	w->mode = again ? NULL : mode;
}

/* Between the two bars of buttons. */
static struct box between_bars(const struct window *w, const struct canvas *c)
{
	if (w->playback->presenter)
		return (struct box){0, 0, c->width, c->height};
	return (struct box){0, w->top, c->width, fmax(1, c->height - w->top - w->bottom)};
}

static double side_of(const struct window *w, const struct canvas *c)
{
	return w->mode ? fmin(w->mode->side, c->width / 2) : 0;
}

struct box window_scene_box(const struct window *w, const struct canvas *c)
{
	struct box b = between_bars(w, c);
	b.width -= side_of(w, c);
	return b;
}

struct box mode_box(const struct window *w, const struct canvas *c)
{
	struct box b = between_bars(w, c);
	double side = side_of(w, c);
	return side > 0 ? (struct box){b.x + b.width - side, b.y, side, b.height} : b;
}
