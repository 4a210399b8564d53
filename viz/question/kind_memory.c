/* Questions about memory: its peak, what is freed, what grows, and what there is before the step. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "strategy/strategies/strategy.h"
#include "viz/question/question_parts.h"

/* ---- the peak ---- */

static int fullest(const struct timeline *s)
{
	int most = 0;
	for (int i = 1; i < s->rank_count; i++)
		if (s->roles[s->ranks[i].role].peak[SPACE_DEVICE] > s->roles[s->ranks[most].role].peak[SPACE_DEVICE])
			most = i;
	return most;
}

/* The first stop at which a rank has issued so many operations. */
static size_t stop_issued(const struct timeline *s, int index, int issued)
{
	int begin = timeline_role_of(s, index)->step.begin;
	size_t position = 0;
	for (size_t m = 0; m < s->instant_count && !position; m++)
		for (size_t i = s->instants[m].begin; i < s->instants[m].end && !position; i++)
			if (s->events[i].index == index && event_issues(&s->events[i]) &&
			    s->events[i].op - begin + 1 >= issued)
				position = m + 1;
	size_t k = timeline_stop_of(s, STEP_SIZE_ROUND, position);
	return timeline_stop(s, STEP_SIZE_ROUND, timeline_stop(s, STEP_SIZE_ROUND, k) < position ? k + 1 : k);
}

static void say_largest(struct question *q, const int64_t *live)
{
	char bytes[BYTES];
	unsigned said = 0;
	for (int n = 0; n < 3; n++) {
		int most = -1;
		for (int h = 0; h < HELD_COUNT; h++)
			if (!(said >> h & 1) && live[h] && (most < 0 || live[h] > live[most]))
				most = h;
		if (most < 0)
			break;
		said |= 1U << most;
		ask(q->reason, "%s%s %s", n ? ", " : ": ", tr(held_name((enum held)most)), bytes_of(bytes, live[most]));
	}
}

/* True if it is part of a unit's pass, or of the update. */
static bool has_pass(const struct op *op)
{
	return op_class(op->kind) != OP_CLASS_M &&
	       (op->pass == PASS_UPDATE || (op->pass != PASS_NONE && op->unit >= 0));
}

/* Passes of the step: those beside the right one first, then others at some distance. */
static void offer_passes(struct question *q, const struct timeline *s, const struct role *r, int right)
{
	static const double parts[] = {0.02, 0.45, 0.95, 0.25, 0.7};
	int length = r->step.end - r->step.begin;
	char words[OP_WORDS];
	offer(q, "%s", pass_of(words, s, &r->ops[right]));
	for (int i = right + 1; i < r->step.end && q->choice_count < 2; i++)
		if (has_pass(&r->ops[i]))
			offer(q, "%s", pass_of(words, s, &r->ops[i]));
	for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
		for (int i = r->step.begin + (int)(parts[p] * length); i < r->step.end; i++)
			if (has_pass(&r->ops[i])) {
				offer(q, "%s", pass_of(words, s, &r->ops[i]));
				break;
			}
}

static bool make_peak(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	int index = fullest(s);
	const struct timeline_role *r = &s->roles[s->ranks[index].role];
	int issued = r->peak_at[SPACE_DEVICE];
	const struct op *op = issued ? needed_for(r->role, r->role->step.begin + issued - 1) : NULL;
	char bytes[BYTES], words[OP_WORDS];
	if (at->k || !op || !has_pass(op))
		return false;
	q->rank = s->ranks[index].rank;
	q->shown = stop_issued(s, index, issued);
	ask(q->text, "The step begins. In which part of it does rank %" PRId64 " need the most memory?", q->rank);
	offer_passes(q, s, r->role, (int)(op - r->role->ops));
	ask(q->reason, "Rank %" PRId64 " is at its peak, %s, in %s", q->rank, bytes_of(bytes, r->peak[SPACE_DEVICE]),
	    pass_of(words, s, op));
	say_largest(q, timeline_live(s, index, SPACE_DEVICE, issued));
	ask(q->reason, ".");
	return shuffle(q, at->seed);
}

