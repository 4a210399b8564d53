/* Questions about one message of a round: which chunk goes to whom, and what it comes to there. */
#include <inttypes.h>
#include <math.h>

#include "viz/question/question_parts.h"
#include "viz/timeline/values.h"

/* One message of the next step, of the collective that its first message belongs to; NULL: it has none that says
 * anything about chunks. */
static const struct event *message_of(const struct spot *at, bool adds)
{
	const struct timeline *s = at->s;
	const struct event *found = NULL;
	unsigned count = 0;
	if (!at->message || s->collectives[at->message->collective].control ||
	    s->collectives[at->message->collective].kind == OP_SEND)
		return NULL;
	for (int pass = 0; pass < 2; pass++) {
		unsigned number = 0;
		for (size_t i = s->instants[at->position].begin; i < s->instants[at->next - 1].end; i++) {
			const struct event *e = &s->events[i];
			if (e->kind != EVENT_MESSAGE || e->collective != at->message->collective || (adds && !e->add))
				continue;
			if (pass && number == at->seed % count)
				found = e;
			number++;
		}
		count = number;
		if (!count)
			return NULL;
	}
	return found;
}

static void ask_round(const struct spot *at, const struct event *e, struct question *q)
{
	const struct collective *c = &at->s->collectives[e->collective];
	char words[OP_WORDS];
	q->rank = e->rank;
	ask(q->text, "Round %d of %d of %s comes next.", e->round + 1, c->rounds, collective_of(words, at->s, c));
}

static bool carries(const struct collective *c, const struct event *e, int *first, int *count)
{
	int last;
	*first = collective_chunks(c, e, &last);
	*count = last - *first + 1;
	return c->chunk_count > *count;
}

/* ---- which chunk ---- */

static void offer_chunks(struct question *q, int first, int count)
{
	if (count == 1)
		offer(q, "chunk %d", first);
	else
		offer(q, "chunks %d–%d", first, first + count - 1);
}

/* The message by which the sender came to have what it sends; NULL: it had it from the beginning. */
static const struct event *came_by(const struct timeline *s, const struct event *e)
{
	const struct collective *c = &s->collectives[e->collective];
	for (size_t i = c->first_event; i < c->end_event; i++) {
		const struct event *m = &s->events[i];
		if (m->kind == EVENT_MESSAGE && m->collective == e->collective && m->round == e->round - 1 &&
		    m->to_member == e->member && m->offset == e->offset && m->count == e->count)
			return m;
	}
	return NULL;
}

/* Does the sender have no other chunk from the beginning? */
static bool has_nothing_else(const struct timeline *s, const struct event *e)
{
	const struct collective *c = &s->collectives[e->collective];
	for (int k = 0; k < c->chunk_count; k++)
		if (state_initially(c, e->member, k) && (c->cuts[k] < e->offset || c->cuts[k] >= e->offset + e->count))
			return false;
	return e->round == 0;
}

static bool make_chunk(const struct spot *at, struct question *q)
{
	const struct event *e = message_of(at, false), *came;
	int first, count;
	char bytes[BYTES];
	if (!e || !carries(&at->s->collectives[e->collective], e, &first, &count))
		return false;
	came = came_by(at->s, e);
	if (!came && !has_nothing_else(at->s, e))
		return false; /* with which chunk it begins is a convention, and could only be guessed */
	int all = at->s->collectives[e->collective].chunk_count;
	ask_round(at, e, q);
	ask(q->text, " Which of the %d chunks does rank %" PRId64 " send?", all, e->rank);
	offer_chunks(q, first, count);
	for (int by = 1; all % count == 0 && by < all / count; by++)
		if (q->choice_count < QUESTION_CHOICES - (all == 2))
			offer_chunks(q, (first + (by % 2 ? (by + 1) / 2 : all / count - by / 2) * count) % all, count);
	if (q->choice_count < QUESTION_CHOICES)
		offer(q, all == 2 ? "both chunks" : "all %d chunks", all);
	ask(q->reason, "Rank %" PRId64 " sends %s (%s) to rank %" PRId64, e->rank, q->choice[0],
	    bytes_of(bytes, e->bytes), e->to);
	if (came)
		ask(q->reason, ": it is what came from rank %" PRId64 " in the round before.", came->rank);
	else
		ask(q->reason, e->round ? "." : ": in the first round it has nothing else.");
	return shuffle(q, at->seed);
}

const struct question_row question_CHUNK = {
        .make = make_chunk, .scene = SCENE_RING, .look = "the chunks on their way between the ranks"};

/* ---- to whom ---- */

static bool make_receiver(const struct spot *at, struct question *q)
{
	const struct event *e = message_of(at, false);
	const struct collective *c = e ? &at->s->collectives[e->collective] : NULL;
	if (!e || c->schedule.ranks < 3)
		return false;
	int64_t n = c->schedule.ranks;
	ask_round(at, e, q);
	ask(q->text, " To which rank does rank %" PRId64 " send?", e->rank);
	offer(q, "rank %" PRId64, e->to);
	for (int64_t by = 1; by < n; by++) {
		int64_t one = c->rank[(e->member + (by % 2 ? n - (by + 1) / 2 : by / 2)) % n];
		if (one != e->rank && q->choice_count < QUESTION_CHOICES - 1)
			offer(q, "rank %" PRId64, one);
	}
	offer(q, "all others, one after another");
	ask(q->reason, "Rank %" PRId64 " sends to rank %" PRId64, e->rank, e->to);
	if (schedule_row(c->schedule.algorithm)->shape == SHAPE_RING)
		ask(q->reason, " in every round: in a ring each rank sends to the next, and the last to the first.");
	else
		ask(q->reason, " in round %d of %d.", e->round + 1, c->rounds);
	return shuffle(q, at->seed);
}

