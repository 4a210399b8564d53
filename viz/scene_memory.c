/* Memory: a stacked bar for each rank, the same bytes over the step, and what is alive by name. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viz/scene_parts.h"

struct scale {
	double bytes;    /* at the top */
	double capacity; /* 0: unknown */
	bool line;       /* the capacity is in sight */
};

static struct scale scale_for(int64_t peak, int64_t capacity)
{
	struct scale s = {.bytes = 1.12 * (double)peak, .capacity = (double)capacity};
	if (capacity && (double)peak > 0.3 * (double)capacity) {
		s.line = true;
		s.bytes = 1.12 * fmax((double)peak, (double)capacity);
	}
	if (s.bytes < 1)
		s.bytes = 1;
	return s;
}

static int64_t capacity_of(const struct score *s)
{
	int64_t left = s->limits.device_bytes - s->limits.overhead_bytes;
	return s->limits.device_bytes && left > 0 ? left : 0;
}

/* 1, 2 or 5 times a power of ten, so that there are three to seven of them. */
static double tick_of(double top)
{
	double power = pow(10, floor(log10(top / 6)));
	double f = top / 6 / power;
	return power * (f > 5 ? 10 : f > 2 ? 5 : f > 1 ? 2 : 1);
}

static void draw_axis(struct canvas *c, struct box b, const struct scale *s)
{
	const struct theme *t = c->theme;
	double tick = tick_of(s->bytes);
	for (int i = 0; i * tick <= s->bytes; i++) {
		double v = i * tick, y = b.y + b.height * (1 - v / s->bytes);
		char word[WORD];
		draw_line(c, b.x, y, b.x + b.width, y, t->line, v == 0 ? 1.2 : 0.5);
		bytes_word(word, (int64_t)v);
		draw_text(c, b.x - 6, y + 4, 11, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 0, "%s", short_word(word));
	}
}

/* One bar: what is alive by category, hatched above the capacity, with a ghost where it has been highest. */
static void draw_bar(struct canvas *c, const struct scale *s, struct box b, const int64_t *live, int64_t peak,
                     bool letters)
{
	const struct theme *t = c->theme;
	double y = b.y + b.height, unit = b.height / s->bytes, total = 0;
	for (int k = 0; live && k < CATEGORY_COUNT; k++) {
		double height = unit * (double)live[k];
		total += (double)live[k];
		if (height < c->pixel / 2)
			continue;
		struct box part = {b.x, y - height, b.width, height};
		draw_category(c, part, (enum category)k);
		if (letters && height > 14 && b.width > 12) {
			colour fill = t->category[k];
			draw_fill(c, (struct box){b.x + b.width / 2 - 7, y - height / 2 - 7, 14, 14}, fill);
			draw_text(c, b.x + b.width / 2, y - height / 2 + 4.5, 12, WEIGHT_BOLD, ink_on(fill),
			          ALIGN_CENTRE, 0, "%c", category_letter((enum category)k));
		}
		y -= height;
	}
	if (s->line && total > s->capacity) {
		double over = unit * (total - s->capacity);
		struct box part = {b.x, y, b.width, over};
		draw_pattern(c, part, PATTERN_CROSS, t->warning);
		draw_frame(c, part, t->warning, 2.2);
	}
	double top = b.y + b.height - unit * (double)peak;
	if (peak > (int64_t)total && b.width < 12) {
		draw_line(c, b.x, top, b.x + b.width, top, t->soft, 1.2);
	} else if (peak > (int64_t)total) {
		cairo_save(c->cr);
		cairo_set_dash(c->cr, (const double[]){4, 3}, 2, 0);
		draw_frame(c, (struct box){b.x, top, b.width, y - top}, t->soft, 1);
		cairo_restore(c->cr);
	}
}

static void draw_capacity(struct canvas *c, struct box b, const struct scale *s, int64_t peak)
{
	const struct theme *t = c->theme;
	char word[WORD];
	if (!s->capacity)
		return;
	if (!s->line) {
		draw_text(c, b.x + b.width, b.y + 10, 11, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, b.width,
		          "capacity %s, far above", bytes_word(word, (int64_t)s->capacity));
		return;
	}
	double y = b.y + b.height * (1 - s->capacity / s->bytes);
	bool over = (double)peak > s->capacity;
	draw_line(c, b.x, y, b.x + b.width, y, over ? t->warning : t->ink, 2);
	draw_text(c, b.x + b.width, y - 5, 12, WEIGHT_BOLD, over ? t->warning : t->ink, ALIGN_RIGHT, b.width,
	          "capacity %s", bytes_word(word, (int64_t)s->capacity));
}

