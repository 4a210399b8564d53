/* The optimizer, the loss scale, and vector work that knows nothing of the model. */
#include "real/cuda/operations.h"
#include "real/rank/rounding.h"

#include <stddef.h>

static enum type type_of(const struct rank_memory *d, const struct op *op, int operand)
{
	return d->role->buffers[op->operand[operand].buffer].type;
}

/* ---- vectors ---- */

int cuda_zero(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	int64_t n;
	void *x = use_all(&c->rank, op, 0, &n);
	return c->api->fill(c->cuda, s, x, 0, (size_t)(n * type_bytes(type_of(&c->rank, op, 0))));
}

/* Between floating-point types it converts; others are only moved, also from one space to another. */
int cuda_copy(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	struct rank_memory *d = &c->rank;
	enum transfer_kind kind = op_transfer(d->role, op);
	int64_t n;
	void *x = use_all(d, op, 0, &n), *y = use_all(d, op, 1, &n);
	enum type from = type_of(d, op, 0), to = type_of(d, op, 1);
	if (kind != TRANSFER_COUNT) {
		d->transfer[kind].calls++;
		d->transfer[kind].bytes += n * type_bytes(from);
	} else if (from != to) {
		return c->api->vector_convert(c->cuda, s, n, (enum element)from, x, (enum element)to, y);
	}
	return c->api->copy(c->cuda, s, y, x, (size_t)(n * type_bytes(from)));
}

int cuda_add(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	int64_t n;
	void *x = use_all(&c->rank, op, 0, &n), *y = use_all(&c->rank, op, 1, &n);
	return c->api->vector_add(c->cuda, s, element_of(&c->rank, op, 0), n, x, y);
}

int cuda_squares(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	int64_t n;
	const void *x = use_all(&c->rank, op, 0, &n);
	return c->api->vector_squares(c->cuda, s, element_of(&c->rank, op, 0), n, x, use(&c->rank, op, 1, 1),
	                              adds(op, 1));
}

int cuda_advance(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	for (int i = 0; i < c->slot_count; i++)
		if (c->rank.role->ops[c->slots[i].op].operand[2].buffer == op->operand[0].buffer) {
			c->step++; /* as loads that come after it will read it */
			break;
		}
	return c->api->advance(c->cuda, s, use(&c->rank, op, 0, 1));
}

/* ---- the loss scale ---- */

_Static_assert(CUDA_SCALER_SCALE * sizeof(float) == offsetof(struct loss_scale, scale) &&
                       CUDA_SCALER_GOOD * sizeof(float) == offsetof(struct loss_scale, good) &&
                       CUDA_SCALER_HYSTERESIS * sizeof(float) == offsetof(struct loss_scale, hysteresis) &&
                       CUDA_SCALER_SKIPPED * sizeof(float) == offsetof(struct loss_scale, skipped),
               "the loss scale's state is laid out for the GPU's kernels");

int cuda_overflow(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	int64_t n, one;
	const void *x = use_all(&c->rank, op, 0, &n);
	float *overflow = use_all(&c->rank, op, 1, &one);
	return c->api->vector_overflow(c->cuda, s, element_of(&c->rank, op, 0), n, x, overflow, adds(op, 1));
}

int cuda_scaler_begin(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	const struct settings *settings = &c->rank.plan->settings;
	int64_t n;
	void *scaler = use_all(&c->rank, op, 0, &n);
	*c->scaler_begin = loss_scale_begin(settings->loss_scaler, settings->loss_scale);
	return c->api->copy(c->cuda, s, scaler, c->scaler_begin, sizeof *c->scaler_begin);
}

int cuda_scaler_update(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	const struct settings *settings = &c->rank.plan->settings;
	const struct loss_scale_rule *rule = loss_scale_rule(settings->loss_scaler);
	struct cuda_loss_scale_rule r = {.pytorch = settings->loss_scaler == LOSS_SCALER_PYTORCH,
	                                 .minimum = rule->minimum,
	                                 .window = settings->loss_scale_window,
	                                 .hysteresis = rule->hysteresis};
	int64_t n;
	float *scaler = use_all(&c->rank, op, 0, &n);
	const float *overflow = use_all(&c->rank, op, 1, &n);
	return c->api->scaler_update(c->cuda, s, &r, overflow, scaler, c->gave_up);
}

/* ---- the optimizer ---- */

/* Of an update whose step counter is at `step` operand; norm, scaler and overflow follow. */
static struct cuda_update update_of(struct cuda_device *c, const struct op *op, int step)
{
	struct rank_memory *d = &c->rank;
	const struct settings *s = &d->plan->settings;
	int64_t n;
	return (struct cuda_update){.learning_rate = s->learning_rate,
	                            .warmup = s->warmup,
	                            .decay = s->decay,
	                            .beta1 = 0.9F,
	                            .beta2 = 0.999F,
	                            .epsilon = 1e-8F,
	                            .weight_decay = (float)s->weight_decay,
	                            .clip = s->clip,
	                            .step = use_all(d, op, step, &n),
	                            .squares = use(d, op, step + 1, 1),
	                            .scaler = use_all(d, op, step + 2, &n),
	                            .overflow = use_all(d, op, step + 3, &n),
	                            .keep_parameters = op_access(op, 0) == 'w'};
}

/* One of the optimizers, over `n` elements from `at` on of vectors of which some may be absent. */
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

static int update_run(struct cuda_device *c, cuda_stream s, const struct cuda_update *u, const struct vectors *v,
                      int64_t at, int64_t n)
{
	int64_t bytes = at * element_bytes(v->type);
	if (v->adamw)
		return c->api->adamw_update(c->cuda, s, v->type, u, n, v->parameters + bytes, v->gradients + bytes,
		                            from(v->first, at), from(v->second, at), from(v->master, at));
	return c->api->sgd_update(c->cuda, s, v->type, u, n, v->parameters + bytes, v->gradients + bytes,
	                          from(v->master, at));
}

/* Rounding stochastically, tensor by tensor: elements are numbered through the whole model. */
static int update(struct cuda_device *c, const struct op *op, cuda_stream s, struct cuda_update u,
                  const struct vectors *v, int64_t n)
{
	struct rounding_run r;
	int error = 0;
	if (!op->stochastic)
		return update_run(c, s, &u, v, 0, n);
	u.rounding = &r.rounding;
	for (int i = 0; !error && rounding_next(&c->rank, op, &i, &r);)
		error = update_run(c, s, &u, v, r.at, r.count);
	return error;
}

int cuda_adamw(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	struct rank_memory *d = &c->rank;
	int64_t n;
	struct vectors v = {.type = element_of(d, op, 0), .adamw = true, .parameters = use_all(d, op, 0, &n)};
	v.gradients = use_all(d, op, 1, &n);
	v.first = use_all(d, op, 2, &n);
	v.second = use_all(d, op, 3, &n);
	v.master = use(d, op, 4, n);
	return update(c, op, s, update_of(c, op, 5), &v, n);
}

int cuda_sgd(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	struct rank_memory *d = &c->rank;
	int64_t n;
	struct vectors v = {.type = element_of(d, op, 0), .parameters = use_all(d, op, 0, &n)};
	v.gradients = use_all(d, op, 1, &n);
	v.master = use(d, op, 2, n);
	return update(c, op, s, update_of(c, op, 3), &v, n);
}
