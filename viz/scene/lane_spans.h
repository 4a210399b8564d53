/* The spans of a lane, drawn. */
#ifndef SHARDLAB_VIZ_LANE_SPANS_H
#define SHARDLAB_VIZ_LANE_SPANS_H

#include "viz/scene/lane_area.h"

/* Spans of a row in sight, which are drawn together: fills of a colour are one path, and so are frames. */
struct bar_row {
	struct bar {
		struct box b;
		const struct lane_span *span;
		const struct op *op; /* NULL: another program's, or a fold */
		const struct lane_fold *fold;
		struct box named_in; /* named: the part of the fold in which its name stands */
		colour fill;
		bool waits; /* the part of its span in which it waits for another rank */
		bool live, framed, filled, named;
	} * bars; /* owned by the caller, who frees it after the last row */
	size_t count, capacity;
};

/* The bars of a depth of the lane; place: their y and height (lane_bars.c). */
void lane_bars_find(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                    struct box place, int depth, struct bar_row *row);
/* Below the hatching, where a rank waits and where communication is exposed. */
#define LANE_WAITS(theme) colour_mix((theme)->panel, (theme)->line, 0.25)
#define LANE_EXPOSED(theme) colour_mix((theme)->panel, communication_colour(), 0.35)

/* Draws those of a depth of the lane, in a row that begins at y. */
void lane_spans_draw(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                     double y, double height, int depth, struct bar_row *row);

/* Frames around those of a depth of the lane that are found by a search. */
void lane_found_draw(struct canvas *c, const struct search *search, const struct lane_area *l, const struct lane *lane,
                     double y, double height, int depth);

/* Messages from rank to rank, from compute lane to compute lane (lane_arrows.c): at most one for each collective of the
 * timeline. Returns how many. */
struct lane_arrow {
	const struct collective *message;
	double x0, y0, x1, y1;
};
int lane_arrows_find(const struct lane_area *l, struct lane_arrow *out);
void lane_arrows_draw(struct canvas *c, const struct lane_area *l);

#endif
