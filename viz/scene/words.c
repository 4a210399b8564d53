/* Numbers as they stand in pictures, and names of collectives. */
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

/* ---- collectives ---- */

void collective_words(const struct timeline *s, const struct collective *c, char *out, int size)
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
