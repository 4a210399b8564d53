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
 * With attention=standard, the attention is several kernels, which store what Korthikanti et al. (2023, arXiv
 * 2205.05198, section 4.1) count, with a heads and s tokens. Their count leaves out the norms' statistics as small, and
 * so do these models: norm.backward makes them again from x. dropout=P adds a dropout, with a mask of a byte an
 * element, behind the embedding, the softmax, proj and out. Neither can be run for real: the shipped kernels store no s
 * × s matrix and no masks.
 *
 *     qkv ─► scores ─► softmax ─► dropout ─► context ─► proj ─► dropout(+x) ─► mid
 *      │    (a·s·s)      y        y, mask      ▲                   mask
 *      └─────────────── values ────────────────┘
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
	bool standard;
	double dropout;
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
	if (!b->standard)
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
	k->weight = model_add_tensor(m, b->unit, tensor_name(b, text), in, out, INIT_NORMAL, b->std);
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

/* What a dropout makes of x, and adds to `residual` if there is one; x itself if nothing is dropped. */
static int add_dropout(struct model *m, int unit, const char *name, double probability, int x, int64_t tokens,
                       int64_t width, int residual)
{
	if (probability <= 0)
		return x;
	struct kernel *k = model_add_kernel(m, KERNEL_DROPOUT, unit, name);
	k->in = k->out = width;
	k->dropout = probability;
	k->x = x;
	k->residual = residual;
	k->y = model_add_value(m, arena_print(&m->arena, "%s.y", name), tokens * width, VALUE_ACTIVATION);
	k->saved = model_add_value(m, arena_print(&m->arena, "%s.mask", name), tokens * width, VALUE_MASK);
	return k->y;
}

/* A linear layer, a dropout, and the residual stream, which whichever comes last adds. */
static int add_projection(struct block_builder *b, const char *name, const char *tensor, int x, int64_t in,
                          int residual)
{
	char text[64];
	bool drops = b->dropout > 0;
	int y = add_linear(b, name, tensor, x, in, b->width, drops ? -1 : residual, false);
	b->m->tensors[b->m->kernels[b->m->kernel_count - 1].weight].init_scale = b->residual_std;
	snprintf(text, sizeof text, "%s.dropout", name);
	return add_dropout(b->m, b->unit, name_of(b, text), b->dropout, y, b->m->tokens, b->width, residual);
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

static struct kernel *add_inner(struct block_builder *b, enum kernel_kind kind, const char *name, int x, int64_t heads,
                                int64_t out)
{
	struct model *m = b->m;
	struct kernel *k = model_add_kernel(m, kind, b->unit, name_of(b, name));
	char text[64];
	snprintf(text, sizeof text, "%s.y", name);
	k->in = k->out = out;
	k->heads = heads;
	k->head_size = b->width / heads;
	k->x = x;
	k->y = model_add_value(m, name_of(b, text), m->tokens * out, VALUE_ACTIVATION);
	k->inner = true;
	return k;
}

static int add_standard_attention(struct block_builder *b, int qkv, int64_t heads)
{
	struct model *m = b->m;
	int64_t row = heads * m->tokens; /* of the scores: one for every head and token */
	int x = add_inner(b, KERNEL_SCORES, "scores", qkv, heads, row)->y;
	x = add_inner(b, KERNEL_SOFTMAX, "softmax", x, heads, row)->y;
	int kernels = m->kernel_count;
	x = add_dropout(m, b->unit, name_of(b, "softmax.dropout"), b->dropout, x, m->tokens, row, -1);
	if (m->kernel_count > kernels)
		m->kernels[kernels].inner = true;
	struct kernel *k = add_inner(b, KERNEL_CONTEXT, "attention", x, heads, b->width);
	k->second = qkv;
	return k->y;
}

static int add_block(struct model *m, const struct gpt_sizes *g, int index, int x)
{
	struct block_builder b = {.m = m,
	                          .index = index,
	                          .unit = model_add_unit(m, arena_print(&m->arena, "block.%d", index)),
	                          .width = g->width,
	                          .standard = g->standard,
	                          .dropout = g->dropout,
	                          .std = 0.02,
	                          .residual_std = 0.02 / sqrt(2.0 * (double)g->layers)};
	m->units[b.unit].block = true;
	int h = add_norm(&b, "ln_1", "ln_1", x);
	int qkv = add_linear(&b, "qkv", "attn.c_attn", h, g->width, 3 * g->width, -1, false);
	int attention = g->standard ? add_standard_attention(&b, qkv, g->heads) : add_attention(&b, qkv, g->heads);
	int mid = add_projection(&b, "proj", "attn.c_proj", attention, g->width, x);
	h = add_norm(&b, "ln_2", "ln_2", mid);
	int fc = add_linear(&b, "fc", "mlp.c_fc", h, g->width, 4 * g->width, -1, true);
	return add_projection(&b, "out", "mlp.c_proj", fc, 4 * g->width, mid);
}

void model_build_gpt(struct model *m, const struct gpt_sizes *g, int64_t tokens)
{
	m->context = g->context;
	m->tokens = tokens;
	m->input_elements = tokens;
	m->classes = g->vocabulary;
	m->is_text = true;
	if (g->standard || g->dropout > 0)
		m->only_simulated = "the shipped kernels store no tokens × tokens matrix and no masks; leave attention="
		                    "standard and dropout out, or use sim";
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

	x = add_dropout(m, root, "embedding.dropout", g->dropout, x, tokens, g->width, -1);
	for (int i = 0; i < (int)g->layers; i++)
		x = add_block(m, g, i, x);

	k = model_add_kernel(m, KERNEL_NORM, root, "ln_f");
	k->in = k->out = g->width;
	k->x = x;
	k->weight = model_add_tensor(m, root, "ln_f.weight", g->width, 0, INIT_ONE, 0);
	k->bias = model_add_tensor(m, root, "ln_f.bias", g->width, 0, INIT_ZERO, 0);
	int h = k->y = model_add_value(m, "ln_f.y", tokens * g->width, VALUE_ACTIVATION);
	if (!g->standard)
		k->saved = model_add_value(m, "ln_f.statistics", 2 * tokens, VALUE_FP32);

	k = model_add_kernel(m, KERNEL_LINEAR, root, "head");
	k->in = g->width;
	k->out = g->vocabulary;
	k->x = h;
	k->weight = token_table;
	m->logits_stride = logits_stride(g->vocabulary);
	k->y = m->logits = model_add_value(m, "logits", tokens * m->logits_stride, VALUE_ACTIVATION);

	k = model_add_kernel(m, KERNEL_CLASSIFIER, root, "classifier");
	k->in = k->out = g->vocabulary;
	k->x = m->logits;
}
