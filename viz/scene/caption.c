/* The caption: what the last step did, and why, made from the plan, so that it is never wrong. */
#include <inttypes.h>
#include <stddef.h>

#include "strategy/base/language.h"
#include "strategy/strategies/alone.h"
#include "viz/scene/caption_parts.h"
#include "viz/scene/scene_parts.h"

/* ---- operations ---- */

const struct op *caption_cause(const struct timeline *s, int index, const struct op *op)
{
	const struct timeline_rank *r = &s->ranks[index];
	const struct role *role = timeline_role_of(s, index);
	int64_t latest = -1;
	const struct op *reason = NULL;
	for (int i = 0; i < op->after_count; i++) {
		int k = op->after[i] - role->step.begin;
		if (k >= 0 && k < role->step.end - role->step.begin && r->end[k] > latest) {
			latest = r->end[k];
			reason = &role->ops[op->after[i]];
		}
	}
	for (int k = (int)(op - role->ops) - role->step.begin - 1; k >= 0; k--) {
		const struct op *before = &role->ops[role->step.begin + k];
		if (before->queue != op->queue || r->end[k] < 0)
			continue;
		if (r->end[k] > latest)
			reason = before;
		break;
	}
	return reason;
}

/* An operation that waits only for the one before it on its queue needs no words. */
static void say_reason(struct text *t, const struct timeline *s, const struct role *role, int index,
                       const struct op *op)
{
	const struct op *reason = caption_cause(s, index, op);
	char words[OP_WORDS];
	if (reason && (reason->queue != op->queue || op_class(op->kind) == OP_CLASS_C))
		say(t, ", now that %s is done", op_words_beside(words, s, role, reason, op));
}

/* Says which of several messages alike it is, and of which micro-batch. */
static void say_message_begins(struct text *t, const struct timeline *s, const struct role *role, const struct op *op,
                               const struct who *w, const struct collective *one)
{
	bool sends = op->kind == OP_SEND;
	char words[OP_WORDS], bytes[WORD];
	say(t, sends ? "%s begin%s to send %s" : "%s begin%s to receive %s", w->words, w->s,
	    buffer_words(words, s, role, op_buffer(op)));
	if (w->count == 1)
		say(t, sends ? " to rank %" PRId64 : " from rank %" PRId64, one->rank[sends]);
	if (op->micro >= 0 && s->plan->settings.accumulate > 1)
		say(t, ", micro-batch %d", op->micro);
	say(t, " (%s)", bytes_word(bytes, op_payload_bytes(role, op)));
}

/* The memory that was freed says more than the purpose, which is the same for every operation of the kind. */
static void say_collective_begins(struct text *t, const struct state *st, const struct event *e, const struct op *op,
                                  const struct who *w, int c)
{
	const struct timeline *s = st->timeline;
	int index = e->index;
	const struct role *role = timeline_role_of(s, index);
	char words[OP_WORDS], bytes[WORD], freed[CAPTION_SIZE] = "";
	struct text after = {freed, sizeof freed, 0};
	if (op_is_message(op->kind))
		say_message_begins(t, s, role, op, w, &s->collectives[c]);
	else
		say(t, "%s %s (%s by %s)", w->words, op_does(words, s, role, op, !*w->s),
		    bytes_word(bytes, op_payload_bytes(role, op)), schedule_row(op->algorithm)->name);
	say_reason(t, s, role, index, op);
	say(t, ".");
	if (say_freed(&after, st, e))
		say(t, "%s", freed);
	else
		say_idea(t, s, role, op);
}

static void say_operation(struct text *t, const struct state *st, const struct event *e)
{
	const struct timeline *s = st->timeline;
	int index = timeline_index_of(s, e->rank);
	const struct role *role = timeline_role_of(s, index);
	const struct op *op = &role->ops[e->op];
	struct who w = who_of(st, EVENT_BEGIN, e->op, role);
	int c = timeline_collective_of(s, index, e->op);
	char words[OP_WORDS], time[WORD];
	if (c >= 0) {
		say_collective_begins(t, st, e, op, &w, c);
		return;
	}
	int64_t k = e->op - role->step.begin;
	time_word(time, s->ranks[index].end[k] - s->ranks[index].begin[k]);
	say(t, "%s %s (%s", w.words, op_does(words, s, role, op, !*w.s), time);
	bool peak = say_needs(t, st, e);
	say(t, ")");
	char freed[CAPTION_SIZE] = "";
	struct text after = {freed, sizeof freed, 0};
	bool point = !peak && say_freed(&after, st, e);
	if (!point)
		say_reason(t, s, role, index, op);
	say(t, ".%s", freed);
	if (!*freed && !peak)
		say_idea(t, s, role, op);
}

