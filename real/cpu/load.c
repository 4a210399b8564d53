/* Samples: which of them a rank loads, in training and in validation. */
#include <string.h>

#include "real/rank/operand.h"

/* The place of this rank among those that have samples of their own. */
static int64_t data_place(const struct cpu_device *d)
{
	return plan_place(d->plan, plan_data_axes(d->plan), d->rank);
}

static enum type input_type(const struct cpu_device *d, const struct op *op)
{
	return d->role->buffers[op->operand[0].buffer].type;
}

typedef void take_samples(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets);

/* 16-bit inputs come sample by sample, by way of one in fp32. */
static void load_samples(struct cpu_device *d, const struct op *op, take_samples *take, int64_t first, int64_t count,
                         void *inputs, int32_t *targets)
{
	const struct model *m = d->plan->model;
	enum type type = inputs ? input_type(d, op) : TYPE_FP32;
	if (type_bytes(type) == 4) {
		take(d->input.context, first, count, inputs, targets);
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		take(d->input.context, first + i, 1, d->sample, targets ? targets + i * m->tokens : NULL);
		vector_convert(m->input_elements, ELEMENT_FP32, d->sample, (enum element)type,
		               (uint16_t *)inputs + i * m->input_elements);
	}
}

/* Of n data ranks, sample m·n·micro + place·micro + i of the step's batch is the i-th of micro-batch m at that place.
 */
static void load_training(struct cpu_device *d, const struct op *op, int64_t step, void *inputs, int32_t *targets)
{
	const struct settings *s = &d->plan->settings;
	int64_t first = step * s->batch + op->micro * s->micro_batch * plan_data_ranks(d->plan);
	if (!op->wide)
		first += data_place(d) * s->micro_batch;
	load_samples(d, op, d->input.training, first, samples_of(d, op), inputs, targets);
}

static void load_validation(struct cpu_device *d, const struct op *op, void *inputs, int32_t *targets)
{
	const struct settings *s = &d->plan->settings;
	const struct model *m = d->plan->model;
	int64_t samples = samples_of(d, op);
	int64_t first = d->evaluate_pass * s->micro_batch * plan_data_ranks(d->plan) +
	                (op->wide ? 0 : data_place(d) * s->micro_batch);
	int64_t left = d->input.validation_samples - first, count = left < samples ? left > 0 ? left : 0 : samples;
	/* Rows past the end of the data are computed like the others, and not counted. */
	if (inputs)
		memset(inputs, 0, (size_t)(samples * m->input_elements * type_bytes(input_type(d, op))));
	if (targets)
		memset(targets, 0, (size_t)(samples * m->tokens) * sizeof *targets);
	if (count)
		load_samples(d, op, d->input.validation, first, count, inputs, targets);
	d->evaluate_rows = count * m->tokens;
}

void cpu_load_samples(struct cpu_device *d, const struct op *op, int64_t step, void *inputs, int32_t *targets)
{
	if (d->evaluating)
		load_validation(d, op, inputs, targets);
	else
		load_training(d, op, step, inputs, targets);
}

enum status cpu_load(struct cpu_device *d, const struct op *op)
{
	const struct model *m = d->plan->model;
	int64_t samples = samples_of(d, op);
	void *inputs = use(d, op, 0, samples * m->input_elements);
	int32_t *targets = use(d, op, 1, samples * m->tokens);
	const int64_t *step = use(d, op, 2, 1);
	cpu_load_samples(d, op, *step, inputs, targets);
	return STATUS_OK;
}
