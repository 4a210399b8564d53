#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/values.h"

/* ---- closed forms ---- */

static int64_t power_of_two_up_to(int64_t n)
{
	int64_t p = 1;
	while (2 * p <= n)
		p *= 2;
	return p;
}

/* The value of a symbol, and how long its name is; 0: no symbol begins here. */
static size_t symbol_at(const char *text, int64_t n, int64_t *value)
{
	const struct {
		const char *name;
		int64_t value;
	} symbols[] = {{"(n − 1)", n - 1}, {"(n − p)", n - power_of_two_up_to(n)}, {"n", n}};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!strncmp(text, symbols[i].name, strlen(symbols[i].name))) {
			*value = symbols[i].value;
			return strlen(symbols[i].name);
		}
	return 0;
}

/* A formula with its values put in: "2 (n − 1)/n · S" is "2 · 3/4 · 4 MB". */
static void put_in(const char *formula, int64_t n, const char *bytes, char *out, size_t size)
{
	size_t at = 0;
	for (const char *c = formula; *c && at + 1 < size;) {
		char one[WORD] = {*c, 0};
		int64_t value;
		size_t length = symbol_at(c, n, &value);
		bool times = c - formula >= 2 && c[-1] == ' ' && c[-2] >= '0' && c[-2] <= '9';
		if (length)
			snprintf(one, sizeof one, "%s%" PRId64, times ? "· " : "", value);
		else if (*c == 'S')
			snprintf(one, sizeof one, "%s", bytes);
		at += (size_t)snprintf(out + at, size - at, "%s", one);
		c += length ? length : 1;
	}
}

void ledger_formula(const struct collective *c, struct formula *out)
{
	const struct algorithm *a = schedule_row(c->schedule.algorithm);
	struct amount amount = schedule_amount(&c->schedule);
	char bytes[WORD];
	*out = (struct formula){.bytes = amount.times * amount.elements * c->element_bytes};
	bytes_word(bytes, c->schedule.elements * c->element_bytes);
	const char *formula = c->kind == OP_SEND ? "S" : a->formula;
	out->of_one = !c->control && a->symmetric;
	snprintf(out->who, sizeof out->who, "%s",
	         c->control     ? tr("control")
	         : a->symmetric ? tr("each rank")
	                        : tr("all ranks"));
	snprintf(out->symbols, sizeof out->symbols, "%s", formula);
	put_in(formula, c->schedule.ranks, bytes, out->numbers, sizeof out->numbers);
}

int64_t ledger_step_bytes(const struct timeline *s, int index)
{
	const struct role *r = timeline_role_of(s, index);
	int64_t sum = 0;
	for (int k = r->step.begin; k < r->step.end; k++) {
		int c = timeline_collective_of(s, index, k);
		if (c >= 0 && !s->collectives[c].control)
			sum += op_sent_bytes(s->plan, r, &r->ops[k], s->ranks[index].rank);
	}
	return sum;
}

int64_t ledger_step_total(const struct timeline *s)
{
	int64_t sum = 0;
	for (int c = 0; c < s->collective_count; c++)
		if (!s->collectives[c].control)
			sum += s->collectives[c].sent_bytes;
	return sum;
}

/* ---- the sums ---- */

/* The least and the most that a rank has sent which takes part, and how many such ranks are shown. */
static int range_over_members(const struct state *st, struct ledger *out)
{
	int members = 0;
	for (int i = 0; i < st->timeline->rank_count; i++) {
		int64_t sent = st->ranks[i].sent_collective;
		if (!st->ranks[i].member)
			continue;
		out->least = !members || sent < out->least ? sent : out->least;
		out->most = sent > out->most ? sent : out->most;
		members++;
	}
	return members;
}

