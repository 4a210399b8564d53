/* The card of a rank in a collective: its name, and its buffer in chunks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/ring_parts.h"

/* ---- chunks ---- */

static void draw_slots(const struct ring *r, struct box b, uint64_t held)
{
	const struct theme *t = r->c->theme;
	int64_t n = r->n;
	bool abreast = n <= RING_SLOTS_ABREAST;
	double slot = (abreast ? b.width : b.height) / (double)n;
	if (!collective_adds(r->collective)) { /* somebody's, whole */
		int64_t owner = 0;
		while (held && !(held >> owner & 1))
			owner++;
		if (held)
			draw_fill(r->c, b, rank_colour(t, owner));
		return;
	}
	for (int64_t k = 0; k < n; k++) {
		struct box one = {b.x, b.y + slot * (double)k, b.width, slot};
		if (abreast)
			one = (struct box){b.x + slot * (double)k, b.y, slot, b.height};
		if (held >> r->collective->rank[k] & 1)
			draw_fill(r->c, one, rank_colour(t, r->collective->rank[k]));
		if (k && abreast && slot > 5)
			draw_line(r->c, one.x, b.y, one.x, b.y + b.height, t->outline, 0.4);
		else if (k && !abreast && (slot > 4 || (k % 8 == 0 && slot > 1.5))) /* after eight, colours return */
			draw_line(r->c, b.x, one.y, b.x + b.width, one.y, t->outline, k % 8 ? 0.3 : 0.7);
	}
}

/* The text below a chunk names the contributions that it holds. If that is too long to read, it is "Σ4" for four of
 * them, and above eight ranks the number alone. */
static void draw_holders(const struct ring *r, struct box b, uint64_t held, bool complete, double room)
{
	static const double least = 8;
	enum weight w = complete ? WEIGHT_BOLD : WEIGHT_PLAIN;
	char text[96];
	int count = 0;
	bool adds = collective_adds(r->collective);
	double size = fmin(12, fmax(least, b.width / 3.0));
	for (uint64_t v = held; v; v &= v - 1)
		count++;
	if (complete && adds)
		snprintf(text, sizeof text, b.width >= 34 ? tr("Σ all") : "Σ");
	else if (adds && r->n > 8)
		snprintf(text, sizeof text, "%d", count);
	else
		text_of_ranks(text, sizeof text, held, 65);
	double length = text_length(r->c, size, w, text);
	if (length > room)
		size = fmax(least, size * room / length);
	if (adds && text_length(r->c, size, w, text) > room)
		snprintf(text, sizeof text, complete ? "Σ" : "Σ%d", count);
	if (text_length(r->c, size, w, text) > room + 1)
		return;
	draw_text(r->c, b.x + b.width / 2, b.y + b.height + fmax(size < 10 ? 9 : 12, 0.9 * r->c->least), size, w,
	          r->c->theme->ink, ALIGN_CENTRE, 0, "%s", text);
}

static bool is_fresh(const struct ring *r, int64_t rank, int chunk)
{
	const struct state *st = r->v->state;
	if (r->v->tween < 1)
		return false;
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		if (e->kind == EVENT_MESSAGE && e->collective == r->group->collective && e->to_member == rank &&
		    collective_carries(r->collective, e, chunk))
			return true;
	}
	return false;
}

static bool is_root(const struct ring *r, int64_t rank)
{
	return r->collective->schedule.root == rank && operation_has_root(op_operation(r->collective->kind));
}

static double gap_of(int chunks)
{
	return chunks <= 6 ? 5 : chunks <= 8 ? 3 : 1.5;
}

/* The margin of a card, which shrinks if the card is small or its chunks would be too narrow for their numbers. */
static double card_padding(const struct ring *r, const struct box *b, int chunks)
{
	double width = (b->width - 2 * RING_PADDING - gap_of(chunks) * (chunks - 1)) / chunks;
	bool tight = r->values && width < text_length(r->c, RING_LEAST_NUMBER, WEIGHT_BOLD, "42") + 2;
	return b->height > 56 && r->n <= 8 && !tight ? RING_PADDING : 6;
}

/* The layout of a card. */
struct card_parts {
	double pad, mark, size, title, word, above, below;
};

