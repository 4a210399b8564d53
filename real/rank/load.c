/* The samples that a rank loads, in training and in validation. */
#include <string.h>

#include "real/rank/load.h"
#include "real/rank/operand.h"

/* The place of this rank among those that have samples of their own. */
static int64_t data_place(const struct rank_memory *memory)
{
	return plan_place(memory->plan, plan_data_axes(memory->plan), memory->rank);
}

static enum type input_type(const struct rank_memory *memory, const struct op *op)
{
	return memory->role->buffers[op->operand[LOAD_INPUTS].buffer].type;
}

typedef void take_samples(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets);

/* 16-bit inputs are converted sample by sample from fp32. */
static void load_samples(struct rank_memory *memory, const struct op *op, take_samples *take, int64_t first,
                         int64_t count, void *inputs, int32_t *targets)
{
	const struct model *m = memory->plan->model;
	enum type type = inputs ? input_type(memory, op) : TYPE_FP32;
	if (type_bytes(type) == 4) {
		take(memory->input.context, first, count, inputs, targets);
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		take(memory->input.context, first + i, 1, memory->sample, targets ? targets + i * m->tokens : NULL);
		vector_convert(m->input_elements, ELEMENT_FP32, memory->sample, (enum element)type,
		               (uint16_t *)inputs + i * m->input_elements);
	}
}

/* With n data ranks, sample m·n·micro + place·micro + i of the step's batch is the i-th of micro-batch m at that place;
 * in a row, of k micro-batches, place·k·micro + m·micro + i. */
static void load_training(struct rank_memory *memory, const struct op *op, int64_t step, void *inputs, int32_t *targets)
{
	const struct settings *s = &memory->plan->settings;
	int64_t micros = op->in_a_row ? 1 : plan_data_ranks(memory->plan), places = op->in_a_row ? s->accumulate : 1;
	int64_t first = step * s->batch + op->micro * s->micro_batch * micros;
	if (!op->all_ranks)
		first += data_place(memory) * s->micro_batch * places;
	load_samples(memory, op, memory->input.training, first, samples_of(memory, op), inputs, targets);
}

static void load_validation(struct rank_memory *memory, const struct op *op, void *inputs, int32_t *targets)
{
	const struct settings *s = &memory->plan->settings;
	const struct model *m = memory->plan->model;
	int64_t samples = samples_of(memory, op);
	int64_t first = memory->evaluate_pass * s->micro_batch * plan_data_ranks(memory->plan) +
	                (op->all_ranks ? 0 : data_place(memory) * s->micro_batch);
	int64_t left = memory->input.validation_samples - first, count = left < samples ? left > 0 ? left : 0 : samples;
	/* Rows past the end of the data are computed like the others, and not counted. */
	if (inputs)
		memset(inputs, 0, (size_t)(samples * m->input_elements * type_bytes(input_type(memory, op))));
	if (targets)
		memset(targets, 0, (size_t)(samples * m->tokens) * sizeof *targets);
	if (count)
		load_samples(memory, op, memory->input.validation, first, count, inputs, targets);
	memory->evaluate_rows = count * m->tokens;
}

void rank_load_samples(struct rank_memory *memory, const struct op *op, int64_t step, void *inputs, int32_t *targets)
{
	if (memory->evaluating)
		load_validation(memory, op, inputs, targets);
	else
		load_training(memory, op, step, inputs, targets);
}
