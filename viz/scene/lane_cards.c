/* The cards below the lanes: a measured range, and the selected operation with its waits. In the overview there is room
 * for a line of each. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_area.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/op_words.h"

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
	snprintf(out, size, tr("Measured: %s, from %s to %s"), time_word(length, v->measured_to - v->measured_from),
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

/* ---- the table of a range ---- */

/* From line to line. */
static double line_of(const struct canvas *c)
{
	return fmax(ROW, 1.2 * c->least);
}

/* Ranks that did the same, one behind the other, are one row. */
struct table {
	struct row rows[ROWS];
	int count, left; /* left: ranks for which there is no room */
	bool brief;
	int64_t rank, last; /* of the last row: from one to the other; -1: it is not of ranks one by one */
	enum column columns[COLUMNS];
	int column_count;
	double right[COLUMNS]; /* edges */
};

static bool same_sums(const struct measured *a, const struct measured *b)
{
	return a->compute == b->compute && a->communication == b->communication && a->exposed == b->exposed &&
	       a->bubble == b->bubble && a->sent_bytes == b->sent_bytes && a->operations == b->operations;
}

static bool joins_last(const struct table *t, const struct lanes *l, int lane, const struct measured *m)
{
	return t->count && l->timeline && t->rank >= 0 && l->lanes[lane].rank == t->last + 1 &&
	       same_sums(&t->rows[t->count - 1].m, m);
}

static void add_row(struct table *t, const struct lanes *l, int lane, const struct measured *m, int most)
{
	struct row *last = &t->rows[t->count ? t->count - 1 : 0];
	char who[LANE_RANKS];
	lane_ranks(who, l, &l->lanes[lane]);
	bool alone = lane_is_one_rank(l, &l->lanes[lane]);
	if (alone && joins_last(t, l, lane, m)) {
		t->last++;
		snprintf(last->who, sizeof last->who, tr("ranks %" PRId64 "–%" PRId64 ": the same"), t->rank, t->last);
		return;
	}
	if (t->count == most) {
		t->left++;
		t->rank = -1;
		return;
	}
	last = &t->rows[t->count++];
	last->m = *m;
	snprintf(last->who, sizeof last->who, "%s", who);
	t->rank = t->last = alone ? l->lanes[lane].rank : -1;
}

static const char *head_of(const struct lane_area *l, enum column k)
{
	static const char *const of_ranks[] = {"compute", "communication", "exposed", "bubble", "sends", "ops"};
	static const char *const of_gpus[] = {"compute", "communication", "exposed", "idle", "carries", "ops"};
	return (l->lanes->timeline ? of_ranks : of_gpus)[k];
}

static double who_width(struct canvas *c, const struct table *t)
{
	double width = 0;
	for (int i = 0; i < t->count; i++)
		width = fmax(width, text_length(c, 11.5, WEIGHT_BOLD, t->rows[i].who));
	return width;
}

static double cell_width(struct canvas *c, const struct table *t, const struct lane_area *l, enum column k)
{
	char word[96];
	double width = text_length(c, 11, WEIGHT_PLAIN, head_of(l, k));
	for (int i = 0; i < t->count; i++) {
		cell_words(&t->rows[i].m, k, t->brief, word, sizeof word);
		width = fmax(width, text_length(c, 11.5, WEIGHT_PLAIN, word));
	}
	return width;
}

/* Makes columns as wide as their words and spreads the rest of the width between them. Leading columns are left out if
 * there is no room for all. False: not even the others fit. */
static bool lay_columns(struct canvas *c, struct table *t, const struct lane_area *l, double left, double width,
                        int out)
{
	static const enum column last[] = {COLUMN_OPERATIONS, COLUMN_COMMUNICATION, COLUMN_SENT};
	enum { GAP = 12 };
	double wide[COLUMNS], all = who_width(c, t);
	t->column_count = 0;
	for (int k = 0; k < COLUMNS; k++) {
		bool drops = false;
		for (int i = 0; i < out; i++)
			drops |= last[i] == (enum column)k;
		if (drops)
			continue;
		wide[t->column_count] = cell_width(c, t, l, (enum column)k) + GAP;
		all += wide[t->column_count];
		t->columns[t->column_count++] = (enum column)k;
	}
	double spare = fmax(0, width - all) / t->column_count, x = left + who_width(c, t);
	for (int i = 0; i < t->column_count; i++)
		t->right[i] = x += wide[i] + spare;
	return all <= width;
}

static void fit_columns(struct canvas *c, struct table *t, const struct lane_area *l, struct box b)
{
	for (int out = 0; out < 4; out++)
		for (int brief = 0; brief < 2; brief++) {
			t->brief = brief > 0;
			if (lay_columns(c, t, l, b.x + 12, b.width - 24, out))
				return;
		}
}

static void draw_row(struct canvas *c, const struct table *t, struct box b, const struct row *r, double y)
{
	char word[96];
	draw_text(c, b.x + 12, y, 11.5, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, b.width - 24, "%s", r->who);
	for (int i = 0; i < t->column_count; i++) {
		enum column k = t->columns[i];
		bool warns = k == COLUMN_EXPOSED && 200 * r->m.exposed >= r->m.length && r->m.length;
		cell_words(&r->m, k, t->brief, word, sizeof word);
		draw_text(c, t->right[i], y, 11.5, WEIGHT_PLAIN, warns ? c->theme->warning : c->theme->ink, ALIGN_RIGHT,
		          0, "%s", word);
	}
}

