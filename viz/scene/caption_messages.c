/* The caption of messages: what they carry, and what it comes to at the receiver. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/caption_parts.h"

static int first_chunk(const struct collective *c, const struct event *e)
{
	int last;
	return collective_chunks(c, e, &last);
}

static const char *chunk_words(char out[64], const struct collective *c, const struct event *e)
{
	int last, first = collective_chunks(c, e, &last);
	if (c->chunk_count == 1)
		snprintf(out, 64, "%s", tr("the whole buffer"));
	else if (first == last)
		snprintf(out, 64, tr("chunk %d"), first);
	else
		snprintf(out, 64, tr("chunks %d–%d"), first, last);
	return out;
}

static bool is_maximum(const struct collective *c)
{
	return c->kind == OP_ALL_REDUCE_MAXIMUM;
}

static const char *result_of(const struct collective *c)
{
	static const char *const keys[] = {"sum:", NULL}; /* a button is called sum, too */
	return is_maximum(c) ? tr("maximum") : tr_name("sum", keys);
}

static int messages_of(const struct timeline *s, int collective)
{
	int n = 0;
	for (size_t i = 0; i < s->event_count; i++)
		n += s->events[i].kind == EVENT_MESSAGE && s->events[i].collective == collective;
	return n;
}

enum taking { TAKES, KEEPS, ADDS };

/* In full, so that each language has its own order: rank, what, from which rank, bytes. */
static const char *const of_data[] = {
        [TAKES] = "Rank %" PRId64 " takes %s from rank %" PRId64 " (%s)",
        [KEEPS] = "Rank %" PRId64 " keeps the larger of its own and %s from rank %" PRId64 " (%s)",
        [ADDS] = "Rank %" PRId64 " adds %s from rank %" PRId64 " (%s)",
};
static const char *const of_control[] = {
        [TAKES] = "Rank %" PRId64 " takes %s from rank %" PRId64 " (%s of control data, which the totals leave out).",
        [KEEPS] = "Rank %" PRId64 " keeps the larger of its own and %s of rank %" PRId64
                  " (%s of control data, which the totals leave out).",
        [ADDS] = "Rank %" PRId64 " adds %s of rank %" PRId64 " (%s of control data, which the totals leave out).",
};

void say_message(struct text *t, const struct state *st, const struct event *e)
{
	const struct collective *c = &st->timeline->collectives[e->collective];
	char bytes[WORD], ranks[128];
	bytes_word(bytes, e->bytes);
	enum taking how = !e->add ? TAKES : is_maximum(c) ? KEEPS : ADDS;
	if (c->control) {
		const struct role *r = plan_role_of(st->timeline->plan, c->lead);
		char words[OP_WORDS];
		say(t, of_control[how], e->to, buffer_words(words, st->timeline, r, op_buffer(&r->ops[c->op])), e->rank,
		    bytes);
		return;
	}
	if (c->kind == OP_SEND) {
		const struct role *r = plan_role_of(st->timeline->plan, c->lead);
		char words[OP_WORDS];
		say(t, "Rank %" PRId64 " has received %s from rank %" PRId64 " (%s).", e->to,
		    buffer_words(words, st->timeline, r, op_buffer(&r->ops[c->op])), e->rank, bytes);
		return;
	}
	char chunk[64];
	say(t, of_data[how], e->to, chunk_words(chunk, c, e), e->rank, bytes);
	if (e->collective != st->collective || !st->held) {
		say(t, ".");
		return;
	}
	uint64_t held = st->held[e->to_member * c->chunk_count + first_chunk(c, e)];
	if (held == c->everyone)
		snprintf(ranks, sizeof ranks, tr("all %" PRId64), c->schedule.ranks);
	else
		text_of_ranks(ranks, sizeof ranks, held, 65);
	bool from_root = operation_row(op_operation(c->kind))->before == EXTENT_AT_ROOT;
	if (from_root && messages_of(st->timeline, e->collective) == 1)
		say(t, ".");
	else if (from_root)
		say(t, "; %d of %d messages have arrived.", (int)st->arrived, messages_of(st->timeline, e->collective));
	else if (!collective_adds(c))
		say(t, ": it is rank %s's share.", ranks);
	else if (held == c->everyone)
		say(t, ": it now holds the %s of %s ranks, complete.", result_of(c), ranks);
	else
		say(t, ": it now holds the %s of rank%s %s.", result_of(c), strpbrk(ranks, "–,") ? "s" : "", ranks);
}

