/* Places the cards of a collective's ranks, and the links between them. */
#include <math.h>

#include "viz/scene/ring_parts.h"

struct ring ring_make(struct canvas *c, const struct view *v, const struct state *state,
                      const struct state_group *group, const struct collective *one)
{
	return (struct ring){
	        .c = c, .v = v, .state = state, .group = group, .collective = one, .n = one->schedule.ranks};
}

static enum ring_shape shape_of(const struct collective *c)
{
	enum schedule_shape shape = schedule_row(c->schedule.algorithm)->shape;
	if (c->schedule.ranks <= 2)
		return RING_CIRCLE;
	return shape == SHAPE_TREE ? RING_TREE : shape == SHAPE_STAR ? RING_STAR : RING_CIRCLE;
}

/* Does every rank talk to its neighbours alone? Then nothing crosses the middle. */
static bool neighbours_only(const struct collective *c)
{
	enum schedule_shape shape = schedule_row(c->schedule.algorithm)->shape;
	return shape == SHAPE_RING || shape == SHAPE_CHAIN;
}

static struct box card_at(double x, double y, double width, double height)
{
	return (struct box){x - width / 2, y - height / 2, width, height};
}

/* Place k of n round the middle of the area. */
static struct box round_middle(const struct ring *r, int64_t k, int64_t n, double width, double height)
{
	double angle = (n == 2 ? M_PI : -M_PI / 2) + 2 * M_PI * (double)k / (double)n;
	double rx = (r->area.width - width) / 2 - 2, ry = (r->area.height - height) / 2 - 2;
	/* Between an ellipse and a rectangle: the corners are used too. */
	double bulge = n > 4 && n <= 8 ? 0.8 : 1;
	double x = cos(angle), y = sin(angle);
	x = copysign(pow(fabs(x), bulge), x);
	y = copysign(pow(fabs(y), bulge), y);
	return card_at(r->area.x + r->area.width / 2 + rx * x, r->area.y + r->area.height / 2 + ry * y, width, height);
}

/* Place k of `count` from left to right; one alone stands in the middle. */
static double along(double left, double right, int64_t k, int64_t count)
{
	return count > 1 ? left + (right - left) * (double)k / (double)(count - 1) : (left + right) / 2;
}

static int64_t upper_of(int64_t n, int64_t side)
{
	return (n - 2 * side + 1) / 2;
}

/* Clockwise along the four edges, from the upper left, `side` of them between the corners at the left and the right:
 * more room for a card than on an ellipse. */
static void place_on_edges(struct ring *r, int64_t side, double width, double height)
{
	int64_t n = r->n, upper = upper_of(n, side), lower = n - 2 * side - upper;
	double left = r->area.x + width / 2 + 2, right = r->area.x + r->area.width - width / 2 - 2;
	double top = r->area.y + height / 2 + 2, bottom = r->area.y + r->area.height - height / 2 - 2;
	for (int64_t k = 0; k < n; k++) {
		int64_t at = k;
		double x, y;
		if (at < upper) {
			x = along(left, right, at, upper);
			y = top;
		} else if ((at -= upper) < side) {
			x = right;
			y = top + (bottom - top) * (double)(at + 1) / (double)(side + 1);
		} else if ((at -= side) < lower) {
			x = along(right, left, at, lower);
			y = bottom;
		} else {
			x = left;
			y = bottom - (bottom - top) * (double)(at - lower + 1) / (double)(side + 1);
		}
		r->card[k] = card_at(x, y, width, height);
	}
}

/* ---- the tree ---- */

/* The level of place v, counted from the root: its parent has the highest bit of v less (strategy/collective/tree.c).
 */
static int level_of(int64_t v)
{
	int level = 0;
	for (; v; v &= v - 1)
		level++;
	return level;
}

struct levels {
	int count[8]; /* cards on each level */
	int seen[8];  /* cards placed so far */
	int number;
};

