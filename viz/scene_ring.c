/* A collective at work: ranks round a circle, each with its buffer in chunks, and the messages between them.
 *
 *              ┌ rank 0 ──────┐          a chunk has a slot for every rank: it is filled once the
 *              │ ▮▯▯▯ ▮▯▯▯ …  │          chunk holds that rank's contribution. Complete chunks
 *              └──────────────┘          have a thick outline.
 *       ┌ rank 3 ──┐    ┌ rank 1 ──┐
 *            …               …           Above SCORE_MESSAGE_RANKS: a row for a rank, a column for a
 *              ┌ rank 2 ──────┐          chunk, darker the more it holds.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viz/scene.h"
#include "viz/scene_parts.h"

struct ring {
	struct canvas *c;
	const struct view *v;
	const struct state *state; /* whose chunks are drawn */
	const struct collective *collective;
	int64_t n;
	struct box area;
	double card_width, card_height;
};

static struct box card_of(const struct ring *r, int64_t rank)
{
	double angle = (r->n == 2 ? M_PI : -M_PI / 2) + 2 * M_PI * (double)rank / (double)r->n;
	double rx = (r->area.width - r->card_width) / 2 - 2, ry = (r->area.height - r->card_height) / 2 - 2;
	/* Between an ellipse and a rectangle: the corners are used too. */
	double bulge = r->n > 4 && r->n <= 8 ? 0.8 : 1;
	double x = cos(angle), y = sin(angle);
	x = copysign(pow(fabs(x), bulge), x);
	y = copysign(pow(fabs(y), bulge), y);
	return (struct box){r->area.x + r->area.width / 2 + rx * x - r->card_width / 2,
	                    r->area.y + r->area.height / 2 + ry * y - r->card_height / 2, r->card_width,
	                    r->card_height};
}

static void middle_of(struct box b, double *x, double *y)
{
	*x = b.x + b.width / 2;
	*y = b.y + b.height / 2;
}

/* Where a line from the middle of a box leaves it, and `gap` beyond. */
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

/* ---- chunks ---- */

static void draw_slots(const struct ring *r, struct box b, uint64_t held)
{
	const struct theme *t = r->c->theme;
	int64_t n = r->n;
	double slot = b.width / (double)n;
	draw_fill(r->c, b, t->empty);
	if (!collective_adds(r->collective)) { /* somebody's, whole */
		int64_t owner = 0;
		while (held && !(held >> owner & 1))
			owner++;
		if (held)
			draw_fill(r->c, b, rank_colour(t, owner));
		return;
	}
	if (n <= 8) {
		for (int64_t k = 0; k < n; k++)
			if (held >> r->collective->rank[k] & 1)
				draw_fill(r->c, (struct box){b.x + slot * (double)k, b.y, slot, b.height},
				          rank_colour(t, r->collective->rank[k]));
		for (int64_t k = 1; k < n && slot > 5; k++)
			draw_line(r->c, b.x + slot * (double)k, b.y, b.x + slot * (double)k, b.y + b.height, t->outline,
			          0.4);
		return;
	}
	/* Too narrow for slots: filled from below, by how many it holds. */
	double part = 0;
	for (uint64_t v = held; v; v &= v - 1)
		part += 1 / (double)n;
	draw_fill(r->c, (struct box){b.x, b.y + b.height * (1 - part), b.width, b.height * part}, rank_colour(t, 0));
}

static void draw_chunk(const struct ring *r, struct box b, uint64_t held, bool fresh, bool labelled)
{
	const struct theme *t = r->c->theme;
	uint64_t all = r->collective->everyone;
	bool adds = collective_adds(r->collective), complete = adds ? held == all : held != 0;
	char ranks[96];
	draw_slots(r, b, held);
	draw_frame(r->c, b, fresh ? t->accent : t->outline, fresh ? 2.6 : b.width < 12 ? 0.5 : complete ? 1.6 : 0.7);
	if (!labelled || !held)
		return;
	if (adds && complete)
		snprintf(ranks, sizeof ranks, b.width >= 34 ? "Σ all" : "Σ");
	else
		text_of_ranks(ranks, sizeof ranks, held, 65);
	double size = fmin(12, b.width / 3.0);
	if (text_length(r->c, size, WEIGHT_BOLD, ranks) > b.width + 2)
		size *= (b.width + 2) / text_length(r->c, size, WEIGHT_BOLD, ranks);
	draw_text(r->c, b.x + b.width / 2, b.y + b.height + 12, size, complete ? WEIGHT_BOLD : WEIGHT_PLAIN, t->ink,
	          ALIGN_CENTRE, 0, "%s", ranks);
}

