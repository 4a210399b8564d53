/* Samples on their way to the GPU. */
#include <stdlib.h>

#include "real/cuda/device.h"
#include "real/rank/load.h"
#include "real/rank/operand.h"

static int64_t input_bytes(const struct cuda_device *c, const struct op *op)
{
	const struct rank_memory *m = &c->rank;
	if (op->operand[LOAD_INPUTS].buffer < 0)
		return 0;
	return samples_of(m, op) * m->plan->model->input_elements *
	       type_bytes(m->role->buffers[op->operand[LOAD_INPUTS].buffer].type);
}

static int64_t target_bytes(const struct cuda_device *c, const struct op *op)
{
	if (op->operand[LOAD_TARGETS].buffer < 0)
		return 0;
	return samples_of(&c->rank, op) * c->rank.plan->model->tokens * (int64_t)sizeof(int32_t);
}

static enum status open_slots(struct cuda_device *c, struct cuda_slots *slots, int number)
{
	const struct op *op = &c->rank.role->ops[number];
	int64_t inputs = (input_bytes(c, op) + 63) / 64 * 64, targets = (target_bytes(c, op) + 63) / 64 * 64;
	void *at = NULL;
	*slots = (struct cuda_slots){.op = number, .step = {-1, -1}};
	int error = c->api->allocate_host(c->context, (size_t)(2 * (inputs + targets) + 64), &at);
	if (error)
		return cuda_device_error(c, error, "no pinned memory for samples");
	char *bytes = at;
	for (int i = 0; i < 2; i++, bytes += inputs + targets) {
		slots->inputs[i] = inputs ? bytes : NULL;
		slots->targets[i] = targets ? (int32_t *)(bytes + inputs) : NULL;
	}
	return STATUS_OK;
}

enum status cuda_slots_open(struct cuda_device *c)
{
	const struct role *r = c->rank.role;
	int loads = 0;
	for (int i = 0; i < r->op_count; i++)
		loads += r->ops[i].kind == OP_LOAD;
	c->slots = array_make((size_t)loads, sizeof *c->slots);
	for (int i = 0; i < r->op_count; i++) {
		if (r->ops[i].kind != OP_LOAD)
			continue;
		TRY(open_slots(c, &c->slots[c->slot_count], i));
		c->slot_count++;
	}
	return STATUS_OK;
}

static bool is_in(const struct section *s, int op)
{
	return op >= s->begin && op < s->end;
}

bool cuda_slots_are_in(const struct cuda_device *c, const struct section *s)
{
	for (int i = 0; i < c->slot_count; i++)
		if (is_in(s, c->slots[i].op))
			return true;
	return false;
}

enum status cuda_slots_begin(struct cuda_device *c, const struct section *s)
{
	for (int i = 0; i < c->slot_count && !c->step_known; i++) {
		int64_t n;
		if (!is_in(s, c->slots[i].op))
			continue;
		const struct op *op = &c->rank.role->ops[c->slots[i].op];
		TRY(cuda_device_copy(c, &c->step, rank_memory_region(&c->rank, &op->operand[LOAD_STEP], &n),
		                     sizeof c->step));
		c->step_known = true;
	}
	return STATUS_OK;
}

/* Validation samples do not depend on the step and are taken anew each time. */
static void fill_slot(struct cuda_device *c, struct cuda_slots *slots, int64_t step)
{
	int i = (int)(step & 1);
	if (slots->step[i] == step && !c->rank.evaluating)
		return;
	rank_load_samples(&c->rank, &c->rank.role->ops[slots->op], step, slots->inputs[i], slots->targets[i]);
	slots->step[i] = step;
}

void cuda_slots_fill(struct cuda_device *c, const struct section *s, int64_t step)
{
	for (int i = 0; i < c->slot_count; i++)
		if (is_in(s, c->slots[i].op))
			fill_slot(c, &c->slots[i], step);
}

int cuda_load(struct cuda_device *c, const struct op *op, kernel_stream s)
{
	struct rank_memory *m = &c->rank;
	struct cuda_slots *slots = c->slots;
	while (&m->role->ops[slots->op] != op)
		slots++;
	fill_slot(c, slots, c->step);
	const union operands o = operands_of(m, op);
	int error = 0, i = (int)(c->step & 1);
	if (o.LOAD.inputs)
		error = c->api->kernels.copy(c->context, s, o.LOAD.inputs, slots->inputs[i],
		                             (size_t)input_bytes(c, op));
	if (o.LOAD.targets && !error)
		error = c->api->kernels.copy(c->context, s, o.LOAD.targets, slots->targets[i],
		                             (size_t)target_bytes(c, op));
	return error;
}

void cuda_slots_advance(struct cuda_device *c, const struct op *op)
{
	for (int i = 0; i < c->slot_count; i++)
		if (c->rank.role->ops[c->slots[i].op].operand[LOAD_STEP].buffer == op->operand[ADVANCE_STEP].buffer) {
			c->step++;
			return;
		}
}
