/* The caption: one sentence about what the last step did, made from the plan, so that it is never wrong. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "viz/scene/caption_parts.h"

void say(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = t->at < t->size ? vsnprintf(t->out + t->at, (size_t)(t->size - t->at), format, args) : 0;
	va_end(args);
	t->at += n;
}

struct who who_of(const struct state *st, enum event_kind kind, int op, const struct role *role)
{
	struct who w = {.s = "s"};
	uint64_t set = 0;
	bool fits = true;
	int64_t any = -1;
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		if (e->kind != kind || e->op != op || plan_role_of(st->timeline->plan, e->rank) != role)
			continue;
		any = e->rank;
		w.count++;
		fits &= e->rank < 64;
		if (e->rank < 64)
			set |= UINT64_C(1) << e->rank;
	}
	w.all = w.count == st->timeline->rank_count && w.count > 1;
	if (w.all) {
		snprintf(w.words, sizeof w.words, "Every rank");
	} else if (w.count == 1) {
		snprintf(w.words, sizeof w.words, "Rank %" PRId64, any);
	} else if (fits) {
		char ranks[64];
		text_of_ranks(ranks, sizeof ranks, set, 65);
		snprintf(w.words, sizeof w.words, "Ranks %s", ranks);
		w.s = "";
	} else {
		snprintf(w.words, sizeof w.words, "%" PRId64 " ranks", w.count);
		w.s = "";
	}
	return w;
}

/* ---- operations ---- */

static const char *verb(const struct op *op)
{
	switch (op->kind) {
	case OP_INITIALIZE:
		return "initialise";
	case OP_ZERO:
		return "clear";
	case OP_COPY:
		return "copie";
	case OP_LOAD:
		return "load";
	case OP_ADAMW:
	case OP_SGD:
		return "update";
	case OP_ADVANCE:
		return "count";
	default:
		return "compute";
	}
}

/* An operation waits for others, and for the one before it on its queue: the last to finish is why it begins only now.
 */
static const struct op *reason_of(const struct timeline *s, const struct role *role, int index, const struct op *op)
{
	const struct timeline_rank *r = &s->ranks[index];
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

static void say_reason(struct text *t, const struct timeline *s, const struct role *role, int index,
                       const struct op *op)
{
	const struct op *reason = reason_of(s, role, index, op);
	char words[160];
	if (!reason)
		return;
	op_describe(s->plan, reason, words, sizeof words);
	say(t, ", now that %s is done", words);
}

/* The buffer that it is about: what it writes, or else reads. */
static const char *object_of(const struct role *role, const struct op *op)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < op_operand_count(op->kind); i++)
			if (op->operand[i].buffer >= 0 && (pass || op_access(op, i) != 'r'))
				return role->buffers[op->operand[i].buffer].name;
	return op_name(op->kind);
}

static void say_collective_begins(struct text *t, const struct state *st, int index, const struct op *op,
                                  const struct who *w, int c)
{
	const struct timeline *s = st->timeline;
	const struct role *role = timeline_role_of(s, index);
	const struct collective *one = &s->collectives[c];
	char what[96], bytes[WORD];
	bytes_word(bytes, op_payload_bytes(role, op));
	if (op_is_message(op->kind)) {
		bool sends = op->kind == OP_SEND;
		say(t, "%s begin%s to %s %s", w->words, w->s, sends ? "send" : "receive", object_of(role, op));
		if (w->count == 1)
			say(t, " %s rank %" PRId64, sends ? "to" : "from", one->rank[sends]);
		say(t, ", %s", bytes);
	} else {
		collective_words(s, one, what, sizeof what);
		say(t, "%s begin%s the %s, %s by %s", w->words, w->s, what, bytes, schedule_row(op->algorithm)->name);
	}
	say_reason(t, s, role, index, op);
	say(t, ".");
}

static void say_operation(struct text *t, const struct state *st, const struct event *e)
{
	const struct timeline *s = st->timeline;
	int index = timeline_index_of(s, e->rank);
	const struct role *role = timeline_role_of(s, index);
	const struct op *op = &role->ops[e->op];
	struct who w = who_of(st, EVENT_BEGIN, e->op, role);
	int c = timeline_collective_of(s, index, e->op);
	char words[160], bytes[WORD], time[WORD];
	int64_t samples;
	if (c >= 0) {
		say_collective_begins(t, st, index, op, &w, c);
		return;
	}
	op_describe(s->plan, op, words, sizeof words);
	int64_t k = e->op - role->step.begin;
	time_word(time, s->ranks[index].end[k] - s->ranks[index].begin[k]);
	switch (op->kind) {
	case OP_LOAD:
		samples = s->plan->settings.micro_batch * (op->all_ranks ? s->plan->ranks : 1);
		say(t, "%s load%s %" PRId64 " sample%s%s", w.words, w.s, samples, samples == 1 ? "" : "s",
		    op->all_ranks                   ? " of all ranks"
		    : plan_data_ranks(s->plan) == 1 ? "" /* those that work on the same samples */
		    : w.count == 1 || w.all         ? " of its own"
		                                    : " of their own");
		break;
	case OP_ADVANCE:
		say(t, "%s count%s the step", w.words, w.s);
		break;
	case OP_ADAMW:
	case OP_SGD:
		say(t, "%s update%s %s of %s with %s", w.words, w.s,
		    op_region(op, PART_GRADIENTS)->slice ? "its own slice" : "the parameters",
		    op->group >= 0 ? s->plan->groups[op->group].name : "the model",
		    op->kind == OP_ADAMW ? "AdamW" : "SGD");
		break;
	default:
		if (op->kernel < 0)
			say(t, "%s %s%s %s", w.words, verb(op), op->kind == OP_COPY ? "s" : w.s, object_of(role, op));
		else
			say(t, "%s compute%s %s", w.words, w.s, words);
	}
	say(t, " (%s)", time);
	say_reason(t, s, role, index, op);
	int64_t allocated = 0;
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *m = &s->events[i];
		if (m->kind == EVENT_MEMORY && m->rank == e->rank && role->ops[m->op].kind == OP_ALLOC)
			allocated += buffer_bytes(&role->buffers[op_buffer(&role->ops[m->op])]);
	}
	if (allocated)
		say(t, "; it needs %s more for that", bytes_word(bytes, allocated));
	say(t, ".");
}