static bool is_fresh(const struct ring *r, int64_t rank, int chunk)
{
	const struct state *st = r->v->state;
	if (r->v->tween < 1)
		return false;
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->score->events[i];
		if (e->kind == EVENT_MESSAGE && e->collective == st->collective && e->to_member == rank &&
		    r->collective->cuts[chunk] >= e->offset && r->collective->cuts[chunk + 1] <= e->offset + e->count)
			return true;
	}
	return false;
}

static void draw_card_of(const struct ring *r, int64_t rank)
{
	const struct theme *t = r->c->theme;
	struct box b = card_of(r, rank);
	int chunks = r->collective->chunk_count;
	bool roomy = b.height > 56;
	double pad = roomy ? 10 : 6, title = roomy ? 22 : 15;
	draw_card(r->c, b, t->panel, t->outline, 1.2);
	if (r->n <= 8) {
		draw_fill(r->c, (struct box){b.x + pad, b.y + title - 11, 10, 10},
		          rank_colour(t, r->collective->rank[rank]));
		draw_frame(r->c, (struct box){b.x + pad, b.y + title - 11, 10, 10}, t->outline, 0.8);
	}
	draw_text(r->c, b.x + pad + (r->n <= 8 ? 16 : 0), b.y + title - 2, roomy ? 14 : 10, WEIGHT_BOLD, t->ink,
	          ALIGN_LEFT, b.width - 2 * pad - 12, "rank %" PRId64 "%s", r->collective->rank[rank],
	          r->collective->schedule.root == rank &&
	                          r->collective->schedule.algorithm > SCHEDULE_HALVING_DOUBLING_ALL_REDUCE
	                  ? " (root)"
	                  : "");
	bool numbered = roomy && chunks > 1 && (b.height > 78 || chunks <= 4),
	     labelled = numbered || (roomy && chunks == 1);
	double gap = chunks <= 8 ? 5 : 1.5;
	double width = (b.width - 2 * pad - gap * (chunks - 1)) / chunks;
	double top = b.y + title +
	             (numbered ? 15
	              : roomy  ? 6
	                       : 3),
	       height = b.y + b.height - top - (labelled ? 18 : pad);
	for (int i = 0; i < chunks; i++) {
		struct box chunk = {b.x + pad + (width + gap) * i, top, width, height};
		draw_chunk(r, chunk, r->state->held[rank * chunks + i], is_fresh(r, rank, i), labelled);
		if (numbered && width > 9)
			draw_text(r->c, chunk.x + width / 2, top - 4, 10, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, 0, "%d",
			          i);
	}
}

/* ---- messages ---- */

static void link_of(const struct ring *r, int64_t from, int64_t to, double aside, double *x0, double *y0, double *x1,
                    double *y1)
{
	struct box a = card_of(r, from), b = card_of(r, to);
	double ax, ay, bx, by;
	middle_of(a, &ax, &ay);
	middle_of(b, &bx, &by);
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

/* All links that the schedule ever uses, faint. */
static void draw_links(const struct ring *r)
{
	const struct score *s = r->state->score;
	bool seen[SCORE_MESSAGE_RANKS][SCORE_MESSAGE_RANKS] = {{false}};
	for (size_t i = 0; i < s->event_count; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_MESSAGE || &s->collectives[e->collective] != r->collective ||
		    seen[e->member][e->to_member])
			continue;
		seen[e->member][e->to_member] = true;
		if (seen[e->to_member][e->member])
			continue;
		double x0, y0, x1, y1;
		link_of(r, e->member, e->to_member, 0, &x0, &y0, &x1, &y1);
		draw_line(r->c, x0, y0, x1, y1, r->c->theme->line, 2);
	}
}

