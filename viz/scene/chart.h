/* Charts for `compare`: figures of several strategies, drawn with what draws the scenes.
 *
 *     memory         a stacked bar a strategy (and role), at its peak, with the capacity
 *     lines          a figure over the number of ranks, a line a strategy
 */
#ifndef SHARDLAB_VIZ_CHART_H
#define SHARDLAB_VIZ_CHART_H

#include "viz/draw/draw.h"
#include "viz/scene/scene.h"

struct chart_bar {
	char label[64], role[64];
	int64_t bytes[CATEGORY_COUNT];
};

enum { CHART_POINTS = 32, CHART_SERIES = 32, CHART_BARS = 64 };

struct chart_series {
	char label[64];
	int64_t ranks[CHART_POINTS], value[CHART_POINTS]; /* ranks ascending */
	int count;
};

struct chart {
	char title[160], subtitle[320], note[320]; /* note: below the subtitle; "": none */
	int64_t capacity;                          /* bytes; 0: none */
	struct chart_bar bars[CHART_BARS];
	int bar_count;
	struct chart_series series[CHART_SERIES]; /* instead of bars */
	int series_count;
	bool time; /* values are ns, not bytes */
	enum theme_name theme;
	const struct fonts *fonts;
};

/* context: a struct chart. For export_drawing(). */
void chart_draw(void *context, cairo_t *cr, double width, double height);

#endif
