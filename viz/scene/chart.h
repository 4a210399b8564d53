/* Charts for `compare`: figures of several strategies, drawn with what draws the scenes.
 *
 *     memory         a stacked bar a strategy (and role), at its peak, with the capacity
 *     lines          a figure over the number of ranks or the bandwidth of a link, a line a strategy
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
	int64_t at[CHART_POINTS], value[CHART_POINTS]; /* at: on the axis, ascending, each twice the one before */
	int count;
};

enum chart_axis { CHART_RANKS, CHART_BANDWIDTH }; /* bytes/s */

struct chart {
	char title[160], subtitle[320], note[320]; /* note: below the subtitle; "": none */
	int64_t capacity;                          /* bytes; 0: none */
	struct chart_bar bars[CHART_BARS];
	int bar_count;
	struct chart_series series[CHART_SERIES]; /* instead of bars */
	int series_count;
	enum chart_axis axis; /* of the series */
	bool time;            /* values are ns, not bytes */
	enum theme_name theme;
	const struct fonts *fonts;
};

/* context: a struct chart. For export_drawing(). */
void chart_draw(void *context, cairo_t *cr, double width, double height);

#endif
