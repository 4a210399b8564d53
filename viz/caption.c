/* The caption: one sentence about what the last stride did, made from the plan, so that it is never wrong. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "viz/scene.h"

struct text {
	char *out;
	int size, at;
};

static void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = t->at < t->size ? vsnprintf(t->out + t->at, (size_t)(t->size - t->at), format, args) : 0;
	va_end(args);
	t->at += n;
}

/* "Every rank", "Rank 2", "Ranks 0–1", with the verb's ending. */
struct who {
	char words[96];
	const char *s;
	bool all;
	int64_t count;
};

static struct who who_of(const struct state *st, enum event_kind kind, int op, const struct role *role)
{
	struct who w = {.s = "s"};
	uint64_t set = 0;
	bool fits = true;
	int64_t any = -1;
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->score->events[i];
		if (e->kind != kind || e->op != op || plan_role_of(st->score->plan, e->rank) != role)
			continue;
		any = e->rank;
		w.count++;
		fits &= e->rank < 64;
		if (e->rank < 64)
			set |= UINT64_C(1) << e->rank;
	}
	w.all = w.count == st->score->rank_count && w.count > 1;
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

/* ---- messages ---- */

static int chunk_of(const struct collective *c, const struct event *e)
{
	for (int i = 0; i < c->chunk_count; i++)
		if (c->cuts[i] >= e->offset)
			return i;
	return 0;
}

static void say_chunk(struct text *t, const struct collective *c, const struct event *e)
{
	int first = chunk_of(c, e), last = first;
	while (last + 1 < c->chunk_count && c->cuts[last + 2] <= e->offset + e->count)
		last++;
	if (c->chunk_count == 1)
		say(t, "the whole buffer");
	else if (first == last)
		say(t, "chunk %d", first);
	else
		say(t, "chunks %d–%d", first, last);
}

static int messages_of(const struct score *s, int collective)
{
	int n = 0;
	for (size_t i = 0; i < s->event_count; i++)
		n += s->events[i].kind == EVENT_MESSAGE && s->events[i].collective == collective;
	return n;
}

