#include "strategy/plan/estimator.h"

#include <string.h>

/* Bytes of a parameter: 16-bit weight and gradient, fp32 gradient, weight and two moments. */
enum { HALF = 2, STATES = 16, ALL_STATES = 18 };
#define HOST_FACTOR 1.5 /* what they add for host buffers */

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static struct estimate stage2(const struct estimate_of *e)
{
	double p = (double)e->parameters, devices = (double)e->devices, each = devices / (double)e->nodes;
	if (e->offload.optimizer)
		return (struct estimate){HALF * p, p * larger(4 * devices, STATES) * HOST_FACTOR};
	return (struct estimate){HALF * p + ALL_STATES * p / devices, p * 4 * each * HOST_FACTOR};
}

/* Host memory of each process before the model is divided: the whole model, or next to nothing with zero.Init. */
static double host_of(const struct estimate_of *e, double states)
{
	double p = (double)e->parameters, each = (double)e->devices / (double)e->nodes;
	double kept = states / (double)e->nodes;
	return (e->zero_init ? kept : larger(4 * each, kept)) * p * HOST_FACTOR;
}

static struct estimate stage3(const struct estimate_of *e)
{
	double p = (double)e->parameters, devices = (double)e->devices, each = devices / (double)e->nodes;
	double largest = 4 * (double)e->largest;
	if (e->offload.parameters)
		return (struct estimate){largest, host_of(e, ALL_STATES)};
	if (e->offload.optimizer)
		return (struct estimate){largest + HALF * p / devices, host_of(e, STATES)};
	return (struct estimate){largest + ALL_STATES * p / devices,
	                         (e->zero_init ? (double)e->largest : p) * 4 * each * HOST_FACTOR};
}

struct estimate estimate_make(const struct estimate_of *e)
{
	return e->stage == 2 ? stage2(e) : stage3(e);
}

static int64_t largest_module(const struct model *m)
{
	int64_t most = 0;
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		int64_t weight = k->weight >= 0 ? m->tensors[k->weight].elements : 0;
		int64_t bias = k->bias >= 0 && k->kind != KERNEL_EMBEDDING ? m->tensors[k->bias].elements : 0;
		most = weight + bias > most ? weight + bias : most;
	}
	return most;
}

bool estimate_of_plan(const struct plan *p, int64_t devices_each, struct estimate *out)
{
	int stage = !strcmp(p->strategy, "zero2") ? 2 : !strcmp(p->strategy, "zero3") ? 3 : 0;
	int64_t nodes = devices_each ? (p->ranks + devices_each - 1) / devices_each : 1;
	const struct estimate_of of = {.stage = stage,
	                               .parameters = p->model->parameters,
	                               .largest = largest_module(p->model),
	                               .devices = p->ranks,
	                               .nodes = nodes,
	                               .offload = p->settings.offload,
	                               .zero_init = true};
	if (!stage || p->settings.precision == TYPE_FP32 || p->settings.optimizer != OPTIMIZER_ADAMW)
		return false;
	*out = estimate_make(&of);
	return true;
}