static struct card_parts card_parts(const struct ring *r, struct box b)
{
	bool roomy = b.height > 56, many = r->n > 8, wide = roomy && !many;
	struct card_parts p = {.pad = card_padding(r, &b, r->collective->chunk_count), .mark = wide ? 10 : 7};
	p.size = fmax(wide ? 14 : 10, r->c->least);
	p.title = p.size + (wide ? 8 : 5);
	p.word = fmax(many ? 8 : 10, r->c->least);
	p.above = p.word + (many ? 2 : 5);
	p.below = p.word + (many ? 5 : 8);
	return p;
}

/* The height of the chunks without words above and below them. */
static double chunk_height(const struct ring *r, const struct card_parts *p, struct box b)
{
	return b.height - p->title - fmax(p->word + 8, ring_value_height(r) + 1);
}

bool ring_is_numbered(const struct ring *r, struct box b)
{
	struct card_parts p = card_parts(r, b);
	return b.height > 56 && r->collective->chunk_count > 1 && chunk_height(r, &p, b) >= p.above + p.pad;
}

bool ring_is_labelled(const struct ring *r, struct box b)
{
	struct card_parts p = card_parts(r, b);
	bool numbered = ring_is_numbered(r, b), one = b.height > 56 && r->collective->chunk_count == 1;
	return (numbered || one) && chunk_height(r, &p, b) >= p.below + (numbered ? p.above : 0);
}

/* A card's face: the rank's name, and below it the chunks. */
struct face {
	struct box card;
	struct card_parts part;
	int64_t rank;
	int chunks, every;                    /* every so many a number */
	double top, width, height, gap;       /* of the chunks */
	bool many, numbered, labelled, there; /* there: what it brings */
};

static struct face face_of(const struct ring *r, int64_t rank)
{
	struct box b = r->card[rank];
	struct face f = {.card = b,
	                 .part = card_parts(r, b),
	                 .rank = rank,
	                 .chunks = r->collective->chunk_count,
	                 .every = 1,
	                 .many = r->n > 8,
	                 .numbered = ring_is_numbered(r, b),
	                 .labelled = ring_is_labelled(r, b)};
	const struct card_parts *p = &f.part;
	f.gap = gap_of(f.chunks);
	f.width = (b.width - 2 * p->pad - f.gap * (f.chunks - 1)) / f.chunks;
	f.top = b.y + p->title + (f.numbered ? p->above : b.height > 56 ? 6 : 3);
	f.height = b.y + b.height - f.top - (f.labelled ? p->below : p->pad);
	f.labelled &= !f.many || f.width + f.gap > text_length(r->c, 8, WEIGHT_PLAIN, "1") + 3;
	f.there = !collective_adds(r->collective) || state_ready(r->state, r->group->collective, rank);
	double digits = text_length(r->c, f.many ? 8 : 10, WEIGHT_PLAIN, f.chunks > 10 ? "18" : "8") + 2;
	while ((f.width + f.gap) * f.every < digits)
		f.every *= 2;
	return f;
}

/* Places a chunk and its number, which may be on it. */
static struct box chunk_of(const struct ring *r, const struct face *f, int i, struct box *number)
{
	struct box chunk = {f->card.x + f->part.pad + (f->width + f->gap) * i, f->top, f->width, f->height};
	*number = r->values ? ring_value_box(r, &chunk) : chunk;
	return chunk;
}

static uint64_t held_of(const struct ring *r, const struct face *f, int i)
{
	return f->there ? r->group->held[f->rank * f->chunks + i] : 0;
}