/* The last to finish of the operations that an operation waits for; NULL: all are done. */
static const struct op *awaited(const struct timeline *s, const struct role *role, int index, const struct op *op,
                                int64_t now)
{
	const struct op *last = NULL;
	for (int i = 0; i < op->after_count; i++) {
		int64_t end = s->ranks[index].end[op->after[i] - role->step.begin];
		if (end > now) {
			now = end;
			last = &role->ops[op->after[i]];
		}
	}
	return last;
}

/* The operation on the communication queue of a rank at a time; NULL: none. */
static const struct op *communicating(const struct timeline *s, const struct role *role, int index, int64_t now)
{
	for (int k = 0; k < role->step.end - role->step.begin; k++) {
		const struct op *op = &role->ops[role->step.begin + k];
		if (op->queue == QUEUE_COMMUNICATION && s->ranks[index].begin[k] >= 0 &&
		    s->ranks[index].begin[k] <= now && s->ranks[index].end[k] > now)
			return op;
	}
	return NULL;
}

/* Exposed is a pause in which the communication queue works, as in the step's times. Other ranks can only hold up
 * communication. */
/* Communication under way is exposed once all members have come to it; until then nothing moves. */
static void say_exposed(struct text *t, const struct timeline *s, int index, const struct op *running, int64_t now)
{
	struct wait wait = timeline_wait(s, index, (int)(running - timeline_role_of(s, index)->ops));
	char time[WORD];
	if (wait.end > now && wait.rank >= 0)
		say(t, " waits %s more for rank %" PRId64 " to come: a bubble until then.",
		    time_word(time, wait.end - now), wait.rank);
	else if (wait.end > now)
		say(t, " waits %s more for others to come: a bubble until then.", time_word(time, wait.end - now));
	else
		say(t, " is exposed.");
}

static void say_idle(struct text *t, const struct state *st, const struct event *e)
{
	const struct timeline *s = st->timeline;
	int index = timeline_index_of(s, e->rank);
	const struct role *role = timeline_role_of(s, index);
	struct who w = who_of(st, EVENT_IDLE, e->op, role);
	char time[WORD], words[OP_WORDS];
	int64_t wait = s->ranks[index].begin[e->op - role->step.begin] - e->time;
	const struct op *running = communicating(s, role, index, e->time);
	const struct op *cause = awaited(s, role, index, &role->ops[e->op], e->time), *before = NULL;
	say(t, "%s stop%s computing for %s (%.0f %% of the step): ", w.words, w.s, time_word(time, wait),
	    s->step_ns ? 100 * (double)wait / (double)s->step_ns : 0.0);
	op_words(words, s, role, &role->ops[e->op]);
	if (!cause) {
		say(t, "everything that %s waits for is done, but it begins only then.", words);
		return;
	}
	say(t, "%s waits for ", words);
	op_words_beside(words, s, role, cause, &role->ops[e->op]);
	say(t, "%s", words);
	if (cause != running && (before = awaited(s, role, index, cause, e->time))) {
		op_words_beside(words, s, role, before, &role->ops[e->op]);
		say(t, ", which waits for %s", words);
		cause = before;
	}
	if (running && cause == running) {
		say(t, ", which");
		say_exposed(t, s, index, running, e->time);
	} else if (running) {
		op_words_beside(words, s, role, running, &role->ops[e->op]);
		say(t, ", while %s", words);
		say_exposed(t, s, index, running, e->time);
	} else {
		bool others = op_class(cause->kind) == OP_CLASS_C && !awaited(s, role, index, cause, e->time);
		say(t, "%s: a bubble.", others ? tr(", which waits for other ranks") : "");
	}
}

