/* Modes: what takes keys and the mouse before the window does, until Esc: to type a step, to answer a question, to try
 * another setting. A mode is a file that defines its row, and an action that enters it:
 *
 *     case ACTION_GO:
 *             window_enter(w, &mode_go);
 *
 * Its panel lies at the right of the scene, which becomes narrower, or in place of the scene, or before it. Its buttons
 * are widgets like the others: Tab reaches them, the mouse presses them, and a tip says what they do.
 */
#ifndef SHARDLAB_VIZ_WINDOW_MODE_H
#define SHARDLAB_VIZ_WINDOW_MODE_H

#include <SDL.h>

#include "viz/draw/draw.h"

struct window;

/* Every function may be NULL. `box`: where the mode's panel lies. */
struct mode {
	const char *name; /* in the window's title; NULL: it does not show there */
	int entered_by;   /* an action, whose button shows that the mode is on */
	bool covers;      /* its panel stands in place of the scene */
	double side;      /* units: how wide its panel is beside the scene; 0: it lies before the scene, or covers it */
	/* Adds its widgets, by widget_add(). */
	void (*lay)(struct window *w, struct canvas *c, struct box box);
	/* Below its widgets. */
	void (*draw)(struct window *w, struct canvas *c, struct box box);
	/* True: the mode has used it, and the window does not. */
	bool (*key)(struct window *w, SDL_Keycode key, bool control, bool shift);
	bool (*text)(struct window *w, const char *text);
	/* Called before the window carries out a key's or a button's action (enum action of parts.h). */
	bool (*action)(struct window *w, int action);
	/* Beside its widgets, at window.mouse_x and mouse_y: down, up, or a move. */
	bool (*mouse)(struct window *w, struct canvas *c, struct box box, Uint32 event);
	/* One of its widgets can be dragged, by its number, and was let go at window.mouse_x and mouse_y. */
	bool (*drags)(struct window *w, int number);
	void (*drop)(struct window *w, struct canvas *c, int number);
	/* One of its widgets was pressed, by its number; what it does, for the tip. */
	void (*press)(struct window *w, int number);
	const char *(*tip)(struct window *w, int number);
	/* Moves what moves by itself. Returns for how many milliseconds nothing will change; -1: until something
	 * happens. */
	int (*tick)(struct window *w, Uint64 now);
	/* Draws the picture that S saves, if it is not the scene, on the whole canvas. */
	void (*picture)(struct window *w, struct canvas *c);
	/* Another strategy is shown. */
	void (*follow)(struct window *w);
	/* Esc, or another mode. State that it keeps for the next time stays. */
	void (*leave)(struct window *w);
};

/* Types a step and goes there. */
extern const struct mode mode_go;
/* A race of algorithms; window_race() enters it. */
extern const struct mode mode_race;
/* Settings that are changed, and what becomes of the step. */
extern const struct mode mode_whatif;
/* The longest exposed communication. */
extern const struct mode mode_exposed;
/* Searches by a part of a name. */
extern const struct mode mode_search;
/* Asks what comes next; window_ask() enters it. */
extern const struct mode mode_ask;
/* Build it yourself: an empty step (viz/build/). */
extern const struct mode mode_build;

void window_enter(struct window *w, const struct mode *mode); /* a mode that is on is left */
void window_leave(struct window *w);
/* The place of the panel of the mode that is on. */
struct box mode_box(const struct window *w, const struct canvas *c);

#endif
