/* The cards below the lanes: a measured range, and the selected operation with its waits. In the overview there is room
 * for a line of each. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/scene/lane_area.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/op_words.h"
#include "viz/scene/scene_parts.h"

enum { CARD = 118, LINE_CARD = 20, ROW = 15, ROWS = 5, WAITS = 4, BETWEEN = 8 };

static bool has_range(const struct view *v)
{
	return v->measured_to > v->measured_from;
}

/* The selected operation that stands in the timeline; -1: there is none. */
static int selected_of(const struct view *v, int *index)
{
	const struct timeline *s = v->lanes ? v->lanes->timeline : NULL;
	*index = s ? timeline_index_of(s, v->selected_rank) : -1;
	if (*index < 0 || v->selected_op < 0)
		return -1;
	const struct section *step = &timeline_role_of(s, *index)->step;
	bool in = v->selected_op >= step->begin && v->selected_op < step->end;
	return in && s->ranks[*index].begin[v->selected_op - step->begin] >= 0 ? v->selected_op : -1;
}

/* A span of another program's trace. */
static bool has_span(const struct view *v)
{
	return v->lanes && v->lanes->file && v->selected_rank >= 0 && v->selected_op >= 0;
}

static int count_cards(const struct view *v)
{
	int index;
	return has_range(v) + (selected_of(v, &index) >= 0 || has_span(v));
}

struct box lane_cards_box(const struct view *v, struct box b, bool small)
{
	int count = count_cards(v);
	double height = !count || is_veiled(v) ? 0 : small ? LINE_CARD * count : fmin(CARD, b.height / 2);
	return (struct box){b.x, b.y + b.height - height, b.width, height};
}

/* ---- a range ---- */

void lane_range_draw(struct canvas *c, const struct view *v, const struct lane_area *l)
{
	const struct theme *t = c->theme;
	double left = fmax(lane_area_x(l, v->measured_from), l->plot.x),
	       right = fmin(lane_area_x(l, v->measured_to), l->plot.x + l->plot.width), top = l->plot.y - 6,
	       bottom = l->plot.y + l->plot.height;
	if (!has_range(v) || right <= left)
		return;
	cairo_set_source_rgba(c->cr, (t->accent >> 16 & 255) / 255.0, (t->accent >> 8 & 255) / 255.0,
	                      (t->accent & 255) / 255.0, 0.13);
	cairo_rectangle(c->cr, left, top, right - left, bottom - top);
	draw_fill_path(c);
	draw_line(c, left, top, left, bottom, t->accent, 2);
	draw_line(c, right, top, right, bottom, t->accent, 2);
}

static void range_title(const struct view *v, char *out, size_t size)
{
	char length[WORD], from[WORD], to[WORD];
	snprintf(out, size, "Measured: %s, from %s to %s", time_word(length, v->measured_to - v->measured_from),
	         time_word(from, v->measured_from), time_word(to, v->measured_to));
}

/* A row of the table: the figures of a rank, or of the least and the most of several. */
struct row {
	char who[LANE_RANKS];
	struct measured m;
};

enum column {
	COLUMN_COMPUTE,
	COLUMN_COMMUNICATION,
	COLUMN_EXPOSED,
	COLUMN_BUBBLE,
	COLUMN_SENT,
	COLUMN_OPERATIONS,
	COLUMNS
};

/* brief: without percentages. */
static void cell_words(const struct measured *m, enum column k, bool brief, char *out, size_t size)
{
	const int64_t times[] = {m->compute, m->communication, m->exposed, m->bubble};
	char word[WORD];
	if (k == COLUMN_SENT)
		snprintf(out, size, "%s", bytes_word(word, m->sent_bytes));
	else if (k == COLUMN_OPERATIONS)
		snprintf(out, size, "%" PRId64, m->operations);
	else if (!times[k])
		snprintf(out, size, "0");
	else if (brief)
		snprintf(out, size, "%s", time_word(word, times[k]));
	else
		snprintf(out, size, "%s  %.1f %%", time_word(word, times[k]),
		         100 * (double)times[k] / (double)(m->length ? m->length : 1));
}

/* A card beside another has less room. */
static bool is_brief(struct box b)
{
	return b.width < 800;
}

static double column_x(struct box b, enum column k)
{
	static const double parts[COLUMNS] = {0.34, 0.51, 0.66, 0.79, 0.9, 1};
	return b.x + 12 + (b.width - 24) * parts[k];
}

