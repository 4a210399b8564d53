/* Questions about the order of things: which pass or collective is next, what must be done first, who is waited for. */
#include <inttypes.h>

#include "strategy/trace/bubble.h"
#include "viz/question/question_parts.h"

/* ---- the next pass over a micro-batch ---- */

struct micro_pass {
	char letter; /* F or B; 0: it is none */
	int micro;
};

static struct micro_pass micro_pass_of(const struct op *op)
{
	struct micro_pass none = {0, -1};
	if (op->queue != QUEUE_COMPUTE || op->micro < 0 || op_class(op->kind) == OP_CLASS_M)
		return none;
	if (op->pass == PASS_FORWARD)
		return (struct micro_pass){'F', op->micro};
	return op->pass == PASS_BACKWARD || op->pass == PASS_RECOMPUTE ? (struct micro_pass){'B', op->micro} : none;
}

static bool same_pass(struct micro_pass a, struct micro_pass b)
{
	return a.letter == b.letter && a.micro == b.micro;
}

/* The pass before operation `op` of a role that is another one; none: there is none. */
static struct micro_pass pass_before(const struct role *r, int op, struct micro_pass now)
{
	struct micro_pass before = {0, -1};
	for (int i = op - 1; i >= r->step.begin; i--) {
		before = micro_pass_of(&r->ops[i]);
		if (before.letter)
			return same_pass(before, now) ? (struct micro_pass){0, -1} : before;
	}
	return before;
}

/* The passes of a role in its order, and how many forward passes are at most without their backward pass. */
static int say_passes(struct question *q, const struct role *r)
{
	enum { LISTED = 10 };
	struct micro_pass last = {0, -1};
	int count = 0, open = 0, most = 0;
	for (int i = r->step.begin; i < r->step.end; i++) {
		struct micro_pass p = micro_pass_of(&r->ops[i]);
		if (!p.letter || same_pass(p, last))
			continue;
		last = p;
		open += p.letter == 'F' ? 1 : -1;
		most = open > most ? open : most;
		if (count++ < LISTED)
			ask(q->reason, "%s%c%d", count > 1 ? " " : "", p.letter, p.micro);
	}
	if (count > LISTED)
		ask(q->reason, " …");
	return most;
}

static void offer_pass(struct question *q, char letter, int micro, int64_t count)
{
	if (micro >= 0 && micro < count)
		offer(q, "%c%d", letter, micro);
}

static bool make_pass(const struct spot *at, struct question *q)
{
	const struct event *e = at->begin;
	const struct timeline *s = at->s;
	int64_t micros = s->plan->settings.accumulate;
	if (micros < 2 || !e)
		return false;
	const struct role *r = timeline_role_of(s, e->index);
	struct micro_pass next = micro_pass_of(&r->ops[e->op]),
	                  before = next.letter ? pass_before(r, e->op, next) : (struct micro_pass){0, -1};
	if (!before.letter || before.letter == next.letter)
		return false;
	struct bubble b = s->bubble;
	q->rank = e->rank;
	ask(q->text, "F2 is the forward pass of micro-batch 2, B0 the backward pass of micro-batch 0. Rank %" PRId64,
	    e->rank);
	if (b.stages > 1)
		ask(q->text, ", one of %" PRId64 " stages,", b.stages);
	ask(q->text, " has made %c%d, of %" PRId64 " micro-batches. Which pass does it make next?", before.letter,
	    before.micro, micros);
	offer_pass(q, next.letter, next.micro, micros);
	offer_pass(q, before.letter, before.micro + 1, micros);
	offer_pass(q, next.letter, next.micro + 1, micros);
	offer_pass(q, before.letter == 'F' ? 'B' : 'F', before.micro, micros);
	offer_pass(q, 'B', (int)micros - 1, micros);
	offer_pass(q, 'F', (int)micros - 1, micros);
	offer_pass(q, 'F', 0, micros);
	ask(q->reason, "The passes of rank %" PRId64 " in order: ", e->rank);
	int most = say_passes(q, r);
	ask(q->reason, ". So it keeps the activations of at most %d micro-batch%s at a time.", most,
	    most == 1 ? "" : "es");
	return shuffle(q, at->seed);
}

const struct question_row question_PASS = {
        .make = make_pass, .scene = SCENE_TIMELINE, .look = "the rank's compute lane"};

/* ---- what comes next on the communication queue ---- */

static bool communicates(const struct timeline *s, int index, int op)
{
	int c = timeline_collective_of(s, index, op);
	return c >= 0 && !s->collectives[c].control;
}

static bool make_next(const struct spot *at, struct question *q)
{
	const struct event *e = at->begin;
	const struct timeline *s = at->s;
	if (!e || e->queue != QUEUE_COMMUNICATION || !communicates(s, e->index, e->op))
		return false;
	const struct role *r = timeline_role_of(s, e->index);
	int before = -1;
	char words[OP_WORDS];
	for (int i = e->op - 1; i >= r->step.begin && before < 0; i--)
		before = communicates(s, e->index, i) ? i : -1;
	if (before < 0)
		return false;
	q->rank = e->rank;
	ask(q->text, "The communication of rank %" PRId64 " goes on, after %s. With what?", e->rank,
	    op_words(words, s, r, &r->ops[before]));
	offer(q, "%s", op_words(words, s, r, &r->ops[e->op]));
	for (int by = 1; by < r->step.end - r->step.begin; by++)
		for (int sign = -1; sign <= 1; sign += 2) {
			int i = e->op - sign * by;
			if (i >= r->step.begin && i < r->step.end && i != before && communicates(s, e->index, i))
				offer(q, "%s", op_words(words, s, r, &r->ops[i]));
		}
	int cause = last_needed(s, e->index, e->op);
	ask(q->reason, "Next is %s", op_words(words, s, r, &r->ops[e->op]));
	if (cause >= 0)
		ask(q->reason, ", which waited for %s", op_words_beside(words, s, r, &r->ops[cause], &r->ops[e->op]));
	ask(q->reason, ". A rank has one communication queue, in the order of its plan.");
	return shuffle(q, at->seed);
}

