/* Numbers as they stand in pictures, and names of collectives. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"
#include "viz/scene/op_words.h"
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

const char *factor_word(char *out, double factor)
{
	char whole[32];
	if (factor < 999.5)
		snprintf(out, WORD, "× %.3g", factor);
	else
		snprintf(out, WORD, "× %s", number_format_count(whole, (int64_t)(factor + 0.5)));
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

/* ---- ranks and phases ---- */

static int shown_of(const struct timeline *s, int role)
{
	int n = 0;
	for (int i = 0; i < s->rank_count; i++)
		n += s->ranks[i].role == role;
	return n;
}

const char *ranks_word(char *out, const struct timeline *s, int first, int end)
{
	const struct role *role = timeline_role_of(s, first);
	int64_t from = s->ranks[first].rank, to = s->ranks[end - 1].rank;
	if (end == first + 1 && shown_of(s, s->ranks[first].role) == 1) /* it stands for all of its role */
		to = role->first_rank + role->ranks - 1;
	if (from == to)
		snprintf(out, 64, "rank %" PRId64, from);
	else
		snprintf(out, 64, "ranks %" PRId64 "–%" PRId64, from, to);
	return out;
}

const char *phase_word(const struct timeline *s, size_t position)
{
	enum pass pass = timeline_phase(s, position)->pass;
	return pass == PASS_NONE ? "the step" : pass_name(pass);
}

/* ---- collectives ---- */

void family_words(const struct state *st, char *out, int size)
{
	const struct timeline *s = st->timeline;
	char *ranks;
	collective_words(s, &s->collectives[st->collective], out, size);
	if (st->group_count < 2 || !(ranks = strstr(out, ", ranks ")))
		return;
	snprintf(ranks, (size_t)(out + size - ranks), ", in %d groups", st->group_count);
}

void collective_words(const struct timeline *s, const struct collective *c, char *out, int size)
{
	const struct role *r = plan_role_of(s->plan, c->lead);
	const struct op *op = &r->ops[c->op];
	char group[80] = "", ranks[64], what[OP_WORDS];
	if (op->group >= 0)
		snprintf(what, sizeof what, "%s", group_word(s->plan, op->group));
	else
		payload_words(what, s, r, op);
	if (c->kind == OP_SEND) {
		snprintf(out, (size_t)size, "%.100s from rank %" PRId64 " to %" PRId64, what, c->lead, c->rank[1]);
		return;
	}
	if (c->rank && c->schedule.ranks < s->plan->ranks && s->plan->ranks <= 64) {
		text_of_ranks(ranks, sizeof ranks, c->everyone, 65);
		snprintf(group, sizeof group, ", ranks %s", ranks);
	}
	snprintf(out, (size_t)size, "%s%s of %.100s%s%s", operation_name(op_operation(c->kind)),
	         c->kind == OP_ALL_REDUCE_MAXIMUM ? " (maximum)" : "", what, c->control ? " (control)" : "", group);
}
