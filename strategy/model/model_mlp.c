/* The multilayer perceptron: linear layers with tanh-form GELU between them; a unit is a layer. Weights as in
 * torch.nn.Linear: [out,in], initialised uniformly within ±1/sqrt(in), weight and bias alike.
 *
 * With norm=batch a hidden layer is torch.nn.Sequential(Linear(bias=False), BatchNorm1d, GELU). The linear layer has no
 * bias then: normalization takes it away again, so that its gradient is nothing but rounding, which Adam would turn
 * into steps of full size. norm=sync-batch is torch.nn.SyncBatchNorm in its place.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/model/family.h"

/* The hidden layers may have batch normalization, over each rank's own samples or over those of all ranks. */
enum mlp_norm { MLP_NORM_NONE, MLP_NORM_BATCH, MLP_NORM_SYNC_BATCH };

struct mlp_sizes {
	int64_t sizes[66];
	int count;
	enum mlp_norm norm;
};

/* The norm of a layer, with GELU: it reads the linear layer's output and makes `out`. */
static int add_norm(struct model *m, int layer, int x, int64_t width, bool synchronised)
{
	struct arena *a = &m->arena;
	struct kernel *k = model_add_kernel(m, KERNEL_BATCH_NORM, layer, arena_print(a, "layer.%d.norm", layer));
	k->in = k->out = width;
	k->x = x;
	k->nonlinear = NONLINEAR_GELU_TANH;
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

static void build(struct model *m, const struct mlp_sizes *sizes)
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
		k->nonlinear = hidden && !norm ? NONLINEAR_GELU_TANH : NONLINEAR_NONE;
		k->y = x = model_add_value(m,
		                           arena_print(a,
		                                       norm     ? "layer.%d.linear"
		                                       : hidden ? "layer.%d.out"
		                                                : "logits",
		                                       i),
		                           out, VALUE_ACTIVATION);
		if (k->nonlinear)
			k->saved = model_add_value(m, arena_print(a, "layer.%d.pre", i), out, VALUE_ACTIVATION);
		if (norm)
			x = add_norm(m, i, x, out, sizes->norm == MLP_NORM_SYNC_BATCH);
	}
	struct kernel *loss = model_add_kernel(m, KERNEL_CLASSIFIER, layers - 1, "classifier");
	loss->x = m->logits = x;
	loss->in = loss->out = m->classes;
}

/* "784-1024-10" */
static enum status read_layers(const struct key_value *v, struct mlp_sizes *out)
{
	enum { MOST = sizeof out->sizes / sizeof out->sizes[0] - 1 };
	char what[48], text[64];
	const char *p = v->text, *end = v->text + v->length;
	snprintf(what, sizeof what, "%s mlp: sizes", status_words("{model}"));
	for (out->count = 0; p <= end; out->count++) {
		const char *dash = memchr(p, '-', (size_t)(end - p));
		snprintf(text, sizeof text, "%.*s", (int)((dash ? dash : end) - p), p);
		if (out->count == MOST)
			return status_fail(STATUS_INPUT, "%s: more than %d", what, MOST);
		TRY(number_whole(text, what, 1, LARGEST_SIZE, &out->sizes[out->count]));
		p = (dash ? dash : end) + 1;
	}
	if (out->count < 2)
		return status_fail(STATUS_INPUT, "%s: at least an input and an output are needed, as in 784-10", what);
	return STATUS_OK;
}

static enum status open_mlp(struct model *m, const struct model_request *q, int name)
{
	(void)name;
	static const struct key list[] = {{"sizes", "", "784-1024-1024-10", ""},
	                                  {"norm", "none|batch|sync-batch", "none", ""}};
	const struct keys keys = {"{model}", "mlp", list, 2, ",", 0, 0};
	struct key_value value[2];
	struct mlp_sizes z = {0};
	enum status s = keys_read(&keys, q->pairs, value);
	if (s || (s = read_layers(&value[0], &z)))
		return s;
	if (q->sequence > 1)
		return status_fail(STATUS_INPUT, "{sequence}: the MLP has no sequence; leave it out");
	z.norm = key_is(&value[1], "batch")        ? MLP_NORM_BATCH
	         : key_is(&value[1], "sync-batch") ? MLP_NORM_SYNC_BATCH
	                                           : MLP_NORM_NONE;
	m->name = "mlp";
	m->specification = arena_print(&m->arena, "mlp:sizes=%lld", (long long)z.sizes[0]);
	for (int i = 1; i < z.count; i++)
		m->specification = arena_print(&m->arena, "%s-%lld", m->specification, (long long)z.sizes[i]);
	if (z.norm != MLP_NORM_NONE)
		m->specification =
		        arena_print(&m->arena, "%s,norm=%.*s", m->specification, (int)value[1].length, value[1].text);
	build(m, &z);
	return STATUS_OK;
}

static const struct model_name names[] = {
        {"mlp", NULL, "784-1024-1024-10 with GELU, or sizes=A-B-C: 1,863,690 parameters; norm=batch|sync-batch"}};
const struct family family_mlp = {names, 1, open_mlp};
