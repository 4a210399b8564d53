#include "tests/support/trainer.h"

#include "real/cpu/device.h"
#include "tests/support/plans.h"
#include <math.h>
#include <string.h>

int role_buffer(const struct role *r, const char *name)
{
	for (int i = 0; i < r->buffer_count; i++)
		if (!strcmp(r->buffers[i].name, name))
			return i;
	return -1;
}

static void training(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	struct trainer *t = context;
	dataset_fill(&t->data, (uint64_t)t->plan->settings.seed, first, count, inputs, targets);
}

static void validation(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	struct trainer *t = context;
	dataset_fill_validation(&t->data, first, count, inputs, targets);
}

static enum status open_trainer(struct trainer *t, const struct plan *p, const char *data, bool guard,
                                struct communicator *communicator, const struct weight_source *weights)
{
	const struct model *m = p->model;
	*t = (struct trainer){.plan = p};
	struct dataset_spec spec = {.kind = m->is_text ? DATASET_TEXT : DATASET_IMAGES,
	                            .path = data,
	                            .tokens = m->tokens,
	                            .pixels = m->input_elements,
	                            .classes = m->classes};
	enum status s = dataset_open(&t->data, &spec);
	struct input_source input = {t, training, validation, t->data.validation_samples};
	if (!s)
		s = rank_memory_open(&t->device, p, 0, &input, guard, support_folder(), NULL);
	if (!s)
		s = cpu_executor_open(&t->executor, &t->device, communicator);
	if (!s && weights)
		t->device.weights = *weights;
	return s ? s : executor_run(t->executor, &t->device.role->prologue);
}

enum status trainer_open_among(struct trainer *t, const struct plan *p, const char *data, bool guard,
                               struct communicator *communicator)
{
	return open_trainer(t, p, data, guard, communicator, NULL);
}

enum status trainer_open_from(struct trainer *t, const struct plan *p, const char *data,
                              const struct weight_source *weights)
{
	return open_trainer(t, p, data, false, NULL, weights);
}

enum status trainer_open(struct trainer *t, const struct plan *p, const char *data, bool guard)
{
	return trainer_open_among(t, p, data, guard, NULL);
}

enum status trainer_step(struct trainer *t, double *loss)
{
	enum status s = executor_run(t->executor, &t->device.role->step);
	int buffer = role_buffer(t->device.role, "loss");
	*loss = buffer < 0 ? NAN : (double)*(const float *)rank_memory_buffer(&t->device, buffer);
	return s;
}

enum status trainer_logits(struct trainer *t, const float **logits)
{
	const struct role *r = t->device.role;
	struct section forward = {r->step.begin, r->step.begin};
	while (r->ops[forward.end].kind != OP_CLASSIFIER)
		forward.end++;
	enum status s = executor_run(t->executor, &forward);
	*logits = rank_memory_buffer(&t->device, role_buffer(r, "logits"));
	return s;
}

enum status trainer_evaluate(struct trainer *t, double *loss)
{
	struct rank_memory *d = &t->device;
	d->evaluating = true;
	d->evaluate_pass = d->evaluate_total = 0;
	d->evaluate_loss = 0;
	enum status s = executor_run(t->executor, &d->role->evaluate);
	d->evaluating = false;
	*loss = d->evaluate_loss / (double)d->evaluate_total;
	return s;
}

enum status trainer_finish(struct trainer *t, uint64_t *checksum)
{
	enum status s = executor_run(t->executor, &t->device.role->epilogue);
	*checksum = t->device.checksum;
	return s;
}

void trainer_release(struct trainer *t)
{
	executor_close(t->executor);
	rank_memory_release(&t->device);
	dataset_release(&t->data);
	*t = (struct trainer){0};
}

float *trainer_tensor(struct trainer *t, const char *state, int tensor)
{
	const struct plan *p = t->plan;
	const struct group *g = &p->groups[p->tensor_group[tensor]];
	float *whole = rank_memory_buffer(&t->device, role_buffer(t->device.role, state));
	return whole + g->base + p->tensor_offset[tensor];
}
