/* What the files of `view` share. */
#ifndef SHARDLAB_VIEW_OPEN_H
#define SHARDLAB_VIEW_OPEN_H

#include "cli/command/view_load.h"
#include "viz/export/export.h"

struct viewer {
	const struct options *options;
	struct playback playback;
	struct picture size;
	struct loaded loaded[2 * CONTENDERS]; /* the first is the one that was asked for */
	int loaded_count;
};

/* Is it a file's, which has no other strategies? */
bool viewer_alone(const struct viewer *v);
/* Loads the strategies of a list and sets the playback to compare them. */
enum status viewer_compare(struct viewer *v, const char *list);

enum status viewer_window(struct viewer *v);

#endif
