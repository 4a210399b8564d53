/* The multilayer perceptron: linear layers with tanh-form GELU between them; a unit is a layer. Weights as in
 * torch.nn.Linear: [out,in], initialised uniformly within ±1/sqrt(in), weight and bias alike.
 *
 * With norm=batch a hidden layer is torch.nn.Sequential(Linear(bias=False), BatchNorm1d, GELU). The linear layer has no
 * bias then: normalization takes it away again, so that its gradient is nothing but rounding, which Adam would turn
 * into steps of full size. norm=sync-batch is torch.nn.SyncBatchNorm in its place.
 */
#include <math.h>

#include "strategy/model/model.h"

/* The norm of a layer, with GELU: it reads the linear layer's output and makes `out`. */
static int add_norm(struct model *m, int layer, int x, int64_t width, bool synchronised)
{
	struct arena *a = &m->arena;
	struct kernel *k = model_add_kernel(m, KERNEL_BATCH_NORM, layer, arena_print(a, "layer.%d.norm", layer));
	k->in = k->out = width;
	k->x = x;
	k->gelu = true;
	k->synchronised = synchronised;
	k->weight = model_add_tensor(m, layer, arena_print(a, "%d.norm.weight", layer), width, 0, INIT_ONE, 0);
	k->bias = model_add_tensor(m, layer, arena_print(a, "%d.norm.bias", layer), width, 0, INIT_ZERO, 0);
	k->y = model_add_value(m, arena_print(a, "layer.%d.out", layer), width, VALUE_ACTIVATION);
	/* mean and 1/std of each feature, and the number of samples */
	k->saved = model_add_value(m, arena_print(a, "layer.%d.statistics", layer), 2 * width + 1, VALUE_FP32);
	m->values[k->saved].per_batch = true;
	k->running = model_add_buffer(m, arena_print(a, "%d.norm.running_mean", layer), width, 0);
	model_add_buffer(m, arena_print(a, "%d.norm.running_var", layer), width, 1);
	return k->y;
}

void model_build_mlp(struct model *m, const struct mlp_sizes *sizes)
{
	struct arena *a = &m->arena;
	int layers = sizes->count - 1;
	m->input = model_add_value(m, "input", sizes->sizes[0], VALUE_ACTIVATION);
	m->target = model_add_value(m, "target", 1, VALUE_INDEX);
	m->input_elements = sizes->sizes[0];
	m->classes = sizes->sizes[layers];
	int x = m->input;
	for (int i = 0; i < layers; i++) {
		int64_t in = sizes->sizes[i], out = sizes->sizes[i + 1];
		double bound = 1 / sqrt((double)in);
		bool hidden = i + 1 < layers, norm = hidden && sizes->norm != MLP_NORM_NONE;
		int unit = model_add_unit(m, arena_print(a, "layer.%d", i));
		m->units[unit].block = true;
		struct kernel *k = model_add_kernel(m, KERNEL_LINEAR, unit, arena_print(a, "layer.%d.linear", i));
		k->in = in;
		k->out = out;
		k->x = x;
		k->weight = model_add_tensor(m, unit, arena_print(a, "%d.weight", i), out, in, INIT_UNIFORM, bound);
		if (!norm)
			k->bias = model_add_tensor(m, unit, arena_print(a, "%d.bias", i), out, 0, INIT_UNIFORM, bound);
		k->gelu = hidden && !norm;
		k->y = x = model_add_value(m,
		                           arena_print(a,
		                                       norm     ? "layer.%d.linear"
		                                       : hidden ? "layer.%d.out"
		                                                : "logits",
		                                       i),
		                           out, VALUE_ACTIVATION);
		if (k->gelu)
			k->saved = model_add_value(m, arena_print(a, "layer.%d.pre", i), out, VALUE_ACTIVATION);
		if (norm)
			x = add_norm(m, i, x, out, sizes->norm == MLP_NORM_SYNC_BATCH);
	}
	struct kernel *loss = model_add_kernel(m, KERNEL_CLASSIFIER, layers - 1, "classifier");
	loss->x = m->logits = x;
	loss->in = loss->out = m->classes;
}
