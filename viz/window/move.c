
#include "strategy/base/language.h"
#include "viz/window/parts.h"

void window_note(struct window *w, const char *format, ...)
{
	WITH_ARGS(format, status_format(w->playback->note, sizeof w->playback->note, tr(format), args));
	w->note_until = SDL_GetTicks64() + 4000;
	w->dirty = true;
}

void window_finish_tween(struct window *w)
{
	w->playback->tween = 1;
	w->dirty = true;
}

/* Messages travel on the way forward; every other way lands on the settled state at once. */
void window_move(struct window *w, size_t position, bool tween)
{
	struct playback *p = w->playback;
	if (p->shown->foreign)
		return;
	playback_go(p, position);
	p->tween = 1;
	w->dirty = true;
	if (w->note_until) {
		w->note_until = 0;
		p->note[0] = 0;
	}
	if (!tween || !w->motion || !scene_row(p->scene)->messages)
		return;
	const struct timeline *s = &p->shown->timeline;
	for (size_t i = p->state.latest; i < p->state.latest_end; i++)
		if (s->events[i].kind == EVENT_MESSAGE) {
			playback_make_before(p);
			p->tween = 0;
			w->tweened = SDL_GetTicks64();
			return;
		}
}
