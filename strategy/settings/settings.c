#include "strategy/settings/settings.h"

#include <inttypes.h>

#include "strategy/base/number.h"

/* Only fp16 needs a loss scale: bf16 has the range of fp32. */
static enum status resolve_loss_scale(struct settings *s)
{
	bool given = s->loss_scaler != LOSS_SCALER_NONE || s->loss_scale > 0 || s->loss_scale_window > 0;
	if (s->precision != TYPE_FP16) {
		if (!given)
			return STATUS_OK;
		return status_fail(STATUS_INPUT,
		                   "%s scales the loss of fp16, and {precision} is %s; leave it out, or say "
		                   "{precision} fp16",
		                   status_words(s->loss_scaler != LOSS_SCALER_NONE ? "{loss_scaler}"
		                                : s->loss_scale > 0                ? "{loss_scale}"
		                                                                   : "{loss_scale_window}"),
		                   type_name(s->precision));
	}
	if (s->loss_scaler == LOSS_SCALER_NONE)
		s->loss_scaler = LOSS_SCALER_DEEPSPEED;
	const struct loss_scale_rule *rule = loss_scale_rule(s->loss_scaler);
	if (s->loss_scale <= 0)
		s->loss_scale = rule->initial;
	if (!s->loss_scale_window)
		s->loss_scale_window = rule->window;
	if (s->loss_scale < rule->minimum)
		return status_fail(STATUS_INPUT, "{loss_scale}: %g is below the minimum of %s's rule, %g",
		                   s->loss_scale, loss_scaler_name(s->loss_scaler), rule->minimum);
	return STATUS_OK;
}

/* fp32 parameters are their own master weights. */
static enum status check_rounding(const struct settings *s)
{
	if (!s->stochastic_rounding || s->precision != TYPE_FP32)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "{stochastic_rounding} rounds 16-bit parameters, and {precision} is fp32, "
	                                 "which rounds none; leave it out, or say {precision} bf16");
}

/* fp32's products have TF32 for that. */
static enum status check_fp8(const struct settings *s)
{
	if (!s->fp8 || s->precision != TYPE_FP32)
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "{fp8} is how products of 16 bits are computed, and {precision} is fp32; leave "
	                   "it out, or say {precision} bf16");
}

/* The default is adamw's, and stands for nothing here. */
static enum status check_decay(const struct settings *s)
{
	double unsaid = settings_default().weight_decay;
	if (s->optimizer != OPTIMIZER_SGD || s->weight_decay <= 0 ||
	    (s->weight_decay >= unsaid && s->weight_decay <= unsaid))
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "{weight_decay} is adamw's, and {optimizer} is sgd, which has none here; leave it "
	                   "out, or say {optimizer} adamw");
}

/* *out = batch / (data ranks × factor), which must be whole. */
static enum status divide_batch(const struct settings *s, const char *ranks, int64_t data_ranks, const char *name,
                                int64_t factor, int64_t *out)
{
	int64_t divisor;
	if (factor == 1 && s->batch % data_ranks)
		return status_fail(STATUS_INPUT,
		                   "{batch} %" PRId64 " is not divisible by %" PRId64 " %s; change one of them",
		                   s->batch, data_ranks, ranks);
	if (!multiply(data_ranks, factor, &divisor) || s->batch % divisor)
		return status_fail(STATUS_INPUT,
		                   "{batch} %" PRId64 " is not divisible by %s × %s = %" PRId64 " × %" PRId64
		                   "; change one of them",
		                   s->batch, ranks, name, data_ranks, factor);
	*out = s->batch / divisor;
	return STATUS_OK;
}

/* ---- reproducible: the batch is cut into as many micro-batches whatever the number of ranks ---- */

enum { REPRODUCIBLE_MICROS = 8 };

static bool is_power_of_two(int64_t n)
{
	return n > 0 && !(n & (n - 1));
}

static int64_t largest_power_in(int64_t n)
{
	return n & -n;
}

static enum status choose_micros(struct settings *s, int64_t data_ranks)
{
	if (!s->reproducible)
		return STATUS_OK;
	if (!is_power_of_two(data_ranks))
		return status_fail(STATUS_INPUT,
		                   "{reproducible} adds up in a binary tree, and %" PRId64
		                   " ranks are no power of two; give {ranks} 1, 2, 4, 8, …",
		                   data_ranks);
	if (s->micro_batch || s->accumulate)
		return STATUS_OK;
	if (!s->batch && !multiply(4, data_ranks, &s->batch))
		return status_fail(STATUS_INPUT, "{ranks}: %" PRId64 " are too many", data_ranks);
	int64_t most = largest_power_in(s->batch), micros = most < REPRODUCIBLE_MICROS ? most : REPRODUCIBLE_MICROS;
	if (micros < data_ranks)
		return status_fail(
		        STATUS_INPUT,
		        "{reproducible} cuts {batch} %" PRId64 " into %" PRId64 " micro-batches, and there are %" PRId64
		        " ranks; say with {micro_batch} how large they are, the same for every number of ranks",
		        s->batch, micros, data_ranks);
	s->micro_batch = s->batch / micros;
	return STATUS_OK;
}

static enum status check_micros(const struct settings *s)
{
	if (!s->reproducible || is_power_of_two(s->batch / s->micro_batch))
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "{reproducible} adds up in a binary tree, and {batch} %" PRId64 " has %" PRId64
	                   " micro-batches of %" PRId64 ", no power of two; change {batch} or {micro_batch}",
	                   s->batch, s->batch / s->micro_batch, s->micro_batch);
}

enum status settings_resolve(struct settings *s, int64_t data_ranks)
{
	int64_t given_batch = s->batch, per_step;
	const char *ranks = data_ranks == s->ranks ? "ranks" : "data ranks";
	enum status status = choose_micros(s, data_ranks);
	if (status)
		return status;
	if (!s->accumulate && s->batch && s->micro_batch)
		status = divide_batch(s, ranks, data_ranks, "micro-batch", s->micro_batch, &s->accumulate);
	else if (!s->accumulate)
		s->accumulate = 1;
	if (!s->batch && !s->micro_batch &&
	    !multiply(4, s->ranks / data_ranks, &s->micro_batch)) /* batch = 4 × ranks */
		return status_fail(STATUS_INPUT, "ranks × micro-batch × accumulate is too large");
	if (!s->micro_batch)
		status = divide_batch(s, ranks, data_ranks, "accumulate", s->accumulate, &s->micro_batch);
	if (status)
		return status;
	if (!multiply(data_ranks, s->micro_batch, &per_step) || !multiply(per_step, s->accumulate, &s->batch))
		return status_fail(STATUS_INPUT, "%s × micro-batch × accumulate is too large", ranks);
	if (given_batch && given_batch != s->batch)
		return status_fail(STATUS_INPUT,
		                   "{batch} %" PRId64 " is not %s × micro-batch × accumulate = %" PRId64 " × %" PRId64
		                   " × %" PRId64 "; leave one of them out",
		                   given_batch, ranks, data_ranks, s->micro_batch, s->accumulate);
	if (s->accumulate > SETTING_MOST_ACCUMULATE)
		return status_fail(STATUS_INPUT, "{accumulate}: %" PRId64 " is above %d", s->accumulate,
		                   SETTING_MOST_ACCUMULATE);
	if ((status = check_fp8(s)) || (status = check_decay(s)) || (status = check_micros(s)))
		return status;
	status = check_rounding(s);
	return status ? status : resolve_loss_scale(s);
}

const char *optimizer_name(enum optimizer o)
{
	return o == OPTIMIZER_ADAMW ? "adamw" : "sgd";
}
