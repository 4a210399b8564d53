/* A collective at work: ranks as its messages go (a circle, a tree, a star: ring_place.c), each with its buffer in
 * chunks, and the messages between them.
 *
 *              ┌ rank 0 ──────┐          a chunk has a slot for every rank: it is filled once the
 *              │ ▮▯▯▯ ▮▯▯▯ …  │          chunk holds that rank's contribution (above four ranks the
 *              └──────────────┘          slots lie on each other). Complete chunks have a thick outline.
 *       ┌ rank 3 ──┐    ┌ rank 1 ──┐
 *            …               …           Above TIMELINE_MESSAGE_RANKS: a row for a rank, a column for a
 *              ┌ rank 2 ──────┐          chunk, stronger the more it holds.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/ring_parts.h"
#include "viz/scene/scene_parts.h"

/* ---- messages ---- */

/* All links that the schedule ever uses, faint. */
static void draw_links(const struct ring *r)
{
	const struct timeline *s = r->state->timeline;
	bool seen[TIMELINE_MESSAGE_RANKS][TIMELINE_MESSAGE_RANKS] = {{false}};
	for (size_t i = r->collective->first_event; i < r->collective->end_event; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_MESSAGE || &s->collectives[e->collective] != r->collective ||
		    seen[e->member][e->to_member])
			continue;
		seen[e->member][e->to_member] = true;
		if (seen[e->to_member][e->member])
			continue;
		double x0, y0, x1, y1;
		ring_link(r, e->member, e->to_member, 0, &x0, &y0, &x1, &y1);
		draw_line(r->c, x0, y0, x1, y1, r->c->theme->line, 2);
	}
}

static bool comes_back(const struct state *st, const struct event *message)
{
	for (size_t i = st->latest; i < st->latest_end; i++)
		if (st->timeline->events[i].kind == EVENT_MESSAGE && st->timeline->events[i].rank == message->to &&
		    st->timeline->events[i].to == message->rank)
			return true;
	return false;
}

/* How much of a message is named, which depends on the room. */
enum message_words { MESSAGE_NUMBER, MESSAGE_CHUNK, MESSAGE_BYTES };

/* number: of the first chunk; NAN: none is shown. */
static void chunk_name(const struct ring *r, const struct event *e, double number, enum message_words much, char *out,
                       size_t size)
{
	int last, first = collective_chunks(r->collective, e, &last);
	char bytes[WORD], carries[VALUE_WORD] = "", shown[VALUE_WORD + 4] = "", tail[WORD + 8] = "";
	bytes_word(bytes, e->bytes);
	if (!isnan(number))
		snprintf(shown, sizeof shown, ": %s", value_word(carries, number));
	if (much == MESSAGE_BYTES)
		snprintf(tail, sizeof tail, " · %s", bytes);
	if (r->collective->chunk_count == 1)
		snprintf(out, size, "%s%s%s", carries, *carries ? " · " : "", bytes);
	else if (first == last)
		snprintf(out, size, "%s%d%s%s", much ? tr("chunk ") : "", first, shown, tail);
	else
		snprintf(out, size, "%s%d–%d%s%s", much ? tr("chunks ") : "", first, last, shown, tail);
}

static void draw_message(const struct ring *r, const struct event *e, double number)
{
	const struct theme *t = r->c->theme;
	bool back = comes_back(r->v->state, e), moving = r->v->tween < 1;
	double x0, y0, x1, y1, wide = r->n <= 8 ? 3.5 : 2.2, size = ring_plate_size(r), height = size + 9;
	char text[96];
	/* Two that pass each other keep so far apart that their plates do. */
	ring_link(r, e->member, e->to_member, back ? height / 2 + 3 : 0, &x0, &y0, &x1, &y1);
	draw_line(r->c, x0, y0, x1, y1, t->accent, wide);
	draw_arrow_head(r->c, x0, y0, x1, y1, r->n <= 8 ? 15 : 10, t->accent);
	double room = hypot(x1 - x0, y1 - y0), length;
	double aside = back ? fmax(0.08, fmin(0.3, (height + 3) / 2 / room)) : 0; /* from the middle */
	double along = moving ? r->v->tween : 0.5 - aside;
	bool level = fabs(x1 - x0) > fabs(y1 - y0) || r->state->group_count > 1; /* groups have little room */
	bool tight = level || back || r->c->least > 12, steep = fabs(y1 - y0) > fabs(x1 - x0),
	     hides = steep && !back && room < height + ring_arrow(r);
	enum message_words much = hides || r->n > 8 ? MESSAGE_NUMBER : MESSAGE_BYTES;
	do {
		chunk_name(r, e, number, much, text, sizeof text);
		length = text_length(r->c, size, WEIGHT_BOLD, text) + 14;
	} while (tight && length > room - 20 && much-- > MESSAGE_NUMBER);
	double x = x0 + (x1 - x0) * along, y = y0 + (y1 - y0) * along;
	if (hides && !moving) /* beside the arrow */
		x += (x < r->area.x + r->area.width / 2 ? -1 : 1) * (length / 2 + 8);
	x = fmin(fmax(x, r->area.x + length / 2), r->area.x + r->area.width - length / 2);
	struct box plate = {x - length / 2, y - height / 2, length, height};
	draw_card(r->c, plate, t->accent, t->ground, 1.5);
	draw_text(r->c, x, y + size * 0.36, size, WEIGHT_BOLD, t->accent_ink, ALIGN_CENTRE, 0, "%s", text);
}

