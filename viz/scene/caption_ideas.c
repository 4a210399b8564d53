/* Why an operation is done: the idea behind it, in one sentence. Nothing here depends on how long it takes. */
#include <inttypes.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "strategy/strategies/alone.h"
#include "strategy/strategies/strategy.h"
#include "viz/scene/caption_parts.h"

/* ---- communication ---- */

/* Indexed by kind of traffic: a kind without a row does not compile. */
/* clang-format off */
#define IDEA_ALL_REDUCE "Summed over the ranks, the gradients are those of the whole batch."
#define IDEA_REDUCE_SCATTER "Every rank gets the sum of the slice that it keeps, and no other."
#define IDEA_ALL_GATHER "No rank keeps these parameters whole: they are gathered while they are needed."
#define IDEA_BROADCAST "Only the root keeps the parameters; the others get a copy for this step."
#define IDEA_REDUCE "Only the root makes the update, with the sum of all gradients."
#define IDEA_SCATTER_INPUTS "Only the root reads the data, and gives every rank its part."
#define IDEA_GATHER_OUTPUTS "Only the root computes the loss."
#define IDEA_SCATTER_OUTPUT_GRADIENTS "Every rank goes backward from its own outputs."
#define IDEA_ACTIVATIONS "The next stage cannot begin before it has arrived."
#define IDEA_ACTIVATION_GRADIENTS "The stage before cannot go backward without them."
#define IDEA_GATHER_STATISTICS "Mean and variance are to be those of the samples of all ranks."
#define IDEA_REDUCE_STATISTICS "The statistics were those of all ranks, so their gradients are too."
#define IDEA_BROADCAST_BUFFERS "All ranks are to have the same running statistics."
#define IDEA_CONTROL ""

static const char *const of_traffic[TRAFFIC_COUNT] = {
#define X(constant, name) [TRAFFIC_##constant] = IDEA_##constant,
	TRAFFIC_LIST(X)
#undef X
};
/* clang-format on */

static bool touches(const struct timeline *s, const struct role *r, const struct op *op, enum part part)
{
	int buffer = op_buffer(op);
	for (int i = r->step.begin; buffer >= 0 && i < r->step.end; i++)
		for (int k = 0; k < op_operand_count(r->ops[i].kind); k++)
			if (op_part(r->ops[i].kind, k) == part && r->ops[i].operand[k].buffer == buffer)
				return true;
	(void)s;
	return false;
}

static const char *idea_of_control(const struct timeline *s, const struct role *r, const struct op *op)
{
	if (touches(s, r, op, PART_OVERFLOW))
		return tr("If any rank has met an infinity, all of them skip this update.");
	if (touches(s, r, op, PART_NORM))
		return tr("Gradients are clipped by the norm of all of them, so every rank needs all squares.");
	return touches(s, r, op, PART_LOSS) ? tr("It is only reported: nothing waits for it.") : NULL;
}

static const char *idea_of_kernel(enum op_kind kind)
{
	switch (kind) {
	case OP_ALL_REDUCE_MAXIMUM:
		return tr("Every rank has only some of the logits; softmax needs the largest of all.");
	case OP_ALL_REDUCE:
		return tr("Every rank has what its slice of the weights comes to; the layer needs the sum over the "
		          "ranks.");
	case OP_REDUCE_SCATTER:
		return tr("Every rank has a part of the sum; each goes on with the sum of its own rows.");
	case OP_ALL_GATHER:
		return tr("Every rank has its own rows; the layer needs all of them.");
	default:
		return NULL;
	}
}

