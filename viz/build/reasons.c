/* Why a move is refused: the verifier's rule, in the words of the exercise. The verifier names an operation and a
 * buffer; here they become the learner's moves, and what must come before. */
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/build/exercise.h"
#include "viz/timeline/op_words.h"

struct reason {
	struct exercise *e;
	const struct plan *p; /* the refused plan */
	const struct refusal *why;
	int tried;             /* move; -1: the step was said to be complete */
	int named;             /* the move that the verifier names; -1 */
	const struct op *op;   /* the operation that it names; NULL */
	char buffer[OP_WORDS]; /* the contents of the buffer that it names; "" */
};

const char *exercise_rule(char out[RULE_WORDS], int rule)
{
	static const char *const texts[] = {"",
#define X(number, name, what) what,
	                                    RULE_LIST(X)
#undef X
	};
	snprintf(out, RULE_WORDS, tr("Rule %d says: %s."), rule, tr(texts[rule]));
	return out;
}

__attribute__((format(printf, 2, 3))) static void say(struct reason *r, const char *format, ...)
{
	char *out = r->e->said.text;
	size_t size = sizeof r->e->said.text;
	size_t n = (size_t)snprintf(out, size, tr("Rule %d (%s): "), r->why->rule, rule_name(r->why->rule));
	WITH_ARGS(format, vsnprintf(out + n, size - n, tr(format), args));
}

static const char *name_of(const struct reason *r, int move)
{
	return move >= 0 ? r->e->moves[move].said : tr("what comes later");
}

/* ---- who makes it, who frees it, what comes first ---- */

static int move_with(const struct exercise *e, enum op_kind kind, int buffer)
{
	for (int i = 0; i < e->move_count; i++)
		for (int k = 0; k < e->moves[i].op_count; k++) {
			const struct op *op = &e->plan->roles[0].ops[e->moves[i].ops[k]];
			if (op->kind == kind && op_buffer(op) == buffer)
				return i;
		}
	return -1;
}

static bool touch_same(const struct exercise *e, const struct move *a, const struct move *b)
{
	const struct op *ops = e->plan->roles[0].ops;
	for (int i = 0; i < a->op_count; i++)
		for (int k = 0; k < op_operand_count(ops[a->ops[i]].kind); k++) {
			const struct region *g = &ops[a->ops[i]].operand[k];
			enum part part = op_part(ops[a->ops[i]].kind, k);
			for (int n = 0; g->buffer >= 0 && part != PART_STAGING && n < b->op_count; n++) {
				const struct op *other = &ops[b->ops[n]];
				for (int m = 0; m < op_operand_count(other->kind); m++)
					if (other->operand[m].buffer == g->buffer &&
					    other->operand[m].offset < g->offset + g->count &&
					    g->offset < other->operand[m].offset + other->operand[m].count)
						return true;
			}
		}
	return false;
}

/* Among the moves that are not placed, finds the last before a move in the strategy's own order that works on the same
 * group and is of one of the kinds (bits; 0: any); -1: there is none. */
static int must_come_first(const struct exercise *e, int move, unsigned wanted)
{
	for (int i = move - 1; i >= 0; i--)
		if (!exercise_times(e, i) && (!wanted || wanted >> e->moves[i].kind & 1) &&
		    touch_same(e, &e->moves[i], &e->moves[move]))
			return i;
	return -1;
}

static int of_kind_left(const struct exercise *e, enum move_kind a, enum move_kind b)
{
	for (int i = 0; i < e->move_count; i++)
		if (!exercise_times(e, i) && (e->moves[i].kind == a || e->moves[i].kind == b))
			return i;
	return -1;
}

/* ---- rule 3: memory ---- */

static void say_dead(struct reason *r)
{
	struct exercise *e = r->e;
	int maker = move_with(e, OP_ALLOC, r->why->buffer), freer = move_with(e, OP_FREE, r->why->buffer);
	if (r->named == r->tried && exercise_times(e, r->tried))
		say(r, "%s has been done, and %s, which it reads, is no longer in memory.", name_of(r, r->tried),
		    r->buffer);
	else if (r->named != r->tried && r->tried >= 0)
		say(r, "%s still needs %s: it comes before %s.", name_of(r, r->named), r->buffer, name_of(r, r->tried));
	else if (maker >= 0 && !exercise_times(e, maker))
		say(r, "%s needs %s, which nothing has made yet. First: %s.", name_of(r, r->named), r->buffer,
		    name_of(r, maker));
	else if (freer >= 0 && exercise_times(e, freer))
		say(r, "%s needs %s, and %s has given that memory back.", name_of(r, r->named), r->buffer,
		    name_of(r, freer));
	else
		say(r, "%s needs %s, which is not there.", name_of(r, r->named), r->buffer);
}

static void say_lifetime(struct reason *r)
{
	struct exercise *e = r->e;
	int maker = move_with(e, OP_ALLOC, r->why->buffer), freer = move_with(e, OP_FREE, r->why->buffer);
	bool allocates = r->op && r->op->kind == OP_ALLOC, frees = r->op && r->op->kind == OP_FREE;
	if (r->tried < 0 && (allocates || !r->op))
		say(r, "the step ends, and %s would be left in memory. Still to place: %s.", r->buffer,
		    name_of(r, freer));
	else if (allocates)
		say(r, "%s has been done, and what it made is still in memory. A second time has nowhere to go.",
		    name_of(r, r->named));
	else if (frees && maker >= 0 && !exercise_times(e, maker))
		say(r, "there is nothing to free yet: %s comes first.", name_of(r, maker));
	else if (frees)
		say(r, "that memory has been given back already: what is freed is freed once.");
	else
		say_dead(r);
}