static bool comes_back(const struct state *st, const struct event *message)
{
	for (size_t i = st->latest; i < st->latest_end; i++)
		if (st->score->events[i].kind == EVENT_MESSAGE && st->score->events[i].rank == message->to &&
		    st->score->events[i].to == message->rank)
			return true;
	return false;
}

static void chunk_name(const struct ring *r, const struct event *e, bool with_bytes, char *out, size_t size)
{
	int last, first = collective_chunks(r->collective, e, &last);
	char bytes[WORD];
	bytes_word(bytes, e->bytes);
	if (r->collective->chunk_count == 1)
		snprintf(out, size, "%s", bytes);
	else if (first == last)
		snprintf(out, size, with_bytes ? "chunk %d · %s" : "%d", first, bytes);
	else
		snprintf(out, size, with_bytes ? "chunks %d–%d · %s" : "%d–%d", first, last, bytes);
}

static void draw_message(const struct ring *r, const struct event *e)
{
	const struct theme *t = r->c->theme;
	bool back = comes_back(r->v->state, e), moving = r->v->tween < 1;
	double x0, y0, x1, y1, wide = r->n <= 8 ? 3.5 : 2.2;
	char text[96];
	link_of(r, e->member, e->to_member, back ? 7 : 0, &x0, &y0, &x1, &y1);
	draw_line(r->c, x0, y0, x1, y1, t->accent, wide);
	draw_arrow_head(r->c, x0, y0, x1, y1, r->n <= 8 ? 15 : 10, t->accent);
	chunk_name(r, e, r->n <= 8, text, sizeof text);
	double size = r->n <= 8 ? 12 : 9, room = hypot(x1 - x0, y1 - y0);
	double length = text_length(r->c, size, WEIGHT_BOLD, text) + 14;
	double along = moving ? r->v->tween : back ? 0.42 : 0.5, height = size + 9;
	bool level = fabs(x1 - x0) > fabs(y1 - y0);
	if (level && length > room - 20) { /* no room on the link: the number alone */
		chunk_name(r, e, false, text, sizeof text);
		length = text_length(r->c, size, WEIGHT_BOLD, text) + 12;
	}
	double x = x0 + (x1 - x0) * along, y = y0 + (y1 - y0) * along;
	struct box plate = {x - length / 2, y - height / 2, length, height};
	draw_card(r->c, plate, t->accent, t->ground, 1.5);
	draw_text(r->c, x, y + size * 0.36, size, WEIGHT_BOLD, t->accent_ink, ALIGN_CENTRE, 0, "%s", text);
}

static void draw_messages(const struct ring *r)
{
	const struct state *st = r->v->state;
	for (size_t i = st->latest; i < st->latest_end; i++)
		if (st->score->events[i].kind == EVENT_MESSAGE && st->score->events[i].collective == st->collective)
			draw_message(r, &st->score->events[i]);
}

/* ---- what it is about ---- */

