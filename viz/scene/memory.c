/* Memory: a stacked bar for each rank, the same bytes over the step, and what is alive by name. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/memory_parts.h"
#include "viz/scene/scene_parts.h"

/* A bar: the ranks [first, end) that are shown. */
struct stack {
	int first, end;
};
enum { STACKS = TIMELINE_ROUND_RANKS, EACH = 8 };

/* The first of those that do the same at the same times. */
static int64_t first_of_twins(const struct view *v, int64_t rank)
{
	const struct lanes *l = v->lanes;
	for (int i = 0; i < l->lane_count; i++)
		if (l->lanes[i].rank == rank)
			return l->lanes[l->lanes[i].twin].rank;
	return rank;
}

/* Up to EACH ranks have a bar each. If there are more, neighbours that do the same share one. */
static int stacks_of(const struct view *v, struct stack *out)
{
	const struct timeline *s = v->state->timeline;
	int n = 0;
	int64_t last = -1;
	for (int i = 0; i < s->rank_count; i++) {
		int64_t twin = s->rank_count > EACH ? first_of_twins(v, s->ranks[i].rank) : i;
		if (n && (twin == last || n == STACKS))
			out[n - 1].end = i + 1;
		else
			out[n++] = (struct stack){i, i + 1};
		last = twin;
	}
	return n;
}

double memory_first_line(const struct canvas *c)
{
	return fmax(15, c->least);
}

double memory_second_line(const struct canvas *c)
{
	return memory_first_line(c) + fmax(16, 1.2 * c->least);
}

/* True if there is room to say what each bar holds. Otherwise only the rank in focus has its bytes written. */
static bool holds_fit(struct canvas *c, double step)
{
	return step > fmax(58, text_length(c, 9, WEIGHT_PLAIN, "888.8 MB") + 4);
}

/* Below a bar: its ranks, and what each of them holds. */
static void draw_names(struct canvas *c, const struct view *v, enum space space, const struct stack *one, int n,
                       double x, double y, double step)
{
	const struct theme *t = c->theme;
	const struct timeline *s = v->state->timeline;
	int focus = timeline_index_of(s, v->focus_rank);
	bool here = focus >= one->first && focus < one->end;
	enum weight w = here ? WEIGHT_BOLD : WEIGHT_PLAIN;
	char ranks[64], word[WORD];
	double size = n <= 8 ? 12 : 10;
	ranks_word(ranks, s, one->first, one->end);
	const char *name =
	        n <= 4 && text_length(c, size, w, ranks) <= step - 4 ? ranks : ranks + strcspn(ranks, " ") + 1;
	if (text_length(c, size, w, name) <= step * (n <= 16 ? 1 : n > 32 ? 8 : 4) - 2)
		draw_text(c, x, y + memory_first_line(c), size, w, here ? t->ink : t->soft, ALIGN_CENTRE, 0, "%s",
		          name);
	if (holds_fit(c, step))
		draw_fitting(c, x, y + memory_second_line(c), 11, 9, WEIGHT_PLAIN, t->ink, ALIGN_CENTRE, step - 4,
		             bytes_word(word, v->state->ranks[one->first].live[space]));
}