/* Writes a remark at the right of the title, if there is room. */
static void draw_aside(struct canvas *c, struct box b, double title, int left, double y)
{
	char words[64] = "Z: zoom there · Esc: put it away";
	if (left)
		snprintf(words, sizeof words, tr("%d more in sight: scroll to them"), left);
	if (text_length(c, 11, WEIGHT_PLAIN, words) > b.width - 36 - title)
		snprintf(words, sizeof words, left ? tr("%d more") : "", left);
	if (text_length(c, 11, WEIGHT_PLAIN, words) <= b.width - 36 - title)
		draw_text(c, b.x + b.width - 12, y, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%s", words);
}

/* Draws the sums of the ranks in sight, as many as fit; the rest are counted. */
static void draw_range_card(struct canvas *c, const struct view *v, const struct lane_area *l, struct box b)
{
	char title[160], length[WORD];
	struct table t = {.rank = -1};
	double line = line_of(c), y = b.y + fmax(18, c->least + 3), room = b.width - 24;
	int most = (int)fmax(1, fmin(ROWS, floor((b.y + b.height - 4 - y - line) / line)));
	for (int i = l->first, last = lane_area_last(l); i <= last; i++) {
		if (!measure_has(l->lanes, i))
			continue;
		struct measured m = measure_range(l->lanes, i, v->measured_from, v->measured_to);
		add_row(&t, l->lanes, i, &m, most);
	}
	range_title(v, title, sizeof title);
	if (text_length(c, 11, WEIGHT_BOLD, title) > room)
		snprintf(title, sizeof title, tr("Measured: %s"), time_word(length, v->measured_to - v->measured_from));
	draw_card(c, b, c->theme->panel, c->theme->accent, 1.6);
	draw_fitting(c, b.x + 12, y, 13, 11, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, room, title);
	draw_aside(c, b, text_length(c, 13, WEIGHT_BOLD, title), t.left, y);
	fit_columns(c, &t, l, b);
	y += line + 2;
	for (int i = 0; i < t.column_count; i++)
		draw_text(c, t.right[i], y, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%s",
		          head_of(l, t.columns[i]));
	for (int i = 0; i < t.count; i++)
		draw_row(c, &t, b, &t.rows[i], y + line * (i + 1) - 1);
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
	int most; /* operations for which there is room in a column */
	double line;
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

/* The operations that it waits for, its own queue's among them; the one that ended last is the cause. */
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
	if (count && latest >= x->most) { /* the cause is there in any case */
		list[0] = list[latest];
		latest = 0;
	}
	for (int i = 0; i < count && i < x->most; i++)
		draw_item(c, x, list[i], tr("ended at"), x->end[list[i]], left, y + x->line * i, room, i == latest);
	if (!count && x->most)
		draw_text(c, left, y, 11.5, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, room, "nothing: the step begins");
}

static void draw_behind(struct canvas *c, const struct selected *x, double left, double y, double room)
{
	int count = 0;
	bool queue = false;
	for (int k = x->op + 1; k < x->role->step.end && count < WAITS && count < x->most; k++) {
		const struct op *op = &x->role->ops[k];
		bool next = !queue && op->queue == x->role->ops[x->op].queue && op_class(op->kind) != OP_CLASS_M;
		if (x->begin[k] < 0 || (!next && !op_waits_for(op, x->op)))
			continue;
		queue |= next;
		draw_item(c, x, k, tr("begins at"), x->begin[k], left, y + x->line * count++, room, false);
	}
	if (!count && x->most)
		draw_text(c, left, y, 11.5, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, room, "nothing: it is the last");
}

static void draw_selected_card(struct canvas *c, const struct view *v, struct selected *x, struct box b)
{
	const struct theme *t = c->theme;
	char words[256], speed[SPEED_WORDS];
	struct speed s;
	double middle = b.x + b.width / 2 + 4, room = b.width / 2 - 22;
	op_explain(x->s, v->selected_rank, x->op, words, sizeof words);
	words[strcspn(words, ";")] = 0; /* how fast it was has a line of its own */
	draw_card(c, b, t->panel, t->ink, 1.4);
	double y = b.y + fmax(18, c->least + 3);
	x->line = line_of(c);
	draw_fitting(c, b.x + 12, y, 13, 9, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 24, words);
	if (speed_of_op(x->s, x->index, x->op, &s)) {
		y += x->line + 1;
		draw_fitting(c, b.x + 12, y, 12, 9, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, b.width - 24,
		             speed_words(speed, &s));
	}
	y += x->line + 2;
	x->most = (int)fmax(0, floor((b.y + b.height - 4 - y) / x->line));
	draw_text(c, b.x + 12, y, 11.5, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, room, "waits for");
	draw_text(c, middle, y, 11.5, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, room, "waiting for it");
	draw_before(c, x, b.x + 12, y + x->line, room);
	draw_behind(c, x, middle, y + x->line, room);
}

static void draw_selected_line(struct canvas *c, const struct view *v, const struct selected *x, struct box b)
{
	char words[256], line[sizeof words + 16];
	op_explain(x->s, v->selected_rank, x->op, words, sizeof words);
	snprintf(line, sizeof line, tr("Selected %s"), words);
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
	if (small)
		draw_selected_line(c, v, &x, one);
	else
		draw_selected_card(c, v, &x, one);
}
