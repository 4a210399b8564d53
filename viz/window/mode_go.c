/* Typing a step, and going there. */
#include <stdlib.h>
#include <string.h>

#include "viz/window/mode.h"
#include "viz/window/parts.h"

static void go(struct window *w)
{
	const struct timeline *s = &w->playback->shown->timeline;
	bool typed = *w->asked != 0;
	window_leave(w);
	w->playing = false;
	if (typed)
		window_move(w, timeline_stop(s, w->playback->step_size, strtoul(w->asked, NULL, 10)), false);
}

static bool key(struct window *w, SDL_Keycode key, bool control, bool shift)
{
	size_t n = strlen(w->asked);
	(void)control;
	(void)shift;
	if (key == SDLK_BACKSPACE && n)
		w->asked[n - 1] = 0;
	else if (key == SDLK_RETURN || key == SDLK_KP_ENTER)
		go(w);
	w->dirty = true;
	return key != SDLK_ESCAPE;
}

static bool text(struct window *w, const char *text)
{
	size_t n = strlen(w->asked);
	if (text[0] >= '0' && text[0] <= '9' && n + 1 < sizeof w->asked - 4) {
		w->asked[n] = text[0];
		w->asked[n + 1] = 0;
		w->dirty = true;
	}
	return true;
}

static void draw(struct window *w, struct canvas *c, struct box all)
{
	const struct theme *t = c->theme;
	struct box b = {all.x + all.width / 2 - 150, c->height / 2 - 34, 300, 68};
	draw_card(c, b, t->panel, t->accent, 2);
	draw_text(c, b.x + 16, b.y + 28, 15, WEIGHT_BOLD, t->ink, ALIGN_LEFT, 0, "Go to step: %s_", w->asked);
	draw_text(c, b.x + 16, b.y + 52, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, 0, "Enter goes, Esc leaves");
}

const struct mode mode_go = {.entered_by = ACTION_GO, .key = key, .text = text, .draw = draw};