static void draw_bars(struct canvas *c, const struct view *v, enum space space, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	const struct timeline *s = st->timeline;
	int64_t peak = memory_highest(s, space);
	struct memory_scale scale = memory_scale_for(space == SPACE_DEVICE && v->peak > peak ? v->peak : peak,
	                                             space == SPACE_DEVICE ? memory_capacity(s) : 0);
	double left = fmax(62, text_length(c, 11, WEIGHT_PLAIN, "500 MB") + 10);
	struct box plot = {b.x + left, b.y + 24, b.width - left - 4, b.height - 31 - memory_second_line(c)};
	struct stack stacks[STACKS];
	int n = stacks_of(v, stacks);
	double step = plot.width / n, width = fmin(70, step * (n <= 16 ? 0.72 : 0.86));
	char word[WORD], title[64];
	snprintf(title, sizeof title, tr("Memory now, %s"), tr(space_name(space)));
	draw_text(c, b.x, b.y + 12, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width, "%s", title);
	memory_axis(c, plot, &scale);
	for (int i = 0; i < n; i++) {
		double x = plot.x + step * (i + 0.5);
		const struct state_rank *rank = &st->ranks[stacks[i].first];
		memory_bar(c, &scale, (struct box){x - width / 2, plot.y, width, plot.height},
		           timeline_live(s, stacks[i].first, space, rank->issued), rank->peak[space], n <= 16);
		if (n <= 16 || i % (n > 32 ? 8 : 4) == 0)
			draw_names(c, v, space, &stacks[i], n, x, plot.y + plot.height, step);
	}
	if (!holds_fit(c, step))
		draw_text(c, b.x + b.width / 2, plot.y + plot.height + memory_second_line(c), 11, WEIGHT_PLAIN, t->soft,
		          ALIGN_CENTRE, b.width, "rank %" PRId64 " holds %s", v->focus_rank,
		          bytes_word(word, st->ranks[timeline_index_of(s, v->focus_rank)].live[space]));
	memory_capacity_line(c, plot, &scale, peak, text_length(c, 14, WEIGHT_BOLD, title) - 50);
}

static double legend_unit(struct canvas *c)
{
	double unit = text_length(c, 12, WEIGHT_PLAIN, GATHERED_IS_PARAMETERS) + 38;
	for (int k = 0; k < CATEGORY_COUNT; k++)
		unit = fmax(unit, text_length(c, 12, WEIGHT_PLAIN, category_name((enum category)k)) + 38);
	return unit;
}

/* From line to line. */
static double legend_line(const struct canvas *c)
{
	return fmax(20, 1.25 * c->least);
}

double legend_height(struct canvas *c, double width)
{
	double unit = legend_unit(c);
	int columns = (int)fmax(1, floor((width + 8) / unit));
	int lines = (CATEGORY_COUNT + columns - 1) / columns;
	return legend_line(c) * lines + 6;
}

double legend_categories(struct canvas *c, double x, double y, double width, const char *gathered)
{
	return legend_some(c, x, y, width, gathered, ~0U);
}

double legend_some(struct canvas *c, double x, double y, double width, const char *gathered, unsigned some)
{
	const struct theme *t = c->theme;
	double at = x, line = y, unit = legend_unit(c);
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		if (!(some >> k & 1))
			continue;
		if (at + unit > x + width + 8 && at > x) {
			at = x;
			line += legend_line(c);
		}
		colour fill = t->category[k];
		draw_category(c, (struct box){at, line, 16, 16}, (enum category)k);
		draw_fill(c, (struct box){at + 2.5, line + 2.5, 11, 11}, fill);
		draw_text(c, at + 8, line + 12.5, 12, WEIGHT_BOLD, ink_on(fill), ALIGN_CENTRE, 0, "%c",
		          category_letter((enum category)k));
		draw_text(c, at + 22, line + 12.5, 12, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, 0, "%s",
		          k == CATEGORY_GATHERED ? gathered : category_name((enum category)k));
		at += unit;
	}
	return line + legend_line(c) - y;
}

static bool uses(const struct timeline *s, enum space space)
{
	for (int r = 0; r < s->plan->role_count; r++)
		if (s->roles[r].live[space])
			return true;
	return false;
}

/* Beside the bars. */
static double left_width(struct box b)
{
	return floor(b.width * 0.47);
}

static struct box over_time_box(struct box b)
{
	double left = left_width(b);
	return (struct box){b.x + left + 24, b.y, b.width - left - 24, floor(b.height * 0.56)};
}

/* Device, host and disk side by side, as far as they are used. */
static void draw_spaces(struct canvas *c, const struct view *v, struct box b)
{
	const struct timeline *s = v->state->timeline;
	int spaces = 0, at = 0;
	for (int k = 0; k < SPACE_COUNT; k++)
		spaces += uses(s, (enum space)k);
	double width = (b.width - 12 * (spaces - 1)) / (spaces ? spaces : 1);
	for (int k = 0; k < SPACE_COUNT; k++)
		if (uses(s, (enum space)k))
			draw_bars(c, v, (enum space)k, (struct box){b.x + (width + 12) * at++, b.y, width, b.height});
}

