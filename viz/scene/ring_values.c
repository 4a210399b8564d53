/* The numbers of chunks (viz/timeline/values.h) on a collective's picture: in a chunk what it holds, and what a message
 * has just made of it; on a message what it carries. */
#include <math.h>

#include "viz/scene/ring_parts.h"

/* Smaller than these, in units, a number is left out, and a sum stands beside the rank's name. */
static const double least = RING_LEAST_NUMBER, least_sum = 10, most = 14;

/* The height of a number that stands above its chunk, and the least of the chunk below it. */
enum { NUMBER = 16, SLOTS = 9 };

static double number_height(const struct ring *r)
{
	return fmax(NUMBER, r->c->least + 4);
}

double ring_value_height(const struct ring *r)
{
	return !r->values ? 0 : number_height(r) + (r->n > RING_SLOTS_ABREAST ? SLOTS : 0);
}

bool ring_values_shown(const struct view *v, const struct collective *c)
{
	return v->values && values_shown(v->state->timeline, c);
}

/* The largest size in which a text fits, in half units, so that glyphs are made for few sizes; 0: none. */
static double size_in(const struct ring *r, const char *text, double least_size, double width, double height)
{
	double top = fmax(most, r->c->least), size = fmin(top, height - 4),
	       length = text_length(r->c, top, WEIGHT_BOLD, text) / top;
	least_size = fmax(least_size, r->c->least);
	size = fmin(size, (width - 4) / length);
	return size >= least_size ? fmax(least_size, floor(2 * size) / 2) : 0;
}

static void draw_plate(const struct ring *r, double x, double y, double size, bool fresh, const char *text)
{
	const struct theme *t = r->c->theme;
	double width = text_length(r->c, size, WEIGHT_BOLD, text) + 4, height = size + 4;
	draw_card(r->c, (struct box){x - width / 2, y - height / 2, width, height}, t->panel,
	          fresh ? t->accent : t->outline, fresh ? 1.2 : 0.5);
}

/* On a plate where slots lie behind it. */
static void draw_number(const struct ring *r, struct box b, double size, bool fresh, const char *text)
{
	double x = b.x + b.width / 2, y = b.y + b.height / 2;
	if (fresh || b.height > number_height(r))
		draw_plate(r, x, y, size, fresh, text);
	draw_text(r->c, x, y + size * 0.36, size, WEIGHT_BOLD, r->c->theme->ink, ALIGN_CENTRE, 0, "%s", text);
}

bool ring_value(const struct ring *r, struct box b, int64_t member, int chunk, bool fresh)
{
	const struct values *v = r->values;
	char number[VALUE_WORD], sum[EXCHANGE_WORD];
	int64_t k = member * v->chunks + chunk;
	if (isnan(v->now[k]))
		return true;
	bool adds = fresh && v->last[k].adds, hides = r->n > RING_SLOTS_ABREAST && b.height > number_height(r);
	double size = adds && !hides ? size_in(r, exchange_word(sum, &v->last[k]), least_sum, b.width, b.height) : 0;
	if (size > 0) {
		draw_number(r, b, size, true, sum);
		return true;
	}
	double over = b.height > number_height(r) ? 0 : 4; /* into the gaps, where no chunk is behind it */
	size = size_in(r, value_word(number, v->now[k]), least, b.width + over, b.height + over);
	if (size > 0 && !hides)
		draw_number(r, b, size, fresh, number);
	return !adds;
}

struct box ring_value_box(const struct ring *r, struct box *chunk)
{
	struct box all = *chunk, above = all;
	double number = number_height(r);
	if (r->n <= RING_SLOTS_ABREAST || chunk->height < ring_value_height(r))
		return all;
	above.height = number;
	chunk->y += number + 1;
	chunk->height -= number + 1;
	return above;
}

void ring_value_beside(const struct ring *r, int64_t member, int chunk, double right, double y, double room)
{
	char sum[EXCHANGE_WORD];
	exchange_word(sum, &r->values->last[member * r->values->chunks + chunk]);
	double high = fmax(most, r->c->least) + 4, size = size_in(r, sum, least, room, high);
	bool all = values_recorded(r->v->state->timeline) || size_in(r, RING_LONGEST_SUM, least, room, high) > 0;
	if (size > 0 && all) /* on every rank or on none */
		draw_text(r->c, right, y, size, WEIGHT_BOLD, r->c->theme->ink, ALIGN_RIGHT, 0, "%s", sum);
}

void ring_values_before(struct values *v, const struct state *st, const struct collective *c)
{
	const struct timeline *s = st->timeline;
	values_init(v, s, c);
	for (size_t i = c->first_event; i < c->end_event && i < st->latest; i++)
		if (s->events[i].kind == EVENT_MESSAGE && &s->collectives[s->events[i].collective] == c)
			values_carry(v, c, &s->events[i]);
}