const struct question_row question_RECEIVER = {
        .make = make_receiver, .scene = SCENE_RING, .look = "the arrows between the ranks"};

/* ---- whose contributions ---- */

/* The contributions that the receiver holds of the message's first chunk at a position; 0: they are not known. */
static uint64_t held_by_receiver(const struct spot *at, const struct event *e, size_t position)
{
	const struct collective *c = &at->s->collectives[e->collective];
	struct state st = {0};
	uint64_t held = 0;
	int last;
	state_make(&st, at->s, STEP_SIZE_ROUND, position);
	for (int i = 0; i < st.group_count; i++)
		if (st.groups[i].collective == e->collective && st.groups[i].held)
			held = st.groups[i].held[e->to_member * c->chunk_count + collective_chunks(c, e, &last)];
	state_release(&st);
	return held;
}

/* The set of places in the group that a set of ranks is, each one further along it. */
static uint64_t moved_on(const struct collective *c, uint64_t set, int64_t by)
{
	uint64_t out = 0;
	for (int64_t i = 0; i < c->schedule.ranks; i++)
		if (set >> c->rank[i] & 1)
			out |= UINT64_C(1) << c->rank[(i + by) % c->schedule.ranks];
	return out;
}

static bool make_holds(const struct spot *at, struct question *q)
{
	const struct event *e = message_of(at, true);
	const struct collective *c = e ? &at->s->collectives[e->collective] : NULL;
	if (!e || !collective_adds(c) || c->schedule.ranks > VALUES_RANKS || c->kind == OP_ALL_REDUCE_MAXIMUM)
		return false;
	uint64_t held = held_by_receiver(at, e, at->next), own = UINT64_C(1) << e->to;
	int last, first = collective_chunks(c, e, &last);
	char ranks[RANKS], whole[RANKS];
	if (!held || held == own)
		return false;
	ask_round(at, e, q);
	if (c->chunk_count > 1)
		ask(q->text,
		    " Rank %" PRId64 " receives chunk %d from rank %" PRId64
		    " and adds its own. Whose contributions does it hold then?",
		    e->to, first, e->rank);
	else
		ask(q->text,
		    " Rank %" PRId64 " receives from rank %" PRId64
		    " and adds its own. Whose contributions does it hold then?",
		    e->to, e->rank);
	q->rank = e->to;
	offer(q, "%s", ranks_of(ranks, held, c->everyone));
	offer(q, "%s", ranks_of(ranks, held & ~own, c->everyone));
	offer(q, "%s", ranks_of(ranks, own, c->everyone));
	offer(q, "%s", ranks_of(ranks, moved_on(c, held, 1), c->everyone));
	offer(q, "%s", ranks_of(ranks, c->everyone, c->everyone));
	ask(q->reason, "What arrives has the contributions of %s; with that of rank %" PRId64 " it is the sum of %s.",
	    ranks_of(ranks, held & ~own, c->everyone), e->to, ranks_of(whole, held, c->everyone));
	return shuffle(q, at->seed);
}

const struct question_row question_HOLDS = {
        .make = make_holds, .scene = SCENE_RING, .look = "the segments of that chunk"};

/* ---- 3 + 5 ---- */

static bool exchange_of(const struct spot *at, const struct event *e, struct exchange *out, int *power)
{
	struct state st = {0};
	struct values v = {0};
	bool found = false;
	state_make(&st, at->s, STEP_SIZE_ROUND, at->next);
	for (int i = 0; i < st.group_count && !found; i++)
		if (st.groups[i].collective == e->collective) {
			values_make(&v, &st, &st.groups[i]);
			*out = *values_exchange(&v, &at->s->collectives[e->collective], e);
			*power = v.power;
			found = true;
			values_release(&v);
		}
	state_release(&st);
	return found && !isnan(out->had) && !isnan(out->came);
}

/* Then the digits that are written do not give the sum. */
static bool cancels(const struct exchange *x)
{
	return fabs(x->has) < 0.1 * fmax(fabs(x->had), fabs(x->came));
}

static void say_exchange(struct question *q, const struct exchange *x)
{
	char words[EXCHANGE_WORD], came[VALUE_WORD], had[VALUE_WORD];
	if (x->maximum && x->adds)
		ask(q->reason, "The larger of the two is kept: %s.", exchange_word(words, x));
	else if (x->adds)
		ask(q->reason, "What comes is added to what is there: %s.", exchange_word(words, x));
	else
		ask(q->reason, "This round only copies: %s is a finished sum, and takes the place of %s.",
		    value_word(came, x->came), value_word(had, x->had));
}

static bool make_value(const struct spot *at, struct question *q)
{
	const struct event *e = message_of(at, false);
	const struct collective *c = e ? &at->s->collectives[e->collective] : NULL;
	struct exchange x;
	char had[VALUE_WORD], came[VALUE_WORD], units[POWER_WORD];
	int power, last;
	if (!e || !values_shown(at->s, c) || !exchange_of(at, e, &x, &power) || cancels(&x))
		return false;
	value_word(had, x.had);
	value_word(came, x.came);
	ask_round(at, e, q);
	ask(q->text,
	    " In chunk %d, rank %" PRId64 " has %s, and rank %" PRId64
	    " sends it %s%s. Which number does it have then?",
	    collective_chunks(c, e, &last), e->to, had, e->rank, came, power_word(units, power));
	q->rank = e->to;
	q->number = x.has;
	q->unit = ANSWER_NUMBER;
	say_exchange(q, &x);
	return true;
}

const struct question_row question_VALUE = {
        .make = make_value, .scene = SCENE_RING, .look = "the number in that chunk"};
