/* GPT-2's architecture, exactly: learned positions, pre-LayerNorm, biases, tanh GELU, a head tied to the token table.
 * Names, order and layouts of the tensors are those of Hugging Face's GPT-2 (linear weights [in,out], as its Conv1D has
 * them), so that weights can be exchanged.
 *
 * A block, with the values that forward saves for backward on the right of each kernel:
 *
 *     x ─► ln_1 ─► qkv ─► attention ─► proj(+x) ─► mid ─► ln_2 ─► fc(GELU) ─► out(+mid) ─► x of the next block
 *          stats          log-sum-exp              │      stats   pre          │
 *          └──────── residual stream ──────────────┘      └────────────────────┘
 *
 * Initialised as GPT-2 was: normal, standard deviation 0.02, residual projections 0.02/sqrt(2·layers).
 */
#include <math.h>
#include <stdio.h>

#include "strategy/model/model.h"

struct block_builder {
	struct model *m;
	int unit, index;
	int64_t width;
	double std, residual_std;
};

static const char *name_of(struct block_builder *b, const char *what)
{
	return arena_print(&b->m->arena, "block.%d.%s", b->index, what);
}

static const char *tensor_name(struct block_builder *b, const char *what)
{
	return arena_print(&b->m->arena, "h.%d.%s", b->index, what);
}

/* Layer norm of x; returns its output. */
static int add_norm(struct block_builder *b, const char *name, const char *tensor, int x)
{
	struct model *m = b->m;
	struct kernel *k = model_add_kernel(m, KERNEL_NORM, b->unit, name_of(b, name));
	char text[64];
	k->in = k->out = b->width;
	k->x = x;
	snprintf(text, sizeof text, "%s.weight", tensor);
	k->weight = model_add_tensor(m, b->unit, tensor_name(b, text), b->width, 0, INIT_ONE, 0);
	snprintf(text, sizeof text, "%s.bias", tensor);
	k->bias = model_add_tensor(m, b->unit, tensor_name(b, text), b->width, 0, INIT_ZERO, 0);
	snprintf(text, sizeof text, "%s.y", name);
	k->y = model_add_value(m, name_of(b, text), m->tokens * b->width, VALUE_ACTIVATION);
	snprintf(text, sizeof text, "%s.statistics", name);
	k->saved = model_add_value(m, name_of(b, text), 2 * m->tokens, VALUE_FP32);
	return k->y;
}

static int add_linear(struct block_builder *b, const char *name, const char *tensor, int x, int64_t in, int64_t out,
                      int residual, bool gelu)
{
	struct model *m = b->m;
	struct kernel *k = model_add_kernel(m, KERNEL_LINEAR, b->unit, name_of(b, name));
	char text[64];
	k->in = in;
	k->out = out;
	k->x = x;
	k->residual = residual;
	k->weight_in_out = true;
	k->gelu = gelu;
	snprintf(text, sizeof text, "%s.weight", tensor);
	k->weight = model_add_tensor(m, b->unit, tensor_name(b, text), in, out, INIT_NORMAL,
	                             residual >= 0 ? b->residual_std : b->std);
	snprintf(text, sizeof text, "%s.bias", tensor);
	k->bias = model_add_tensor(m, b->unit, tensor_name(b, text), out, 0, INIT_ZERO, 0);
	snprintf(text, sizeof text, "%s.y", name);
	k->y = model_add_value(m, name_of(b, text), m->tokens * out, VALUE_ACTIVATION);
	if (gelu) {
		snprintf(text, sizeof text, "%s.pre", name);
		k->saved = model_add_value(m, name_of(b, text), m->tokens * out, VALUE_ACTIVATION);
	}
	return k->y;
}

static int add_attention(struct block_builder *b, int qkv, int64_t heads)
{
	struct model *m = b->m;
	struct kernel *k = model_add_kernel(m, KERNEL_ATTENTION, b->unit, name_of(b, "attention"));
	k->in = 3 * b->width;
	k->out = b->width;
	k->heads = heads;
	k->head_size = b->width / heads;
	k->x = qkv;
	k->inner = true;
	k->y = model_add_value(m, name_of(b, "attention.y"), m->tokens * b->width, VALUE_ACTIVATION);
	k->saved = model_add_value(m, name_of(b, "attention.log_sum_exp"), m->tokens * heads, VALUE_FP32);
	return k->y;
}

static int add_block(struct model *m, const struct gpt_sizes *g, int index, int x)
{
	struct block_builder b = {.m = m,
	                          .index = index,
	                          .unit = model_add_unit(m, arena_print(&m->arena, "block.%d", index)),
	                          .width = g->width,
	                          .std = 0.02,
	                          .residual_std = 0.02 / sqrt(2.0 * (double)g->layers)};
	m->units[b.unit].block = true;
	int h = add_norm(&b, "ln_1", "ln_1", x);
	int qkv = add_linear(&b, "qkv", "attn.c_attn", h, g->width, 3 * g->width, -1, false);
	int attention = add_attention(&b, qkv, g->heads);
	int mid = add_linear(&b, "proj", "attn.c_proj", attention, g->width, g->width, x, false);
	h = add_norm(&b, "ln_2", "ln_2", mid);
	int fc = add_linear(&b, "fc", "mlp.c_fc", h, g->width, 4 * g->width, -1, true);
	return add_linear(&b, "out", "mlp.c_proj", fc, 4 * g->width, g->width, mid, false);
}

void model_build_gpt(struct model *m, const struct gpt_sizes *g, int64_t tokens)
{
	m->context = g->context;
	m->tokens = tokens;
	m->input_elements = tokens;
	m->classes = g->vocabulary;
	m->is_text = true;
	m->input = model_add_value(m, "tokens", tokens, VALUE_INDEX);
	m->target = model_add_value(m, "targets", tokens, VALUE_INDEX);

	int root = model_add_unit(m, "root");
	struct kernel *k = model_add_kernel(m, KERNEL_EMBEDDING, root, "embedding");
	k->in = k->out = g->width;
	k->x = m->input;
	k->weight = model_add_tensor(m, root, "wte.weight", g->vocabulary, g->width, INIT_NORMAL, 0.02);
	k->bias = model_add_tensor(m, root, "wpe.weight", g->context, g->width, INIT_NORMAL, 0.02);
	int token_table = k->weight;
	int x = k->y = model_add_value(m, "embedding.y", tokens * g->width, VALUE_ACTIVATION);

	for (int i = 0; i < (int)g->layers; i++)
		x = add_block(m, g, i, x);

	k = model_add_kernel(m, KERNEL_NORM, root, "ln_f");
	k->in = k->out = g->width;
	k->x = x;
	k->weight = model_add_tensor(m, root, "ln_f.weight", g->width, 0, INIT_ONE, 0);
	k->bias = model_add_tensor(m, root, "ln_f.bias", g->width, 0, INIT_ZERO, 0);
	int h = k->y = model_add_value(m, "ln_f.y", tokens * g->width, VALUE_ACTIVATION);
	k->saved = model_add_value(m, "ln_f.statistics", 2 * tokens, VALUE_FP32);

	k = model_add_kernel(m, KERNEL_LINEAR, root, "head");
	k->in = g->width;
	k->out = g->vocabulary;
	k->x = h;
	k->weight = token_table;
	k->y = m->logits = model_add_value(m, "logits", tokens * g->vocabulary, VALUE_ACTIVATION);

	k = model_add_kernel(m, KERNEL_CLASSIFIER, root, "classifier");
	k->in = k->out = g->vocabulary;
	k->x = m->logits;
}
