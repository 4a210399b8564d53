/* The bars of a lane that are in sight: its spans, or from afar what they fold to. */
#include <math.h>

#include "viz/scene/lane_foreign.h"
#include "viz/scene/lane_spans.h"

static struct bar *add_bar(struct bar_row *row, struct bar bar)
{
	row->bars = array_reserve(row->bars, row->count, &row->capacity, sizeof *row->bars);
	row->bars[row->count] = bar;
	return &row->bars[row->count++];
}

/* The measures that one lane's bars share. */
struct finder {
	struct canvas *c;
	const struct state *state; /* NULL: none */
	const struct lane_area *l;
	const struct lane *lane;
	struct box place;
	struct bar_row *row;
	int index;    /* of its rank; -1 */
	double drawn; /* up to where */
};

static enum op_state state_of(const struct finder *f, const struct lane_span *s)
{
	return f->state && s->op >= 0 && f->index >= 0 ? state_of_op(f->state, f->index, s->op) : OP_DONE;
}

static struct bar *add_part(struct finder *f, const struct lane_span *s, double x0, double x1, enum op_state state,
                            colour fill)
{
	struct bar bar = {.b = {x0, f->place.y, x1 - x0, f->place.height}, .span = s, .live = state == OP_RUNS};
	bar.fill = state == OP_WAITS ? colour_mix(fill, f->c->theme->panel, 0.55) : fill;
	bar.framed = bar.b.width > 3.5 * f->c->pixel && f->place.height > (bar.live ? 4 : 6);
	return add_bar(f->row, bar);
}

/* From x0 to x1, at least a pixel behind what is drawn already. False: it is out of sight. */
static bool place_between(struct finder *f, double *x0, double *x1)
{
	double end = f->l->plot.x + f->l->plot.width;
	*x0 = fmax(fmax(*x0, f->l->plot.x), f->drawn);
	*x1 = fmin(fmax(*x1, *x0 + f->c->pixel), end);
	if (*x1 <= *x0)
		return false;
	f->drawn = *x1;
	return true;
}

static void add_span(struct finder *f, const struct lane_span *s)
{
	const struct timeline *timeline = f->l->lanes->timeline;
	double x0 = lane_area_x(f->l, s->begin), x1 = lane_area_x(f->l, s->end), pixel = f->c->pixel;
	if (!place_between(f, &x0, &x1))
		return;
	double came = fmin(lane_area_x(f->l, s->came), x1 - fmin(pixel, x1 - x0));
	if (came - x0 >= pixel) {
		add_bar(f->row,
		        (struct bar){.b = {x0, f->place.y, came - x0, f->place.height}, .span = s, .waits = true});
		x0 = came;
	}
	const struct op *op = s->op >= 0 && timeline ? &timeline_role_of(timeline, f->index)->ops[s->op] : NULL;
	colour fill = op ? op_colour(f->c->theme, op) : foreign_colour(s);
	add_part(f, s, x0, x1, state_of(f, s), fill)->op = op;
}

/* ---- folds ---- */

/* A stretch of a fold without a visible gap: strong up to the cursor and pale behind it. Returns its box. */
static struct box add_stretch(struct finder *f, const struct lane_fold *fold, double x0, double x1)
{
	colour fill = pass_colour(fold->pass);
	enum op_state first = state_of(f, &f->lane->spans[fold->first]);
	enum op_state last = state_of(f, &f->lane->spans[fold->last - 1]);
	if (!place_between(f, &x0, &x1))
		return (struct box){0};
	double now = first == OP_WAITS || last == OP_DONE ? x1 : lane_area_x(f->l, f->state->time);
	enum op_state state = first == OP_WAITS ? OP_WAITS : last == OP_DONE ? OP_DONE : OP_RUNS;
	if (now <= x0)
		state = OP_WAITS;
	if (now > x0 && now < x1) {
		add_part(f, NULL, x0, now, OP_RUNS, fill)->fold = fold;
		add_part(f, NULL, now, x1, OP_WAITS, fill)->fold = fold;
	} else {
		add_part(f, NULL, x0, x1, state, fill)->fold = fold;
	}
	return (struct box){x0, f->place.y, x1 - x0, f->place.height};
}

/* Its name stands in the widest of its stretches. */
static void add_fold(struct finder *f, const struct lane_fold *fold)
{
	struct box widest = {0};
	size_t bar = f->row->count;
	double gap = 1.5 * f->c->pixel;
	for (size_t i = fold->first; i < fold->last;) {
		double x0 = lane_area_x(f->l, f->lane->spans[i].begin), x1 = lane_area_x(f->l, f->lane->spans[i].end);
		if (fold->busy == fold->end - fold->begin) {
			x1 = lane_area_x(f->l, fold->end);
			i = fold->last;
		} else {
			for (i++; i < fold->last && lane_area_x(f->l, f->lane->spans[i].begin) - x1 < gap; i++)
				x1 = lane_area_x(f->l, f->lane->spans[i].end);
		}
		size_t first = f->row->count;
		struct box b = add_stretch(f, fold, x0, x1);
		if (b.width > widest.width) {
			widest = b;
			bar = first;
		}
	}
	if (bar == f->row->count)
		return;
	/* The later of two parts is drawn later, since it bears the name that lies over both. */
	struct bar *named = &f->row->bars[bar];
	if (named->b.width < widest.width)
		named++;
	named->named = true;
	named->named_in = widest;
}

static void find_folded(struct finder *f)
{
	const struct lane_area *l = f->l;
	struct lane_piece piece;
	struct lane_place at = lane_piece_first(f->lane, l->from);
	while (lane_piece_next(f->lane, lane_area_scale(l), &at, &piece) && piece.begin <= l->to) {
		double x1 = lane_area_x(l, piece.end);
		if (piece.end <= l->from || x1 <= f->drawn + f->c->pixel * 0.5)
			continue;
		if (piece.fold)
			add_fold(f, piece.fold);
		else
			add_span(f, &f->lane->spans[piece.span]);
	}
}

static void find_spans(struct finder *f, int depth)
{
	const struct lane *lane = f->lane;
	const struct lane_area *l = f->l;
	double pixel = f->c->pixel;
	for (size_t i = lane_find(lane, depth, l->from); i < lane->row[depth + 1] && lane->spans[i].begin <= l->to;
	     i++) {
		const struct lane_span *s = &lane->spans[i];
		if (lane_area_x(l, s->end) <= f->drawn + pixel * 0.5) { /* nothing new to see before the next pixel */
			size_t next = lane_find(lane, depth, lane_area_time(l, f->drawn + pixel * 0.5));
			i = next > i + 1 ? next - 1 : i;
			continue;
		}
		add_span(f, s);
	}
}

void lane_bars_find(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                    struct box place, int depth, struct bar_row *row)
{
	const struct timeline *s = l->lanes->timeline;
	struct finder f = {c, l->current ? v->state : NULL, l, lane, place, row, -1, -1e9};
	f.index = s && lane->rank >= 0 ? timeline_index_of(s, lane->rank) : -1;
	row->count = 0;
	if (lane->pass_count)
		find_folded(&f);
	else
		find_spans(&f, depth);
}