static void draw_messages(const struct ring *r)
{
	const struct state *st = r->v->state;
	struct values v = {0};
	if (r->values)
		ring_values_before(&v, st, r->collective);
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		int last;
		if (e->kind != EVENT_MESSAGE || e->collective != r->group->collective)
			continue;
		draw_message(r, e,
		             v.now ? v.now[e->member * v.chunks + collective_chunks(r->collective, e, &last)] : NAN);
		if (v.now)
			values_carry(&v, r->collective, e);
	}
	values_release(&v);
}

static void draw_group(struct canvas *c, const struct view *v, int group, struct box b, bool small)
{
	const struct state *state =
	        v->tween < 1 && v->before && v->before->collective == v->state->collective && v->before->held
	                ? v->before
	                : v->state;
	const struct state_group *g = &state->groups[group];
	const struct collective *one = &state->timeline->collectives[g->collective];
	struct ring r = ring_make(c, v, state, g, one);
	struct values values = {0};
	if (ring_values_shown(v, one)) {
		values_make(&values, state, g);
		r.values = &values;
	}
	ring_place(&r, b, small);
	draw_links(&r);
	ring_title(&r, b, r.title_inside ? b.width - 2 * r.card[0].width - 40 : b.width);
	draw_messages(&r);
	for (int64_t rank = 0; rank < r.n; rank++)
		ring_card(&r, rank);
	/* Plates lie over cards where there is little room. */
	if (v->tween < 1)
		draw_messages(&r);
	values_release(&values);
}

static void draw_groups(struct canvas *c, const struct view *v, struct box b, bool small)
{
	struct ring_cells cells;
	ring_divide(&cells, v->state, b);
	for (int i = 0; i < cells.count; i++)
		draw_group(c, v, i, cells.cell[i], small || cells.count > 1);
	ring_strip(c, v->state, &cells);
}

static void draw_summary(struct canvas *c, const struct view *v, const struct collective *one, struct box b)
{
	const struct theme *t = c->theme;
	struct ring r = ring_make(c, v, v->state, v->state->groups, one);
	r.area = b;
	struct formula f;
	char sent[WORD];
	ledger_formula(one, &f);
	ring_title(&r, b, b.width);
	draw_text(c, b.x, b.y + 100, 15, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, b.width,
	          "%" PRId64 " ranks, %d rounds: too many to draw one by one.", r.n, one->rounds);
	draw_text(c, b.x, b.y + 128, 15, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, b.width, "%s: %s = %s = %s", f.who,
	          f.symbols, f.numbers, bytes_word(sent, f.bytes));
	draw_text(c, b.x, b.y + 156, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width,
	          "Up to %d ranks are shown round by round, up to %d message by message.", TIMELINE_ROUND_RANKS,
	          TIMELINE_MESSAGE_RANKS);
}

struct box ring_ledger_box(struct box b, bool small)
{
	double width = small ? 0 : fmin(390, b.width * 0.34);
	return (struct box){b.x + b.width - width, b.y, width, b.height};
}

/* The part of the box beside the ledger. */
static struct box beside_ledger(struct box b, bool small)
{
	return (struct box){b.x, b.y, b.width - (small ? 0 : ring_ledger_box(b, small).width + 20), b.height};
}

static int64_t rank_in_group(struct canvas *c, const struct view *v, int group, struct box b, bool small, double x,
                             double y)
{
	const struct state_group *g = &v->state->groups[group];
	const struct collective *one = &v->state->timeline->collectives[g->collective];
	struct ring r = ring_make(c, v, v->state, g, one);
	ring_place(&r, b, small);
	for (int64_t rank = 0; rank < r.n; rank++)
		if (box_has(r.card[rank], x, y))
			return one->rank[rank];
	return -1;
}

