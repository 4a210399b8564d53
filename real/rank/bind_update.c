/* The optimizer, the loss scale, and vector work that knows nothing of the model. */
#include <stddef.h>

#include "kernels/exact.h"
#include "real/rank/bind.h"
#include "real/rank/operand.h"
#include "real/rank/rounding.h"

_Static_assert((int)SCALAR_DIGITS == EXACT_DIGITS, "a plan has room for exact sums");

/* ---- vectors ---- */

BOUND(add)
{
	int64_t n;
	void *x = use_all(m, op, ADD_X, &n), *y = use_all(m, op, ADD_Y, &n);
	return RUN(vector_add, ELEMENT(ADD_X), n, x, y);
}

BOUND(squares)
{
	int64_t n;
	const void *x = use_all(m, op, SQUARES_X, &n);
	if (m->plan->settings.reproducible) {
		exact_add_squares(ELEMENT(SQUARES_X), n, x, exact_begin(USE(SQUARES_NORM), adds(op, SQUARES_NORM)));
		return 0;
	}
	return RUN(vector_squares, ELEMENT(SQUARES_X), n, x, ADD_TO(SQUARES_NORM));
}

BOUND(advance)
{
	return RUN(advance, USE(ADVANCE_STEP));
}

/* ---- the loss scale ---- */

_Static_assert(SCALER_SCALE * sizeof(float) == offsetof(struct loss_scale, scale) &&
                       SCALER_GOOD * sizeof(float) == offsetof(struct loss_scale, good) &&
                       SCALER_HYSTERESIS * sizeof(float) == offsetof(struct loss_scale, hysteresis) &&
                       SCALER_SKIPPED * sizeof(float) == offsetof(struct loss_scale, skipped) &&
                       SCALER_ELEMENTS * sizeof(float) == sizeof(struct loss_scale),
               "the loss scale's state is laid out as the kernels read it");

BOUND(overflow)
{
	int64_t n, one;
	const void *x = use_all(m, op, OVERFLOW_X, &n);
	float *overflow = use_all(m, op, OVERFLOW_OVERFLOW, &one);
	return RUN(vector_overflow, ELEMENT(OVERFLOW_X), n, x, overflow, adds(op, OVERFLOW_OVERFLOW));
}

BOUND(scaler_begin)
{
	const struct settings *settings = &m->plan->settings;
	int64_t n;
	void *scaler = use_all(m, op, SCALER_BEGIN_SCALER, &n);
	*b->scaler_begin = loss_scale_begin(settings->loss_scaler, settings->loss_scale);
	return RUN(copy, scaler, b->scaler_begin, sizeof *b->scaler_begin);
}

BOUND(scaler_update)
{
	const struct settings *settings = &m->plan->settings;
	const struct loss_scale_rule *rule = loss_scale_rule(settings->loss_scaler);
	const struct scale_rule r = {.pytorch = settings->loss_scaler == LOSS_SCALER_PYTORCH,
	                             .minimum = rule->minimum,
	                             .window = settings->loss_scale_window,
	                             .hysteresis = rule->hysteresis};
	int64_t n;
	float *scaler = use_all(m, op, SCALER_UPDATE_SCALER, &n);
	const float *overflow = use_all(m, op, SCALER_UPDATE_OVERFLOW, &n);
	return RUN(scaler_update, &r, overflow, scaler, b->gave_up);
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
static const float *squares_of(const struct binding *b, struct rank_memory *m, const struct op *op)
{
	const float *norm = use(m, op, op_find(op->kind, PART_NORM));
	if (!norm || !m->plan->settings.reproducible)
		return norm;
	*b->scalar = (float)exact_value(norm);
	return b->scalar;
}

static struct update update_of(const struct binding *b, struct rank_memory *m, const struct op *op)
{
	const struct settings *s = &m->plan->settings;
	return (struct update){.learning_rate = s->learning_rate,
	                       .warmup = s->warmup,
	                       .decay = s->decay,
	                       .beta1 = 0.9F,
	                       .beta2 = 0.999F,
	                       .epsilon = 1e-8F,
	                       .weight_decay = (float)s->weight_decay,
	                       .clip = s->clip,
	                       .step = use(m, op, op_find(op->kind, PART_COUNTER)),
	                       .squares = squares_of(b, m, op),
	                       .scaler = use(m, op, op_find(op->kind, PART_SCALER)),
	                       .overflow = use(m, op, op_find(op->kind, PART_OVERFLOW)),
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

BOUND(adamw)
{
	int64_t n;
	struct vectors v = {
	        .type = ELEMENT(ADAMW_PARAMETERS), .adamw = true, .parameters = use_all(m, op, ADAMW_PARAMETERS, &n)};
	v.gradients = use_all(m, op, ADAMW_GRADIENTS, &n);
	v.first = use_all(m, op, ADAMW_FIRST, &n);
	v.second = use_all(m, op, ADAMW_SECOND, &n);
	v.master = USE(ADAMW_MASTER);
	return update_all(b, op, update_of(b, m, op), &v, n);
}

BOUND(sgd)
{
	int64_t n;
	struct vectors v = {.type = ELEMENT(SGD_PARAMETERS), .parameters = use_all(m, op, SGD_PARAMETERS, &n)};
	v.gradients = use_all(m, op, SGD_GRADIENTS, &n);
	v.master = USE(SGD_MASTER);
	return update_all(b, op, update_of(b, m, op), &v, n);
}

const struct binding_row bind_update[OP_KIND_COUNT] = {
        BIND(ADD, add, vector_add, vector_add),
        BIND(ADAMW, adamw, adamw_update, adamw_update),
        BIND(SGD, sgd, sgd_update, sgd_update),
        BIND(SQUARES, squares, vector_squares, vector_squares),
        BIND(OVERFLOW, overflow, vector_overflow, vector_overflow),
        BIND(SCALER_BEGIN, scaler_begin, copy, copy),
        BIND(SCALER_UPDATE, scaler_update, scaler_update, scaler_update),
        BIND(ADVANCE, advance, advance, advance),
};
