/* Questions about the plan as a whole: who keeps the same, what an overflow does, how large a pipeline's bubble is. */
#include <inttypes.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "strategy/trace/bubble.h"
#include "viz/question/question_parts.h"

/* ---- who keeps the same part ---- */

static bool is_update(const struct op *op)
{
	return op->kind == OP_ADAMW || op->kind == OP_SGD;
}

/* The axes along which ranks update other parts of a group's parameters: those of its slice, and of the shard that was
 * drawn at first. */
static unsigned part_axes(const struct plan *p, const struct role *role, const struct op *op)
{
	const struct region *r = op_region(op, PART_PARAMETERS);
	unsigned axes = r ? r->slice : 0;
	for (int i = role->prologue.begin; i < role->prologue.end; i++)
		if (role->ops[i].kind == OP_INITIALIZE && role->ops[i].group == op->group)
			axes |= op_shard_axes(p, &role->ops[i]);
	return axes;
}

/* Do two ranks of a role update the same part of every group? */
static bool same_part(const struct plan *p, const struct role *r, int64_t a, int64_t b)
{
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (!is_update(op))
			continue;
		unsigned axes = part_axes(p, r, op);
		if (axes && plan_place(p, axes, a) != plan_place(p, axes, b))
			return false;
		if (op->group >= 0 && group_is_sliced(p, op->group) && plan_slice_of(p, a) != plan_slice_of(p, b))
			return false;
	}
	return true;
}

static const struct op *first_update(const struct role *r)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		if (is_update(&r->ops[i]))
			return &r->ops[i];
	return NULL;
}

static void offer_others(struct question *q, uint64_t same, uint64_t others)
{
	char ranks[RANKS];
	if (!same)
		offer(q, "none: no other rank keeps it");
	else if (same == others)
		offer(q, "all the others");
	else
		offer(q, "%s", ranks_of(ranks, same, 0));
}

/* One of the ranks that make an update, of which there are some. */
static int rank_with_update(const struct timeline *s, unsigned seed)
{
	for (int i = 0; i < s->rank_count; i++) {
		int index = (int)((seed + (unsigned)i) % (unsigned)s->rank_count);
		if (first_update(timeline_role_of(s, index)))
			return index;
	}
	return 0;
}

static bool make_shard(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	const struct plan *p = s->plan;
	if (p->ranks < 2 || p->ranks > 32 || !at->begin || !is_update(op_at(s, at->begin->index, at->begin->op)))
		return false;
	int index = rank_with_update(s, at->seed);
	const struct role *r = timeline_role_of(s, index);
	uint64_t same = 0, others = 0;
	int64_t own = q->rank = s->ranks[index].rank;
	for (int64_t one = 0; one < p->ranks; one++) {
		if (one == own)
			continue;
		others |= UINT64_C(1) << one;
		if (plan_role_of(p, one) == r && same_part(p, r, own, one))
			same |= UINT64_C(1) << one;
	}
	ask(q->text,
	    "The update begins. Which other ranks keep the same part of the optimizer state as rank %" PRId64 "?", own);
	offer_others(q, same, others);
	offer_others(q, 0, others);
	offer_others(q, others, others);
	offer_others(q, UINT64_C(1) << (own + 1) % p->ranks, others);
	offer_others(q, UINT64_C(1) << (own + p->ranks / 2) % p->ranks, others);
	offer_others(q, UINT64_C(1) << (own + p->ranks - 1) % p->ranks, others);
	char words[OP_WORDS];
	ask(q->reason, "Rank %" PRId64 " makes %s. ", own, op_words(words, s, r, first_update(r)));
	if (same == others)
		ask(q->reason, "All ranks do the same with the same gradients.");
	else if (same)
		ask(q->reason, "So does %s; the others have other parts of the model.", q->choice[0]);
	else
		ask(q->reason, "No other rank has that part of the model.");
	return shuffle(q, at->seed);
}

