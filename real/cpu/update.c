/* The optimizer: how gradients become parameters. */
#include <math.h>

#include "real/rank/operand.h"
#include "real/rank/rounding.h"

double settings_learning_rate(const struct settings *s, int64_t step)
{
	double rate = s->learning_rate;
	if (s->warmup > 0 && step <= s->warmup)
		return rate * (double)step / (double)s->warmup;
	if (s->decay <= 0)
		return rate;
	double done = (double)(step - s->warmup) / (double)(s->decay - s->warmup > 0 ? s->decay - s->warmup : 1);
	return rate * (1 - 0.9 * (done < 1 ? done : 1));
}

/* What the gradients are multiplied by: out of the loss scale, and clipped by the global norm as
 * torch.nn.utils.clip_grad_norm_ does: clip / (norm + 1e-6), at most 1. */
static float gradient_factor(struct rank_memory *d, const struct op *op, int norm_operand, double unscale)
{
	const float *squares = use(d, op, norm_operand, 1);
	double factor = squares ? d->plan->settings.clip / (sqrt((double)*squares) * unscale + 1e-6) : 1;
	return (float)(factor < 1 ? factor * unscale : unscale);
}

/* Everything stays as it is after an overflow; and before the first gradient of a delayed update is there, when the
 * count of updates is 0. */
static bool is_kept(const struct cpu_range *r)
{
	return r->skip || r->step < 1;
}

/* 16-bit parameters of the master weights, with the bits of an update; of those before any update, and where rounding
 * is not stochastic, they are rounded to the nearest already. */
static void round_parameters(const struct rank_memory *d, const struct op *op, int64_t step, const float *master,
                             void *parameters)
{
	struct rounding_run r;
	if (!op->stochastic || step < 1)
		return;
	for (int i = 0; rounding_next(d, op, &i, &r);)
		vector_round(element_of(d, op, 0), &r.rounding, step, r.count, master + r.at,
		             (uint16_t *)parameters + r.at);
}

/* Kept master weights: parameters in memory of their own are as they were; those that the host makes anew come from the
 * master weights as after the update before. */
static void keep_parameters(const struct rank_memory *d, const struct op *op, int64_t step, int64_t n,
                            const float *master, void *parameters)
{
	if (op_access(op, 0) != 'w')
		return;
	vector_convert(n, ELEMENT_FP32, master, element_of(d, op, 0), parameters);
	round_parameters(d, op, step - 1, master, parameters);
}

enum status cpu_adamw(struct rank_memory *d, const struct op *op)
{
	const struct settings *s = &d->plan->settings;
	struct cpu_range range = cpu_range_of(d, op, 5);
	int64_t n;
	void *parameters = use_all(d, op, 0, &n), *gradients = use_all(d, op, 1, &n);
	float *first = use_all(d, op, 2, &n), *second = use_all(d, op, 3, &n), *master = use(d, op, 4, n);
	float factor = gradient_factor(d, op, 6, range.unscale);
	struct adamw a = {.learning_rate = (float)settings_learning_rate(s, range.step),
	                  .beta1 = 0.9F,
	                  .beta2 = 0.999F,
	                  .epsilon = 1e-8F,
	                  .weight_decay = (float)s->weight_decay};
	if (is_kept(&range)) {
		keep_parameters(d, op, range.step, n, master, parameters);
		return STATUS_OK;
	}
	adamw_update(element_of(d, op, 0), &a, range.step, n, parameters, gradients, factor, first, second, master);
	round_parameters(d, op, range.step, master, parameters);
	return STATUS_OK;
}

enum status cpu_sgd(struct rank_memory *d, const struct op *op)
{
	struct cpu_range range = cpu_range_of(d, op, 3);
	int64_t n;
	void *parameters = use_all(d, op, 0, &n), *gradients = use_all(d, op, 1, &n);
	float *master = use(d, op, 2, n), factor = gradient_factor(d, op, 4, range.unscale);
	float rate = (float)settings_learning_rate(&d->plan->settings, range.step);
	if (is_kept(&range)) {
		keep_parameters(d, op, range.step, n, master, parameters);
		return STATUS_OK;
	}
	sgd_update(element_of(d, op, 0), rate, n, parameters, gradients, factor, master);
	round_parameters(d, op, range.step, master, parameters);
	return STATUS_OK;
}