static int64_t highest(const struct score *s, enum space space)
{
	int64_t peak = 0;
	for (int r = 0; r < s->plan->role_count; r++)
		peak = s->roles[r].peak[space] > peak ? s->roles[r].peak[space] : peak;
	return peak;
}

static void draw_bars(struct canvas *c, const struct view *v, enum space space, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	const struct score *s = st->score;
	int64_t peak = highest(s, space);
	struct scale scale = scale_for(peak, space == SPACE_DEVICE ? capacity_of(s) : 0);
	struct box plot = {b.x + 62, b.y + 24, b.width - 66, b.height - 62};
	int n = s->rank_count;
	double step = plot.width / n, width = fmin(70, step * (n <= 16 ? 0.72 : 0.86));
	char word[WORD];
	draw_text(c, b.x, b.y + 12, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width, "Memory now, %s", space_name(space));
	draw_axis(c, plot, &scale);
	for (int i = 0; i < n; i++) {
		double x = plot.x + step * (i + 0.5);
		const int64_t *live = score_live(s, i, space, st->ranks[i].issued);
		draw_bar(c, &scale, (struct box){x - width / 2, plot.y, width, plot.height}, live,
		         st->ranks[i].peak[space], n <= 16);
		bool focus = s->ranks[i].rank == v->focus_rank;
		if (n <= 16 || i % (n > 32 ? 8 : 4) == 0)
			draw_text(c, x, plot.y + plot.height + 15, n <= 8 ? 12 : 10, focus ? WEIGHT_BOLD : WEIGHT_PLAIN,
			          focus ? t->ink : t->soft, ALIGN_CENTRE, 0, n <= 4 ? "rank %" PRId64 : "%" PRId64,
			          s->ranks[i].rank);
		if (step > 58)
			draw_text(c, x, plot.y + plot.height + 31, 11, WEIGHT_PLAIN, t->ink, ALIGN_CENTRE, step - 4,
			          "%s", bytes_word(word, st->ranks[i].live[space]));
	}
	if (step <= 58)
		draw_text(c, plot.x + plot.width / 2, plot.y + plot.height + 31, 11, WEIGHT_PLAIN, t->soft,
		          ALIGN_CENTRE, plot.width, "rank %" PRId64 " holds %s", v->focus_rank,
		          bytes_word(word, st->ranks[score_index_of(s, v->focus_rank)].live[space]));
	draw_capacity(c, plot, &scale, peak);
}

double legend_categories(struct canvas *c, double x, double y, double width)
{
	const struct theme *t = c->theme;
	double at = x, line = y, unit = 0;
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		double length = text_length(c, 12, WEIGHT_PLAIN, category_name((enum category)k));
		unit = length + 38 > unit ? length + 38 : unit;
	}
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		if (at + unit > x + width + 8 && at > x) {
			at = x;
			line += 20;
		}
		colour fill = t->category[k];
		draw_category(c, (struct box){at, line, 16, 16}, (enum category)k);
		draw_fill(c, (struct box){at + 2.5, line + 2.5, 11, 11}, fill);
		draw_text(c, at + 8, line + 12.5, 12, WEIGHT_BOLD, ink_on(fill), ALIGN_CENTRE, 0, "%c",
		          category_letter((enum category)k));
		draw_text(c, at + 22, line + 12.5, 12, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, 0, "%s",
		          category_name((enum category)k));
		at += unit;
	}
	return line + 20 - y;
}

/* ---- over time ---- */

/* How many operations a rank has issued at each position. */
static int *issued_at(const struct score *s, int index)
{
	int *issued = calloc(s->moment_count + 1, sizeof *issued);
	const struct section *step = &score_role_of(s, index)->step;
	if (!issued)
		abort();
	for (size_t m = 0; m < s->moment_count; m++) {
		issued[m + 1] = issued[m];
		for (size_t i = s->moments[m].begin; i < s->moments[m].end; i++) {
			const struct event *e = &s->events[i];
			if (e->rank == s->ranks[index].rank && event_issues(e) &&
			    e->op - step->begin + 1 > issued[m + 1])
				issued[m + 1] = e->op - step->begin + 1;
		}
	}
	return issued;
}