/* The messages of the last step, summed up. */
struct sent {
	size_t count;
	int first_round, last_round, most; /* most: contributions that a receiver holds now */
	int64_t largest;
	bool whole;      /* all messages of one round */
	bool ends_round; /* the last round is over on all ranks */
};

static struct sent sum_up(const struct state *st, const struct event *first)
{
	const struct timeline *s = st->timeline;
	const struct collective *c = &s->collectives[first->collective];
	struct sent out = {.first_round = first->round, .last_round = first->round};
	size_t in_round = 0;
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_MESSAGE || e->collective != first->collective)
			continue;
		out.count++;
		out.first_round = e->round < out.first_round ? e->round : out.first_round;
		out.last_round = e->round > out.last_round ? e->round : out.last_round;
		out.largest = e->bytes > out.largest ? e->bytes : out.largest;
		if (e->collective == st->collective && st->held) {
			int n = state_contributors(st->held[e->to_member * c->chunk_count + first_chunk(c, e)]);
			out.most = n > out.most ? n : out.most;
		}
	}
	for (size_t i = 0; i < s->event_count; i++)
		in_round += s->events[i].kind == EVENT_MESSAGE && s->events[i].collective == first->collective &&
		            s->events[i].round == first->round;
	out.ends_round = first->collective == st->collective && st->round == out.last_round + 1;
	out.whole = out.first_round == out.last_round && out.count == in_round;
	return out;
}

static int complete_chunks(const struct state *st, const struct collective *c)
{
	int n = 0;
	for (int64_t i = 0; i < c->schedule.ranks * c->chunk_count; i++)
		n += st->held[i] == c->everyone;
	return n;
}

static void say_everyone_has(struct text *t, const char *result, const char *bytes)
{
	if (result)
		say(t, " Now every rank has the complete %s; each has sent %s.", result, bytes);
	else
		say(t, " Now every rank has all of it; each has sent %s.", bytes);
}

/* Says how far ranks are after a round of a ring, if the round is a step of its own. */
static void say_reached(struct text *t, const struct collective *c, int round)
{
	struct formula f;
	char bytes[WORD];
	int left = c->rounds - round;
	ledger_formula(c, &f);
	bytes_word(bytes, f.bytes);
	const struct algorithm *a = schedule_row(c->schedule.algorithm);
	if (a->half && round == a->half(&c->schedule))
		say(t,
		    left == 1 ? " Now each rank owns one finished chunk; the next round only copies."
		              : " Now each rank owns one finished chunk; the next %d rounds only copy.",
		    left);
	else if (!left && c->kind == OP_REDUCE_SCATTER)
		say(t, " Now each rank owns the finished sum of its slice; each has sent %s.", bytes);
	else if (!left && f.of_one)
		say_everyone_has(t, a->half ? result_of(c) : NULL, bytes);
}

/* "rank 4" or "ranks 4 and 5", of the group's places from `first` to `last`. */
static void say_ranks(struct text *t, const struct collective *c, int64_t first, int64_t last)
{
	if (first == last)
		say(t, "rank %" PRId64, c->rank[first]);
	else
		say(t, last == first + 1 ? "ranks %" PRId64 " and %" PRId64 : "ranks %" PRId64 " to %" PRId64,
		    c->rank[first], c->rank[last]);
}