const struct question_row question_SHARD = {
        .make = make_shard, .scene = SCENE_MEMORY, .look = "the optimizer state in the bars of all ranks"};

/* ---- an overflow ---- */

/* True if a flag for infinities is passed on to the other ranks. */
static bool shares_overflow(const struct role *r, const struct op *overflow)
{
	int flag = op_region(overflow, PART_OVERFLOW)->buffer;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (op_class(r->ops[i].kind) == OP_CLASS_C && op_uses(&r->ops[i], flag))
			return true;
	return false;
}

static bool make_skipped(const struct spot *at, struct question *q)
{
	const struct timeline *s = at->s;
	const struct event *e = at->begin;
	const struct settings *set = &s->plan->settings;
	if (!e || op_at(s, e->index, e->op)->kind != OP_OVERFLOW || set->loss_scaler == LOSS_SCALER_NONE)
		return false;
	const struct role *r = timeline_role_of(s, e->index);
	bool all = s->plan->ranks == 1 || shares_overflow(r, &r->ops[e->op]);
	bool halves = loss_scale_begin(set->loss_scaler, set->loss_scale).hysteresis <= 1;
	char now[32], half[32], after[64];
	const char *who = s->plan->ranks == 1 ? tr("the rank skips") : tr("every rank skips");
	number_format_count(now, (int64_t)set->loss_scale);
	number_format_count(half, (int64_t)(set->loss_scale / 2));
	if (!all)
		return false;
	q->rank = e->rank;
	ask(q->text,
	    "The loss scale is %s, and this is the first step. Suppose that a gradient on rank %" PRId64
	    " has become infinite in fp16. What happens?",
	    now, e->rank);
	snprintf(after, sizeof after, halves ? tr("the loss scale becomes %s") : tr("the loss scale stays for once"),
	         half);
	offer(q, "%s the update, and %s", who, after);
	snprintf(after, sizeof after,
	         halves ? tr("the loss scale stays for once") : tr("the loss scale becomes %s at once"), half);
	offer(q, "%s the update, and %s", who, after);
	if (s->plan->ranks > 1)
		offer(q, "rank %" PRId64 " alone skips the update", e->rank);
	offer(q, "the gradient is clipped to 65,504, and the update is made");
	offer(q, "the backward pass is repeated with half the loss scale");
	ask(q->reason, "%sAn infinity must not reach the weights. ",
	    s->plan->ranks > 1 ? tr("Ranks tell each other of it, so that all have the same parameters. ") : "");
	if (halves)
		ask(q->reason, "It halves the loss scale, from %s to %s, for the next step.", now, half);
	else
		ask(q->reason, "DeepSpeed's rule leaves %s at the first infinity, and halves it at every later one.",
		    now);
	return shuffle(q, at->seed);
}

const struct question_row question_SKIPPED = {
        .make = make_skipped, .scene = SCENE_PLAN, .look = "the flag for infinities, and what waits for it"};

/* ---- a pipeline's bubble ---- */

static bool make_bubble(const struct spot *at, struct question *q)
{
	const struct bubble *b = &at->s->bubble;
	char words[BUBBLE_TEXT];
	if (at->k || b->stages < 2)
		return false;
	q->rank = at->s->ranks[0].rank;
	q->shown = at->position;
	q->hides = true;
	q->number = 100 * bubble_share(b);
	q->unit = ANSWER_PERCENT;
	ask(q->text,
	    "%" PRId64 " stages work on %" PRId64
	    " micro-batch%s. If stages are equal and messages take no time, for how much "
	    "of the step does a stage stand still, in per cent?",
	    b->stages, b->micro_batches, b->micro_batches == 1 ? "" : "es");
	ask(q->reason, "The %s: p − 1 stages must fill before the last begins, and drain behind the first.",
	    bubble_text(words, b));
	return true;
}

const struct question_row question_BUBBLE = {
        .make = make_bubble, .scene = SCENE_TIMELINE, .look = "the bubbles, and their closed form below the lanes"};
