/* The card of a rank in a collective's picture: its buffer in chunks, with what each holds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/scene/ring_parts.h"
#include "viz/scene/scene_parts.h"

static void draw_slots(const struct ring *r, struct box b, uint64_t held)
{
	const struct theme *t = r->c->theme;
	int64_t n = r->n;
	bool abreast = n <= RING_SLOTS_ABREAST;
	double slot = (abreast ? b.width : b.height) / (double)n;
	draw_fill(r->c, b, t->empty);
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

/* Below a chunk: whose contributions it holds; "Σ4", of four, where that is too long to be read; above eight ranks the
 * number alone. */
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
		snprintf(text, sizeof text, b.width >= 34 ? "Σ all" : "Σ");
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

static void draw_chunk(const struct ring *r, struct box b, uint64_t held, bool fresh)
{
	const struct theme *t = r->c->theme;
	bool complete = collective_adds(r->collective) ? held == r->collective->everyone : held != 0;
	draw_slots(r, b, held);
	draw_frame(r->c, b, fresh ? t->accent : t->outline, fresh ? 2.6 : b.width < 12 ? 0.5 : complete ? 1.6 : 0.7);
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

/* At the edges of a card: less where it is small, or where chunks would be too narrow for their numbers. */
static double card_padding(const struct ring *r, const struct box *b, int chunks)
{
	double width = (b->width - 2 * RING_PADDING - gap_of(chunks) * (chunks - 1)) / chunks;
	bool tight = r->values && width < text_length(r->c, RING_LEAST_NUMBER, WEIGHT_BOLD, "42") + 2;
	return b->height > 56 && r->n <= 8 && !tight ? RING_PADDING : 6;
}

/* Where the parts of a card stand. */
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

/* How high the chunks would be without words above and below them. */
static double chunk_height(const struct ring *r, const struct card_parts *p, struct box b)
{
	return b.height - p->title - fmax(p->word + 8, ring_value_height(r) + 1);
}

/* Above the chunks their numbers, below them what they hold: as far as there is room. */
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

void ring_card(const struct ring *r, int64_t rank)
{
	const struct theme *t = r->c->theme;
	struct box b = r->card[rank];
	int chunks = r->collective->chunk_count;
	bool roomy = b.height > 56, many = r->n > 8;
	struct card_parts p = card_parts(r, b);
	struct box mark = {b.x + p.pad, b.y + p.title - 1 - p.mark, p.mark, p.mark};
	draw_card(r->c, b, t->panel, t->outline, 1.2);
	draw_fill(r->c, mark, rank_colour(t, r->collective->rank[rank]));
	draw_frame(r->c, mark, t->outline, 0.8);
	char name[48];
	snprintf(name, sizeof name, "rank %" PRId64 "%s", r->collective->rank[rank], is_root(r, rank) ? " (root)" : "");
	double room = b.width - 2 * p.pad - p.mark - 4;
	double sum = r->values && collective_adds(r->collective)
	                     ? text_length(r->c, RING_LEAST_NUMBER, WEIGHT_BOLD, RING_LONGEST_SUM) + 13
	                     : 0;
	double left = room - text_length(r->c, p.size, WEIGHT_BOLD, name);
	bool short_name = left < 0 || (left < sum && left + text_length(r->c, p.size, WEIGHT_BOLD, "rank ") > sum);
	const char *shown = name + (short_name ? strlen("rank ") : 0);
	draw_text(r->c, b.x + p.pad + p.mark + 6, b.y + p.title - 2, p.size, WEIGHT_BOLD, t->ink, ALIGN_LEFT, room,
	          "%s", shown);
	bool numbered = ring_is_numbered(r, b), labelled = ring_is_labelled(r, b);
	double gap = gap_of(chunks);
	double width = (b.width - 2 * p.pad - gap * (chunks - 1)) / chunks;
	double top = b.y + p.title +
	             (numbered ? p.above
	              : roomy  ? 6
	                       : 3),
	       height = b.y + b.height - top - (labelled ? p.below : p.pad);
	bool there = !collective_adds(r->collective) || state_ready(r->state, r->group->collective, rank);
	int every = 1, beside = -1;
	while ((width + gap) * every < text_length(r->c, many ? 8 : 10, WEIGHT_PLAIN, chunks > 10 ? "18" : "8") + 2)
		every *= 2;
	for (int i = 0; i < chunks; i++) {
		struct box chunk = {b.x + p.pad + (width + gap) * i, top, width, height};
		uint64_t held = there ? r->group->held[rank * chunks + i] : 0;
		struct box number = r->values ? ring_value_box(r, &chunk) : chunk;
		bool fresh = is_fresh(r, rank, i);
		draw_chunk(r, chunk, held, fresh);
		if (r->values && held && !ring_value(r, number, rank, i, fresh) && beside < 0)
			beside = i;
		if (labelled && held && (!many || width + gap > text_length(r->c, 8, WEIGHT_PLAIN, "1") + 3))
			draw_holders(r, chunk, held,
			             collective_adds(r->collective) ? held == r->collective->everyone : true,
			             width + fmin(gap, 3));
		if (numbered && i % every == 0)
			draw_text(r->c, chunk.x + width / 2, top - (many ? 2 : 4), many ? 8 : 10, WEIGHT_PLAIN, t->soft,
			          ALIGN_CENTRE, 0, "%d", i);
	}
	if (beside >= 0)
		ring_value_beside(r, rank, beside, b.x + b.width - p.pad, b.y + p.title - 2,
		                  b.width - 2 * p.pad - p.mark - 12 - text_length(r->c, p.size, WEIGHT_BOLD, shown));
}
