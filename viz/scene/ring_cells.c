/* Groups that carry out the same collective stand side by side. Ranks that take no part, such as a pipeline's other
 * stages while two of them pass a message, stand in a strip below, each with what it does meanwhile. */
#include <inttypes.h>
#include <math.h>

#include "viz/scene/ring_parts.h"
#include "viz/timeline/op_words.h"

enum { STRIP = 58, GAP = 12, STRIP_COLUMNS = 8 };

static void find_others(struct ring_cells *out, const struct state *st)
{
	const struct timeline *s = st->timeline;
	if (s->rank_count > TIMELINE_MESSAGE_RANKS)
		return;
	for (int i = 0; i < s->rank_count; i++)
		if (!st->ranks[i].member)
			out->others[out->other_count++] = i;
}

void ring_divide(struct ring_cells *out, const struct state *st, struct box b)
{
	bool all = st->group_count <= RING_GROUPS && st->timeline->rank_count <= TIMELINE_MESSAGE_RANKS;
	*out = (struct ring_cells){.count = all ? st->group_count : 1};
	find_others(out, st);
	int lines = (out->other_count + STRIP_COLUMNS - 1) / STRIP_COLUMNS;
	double strip = lines * (STRIP + 4.0);
	out->strip = (struct box){b.x, b.y + b.height - strip, b.width, strip};
	b.height -= strip + (lines ? GAP : 0);
	int columns = out->count > 1 ? 2 : 1, rows = (out->count + columns - 1) / columns;
	double width = (b.width + GAP) / columns, height = (b.height + GAP) / rows;
	for (int i = 0; i < out->count; i++) {
		int row = i / columns;
		out->cell[i] = (struct box){b.x + width * (i % columns), b.y + height * row, width - GAP, height - GAP};
	}
}

struct box ring_strip_card(const struct ring_cells *cells, int i)
{
	int columns = cells->other_count < STRIP_COLUMNS ? cells->other_count : STRIP_COLUMNS;
	double width = fmin(260, (cells->strip.width + 6) / columns - 6);
	int row = i / columns;
	return (struct box){cells->strip.x + (width + 6) * (i % columns), cells->strip.y + (STRIP + 4) * row, width,
	                    STRIP};
}

/* The operation of a rank at the moment: the one it computes, or else the one it communicates. */
static const struct op *doing(const struct state *st, int index)
{
	static const enum queue queues[] = {QUEUE_COMPUTE, QUEUE_COMMUNICATION, QUEUE_HOST_COMPUTE};
	for (size_t q = 0; q < sizeof queues / sizeof queues[0]; q++) {
		int op = st->ranks[index].running[queues[q]];
		if (op >= 0)
			return &timeline_role_of(st->timeline, index)->ops[op];
	}
	return NULL;
}

void ring_strip(struct canvas *c, const struct state *st, const struct ring_cells *cells)
{
	const struct theme *t = c->theme;
	const struct timeline *s = st->timeline;
	for (int i = 0; i < cells->other_count; i++) {
		int index = cells->others[i];
		const struct role *role = timeline_role_of(s, index);
		const struct op *op = doing(st, index);
		struct box b = ring_strip_card(cells, i), mark = {b.x + 8, b.y + 9, 10, 10};
		char words[OP_WORDS];
		draw_card(c, b, t->panel, t->line, 1);
		draw_fill(c, mark, rank_colour(t, s->ranks[index].rank));
		draw_frame(c, mark, t->outline, 0.8);
		draw_text(c, b.x + 24, b.y + 19, 12, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 30,
		          s->plan->role_count > 1 ? "rank %" PRId64 " (%s)" : "rank %" PRId64, s->ranks[index].rank,
		          role_word(role));
		draw_paragraph(c, b.x + 8, b.y + 35, b.width - 14, 11, 2, t->soft,
		               op ? op_words(words, s, role, op) : "waits");
	}
}
