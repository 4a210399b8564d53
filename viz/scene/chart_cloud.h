/* The chart of `advise`: memory against speed of all candidates, with what fits and the frontier.
 *
 *     speed │        ①   ×: does not fit
 *           │   ②  ╱ ▲      │ device
 *           │  ╱ ● ▲        │
 *           │ ③             │
 *           └───────────────┴──× ×── memory
 *
 * A candidate stands at what it needs of the memory that is fullest for its size. Those that do not fit have no speed:
 * they stand on the axis below, at its end if they need far more. The frontier joins those that take less memory than
 * every faster one; the first of them are numbered, and said at the right.
 */
#ifndef SHARDLAB_VIZ_CHART_CLOUD_H
#define SHARDLAB_VIZ_CHART_CLOUD_H

#include "viz/draw/draw.h"
#include "viz/scene/scene.h"

enum { CLOUD_POINTS = 1024, CLOUD_SERIES = 32, CLOUD_LIMITS = 3 };

struct cloud_point {
	int64_t bytes;
	double rate; /* 0: it does not fit */
	int series;
	bool frontier;
	char label[128]; /* of the frontier: its settings */
};

/* A memory that one of the points fills most. */
struct cloud_limit {
	char name[32]; /* "device" */
	int64_t bytes;
};

struct cloud {
	char title[160], subtitle[320];
	bool tokens; /* a second; false: samples */
	char series[CLOUD_SERIES][64];
	struct cloud_point points[CLOUD_POINTS]; /* the fastest first */
	struct cloud_limit limits[CLOUD_LIMITS];
	double spared; /* percent of each memory, which the limits are less than it */
	int series_count, point_count, limit_count;
	enum theme_name theme;
	const struct fonts *fonts;
};

/* context: a struct cloud. For export_drawing(). */
void cloud_draw(void *context, cairo_t *cr, double width, double height);

#endif
