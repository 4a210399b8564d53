/* A collective of many ranks: a row for a rank, a column for a chunk, stronger the more it holds: in grey, since
 * colours are single ranks'. */
#include <inttypes.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/ring_parts.h"

static colour cell_colour(const struct theme *t, const struct collective *one, uint64_t held)
{
	double count = 0;
	for (uint64_t m = held; m; m &= m - 1)
		count++;
	if (!held)
		return t->empty;
	double part = collective_adds(one) ? count / (double)one->schedule.ranks : 1;
	return colour_mix(t->empty, t->soft, 0.15 + 0.85 * part);
}

/* Neighbours that look alike are one box. */
static void draw_row(struct canvas *c, const struct collective *one, const uint64_t *held, struct box row)
{
	const double width = row.width / one->chunk_count;
	for (int i = 0, end; i < one->chunk_count; i = end) {
		colour fill = cell_colour(c->theme, one, held[i]);
		for (end = i + 1;
		     end < one->chunk_count && (held[end] == held[i] || cell_colour(c->theme, one, held[end]) == fill);)
			end++;
		draw_fill(c, (struct box){row.x + width * i, row.y, width * (end - i), row.height}, fill);
	}
}

void ring_matrix(struct canvas *c, const struct view *v, const struct collective *one, struct box b)
{
	struct ring r = ring_make(c, v, v->state, v->state->groups, one);
	r.area = b;
	ring_title(&r, b, b.width);
	ring_matrix_alone(c, v, one,
	                  (struct box){b.x, b.y + ring_title_height(c), b.width, b.height - ring_title_height(c)});
}

void ring_matrix_alone(struct canvas *c, const struct view *v, const struct collective *one, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	int64_t n = one->schedule.ranks;
	int chunks = one->chunk_count;
	cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_NONE); /* thousands of cells, side by side without seams */
	double left = 64, top = 20, cell_w = (b.width - left - 10) / chunks, cell_h = (b.height - top - 22) / (double)n;
	for (int64_t rank = 0; rank < n; rank++)
		if (collective_adds(one) && !state_ready(st, st->collective, rank)) /* its part is not made yet */
			draw_fill(c,
			          (struct box){b.x + left, b.y + top + cell_h * (double)rank, cell_w * chunks, cell_h},
			          t->empty);
		else
			draw_row(c, one, st->held + rank * chunks,
			         (struct box){b.x + left, b.y + top + cell_h * (double)rank, cell_w * chunks, cell_h});
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		if (e->kind != EVENT_MESSAGE || e->collective != st->collective)
			continue;
		for (int k = 0; k < chunks; k++)
			if (collective_carries(one, e, k))
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
	char legend[96];
	snprintf(legend, sizeof legend,
	         collective_adds(one)
	                 ? tr("chunks 0 … %d: the stronger, the more ranks are in the sum; ■ has just arrived")
	                 : tr("chunks 0 … %d: grey is there; the rest is yet to come"),
	         chunks - 1);
	draw_fitting(c, b.x + left, b.y + top - 6, 11, 8, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width - left, legend);
}