/* The most that the first categories up to k come to, over the positions of one column. */
static double highest_until(const struct score *s, int index, const int *issued, size_t from, size_t count, int k,
                            double column, size_t *next)
{
	double most = 0;
	*next = from + (size_t)fmax(1, column);
	for (size_t p = from; p < *next && p <= count; p++) {
		const int64_t *live = score_live(s, index, SPACE_DEVICE, issued[p]);
		double sum = 0;
		if (p > from && issued[p] == issued[p - 1])
			continue;
		for (int j = 0; live && j <= k; j++)
			sum += (double)live[j];
		most = fmax(most, sum);
	}
	return most;
}

static bool ever(const struct score *s, int index, enum category k)
{
	const struct section *step = &score_role_of(s, index)->step;
	for (int n = 0; n <= step->end - step->begin; n++) {
		const int64_t *live = score_live(s, index, SPACE_DEVICE, n);
		if (live && live[k])
			return true;
	}
	return false;
}

void draw_over_time(struct canvas *c, const struct view *v, int index, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	const struct score *s = st->score;
	struct scale scale = scale_for(s->roles[s->ranks[index].role].peak[SPACE_DEVICE], capacity_of(s));
	struct box plot = {b.x + 62, b.y + 24, b.width - 66, b.height - 44};
	int *issued = issued_at(s, index);
	size_t count = s->moment_count;
	double x_unit = plot.width / (double)(count ? count : 1), y_unit = plot.height / scale.bytes;
	draw_text(c, b.x, b.y + 12, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width, "Memory over the step, rank %" PRId64,
	          s->ranks[index].rank);
	draw_axis(c, plot, &scale);
	for (int k = CATEGORY_COUNT - 1; k >= 0; k--) {
		if (!ever(s, index, (enum category)k))
			continue;
		/* whole heights, the highest first: each covers the next */
		double last = -1;
		cairo_new_path(c->cr);
		cairo_move_to(c->cr, plot.x, plot.y + plot.height);
		for (size_t p = 0, next; p <= count; p = next) { /* a pixel at a time: its highest */
			double sum = highest_until(s, index, issued, p, count, k,
			                           x_unit < c->pixel ? c->pixel / x_unit : 1, &next);
			double y = plot.y + plot.height - y_unit * sum;
			if (fabs(y - last) > 1e-9) {
				if (last >= 0)
					cairo_line_to(c->cr, plot.x + x_unit * (double)p, last);
				cairo_line_to(c->cr, plot.x + x_unit * (double)p, y);
			}
			last = y;
		}
		cairo_line_to(c->cr, plot.x + plot.width, last);
		cairo_line_to(c->cr, plot.x + plot.width, plot.y + plot.height);
		cairo_close_path(c->cr);
		draw_colour(c, t->category[k]);
		cairo_fill_preserve(c->cr);
		draw_pattern_on_path(c, plot, category_pattern((enum category)k),
		                     colour_mix(t->category[k], ink_on(t->category[k]), 0.4));
		draw_colour(c, t->outline);
		cairo_set_line_width(c->cr, 0.8 * t->stroke);
		cairo_stroke(c->cr);
	}
	double x = plot.x + x_unit * (double)st->position;
	/* What is to come is pale. */
	cairo_set_source_rgba(c->cr, (t->ground >> 16 & 255) / 255.0, (t->ground >> 8 & 255) / 255.0,
	                      (t->ground & 255) / 255.0, 0.78);
	cairo_rectangle(c->cr, x, plot.y - 2, plot.x + plot.width - x + 1, plot.height + 1);
	cairo_fill(c->cr);
	cairo_save(c->cr); /* what is to come: its outline alone */
	cairo_rectangle(c->cr, x, plot.y - 2, plot.x + plot.width - x, plot.height + 4);
	cairo_clip(c->cr);
	cairo_new_path(c->cr);
	for (size_t p = 0, next; p <= count; p = next) {
		double sum = highest_until(s, index, issued, p, count, CATEGORY_COUNT - 1,
		                           x_unit < c->pixel ? c->pixel / x_unit : 1, &next);
		double y = plot.y + plot.height - y_unit * sum;
		cairo_line_to(c->cr, plot.x + x_unit * (double)p, y);
		cairo_line_to(c->cr, plot.x + x_unit * (double)next, y);
	}
	draw_colour(c, t->soft);
	cairo_set_line_width(c->cr, 1.2 * t->stroke);
	cairo_stroke(c->cr);
	cairo_restore(c->cr);
	draw_capacity(c, plot, &scale, s->roles[s->ranks[index].role].peak[SPACE_DEVICE]);
	draw_line(c, x, plot.y - 4, x, plot.y + plot.height + 4, t->ink, 2);
	draw_text(c, plot.x, plot.y + plot.height + 16, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, plot.width,
	          "steps of the cursor, in order →");
	free(issued);
}