const struct question_row question_NEXT = {.make = make_next, .scene = SCENE_RING, .look = "which collective begins"};

/* ---- what must be done first ---- */

/* The operation that an idle queue, or a collective that begins, has waited for; -1: none. */
static int needed_by(const struct spot *at, const struct event **who)
{
	const struct timeline *s = at->s;
	*who = at->idle;
	if (*who) {
		int cause = last_needed(s, (*who)->index, (*who)->op);
		int begin = timeline_role_of(s, (*who)->index)->step.begin;
		return cause >= 0 && s->ranks[(*who)->index].end[cause - begin] > (*who)->time ? cause : -1;
	}
	*who = at->begin;
	if (!*who || (*who)->queue != QUEUE_COMMUNICATION || !communicates(s, (*who)->index, (*who)->op))
		return -1;
	return last_needed(s, (*who)->index, (*who)->op);
}

/* Operations that begin later cannot be needed by it: the nearest of them. */
static void offer_later(struct question *q, const struct timeline *s, int index, int op)
{
	const struct role *r = timeline_role_of(s, index);
	const struct timeline_rank *rank = &s->ranks[index];
	int64_t begin = rank->begin[op - r->step.begin];
	char words[OP_WORDS];
	for (int by = 1; by < r->step.end - r->step.begin; by++)
		for (int sign = -1; sign <= 1; sign += 2) {
			int i = op + sign * by;
			if (i >= r->step.begin && i < r->step.end && rank->begin[i - r->step.begin] >= begin)
				offer(q, "%s", op_words(words, s, r, &r->ops[i]));
		}
}

static bool make_needs(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	const struct event *e;
	int cause = needed_by(at, &e);
	char words[OP_WORDS], other[OP_WORDS], time[BYTES];
	if (cause < 0)
		return false;
	const struct role *r = timeline_role_of(s, e->index);
	op_words(words, s, r, &r->ops[e->op]);
	q->rank = e->rank;
	if (e->kind == EVENT_IDLE)
		ask(q->text,
		    "Rank %" PRId64
		    " stops computing. Its next operation is %s. What must be done before that can begin?",
		    e->rank, words);
	else
		ask(q->text, "On rank %" PRId64 ", %s is about to begin. What had to be done first?", e->rank, words);
	offer(q, "%s", op_words(other, s, r, &r->ops[cause]));
	offer_later(q, s, e->index, e->op);
	ask(q->reason, "It waits for %s", op_words_beside(other, s, r, &r->ops[cause], &r->ops[e->op]));
	if (e->kind == EVENT_IDLE)
		ask(q->reason, ": meanwhile rank %" PRId64 " computes nothing for %s.", e->rank,
		    time_of(time, s->ranks[e->index].begin[e->op - r->step.begin] - e->time));
	else
		ask(q->reason, ", and begins as soon as that is over and its queue is free.");
	return shuffle(q, at->seed);
}

const struct question_row question_NEEDS = {
        .make = make_needs, .scene = SCENE_PLAN, .look = "what the operation waits for, below the plan"};

/* ---- who is waited for ---- */

static bool make_waits(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	const struct event *e = at->idle;
	int cause = e ? last_needed(s, e->index, e->op) : -1;
	if (cause < 0 || timeline_collective_of(s, e->index, cause) < 0 || s->plan->ranks > 64)
		return false;
	const struct role *r = timeline_role_of(s, e->index);
	struct wait w = timeline_wait(s, e->index, cause);
	int64_t idle = s->ranks[e->index].begin[e->op - r->step.begin] - e->time, waits = w.end - e->time;
	char words[OP_WORDS], needs[OP_WORDS], time[BYTES];
	if (w.rank < 0 || w.rank == e->rank || 2 * waits < idle)
		return false;
	q->rank = e->rank;
	op_words(words, s, r, &r->ops[e->op]);
	ask(q->text, "Rank %" PRId64 " stops computing for %s. Its next operation is %s. For which rank does it wait?",
	    e->rank, time_of(time, idle), words);
	offer(q, "rank %" PRId64, w.rank);
	for (int64_t by = 1; by < s->plan->ranks && q->choice_count < QUESTION_CHOICES - 1; by++) {
		int64_t one = (w.rank + by) % s->plan->ranks;
		if (one != e->rank)
			offer(q, "rank %" PRId64, one);
	}
	offer(q, "none: all ranks have come, and data are on their way");
	offer(q, "none: its own earlier operations are not done");
	ask(q->reason, "It needs %s, ", op_words_beside(needs, s, r, &r->ops[cause], &r->ops[e->op]));
	ask(q->reason, "to which rank %" PRId64 " comes only %s later: a bubble until then.", w.rank,
	    time_of(time, waits));
	return shuffle(q, at->seed);
}

const struct question_row question_WAITS = {
        .make = make_waits, .scene = SCENE_TIMELINE, .look = "the bubble in the rank's compute lane"};
