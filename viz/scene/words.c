/* Numbers as they stand in pictures, and names of collectives. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "viz/scene/scene.h"
#include "viz/timeline/op_words.h"

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

struct ranks ranks_meant(const struct timeline *s, int first, int end)
{
	const struct role *role = timeline_role_of(s, first);
	struct ranks out = {s->ranks[first].rank, s->ranks[end - 1].rank};
	if (end == first + 1 && shown_of(s, s->ranks[first].role) == 1) /* it stands for all of its role */
		out.last = role->first_rank + role->ranks - 1;
	return out;
}

const char *ranks_word(char *out, const struct timeline *s, int first, int end)
{
	struct ranks r = ranks_meant(s, first, end);
	if (r.first == r.last)
		snprintf(out, 64, tr("rank %" PRId64), r.first);
	else
		snprintf(out, 64, tr("ranks %" PRId64 "–%" PRId64), r.first, r.last);
	return out;
}

const char *phase_word(const struct timeline *s, size_t position)
{
	enum pass pass = timeline_phase(s, position)->pass;
	return tr(pass == PASS_NONE ? "the step" : tr(pass_name(pass)));
}

/* ---- collectives ---- */

/* among: words for the ranks; NULL: they are named. */
static void name_collective(const struct timeline *s, const struct collective *c, const char *among, char *out,
                            int size)
{
	const struct role *r = plan_role_of(s->plan, c->lead);
	const struct op *op = &r->ops[c->op];
	char group[80] = "", ranks[64], what[OP_WORDS];
	if (op->group >= 0)
		snprintf(what, sizeof what, "%s", group_word(s->plan, op->group));
	else
		payload_words(what, s, r, op);
	if (c->kind == OP_SEND) {
		snprintf(out, (size_t)size, tr("%.100s from rank %" PRId64 " to %" PRId64), what, c->lead, c->rank[1]);
		return;
	}
	if (c->rank && c->schedule.ranks < s->plan->ranks && s->plan->ranks <= 64) {
		text_of_ranks(ranks, sizeof ranks, c->everyone, 65);
		snprintf(group, sizeof group, tr(", ranks %s"), ranks);
	}
	snprintf(out, (size_t)size, tr("%s%s of %.100s%s%s"), tr(operation_name(op_operation(c->kind))),
	         c->kind == OP_ALL_REDUCE_MAXIMUM ? tr(" (maximum)") : "", what, c->control ? tr(" (control)") : "",
	         *group && among ? among : group);
	language_space(out, (size_t)size);
}

void collective_words(const struct timeline *s, const struct collective *c, char *out, int size)
{
	name_collective(s, c, NULL, out, size);
}

void family_words(const struct state *st, char *out, int size)
{
	const struct timeline *s = st->timeline;
	char groups[64];
	snprintf(groups, sizeof groups, tr(", in %d groups"), st->group_count);
	name_collective(s, &s->collectives[st->collective], st->group_count > 1 ? groups : NULL, out, size);
}