static void name_members(const struct state *st, int members, struct ledger *out)
{
	const struct timeline *s = st->timeline;
	const char *each = out->least == out->most ? tr("each rank") : tr("the ranks");
	uint64_t set = 0;
	char ranks[64];
	for (int i = 0; i < s->rank_count; i++)
		if (st->ranks[i].member && s->ranks[i].rank < 64)
			set |= UINT64_C(1) << s->ranks[i].rank;
	if (members == s->rank_count || s->plan->ranks > 64) {
		snprintf(out->who, sizeof out->who, "%s", each);
		return;
	}
	text_of_ranks(ranks, sizeof ranks, set, 65);
	snprintf(out->who, sizeof out->who, tr(out->least == out->most ? "each of ranks %s" : "ranks %s"), ranks);
}

void ledger_make(const struct state *st, struct ledger *out)
{
	const struct timeline *s = st->timeline;
	const struct collective *one = &s->collectives[st->collective];
	const char *groups = st->group_count > 1 ? tr(" of a group") : "";
	*out = (struct ledger){.sent = st->sent, .total = ledger_step_total(s)};
	family_words(st, out->what, sizeof out->what);
	ledger_formula(one, &out->formula);
	if (out->formula.of_one) {
		name_members(st, range_over_members(st, out), out);
		return;
	}
	out->least = out->most = st->sent_collective;
	if (one->kind == OP_SEND)
		snprintf(out->who, sizeof out->who, tr("rank %" PRId64 "%s"), one->lead, groups);
	else
		snprintf(out->who, sizeof out->who, "%s%s", out->formula.who, groups);
}

const char *ledger_range(const struct ledger *l, char *out)
{
	char least[WORD], most[WORD];
	number_format_count(least, l->least);
	number_format_count(most, l->most);
	if (l->least == l->most)
		snprintf(out, LEDGER_RANGE, "%s B", most);
	else
		snprintf(out, LEDGER_RANGE, tr("%s to %s B"), least, most);
	return out;
}

/* ---- the table ---- */

enum { ROW = 19 };

/* From line to line: 19 where text has its normal size. */
static double line_of(const struct canvas *c)
{
	return fmax(ROW, 1.3 * c->least);
}

static void chunks_of(const struct collective *c, const struct event *e, char *out, size_t size)
{
	int last, first = collective_chunks(c, e, &last);
	if (c->chunk_count == 1)
		snprintf(out, size, tr("all"));
	else
		snprintf(out, size, first == last ? "%d" : "%d–%d", first, last);
}

/* Says which groups carry out the collective, if numbers are shown. */
struct numbers {
	struct values *of; /* [group]; NULL: none are shown */
};

static void numbers_init(struct numbers *n, const struct view *v)
{
	const struct state *st = v->state;
	*n = (struct numbers){0};
	if (!v->values || !values_shown(st->timeline, &st->timeline->collectives[st->collective]))
		return;
	n->of = array_make((size_t)st->group_count, sizeof *n->of);
	for (int i = 0; i < st->group_count; i++)
		values_init(&n->of[i], st->timeline, &st->timeline->collectives[st->groups[i].collective]);
}

static void numbers_release(struct numbers *n, const struct state *st)
{
	for (int i = 0; n->of && i < st->group_count; i++)
		values_release(&n->of[i]);
	free(n->of);
}

/* NULL: none is shown. */
static const struct exchange *numbers_carry(struct numbers *n, const struct state *st, const struct event *e)
{
	const struct collective *c = &st->timeline->collectives[e->collective];
	for (int i = 0; n->of && i < st->group_count; i++)
		if (st->groups[i].collective == e->collective && values_shown(st->timeline, c)) {
			values_carry(&n->of[i], c, e);
			return values_exchange(&n->of[i], c, e);
		}
	return NULL;
}

/* The width of the largest number of bytes. */
static double bytes_width(struct canvas *c, const struct timeline *s, int family)
{
	char word[WORD];
	int64_t most = 0;
	for (size_t i = s->collectives[family].first_event; i < s->collectives[family].end_event; i++) {
		const struct event *e = &s->events[i];
		if (e->kind == EVENT_MESSAGE && s->collectives[e->collective].family == family && e->bytes > most)
			most = e->bytes;
	}
	return text_length(c, 13, WEIGHT_BOLD, number_format_count(word, most));
}

