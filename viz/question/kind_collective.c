/* Questions about a whole collective: its rounds, its bytes, and whether computing hides it. */
#include <inttypes.h>

#include "strategy/base/language.h"
#include "viz/question/question_parts.h"

/* ---- the rounds that are left ---- */

static bool adds_in(const struct collective *c, int round)
{
	for (int64_t member = 0; member < c->schedule.ranks; member++) {
		struct round r = schedule_round(&c->schedule, member, round);
		if (r.receive_from >= 0 && r.add)
			return true;
	}
	return false;
}

/* From this round on it only copies what was added up before. */
static bool turns(const struct collective *c, int round)
{
	if (!round || !adds_in(c, round - 1))
		return false;
	for (int later = round; later < c->rounds; later++)
		if (adds_in(c, later))
			return false;
	return true;
}

/* All messages of the rounds before have arrived, and none of this one. */
static bool begins_round(const struct spot *at, const struct event *e)
{
	const struct collective *c = &at->s->collectives[e->collective];
	size_t here = at->s->instants[at->position].begin;
	for (size_t i = c->first_event; i < c->end_event; i++) {
		const struct event *m = &at->s->events[i];
		if (m->kind == EVENT_MESSAGE && m->collective == e->collective &&
		    (i < here ? m->round >= e->round : m->round < e->round))
			return false;
	}
	return true;
}

static void offer_rounds(struct question *q, int rounds, const char *what)
{
	offer(q, "%d round%s: %s", rounds, rounds == 1 ? "" : "s", tr(what));
}

static bool make_left(const struct spot *at, struct question *q)
{
	const struct event *e = at->message;
	const struct collective *c = e ? &at->s->collectives[e->collective] : NULL;
	static const char adds[] = "more contributions are added", copies[] = "finished sums are only copied";
	char words[OP_WORDS];
	if (!e || c->control || !turns(c, e->round) || !begins_round(at, e))
		return false;
	int done = e->round, left = c->rounds - done, n = (int)c->schedule.ranks;
	bool ring = schedule_row(c->schedule.algorithm)->shape == SHAPE_RING;
	ask(q->text, "%d round%s of %s over %d ranks %s over. How many are left, and what is done in them?", done,
	    done == 1 ? "" : "s", collective_of(words, at->s, c), n, done == 1 ? "is" : "are");
	offer_rounds(q, left, copies);
	offer_rounds(q, left, adds);
	offer_rounds(q, left + 1, copies);
	offer_rounds(q, c->rounds, adds);
	offer(q, "none: it is done");
	if (ring)
		ask(q->reason,
		    "A ring takes 2 · (%d − 1) = %d rounds: in %d each rank collects one finished chunk, and in the "
		    "other %d "
		    "the finished chunks go round.",
		    n, c->rounds, done, left);
	else
		ask(q->reason,
		    "It takes %d rounds over %d ranks: in %d the sums are made, in the other %d they are passed on.",
		    c->rounds, n, done, left);
	q->rank = e->rank;
	return shuffle(q, at->seed);
}

const struct question_row question_LEFT = {
        .make = make_left, .scene = SCENE_RING, .look = "what a chunk does where it arrives"};

/* ---- bytes ---- */

/* The collective that begins next on the communication queue; NULL: none that counts. */
static const struct collective *begins_next(const struct spot *at)
{
	const struct event *e = at->begin;
	int c = e && e->queue == QUEUE_COMMUNICATION ? timeline_collective_of(at->s, e->index, e->op) : -1;
	return c >= 0 && !at->s->collectives[c].control ? &at->s->collectives[c] : NULL;
}

static int64_t sent_at(const struct timeline *s, int index, size_t position)
{
	struct state st = {0};
	state_make(&st, s, STEP_SIZE_ROUND, position);
	int64_t sent = st.ranks[index].sent;
	state_release(&st);
	return sent;
}

/* The first stop at which a collective is done. */
static size_t stop_after(const struct timeline *s, const struct collective *c)
{
	size_t position = timeline_position_at(s, c->end), k = timeline_stop_of(s, STEP_SIZE_ROUND, position);
	if (timeline_stop(s, STEP_SIZE_ROUND, k) < position)
		k++;
	return timeline_stop(s, STEP_SIZE_ROUND, k);
}

static void say_formula(struct question *q, const struct collective *c, int64_t sent)
{
	const struct algorithm *a = schedule_row(c->schedule.algorithm);
	char whole[BYTES], bytes[BYTES];
	bytes_of(whole, c->schedule.elements * c->element_bytes);
	bytes_of(bytes, sent);
	if (a->symmetric && c->kind != OP_SEND)
		ask(q->reason, "In it each rank sends %s; with n = %" PRId64 " and S = %s that is %s.", a->formula,
		    c->schedule.ranks, whole, bytes);
	else
		ask(q->reason, "In it rank %" PRId64 " sends %s.", q->rank, bytes);
}

