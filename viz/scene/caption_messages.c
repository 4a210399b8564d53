/* The caption of messages: what they carry, and what it comes to at the receiver. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "viz/scene/caption_parts.h"

static int first_chunk(const struct collective *c, const struct event *e)
{
	int last;
	return collective_chunks(c, e, &last);
}

static void say_chunk(struct text *t, const struct collective *c, const struct event *e)
{
	int last, first = collective_chunks(c, e, &last);
	if (c->chunk_count == 1)
		say(t, "the whole buffer");
	else if (first == last)
		say(t, "chunk %d", first);
	else
		say(t, "chunks %d–%d", first, last);
}

static int messages_of(const struct timeline *s, int collective)
{
	int n = 0;
	for (size_t i = 0; i < s->event_count; i++)
		n += s->events[i].kind == EVENT_MESSAGE && s->events[i].collective == collective;
	return n;
}

void say_message(struct text *t, const struct state *st, const struct event *e)
{
	const struct collective *c = &st->timeline->collectives[e->collective];
	char bytes[WORD], ranks[128];
	bytes_word(bytes, e->bytes);
	if (c->control) {
		say(t, "Rank %" PRId64 " %s values from rank %" PRId64 ": %s of control, outside the total.", e->to,
		    e->add ? "adds" : "takes", e->rank, bytes);
		return;
	}
	say(t, "Rank %" PRId64 " %s ", e->to, e->add ? "adds" : "takes");
	say_chunk(t, c, e);
	say(t, " from rank %" PRId64 " (%s)", e->rank, bytes);
	if (e->collective != st->collective || !st->held) {
		say(t, ".");
		return;
	}
	uint64_t held = st->held[e->to_member * c->chunk_count + first_chunk(c, e)];
	if (held == c->everyone)
		snprintf(ranks, sizeof ranks, "all %" PRId64, c->schedule.ranks);
	else
		text_of_ranks(ranks, sizeof ranks, held, 65);
	if (c->kind == OP_SEND)
		say(t, ".");
	else if (c->kind == OP_BROADCAST || c->kind == OP_SCATTER)
		say(t, "; %d of %d messages have arrived.", (int)st->arrived, messages_of(st->timeline, e->collective));
	else if (!collective_adds(c))
		say(t, ": it is rank %s's share.", ranks);
	else if (!strncmp(ranks, "all", 3))
		say(t, ": it now holds the sum of %s ranks, complete.", ranks);
	else
		say(t, ": it now holds the sum of rank%s %s.", strpbrk(ranks, "–,") ? "s" : "", ranks);
}

static int bits(uint64_t v)
{
	int n = 0;
	for (; v; v &= v - 1)
		n++;
	return n;
}

/* The messages of the last step, summed up. */
struct sent {
	size_t count;
	int first_round, last_round, most; /* most: contributions that a receiver holds now */
	int64_t largest;
	bool whole; /* all messages of one round */
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
			int n = bits(st->held[e->to_member * c->chunk_count + first_chunk(c, e)]);
			out.most = n > out.most ? n : out.most;
		}
	}
	for (size_t i = 0; i < s->event_count; i++)
		in_round += s->events[i].kind == EVENT_MESSAGE && s->events[i].collective == first->collective &&
		            s->events[i].round == first->round;
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

/* Several messages that arrive together. */
void say_round(struct text *t, const struct state *st, const struct event *first)
{
	const struct collective *c = &st->timeline->collectives[first->collective];
	struct sent sent = sum_up(st, first);
	char bytes[WORD], what[96];
	collective_words(st->timeline, c, what, sizeof what);
	bytes_word(bytes, sent.largest);
	bool ring = schedule_row(c->schedule.algorithm)->shape == SHAPE_RING;
	if (sent.first_round == sent.last_round)
		say(t, "Round %d of %d of the %s: ", first->round + 1, c->rounds, what);
	else
		say(t, "Rounds %d to %d of %d of the %s: ", sent.first_round + 1, sent.last_round + 1, c->rounds, what);
	if (ring && sent.whole)
		say(t, "every rank passes one chunk (%s) to the next", bytes);
	else if (ring)
		say(t, "%zu ranks pass one chunk (%s) to the next", sent.count, bytes);
	else
		say(t, "%zu messages of up to %s", sent.count, bytes);
	if (c->control || !ring || first->collective != st->collective || !st->held)
		say(t, ".");
	else if (!collective_adds(c))
		say(t, ", which keeps a copy for itself.");
	else if (first->add)
		say(t, ", which adds its own: sums of %d of %" PRId64 " ranks.", sent.most, c->schedule.ranks);
	else
		say(t, ", which replaces its own by the complete sum: %d of %" PRId64 " chunks are complete.",
		    complete_chunks(st, c), c->schedule.ranks * c->chunk_count);
}