/* The right edges of the columns under their heads. False: where numbers are shown, there is no room for bytes, which
 * the sums below have. */
static bool lay_columns(struct canvas *c, struct box b, const char *const *heads, bool numbers, double bytes,
                        double *column)
{
	static const double pitch[] = {44, 62, 44, 58};
	double right = b.x, near = numbers ? 0.72 : 1;
	for (int i = 0; i < 4; i++) {
		double head = text_length(c, 11, WEIGHT_PLAIN, heads[i]) + (i ? 7 : 0);
		column[i] = right += fmax(pitch[i] * near, head);
	}
	column[4] = b.x + b.width;
	column[5] = column[4] - 16 - fmax(bytes, text_length(c, 11, WEIGHT_PLAIN, heads[4]));
	bool room = !numbers || column[5] - right > text_length(c, 13, WEIGHT_BOLD, "18 + 24 = 42");
	if (!room)
		column[5] = column[4];
	return room;
}

/* "5 + 3 = 8"; where that is too long, what it comes to. */
static void draw_exchange(struct canvas *c, const struct exchange *x, double right, double y, double room,
                          enum weight w, colour ink)
{
	char text[EXCHANGE_WORD];
	if (text_length(c, 10, w, exchange_word(text, x)) > room)
		value_word(text, x->has);
	draw_fitting(c, right, y, 13, 8, w, ink, ALIGN_RIGHT, room, text);
}

/* The columns of messages: round, from, to, chunk, bytes, values. */
enum { CHUNK_COLUMN = 3, BYTES_COLUMN, VALUE_COLUMN, COLUMNS };

struct rows {
	struct box box;
	double line;
	double column[COLUMNS]; /* right edges */
	bool counts, values;    /* there is a column for bytes, and for values */
};

static double room_for_values(const struct rows *r)
{
	return r->column[VALUE_COLUMN] - r->column[CHUNK_COLUMN] - 8;
}

static void draw_heads(struct canvas *c, const struct state *st, const struct numbers *numbers, struct rows *r)
{
	const struct theme *t = c->theme;
	const struct timeline *s = st->timeline;
	struct box b = r->box;
	char head[64], power[POWER_WORD];
	snprintf(head, sizeof head, values_recorded(s) ? tr("value%s") : tr("example values"),
	         power_word(power, numbers->of ? numbers->of[0].power : 0));
	const char *const heads[COLUMNS] = {"round", "from", "to", "chunk", "bytes", head};
	r->values = numbers->of != NULL;
	r->counts = lay_columns(c, b, heads, r->values, bytes_width(c, s, st->collective), r->column);
	if (text_length(c, 9, WEIGHT_PLAIN, head) > room_for_values(r))
		snprintf(head, sizeof head, tr("values"));
	for (int i = 0; i < (r->values ? COLUMNS : VALUE_COLUMN); i++)
		if (i != BYTES_COLUMN || r->counts)
			draw_fitting(c, r->column[i], b.y + 12, 11, 9, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT,
			             i == VALUE_COLUMN ? room_for_values(r) : 100, heads[i]);
	draw_line(c, b.x, b.y + 17, b.x + b.width, b.y + 17, t->line, 1);
}