/* A collective alone (strategy/strategies/alone.h) serves no step: the caption says its result. */
const char *idea_of_alone(enum operation o)
{
	static const char *const ideas[OPERATION_COUNT] = {
	        [OPERATION_ALL_REDUCE] = "In the end every rank has the sum of all",
	        [OPERATION_REDUCE_SCATTER] = "In the end every rank has the sum of one chunk",
	        [OPERATION_ALL_GATHER] = "In the end every rank has the chunks of all",
	        [OPERATION_BROADCAST] = "In the end every rank has what rank 0 has",
	        [OPERATION_REDUCE] = "In the end rank 0 has the sum of all",
	        [OPERATION_SCATTER] = "In the end every rank has its chunk of what rank 0 has",
	        [OPERATION_GATHER] = "In the end rank 0 has the chunks of all",
	        [OPERATION_SUM] = "In the end every rank has the sum of all",
	};
	return ideas[o];
}

static bool is_statistic(enum traffic_kind t)
{
	return t == TRAFFIC_GATHER_STATISTICS || t == TRAFFIC_REDUCE_STATISTICS;
}

static const char *idea_of_communication(const struct timeline *s, const struct role *r, const struct op *op)
{
	if (op->traffic == TRAFFIC_CONTROL)
		return idea_of_control(s, r, op);
	if (op->group < 0 && !op_is_message(op->kind) && !is_statistic(op->traffic) && idea_of_kernel(op->kind))
		return idea_of_kernel(op->kind);
	if (op->kind == OP_RECEIVE)
		return op->traffic == TRAFFIC_ACTIVATIONS ? tr("This stage cannot go forward without it.")
		                                          : tr("This stage cannot go backward without them.");
	if (op->kind == OP_ALL_GATHER && op->pass == PASS_UPDATE)
		return tr("Every rank has updated its own slice; now it gets those of the others.");
	return of_traffic[op->traffic];
}

/* ---- the rest ---- */

static bool is_gradient(enum held h)
{
	return h == HELD_GRADIENTS || h == HELD_WHOLE_GRADIENTS;
}

static const char *idea_of_copy(const struct timeline *s, const struct role *r, const struct op *op)
{
	const enum held *held = s->roles[r - s->plan->roles].held;
	enum held from = held[op->operand[COPY_X].buffer], to = held[op->operand[COPY_Y].buffer];
	bool gradients = is_gradient(from) || is_gradient(to);
	switch (op->queue) {
	case QUEUE_DEVICE_TO_HOST:
		return gradients ? tr("The update is made on the host, where the optimizer state is.")
		                 : tr("It waits in host memory, so that the device has room for more.");
	case QUEUE_HOST_TO_DEVICE:
		return from == HELD_PARAMETERS || to == HELD_PARAMETERS
		               ? tr("They are updated on the host, and used on the device.")
		               : tr("It comes back just before it is needed.");
	default:
		return op->queue == QUEUE_DISK ? tr("The disk has room for what host memory has not.") : NULL;
	}
}

static bool clips(const struct op *op)
{
	const struct region *norm = op_region(op, PART_NORM);
	return norm && norm->buffer >= 0;
}

static const char *idea_of_update(const struct timeline *s, const struct op *op)
{
	const struct plan *p = s->plan;
	if (p->settings.precision == TYPE_FP16 && s->trace->scale.skipped)
		return tr("A gradient was infinite, so nothing is changed: the step is skipped.");
	if (p->settings.precision == TYPE_FP16)
		return tr("If a gradient was infinite, nothing is changed: the step is skipped.");
	if (op->queue == QUEUE_HOST_COMPUTE)
		return tr("It is done on the host, where the offloaded optimizer state is.");
	if (own_part_word(p) && p->ranks > 1)
		return !strcmp(own_part_word(p), "shard") ? tr("The other ranks update the other shards: each keeps "
		                                               "the optimizer state of its own.")
		                                          : tr("The other ranks update the other slices: each keeps "
		                                               "the optimizer state of its own.");
	if (clips(op))
		return tr("Gradients are scaled down if their norm is too large.");
	return p->ranks > 1 && plan_data_ranks(p) == p->ranks && p->role_count == 1
	               ? tr("All ranks have the same gradients and make the same update.")
	               : NULL;
}

