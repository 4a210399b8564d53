/* Memory from operation to operation, as it is accounted for, which grows to the right as moves are placed. */
#include <math.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/build/board.h"
#include "viz/scene/memory_parts.h"

struct curve {
	const struct timeline_role *role;
	struct box plot;
	int count;             /* operations that are placed */
	double x_unit, y_unit; /* of an operation, of a byte */
};

static double sum_until(const struct curve *v, int at, int k)
{
	double sum = 0;
	for (int h = 0; h <= k; h++)
		sum += (double)v->role->live[SPACE_DEVICE][(ptrdiff_t)at * HELD_COUNT + h];
	return sum;
}

static void make_path(struct canvas *c, const void *of, int k)
{
	const struct curve *v = of;
	double bottom = v->plot.y + v->plot.height, x = v->plot.x, last = bottom;
	cairo_new_path(c->cr);
	cairo_move_to(c->cr, x, bottom);
	for (int i = 0; i <= v->count; i++) {
		double y = bottom - v->y_unit * sum_until(v, i, k);
		x = v->plot.x + v->x_unit * i;
		if (fabs(y - last) > 1e-9) {
			cairo_line_to(c->cr, x, last);
			cairo_line_to(c->cr, x, y);
		}
		last = y;
	}
	cairo_line_to(c->cr, x, last);
	cairo_line_to(c->cr, x, bottom);
	cairo_close_path(c->cr);
}

static bool ever(const void *of, int k)
{
	const struct curve *v = of;
	for (int i = 0; i <= v->count; i++)
		if (v->role->live[SPACE_DEVICE][(ptrdiff_t)i * HELD_COUNT + k])
			return true;
	return false;
}

/* The categories that are more than a line on this scale, as bits. */
static unsigned seen(const struct curve *v, int64_t most)
{
	unsigned some = 0;
	for (int i = 0; v->role->live[SPACE_DEVICE] && i <= v->count; i++)
		for (int k = 0; k < HELD_COUNT; k++)
			if (v->role->live[SPACE_DEVICE][(ptrdiff_t)i * HELD_COUNT + k] > most / 50)
				some |= 1U << held_category((enum held)k);
	return some;
}

/* Its value stands beside the title. */
static void draw_line_of_own(struct canvas *c, const struct curve *v, struct box b, double title, int64_t bytes)
{
	const struct theme *t = c->theme;
	char words[WORD], text[WORD + 40];
	double y = v->plot.y + v->plot.height - v->y_unit * (double)bytes, right = b.x + b.width - 12;
	snprintf(text, sizeof text, tr("the strategy's own peak: %s"), bytes_word(words, bytes));
	if (text_length(c, 12, WEIGHT_BOLD, text) + title + 60 > b.width)
		snprintf(text, sizeof text, tr("own: %s"), words);
	double length = text_length(c, 12, WEIGHT_BOLD, text);
	draw_line(c, v->plot.x, y, v->plot.x + v->plot.width, y, t->accent, 1.8);
	if (length + title + 60 < b.width)
		draw_line(c, right - length - 26, b.y + 13, right - length - 6, b.y + 13, t->accent, 1.8);
	draw_text(c, right, b.y + 17, 12, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, 0, "%s", text);
}

static bool has_legend(struct box b)
{
	return b.width > 600 && b.height > 150;
}

struct box board_memory_plot(struct box b)
{
	double above = has_legend(b) ? 52 : 28; /* the title, and a legend */
	return (struct box){b.x + 66, b.y + above, b.width - 78, fmax(1, b.height - above - 12)};
}

void board_draw_memory(struct canvas *c, const struct plan *p, struct box b, const char *title, int ops, int64_t most,
                       int64_t line)
{
	const struct theme *t = c->theme;
	struct timeline counted = {.plan = p};
	struct memory_scale scale = memory_scale_for(most, 0);
	struct curve v = {.role = &counted.roles[0],
	                  .plot = board_memory_plot(b),
	                  .count = p->roles[0].step.end - p->roles[0].step.begin};
	timeline_count_memory(&counted.roles[0], &p->roles[0]);
	v.x_unit = v.plot.width / fmax(1, fmax(ops, v.count));
	v.y_unit = v.plot.height / scale.bytes;
	draw_card(c, b, t->panel, t->line, 1);
	draw_text(c, b.x + 10, b.y + 17, 13, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 20, "%s", title);
	if (has_legend(b))
		legend_some(c, b.x + 66, b.y + 25, b.width - 78, GATHERED_IS_PARAMETERS, seen(&v, most));
	memory_axis(c, v.plot, &scale);
	if (v.role->live[SPACE_DEVICE])
		memory_stack(c, &(struct memory_curve){v.plot, make_path, ever, &v});
	if (line)
		draw_line_of_own(c, &v, b, text_length(c, 13, WEIGHT_BOLD, title), line);
	timeline_release(&counted);
}