/* ---- alive ---- */

struct alive {
	int64_t bytes;
	int buffer;
};

static int by_size(const void *a, const void *b)
{
	const struct alive *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->buffer - y->buffer;
}

void draw_alive(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	int index = score_index_of(st->score, v->focus_rank), count = 0, rows = (int)((b.height - 26) / 20);
	const struct role *role = score_role_of(st->score, index);
	struct alive *alive = calloc((size_t)role->buffer_count + 1, sizeof *alive);
	char word[WORD];
	if (!alive)
		abort();
	for (int i = 0; i < role->buffer_count; i++)
		if (state_alive(st, index, i))
			alive[count++] = (struct alive){buffer_bytes(&role->buffers[i]), i};
	qsort(alive, (size_t)count, sizeof *alive, by_size);
	draw_text(c, b.x, b.y + 12, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width,
	          "Alive on rank %" PRId64 ": %d buffers", v->focus_rank, count);
	int columns = b.width > 520 ? 2 : 1, shown = 0;
	double width = (b.width - 20 * (columns - 1)) / columns;
	if (count > rows * columns)
		rows = rows > 1 ? rows : 1;
	for (int i = 0; i < count && i < rows * columns; i++) {
		if (i == rows * columns - 1 && count > rows * columns)
			break;
		const struct buffer *one = &role->buffers[alive[i].buffer];
		int column = i / rows;
		double x = b.x + (width + 20) * column, y = b.y + 26 + 20 * (i % rows);
		colour fill = t->category[one->category];
		draw_category(c, (struct box){x, y + 1, 15, 15}, one->category);
		draw_fill(c, (struct box){x + 2, y + 3, 11, 11}, fill);
		draw_text(c, x + 7.5, y + 12.5, 11, WEIGHT_BOLD, ink_on(fill), ALIGN_CENTRE, 0, "%c",
		          category_letter(one->category));
		draw_text(c, x + 22, y + 13, 12, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, width - 106, "%s%s%s", one->name,
		          one->space == SPACE_DEVICE ? "" : " on ",
		          one->space == SPACE_DEVICE ? "" : space_name(one->space));
		draw_text(c, x + width, y + 13, 12, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, 0, "%s",
		          bytes_word(word, buffer_bytes(one)));
		shown++;
	}
	if (shown < count) {
		int64_t rest = 0;
		for (int i = shown; i < count; i++)
			rest += alive[i].bytes;
		double x = b.x + (width + 20) * (columns - 1), y = b.y + 26 + 20 * (rows - 1);
		draw_text(c, x + 22, y + 13, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, width - 106, "… and %d smaller",
		          count - shown);
		draw_text(c, x + width, y + 13, 12, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 0, "%s",
		          bytes_word(word, rest));
	}
	free(alive);
}

/* ---- the scene ---- */

static bool uses(const struct score *s, enum space space)
{
	for (int r = 0; r < s->plan->role_count; r++)
		if (s->roles[r].live[space])
			return true;
	return false;
}

void scene_memory(struct canvas *c, const struct view *v, struct box b, bool small)
{
	const struct score *s = v->state->score;
	int spaces = 0, at = 0, index = score_index_of(s, v->focus_rank);
	double legend = 46;
	for (int k = 0; k < SPACE_COUNT; k++)
		spaces += uses(s, (enum space)k);
	double left = small ? b.width : floor(b.width * 0.47), bars = b.height - legend;
	for (int k = 0; k < SPACE_COUNT; k++)
		if (uses(s, (enum space)k)) {
			double width = (left - 12 * (spaces - 1)) / spaces;
			draw_bars(c, v, (enum space)k, (struct box){b.x + (width + 12) * at++, b.y, width, bars});
		}
	legend_categories(c, b.x, b.y + b.height - legend + 4, left);
	if (small)
		return;
	struct box right = {b.x + left + 24, b.y, b.width - left - 24, floor(b.height * 0.56)};
	draw_over_time(c, v, index, right);
	draw_alive(c, v, (struct box){right.x, b.y + right.height + 14, right.width, b.height - right.height - 14});
}