static bool make_sent(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	const struct collective *c = begins_next(at);
	char words[OP_WORDS], whole[BYTES], bytes[BYTES];
	if (!c)
		return false;
	int index = at->begin->index;
	const struct role *r = timeline_role_of(s, index);
	int64_t own = op_sent_bytes(s->plan, r, &r->ops[at->begin->op], at->begin->rank);
	int64_t before = own ? sent_at(s, index, at->position) : 0;
	q->shown = stop_after(s, c);
	q->rank = at->begin->rank;
	if (!own || sent_at(s, index, q->shown) != before + own)
		return false;
	q->number = (double)(before + own);
	q->unit = ANSWER_BYTES;
	ask(q->text, "Rank %" PRId64 " has sent %s in this step so far. Next is %s, ", q->rank,
	    before ? bytes_of(bytes, before) : tr("nothing"), collective_of(words, s, c));
	ask(q->text, "%s by %s", bytes_of(whole, c->schedule.elements * c->element_bytes),
	    c->kind == OP_SEND ? tr("a message") : schedule_row(c->schedule.algorithm)->name);
	if (c->kind != OP_SEND)
		ask(q->text, " over %" PRId64 " ranks", c->schedule.ranks);
	ask(q->text, ". How much will rank %" PRId64 " have sent when it is done?", q->rank);
	say_formula(q, c, own);
	if (before)
		ask(q->reason, " With the %s before it has sent %s.", bytes_of(bytes, before),
		    bytes_of(whole, before + own));
	return true;
}

const struct question_row question_SENT = {
        .make = make_sent, .scene = SCENE_RING, .look = "the ledger's total", .late = true};

/* ---- exposed or hidden ---- */

static int64_t computes_within(const struct timeline *s, int index, int64_t from, int64_t to)
{
	const struct timeline_rank *r = &s->ranks[index];
	const struct role *role = timeline_role_of(s, index);
	int64_t sum = 0;
	for (int k = 0; k < role->step.end - role->step.begin; k++) {
		if (role->ops[role->step.begin + k].queue != QUEUE_COMPUTE || r->begin[k] < 0)
			continue;
		int64_t a = r->begin[k] > from ? r->begin[k] : from, b = r->end[k] < to ? r->end[k] : to;
		sum += b > a ? b - a : 0;
	}
	return sum;
}

static void say_exposed(struct question *q, int64_t busy, int64_t lasts)
{
	char time[BYTES], part[BYTES], rest[BYTES];
	time_of(time, lasts);
	if (!busy) {
		ask(q->reason,
		    "It moves data for %s, and rank %" PRId64
		    " computes nothing in that time: the step is longer by it.",
		    time, q->rank);
		return;
	}
	ask(q->reason, "It moves data for %s. Rank %" PRId64 " computes for %s of that (%.0f %%)", time, q->rank,
	    time_of(part, busy), 100 * (double)busy / (double)lasts);
	if (busy < lasts)
		ask(q->reason, ": for %s it stands still.", time_of(rest, lasts - busy));
	else
		ask(q->reason, ": it costs the step no time.");
}

static bool make_exposed(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	const struct collective *c = begins_next(at);
	char words[OP_WORDS];
	int64_t lasts = c && c->kind != OP_SEND ? c->end - c->came : 0;
	if (lasts <= 0 || !s->shown[at->begin->index].compute)
		return false;
	int64_t busy = computes_within(s, at->begin->index, c->came, c->end);
	double part = (double)busy / (double)lasts;
	static const char *const answers[] = {"hidden", "exposed", "partly exposed"};
	static const char *const what[] = {"computes all the while", "computes nothing meanwhile",
	                                   "computes for a part of it"};
	enum { KINDS = sizeof answers / sizeof answers[0] };
	if ((part > 0.02 && part < 0.1) || (part > 0.9 && part < 0.98)) /* no clear case */
		return false;
	int right = part >= 0.98 ? 0 : part <= 0.02 ? 1 : 2;
	q->rank = at->begin->rank;
	ask(q->text, "Next is %s. Does it hide behind computing on rank %" PRId64 ", or is it exposed?",
	    collective_of(words, s, c), q->rank);
	for (int i = 0; i < KINDS; i++)
		offer(q, "%s: rank %" PRId64 " %s", tr(answers[(right + i) % KINDS]), q->rank,
		      tr(what[(right + i) % KINDS]));
	say_exposed(q, busy, lasts);
	return shuffle(q, at->seed);
}

const struct question_row question_EXPOSED = {
        .make = make_exposed, .scene = SCENE_TIMELINE, .look = "the compute lane above it"};
