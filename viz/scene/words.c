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

const char *count_word(char *out, int64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0 && digits[i - 1] != '-')
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = 0;
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

static const char *kind_words(enum op_kind k)
{
	switch (k) {
	case OP_ALL_REDUCE:
		return "all-reduce";
	case OP_REDUCE_SCATTER:
		return "reduce-scatter";
	case OP_ALL_GATHER:
		return "all-gather";
	default:
		return op_name(k);
	}
}

void collective_words(const struct score *s, const struct collective *c, char *out, int size)
{
	const struct role *r = plan_role_of(s->plan, c->lead);
	const struct op *op = &r->ops[c->op];
	int b = op->operand[0].buffer >= 0 ? op->operand[0].buffer : op->operand[1].buffer;
	const char *what = op->group >= 0 ? s->plan->groups[op->group].name : r->buffers[b].name;
	char group[80] = "", ranks[64];
	if (c->kind == OP_SEND) {
		snprintf(out, (size_t)size, "%s from rank %" PRId64 " to %" PRId64, what, c->lead, c->rank[1]);
		return;
	}
	if (c->rank && c->schedule.ranks < s->plan->ranks && s->plan->ranks <= 64) {
		text_of_ranks(ranks, sizeof ranks, c->everyone, 65);
		snprintf(group, sizeof group, ", ranks %s", ranks);
	}
	snprintf(out, (size_t)size, "%s of %s%s%s", c->kind == OP_SUM ? "sum" : kind_words(c->kind), what,
	         c->control ? " (control)" : "", group);
}

/* The ring's are the classic ones (Patarasuk and Yuan 2009). Where ranks differ, the busiest speaks: the root, or for
 * trees all ranks together. */
void ledger_formula(const struct score *s, const struct collective *c, struct formula *out)
{
	int64_t n = c->schedule.ranks, size = c->schedule.elements * c->element_bytes;
	char bytes[WORD];
	*out = (struct formula){.who = "each rank"};
	bytes_word(bytes, size);
	if (c->kind == OP_SEND) {
		*out = (struct formula){.who = "all ranks", .symbols = "S", .bytes = size};
		snprintf(out->numbers, sizeof out->numbers, "%s", bytes);
		return;
	}
	switch (c->schedule.algorithm) {
	case SCHEDULE_RING_ALL_REDUCE:
		snprintf(out->symbols, sizeof out->symbols, "2 (n − 1)/n · S");
		snprintf(out->numbers, sizeof out->numbers, "2 · %" PRId64 "/%" PRId64 " · %s", n - 1, n, bytes);
		out->bytes = 2 * (n - 1) * (size / n);
		break;
	case SCHEDULE_RING_REDUCE_SCATTER:
	case SCHEDULE_RING_ALL_GATHER:
		snprintf(out->symbols, sizeof out->symbols, "(n − 1)/n · S");
		snprintf(out->numbers, sizeof out->numbers, "%" PRId64 "/%" PRId64 " · %s", n - 1, n, bytes);
		out->bytes = (n - 1) * (size / n);
		break;
	case SCHEDULE_STAR_SCATTER:
	case SCHEDULE_STAR_GATHER:
		snprintf(out->who, sizeof out->who, "all ranks");
		snprintf(out->symbols, sizeof out->symbols, "(n − 1)/n · S");
		snprintf(out->numbers, sizeof out->numbers, "%" PRId64 "/%" PRId64 " · %s", n - 1, n, bytes);
		out->bytes = (n - 1) * (size / n);
		break;
	case SCHEDULE_TREE_BROADCAST:
	case SCHEDULE_TREE_REDUCE:
	case SCHEDULE_STAR_BROADCAST:
	case SCHEDULE_STAR_REDUCE:
	case SCHEDULE_CHAIN_BROADCAST:
	case SCHEDULE_CHAIN_REDUCE:
		snprintf(out->who, sizeof out->who, "all ranks");
		snprintf(out->symbols, sizeof out->symbols, "(n − 1) · S");
		snprintf(out->numbers, sizeof out->numbers, "%" PRId64 " · %s", n - 1, bytes);
		out->bytes = (n - 1) * size;
		break;
	case SCHEDULE_HALVING_DOUBLING_ALL_REDUCE: {
		int64_t p = 1;
		while (2 * p <= n)
			p *= 2;
		snprintf(out->who, sizeof out->who, "all ranks");
		if (p == n) {
			snprintf(out->symbols, sizeof out->symbols, "2 (n − 1) · S");
			snprintf(out->numbers, sizeof out->numbers, "2 · %" PRId64 " · %s", n - 1, bytes);
		} else {
			snprintf(out->symbols, sizeof out->symbols, "2 (p − 1) · S + 2 (n − p) · S");
			snprintf(out->numbers, sizeof out->numbers, "(2 · %" PRId64 " + 2 · %" PRId64 ") · %s", p - 1,
			         n - p, bytes);
		}
		out->bytes = (2 * (p - 1) + 2 * (n - p)) * size;
		break;
	}
	case SCHEDULE_COUNT:
		break;
	}
	if (c->kind == OP_SUM)
		*out = (struct formula){.who = "control", .symbols = "2 (n − 1) values", .bytes = c->sent_bytes};
	(void)s;
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
