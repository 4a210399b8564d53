/* An optimizer's update apart from the arithmetic on its vectors: the step, whether it is skipped, how gradients are
 * unscaled and clipped, and the learning rate. CPU and GPU share this source.
 *
 *     struct update u = {.learning_rate = 1e-3, .step = &step};
 *     kernels->adamw_update(context, stream, type, &u, n, parameters, gradients, first, second, master);
 */
#ifndef SHARDLAB_UPDATE_H
#define SHARDLAB_UPDATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "kernels/loss_scale.h"
#include "kernels/rounding.h"

struct update {
	double learning_rate;                      /* before warm-up and decay */
	int64_t warmup, decay;                     /* as strategy/settings/settings.h */
	float beta1, beta2, epsilon, weight_decay; /* AdamW */
	double clip;                               /* of the global norm; read if `squares` is given */
	/* In the device's memory, read when the kernel runs: */
	const int64_t *step;   /* updates that were begun, from 1; less the scaler's skipped ones: those made */
	const float *squares;  /* the sum of squares of all gradients; NULL: no clipping */
	const float *scaler;   /* SCALER_ELEMENTS floats; NULL: no loss scale */
	const float *overflow; /* > 0: leave everything as it is; NULL: never */
	bool keep_parameters;  /* parameters are made anew from the master also when nothing is updated */
	bool stochastic;       /* 16-bit parameters are rounded so, else to the nearest */
	struct rounding rounding;
};

/* Values that follow from the step at hand. */
struct update_now {
	bool kept;    /* nothing is updated: gradients overflowed, or a delayed update's first ones are not there yet */
	int64_t step; /* of the optimizer: counts the updates that were made, from 1 */
	float rate, gradient_factor;
};

/* Linear warm-up, then linear decay to a tenth. */
ON_ANY_DEVICE double update_rate(const struct update *u, int64_t step)
{
	double rate = u->learning_rate;
	if (u->warmup > 0 && step <= u->warmup)
		return rate * (double)step / (double)u->warmup;
	if (u->decay <= 0)
		return rate;
	double done = (double)(step - u->warmup) / (double)(u->decay - u->warmup > 0 ? u->decay - u->warmup : 1);
	return rate * (1 - 0.9 * (done < 1 ? done : 1));
}

/* The factor that takes the loss scale out of gradients and clips them by the global norm as
 * torch.nn.utils.clip_grad_norm_ does: clip / (norm + 1e-6), at most 1. */
ON_ANY_DEVICE float update_gradient_factor(const struct update *u)
{
	double unscale = u->scaler ? 1 / (double)u->scaler[SCALER_SCALE] : 1;
	double factor = u->squares ? u->clip / (sqrt((double)*u->squares) * unscale + 1e-6) : 1;
	return (float)(factor < 1 ? factor * unscale : unscale);
}

ON_ANY_DEVICE struct update_now update_now_of(const struct update *u)
{
	struct update_now now;
	/* A plan that was not verified may have left the scaler uninitialized. */
	float skipped = u->scaler ? u->scaler[SCALER_SKIPPED] : 0;
	now.step = *u->step - (skipped > 0 && skipped < 1e15F ? (int64_t)skipped : 0);
	now.kept = (u->overflow && *u->overflow > 0) || now.step < 1;
	now.rate = (float)update_rate(u, now.step);
	now.gradient_factor = update_gradient_factor(u);
	return now;
}

/* The factors of AdamW's arithmetic, from its settings and the step. */
struct adamw_factors {
	float decay, rest1, rest2, step_size, root_correction;
};

ON_ANY_DEVICE struct adamw_factors adamw_factors_of(const struct adamw *a, int64_t step)
{
	double beta1 = (double)a->beta1, beta2 = (double)a->beta2, rate = (double)a->learning_rate;
	struct adamw_factors f;
	f.decay = (float)(1.0 - rate * (double)a->weight_decay);
	f.rest1 = (float)(1.0 - beta1);
	f.rest2 = (float)(1.0 - beta2);
	f.step_size = (float)(rate / (1.0 - pow(beta1, (double)step)));
	f.root_correction = (float)(1.0 / sqrt(1.0 - pow(beta2, (double)step)));
	return f;
}

#endif