static void say_message(struct text *t, const struct state *st, const struct event *e)
{
	const struct collective *c = &st->score->collectives[e->collective];
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
	uint64_t held = st->held[e->to_member * c->chunk_count + chunk_of(c, e)];
	if (held == c->everyone)
		snprintf(ranks, sizeof ranks, "all %" PRId64, c->schedule.ranks);
	else
		text_of_ranks(ranks, sizeof ranks, held, 65);
	if (c->kind == OP_SEND)
		say(t, ".");
	else if (c->kind == OP_BROADCAST || c->kind == OP_SCATTER)
		say(t, "; %d of %d messages are through.", (int)st->arrived, messages_of(st->score, e->collective));
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

/* What the messages of the last stride are together. */
struct sent {
	size_t count;
	int first_round, last_round, most; /* most: contributions that a receiver holds now */
	int64_t largest;
	bool whole; /* all messages of one round */
};

static struct sent sum_up(const struct state *st, const struct event *first)
{
	const struct score *s = st->score;
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
			int n = bits(st->held[e->to_member * c->chunk_count + chunk_of(c, e)]);
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
static void say_round(struct text *t, const struct state *st, const struct event *first)
{
	const struct collective *c = &st->score->collectives[first->collective];
	struct sent sent = sum_up(st, first);
	char bytes[WORD], what[96];
	collective_words(st->score, c, what, sizeof what);
	bytes_word(bytes, sent.largest);
	bool ring = c->schedule.algorithm <= SCHEDULE_RING_ALL_GATHER && c->kind != OP_SUM && c->kind != OP_SEND;
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

/* What it waits for that was done last: the reason why it begins only now. */
static void say_reason(struct text *t, const struct score *s, const struct role *role, int index, const struct op *op)
{
	const struct score_rank *r = &s->ranks[index];
	int64_t latest = -1;
	const struct op *reason = NULL;
	char words[160];
	for (int i = 0; i < op->after_count; i++) {
		int k = op->after[i] - role->step.begin;
		if (k >= 0 && k < role->step.end - role->step.begin && r->end[k] > latest) {
			latest = r->end[k];
			reason = &role->ops[op->after[i]];
		}
	}
	if (!reason)
		return;
	op_describe(s->plan, reason, words, sizeof words);
	say(t, ", now that %s is done", words);
}

static void say_collective_begins(struct text *t, const struct state *st, int index, const struct op *op,
                                  const struct who *w, int c)
{
	const struct score *s = st->score;
	const struct role *role = score_role_of(s, index);
	char what[96], bytes[WORD];
	collective_words(s, &s->collectives[c], what, sizeof what);
	say(t, "%s begin%s the %s, %s by %s", w->words, w->s, what, bytes_word(bytes, op_payload_bytes(role, op)),
	    op->kind == OP_SUM        ? "tree"
	    : op_is_message(op->kind) ? "a message"
	                              : schedule_name(op->algorithm));
	say_reason(t, s, role, index, op);
	say(t, ".");
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

static void say_operation(struct text *t, const struct state *st, const struct event *e)
{
	const struct score *s = st->score;
	int index = score_index_of(s, e->rank);
	const struct role *role = score_role_of(s, index);
	const struct op *op = &role->ops[e->op];
	struct who w = who_of(st, EVENT_BEGIN, e->op, role);
	int c = score_collective_of(s, index, e->op);
	char words[160], bytes[WORD], time[WORD];
	if (c >= 0) {
		say_collective_begins(t, st, index, op, &w, c);
		return;
	}
	op_describe(s->plan, op, words, sizeof words);
	int64_t k = e->op - role->step.begin;
	time_word(time, s->ranks[index].end[k] - s->ranks[index].begin[k]);
	switch (op->kind) {
	case OP_LOAD:
		say(t, "%s load%s %" PRId64 " samples of %s", w.words, w.s,
		    op->wide ? s->plan->settings.micro_batch * s->plan->ranks : s->plan->settings.micro_batch,
		    op->wide ? "all ranks" : "its own");
		break;
	case OP_ADVANCE:
		say(t, "%s count%s the step", w.words, w.s);
		break;
	case OP_ADAMW:
	case OP_SGD:
		say(t, "%s update%s %s of %s with %s", w.words, w.s,
		    op->operand[1].slice ? "its own slice" : "the parameters",
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
			allocated += buffer_bytes(&role->buffers[role->ops[m->op].operand[0].buffer]);
	}
	if (allocated)
		say(t, "; it needs %s more for that", bytes_word(bytes, allocated));
	say(t, ".");
}

static void say_memory(struct text *t, const struct state *st, const struct event *e)
{
	const struct score *s = st->score;
	int index = score_index_of(s, e->rank);
	const struct role *role = score_role_of(s, index);
	const struct op *op = &role->ops[e->op];
	const struct buffer *b = &role->buffers[op->operand[0].buffer];
	struct who w = who_of(st, EVENT_MEMORY, e->op, role);
	char bytes[WORD], live[WORD];
	say(t, "%s %s%s %s, %s of %s on the %s: %s are alive there now.", w.words,
	    op->kind == OP_ALLOC ? "allocate" : "free", w.s, b->name, bytes_word(bytes, buffer_bytes(b)),
	    category_name(b->category), space_name(b->space), bytes_word(live, st->ranks[index].live[b->space]));
}

static void say_idle(struct text *t, const struct state *st, const struct event *e)
{
	const struct score *s = st->score;
	int index = score_index_of(s, e->rank);
	const struct role *role = score_role_of(s, index);
	struct who w = who_of(st, EVENT_IDLE, e->op, role);
	char time[WORD], words[160];
	int64_t wait = s->ranks[index].begin[e->op - role->step.begin] - e->time;
	int running = st->ranks[index].running[QUEUE_COMMUNICATION];
	say(t, "%s stop%s computing for %s: ", w.words, w.s, time_word(time, wait));
	op_describe(s->plan, &role->ops[e->op], words, sizeof words);
	say(t, "%s waits for ", words);
	if (running >= 0) {
		op_describe(s->plan, &role->ops[running], words, sizeof words);
		say(t, "%s, which is exposed now.", words);
	} else {
		say(t, "other ranks: a bubble.");
	}
}

static void say_end(struct text *t, const struct state *st)
{
	const struct score *s = st->score;
	char step[WORD], sent[WORD];
	double whole = s->step_ns ? (double)s->step_ns : 1;
	say(t,
	    "The step is done in %s: %.0f %% computing, %.0f %% waiting for communication, %.0f %% for anything else.",
	    time_word(step, s->step_ns), 100 * (double)s->times.compute / whole, 100 * (double)s->times.exposed / whole,
	    100 * (double)s->times.bubble / whole);
	if (ledger_step_total(s))
		say(t, " All ranks together sent %s.", bytes_word(sent, ledger_step_total(s)));
}

static void say_beginning(struct text *t, const struct state *st)
{
	const struct score *s = st->score;
	for (int i = 0; i < s->plan->role_count; i++) {
		const struct role *r = &s->plan->roles[i];
		int index = score_index_of(s, r->first_rank);
		char bytes[WORD];
		if (index < 0)
			continue;
		bytes_word(bytes, st->ranks[index].live[SPACE_DEVICE]);
		if (s->plan->role_count == 1)
			say(t, "Before the step, %s: ", r->ranks > 1 ? "on every rank" : "on the rank");
		else
			say(t, "%s%s: ", i ? " " : "Before the step, on ",
			    r->ranks > 1 ? "On each of the others" : "the root");
		const int64_t *live = score_live(s, index, SPACE_DEVICE, 0);
		say(t, "%s", bytes);
		for (int c = 0, first = 1; live && c < CATEGORY_COUNT; c++)
			if (live[c]) {
				say(t, "%s%s %s", first ? " (" : ", ", category_name((enum category)c),
				    bytes_word(bytes, live[c]));
				first = 0;
				if (c == CATEGORY_COUNT - 1 || !memcmp(live + c + 1, (int64_t[CATEGORY_COUNT]){0},
				                                       sizeof *live * (size_t)(CATEGORY_COUNT - 1 - c)))
					say(t, ")");
			}
		say(t, ".");
	}
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
	if (st->stride == STRIDE_PHASE) { /* the last thing that it did stands for the phase */
		struct state one = *st;   /* borrows what it points to */
		one.stride = STRIDE_ROUND;
		one.latest = st->score->moments[score_previous(st->score, STRIDE_ROUND, st->position)].begin;
		caption_make(&one, out, size);
		return;
	}
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->score->events[i];
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

void caption_notable(const struct state *st, char *out, int size)
{
	struct text t = {out, size, 0};
	out[0] = 0;
	for (int i = 0; i < st->score->notable_count; i++) {
		const struct notable *n = &st->score->notables[i];
		if (n->position == st->position)
			say(&t, "%s%s", t.at ? " · " : "", notable_name(n->kind));
	}
}