/* Of the device's bars, which are the first. */
int64_t memory_rank_at(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y)
{
	const struct score *s = v->state->score;
	int spaces = 0;
	(void)c;
	for (int k = 0; k < SPACE_COUNT; k++)
		spaces += uses(s, (enum space)k);
	double left = small ? b.width : floor(b.width * 0.47),
	       width = (left - 12 * (spaces - 1)) / (spaces ? spaces : 1);
	struct box plot = {b.x + 62, b.y + 24, width - 66, b.height - 46 - 62};
	int i = (int)floor((x - plot.x) / plot.width * s->rank_count);
	if (y < plot.y || y > plot.y + plot.height + 36 || x < plot.x || i < 0 || i >= s->rank_count)
		return -1;
	return s->ranks[i].rank;
}

/* Strategies side by side, on one scale. */
void scene_compare(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	int n = v->contender_count, columns = n <= 4 ? n : (n + 1) / 2, rows = (n + columns - 1) / columns;
	int64_t peak = 0;
	double bytes = 0;
	for (int i = 0; i < n; i++) {
		int64_t one = highest(v->contender[i].state->score, SPACE_DEVICE);
		peak = one > peak ? one : peak;
	}
	/* One scale, but a rank alone may have more to itself. */
	for (int i = 0; i < n; i++)
		bytes = fmax(bytes, scale_for(peak, capacity_of(v->contender[i].state->score)).bytes);
	double legend = 26, width = (b.width - 16 * (columns - 1)) / columns,
	       height = (b.height - legend - 12 * (rows - 1)) / rows;
	for (int i = 0; i < n; i++) {
		const struct state *st = v->contender[i].state;
		const struct score *s = st->score;
		int row = i / columns;
		struct box card = {b.x + (width + 16) * (i % columns), b.y + (height + 12) * row, width, height};
		struct box plot = {card.x + 66, card.y + 32, card.width - 74, card.height - 32 - 76};
		double capacity = (double)capacity_of(s);
		struct scale scale = {.bytes = bytes, .capacity = capacity, .line = capacity > 0 && capacity < bytes};
		int roles = 0, at = 0;
		char word[WORD], most[WORD], sends[WORD], step[WORD];
		for (int r = 0; r < s->plan->role_count; r++)
			roles += score_index_of(s, s->plan->roles[r].first_rank) >= 0;
		draw_card(c, card, t->panel, t->line, 1);
		draw_text(c, card.x + 12, card.y + 21, 15, WEIGHT_BOLD, t->ink, ALIGN_LEFT, width - 20, "%s",
		          v->contender[i].label);
		draw_axis(c, plot, &scale);
		int64_t worst = 0, sent = 0;
		for (int r = 0; r < s->plan->role_count; r++) {
			const struct role *role = &s->plan->roles[r];
			int index = score_index_of(s, role->first_rank);
			if (index < 0)
				continue;
			double part = plot.width / roles, bar = fmin(90, part * 0.66), x = plot.x + part * (at++ + 0.5);
			draw_bar(c, &scale, (struct box){x - bar / 2, plot.y, bar, plot.height},
			         score_live(s, index, SPACE_DEVICE, st->ranks[index].issued),
			         s->roles[r].peak[SPACE_DEVICE], true);
			draw_text(c, x, plot.y + plot.height + 15, 12, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, part - 4,
			          "%s%s", role->ranks > 1 ? "each " : "", role->name);
			draw_text(c, x, plot.y + plot.height + 31, 12, WEIGHT_BOLD, t->ink, ALIGN_CENTRE, part - 4,
			          "%s", bytes_word(word, st->ranks[index].live[SPACE_DEVICE]));
			worst = s->roles[r].peak[SPACE_DEVICE] > worst ? s->roles[r].peak[SPACE_DEVICE] : worst;
			sent = ledger_step_bytes(s, index) > sent ? ledger_step_bytes(s, index) : sent;
		}
		if (scale.line || !i || capacity_of(s) != capacity_of(v->contender[i - 1].state->score))
			draw_capacity(c, plot, &scale, worst);
		draw_text(c, card.x + 12, card.y + card.height - 26, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, width - 20,
		          "peak %s, a step %s", bytes_word(most, worst), time_word(step, s->step_ns));
		draw_text(c, card.x + 12, card.y + card.height - 10, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, width - 20,
		          "sends up to %s a rank", bytes_word(sends, sent));
	}
	legend_categories(c, b.x, b.y + b.height - legend + 6, b.width);
}
