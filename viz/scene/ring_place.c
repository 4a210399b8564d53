/* Places the cards of a collective's ranks, and the links between them. */
#include <math.h>

#include "viz/scene/ring_parts.h"

struct ring ring_of(struct canvas *c, const struct view *v, const struct state *state, const struct state_group *group,
                    const struct collective *one)
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

/* Clockwise along the four edges, from the upper left: more room for a card than on an ellipse. */
static void place_on_edges(struct ring *r, double width, double height)
{
	int64_t n = r->n, side = (n - 3) / 4, upper = (n - 2 * side + 1) / 2, lower = n - 2 * side - upper;
	double left = r->area.x + width / 2 + 2, right = r->area.x + r->area.width - width / 2 - 2;
	double top = r->area.y + height / 2 + 2, bottom = r->area.y + r->area.height - height / 2 - 2;
	for (int64_t k = 0; k < n; k++) {
		int64_t at = k;
		double x, y;
		if (at < upper) {
			x = left + (right - left) * (double)at / (double)(upper - 1);
			y = top;
		} else if ((at -= upper) < side) {
			x = right;
			y = top + (bottom - top) * (double)(at + 1) / (double)(side + 1);
		} else if ((at -= side) < lower) {
			x = right - (right - left) * (double)at / (double)(lower - 1);
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

void ring_place(struct ring *r, struct box b, bool small)
{
	double n = (double)r->n, width, height;
	bool edges = r->n > 8 && neighbours_only(r->collective);
	r->shape = shape_of(r->collective);
	width = n <= 4   ? fmin(250, b.width * 0.36)
	        : n <= 6 ? fmin(206, b.width * 0.27)
	        : n <= 8 ? fmin(182, b.width * 0.22)
	        : edges  ? fmin(140, b.width * 0.168)
	                 : fmin(104, b.width * 0.125);
	if (small && !edges) /* room for the links */
		width *= 0.86;
	r->title_inside =
	        r->n >= 3 && r->shape == RING_CIRCLE && neighbours_only(r->collective) && b.width - 2 * width > 220;
	r->area = b;
	if (!r->title_inside) {
		r->area.y += TITLE_HEIGHT;
		r->area.height = fmax(1, r->area.height - TITLE_HEIGHT);
	}
	b = r->area;
	height = n <= 4 ? fmin(104, b.height * 0.28) : n <= 8 ? fmin(104, b.height * 0.2) : fmin(44, b.height * 0.085);
	if (edges)
		height = fmin(92, b.height * 0.16);
	if (small && !edges)
		height *= 0.86;
	if (r->shape == RING_TREE)
		place_tree(r, width, height);
	else if (r->shape == RING_STAR)
		place_star(r, width, height);
	else if (edges)
		place_on_edges(r, width, height);
	else
		for (int64_t rank = 0; rank < r->n; rank++)
			r->card[rank] = round_middle(r, rank, r->n, width, height);
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
