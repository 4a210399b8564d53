/* An operation and a rank in words, for the mouse and the keys. */
#include <inttypes.h>
#include <stdio.h>

#include "viz/scene/op_words.h"
#include "viz/scene/scene_parts.h"

void op_explain(const struct timeline *s, int64_t rank, int op, char *out, size_t size)
{
	char words[OP_WORDS], begin[WORD], time[WORD], more[96] = "";
	const struct role *role = plan_role_of(s->plan, rank);
	const struct op *one = &role->ops[op];
	int index = timeline_index_of(s, rank), k = op - role->step.begin;
	op_words(words, s, role, one);
	if (op_class(one->kind) == OP_CLASS_C) {
		char bytes[WORD];
		snprintf(more, sizeof more, ", sends %s", bytes_word(bytes, op_sent_bytes(s->plan, role, one, rank)));
	}
	if (index < 0 || op_class(one->kind) == OP_CLASS_M || s->ranks[index].begin[k] < 0) {
		snprintf(out, size, "%d: %.120s on rank %" PRId64, op, words, rank);
		return;
	}
	snprintf(out, size, "%d: %.120s on rank %" PRId64 ": %s, from %s%s", op, words, rank,
	         time_word(time, s->ranks[index].end[k] - s->ranks[index].begin[k]),
	         time_word(begin, s->ranks[index].begin[k]), more);
}

void rank_explain(const struct state *st, int64_t rank, char *out, size_t size)
{
	char live[WORD], peak[WORD], sent[WORD];
	int index = timeline_index_of(st->timeline, rank);
	out[0] = 0;
	if (index < 0)
		return;
	const struct state_rank *r = &st->ranks[index];
	snprintf(out, size, "rank %" PRId64 ": holds %s (most so far %s), has sent %s in this step", rank,
	         bytes_word(live, r->live[SPACE_DEVICE]), bytes_word(peak, r->peak[SPACE_DEVICE]),
	         bytes_word(sent, r->sent));
}

void rank_hit(const struct state *st, int64_t rank, struct hit *h)
{
	if (rank < 0)
		return;
	h->rank = rank;
	rank_explain(st, rank, h->text, sizeof h->text);
}
