/* The window: playback controlled by keys and mouse. Pictures are drawn when something has changed, and only then;
 * while nothing moves the program sleeps.
 *
 *     struct window *w;
 *     status = window_open(&w, &playback, &picture, &host, true);
 *     status = window_run(w);
 *     window_close(w);
 *
 * Everything can be done with keys, and everything that a letter does with a button too: one table (ACTION_LIST) has
 * both, and the help text.
 */
#ifndef SHARDLAB_VIZ_WINDOW_H
#define SHARDLAB_VIZ_WINDOW_H

#include "viz/build/board.h"
#include "viz/export/export.h"
#include "viz/race/race.h"

union SDL_Event;

/* Functions that the program gives the window. It shows a failure, and goes on. */
struct window_host {
	void *context;
	int strategies;
	const char *(*strategy)(void *context, int i); /* its name */
	enum status (*open)(void *context, int i);     /* gives the playback another trace to show */
	enum status (*compare)(void *context);         /* gives the playback contenders */
	enum status (*pair)(void *context, int i);     /* gives it a second strategy beside the shown one */
	/* Fills in a race (viz/race/race.h) on the cluster of what is shown, or why there is none. */
	void (*race)(void *context, struct race *r);
	/* A line that restores what the playback shows; in a window of that size, in screen units (0: not said). */
	const char *(*command)(void *context, int width, int height);
	/* Changes settings, and gives the playback what they lead to, in playback.whatif too. Failed: all is
	 * as it was. NULL: nothing can be changed. */
	enum status (*change)(void *context, const struct whatif_change *change);
	/* Work that can wait until the picture is drawn, a little of it. False: there is none. */
	bool (*later)(void *context);
	/* The same of a step that is put together. */
	const char *(*build_command)(void *context, int width, int height, const char *moves);
	struct build_host build; /* for "build it yourself"; plan NULL: there is none */
	bool asked_size;         /* the user wants this size; otherwise it is at most what the display has room for */
};

struct window;

/* size: in screen units. motion: messages travel. STATUS_INPUT: there is no display. */
enum status window_open(struct window **out, struct playback *p, const struct picture *size,
                        const struct window_host *host, bool motion);
/* Enters a race, of what is shown or of these; a race that is on is left. */
void window_race(struct window *w, const struct race *what);
/* Asks questions from where the playback stands, or says why there are none; once more: no longer. */
void window_ask(struct window *w);
/* Begins with "build it yourself", these moves placed (exercise_play); NULL: none. */
enum status window_begin_building(struct window *w, const char *moves);
/* Until the user leaves. */
enum status window_run(struct window *w);
void window_close(struct window *w); /* accepts NULL */

/* For tests and measurements: one event, and one turn of the loop, which draws if something has changed. False: the
 * user has left. */
void window_handle(struct window *w, const union SDL_Event *e);
bool window_turn(struct window *w);
/* Describes what the window shows; it is the title, too. */
const char *window_title(struct window *w);

#endif