static void say_memory(struct text *t, const struct state *st, const struct event *e)
{
	const struct timeline *s = st->timeline;
	int index = timeline_index_of(s, e->rank);
	const struct role *role = timeline_role_of(s, index);
	const struct op *op = &role->ops[e->op];
	const struct buffer *b = &role->buffers[op_buffer(op)];
	struct who w = who_of(st, EVENT_MEMORY, e->op, role);
	char bytes[WORD], live[WORD];
	say(t, "%s %s%s %s, %s of %s on the %s: %s are alive there now.", w.words,
	    op->kind == OP_ALLOC ? "allocate" : "free", w.s, b->name, bytes_word(bytes, buffer_bytes(b)),
	    category_name(b->category), space_name(b->space), bytes_word(live, st->ranks[index].live[b->space]));
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
static void say_idle(struct text *t, const struct state *st, const struct event *e)
{
	const struct timeline *s = st->timeline;
	int index = timeline_index_of(s, e->rank);
	const struct role *role = timeline_role_of(s, index);
	struct who w = who_of(st, EVENT_IDLE, e->op, role);
	char time[WORD], words[160];
	int64_t wait = s->ranks[index].begin[e->op - role->step.begin] - e->time;
	const struct op *running = communicating(s, role, index, e->time);
	const struct op *cause = awaited(s, role, index, &role->ops[e->op], e->time), *before = NULL;
	say(t, "%s stop%s computing for %s: ", w.words, w.s, time_word(time, wait));
	op_describe(s->plan, &role->ops[e->op], words, sizeof words);
	if (!cause) {
		say(t, "everything that %s waits for is done, but it begins only then.", words);
		return;
	}
	say(t, "%s waits for ", words);
	op_describe(s->plan, cause, words, sizeof words);
	say(t, "%s", words);
	if (cause != running && (before = awaited(s, role, index, cause, e->time))) {
		op_describe(s->plan, before, words, sizeof words);
		say(t, ", which waits for %s", words);
		cause = before;
	}
	if (running && cause == running) {
		say(t, ", which is exposed now.");
	} else if (running) {
		op_describe(s->plan, running, words, sizeof words);
		say(t, ", while %s is exposed.", words);
	} else {
		bool others = op_class(cause->kind) == OP_CLASS_C && !awaited(s, role, index, cause, e->time);
		say(t, "%s: a bubble.", others ? ", which waits for other ranks" : "");
	}
}

static void say_end(struct text *t, const struct state *st)
{
	const struct timeline *s = st->timeline;
	char step[WORD], sent[WORD];
	double whole = s->step_ns ? (double)s->step_ns : 1;
	say(t,
	    "The step is done in %s: %.0f %% computing, %.0f %% waiting for communication, %.0f %% for anything else.",
	    time_word(step, s->step_ns), 100 * (double)s->times.compute / whole, 100 * (double)s->times.exposed / whole,
	    100 * (double)s->times.bubble / whole);
	if (ledger_step_total(s))
		say(t, " All ranks together sent %s.", bytes_word(sent, ledger_step_total(s)));
}

void caption_make(const struct state *st, char *out, int size)
{
	struct text t = {out, size, 0};
	const struct event *first = NULL, *begin = NULL, *message = NULL;
	size_t messages = 0;
	out[0] = 0;
	if (!st->position) {
		say_beginning(&t, st);
		return;
	}
	if (st->step_size == STEP_SIZE_PHASE) { /* the last thing that it did stands for the phase */
		struct state one = *st;         /* borrows what it points to */
		one.step_size = STEP_SIZE_ROUND;
		one.latest =
		        st->timeline->instants[timeline_previous(st->timeline, STEP_SIZE_ROUND, st->position)].begin;
		caption_make(&one, out, size);
		return;
	}
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		first = first ? first : e;
		if (e->kind == EVENT_BEGIN && !begin)
			begin = e;
		if (e->kind != EVENT_MESSAGE ||
		    (message && e->collective != message->collective && e->collective != st->collective))
			continue;
		if (message && e->collective != message->collective) { /* the one that is shown counts */
			message = NULL;
			messages = 0;
		}
		message = message ? message : e;
		messages++;
	}
	if (message && messages == 1)
		say_message(&t, st, message);
	else if (message)
		say_round(&t, st, message);
	else if (begin)
		say_operation(&t, st, begin);
	else if (first && first->kind == EVENT_IDLE)
		say_idle(&t, st, first);
	else if (first && first->kind == EVENT_END)
		say_end(&t, st);
	else if (first)
		say_memory(&t, st, first);
}

void caption_highlight(const struct state *st, char *out, int size)
{
	struct text t = {out, size, 0};
	out[0] = 0;
	for (int i = 0; i < st->timeline->highlight_count; i++) {
		const struct highlight *n = &st->timeline->highlights[i];
		if (n->position == st->position)
			say(&t, "%s%s", t.at ? " · " : "", highlight_name(n->kind));
	}
}
