/* Why the strategy's own plan does what it does next. */
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/build/exercise.h"

/* True if a pass of another unit is next, under which communication can hide. */
static bool hides(const struct exercise *e, int move)
{
	for (int i = move + 1; i < e->move_count && i < move + 4; i++)
		if (e->moves[i].kind == MOVE_FORWARD || e->moves[i].kind == MOVE_BACKWARD)
			return e->moves[i].unit != e->moves[move].group;
	return false;
}

static void say_gather(const struct exercise *e, int move, char *out, size_t size)
{
	const struct move *m = &e->moves[move];
	if (m->pass == PASS_UPDATE)
		snprintf(out, size,
		         tr("Each rank has updated its own slice; the others' slices come from their owners, so that "
		            "the "
		            "next step begins with whole parameters."));
	else
		snprintf(out, size, tr("Each rank keeps a shard; the %s pass needs the parameters whole.%s"),
		         m->pass == PASS_BACKWARD ? tr("backward") : tr("forward"),
		         hides(e, move)
		                 ? tr(" It goes on while something else is computed: begun early, it costs no time.")
		                 : "");
}

static void say_pass(const struct exercise *e, int move, char *out, size_t size)
{
	if (e->moves[move].kind == MOVE_FORWARD)
		snprintf(out, size, tr("Its input is there. What it computes stays until the backward pass."));
	else
		snprintf(out, size,
		         tr("Its output's gradient is there. It makes the gradients of its parameters, and frees "
		            "the activations that it was the last to need."));
}

static bool is_gathered_later(const struct exercise *e, int move)
{
	for (int i = move + 1; i < e->move_count; i++)
		if (e->moves[i].kind == MOVE_GATHER && e->moves[i].group == e->moves[move].group)
			return true;
	return false;
}

static void say_free(const struct exercise *e, int move, char *out, size_t size)
{
	if (e->moves[move].kind == MOVE_FREE_GRADIENTS)
		snprintf(out, size,
		         tr("The sum lies in shards now. Memory is free when the reduce-scatter is done: as long as it "
		            "runs, computing would wait for it here."));
	else
		snprintf(out, size,
		         tr("Nothing needs them whole %s. This is the point of sharding: parameters are whole only "
		            "while "
		            "they are used."),
		         is_gathered_later(e, move) ? tr("until they are gathered again")
		                                    : tr("in this step any more"));
}

void exercise_say_why(const struct exercise *e, int move, char *out, size_t size)
{
	switch (e->moves[move].kind) {
	case MOVE_LOAD:
		snprintf(out, size, tr("A step begins with samples%s."),
		         e->plan->ranks > 1 ? tr(": every rank takes its own") : "");
		break;
	case MOVE_GATHER:
		say_gather(e, move, out, size);
		break;
	case MOVE_FORWARD:
	case MOVE_BACKWARD:
		say_pass(e, move, out, size);
		break;
	case MOVE_FREE:
	case MOVE_FREE_GRADIENTS:
		say_free(e, move, out, size);
		break;
	case MOVE_ALL_REDUCE:
		snprintf(out, size,
		         tr("Its gradients are complete on every rank. Sent now, they travel while the rest of "
		            "the backward pass is computed."));
		break;
	case MOVE_REDUCE_SCATTER:
		snprintf(out, size,
		         tr("Its gradients are complete on every rank. Each gets the sum of its own shard, half "
		            "the traffic of an all-reduce, while the backward pass goes on."));
		break;
	case MOVE_COUNT:
		snprintf(out, size, tr("The optimizer corrects its moments by the number of the step."));
		break;
	default:
		snprintf(out, size, tr("Its gradients are complete%s."),
		         e->plan->ranks > 1 ? tr(", summed over all ranks: all take the same step") : "");
		break;
	}
}
