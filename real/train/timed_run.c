#include "real/train/timed_run.h"

#include <stdio.h>

#include "strategy/strategies/strategy.h"

/* Samples differ, so that tables are read all over and no value is special. */
static void made_up_samples(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	const struct model *m = context;
	uint64_t state = (uint64_t)first * 2654435761u + 1;
	float *pixels = inputs;
	int32_t *ids = inputs;
	for (int64_t i = 0; inputs && i < count * m->input_elements; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		if (m->is_text)
			ids[i] = (int32_t)((state >> 33) % (uint64_t)m->classes);
		else
			pixels[i] = (float)(state >> 40) / (float)(1 << 24);
	}
	for (int64_t i = 0; targets && i < count * m->tokens; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		targets[i] = (int32_t)((state >> 33) % (uint64_t)m->classes);
	}
}

struct settings timed_run_settings(const struct timed_case *what, int64_t ranks)
{
	struct settings settings = settings_default();
	snprintf(settings.model, sizeof settings.model, "%s", what->model);
	snprintf(settings.strategy, sizeof settings.strategy, "%s", what->strategy);
	settings.ranks = ranks;
	settings.micro_batch = what->micro_batch;
	settings.precision = what->precision;
	return settings;
}

enum status timed_run_open(struct timed_run *r, const struct timed_case *what, struct communicator *communicator)
{
	const struct device_choice cpu = {.name = "cpu"};
	struct settings settings = timed_run_settings(what, communicator ? communicator->ranks : 1);
	*r = (struct timed_run){0};
	enum status s = settings_resolve(&settings, strategy_data_ranks(&settings));
	return s ? s : timed_run_open_settings(r, &settings, &cpu, communicator);
}

enum status timed_run_open_settings(struct timed_run *r, const struct settings *settings,
                                    const struct device_choice *choice, struct communicator *communicator)
{
	*r = (struct timed_run){0};
	enum status s = model_open(&r->model, settings->model, settings->sequence);
	if (!s)
		s = plan_compile(&r->plan, &r->model, settings);
	struct input_source input = {.context = &r->model, .training = made_up_samples};
	if (!s)
		s = device_open(&r->device, &r->plan, communicator ? communicator->rank : 0, &input, choice);
	if (!s)
		s = device_start(&r->device, choice, communicator);
	r->executor = r->device.executor;
	if (s)
		return s;
	r->step = &r->device.rank->role->step;
	return executor_run(r->executor, &r->device.rank->role->prologue);
}

void timed_run_release(struct timed_run *r)
{
	if (!r)
		return;
	device_release(&r->device);
	plan_release(&r->plan);
	model_release(&r->model);
	*r = (struct timed_run){0};
}
