/* The losses of a run over its steps, drawn with what draws the scenes: for `train --plot`. */
#ifndef SHARDLAB_VIZ_LOSS_CHART_H
#define SHARDLAB_VIZ_LOSS_CHART_H

#include "strategy/trace/curves.h"
#include "viz/draw/draw.h"

struct loss_chart {
	char title[160], subtitle[320];
	const struct curves *curves;
	const struct fonts *fonts;
};

/* context: a struct loss_chart. For export_drawing(). */
void loss_chart_draw(void *context, cairo_t *cr, double width, double height);

#endif
