#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	snprintf(out->who, sizeof out->who, "%s", c->control ? "control" : a->symmetric ? "each rank" : "all ranks");
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
	const char *each = out->least == out->most ? "each rank" : "the ranks";
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
	snprintf(out->who, sizeof out->who, "%sranks %s", out->least == out->most ? "each of " : "", ranks);
}

void ledger_make(const struct state *st, struct ledger *out)
{
	const struct timeline *s = st->timeline;
	const struct collective *one = &s->collectives[st->collective];
	const char *groups = st->group_count > 1 ? " of a group" : "";
	*out = (struct ledger){.sent = st->sent, .total = ledger_step_total(s)};
	family_words(st, out->what, sizeof out->what);
	ledger_formula(one, &out->formula);
	if (out->formula.of_one) {
		name_members(st, range_over_members(st, out), out);
		return;
	}
	out->least = out->most = st->sent_collective;
	if (one->kind == OP_SEND)
		snprintf(out->who, sizeof out->who, "rank %" PRId64 "%s", one->lead, groups);
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
		snprintf(out, LEDGER_RANGE, "%s to %s B", least, most);
	return out;
}

/* ---- the table ---- */

enum { ROW = 19 };

static void chunks_of(const struct collective *c, const struct event *e, char *out, size_t size)
{
	int last, first = collective_chunks(c, e, &last);
	if (c->chunk_count == 1)
		snprintf(out, size, "all");
	else
		snprintf(out, size, first == last ? "%d" : "%d–%d", first, last);
}

/* Of the groups that carry out the collective, where numbers are shown. */
struct numbers {
	struct values *of; /* [group]; NULL: none are shown */
};

static void numbers_init(struct numbers *n, const struct view *v)
{
	const struct state *st = v->state;
	*n = (struct numbers){0};
	if (!v->values || !values_shown(st->timeline, &st->timeline->collectives[st->collective]))
		return;
	n->of = calloc((size_t)st->group_count + 1, sizeof *n->of);
	if (!n->of)
		abort();
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

/* The messages of the collective, in all groups, up to the cursor, as many of the last as there is room for. */
static void draw_rows(struct canvas *c, const struct view *v, const struct collective *one, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	const struct timeline *s = st->timeline;
	int rows = (int)((b.height - ROW) / ROW), row = 0;
	size_t number = 0, arrived = 0;
	for (int i = 0; i < st->group_count; i++)
		arrived += st->groups[i].arrived;
	struct numbers numbers;
	numbers_init(&numbers, v);
	char head[64], power[POWER_WORD];
	snprintf(head, sizeof head, values_recorded(s) ? "value%s" : "example values",
	         power_word(power, numbers.of ? numbers.of[0].power : 0));
	const char *const heads[] = {"round", "from", "to", "chunk", "bytes", head};
	double column[6];
	bool counts = lay_columns(c, b, heads, numbers.of != NULL, bytes_width(c, s, st->collective), column);
	if (text_length(c, 9, WEIGHT_PLAIN, head) > column[5] - column[3] - 8)
		snprintf(head, sizeof head, "values");
	for (int i = 0; i < (numbers.of ? 6 : 5); i++)
		if (i != 4 || counts)
			draw_fitting(c, column[i], b.y + 12, 11, 9, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT,
			             i == 5 ? column[5] - column[3] - 8 : 100, heads[i]);
	draw_line(c, b.x, b.y + 17, b.x + b.width, b.y + 17, t->line, 1);
	for (size_t i = 0; i < st->latest_end && rows > 0; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_MESSAGE || s->collectives[e->collective].family != st->collective)
			continue;
		const struct exchange *x = numbers_carry(&numbers, st, e);
		if (number++ + (size_t)rows < arrived)
			continue;
		double y = b.y + ROW * (row + 2) - 3;
		bool fresh = i >= st->latest;
		char chunk[32], bytes[WORD];
		chunks_of(one, e, chunk, sizeof chunk);
		if (fresh)
			draw_fill(c, (struct box){b.x - 4, y - 14, b.width + 8, ROW},
			          colour_mix(t->panel, t->accent, 0.16));
		colour ink = fresh ? t->ink : t->soft;
		enum weight w = fresh ? WEIGHT_BOLD : WEIGHT_PLAIN;
		draw_text(c, column[0], y, 13, w, ink, ALIGN_RIGHT, 0, "%d", e->round + 1);
		draw_text(c, column[1], y, 13, w, ink, ALIGN_RIGHT, 0, "%" PRId64, e->rank);
		draw_text(c, column[2], y, 13, w, ink, ALIGN_RIGHT, 0, "%" PRId64, e->to);
		draw_text(c, column[3], y, 13, w, ink, ALIGN_RIGHT, 0, "%s", chunk);
		if (counts)
			draw_text(c, column[4], y, 13, w, ink, ALIGN_RIGHT, 0, "%s",
			          number_format_count(bytes, e->bytes));
		if (x)
			draw_exchange(c, x, column[5], y, column[5] - column[3] - 8, w, ink);
		row++;
	}
	numbers_release(&numbers, st);
	if (!row)
		draw_text(c, b.x, b.y + ROW * 2 - 3, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width,
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

void draw_ledger(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	struct ledger l;
	char word[LEDGER_RANGE];
	double pad = 14, x = b.x + pad, width = b.width - 2 * pad, totals = 176;
	ledger_make(st, &l);
	draw_card(c, b, t->panel, t->line, 1);
	draw_text(c, x, b.y + 24, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, width, "Ledger: %s", l.what);
	draw_rows(c, v, &st->timeline->collectives[st->collective],
	          (struct box){x, b.y + 34, width, b.height - 34 - totals});
	double y = b.y + b.height - totals + 8;
	draw_line(c, x, y, x + width, y, t->line, 1);
	draw_text(c, x, y + 20, 13, WEIGHT_BOLD, t->ink, ALIGN_LEFT, 0, "%s, so far", l.who);
	draw_text(c, x + width, y + 20, 14, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, 0, "%s", ledger_range(&l, word));
	if (is_veiled(v)) {
		draw_veil(c, (struct box){x, y + 32, width, 66});
		draw_text(c, x, y + 123, 13, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, 0, "the step, all ranks");
		draw_text(c, x + width, y + 123, 13, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, 0, "%s B",
		          number_format_count(word, l.sent));
		return;
	}
	draw_bar(c, x, y + 28, width, l.least, l.formula.bytes);
	draw_text(c, x, y + 54, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, 0, "closed form");
	draw_text(c, x + width, y + 54, 13, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, width - 90, "%s", l.formula.symbols);
	draw_text(c, x + width, y + 73, 13, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, width, "= %s", l.formula.numbers);
	draw_text(c, x + width, y + 93, 14, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, width, "= %s B",
	          number_format_count(word, l.formula.bytes));
	draw_line(c, x, y + 104, x + width, y + 104, t->line, 1);
	draw_text(c, x, y + 123, 13, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, 0, "the step, all ranks");
	draw_text(c, x + width, y + 123, 13, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, 0, "%s",
	          number_format_count(word, l.sent));
	draw_text(c, x + width, y + 142, 13, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, width, "of %s B",
	          number_format_count(word, l.total));
	draw_bar(c, x, y + 149, width, l.sent, l.total);
}
