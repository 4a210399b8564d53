/* Dragging a move from the drawer into the step: where it goes among the placed moves. */
#include <math.h>

#include "viz/build/board.h"
#include "viz/scene/lane_area.h"
#include "viz/scene/scene_parts.h"

/* The number of operations in the moves before the at-th. */
static int ops_before(const struct exercise *e, int at)
{
	int ops = 0;
	for (int i = 0; i < at; i++)
		ops += e->moves[e->placed[i]].op_count;
	return ops;
}

/* The width of an operation in the memory's plot, which has room for the whole step. */
static double op_width(const struct board *b, struct box plot)
{
	const struct section *all = &b->exercise.plan->roles[0].step;
	return plot.width / fmax(1, fmax(all->end - all->begin, ops_before(&b->exercise, b->exercise.placed_count)));
}

/* The border between two moves that is nearest. */
static int drop_by_ops(const struct board *b, double ops)
{
	const struct exercise *e = &b->exercise;
	int best = 0;
	for (int i = 1; i <= e->placed_count; i++)
		if (fabs(ops_before(e, i) - ops) <= fabs(ops_before(e, best) - ops))
			best = i;
	return best;
}

/* The place after every move whose computing or communicating is more than half over by then. */
static int drop_by_time(const struct board *b, int64_t time)
{
	const struct exercise *e = &b->exercise;
	const struct timeline *s = &b->mine.shown.timeline;
	int at = 0;
	for (int i = 0, op = 0; i < e->placed_count; op += e->moves[e->placed[i++]].op_count)
		for (int k = op; k < op + e->moves[e->placed[i]].op_count; k++) {
			int64_t begin = s->ranks[0].begin[k], end = s->ranks[0].end[k];
			if (begin >= 0 && begin / 2 + end / 2 <= time)
				at = i + 1;
		}
	return at;
}

static int drop_in_lanes(struct board *b, struct box lanes, double x)
{
	struct lane_area l[2];
	const struct timeline *s = &b->mine.shown.timeline;
	if (!b->mine.there || !s->rank_count)
		return b->exercise.placed_count;
	lane_areas_lay(l, playback_view(&b->mine.playback), lanes, true);
	return drop_by_time(b, lane_area_time(l, x));
}

int board_drop(struct board *b, struct box box, double x, double y)
{
	struct box lanes, memory, plot;
	board_step_boxes(b, box, &lanes, &memory);
	plot = board_memory_plot(memory);
	if (box_has(memory, x, y))
		return drop_by_ops(b, (x - plot.x) / op_width(b, plot));
	return box_has(lanes, x, y) ? drop_in_lanes(b, lanes, x) : -1;
}

void board_draw_drag(struct canvas *c, struct board *b, struct box box, int move, double x, double y)
{
	const struct theme *t = c->theme;
	struct box lanes, memory, plot, chip = b->chips[move];
	int at = board_drop(b, box, x, y);
	board_step_boxes(b, box, &lanes, &memory);
	plot = board_memory_plot(memory);
	if (at >= 0) {
		double line = plot.x + op_width(b, plot) * ops_before(&b->exercise, at);
		draw_line(c, line, plot.y - 4, line, plot.y + plot.height, t->accent, 3);
	}
	chip.x = x - chip.width / 2;
	chip.y = y - chip.height / 2;
	draw_card(c, chip, t->panel, at >= 0 ? t->accent : t->line, 2.4);
	draw_text(c, x, chip.y + chip.height / 2 + 0.36 * b->chip_text, b->chip_text, WEIGHT_BOLD, t->ink, ALIGN_CENTRE,
	          chip.width - 8, "%s", b->exercise.moves[move].object);
}