/* One message. fresh: it came with the last step; x: what it carries, NULL: not shown. */
static void draw_row(struct canvas *c, const struct rows *r, double y, const struct collective *one,
                     const struct event *e, bool fresh, const struct exchange *x)
{
	const struct theme *t = c->theme;
	colour ink = fresh ? t->ink : t->soft;
	enum weight w = fresh ? WEIGHT_BOLD : WEIGHT_PLAIN;
	char chunk[32], bytes[WORD];
	chunks_of(one, e, chunk, sizeof chunk);
	if (fresh)
		draw_fill(c, (struct box){r->box.x - 4, y - r->line + 5, r->box.width + 8, r->line},
		          colour_mix(t->panel, t->accent, 0.16));
	draw_text(c, r->column[0], y, 13, w, ink, ALIGN_RIGHT, 0, "%d", e->round + 1);
	draw_text(c, r->column[1], y, 13, w, ink, ALIGN_RIGHT, 0, "%" PRId64, e->rank);
	draw_text(c, r->column[2], y, 13, w, ink, ALIGN_RIGHT, 0, "%" PRId64, e->to);
	draw_text(c, r->column[CHUNK_COLUMN], y, 13, w, ink, ALIGN_RIGHT, 0, "%s", chunk);
	if (r->counts)
		draw_text(c, r->column[BYTES_COLUMN], y, 13, w, ink, ALIGN_RIGHT, 0, "%s",
		          number_format_count(bytes, e->bytes));
	if (x)
		draw_exchange(c, x, r->column[VALUE_COLUMN], y, room_for_values(r), w, ink);
}

/* The messages of the collective, in all groups, up to the cursor, as many of the last as there is room for. */
static void draw_rows(struct canvas *c, const struct view *v, const struct collective *one, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	const struct timeline *s = st->timeline;
	double line = line_of(c);
	struct rows r = {.box = b, .line = line};
	int rows = (int)((b.height - line) / line), row = 0;
	size_t number = 0, arrived = 0;
	for (int i = 0; i < st->group_count; i++)
		arrived += st->groups[i].arrived;
	struct numbers numbers;
	numbers_init(&numbers, v);
	draw_heads(c, st, &numbers, &r);
	for (size_t i = 0; i < st->latest_end && rows > 0; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_MESSAGE || s->collectives[e->collective].family != st->collective)
			continue;
		const struct exchange *x = numbers_carry(&numbers, st, e);
		if (number++ + (size_t)rows >= arrived)
			draw_row(c, &r, b.y + line * (row++ + 2) - 3, one, e, i >= st->latest, x);
	}
	numbers_release(&numbers, st);
	if (!row)
		draw_text(c, b.x, b.y + line * 2 - 3, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width,
		          one->shown ? "nothing sent yet" : "too many ranks to list messages");
}

static void draw_bar(struct canvas *c, double x, double y, double width, int64_t part, int64_t whole)
{
	const struct theme *t = c->theme;
	double done = whole > 0 ? (double)part / (double)whole : 0;
	draw_fill(c, (struct box){x, y, width, 7}, t->empty);
	draw_fill(c, (struct box){x, y, width * fmin(done, 1), 7}, t->accent);
	draw_frame(c, (struct box){x, y, width, 7}, t->outline, 0.7);
}

/* Writes "each rank, so far 1,059,840 B", with a shorter label if the line is too long. */
static void draw_sum(struct canvas *c, struct box b, double y, enum weight w, double size, const char *const *labels,
                     const char *value)
{
	double length = text_length(c, size, w, value);
	int i = 0;
	while (labels[i + 1] && text_length(c, 13, w, labels[i]) > b.width - length - 8)
		i++;
	draw_text(c, b.x, y, 13, w, c->theme->ink, ALIGN_LEFT, fmax(1, b.width - length - 8), "%s", labels[i]);
	draw_text(c, b.x + b.width, y, size, w, c->theme->ink, ALIGN_RIGHT, 0, "%s", value);
}

static void draw_so_far(struct canvas *c, const struct ledger *l, struct box b, double y)
{
	char label[sizeof l->who + 16], value[LEDGER_RANGE];
	snprintf(label, sizeof label, tr("%s, so far"), l->who);
	draw_sum(c, b, y, WEIGHT_BOLD, 14, (const char *const[]){label, l->who, "so far", NULL},
	         ledger_range(l, value));
}

static void draw_step(struct canvas *c, struct box b, double y, const char *value)
{
	draw_sum(c, b, y, WEIGHT_PLAIN, 13, (const char *const[]){"the step, all ranks", "the step", NULL}, value);
}