/* Ranks from p on take part in the first and the last round alone. */
static void say_fold(struct text *t, const struct collective *c, int64_t p, bool first, const char *bytes)
{
	int64_t n = c->schedule.ranks;
	if (first)
		say(t, "%" PRId64 " ranks are no power of two, so ", n);
	say_ranks(t, c, p, n - 1);
	say(t, first ? " first hand%s all they have (%s) to " : " get%s the finished buffer (%s) from ",
	    n - p == 1 ? "s" : "", bytes);
	say_ranks(t, c, 0, n - p - 1);
}

/* Recursive halving, or halving and then doubling (strategy/collective/halving_doubling.c). */
static void say_pairs(struct text *t, const struct collective *c, const struct sent *sent, bool adds)
{
	int64_t n = c->schedule.ranks, p = 1;
	char bytes[WORD];
	bytes_word(bytes, sent->largest);
	while (2 * p <= n)
		p *= 2;
	if (p < n && (sent->first_round == 0 || sent->first_round == c->rounds - 1))
		say_fold(t, c, p, sent->first_round == 0, bytes);
	else if (adds)
		say(t,
		    is_maximum(c) ? "in pairs, ranks give away half of what they work on (%s) and compare the half "
		                    "that they get"
		                  : "in pairs, ranks give away half of what they work on (%s) and add the half that "
		                    "they get",
		    bytes);
	else
		say(t, "in pairs, ranks copy to each other what they have finished (%s)", bytes);
}

static void say_who_sends(struct text *t, const struct collective *c, const struct sent *sent, bool adds)
{
	char bytes[WORD];
	const struct algorithm *a = schedule_row(c->schedule.algorithm);
	bool ring = a->shape == SHAPE_RING;
	bytes_word(bytes, sent->largest);
	if (a->halves && a->halves(&c->schedule) && sent->whole)
		say_pairs(t, c, sent, adds);
	else if (ring && sent->whole)
		say(t, "every rank passes one chunk (%s) to the next", bytes);
	else if (ring)
		say(t, "%zu rank%s one chunk (%s) to the next", sent->count, sent->count == 1 ? " passes" : "s pass",
		    bytes);
	else
		say(t, "%zu messages of up to %s", sent->count, bytes);
}

/* Says what becomes of the chunks of a ring that is drawn. */
static void say_chunks(struct text *t, const struct state *st, const struct collective *c, const struct sent *sent,
                       bool adds)
{
	int64_t chunks = c->schedule.ranks * c->chunk_count, done = complete_chunks(st, c);
	if (!collective_adds(c))
		say(t, ", which keeps a copy for itself");
	else if (adds)
		say(t,
		    is_maximum(c) ? ", which keeps the larger: maxima of %d of %" PRId64 " ranks"
		                  : ", which adds its own: sums of %d of %" PRId64 " ranks",
		    sent->most, c->schedule.ranks);
	else
		say(t, ", which replaces its own by the complete %s", result_of(c));
	if (collective_adds(c) && !adds && done < chunks)
		say(t, ": %" PRId64 " of %" PRId64 " chunks are complete", done, chunks);
}

/* Several messages that arrive together. */
void say_round(struct text *t, const struct state *st, const struct event *first)
{
	const struct collective *c = &st->timeline->collectives[first->collective];
	struct sent sent = sum_up(st, first);
	char what[COLLECTIVE_WORDS];
	bool ring = schedule_row(c->schedule.algorithm)->shape == SHAPE_RING;
	bool drawn = !c->control && first->collective == st->collective && st->held;
	collective_words(st->timeline, c, what, sizeof what);
	if (c->family == st->collective)
		family_words(st, what, sizeof what);
	if (sent.first_round == sent.last_round)
		say(t, "Round %d of %d of the %s: ", first->round + 1, c->rounds, what);
	else
		say(t, "Rounds %d to %d of %d of the %s: ", sent.first_round + 1, sent.last_round + 1, c->rounds, what);
	say_who_sends(t, c, &sent, first->add);
	if (drawn && ring)
		say_chunks(t, st, c, &sent, first->add);
	say(t, ".");
	if (drawn && sent.ends_round)
		say_reached(t, c, sent.last_round + 1);
}
