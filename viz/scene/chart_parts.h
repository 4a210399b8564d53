/* For the files that draw charts. */
#ifndef SHARDLAB_VIZ_CHART_PARTS_H
#define SHARDLAB_VIZ_CHART_PARTS_H

#include "viz/scene/chart.h"

/* "1.06 MB" or "3.2 ms", as the chart's values are. */
const char *chart_word(const struct chart *chart, char *word, int64_t value);
/* From 0 to `top` at the left of a box. */
void chart_draw_axis(struct canvas *c, const struct chart *chart, struct box b, double top);
/* y: where it would lie. */
void chart_draw_capacity(struct canvas *c, const struct chart *chart, struct box b, double y);
/* The mark of the i-th series (chart_lines.c). */
void chart_draw_mark(struct canvas *c, double x, double y, int number, double radius);
/* Lines over the number of ranks (chart_lines.c). */
void chart_draw_lines(struct canvas *c, const struct chart *chart, struct box plot);

#endif