static void draw_row(struct canvas *c, struct box b, const struct row *r, double y)
{
	char word[96];
	draw_fitting(c, b.x + 12, y, 11.5, 8, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, (b.width - 24) * 0.18, r->who);
	for (int k = 0; k < COLUMNS; k++) {
		bool warns = k == COLUMN_EXPOSED && 200 * r->m.exposed >= r->m.length && r->m.length;
		cell_words(&r->m, (enum column)k, is_brief(b), word, sizeof word);
		draw_text(c, column_x(b, (enum column)k), y, 11.5, WEIGHT_PLAIN,
		          warns ? c->theme->warning : c->theme->ink, ALIGN_RIGHT, 0, "%s", word);
	}
}

/* The sums of the ranks in sight, as many as there is room for; the rest is counted. */
static void draw_table(struct canvas *c, const struct view *v, const struct lane_area *l, struct box b)
{
	static const char *const of_ranks[] = {"compute", "communication", "exposed", "bubble", "sends", "ops"};
	static const char *const of_gpus[] = {"compute", "communication", "exposed", "idle", "carries", "ops"};
	double y = b.y + 36;
	int drawn = 0, left = 0;
	for (int k = 0; k < COLUMNS; k++)
		draw_text(c, column_x(b, (enum column)k), y, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%s",
		          l->lanes->timeline ? of_ranks[k] : of_gpus[k]);
	for (int i = l->first, last = lane_area_last(l); i <= last; i++) {
		if (!measure_has(l->lanes, i))
			continue;
		if (drawn == ROWS) {
			left++;
			continue;
		}
		struct row r = {.m = measure_range(l->lanes, i, v->measured_from, v->measured_to)};
		measured_who(l->lanes, i, r.who, sizeof r.who);
		draw_row(c, b, &r, y + ROW * ++drawn);
	}
	if (left)
		draw_text(c, b.x + b.width - 12, b.y + 18, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0,
		          "%d more in sight: scroll to them", left);
	else
		draw_text(c, b.x + b.width - 12, b.y + 18, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0,
		          "Z: zoom there · Esc: put it away");
}

static void draw_range_card(struct canvas *c, const struct view *v, const struct lane_area *l, struct box b)
{
	char title[160];
	range_title(v, title, sizeof title);
	draw_card(c, b, c->theme->panel, c->theme->accent, 1.6);
	draw_text(c, b.x + 12, b.y + 18, 13, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, b.width * 0.66, "%s", title);
	draw_table(c, v, l, b);
}

/* The overview's: of the rank that one looks at. */
static void draw_range_line(struct canvas *c, const struct view *v, const struct lane_area *l, struct box b)
{
	char title[160], words[512];
	int lane = l->first;
	for (int i = 0; l->lanes->timeline && i < l->lanes->lane_count; i++)
		if (measure_begins(l->lanes, i) && lane_has_rank(l->lanes, &l->lanes->lanes[i], v->focus_rank))
			lane = i;
	struct measured m = measure_range(l->lanes, lane, v->measured_from, v->measured_to);
	range_title(v, title, sizeof title);
	measured_words(l->lanes, lane, &m, words, sizeof words);
	char line[sizeof title + sizeof words + 8];
	snprintf(line, sizeof line, "%s; %s", title, words);
	draw_fitting(c, b.x + 6, b.y + 14, 12, 9, WEIGHT_PLAIN, c->theme->ink, ALIGN_LEFT, b.width - 12, line);
}

/* ---- the selected operation ---- */

struct selected {
	const struct timeline *s;
	const struct role *role;
	const int64_t *begin, *end; /* by operation of the role */
	int index, op;
};

static void draw_item(struct canvas *c, const struct selected *x, int op, const char *when, int64_t time, double left,
                      double y, double room, bool bold)
{
	char words[OP_WORDS], word[WORD];
	op_words_beside(words, x->s, x->role, &x->role->ops[op], &x->role->ops[x->op]);
	draw_text(c, left, y, 11.5, bold ? WEIGHT_BOLD : WEIGHT_PLAIN, c->theme->ink, ALIGN_LEFT, room, "%d: %s, %s %s",
	          op, words, when, time_word(word, time));
}

/* The operation before it on its own queue; -1: none. */
static int before_on_queue(const struct selected *x)
{
	for (int k = x->op - 1; k >= x->role->step.begin; k--)
		if (x->role->ops[k].queue == x->role->ops[x->op].queue && x->begin[k] >= 0)
			return k;
	return -1;
}

