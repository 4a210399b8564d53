/* A ring of many ranks, as a scheme: the first, those between as one, the last; and of each the same chunks.
 *
 *     ┌ rank 0 ─┐   ┌ rank 1 ─┐   ┌ rank 2 ─┐   ┌ rank 3 ─┐
 *     │ ▮▮▯▯…▯▯ │ → │         │ → │         │ → │         │
 *     └─────────┘   └─────────┘   └─────────┘   └─────────┘
 *          ↑                                         ↓
 *     ┌ rank 63 ┐   ┌ rank 62 ┐   ┌ ranks 4–61: the same ─┐
 *     │         │ ← │         │ ← │                       │
 *     └─────────┘   └─────────┘   └───────────────────────┘
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/ring_parts.h"
#include "viz/scene/scene_parts.h"

enum { FIRST = 4, LAST = 2, CARDS = FIRST + LAST + 1, FOLD = FIRST, GAP = 46, PLATE = 20 };

struct scheme {
	struct canvas *c;
	const struct view *v;
	const struct state *state; /* the state whose chunks are drawn */
	const struct collective *one;
	int64_t n;
	struct box card[CARDS]; /* FOLD: of those between */
	double below;           /* y of what lies below the cards */
};

bool ring_is_schematic(const struct collective *one)
{
	return one->kind != OP_SEND && one->schedule.ranks > TIMELINE_MESSAGE_RANKS &&
	       schedule_row(one->schedule.algorithm)->shape == SHAPE_RING;
}

/* The place in the group of a card, and of a chunk's cell. */
static int64_t place_of(const struct scheme *s, int card)
{
	return card <= FOLD ? card : s->n - CARDS + card;
}

static int64_t rank_at_place(const struct scheme *s, int64_t place)
{
	const struct timeline *t = s->state->timeline;
	const struct role *r = plan_role_of(t->plan, s->one->lead);
	return op_member_rank(t->plan, &r->ops[s->one->op], s->one->lead, place);
}

static void lay(struct scheme *s, struct box b, bool small)
{
	double width = (b.width - 3 * GAP) / 4, room = b.height - ring_title_height(s->c);
	double below = s->v->state->held && !small ? 0 : 62; /* words; the matrix takes what is left */
	double height = fmin(s->v->state->held ? 104 : 150, fmax(30, (room - GAP - below) / 2)), top;
	top = b.y + ring_title_height(s->c);
	if (!small && s->v->state->held && room > 2 * height + GAP + 150)
		height = fmin(height, 92);
	for (int i = 0; i < FIRST; i++)
		s->card[i] = (struct box){b.x + (width + GAP) * i, top, width, height};
	double y = top + height + GAP;
	s->card[CARDS - 1] = (struct box){b.x, y, width, height};
	s->card[CARDS - 2] = (struct box){b.x + width + GAP, y, width, height};
	s->card[FOLD] = (struct box){b.x + 2 * (width + GAP), y, 2 * width + GAP, height};
	s->below = y + height;
}

/* ---- chunks ---- */

/* The part of the contributions that a chunk has there: 0 … 1. */
static double part_of(const struct scheme *s, int64_t place, int64_t chunk)
{
	const struct collective *one = s->one;
	const struct state *st = s->state;
	bool adds = collective_adds(one);
	if (st->held) {
		uint64_t held = st->held[place * one->chunk_count + chunk];
		int count = 0;
		for (; held; held &= held - 1)
			count++;
		return adds ? count / (double)s->n : count > 0;
	}
	if (st->begun && st->done)
		return one->kind == OP_REDUCE_SCATTER ? (place == chunk ? 1 : 0) : 1;
	return adds ? 1 / (double)s->n : place == chunk;
}

static colour cell_colour(const struct scheme *s, double part)
{
	const struct theme *t = s->c->theme;
	if (part <= 0)
		return t->empty;
	return colour_mix(colour_mix(t->empty, rank_colour(t, 0), 0.25), t->category[CATEGORY_PARAMETERS], part);
}

static bool is_fresh(const struct scheme *s, int64_t place, int64_t chunk)
{
	const struct state *st = s->v->state;
	for (size_t i = st->latest; s->v->tween >= 1 && i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		if (e->kind == EVENT_MESSAGE && e->collective == st->collective && e->to_member == place &&
		    collective_carries(s->one, e, (int)chunk))
			return true;
	}
	return false;
}

/* The chunks between the first and the last, in one cell. */
static void draw_between(const struct scheme *s, int64_t place, struct box b)
{
	int64_t first = FIRST, end = s->n - LAST;
	int pieces = (int)fmin((double)(end - first), b.width / 3);
	bool fresh = false;
	for (int i = 0; i < pieces; i++) {
		int64_t chunk = first + (end - first) * i / pieces;
		draw_fill(s->c, (struct box){b.x + b.width * i / pieces, b.y, b.width / pieces + 0.3, b.height},
		          cell_colour(s, part_of(s, place, chunk)));
	}
	for (int64_t chunk = first; chunk < end && !fresh; chunk++)
		fresh = is_fresh(s, place, chunk);
	draw_frame(s->c, b, fresh ? s->c->theme->accent : s->c->theme->outline, fresh ? 2.6 : 0.7);
}