static void draw_memory(struct canvas *c, const struct view *v, struct box b, bool small)
{
	int index = timeline_index_of(v->state->timeline, v->focus_rank);
	double left = small ? b.width : left_width(b), legend = fmax(46, legend_height(c, left));
	draw_spaces(c, v, (struct box){b.x, b.y, left, b.height - legend});
	legend_categories(c, b.x, b.y + b.height - legend + 4, left, GATHERED_IS_PARAMETERS);
	if (small)
		return;
	struct box right = over_time_box(b);
	draw_over_time(c, v, index, right);
	draw_alive(c, v, (struct box){right.x, b.y + right.height + 14, right.width, b.height - right.height - 14});
}

/* The rank whose bar of the device's memory, which comes first, is at a point; -1: none. */
static int64_t rank_at(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y)
{
	const struct timeline *s = v->state->timeline;
	int spaces = 0;
	for (int k = 0; k < SPACE_COUNT; k++)
		spaces += uses(s, (enum space)k);
	double left = small ? b.width : left_width(b), width = (left - 12 * (spaces - 1)) / (spaces ? spaces : 1);
	struct box plot = {b.x + 62, b.y + 24, width - 66,
	                   b.height - fmax(46, legend_height(c, left)) - 31 - memory_second_line(c)};
	struct stack stacks[STACKS];
	int n = stacks_of(v, stacks), i = (int)floor((x - plot.x) / plot.width * n);
	if (y < plot.y || y > plot.y + plot.height + 36 || x < plot.x || i < 0 || i >= n)
		return -1;
	int focus = timeline_index_of(s, v->focus_rank); /* of those that share the bar */
	return s->ranks[focus >= stacks[i].first && focus < stacks[i].end ? focus : stacks[i].first].rank;
}

/* ---- in a narrow box: without the list of buffers, the legend below both ---- */

static struct box narrow_bars(struct canvas *c, struct box b)
{
	return (struct box){b.x, b.y, left_width(b), b.height - legend_height(c, b.width) - 4};
}

static struct box narrow_over_time(struct canvas *c, struct box b)
{
	double left = left_width(b);
	return (struct box){b.x + left + 24, b.y, b.width - left - 24, b.height - legend_height(c, b.width) - 4};
}

static void draw_narrow(struct canvas *c, const struct view *v, struct box b, bool small)
{
	double legend = legend_height(c, b.width);
	(void)small;
	draw_spaces(c, v, narrow_bars(c, b));
	draw_over_time(c, v, timeline_index_of(v->state->timeline, v->focus_rank), narrow_over_time(c, b));
	legend_categories(c, b.x, b.y + b.height - legend + 4, b.width, GATHERED_IS_PARAMETERS);
}

static void hit_memory(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y,
                       struct hit *h)
{
	rank_hit(v->state, rank_at(c, v, b, small, x, y), h);
	if (!small && h->rank < 0)
		over_time_hit(c, v, timeline_index_of(v->state->timeline, v->focus_rank), over_time_box(b), x, y, h);
}

static void hit_narrow(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y,
                       struct hit *h)
{
	int index = timeline_index_of(v->state->timeline, v->focus_rank);
	struct box bars = narrow_bars(c, b);
	bars.height += fmax(46, legend_height(c, bars.width)); /* as if its legend were there */
	rank_hit(v->state, rank_at(c, v, bars, true, x, y), h);
	if (!small && h->rank < 0)
		over_time_hit(c, v, index, narrow_over_time(c, b), x, y, h);
}

static const struct scene_row narrow = {
        .title = "Memory",
        .what = "bytes by rank and category, now and over time",
        .width = 520,
        .height = 300,
        .draw = draw_narrow,
        .hit = hit_narrow,
};

const struct scene_row scene_memory = {
        .title = "Memory",
        .what = "bytes by rank and category, now and over time",
        .width = 720,
        .height = 330,
        .draw = draw_memory,
        .hit = hit_memory,
        .narrow = &narrow,
};