/* A place, then what hangs from it: so that branches do not cross more than they must. */
static void place_branch(struct ring *r, struct levels *l, int64_t v, double width, double height)
{
	int level = level_of(v);
	double across = r->area.width / l->count[level],
	       down = (r->area.height - height - 4) / (l->number > 1 ? l->number - 1 : 1);
	int64_t place = (v + r->collective->schedule.root) % r->n;
	r->card[place] = card_at(r->area.x + across * (l->seen[level]++ + 0.5),
	                         r->area.y + height / 2 + 2 + down * level, width, height);
	for (int64_t bit = 1; v + bit < r->n; bit *= 2)
		if (bit > v)
			place_branch(r, l, v + bit, width, height);
}

static void place_tree(struct ring *r, double width, double height)
{
	struct levels l = {.number = 0};
	int widest = 1;
	for (int64_t v = 0; v < r->n; v++) {
		int level = level_of(v);
		l.count[level]++;
		widest = l.count[level] > widest ? l.count[level] : widest;
		l.number = level + 1 > l.number ? level + 1 : l.number;
	}
	width = fmin(width, r->area.width / widest - 14);
	height = fmin(height, r->area.height / (1.45 * l.number));
	place_branch(r, &l, 0, width, height);
}

/* Up to four stand left, above, right and below, so that three are abreast at most. */
static void place_star(struct ring *r, double width, double height)
{
	int64_t root = r->collective->schedule.root, others = r->n - 1;
	double x = r->area.x + r->area.width / 2, y = r->area.y + r->area.height / 2;
	width = fmin(width, r->area.width * 0.25);
	height = fmin(height, r->area.height * 0.24);
	for (int64_t rank = 0; rank < r->n; rank++) {
		int64_t k = (rank - root + r->n) % r->n - 1; /* -1: the root */
		if (k < 0)
			r->card[rank] = card_at(x, y, width, height);
		else if (others <= 4) /* places 3, 0, 1, 2 of four */
			r->card[rank] = round_middle(r, others == 2 ? 3 - 2 * k : (k + 3) % 4, 4, width, height);
		else
			r->card[rank] = round_middle(r, k, others, width, height);
	}
}

/* ---- the ring ---- */

/* The arrangement of neighbours: on an ellipse, or along the edges. */
struct stand {
	int64_t side; /* along the edges: how many stand between the corners of a side; -1: round the middle */
	bool wide;    /* as wide as numbers need it */
};

static double usual_width(int64_t n, double room)
{
	return n <= 4   ? fmin(250, room * 0.36)
	       : n <= 6 ? fmin(206, room * 0.27)
	       : n <= 8 ? fmin(182, room * 0.22)
	                : fmin(140, room * 0.168);
}

/* Above eight ranks, cards that do not stand along the edges are small. */
static double round_width(const struct ring *r, double room)
{
	return r->n > 8 ? fmin(104, room * 0.125) : usual_width(r->n, room);
}

static double round_height(const struct ring *r, double room)
{
	double usual = r->n <= 4 ? fmin(104, room * 0.28) : r->n <= 8 ? fmin(104, room * 0.2) : fmin(44, room * 0.085);
	return r->n <= 4 ? fmax(usual, fmin(2.6 * r->c->least, room * 0.45)) : usual;
}

/* Makes cards so wide that chunks have room for their numbers and a sum stands beside the rank's name. */
static double needed_width(const struct ring *r)
{
	int chunks = r->collective->chunk_count;
	double gaps = (chunks <= 6 ? 5 : 3) * (chunks - 1), padding = 2 * RING_PADDING, mark = 28;
	if (!ring_values_shown(r->v, r->collective))
		return 0;
	double digits = text_length(r->c, RING_LEAST_NUMBER, WEIGHT_BOLD, "42") + (r->n <= RING_SLOTS_ABREAST ? 5 : 2);
	double name = text_length(r->c, 14, WEIGHT_BOLD, "0"), /* "rank" is left out, where it must be */
	        sum = text_length(r->c, RING_LEAST_NUMBER, WEIGHT_BOLD, RING_LONGEST_SUM) + 5;
	return fmax(padding + gaps + chunks * digits, collective_adds(r->collective) ? padding + mark + name + sum : 0);
}

/* The height with the chunks' indices above them and their contents below. */
static double needed_height(const struct ring *r)
{
	double word = fmax(10, r->c->least), title = fmax(14, r->c->least) + 8;
	return r->n > 8 ? 0 : title + 3 * word + 21;
}