static void draw_title(const struct ring *r, struct box b)
{
	const struct theme *t = r->c->theme;
	const struct collective *c = r->collective;
	const struct state *st = r->v->state;
	char what[96], bytes[WORD];
	collective_words(st->score, c, what, sizeof what);
	bool ring = c->schedule.algorithm == SCHEDULE_RING_ALL_REDUCE,
	     middle = r->n >= 3 && r->n <= 16 && c->schedule.algorithm <= SCHEDULE_RING_ALL_GATHER && b.width > 560;
	double x = middle ? b.x + b.width / 2 : b.x, y = middle ? b.y + b.height / 2 - 24 : b.y + 15;
	enum align a = middle ? ALIGN_CENTRE : ALIGN_LEFT;
	double room = middle      ? b.width - 2 * r->card_width - 40
	              : r->n == 2 ? b.width
	                          : (b.width - r->card_width) / 2 - 16;
	draw_text(r->c, x, y, 16, WEIGHT_BOLD, t->ink, a, room, "%s", what);
	draw_text(r->c, x, y + 20, 13, WEIGHT_PLAIN, t->soft, a, room, "S = %s%s%s",
	          bytes_word(bytes, c->schedule.elements * c->element_bytes), c->kind == OP_SEND ? "" : ", by ",
	          c->kind == OP_SEND ? "" : schedule_name(c->schedule.algorithm));
	int round = st->round ? st->round : 1; /* the one that was last over, or that runs first */
	const char *part = !ring ? "" : round <= c->rounds / 2 ? ": reduce-scatter" : ": all-gather";
	if (!st->begun)
		draw_text(r->c, x, y + 39, 13, WEIGHT_PLAIN, t->soft, a, room, "is the first to come");
	else if (st->done)
		draw_text(r->c, x, y + 39, 13, WEIGHT_BOLD, t->ink, a, room, "done in %d round%s", c->rounds,
		          c->rounds == 1 ? "" : "s");
	else
		draw_text(r->c, x, y + 39, 13, WEIGHT_PLAIN, t->ink, a, room, "%d of %d rounds%s", st->round, c->rounds,
		          part);
}

static void size_cards(struct ring *r, bool small)
{
	struct box b = r->area;
	double n = (double)r->n;
	r->card_width = n <= 4   ? fmin(250, b.width * 0.36)
	                : n <= 6 ? fmin(190, b.width * 0.27)
	                : n <= 8 ? fmin(164, b.width * 0.22)
	                         : fmin(104, b.width * 0.125);
	r->card_height = n <= 4   ? fmin(104, b.height * 0.28)
	                 : n <= 8 ? fmin(88, b.height * 0.2)
	                          : fmin(44, b.height * 0.085);
	if (small) { /* room for the links */
		r->card_width *= 0.86;
		r->card_height *= 0.86;
	}
}

static void draw_circle(struct canvas *c, const struct view *v, const struct collective *one, struct box b, bool small)
{
	const struct state *state =
	        v->tween < 1 && v->before && v->before->collective == v->state->collective && v->before->held
	                ? v->before
	                : v->state;
	struct ring r = {c, v, state, one, one->schedule.ranks, b, 0, 0};
	size_cards(&r, small);
	draw_links(&r);
	draw_title(&r, b);
	draw_messages(&r);
	for (int64_t rank = 0; rank < r.n; rank++)
		draw_card_of(&r, rank);
	/* Plates lie over cards where there is little room. */
	if (v->tween < 1)
		draw_messages(&r);
}

/* ---- many ranks ---- */

static void draw_matrix(struct canvas *c, const struct view *v, const struct collective *one, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	int64_t n = one->schedule.ranks;
	int chunks = one->chunk_count;
	struct ring r = {c, v, st, one, n, b, 0, 0};
	cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_NONE); /* thousands of cells, side by side without seams */
	double left = 64, top = 74, cell_w = (b.width - left - 10) / chunks, cell_h = (b.height - top - 22) / (double)n;
	draw_title(&r, (struct box){b.x, b.y, b.width * 0.9, b.height});
	for (int64_t rank = 0; rank < n; rank++)
		for (int i = 0; i < chunks; i++) {
			uint64_t held = st->held[rank * chunks + i];
			double part = 0;
			for (uint64_t m = held; m; m &= m - 1)
				part += 1 / (double)n;
			struct box cell = {b.x + left + cell_w * i, b.y + top + cell_h * (double)rank, cell_w, cell_h};
			if (!collective_adds(one))
				part = held ? 1 : 0;
			draw_fill(c, cell,
			          held ? colour_mix(colour_mix(t->empty, rank_colour(t, 0), 0.25),
			                            t->category[CATEGORY_PARAMETERS], part)
			               : t->empty);
		}
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->score->events[i];
		if (e->kind != EVENT_MESSAGE || e->collective != st->collective)
			continue;
		for (int k = 0; k < chunks; k++)
			if (one->cuts[k] >= e->offset && one->cuts[k + 1] <= e->offset + e->count)
				draw_fill(c,
				          (struct box){b.x + left + cell_w * k,
				                       b.y + top + cell_h * (double)e->to_member, cell_w, cell_h},
				          t->accent);
	}
	cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_DEFAULT);
	draw_frame(c, (struct box){b.x + left, b.y + top, cell_w * chunks, cell_h * (double)n}, t->outline, 1);
	for (int64_t rank = 0; rank<n; rank += n> 32 ? 8 : 4)
		draw_text(c, b.x + left - 6, b.y + top + cell_h * ((double)rank + 0.5) + 4, 11, WEIGHT_PLAIN, t->soft,
		          ALIGN_RIGHT, 0, "rank %" PRId64, one->rank[rank]);
	draw_text(
	        c, b.x + left, b.y + top - 6, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, 0,
	        collective_adds(one)
	                ? "chunks 0 … %d: the darker, the more ranks are in the sum; in this colour ■: has just arrived"
	                : "chunks 0 … %d: blue is there; the rest is yet to come",
	        chunks - 1);
}

