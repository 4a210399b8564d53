/* Search by a part of a name, and go from hit to hit. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/window/parts.h"

static void go(struct window *w, bool cursor)
{
	const struct search *s = &w->search;
	w->dirty = true;
	if (s->count)
		window_go_to(w, s->hits[w->found].rank, s->hits[w->found].op, cursor);
}

/* Searches for a text; called when the text or the trace changes. */
static void search(struct window *w, const char *text)
{
	const struct playback *p = w->playback;
	int64_t now = p->shown->foreign ? p->cursor : p->state.time;
	search_make(&w->search, &p->shown->lanes, text);
	w->searched = p->shown;
	w->found = search_from(&w->search, now);
	w->playback->search = &w->search;
	go(w, false);
}

static void step(struct window *w, bool back)
{
	size_t count = w->search.count;
	if (!count)
		return;
	if (w->visited)
		w->found = (w->found + (back ? count - 1 : 1)) % count;
	w->visited = true;
	go(w, true);
}

/* The last character, which may have several bytes. */
static void shorten(char *text)
{
	size_t n = strlen(text);
	while (n && (text[n - 1] & 0xC0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = 0;
}

static bool key(struct window *w, SDL_Keycode key, bool control, bool shift)
{
	char text[SEARCH_TEXT];
	memcpy(text, w->search.text, sizeof text);
	if (key == SDLK_RETURN || key == SDLK_KP_ENTER) {
		step(w, shift);
	} else if (key == SDLK_BACKSPACE) {
		shorten(text);
		w->visited = false;
		search(w, text);
	} else {
		return key == SDLK_SPACE && !control;
	}
	return true;
}

static bool text(struct window *w, const char *typed)
{
	char text[SEARCH_TEXT];
	if (!strcmp(typed, "/") && !*w->search.text) /* the key that has brought us here */
		return true;
	bool room = strlen(w->search.text) + strlen(typed) < sizeof text;
	snprintf(text, sizeof text, "%s%s", w->search.text, room ? typed : "");
	w->visited = false;
	search(w, text);
	return true;
}

static void result_words(const struct window *w, char *out, size_t size)
{
	const struct search *s = &w->search;
	if (!*s->text)
		snprintf(out, size, tr("a part of the name of an operation, a buffer or a span"));
	else if (!s->count)
		snprintf(out, size, tr("nothing has this in its name"));
	else
		snprintf(out, size, tr("%zu of %zu"), w->found + 1, s->count);
}

/* Another trace is shown: what is typed is searched there. */
static void lay(struct window *w, struct canvas *c, struct box all)
{
	char text[SEARCH_TEXT];
	(void)c;
	(void)all;
	if (w->playback->search && w->searched == w->playback->shown)
		return;
	memcpy(text, w->search.text, sizeof text);
	search(w, text);
}

static void draw(struct window *w, struct canvas *c, struct box all)
{
	const struct theme *t = c->theme;
	char result[96];
	double width = fmin(470, all.width - 16);
	struct box b = {all.x + (all.width - width) / 2, all.y + 2, width, 56};
	bool none = *w->search.text && !w->search.count;
	result_words(w, result, sizeof result);
	draw_card(c, b, t->panel, none ? t->warning : t->accent, 2);
	draw_text(c, b.x + 14, b.y + 23, 15, WEIGHT_BOLD, t->ink, ALIGN_LEFT, width * 0.58, "/ %s_", w->search.text);
	draw_text(c, b.x + 14, b.y + 44, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, width - 28,
	          "Enter: next · Shift Enter: back · Backspace · Esc: leave");
	draw_text(c, b.x + width - 14, b.y + 23, *w->search.text ? 15 : 11, WEIGHT_BOLD, none ? t->warning : t->ink,
	          ALIGN_RIGHT, width * (*w->search.text ? 0.6 : 0.75), "%s", result);
}

static void leave(struct window *w)
{
	search_release(&w->search);
	w->playback->search = NULL;
	w->visited = false;
}

const struct mode mode_search = {.entered_by = ACTION_SEARCH,
                                 .name = "search",
                                 .lay = lay,
                                 .key = key,
                                 .text = text,
                                 .draw = draw,
                                 .leave = leave};
