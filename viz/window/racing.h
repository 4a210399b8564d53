/* The race of algorithms in the window: what it asks (racing.c), and the mode that shows it (mode_race.c). */
#ifndef SHARDLAB_VIZ_WINDOW_RACING_H
#define SHARDLAB_VIZ_WINDOW_RACING_H

#include <SDL.h>

#include "viz/race/race.h"

struct window;

enum { RACE_FIELD_NONE, RACE_FIELD_BYTES, RACE_FIELD_RANKS };

struct racing {
	struct race race;
	bool stale; /* the request has changed */
	double now; /* ns: its clock */
	bool playing;
	Uint64 turned;     /* ms: when the clock was moved last */
	int field, slider; /* the field being typed, and the slider the mouse holds */
	char typed[24], labels[4][64], note[256];
};

/* Runs what is asked, if it has changed since. */
void racing_ask(struct window *w);
void racing_change(struct window *w, int64_t bytes, int64_t ranks);
void racing_change_bytes(struct window *w, bool more);
void racing_change_ranks(struct window *w, int by);
void racing_change_operation(struct window *w);
void racing_change_chart(struct window *w); /* over sizes, over ranks */
/* From a slider: two digits that count, and whole elements. */
int64_t racing_round_bytes(double bytes);

/* A value that is typed: begins, and takes keys and text, until Enter or Esc. True: they are used. */
void racing_type(struct window *w, int field);
bool racing_key(struct window *w, SDL_Keycode key, bool control, bool shift);
bool racing_text(struct window *w, const char *text);

/* The operation, the message and the ranks of the collective that is shown. */
void racing_begin_with_shown(struct window *w);

#endif