const struct question_row question_PEAK = {.make = make_peak, .scene = SCENE_MEMORY, .look = "memory over the step"};

/* ---- what is freed ---- */

/* The most that a rank holds besides buffers, which of small models are most of it: what is small beside that is not
 * worth a question. */
static int64_t most_live(const struct timeline *s, int index)
{
	const struct timeline_role *r = &s->roles[s->ranks[index].role];
	const int64_t *live = timeline_live(s, index, SPACE_DEVICE, r->peak_at[SPACE_DEVICE]);
	return live ? r->peak[SPACE_DEVICE] - live[HELD_BUFFERS] : 0;
}

static const char *why_freed(const struct plan *p, enum held held)
{
	const struct strategy *g = strategy_find(p->strategy);
	switch (held) {
	case HELD_WHOLE_PARAMETERS:
		return g && g->parameters == PLACE_SHARD ? tr("each rank keeps only its own shard")
		                                         : tr("the root keeps them");
	case HELD_WHOLE_GRADIENTS:
		return g && g->gradients == PLACE_SHARD ? tr("each rank keeps only the sum of its own slice")
		                                        : tr("the root has their sum");
	default:
		return tr("nothing after this backward pass needs it");
	}
}

/* Does a role free anything that is whole for a while? Then that is what is worth a question. */
static bool frees_whole(const struct timeline *s, int role)
{
	const struct role *r = &s->plan->roles[role];
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == OP_FREE && (s->roles[role].held[op_buffer(&r->ops[i])] == HELD_WHOLE_PARAMETERS ||
		                                  s->roles[role].held[op_buffer(&r->ops[i])] == HELD_WHOLE_GRADIENTS))
			return true;
	return false;
}

/* The operation before it in the order of issue; NULL: none. */
static const struct op *issued_before(const struct timeline *s, const struct event *e)
{
	const struct role *r = timeline_role_of(s, e->index);
	for (int i = e->op - 1; i >= r->step.begin; i--)
		if (op_class(r->ops[i].kind) != OP_CLASS_M)
			return &r->ops[i];
	return NULL;
}

static bool worth_asking(const struct timeline *s, const struct event *e)
{
	int buffer = op_buffer(op_at(s, e->index, e->op)), role = s->ranks[e->index].role;
	enum held held = held_of(s, e->index, buffer);
	bool whole = frees_whole(s, role);
	if (buffer_bytes(&s->plan->roles[role].buffers[buffer]) < most_live(s, e->index) / 500 ||
	    s->plan->roles[role].buffers[buffer].space != SPACE_DEVICE)
		return false;
	if (held == HELD_ACTIVATIONS)
		return !whole && issued_before(s, e) && issued_before(s, e)->pass == PASS_BACKWARD;
	return held == HELD_WHOLE_PARAMETERS || held == HELD_WHOLE_GRADIENTS;
}

/* The largest that the next step frees; NULL: nothing. */
static const struct event *freed_next(const struct spot *at)
{
	const struct timeline *s = at->s;
	const struct event *most = NULL;
	for (size_t i = s->instants[at->position].begin; i < s->instants[at->next - 1].end; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_MEMORY || op_at(s, e->index, e->op)->kind != OP_FREE || !worth_asking(s, e))
			continue;
		const struct role *r = timeline_role_of(s, e->index);
		if (!most || buffer_bytes(&r->buffers[op_buffer(&r->ops[e->op])]) >
		                     buffer_bytes(&timeline_role_of(s, most->index)
		                                           ->buffers[op_buffer(op_at(s, most->index, most->op))]))
			most = e;
	}
	return most;
}

static bool freed_too(const struct spot *at, int index, int buffer)
{
	const struct timeline *s = at->s;
	for (size_t i = s->instants[at->position].begin; i < s->instants[at->next - 1].end; i++) {
		const struct event *e = &s->events[i];
		if (e->kind == EVENT_MEMORY && e->index == index && op_buffer(op_at(s, index, e->op)) == buffer)
			return true;
	}
	return false;
}