/* Below a cell, if there is room; the last stands at the right edge in any case. */
static void draw_number(const struct scheme *s, int64_t chunk, bool last, struct box cell, double room, double size)
{
	char word[24];
	double y = cell.y + cell.height + size + 1;
	snprintf(word, sizeof word, "%" PRId64, chunk);
	bool fits = text_length(s->c, size, WEIGHT_PLAIN, word) <= room - 2;
	if (last)
		draw_text(s->c, cell.x + cell.width, y, size, WEIGHT_PLAIN, s->c->theme->soft, ALIGN_RIGHT, 0, "%s",
		          word);
	else if (fits)
		draw_text(s->c, cell.x + cell.width / 2, y, size, WEIGHT_PLAIN, s->c->theme->soft, ALIGN_CENTRE, 0,
		          "%s", word);
}

static void draw_chunks(const struct scheme *s, int64_t place, struct box b)
{
	const struct theme *t = s->c->theme;
	double wide = 2.2, gap = 3, unit = (b.width - gap * (CARDS - 1)) / (CARDS - 1 + wide), x = b.x;
	double size = fmax(s->c->least, fmin(11, fmax(8, unit * 0.42)));
	b.height = fmax(6, b.height - size - 4);
	for (int i = 0; i < CARDS; i++) {
		struct box cell = {x, b.y, i == FOLD ? wide * unit : unit, b.height};
		int64_t chunk = place_of(s, i);
		x += cell.width + gap;
		if (i == FOLD) {
			draw_between(s, place, cell);
			draw_text(s->c, cell.x + 2, b.y + b.height + size + 1, size, WEIGHT_PLAIN, t->soft, ALIGN_LEFT,
			          0, "…");
			continue;
		}
		bool fresh = is_fresh(s, place, chunk);
		draw_fill(s->c, cell, cell_colour(s, part_of(s, place, chunk)));
		draw_frame(s->c, cell, fresh ? t->accent : t->outline, fresh ? 2.6 : 0.7);
		draw_number(s, chunk, i == CARDS - 1, cell, unit + gap, size);
	}
}

static void draw_rank(const struct scheme *s, int card)
{
	const struct theme *t = s->c->theme;
	struct box b = s->card[card];
	double pad = 8;
	draw_card(s->c, b, t->panel, t->outline, 1.2);
	draw_text(s->c, b.x + pad, b.y + 17, 13, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 2 * pad, "rank %" PRId64,
	          rank_at_place(s, place_of(s, card)));
	if (b.height > 44)
		draw_chunks(s, place_of(s, card),
		            (struct box){b.x + pad, b.y + 24, b.width - 2 * pad, b.height - 24 - pad});
}

static void draw_fold(const struct scheme *s)
{
	const struct theme *t = s->c->theme;
	struct box b = s->card[FOLD];
	char words[128];
	for (int i = 2; i >= 0; i--) /* cards behind each other */
		draw_card(s->c, (struct box){b.x + 5.0 * i, b.y + 5.0 * i, b.width - 10, b.height - 10}, t->panel,
		          t->outline, 1.2);
	snprintf(words, sizeof words, tr("ranks %" PRId64 "–%" PRId64 ": the same"), rank_at_place(s, FIRST),
	         rank_at_place(s, s->n - LAST - 1));
	draw_fitting(s->c, b.x + b.width / 2 - 5, b.y + b.height / 2 - 6, 15, 9, WEIGHT_BOLD, t->ink, ALIGN_CENTRE,
	             b.width - 26, words);
	if (b.height > 44)
		draw_fitting(s->c, b.x + b.width / 2 - 5, b.y + b.height / 2 + 13, 12, 8, WEIGHT_PLAIN, t->soft,
		             ALIGN_CENTRE, b.width - 26, "each passes on to the next what it got last");
}

/* ---- links ---- */

static void ends_of(const struct scheme *s, int from, double *x0, double *y0, double *x1, double *y1)
{
	struct box a = s->card[from], b = s->card[(from + 1) % CARDS];
	bool level = fabs(a.y - b.y) < 1;
	double right = b.x > a.x ? 1 : -1;
	*x0 = level               ? a.x + (right > 0 ? a.width + 3 : -3)
	      : from == FIRST - 1 ? b.x + b.width * 0.72
	                          : a.x + a.width / 2;
	*y0 = level ? a.y + a.height / 2 : a.y + (b.y > a.y ? a.height + 3 : -3);
	*x1 = level ? b.x + (right > 0 ? -3 : b.width + 3) : *x0;
	*y1 = level ? *y0 : b.y + (b.y > a.y ? -3 : b.height + 3);
}