/* The least width of a message's plate. */
static double plate_width(const struct ring *r)
{
	bool values = ring_values_shown(r->v, r->collective);
	return text_length(r->c, ring_plate_size(r), WEIGHT_BOLD, values ? "7: 42" : "15") + 12;
}

double ring_plate_size(const struct ring *r)
{
	return fmax(r->n <= 8 ? 12 : 9, r->c->least);
}

double ring_arrow(const struct ring *r)
{
	return r->n <= 8 ? 30 : 20;
}

static void lay_round(struct ring *r, const struct stand *l, bool small)
{
	double width = round_width(r, r->area.width), height = round_height(r, r->area.height);
	width *= small ? 0.86 : 1;
	height *= small ? 0.86 : 1;
	if (l->wide) {
		width = fmax(width, needed_width(r));
		height = fmax(height, fmin(needed_height(r), r->area.height * 0.29));
	}
	for (int64_t rank = 0; rank < r->n; rank++)
		r->card[rank] = round_middle(r, rank, r->n, width, height);
}

static void lay_edges(struct ring *r, const struct stand *l)
{
	int64_t upper = upper_of(r->n, l->side), rows = l->side + 2;
	double across = fmin(plate_width(r) + ring_arrow(r) + 10, 0.4 * r->area.width / (double)upper),
	       down = fmin(ring_arrow(r) + 10, 0.4 * r->area.height / (double)rows);
	double width = fmax(usual_width(r->n, 1e9), needed_width(r)), height = r->n <= 8 ? 104 : 92;
	width = fmin(width, (r->area.width - 4 - across * (double)(upper - 1)) / (double)upper);
	double high = (r->area.height - 4 - down * (double)(rows - 1)) / (double)rows;
	if (high < needed_height(r)) /* the arrow alone */
		high += fmin(10, down / 4) * (double)(rows - 1) / (double)rows;
	height = fmin(height, high);
	place_on_edges(r, l->side, fmax(width, 1), fmax(height, 1));
}

/* The width that the title needs in the middle of the ring. */
static double title_room(const struct ring *r)
{
	return fmax(220, text_length(r->c, 11, WEIGHT_BOLD, "reduce-scatter of bucket.0") + 50);
}

/* The title stands in the middle, where there is room. */
static void lay(struct ring *r, struct box b, const struct stand *l, bool small)
{
	for (int above = 0; above < 2; above++) {
		r->title_inside = !above;
		r->area = b;
		if (above) {
			r->area.y += ring_title_height(r->c);
			r->area.height = fmax(1, r->area.height - ring_title_height(r->c));
		}
		if (l->side < 0)
			lay_round(r, l, small);
		else
			lay_edges(r, l);
		if (r->n >= 3 && b.width - 2 * r->card[0].width > title_room(r) &&
		    b.height - 2 * r->card[0].height > RING_TITLE_INSIDE)
			return;
	}
}

static double part_of(double there, double needed)
{
	return needed > 0 ? fmin(1, there / needed) : 1;
}

/* The share of a link's needs that can be seen: its arrow, and its plate, which may stand aside if the link is steep.
 */
static double seen_of(const struct ring *r, int64_t from, int64_t to)
{
	double x0, y0, x1, y1;
	ring_link(r, from, to, 0, &x0, &y0, &x1, &y1);
	double length = hypot(x1 - x0, y1 - y0), across = fabs(x1 - x0) / length, down = fabs(y1 - y0) / length;
	double plate = fmin(plate_width(r) / fmax(across, 1e-6), (ring_plate_size(r) + 9) / fmax(down, 1e-6));
	return part_of(length, ring_arrow(r) + (down > across ? 0 : plate));
}

static bool is_apart(const struct ring *r, int64_t i)
{
	const struct box *a = &r->card[i];
	for (int64_t k = 0; k < i; k++) {
		const struct box *b = &r->card[k];
		if (fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x) > -4 &&
		    fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y) > -4)
			return false;
	}
	return true;
}

