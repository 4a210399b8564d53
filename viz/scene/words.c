/* Numbers and names as they stand in pictures, and the closed forms of collectives. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"
#include "viz/scene/scene.h"

const char *bytes_word(char *out, int64_t bytes)
{
	number_format_bytes(out, WORD, bytes);
	return out;
}

const char *time_word(char *out, int64_t ns)
{
	number_format_time(out, WORD, ns);
	return out;
}

const char *short_word(char *word)
{
	char *point = strchr(word, '.'), *end;
	if (!point)
		return word;
	for (end = point + 1; *end >= '0' && *end <= '9'; end++)
		;
	char *keep = end;
	while (keep > point && (keep[-1] == '0' || keep[-1] == '.'))
		if (*--keep == '.')
			break;
	memmove(keep, end, strlen(end) + 1);
	if (!strncmp(word, "0 ", 2))
		word[1] = 0;
	return word;
}

static const char *const scene_names[] = {
#define X(name, constant, title, what) name,
        SCENE_LIST(X)
#undef X
};
static const char *const scene_titles[] = {
#define X(name, constant, title, what) title,
        SCENE_LIST(X)
#undef X
};

static const char *const scene_whats[] = {
#define X(name, constant, title, what) what,
        SCENE_LIST(X)
#undef X
};

const char *scene_what(enum scene s)
{
	return scene_whats[s];
}

const char *scene_name(enum scene s)
{
	return scene_names[s];
}

const char *scene_title(enum scene s)
{
	return scene_titles[s];
}

bool scene_parse(const char *name, enum scene *out)
{
	for (int i = 0; i < SCENE_COUNT; i++)
		if (!strcmp(name, scene_names[i])) {
			*out = (enum scene)i;
			return true;
		}
	return false;
}

/* ---- collectives ---- */

void collective_words(const struct score *s, const struct collective *c, char *out, int size)
{
	const struct role *r = plan_role_of(s->plan, c->lead);
	const struct op *op = &r->ops[c->op];
	const char *what = op->group >= 0 ? s->plan->groups[op->group].name : r->buffers[op_buffer(op)].name;
	char group[80] = "", ranks[64];
	if (c->kind == OP_SEND) {
		snprintf(out, (size_t)size, "%s from rank %" PRId64 " to %" PRId64, what, c->lead, c->rank[1]);
		return;
	}
	if (c->rank && c->schedule.ranks < s->plan->ranks && s->plan->ranks <= 64) {
		text_of_ranks(ranks, sizeof ranks, c->everyone, 65);
		snprintf(group, sizeof group, ", ranks %s", ranks);
	}
	snprintf(out, (size_t)size, "%s%s of %s%s%s", operation_name(op_operation(c->kind)),
	         c->kind == OP_ALL_REDUCE_MAXIMUM ? " (maximum)" : "", what, c->control ? " (control)" : "", group);
}

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
	snprintf(out->who, sizeof out->who, "%s", c->control ? "control" : a->symmetric ? "each rank" : "all ranks");
	snprintf(out->symbols, sizeof out->symbols, "%s", formula);
	put_in(formula, c->schedule.ranks, bytes, out->numbers, sizeof out->numbers);
}

int64_t ledger_step_bytes(const struct score *s, int index)
{
	const struct role *r = score_role_of(s, index);
	int64_t sum = 0;
	for (int k = r->step.begin; k < r->step.end; k++) {
		int c = score_collective_of(s, index, k);
		if (c >= 0 && !s->collectives[c].control)
			sum += op_sent_bytes(s->plan, r, &r->ops[k], s->ranks[index].rank);
	}
	return sum;
}

int64_t ledger_step_total(const struct score *s)
{
	int64_t sum = 0;
	for (int c = 0; c < s->collective_count; c++)
		if (!s->collectives[c].control)
			sum += s->collectives[c].sent_bytes;
	return sum;
}