/* The message that leaves a place in the last step; NULL: none is known. */
static const struct event *message_from(const struct scheme *s, int64_t place)
{
	const struct state *st = s->v->state;
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		if (e->kind == EVENT_MESSAGE && e->collective == st->collective && e->member == place)
			return e;
	}
	return NULL;
}

static void draw_plate(const struct scheme *s, double x, double y, const char *text)
{
	const struct theme *t = s->c->theme;
	double length = text_length(s->c, 11, WEIGHT_BOLD, text) + 10;
	draw_card(s->c, (struct box){x - length / 2, y - PLATE / 2.0, length, PLATE}, t->accent, t->ground, 1.5);
	draw_text(s->c, x, y + 4, 11, WEIGHT_BOLD, t->accent_ink, ALIGN_CENTRE, 0, "%s", text);
}

static void draw_link(const struct scheme *s, int from)
{
	const struct theme *t = s->c->theme;
	const struct state *st = s->v->state;
	int64_t place = from == FOLD ? s->n - LAST - 1 : place_of(s, from);
	const struct event *e = message_from(s, place);
	bool runs = e || (!s->one->shown && st->begun && !st->done);
	double x0, y0, x1, y1, along = s->v->tween < 1 ? s->v->tween : 0.45;
	char text[48];
	int last;
	ends_of(s, from, &x0, &y0, &x1, &y1);
	draw_line(s->c, x0, y0, x1, y1, runs ? t->accent : t->line, runs ? 2.6 : 2);
	if (!runs)
		return;
	draw_arrow_head(s->c, x0, y0, x1, y1, 10, t->accent);
	if (e)
		snprintf(text, sizeof text, "%d", collective_chunks(s->one, e, &last));
	else
		snprintf(text, sizeof text, "S/n");
	draw_plate(s, x0 + (x1 - x0) * along, y0 + (y1 - y0) * along, text);
}

/* ---- the whole ---- */

static void prepare(struct scheme *s, struct canvas *c, const struct view *v, const struct collective *one,
                    struct box b, bool small)
{
	const struct state *before = v->tween < 1 ? v->before : NULL;
	bool moving = before && before->collective == v->state->collective && before->held;
	*s = (struct scheme){.c = c, .v = v, .state = moving ? before : v->state, .one = one, .n = one->schedule.ranks};
	lay(s, b, small);
}

static void draw_legend(const struct scheme *s, struct box b, double y)
{
	draw_text(s->c, b.x, y, 11, WEIGHT_PLAIN, s->c->theme->soft, ALIGN_LEFT, b.width,
	          collective_adds(s->one)
	                  ? "in a card its chunks: the bluer, the more ranks are in the sum; framed: has "
	                    "just arrived. On a link: the chunk that passes"
	                  : "in a card its chunks: blue is there; framed: has just arrived. On a link: the "
	                    "chunk that passes");
}

static void say_many(const struct scheme *s, struct box b, double y)
{
	struct formula f;
	char sent[WORD], slice[WORD];
	const struct collective *one = s->one;
	ledger_formula(one, &f);
	draw_text(s->c, b.x, y, 13, WEIGHT_PLAIN, s->c->theme->ink, ALIGN_LEFT, b.width,
	          "Each of %d rounds moves S/n = %s from every rank to the next: %s in all.", one->rounds,
	          bytes_word(slice, one->schedule.elements / s->n * one->element_bytes), bytes_word(sent, f.bytes));
	draw_text(s->c, b.x, y + 20, 12, WEIGHT_PLAIN, s->c->theme->soft, ALIGN_LEFT, b.width,
	          "Up to %d ranks are shown round by round, up to %d with all of them.", TIMELINE_ROUND_RANKS,
	          TIMELINE_MESSAGE_RANKS);
}

void ring_schematic(struct canvas *c, const struct view *v, const struct collective *one, struct box b, bool small)
{
	struct scheme s;
	prepare(&s, c, v, one, b, small);
	struct ring title = {
	        .c = c, .v = v, .state = v->state, .group = v->state->groups, .collective = one, .n = s.n, .area = b};
	ring_title(&title, b, b.width);
	for (int i = 0; i < CARDS; i++)
		if (i == FOLD)
			draw_fold(&s);
		else
			draw_rank(&s, i);
	for (int i = 0; i < CARDS; i++)
		draw_link(&s, i);
	double left = b.y + b.height - s.below;
	if (left > 16)
		draw_legend(&s, b, s.below + 15);
	if (!v->state->held && left > 60)
		say_many(&s, b, s.below + 42);
	else if (v->state->held && left > 130)
		ring_matrix_alone(c, v, one, (struct box){b.x, s.below + 26, b.width, left - 26});
}

int64_t ring_schematic_rank(struct canvas *c, const struct view *v, const struct collective *one, struct box b,
                            bool small, double x, double y)
{
	struct scheme s;
	prepare(&s, c, v, one, b, small);
	for (int i = 0; i < CARDS; i++)
		if (i != FOLD && box_has(s.card[i], x, y))
			return rank_at_place(&s, place_of(&s, i));
	return -1;
}
