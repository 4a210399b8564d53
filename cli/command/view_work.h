/* Steps that take long to make. */
#ifndef SHARDLAB_VIEW_WORK_H
#define SHARDLAB_VIEW_WORK_H

#include "cli/command/view_load.h"

/* The caller that wants to know, from time to time, that it takes long; say NULL: nobody. */
struct busy {
	void (*say)(void *context);
	void *context;
	int patience; /* ms before it is said, and said again; 0: a third of a second */
};

/* Like load_settings. */
enum status work_load(struct loaded *l, const struct options *o, const struct settings *settings, const char *cluster,
                      const struct busy *busy);

#endif