/* Another buffer of a kind, under other words than those said already. */
static void offer_kept(const struct spot *at, struct question *q, int index, enum held held, const char *why)
{
	const struct role *r = timeline_role_of(at->s, index);
	char words[OP_WORDS];
	int before = q->choice_count;
	for (int i = (int)(at->seed % 7); i < r->buffer_count && q->choice_count == before; i++)
		if (held_of(at->s, index, i) == held && !freed_too(at, index, i) &&
		    r->buffers[i].space == SPACE_DEVICE && !strstr(r->buffers[i].name, ".eval"))
			offer(q, "%s: %s", buffer_words(words, at->s, r, i), why);
}

static bool make_freed(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	const struct event *e = freed_next(at);
	if (!e)
		return false;
	const struct role *r = timeline_role_of(s, e->index);
	const struct op *before = issued_before(s, e);
	int buffer = op_buffer(&r->ops[e->op]);
	enum held held = held_of(s, e->index, buffer);
	const char *why = why_freed(s->plan, held);
	char words[OP_WORDS], bytes[BYTES];
	if (!before)
		return false;
	q->rank = e->rank;
	ask(q->text, "Rank %" PRId64 " has come past %s, and frees memory. What most of all, and why?", e->rank,
	    op_words(words, s, r, before));
	offer(q, "%s: %s", buffer_words(words, s, r, buffer), why);
	offer_kept(at, q, e->index, held, why);
	if (held != HELD_ACTIVATIONS)
		offer_kept(at, q, e->index, HELD_ACTIVATIONS, tr("no longer needed"));
	offer_kept(at, q, e->index, HELD_OPTIMIZER, tr("needed only in the update"));
	offer_kept(at, q, e->index, HELD_GRADIENTS, tr("added up over the ranks"));
	offer(q, "nothing: everything is kept until the update");
	ask(q->reason, "%s are free again: %s, since %s.", bytes_of(bytes, buffer_bytes(&r->buffers[buffer])),
	    buffer_words(words, s, r, buffer), why);
	return shuffle(q, at->seed);
}

const struct question_row question_FREED = {
        .make = make_freed, .scene = SCENE_MEMORY, .look = "the rank's bar, and the list of its buffers"};

/* ---- what grows ---- */

static const char *why_grows(enum held h)
{
	static const char *const why[HELD_COUNT] = {
	        [HELD_PARAMETERS] = "the rank gets parameters that it keeps",
	        [HELD_GRADIENTS] = "every layer that goes backward leaves the gradients of its weights",
	        [HELD_WHOLE_GRADIENTS] = "gradients are whole until they are reduced",
	        [HELD_OPTIMIZER] = "the optimizer state comes in for the update",
	        [HELD_ACTIVATIONS] = "what the backward pass needs is kept",
	        [HELD_WHOLE_PARAMETERS] = "parameters are gathered before they are used",
	        [HELD_BUFFERS] = "room is needed for what is on its way",
	};
	return tr(why[h]);
}

/* The rank's bytes at a position, by what they hold; NULL: it has none. */
static const int64_t *live_at(const struct timeline *s, int index, size_t position)
{
	struct state st = {0};
	state_make(&st, s, STEP_SIZE_ROUND, position);
	int issued = st.ranks[index].issued;
	state_release(&st);
	return timeline_live(s, index, SPACE_DEVICE, issued);
}