/* Those that it waits for, its own queue among them; the one that ended last is the cause. */
static void draw_before(struct canvas *c, const struct selected *x, double left, double y, double room)
{
	const struct op *op = &x->role->ops[x->op];
	int list[WAITS], count = 0, latest = 0, previous = before_on_queue(x);
	if (previous >= 0)
		list[count++] = previous;
	for (int i = 0; i < op->after_count && count < WAITS; i++)
		if (op->after[i] >= x->role->step.begin && x->end[op->after[i]] >= 0)
			list[count++] = op->after[i];
	for (int i = 1; i < count; i++)
		latest = x->end[list[i]] > x->end[list[latest]] ? i : latest;
	for (int i = 0; i < count; i++)
		draw_item(c, x, list[i], "ended at", x->end[list[i]], left, y + ROW * i, room, i == latest);
	if (!count)
		draw_text(c, left, y, 11.5, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, room, "nothing: the step begins");
}

static bool waits_for(const struct op *op, int other)
{
	for (int i = 0; i < op->after_count; i++)
		if (op->after[i] == other)
			return true;
	return false;
}

static void draw_behind(struct canvas *c, const struct selected *x, double left, double y, double room)
{
	int count = 0;
	bool queue = false;
	for (int k = x->op + 1; k < x->role->step.end && count < WAITS; k++) {
		const struct op *op = &x->role->ops[k];
		bool next = !queue && op->queue == x->role->ops[x->op].queue && op_class(op->kind) != OP_CLASS_M;
		if (x->begin[k] < 0 || (!next && !waits_for(op, x->op)))
			continue;
		queue |= next;
		draw_item(c, x, k, "begins at", x->begin[k], left, y + ROW * count++, room, false);
	}
	if (!count)
		draw_text(c, left, y, 11.5, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, room, "nothing: it is the last");
}

static void draw_selected_card(struct canvas *c, const struct view *v, const struct selected *x, struct box b)
{
	const struct theme *t = c->theme;
	char words[256], speed[SPEED_WORDS];
	struct speed s;
	double middle = b.x + b.width / 2 + 4, room = b.width / 2 - 22;
	op_explain(x->s, v->selected_rank, x->op, words, sizeof words);
	words[strcspn(words, ";")] = 0; /* how fast it was has a line of its own */
	draw_card(c, b, t->panel, t->ink, 1.4);
	draw_fitting(c, b.x + 12, b.y + 18, 13, 9, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 24, words);
	double y = b.y + 18;
	if (speed_of_op(x->s, x->index, x->op, &s)) {
		y += ROW + 1;
		draw_fitting(c, b.x + 12, y, 12, 9, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, b.width - 24,
		             speed_words(speed, &s));
	}
	y += ROW + 2;
	draw_text(c, b.x + 12, y, 11.5, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, room, "waits for");
	draw_text(c, middle, y, 11.5, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, room, "waiting for it");
	draw_before(c, x, b.x + 12, y + ROW, room);
	draw_behind(c, x, middle, y + ROW, room);
}

static void draw_selected_line(struct canvas *c, const struct view *v, const struct selected *x, struct box b)
{
	char words[256], line[sizeof words + 16];
	op_explain(x->s, v->selected_rank, x->op, words, sizeof words);
	snprintf(line, sizeof line, "Selected %s", words);
	draw_fitting(c, b.x + 6, b.y + 14, 12, 9, WEIGHT_PLAIN, c->theme->ink, ALIGN_LEFT, b.width - 12, line);
}

/* ---- both ---- */

void lane_cards_draw(struct canvas *c, const struct view *v, const struct lane_area *l, struct box b, bool small)
{
	int index, op = selected_of(v, &index), count = count_cards(v);
	struct box one = {b.x, b.y + (small ? 0 : BETWEEN), b.width, b.height - (small ? 0 : BETWEEN)};
	if (small)
		one.height /= count;
	else
		one.width = (b.width - BETWEEN * (count - 1)) / count;
	if (has_range(v)) {
		(small ? draw_range_line : draw_range_card)(c, v, l, one);
		one.x += small ? 0 : one.width + BETWEEN;
		one.y += small ? one.height : 0;
	}
	if (has_span(v))
		foreign_card_draw(c, v->lanes, v->selected_rank, v->selected_op, one);
	if (op < 0)
		return;
	const struct timeline *s = v->lanes->timeline;
	struct selected x = {.s = s, .role = timeline_role_of(s, index), .index = index, .op = op};
	x.begin = s->ranks[index].begin - x.role->step.begin;
	x.end = s->ranks[index].end - x.role->step.begin;
	(small ? draw_selected_line : draw_selected_card)(c, v, &x, one);
}