/* Says what became of the loss scale in the step of a run. */
static void say_recorded_scale(struct text *t, const struct trace_scale *scale, bool forgives)
{
	char now[WORD], next[WORD];
	number_format_count(now, (int64_t)scale->now);
	number_format_count(next, (int64_t)scale->next);
	say(t, scale->skipped ? " An infinity was met, so this step is skipped: " : " No infinity was met: ");
	if (strcmp(now, next) != 0)
		say(t, scale->next < scale->now ? "from %s it goes down to %s." : "from %s it goes up to %s.", now,
		    next);
	else
		say(t, "it stays at %s%s.", now,
		    scale->skipped && forgives ? tr(", since the first infinity is forgiven") : "");
}

/* A plan alone knows with which it begins. */
static void say_loss_scale(struct text *t, const struct timeline *s)
{
	char scale[WORD], window[WORD];
	const struct plan *p = s->plan;
	bool forgives = loss_scale_rule(p->settings.loss_scaler)->hysteresis > 1;
	if (s->trace->scale.now > 0) {
		say_recorded_scale(t, &s->trace->scale, forgives);
		return;
	}
	number_format_count(scale, (int64_t)p->settings.loss_scale);
	say(t, " It begins at %s. A step with an infinity is skipped%s, and %s good steps in a row double it.", scale,
	    forgives ? tr("; the first leaves it, each further one halves it") : tr(" and halves it"),
	    number_format_count(window, p->settings.loss_scale_window));
}

static void say_scaled_loss(struct text *t, const struct timeline *s)
{
	char scale[WORD];
	bool known = s->trace->scale.now > 0;
	number_format_count(scale, (int64_t)(known ? s->trace->scale.now : s->plan->settings.loss_scale));
	say(t,
	    known ? " Multiplied by the loss scale, in this step %s, small gradients do not vanish in fp16."
	          : " Multiplied by the loss scale, at first %s, small gradients do not vanish in fp16.",
	    scale);
}

static const char *idea_of_work(const struct timeline *s, const struct role *r, const struct op *op)
{
	if (op->pass == PASS_RECOMPUTE)
		return tr("Its output was not kept: checkpointing trades time for memory.");
	switch (op->kind) {
	case OP_ADAMW:
	case OP_SGD:
		return idea_of_update(s, op);
	case OP_COPY:
		return idea_of_copy(s, r, op);
	case OP_SQUARES:
		return tr("Their sum gives the norm by which gradients are clipped.");
	case OP_OVERFLOW:
		return tr("fp16 ends at 65,504: what is larger is infinite, and must not reach the weights.");
	case OP_LOAD:
		return plan_data_ranks(s->plan) > 1 && !op->all_ranks
		               ? tr("Every rank works on different samples: that is data parallelism.")
		               : NULL;
	case OP_ADD:
		return tr("Gradients of all micro-batches are summed before the update.");
	default:
		return NULL;
	}
}

void say_idea(struct text *t, const struct timeline *s, const struct role *r, const struct op *op)
{
	bool scales = op_region(op, PART_SCALER) && op_region(op, PART_SCALER)->buffer >= 0;
	if (op->kind == OP_SCALER_UPDATE) {
		say_loss_scale(t, s);
		return;
	}
	if (scales && op_makes_loss(op->kind)) {
		say_scaled_loss(t, s);
		return;
	}
	if (op_class(op->kind) == OP_CLASS_C && plan_is_alone(s->plan)) {
		const struct algorithm *a = schedule_row(op->algorithm);
		say(t, " %s: %s.", tr(idea_of_alone(a->operation)), tr(a->description));
		return;
	}
	const char *idea = op_class(op->kind) == OP_CLASS_C ? idea_of_communication(s, r, op) : idea_of_work(s, r, op);
	if (idea && *idea)
		say(t, " %s", tr(idea));
}
