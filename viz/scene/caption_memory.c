/* The caption's words for memory: what an operation needs, what has been freed, and why memory is at its peak. */
#include <inttypes.h>

#include "strategy/base/language.h"
#include "strategy/strategies/strategy.h"
#include "viz/scene/caption_parts.h"

static const struct buffer *buffer_of(const struct role *r, const struct event *e)
{
	return &r->buffers[op_buffer(&r->ops[e->op])];
}

/* ---- what it needs ---- */

/* Does the role's memory reach its peak by this allocation? */
static bool is_peak(const struct timeline *s, const struct event *e)
{
	const struct timeline_role *r = &s->roles[s->ranks[e->index].role];
	return e->kind == EVENT_MEMORY && r->peak_at[SPACE_DEVICE] == e->op - r->role->step.begin + 1;
}

bool say_needs(struct text *t, const struct state *st, const struct event *begin)
{
	const struct timeline *s = st->timeline;
	const struct role *role = timeline_role_of(s, begin->index);
	int64_t allocated = 0;
	bool peak = false;
	char bytes[WORD];
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *m = &s->events[i];
		if (m->kind != EVENT_MEMORY || m->rank != begin->rank)
			continue;
		peak |= is_peak(s, m);
		if (role->ops[m->op].kind == OP_ALLOC)
			allocated += buffer_bytes(buffer_of(role, m));
	}
	if (allocated)
		say(t, ", %s more memory", bytes_word(bytes, allocated));
	if (peak)
		say(t, ": the peak of memory, %s",
		    bytes_word(bytes, s->roles[s->ranks[begin->index].role].peak[SPACE_DEVICE]));
	return peak;
}

/* ---- what is freed ---- */

/* Why a kind is freed, by where the strategy keeps the rest; NULL: nothing worth a sentence. */
static const char *why_freed(const struct plan *p, enum held held)
{
	const struct strategy *g = strategy_find(p->strategy);
	if (held == HELD_WHOLE_PARAMETERS && g && g->parameters == PLACE_SHARD)
		return tr("each rank keeps only its shard, the point of ZeRO-3");
	if (held == HELD_WHOLE_PARAMETERS)
		return tr("the root keeps them");
	if (held == HELD_WHOLE_GRADIENTS && g && g->gradients == PLACE_SHARD)
		return tr("each rank keeps only its slice, the point of ZeRO-2");
	return held == HELD_WHOLE_GRADIENTS ? tr("the root has their sum") : NULL;
}

static void say_why_freed(struct text *t, const struct timeline *s, const struct role *r, int buffer)
{
	char words[OP_WORDS], bytes[WORD];
	const char *why = why_freed(s->plan, s->roles[r - s->plan->roles].held[buffer]);
	say(t, "%s (%s)%s%s", buffer_words(words, s, r, buffer), bytes_word(bytes, buffer_bytes(&r->buffers[buffer])),
	    why ? tr(", since ") : "", why ? tr(why) : "");
}

/* Says why the first is freed of which there is something to say; adds up activations. */
static bool say_freed_one(struct text *t, const struct timeline *s, const struct event *m, int64_t *activations)
{
	const struct role *role = timeline_role_of(s, m->index);
	int buffer = op_buffer(&role->ops[m->op]);
	enum held held = s->roles[s->ranks[m->index].role].held[buffer];
	if (held == HELD_ACTIVATIONS)
		*activations += buffer_bytes(&role->buffers[buffer]);
	if (!why_freed(s->plan, held))
		return false;
	say(t, " Just freed: ");
	say_why_freed(t, s, role, buffer);
	say(t, ".");
	return true;
}

bool say_freed(struct text *t, const struct state *st, const struct event *begin)
{
	const struct timeline *s = st->timeline;
	const struct role *role = timeline_role_of(s, begin->index);
	int64_t activations = 0;
	char bytes[WORD];
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *m = &s->events[i];
		if (m->kind == EVENT_MEMORY && m->rank == begin->rank && role->ops[m->op].kind == OP_FREE &&
		    say_freed_one(t, s, m, &activations))
			return true;
	}
	if (activations && role->ops[begin->op].pass == PASS_BACKWARD)
		say(t, " %s of activations are free again.", bytes_word(bytes, activations));
	return false;
}

/* ---- an allocation or a free alone ---- */

void say_memory(struct text *t, const struct state *st, const struct event *e)
{
	const struct timeline *s = st->timeline;
	const struct role *role = timeline_role_of(s, e->index);
	int needed_by = role_needed_by(role, e->op);
	const struct op *op = &role->ops[e->op], *next = needed_by < 0 ? NULL : &role->ops[needed_by];
	const struct buffer *b = buffer_of(role, e);
	struct who w = who_of(st, EVENT_MEMORY, e->op, role);
	char words[OP_WORDS], bytes[WORD], live[WORD];
	const char *why =
	        op->kind == OP_FREE ? why_freed(s->plan, s->roles[s->ranks[e->index].role].held[op_buffer(op)]) : NULL;
	bytes_word(bytes, buffer_bytes(b));
	bytes_word(live, st->ranks[e->index].live[b->space]);
	if (is_peak(s, e) && next) {
		say(t, "%s reach%s the peak of memory, %s: ", w.words, *w.s ? "es" : "", live);
		say(t, "%s needs ", op_words(words, s, role, next));
		say(t, "%s, %s.", buffer_words(words, s, role, op_buffer(op)), bytes);
		return;
	}
	say(t, "%s %s", w.words, op_does(words, s, role, op, !*w.s));
	say(t, " (%s)", bytes);
	if (why)
		say(t, ": %s", tr(why));
	say(t,
	    b->space == SPACE_DISK   ? ". The disk holds %s now."
	    : b->space == SPACE_HOST ? ". The host holds %s now."
	                             : ". The device holds %s now.",
	    live);
}