static void draw_form(struct canvas *c, const struct ledger *l, struct box b, double y)
{
	const struct theme *t = c->theme;
	char word[WORD];
	double line = line_of(c), right = b.x + b.width, label = text_length(c, 13, WEIGHT_PLAIN, "closed form") + 8;
	draw_text(c, b.x, y, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, 0, "closed form");
	draw_fitting(c, right, y, 13, 9, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, b.width - label, l->formula.symbols);
	draw_text(c, right, y + line, 13, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, b.width, "= %s", l->formula.numbers);
	draw_text(c, right, y + 2 * line + 1, 14, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, b.width, "= %s B",
	          number_format_count(word, l->formula.bytes));
}

void draw_ledger(struct canvas *c, const struct view *v, struct box b)
{
	enum { PAD = 14 };
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	struct ledger l;
	char word[WORD], value[WORD + 8];
	double line = line_of(c), totals = 62 + 6 * line;
	struct box in = {b.x + PAD, b.y, b.width - 2 * PAD, b.height};
	ledger_make(st, &l);
	draw_card(c, b, t->panel, t->line, 1);
	draw_text(c, in.x, b.y + 24, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, in.width, "Ledger: %s", l.what);
	draw_rows(c, v, &st->timeline->collectives[st->collective],
	          (struct box){in.x, b.y + 34, in.width, b.height - 34 - totals});
	double y = b.y + b.height - totals + 8, form = y + 35 + line, step = form + 2 * line + 12;
	draw_line(c, in.x, y, in.x + in.width, y, t->line, 1);
	draw_so_far(c, &l, in, y + line + 1);
	snprintf(value, sizeof value, "%s B", number_format_count(word, l.sent));
	if (is_veiled(v)) {
		draw_veil(c, (struct box){in.x, form - line - 3, in.width, 2 * line + 28});
		draw_step(c, in, step + line, value);
		return;
	}
	draw_bar(c, in.x, y + line + 9, in.width, l.least, l.formula.bytes);
	draw_form(c, &l, in, form);
	draw_line(c, in.x, step, in.x + in.width, step, t->line, 1);
	draw_step(c, in, step + line, value);
	draw_text(c, in.x + in.width, step + 2 * line, 13, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, in.width, "of %s B",
	          number_format_count(word, l.total));
	draw_bar(c, in.x, step + 2 * line + 7, in.width, l.sent, l.total);
}

/* ---- the sums alone ---- */

double ledger_sums_height(const struct canvas *c)
{
	return 3 * line_of(c) + 30;
}

void draw_ledger_sums(struct canvas *c, const struct view *v, struct box b)
{
	enum { PAD = 14 };
	const struct theme *t = c->theme;
	struct ledger l;
	char form[sizeof l.formula.symbols + sizeof l.formula.numbers + WORD + 24], sent[WORD], word[WORD],
	        value[2 * WORD + 8];
	double line = line_of(c), y = b.y + line + 1;
	struct box in = {b.x + PAD, b.y, b.width - 2 * PAD, b.height};
	ledger_make(v->state, &l);
	draw_card(c, b, t->panel, t->line, 1);
	draw_so_far(c, &l, in, y);
	bool veiled = is_veiled(v);
	snprintf(form, sizeof form, "%s = %s = %s B", l.formula.symbols, l.formula.numbers,
	         number_format_count(word, l.formula.bytes));
	if (veiled)
		draw_veil(c, (struct box){in.x, y + 6, in.width, line + 10});
	else
		draw_bar(c, in.x, y + 6, in.width, l.least, l.formula.bytes);
	if (!veiled)
		draw_sum(c, in, y + line + 11, WEIGHT_PLAIN, 13, (const char *const[]){"closed form", "", NULL}, form);
	snprintf(value, sizeof value, veiled ? "%s B" : tr("%s of %s B"), number_format_count(sent, l.sent),
	         number_format_count(word, l.total));
	draw_step(c, in, y + 2 * line + 12, value);
	if (!veiled)
		draw_bar(c, in.x, y + 2 * line + 17, in.width, l.sent, l.total);
}
