/* An operation and a rank in words, for the mouse and the keys. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/op_words.h"

/* "1.622 s, waits 1.618 s for rank 0, then moves data for 3.9 ms" */
static void say_time(const struct timeline *s, int index, int op, char *out, size_t size)
{
	struct wait w = timeline_wait(s, index, op);
	int64_t end = s->ranks[index].end[op - timeline_role_of(s, index)->step.begin];
	char time[WORD], waited[WORD], moves[WORD], whom[64];
	time_word(time, end - w.begin);
	if (w.end == w.begin) {
		snprintf(out, size, "%s", time);
		return;
	}
	wait_words(whom, sizeof whom, tr("for"), w.rank);
	snprintf(out, size, tr("%s, waits %s %s, then moves data for %s"), time, time_word(waited, w.end - w.begin),
	         whom, time_word(moves, end - w.end));
}

void op_explain(const struct timeline *s, int64_t rank, int op, char *out, size_t size)
{
	char words[OP_WORDS], begin[WORD], time[160], more[SPEED_WORDS + 96] = "", rate[SPEED_WORDS];
	struct speed speed;
	const struct role *role = plan_role_of(s->plan, rank);
	const struct op *one = &role->ops[op];
	int index = timeline_index_of(s, rank), k = op - role->step.begin;
	op_words(words, s, role, one);
	if (op_class(one->kind) == OP_CLASS_C) {
		char bytes[WORD];
		snprintf(more, sizeof more, tr(", sends %s"),
		         bytes_word(bytes, op_sent_bytes(s->plan, role, one, rank)));
	}
	if (index < 0 || op_class(one->kind) == OP_CLASS_M || s->ranks[index].begin[k] < 0) {
		snprintf(out, size, tr("%d: %.120s on rank %" PRId64), op, words, rank);
		return;
	}
	say_time(s, index, op, time, sizeof time);
	if (speed_of_op(s, index, op, &speed)) {
		size_t at = strlen(more);
		snprintf(more + at, sizeof more - at, "; %s", speed_words_brief(rate, &speed));
	}
	snprintf(out, size, tr("%d: %.120s on rank %" PRId64 ": %s, from %s%s"), op, words, rank, time,
	         time_word(begin, timeline_wait(s, index, op).begin), more);
}

void rank_explain(const struct state *st, int64_t rank, char *out, size_t size)
{
	char live[WORD], peak[WORD], sent[WORD];
	int index = timeline_index_of(st->timeline, rank);
	out[0] = 0;
	if (index < 0)
		return;
	const struct state_rank *r = &st->ranks[index];
	snprintf(out, size, tr("rank %" PRId64 ": holds %s (most so far %s), has sent %s in this step"), rank,
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
