/* The spans of a lane, drawn. */
#ifndef SHARDLAB_VIZ_LANE_SPANS_H
#define SHARDLAB_VIZ_LANE_SPANS_H

#include "viz/scene/lane_area.h"

/* Spans of a row in sight, which are drawn together: fills of a colour are one path, and so are frames. */
struct bar_row {
	struct bar {
		struct box b;
		const struct lane_span *span;
		const struct op *op; /* NULL: another program's */
		colour fill;
		bool waits; /* the part of its span in which it waits for another rank */
		bool live, framed, filled;
	} * bars; /* owned by the caller, who frees it after the last row */
	size_t count, capacity;
};

/* Those of a depth of the lane, in a row that begins at y. */
void lane_spans_draw(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                     double y, double height, int depth, struct bar_row *row);

#endif
