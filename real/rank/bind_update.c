/* The optimizer, the loss scale and exact sums: what is more than one call of a kernel with the operation's operands.
 */
#include <stddef.h>

#include "kernels/exact.h"
#include "real/rank/bind.h"
#include "real/rank/operand.h"
#include "real/rank/rounding.h"

_Static_assert((int)SCALAR_DIGITS == EXACT_DIGITS, "a plan has room for exact sums");

BOUND(squares)
{
	enum element type = element_of(m, op, SQUARES_X);
	int64_t n = elements_of(m, op);
	bool more = adds(op, SQUARES_NORM);
	if (!m->plan->settings.reproducible)
		return RUN(vector_squares, type, n, o->SQUARES.x, o->SQUARES.norm, more);
	exact_add_squares(type, n, (const void *)o->SQUARES.x, exact_begin(o->SQUARES.norm, more));
	return 0;
}

/* ---- the loss scale ---- */

_Static_assert(SCALER_SCALE * sizeof(float) == offsetof(struct loss_scale, scale) &&
                       SCALER_GOOD * sizeof(float) == offsetof(struct loss_scale, good) &&
                       SCALER_HYSTERESIS * sizeof(float) == offsetof(struct loss_scale, hysteresis) &&
                       SCALER_SKIPPED * sizeof(float) == offsetof(struct loss_scale, skipped) &&
                       SCALER_ELEMENTS * sizeof(float) == sizeof(struct loss_scale),
               "the loss scale's state is laid out as the kernels read it");

BOUND(scaler_begin)
{
	const struct settings *settings = &m->plan->settings;
	(void)op;
	*b->scaler_begin = loss_scale_begin(settings->loss_scaler, settings->loss_scale);
	return RUN(copy, o->SCALER_BEGIN.scaler, b->scaler_begin, sizeof *b->scaler_begin);
}

enum status rank_loss_scale_ended(const struct loss_scale *scaler)
{
	return status_fail(STATUS_RUN,
	                   "gradients overflow in fp16 even at the smallest loss scale, %g, after %.0f skipped steps; "
	                   "lower {learning_rate}, give {clip}, or use {precision} bf16",
	                   (double)scaler->scale, (double)scaler->skipped);
}

/* ---- the optimizer ---- */

/* The sum of squares as the kernels read it. */
static const float *squares_of(const struct binding *b, const float *norm)
{
	if (!norm || !b->memory->plan->settings.reproducible)
		return norm;
	*b->scalar = (float)exact_value(norm);
	return b->scalar;
}

static struct update update_of(const struct binding *b, const struct op *op, const union operands *o)
{
	const struct settings *s = &b->memory->plan->settings;
	return (struct update){.learning_rate = s->learning_rate,
	                       .warmup = s->warmup,
	                       .decay = s->decay,
	                       .beta1 = 0.9F,
	                       .beta2 = 0.999F,
	                       .epsilon = 1e-8F,
	                       .weight_decay = (float)s->weight_decay,
	                       .clip = s->clip,
	                       .step = operand_part(o, op, PART_COUNTER),
	                       .squares = squares_of(b, operand_part(o, op, PART_NORM)),
	                       .scaler = operand_part(o, op, PART_SCALER),
	                       .overflow = operand_part(o, op, PART_OVERFLOW),
	                       .keep_parameters = op_access(op, op_find(op->kind, PART_PARAMETERS)) == 'w'};
}

/* The vectors that an update goes through. Some may be absent. */
struct vectors {
	enum element type;
	bool adamw;
	unsigned char *parameters, *gradients;
	float *first, *second, *master;
};

static float *from(float *vector, int64_t at)
{
	return vector ? vector + at : NULL;
}

/* `n` elements of them from `at` on. */
static int update_part(const struct binding *b, const struct update *u, const struct vectors *v, int64_t at, int64_t n)
{
	int64_t bytes = at * element_bytes(v->type);
	if (n == 0)
		return 0;
	if (v->adamw)
		return RUN(adamw_update, v->type, u, n, v->parameters + bytes, v->gradients + bytes, from(v->first, at),
		           from(v->second, at), from(v->master, at));
	return RUN(sgd_update, v->type, u, n, v->parameters + bytes, v->gradients + bytes, from(v->master, at));
}

/* Stochastic rounding goes tensor by tensor, since elements are numbered through the whole model. Between and behind
 * tensors there is padding, zeros that need no rounding. */
static int update_all(const struct binding *b, const struct op *op, struct update u, const struct vectors *v, int64_t n)
{
	struct rounding_run r;
	int64_t done = 0;
	int error = 0;
	for (int i = 0; op->stochastic && !error && rounding_next(b->memory, op, &i, &r); done = r.at + r.count) {
		u.stochastic = false;
		error = update_part(b, &u, v, done, r.at - done);
		u.stochastic = true;
		u.rounding = r.rounding;
		if (!error)
			error = update_part(b, &u, v, r.at, r.count);
	}
	u.stochastic = false;
	return error ? error : update_part(b, &u, v, done, n - done);
}

BOUND(optimizer)
{
	const struct vectors v = {.type = element_of(m, op, op_find(op->kind, PART_PARAMETERS)),
	                          .adamw = op->kind == OP_ADAMW,
	                          .parameters = operand_part(o, op, PART_PARAMETERS),
	                          .gradients = operand_part(o, op, PART_GRADIENTS),
	                          .first = operand_part(o, op, PART_FIRST_MOMENT),
	                          .second = operand_part(o, op, PART_SECOND_MOMENT),
	                          .master = operand_part(o, op, PART_MASTER)};
	return update_all(b, op, update_of(b, op, o), &v, elements_of(m, op));
}

const struct binding_row bind_update[OP_KIND_COUNT] = {
        BIND(ADAMW, optimizer, adamw_update),
        BIND(SGD, optimizer, sgd_update),
        BIND(SQUARES, squares, vector_squares),
        BIND(SCALER_BEGIN, scaler_begin, copy),
};