/* Rates a layout; 1: every number and every arrow can be seen. */
static double clear_of(const struct ring *r)
{
	double seen = 1;
	for (int64_t k = 0; k < r->n; k++) {
		if (!is_apart(r, k))
			return 0;
		seen = fmin(seen, seen_of(r, k, (k + 1) % r->n));
	}
	double wide = part_of(r->card[0].width, needed_width(r)), high = part_of(r->card[0].height, needed_height(r));
	return sqrt(seen) * wide * wide * (0.6 + 0.4 * high); /* numbers before arrows */
}

/* The first layout in which all can be seen, or the best. */
static void place_ring(struct ring *r, struct box b, bool small)
{
	int64_t sides = (r->n - 2) / 2, usual = r->n > 4 ? (r->n - 3) / 4 : 0;
	struct stand best = {.side = -1};
	double most = -1;
	for (int64_t i = r->n > 8 ? 2 : 0; i < 3 + (r->n > 4 ? sides + 1 : 0) && most < 1; i++) {
		struct stand l = {i < 2 ? -1 : i == 2 ? usual : i - 3, i > 0};
		lay(r, b, &l, small);
		double clear = i == 2 && r->n <= 4 ? -1 : clear_of(r);
		if (clear > most + 1e-9) {
			most = clear;
			best = l;
		}
	}
	lay(r, b, &best, small);
}

/* ---- all shapes ---- */

static void place_others(struct ring *r, struct box b, bool small)
{
	double width = round_width(r, b.width), height;
	r->title_inside = false;
	r->area =
	        (struct box){b.x, b.y + ring_title_height(r->c), b.width, fmax(1, b.height - ring_title_height(r->c))};
	height = round_height(r, r->area.height) * (small ? 0.86 : 1);
	width *= small ? 0.86 : 1; /* room for the links */
	if (r->shape == RING_TREE)
		place_tree(r, width, height);
	else if (r->shape == RING_STAR)
		place_star(r, width, height);
	else
		for (int64_t rank = 0; rank < r->n; rank++)
			r->card[rank] = round_middle(r, rank, r->n, width, height);
}

void ring_place(struct ring *r, struct box b, bool small)
{
	r->shape = shape_of(r->collective);
	if (r->shape == RING_CIRCLE && r->n > 2 && neighbours_only(r->collective))
		place_ring(r, b, small);
	else
		place_others(r, b, small);
}

/* ---- links ---- */

static void middle_of(struct box b, double *x, double *y)
{
	*x = b.x + b.width / 2;
	*y = b.y + b.height / 2;
}

/* The point where a line from the middle of a box leaves it, and `gap` beyond. */
static void leave_box(struct box b, double tx, double ty, double gap, double *x, double *y)
{
	double cx, cy;
	middle_of(b, &cx, &cy);
	double dx = tx - cx, dy = ty - cy, length = hypot(dx, dy);
	if (length < 1e-9)
		length = 1e-9;
	double fx = fabs(dx) > 1e-9 ? (b.width / 2) / fabs(dx) : 1e9,
	       fy = fabs(dy) > 1e-9 ? (b.height / 2) / fabs(dy) : 1e9;
	double f = fmin(fx, fy) + gap / length;
	*x = cx + dx * f;
	*y = cy + dy * f;
}

void ring_link(const struct ring *r, int64_t from, int64_t to, double aside, double *x0, double *y0, double *x1,
               double *y1)
{
	struct box a = r->card[from], b = r->card[to];
	double ax, ay, bx, by;
	middle_of(a, &ax, &ay);
	middle_of(b, &bx, &by);
	if (r->shape == RING_TREE) { /* between two rows, where there are no cards */
		double side = by > ay ? 1 : -1;
		*x0 = ax + aside;
		*y0 = ay + side * (a.height / 2 + 3);
		*x1 = bx + aside;
		*y1 = by - side * (b.height / 2 + 3);
		return;
	}
	leave_box(a, bx, by, 4, x0, y0);
	leave_box(b, ax, ay, 4, x1, y1);
	double length = hypot(bx - ax, by - ay);
	if (length < 1e-9)
		return;
	double nx = -(by - ay) / length * aside, ny = (bx - ax) / length * aside;
	*x0 += nx;
	*y0 += ny;
	*x1 += nx;
	*y1 += ny;
}
