/* The layout of the timeline's lanes on the picture, for drawing and for the mouse. */
#ifndef SHARDLAB_VIZ_LANE_AREA_H
#define SHARDLAB_VIZ_LANE_AREA_H

#include "viz/scene/scene.h"

struct lane_area {
	const struct lanes *lanes, *other; /* other: whose spans are marked beside */
	struct box box, plot;
	double names, row;  /* width of the names; height of a row */
	double sums;        /* width of the sums at the right; 0: there are none */
	double small, body; /* sizes of text */
	bool legend;        /* below the lanes */
	int64_t from, to;   /* ns in sight */
	int first;          /* lane at the top */
	bool scrolls;       /* there is no room for all lanes */
	bool current;       /* it is the one that the cursor walks */
};

/* The lanes that there is room for in a height: one for all ranks that are equal, or all. */
const struct lanes *lane_area_lanes(const struct lanes *lanes, double height);
void lane_area_lay(struct lane_area *l, const struct view *v, const struct lanes *lanes, struct box b, bool legend);
/* All that a view shows in a box: one, or the simulated above the measured. Returns how many. small: a part of the
 * overview, which has one. */
int lane_areas_lay(struct lane_area l[2], const struct view *v, struct box b, bool small);
enum { LANE_AREAS_GAP = 34 };

/* ---- beside and below the lanes ---- */

/* The time that each rank computes, has communication exposed, and stands still otherwise, in what is in sight
 * (lane_sums.c). */
void lane_sums_draw(struct canvas *c, const struct lane_area *l);

/* The cards below the lanes (lane_cards.c): a measured range, and the selected operation with what it waits for and
 * what waits for it. Their box within that of the timeline, whose lanes get the rest; its height is 0 where there are
 * none. */
struct box lane_cards_box(const struct view *v, struct box b, bool small);
void lane_cards_draw(struct canvas *c, const struct view *v, const struct lane_area *l, struct box b, bool small);
/* A measured range, marked on the lanes. */
void lane_range_draw(struct canvas *c, const struct view *v, const struct lane_area *l);
/* The selected operation's frame, and lines from what it waits for and to what waits for it (lane_waits.c). */
void lane_waits_draw(struct canvas *c, const struct view *v, const struct lane_area *l);

/* ---- places ---- */

/* Does a lane stand for several ranks? */
bool lane_is_folded(const struct lanes *l, const struct lane *lane);
/* Units a ns. */
double lane_area_scale(const struct lane_area *l);
double lane_area_x(const struct lane_area *l, int64_t time);
int64_t lane_area_time(const struct lane_area *l, double x);
/* The lane of a rank, or that which stands for it; -1: none is in sight. */
int lane_area_of(const struct lane_area *l, int64_t rank, enum queue queue);
/* The top of a lane that is in sight. */
double lane_area_top(const struct lane_area *l, int lane);
/* The middle of a rank's lane; -1: not in sight. */
double lane_area_y(const struct lane_area *l, int64_t rank, enum queue queue);
/* The lane under a point and the depth in it; -1: none. */
int lane_area_lane(const struct lane_area *l, double y, int *depth);
/* The last lane that is drawn, of a plan's with all of its rank; -1: there are none. */
int lane_area_last(const struct lane_area *l);
/* "rank 3"; of several "ranks 0–63: the same"; of another program's "python (GPU 0)" */
enum { LANE_RANKS = 160 };
const char *lane_ranks(char *out, const struct lanes *l, const struct lane *lane);
/* Finds ": the same" in the text of lane_ranks(); NULL: the text is of one rank. */
char *lane_ranks_rest(char *ranks);
bool lane_is_one_rank(const struct lanes *l, const struct lane *lane);
/* Colours and hatchings in words, of those that the lanes have (lane_legend.c). */
void lane_legend_draw(struct canvas *c, const struct lane_area *l, double y);
double lane_legend_height(const struct view *v);
/* Implements `hit` of struct scene_row. */
void lane_area_hit(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y, struct hit *h);
/* The range that a view shows: [from, to) ns of its longest trace. */
void lane_area_range(const struct view *v, int64_t *from, int64_t *to);

#endif
