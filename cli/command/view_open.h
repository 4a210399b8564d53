/* What the files of `view` share. */
#ifndef SHARDLAB_VIEW_OPEN_H
#define SHARDLAB_VIEW_OPEN_H

#include "cli/command/view_load.h"
#include "viz/build/board.h"
#include "viz/export/export.h"
#include "viz/race/race.h"

struct viewer {
	const struct options *options;
	struct playback playback;
	struct picture size;
	struct loaded loaded[2 * CONTENDERS]; /* the first is the one that was asked for */
	int loaded_count;
	struct race race;     /* --race */
	struct asking asking; /* with --ask */
	struct job built;     /* whose step one puts together */
};

/* Is it a file's, which has no other strategies? */
bool viewer_alone(const struct viewer *v);
/* Loads the strategies of a list and sets the playback to compare them. */
enum status viewer_compare(struct viewer *v, const char *list);

/* Loads a strategy and shows it beside the shown one (playback_pair). */
enum status viewer_pair(struct viewer *v, const char *strategy);
/* The place of a strategy among those loaded, which it keeps. */
enum status viewer_load(struct viewer *v, const char *strategy, struct loaded **out);

/* --race: runs it, draws it where the fastest is done (viewer: a struct viewer), prints it. */
enum status viewer_race(struct viewer *v);
void viewer_race_draw(void *viewer, cairo_t *cr, double width, double height);
/* The cluster of what is shown, with whatever links it has. */
const char *viewer_cluster(const struct viewer *v);
/* Build it yourself (view_build.c): what the options say that makes no sense; without a window; and what the window
 * asks for. */
enum status viewer_build_check(const struct options *o);
enum status viewer_build(struct viewer *v);
struct build_host viewer_build_host(struct viewer *v);
/* The list of --moves, from a file or the command line, to be freed; NULL: none was given. */
enum status viewer_moves(const struct options *o, char **out);

enum status viewer_window(struct viewer *v);

#endif