/* ---- rules 5 and 6: what a buffer stands for ---- */

static void say_reduce(struct reason *r, int first)
{
	const struct exercise *e = r->e;
	const struct move *m = &e->moves[r->tried];
	if (exercise_times(e, r->tried))
		say(r, "%s has been done. A second time would add every rank's gradients once more.", m->said);
	else if (first >= 0)
		say(r,
		    "the gradients of %s are not complete: %s still adds to them, and the sum over the ranks would "
		    "miss that part.",
		    m->said_object, e->moves[first].said);
	else
		say(r, "%s would sum gradients that are not complete.", m->said);
}

static void say_update(struct reason *r, int first)
{
	const struct exercise *e = r->e;
	const struct move *m = &e->moves[r->tried];
	if (exercise_times(e, r->tried))
		say(r, "%s has been done. A second time would take the step twice.", m->said);
	else if (r->named >= 0 && r->named != r->tried)
		say(r, "%s must still read the parameters that the step began with: it comes before %s.",
		    name_of(r, r->named), m->said);
	else if (first >= 0 && (e->moves[first].kind == MOVE_ALL_REDUCE || e->moves[first].kind == MOVE_REDUCE_SCATTER))
		say(r, "the gradients hold the samples of this rank alone, and ranks would drift apart. First: %s.",
		    e->moves[first].said);
	else if (first >= 0)
		say(r, "%s comes too early. First: %s.", m->said, e->moves[first].said);
	else
		say(r, "%s comes too early: its gradients are not complete.", m->said);
}

static void say_gather(struct reason *r, int first)
{
	const struct exercise *e = r->e;
	if (first >= 0 && e->moves[first].kind == MOVE_UPDATE)
		say(r, "%s would spread parameters that are not updated yet. First: %s.", name_of(r, r->tried),
		    e->moves[first].said);
	else if (first >= 0)
		say(r, "%s comes too early. First: %s.", name_of(r, r->tried), e->moves[first].said);
	else
		say(r, "%s reads parameters of another step than the strategy does.", name_of(r, r->tried));
}

static void say_other(struct reason *r, int first)
{
	const struct exercise *e = r->e;
	if (exercise_times(e, r->tried))
		say(r, "%s has been done; a second time changes the result.", name_of(r, r->tried));
	else if (r->named >= 0 && r->named != r->tried)
		say(r, "%s comes before %s.", name_of(r, r->named), name_of(r, r->tried));
	else if (first >= 0)
		say(r, "%s comes too early. First: %s.", name_of(r, r->tried), e->moves[first].said);
	else
		say(r, "%s makes no sense here.", name_of(r, r->tried));
}

/* The step was said to be complete, and is not. */
static void say_missing(struct reason *r)
{
	const struct exercise *e = r->e;
	int reduce = of_kind_left(e, MOVE_ALL_REDUCE, MOVE_REDUCE_SCATTER), left = 0;
	while (left < e->move_count && exercise_times(e, left))
		left++;
	if (r->why->rule == 5 && reduce >= 0)
		say(r,
		    "the update has read gradients of this rank's samples alone: ranks would drift apart. Missing: "
		    "%s.",
		    e->moves[reduce].said);
	else if (left < e->move_count)
		say(r, "the step is not complete. Missing: %s.", e->moves[left].said);
	else
		say(r, "everything is placed, and something is there twice.");
}

static void say_by_kind(struct reason *r)
{
	/* Gradients lack a sum, or a part; whatever else comes first as well. */
	unsigned sums = 1U << MOVE_ALL_REDUCE | 1U << MOVE_REDUCE_SCATTER, parts = 1U << MOVE_BACKWARD;
	int first = r->why->rule == 5 ? must_come_first(r->e, r->tried, sums) : -1;
	if (first < 0 && r->why->rule == 5)
		first = must_come_first(r->e, r->tried, parts);
	if (first < 0)
		first = must_come_first(r->e, r->tried, 0);
	switch (r->e->moves[r->tried].kind) {
	case MOVE_ALL_REDUCE:
	case MOVE_REDUCE_SCATTER:
		say_reduce(r, first);
		break;
	case MOVE_UPDATE:
		say_update(r, first);
		break;
	case MOVE_GATHER:
		say_gather(r, first);
		break;
	default:
		say_other(r, first);
		break;
	}
}

void exercise_explain(struct exercise *e, const struct plan *p, const struct refusal *why, const int *owner, int tried)
{
	const struct section *step = &p->roles[0].step;
	struct reason r = {.e = e, .p = p, .why = why, .tried = tried, .named = -1};
	if (why->role == 0 && why->op >= 0)
		r.op = &p->roles[0].ops[why->op];
	if (r.op && why->op >= step->begin && why->op < step->end)
		r.named = owner[why->op - step->begin];
	snprintf(r.buffer, sizeof r.buffer, tr("something"));
	if (why->role == 0 && why->buffer >= 0)
		buffer_words(r.buffer, &e->words, &e->plan->roles[0], why->buffer);
	e->said.rule = why->rule;
	if (why->rule == 3)
		say_lifetime(&r);
	else if (tried < 0)
		say_missing(&r);
	else
		say_by_kind(&r);
}
