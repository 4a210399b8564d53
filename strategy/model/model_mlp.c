/* The multilayer perceptron: linear layers with tanh-form GELU between them; a unit is a layer. Weights as in
 * torch.nn.Linear: [out,in], initialised uniformly within ±1/sqrt(in), weight and bias alike. */
#include <math.h>

#include "strategy/model/model.h"

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
		int unit = model_add_unit(m, arena_print(a, "layer.%d", i));
		m->units[unit].block = true;
		struct kernel *k = model_add_kernel(m, KERNEL_LINEAR, unit, arena_print(a, "layer.%d.linear", i));
		k->in = in;
		k->out = out;
		k->x = x;
		k->weight = model_add_tensor(m, unit, arena_print(a, "%d.weight", i), out, in, INIT_UNIFORM, bound);
		k->bias = model_add_tensor(m, unit, arena_print(a, "%d.bias", i), out, 0, INIT_UNIFORM, bound);
		k->gelu = i + 1 < layers;
		k->y = x = model_add_value(m, arena_print(a, i + 1 < layers ? "layer.%d.out" : "logits", i), out,
		                           VALUE_ACTIVATION);
		if (k->gelu)
			k->saved = model_add_value(m, arena_print(a, "layer.%d.pre", i), out, VALUE_ACTIVATION);
	}
	struct kernel *loss = model_add_kernel(m, KERNEL_CLASSIFIER, layers - 1, "classifier");
	loss->x = m->logits = x;
	loss->in = loss->out = m->classes;
}
