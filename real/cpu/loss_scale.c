/* The loss scale, and what becomes of gradients that left the range of their type. */
#include "real/rank/operand.h"

enum status cpu_overflow(struct rank_memory *d, const struct op *op)
{
	int64_t n, one;
	const void *x = use_all(d, op, 0, &n);
	float *overflow = use_all(d, op, 1, &one);
	bool finite = vector_is_finite(element_of(d, op, 0), n, x);
	bool before = adds(op, 1) && *overflow > 0;
	*overflow = before || !finite;
	return STATUS_OK;
}

enum status cpu_scaler_begin(struct rank_memory *d, const struct op *op)
{
	const struct settings *s = &d->plan->settings;
	int64_t n;
	struct loss_scale *scaler = use_all(d, op, 0, &n);
	*scaler = loss_scale_begin(s->loss_scaler, s->loss_scale);
	return STATUS_OK;
}

enum status cpu_loss_scale_ended(const struct loss_scale *scaler)
{
	return status_fail(STATUS_RUN,
	                   "gradients overflow in fp16 even at the smallest loss scale, %g, after %.0f skipped steps; "
	                   "lower {learning_rate}, give {clip}, or use {precision} bf16",
	                   (double)scaler->scale, (double)scaler->skipped);
}

enum status cpu_scaler_update(struct rank_memory *d, const struct op *op)
{
	const struct settings *s = &d->plan->settings;
	int64_t n;
	struct loss_scale *scaler = use_all(d, op, 0, &n);
	const float *overflow = use_all(d, op, 1, &n);
	float scale = scaler->scale;
	if (loss_scale_update(s->loss_scaler, s->loss_scale_window, *overflow > 0, scaler))
		return STATUS_OK;
	return cpu_loss_scale_ended(&(struct loss_scale){.scale = scale, .skipped = scaler->skipped});
}

double cpu_loss_scale(struct rank_memory *d, const struct op *op, int operand)
{
	int64_t n;
	const struct loss_scale *scaler = use_all(d, op, operand, &n);
	return scaler ? (double)scaler->scale : 1;
}

struct cpu_range cpu_range_of(struct rank_memory *d, const struct op *op, int step_operand)
{
	int64_t n;
	const int64_t *step = use_all(d, op, step_operand, &n);
	const struct loss_scale *scaler = use_all(d, op, step_operand + 2, &n);
	const float *overflow = use_all(d, op, step_operand + 3, &n);
	/* Where a plan that was not verified began no scaler, there may be anything. */
	float skipped = scaler ? scaler->skipped : 0;
	bool counted = skipped > 0 && skipped < 1e15F;
	return (struct cpu_range){.skip = overflow && *overflow > 0,
	                          .step = *step - (counted ? (int64_t)skipped : 0),
	                          .unscale = scaler ? 1 / (double)scaler->scale : 1};
}