static bool make_grows(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	size_t phase = timeline_stop_of(s, STEP_SIZE_PHASE, at->position);
	const struct phase *p = &s->phases[phase];
	if (timeline_stop(s, STEP_SIZE_PHASE, phase) != at->position || p->pass == PASS_NONE)
		return false;
	q->shown = timeline_stop(s, STEP_SIZE_PHASE, phase + 1);
	const int64_t *from = live_at(s, 0, at->position), *to = live_at(s, 0, q->shown);
	int most = 0, second = -1;
	for (int h = 1; from && to && h < HELD_COUNT; h++)
		most = to[h] - from[h] > to[most] - from[most] ? h : most;
	for (int h = 0; from && to && h < HELD_COUNT; h++)
		if (h != most && (second < 0 || to[h] - from[h] > to[second] - from[second]))
			second = h;
	if (!from || !to || to[most] <= from[most] || 2 * (to[second] - from[second]) > to[most] - from[most] ||
	    50 * (to[most] - from[most]) < most_live(s, 0))
		return false;
	char words[OP_WORDS], grown[BYTES], now[BYTES];
	const struct op like = {.pass = p->pass, .unit = p->unit, .micro = p->micro};
	q->rank = s->ranks[0].rank;
	ask(q->text, "Next comes %s. Which part of the memory of rank %" PRId64 " grows most in it?",
	    pass_of(words, s, &like), q->rank);
	offer(q, "%s", tr(held_name((enum held)most)));
	static const enum held order[] = {HELD_ACTIVATIONS, HELD_GRADIENTS,        HELD_PARAMETERS,
	                                  HELD_OPTIMIZER,   HELD_WHOLE_PARAMETERS, HELD_BUFFERS};
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
		if (q->choice_count < QUESTION_CHOICES - 1 || order[i] == HELD_WHOLE_PARAMETERS)
			offer(q, "%s", tr(held_name(order[i])));
	ask(q->reason, "%s grow by %s to %s: %s.", tr(held_name((enum held)most)),
	    bytes_of(grown, to[most] - from[most]), bytes_of(now, to[most]), why_grows((enum held)most));
	q->reason[0] = (char)toupper((unsigned char)q->reason[0]);
	return shuffle(q, at->seed);
}

const struct question_row question_GROWS = {
        .make = make_grows, .scene = SCENE_MEMORY, .look = "the parts of the rank's bar"};

/* ---- what there is before the step ---- */

static void say_settings(struct question *q, const struct timeline *s)
{
	const struct plan *p = s->plan;
	char count[32];
	char offload[64];
	ask(q->text, "%s has %s parameters. The plan is %s on %" PRId64 " rank%s, in %s, with %s", p->model->name,
	    number_format_count(count, p->model->parameters), p->settings.strategy, p->ranks, p->ranks == 1 ? "" : "s",
	    type_name(p->settings.precision), p->settings.optimizer == OPTIMIZER_SGD ? "SGD" : "AdamW");
	if (setting_differs(SETTING_OFFLOAD, &p->settings)) {
		setting_print(SETTING_OFFLOAD, &p->settings, offload, sizeof offload);
		ask(q->text, " and offload of %s", offload);
	}
	ask(q->text, ".");
}

/* A collective alone has no parameters that anybody keeps. */
static bool plan_updates(const struct plan *p)
{
	for (int k = 0; k < p->role_count; k++)
		for (int i = p->roles[k].step.begin; i < p->roles[k].step.end; i++)
			if (p->roles[k].ops[i].kind == OP_ADAMW || p->roles[k].ops[i].kind == OP_SGD)
				return true;
	return false;
}

static bool make_memory(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	const int64_t *live = at->k || !s->rank_count ? NULL : timeline_live(s, 0, SPACE_DEVICE, 0);
	if (!live || !plan_updates(s->plan))
		return false;
	int64_t sum = live[HELD_PARAMETERS] + live[HELD_GRADIENTS] + live[HELD_OPTIMIZER];
	char parameters[BYTES], gradients[BYTES], optimizer[BYTES], all[BYTES];
	if (!sum)
		return false;
	q->rank = s->ranks[0].rank;
	q->shown = at->position;
	q->hides = true;
	q->number = (double)sum;
	q->unit = ANSWER_BYTES;
	say_settings(q, s);
	ask(q->text,
	    " How much memory do parameters, gradients and optimizer state take on the device of rank %" PRId64 "?",
	    q->rank);
	ask(q->reason,
	    "Parameters %s, gradients %s and optimizer state %s make %s: %.3g bytes for each parameter of the model.",
	    bytes_of(parameters, live[HELD_PARAMETERS]), bytes_of(gradients, live[HELD_GRADIENTS]),
	    bytes_of(optimizer, live[HELD_OPTIMIZER]), bytes_of(all, sum),
	    (double)sum / (double)s->plan->model->parameters);
	return true;
}

const struct question_row question_MEMORY = {.make = make_memory, .scene = SCENE_MEMORY, .look = "the rank's bar"};