static void draw_summary(struct canvas *c, const struct view *v, const struct collective *one, struct box b)
{
	const struct theme *t = c->theme;
	struct ring r = {c, v, v->state, one, one->schedule.ranks, b, 0, 0};
	struct formula f;
	char sent[WORD];
	ledger_formula(v->state->score, one, &f);
	draw_title(&r, (struct box){b.x, b.y, b.width * 0.9, b.height});
	draw_text(c, b.x, b.y + 100, 15, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, b.width,
	          "%" PRId64 " ranks, %d rounds: too many to draw one by one.", r.n, one->rounds);
	draw_text(c, b.x, b.y + 128, 15, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, b.width, "%s: %s = %s = %s", f.who,
	          f.symbols, f.numbers, bytes_word(sent, f.bytes));
	draw_text(c, b.x, b.y + 156, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width,
	          "Up to %d ranks are shown round by round, up to %d message by message.", SCORE_ROUND_RANKS,
	          SCORE_MESSAGE_RANKS);
}

static double ledger_width(struct box b, bool small)
{
	return small ? 0 : fmin(390, b.width * 0.34);
}

int64_t ring_rank_at(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y)
{
	const struct state *st = v->state;
	double ledger = ledger_width(b, small);
	if (st->collective < 0 || !st->held)
		return -1;
	const struct collective *one = &st->score->collectives[st->collective];
	struct ring r = {
	        c, v, st, one, one->schedule.ranks, {b.x, b.y, b.width - ledger - (ledger > 0 ? 20 : 0), b.height},
	        0, 0};
	if (r.n > SCORE_MESSAGE_RANKS)
		return -1;
	size_cards(&r, small);
	for (int64_t rank = 0; rank < r.n; rank++) {
		struct box card = card_of(&r, rank);
		if (x >= card.x && x < card.x + card.width && y >= card.y && y < card.y + card.height)
			return one->rank[rank];
	}
	return -1;
}

void scene_ring(struct canvas *c, const struct view *v, struct box b, bool small)
{
	const struct state *st = v->state;
	double ledger = ledger_width(b, small);
	struct box left = {b.x, b.y, b.width - ledger - (ledger > 0 ? 20 : 0), b.height};
	if (st->collective < 0) {
		draw_text(c, b.x + b.width / 2, b.y + b.height / 2, 16, WEIGHT_PLAIN, c->theme->soft, ALIGN_CENTRE,
		          b.width, "This strategy sends nothing: there is one rank, or nothing to exchange.");
		return;
	}
	const struct collective *one = &st->score->collectives[st->collective];
	if (!st->held)
		draw_summary(c, v, one, left);
	else if (one->schedule.ranks <= SCORE_MESSAGE_RANKS)
		draw_circle(c, v, one, left, small);
	else
		draw_matrix(c, v, one, left);
	if (!small)
		draw_ledger(c, v, (struct box){b.x + b.width - ledger, b.y, ledger, b.height});
}