static void say_end(struct text *t, const struct state *st)
{
	const struct timeline *s = st->timeline;
	char step[WORD], sent[WORD];
	struct range computes = range_over_ranks(s, offsetof(struct times, compute)),
	             waits = range_over_ranks(s, offsetof(struct times, exposed));
	bool compute_differs = range_is_wide(computes), wait_differs = range_is_wide(waits),
	     alike = !compute_differs && !wait_differs;
	if (plan_is_alone(s->plan)) {
		say(t, "It is done in %s. All ranks together sent %s.", time_word(step, s->step_ns),
		    bytes_word(sent, ledger_step_total(s)));
		return;
	}
	time_word(step, s->step_ns);
	if (s->limits.overflows)
		say(t, "The step does not fit; with enough memory it would be done in %s. ", step);
	else
		say(t, "The step is done in %s. ", step);
	if (s->plan->ranks == 1)
		say(t, "The rank");
	else if (alike)
		say(t, "Every rank");
	else
		say(t, "Rank %" PRId64 ", the slowest,", s->times.rank);
	say(t, " spends %.1f %% of it computing, %.1f %% waiting for communication and %.1f %% for anything else.",
	    share_of_step(s, s->times.compute), share_of_step(s, s->times.exposed), share_of_step(s, s->times.bubble));
	if (!alike)
		say(t, " Over the ranks: ");
	if (compute_differs)
		say(t, "%.1f–%.1f %% computing%s", computes.least, computes.most, wait_differs ? tr(", ") : tr("."));
	if (wait_differs)
		say(t, "%.1f–%.1f %% waiting for communication.", waits.least, waits.most);
	if (ledger_step_total(s))
		say(t, " All ranks together sent %s.", bytes_word(sent, ledger_step_total(s)));
}

/* The events of the last step that a caption is about; NULL: there are none of the kind. */
struct subject {
	const struct event *first, *last, *begin, *message;
	size_t messages;
};

static void add_message(struct subject *u, const struct state *st, const struct event *e)
{
	if (u->message && e->collective != u->message->collective && e->collective != st->collective)
		return;
	if (u->message && e->collective != u->message->collective) { /* the one that is shown counts */
		u->message = NULL;
		u->messages = 0;
	}
	u->message = u->message ? u->message : e;
	u->messages++;
}

static struct subject subject_of(const struct state *st)
{
	struct subject u = {0};
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		u.first = u.first ? u.first : e;
		u.last = e;
		if (e->kind == EVENT_BEGIN && !u.begin)
			u.begin = e;
		if (e->kind == EVENT_MESSAGE)
			add_message(&u, st, e);
	}
	return u;
}

static void say_stop(struct text *t, const struct state *st)
{
	if (!st->position) {
		say_beginning(t, st);
		return;
	}
	if (st->step_size == STEP_SIZE_PHASE) {
		if (st->position < st->timeline->instant_count)
			say_phase(t, st);
		else
			say_end(t, st);
		return;
	}
	struct subject u = subject_of(st);
	if (u.message && u.messages == 1)
		say_message(t, st, u.message);
	else if (u.message)
		say_round(t, st, u.message);
	else if (u.begin)
		say_operation(t, st, u.begin);
	else if (u.first && u.first->kind == EVENT_IDLE)
		say_idle(t, st, u.first);
	else if (u.last && u.last->kind == EVENT_END)
		say_end(t, st);
	else if (u.first)
		say_memory(t, st, u.last);
}

void caption_make(const struct state *st, char *out, int size)
{
	struct text t = {out, size, 0};
	out[0] = 0;
	say_stop(&t, st);
	language_space(out, (size_t)size);
}

/* The operation with which a rank takes part in another group's collective; -1: none. */
static int op_of_family(const struct timeline *s, int index, int family)
{
	const struct section *step = &timeline_role_of(s, index)->step;
	for (int k = step->begin; k < step->end; k++) {
		int c = timeline_collective_of(s, index, k);
		if (c >= 0 && s->collectives[c].family == family)
			return k;
	}
	return -1;
}

int caption_op(const struct state *st, int index)
{
	const struct timeline *s = st->timeline;
	struct subject u = subject_of(st);
	const struct event *e = u.message ? u.message : u.begin ? u.begin : u.first;
	if (!st->position || st->step_size == STEP_SIZE_PHASE || !e || e->kind == EVENT_END)
		return -1;
	if (e->kind == EVENT_MEMORY)
		e = u.last;
	int one = u.message ? u.message->collective : timeline_collective_of(s, e->index, e->op);
	if (one >= 0 && e->kind != EVENT_IDLE)
		return op_of_family(s, index, s->collectives[one].family);
	return s->ranks[e->index].role == s->ranks[index].role ? e->op : -1;
}

/* The highlights that the last step brought, each kind once. */
void caption_highlight(const struct state *st, char *out, int size)
{
	struct text t = {out, size, 0};
	const struct timeline *s = st->timeline;
	size_t from = st->position ? timeline_previous(s, st->step_size, st->position) : 0;
	unsigned said = 0;
	out[0] = 0;
	for (int i = 0; i < s->highlight_count; i++) {
		const struct highlight *n = &s->highlights[i];
		if (n->position <= from || n->position > st->position || said >> n->kind & 1)
			continue;
		said |= 1U << n->kind;
		say(&t, "%s%s", t.at ? " · " : "", tr(highlight_name(n->kind)));
	}
}