static int64_t rank_at(struct canvas *c, const struct view *v, struct box left, bool small, double x, double y)
{
	const struct state *st = v->state;
	struct ring_cells cells;
	if (st->collective >= 0 && ring_is_schematic(&st->timeline->collectives[st->collective]))
		return ring_schematic_rank(c, v, &st->timeline->collectives[st->collective], left, small, x, y);
	if (st->collective < 0 || !st->held ||
	    st->timeline->collectives[st->collective].schedule.ranks > TIMELINE_MESSAGE_RANKS)
		return -1;
	ring_divide(&cells, st, left);
	for (int i = 0; i < cells.count; i++) {
		int64_t rank = rank_in_group(c, v, i, cells.cell[i], small || cells.count > 1, x, y);
		if (rank >= 0)
			return rank;
	}
	for (int i = 0; i < cells.other_count; i++)
		if (box_has(ring_strip_card(&cells, i), x, y))
			return st->timeline->ranks[cells.others[i]].rank;
	return -1;
}

/* Draws a collective in the whole box, without a ledger. */
static void draw_alone(struct canvas *c, const struct view *v, struct box left, bool small)
{
	const struct state *st = v->state;
	const struct collective *one = &st->timeline->collectives[st->collective];
	if (ring_is_schematic(one))
		ring_schematic(c, v, one, left, small);
	else if (!st->held)
		draw_summary(c, v, one, left);
	else if (one->schedule.ranks <= TIMELINE_MESSAGE_RANKS)
		draw_groups(c, v, left, small);
	else
		ring_matrix(c, v, one, left);
}

/* True if there is a collective. If not, the scene says so. */
static bool has_collective(struct canvas *c, const struct view *v, struct box b)
{
	static const char none[] = "This strategy sends nothing: there is one rank, or nothing to exchange.";
	if (v->state->collective >= 0)
		return true;
	double lines = paragraph_lines(c, b.width, 16, WEIGHT_PLAIN, none),
	       length = text_length(c, 16, WEIGHT_PLAIN, none);
	draw_paragraph(c, b.x + fmax(0, b.width - length) / 2, b.y + b.height / 2, b.width, 16, (int)lines,
	               c->theme->soft, none);
	return false;
}

static void draw_ring(struct canvas *c, const struct view *v, struct box b, bool small)
{
	if (!has_collective(c, v, b))
		return;
	draw_alone(c, v, beside_ledger(b, small), small);
	if (!small)
		draw_ledger(c, v, ring_ledger_box(b, small));
}

static void hit_ring(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y,
                     struct hit *h)
{
	rank_hit(v->state, rank_at(c, v, beside_ledger(b, small), small, x, y), h);
}

/* ---- in a narrow box: the ledger's sums below the ranks ---- */

static double sums_height(const struct canvas *c, const struct view *v, struct box b)
{
	enum { LEAST = 340 }; /* so that many ranks' cards are high enough for their numbers */
	const struct state *st = v->state;
	bool many =
	        st->collective >= 0 && st->timeline->collectives[st->collective].schedule.ranks > RING_SLOTS_ABREAST;
	double high = ledger_sums_height(c) + 10;
	return many && b.height - high < LEAST ? 0 : high;
}

static struct box above_sums(const struct canvas *c, const struct view *v, struct box b)
{
	return (struct box){b.x, b.y, b.width, fmax(1, b.height - sums_height(c, v, b))};
}

static void draw_narrow(struct canvas *c, const struct view *v, struct box b, bool small)
{
	struct box ranks = above_sums(c, v, b);
	double high = ledger_sums_height(c);
	(void)small;
	if (!has_collective(c, v, b))
		return;
	draw_alone(c, v, ranks, false);
	if (ranks.height < b.height)
		draw_ledger_sums(c, v, (struct box){b.x, b.y + b.height - high, b.width, high});
}

static void hit_narrow(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y,
                       struct hit *h)
{
	rank_hit(v->state, rank_at(c, v, above_sums(c, v, b), small, x, y), h);
}

static const struct scene_row narrow = {
        .title = "Collective",
        .what = "ranks, links, and what every chunk holds",
        .width = 500,
        .height = 370,
        .elastic = true,
        .draw = draw_narrow,
        .hit = hit_narrow,
        .messages = true,
};

const struct scene_row scene_ring = {
        .title = "Collective",
        .what = "ranks, links, and what every chunk holds",
        .width = 940,
        .height = 330,
        .draw = draw_ring,
        .hit = hit_ring,
        .messages = true,
        .narrow = &narrow,
};
