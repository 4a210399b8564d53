/* Shared by the files of `view`. */
#ifndef SHARDLAB_VIEW_OPEN_H
#define SHARDLAB_VIEW_OPEN_H

#include "cli/command/view_whatif.h"
#include "cli/command/view_work.h"
#include "viz/build/board.h"
#include "viz/export/export.h"
#include "viz/race/race.h"
#include "viz/window/window.h"

enum { VIEWS = 2 * CONTENDERS, HISTORY = 64 };

struct viewer;

/* A way of showing a step: the option that asks for it, and what it does. */
struct way {
	enum option option;
	const char *name; /* of the picture, if it is one that has no steps: "a race" */
	/* Called once the step is loaded; NULL: there is nothing to do. */
	enum status (*begin)(struct viewer *v);
	enum status (*describe)(struct viewer *v, FILE *out);
	/* viewer: a struct viewer. NULL: the step's own picture is drawn. */
	void (*draw)(void *viewer, cairo_t *cr, double width, double height);
};

extern const struct way way_race, way_ask, way_build;

struct viewer {
	const struct options *options;
	const struct way *way;
	enum export_format format; /* of --export */
	struct playback playback;
	struct picture size;
	/* Steps that were made, the first of them the one that was asked for: with which changes, and when each was
	 * used last; 0: the place is empty. */
	struct loaded loaded[VIEWS];
	struct changes changes[VIEWS];
	unsigned long used[VIEWS], uses;
	/* what if */
	struct changes past[HISTORY]; /* past[at] is what is made now; later ones were undone */
	int past_count, at, drag_from;
	const struct loaded *before; /* the shown step without changes; NULL: it makes no sense */
	bool together;               /* it stands beside the changed one */
	struct whatif whatif;
	struct busy busy;                /* the window, while it waits for a change */
	struct race race;                /* --race */
	struct board *board;             /* --build without a window */
	struct asking asking;            /* with --ask */
	struct job built;                /* the strategy of the step that the user builds */
	const struct loaded *built_from; /* the plan that was shown then */
};

/* --pair: the step without the changes of --what-if. */
#define PAIR_BEFORE "before"

/* True if it shows a file, which has no other strategies. */
bool viewer_alone(const struct viewer *v);
/* The option that named it. */
enum option viewer_source(const struct viewer *v);
/* Loads the strategies of a list and sets the playback to compare them. */
enum status viewer_compare(struct viewer *v, const char *list);

/* Loads a strategy and shows it beside the shown one (playback_pair). */
enum status viewer_pair(struct viewer *v, const char *strategy);
/* Loads another recorded run, whose path that is, and shows it beside the one of --trace. */
enum status viewer_pair_traces(struct viewer *v, const char *path);
/* A strategy with the changes of now; with any. It is made unless it is there; it stays while it is shown. */
enum status viewer_load(struct viewer *v, const char *strategy, struct loaded **out);
enum status viewer_find(struct viewer *v, const struct changes *c, const char *strategy, struct loaded **out);
/* Shows the step that the options ask for; the playback is ready for it. */
enum status viewer_begin(struct viewer *v, const struct options *o);
/* The step that is shown. */
struct loaded *viewer_shown(struct viewer *v);
void viewer_release(struct viewer *v);

/* It prints text or writes pictures. */
bool viewer_windowless(const struct viewer *v);
/* Puts the playback where the options say. */
enum status viewer_place(struct viewer *v);

/* The cluster of what is shown, with whatever links it has. */
const char *viewer_cluster(struct viewer *v);
/* ---- what if (view_whatif.c) ---- */

static inline const struct changes *viewer_changes(const struct viewer *v)
{
	return &v->past[v->at];
}
/* Makes the changes of --what-if and shows the panel. */
enum status viewer_what_if(struct viewer *v, const char *text);
/* For the window: struct window_host. */
enum status viewer_change(void *viewer, const struct whatif_change *c);
/* The options that make the shown step anew: the settings, and --what-if where the panel is open. */
void viewer_say_settings(const struct viewer *v, struct arguments *a);
/* Brings the panel up to date with what is shown. */
void viewer_fill(struct viewer *v);

/* The window's requests to the program. */
struct window_host viewer_host(struct viewer *v);
/* Build it yourself (view_build.c): checks the options, and answers the window's requests. */
enum status viewer_build_check(const struct options *o);
struct build_host viewer_build_host(struct viewer *v);
/* The list of --moves, from a file or the command line, to be freed; NULL: none was given. */
enum status viewer_moves(const struct options *o, char **out);

enum status viewer_window(struct viewer *v);

#endif