/* Writes "rank 3", or "3" if a sum needs the room beside it. Returns the width. */
static double draw_rank(const struct ring *r, const struct face *f)
{
	const struct theme *t = r->c->theme;
	struct box mark = {f->card.x + f->part.pad, f->card.y + f->part.title - 1 - f->part.mark, f->part.mark,
	                   f->part.mark};
	int64_t number = r->collective->rank[f->rank];
	char text[48], *name = text;
	snprintf(text, sizeof text, tr("rank %" PRId64 "%s"), number, is_root(r, f->rank) ? tr(" (root)") : "");
	double room = f->card.width - 2 * f->part.pad - f->part.mark - 4, sum = 0;
	if (r->values && collective_adds(r->collective))
		sum = text_length(r->c, RING_LEAST_NUMBER, WEIGHT_BOLD, RING_LONGEST_SUM) + 13;
	double left = room - text_length(r->c, f->part.size, WEIGHT_BOLD, name),
	       word = text_length(r->c, f->part.size, WEIGHT_BOLD, "rank ");
	if (left < 0 || (left < sum && left + word > sum))
		name += strlen("rank ");
	draw_fill(r->c, mark, rank_colour(t, number));
	draw_frame(r->c, mark, t->outline, 0.8);
	draw_text(r->c, mark.x + f->part.mark + 6, f->card.y + f->part.title - 2, f->part.size, WEIGHT_BOLD, t->ink,
	          ALIGN_LEFT, room, "%s", name);
	return text_length(r->c, f->part.size, WEIGHT_BOLD, name);
}

static bool is_complete(const struct ring *r, uint64_t held)
{
	return collective_adds(r->collective) ? held == r->collective->everyone : held != 0;
}

/* Draws all frames of a kind at once: there may be hundreds. */
static void frame_chunks(const struct ring *r, const struct face *f, bool fresh, bool complete)
{
	const struct theme *t = r->c->theme;
	struct box number;
	bool any = false;
	cairo_new_path(r->c->cr);
	for (int i = 0; i < f->chunks; i++) {
		if (is_fresh(r, f->rank, i) != fresh || (!fresh && is_complete(r, held_of(r, f, i)) != complete))
			continue;
		struct box b = chunk_of(r, f, i, &number);
		cairo_rectangle(r->c->cr, b.x, b.y, b.width, b.height);
		any = true;
	}
	if (!any)
		return;
	draw_colour(r->c, fresh ? t->accent : t->outline);
	cairo_set_line_width(r->c->cr, (fresh ? 2.6 : f->width < 12 ? 0.5 : complete ? 1.6 : 0.7) * t->stroke);
	draw_stroke_path(r->c);
}

static void draw_chunks(const struct ring *r, const struct face *f)
{
	struct box number;
	cairo_new_path(r->c->cr);
	for (int i = 0; i < f->chunks; i++) {
		struct box b = chunk_of(r, f, i, &number);
		cairo_rectangle(r->c->cr, b.x, b.y, b.width, b.height);
	}
	draw_colour(r->c, r->c->theme->empty);
	draw_fill_path(r->c);
	for (int i = 0; i < f->chunks; i++)
		draw_slots(r, chunk_of(r, f, i, &number), held_of(r, f, i));
	frame_chunks(r, f, false, false);
	frame_chunks(r, f, false, true);
	frame_chunks(r, f, true, false);
}

/* Returns a chunk whose sum ought to stand beside the name; -1: there is none. */
static int draw_words(const struct ring *r, const struct face *f)
{
	int beside = -1;
	for (int i = 0; i < f->chunks; i++) {
		struct box number, chunk = chunk_of(r, f, i, &number);
		uint64_t held = held_of(r, f, i);
		if (r->values && held && !ring_value(r, number, f->rank, i, is_fresh(r, f->rank, i)) && beside < 0)
			beside = i;
		if (f->labelled && held)
			draw_holders(r, chunk, held, is_complete(r, held), f->width + fmin(f->gap, 3));
		if (f->numbered && i % f->every == 0)
			draw_text(r->c, chunk.x + f->width / 2, f->top - (f->many ? 2 : 4), f->many ? 8 : 10,
			          WEIGHT_PLAIN, r->c->theme->soft, ALIGN_CENTRE, 0, "%d", i);
	}
	return beside;
}

void ring_card(const struct ring *r, int64_t rank)
{
	struct face f = face_of(r, rank);
	const struct box *b = &f.card;
	draw_card(r->c, *b, r->c->theme->panel, r->c->theme->outline, 1.2);
	double name = draw_rank(r, &f);
	draw_chunks(r, &f);
	int beside = draw_words(r, &f);
	if (beside >= 0)
		ring_value_beside(r, rank, beside, b->x + b->width - f.part.pad, b->y + f.part.title - 2,
		                  b->width - 2 * f.part.pad - f.part.mark - 12 - name);
}
