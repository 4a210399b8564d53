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

#include "strategy/model/family.h"

#define INIT_DEVIATION 0.02

struct gpt_sizes {
	int64_t layers, width, heads, context, vocabulary;
	int64_t hidden; /* of the MLP; 0: four times the width, as GPT-2 has it */
	bool standard;  /* attention stores the tokens × tokens matrices; the shipped kernel stores none */
	double dropout; /* the probability of every dropout; 0: there is none */
};

/* The unit that is being built. */
struct builder {
	struct model *m;
	int unit;
	const char *prefix, *tensor_prefix; /* of the names of its kernels and values, and of its tensors */
	int64_t width, hidden;
	double residual_std; /* of the layers that add to the residual stream */
	bool standard;
	double dropout;
};

/* The name of a kernel or a value: "block.3.ln_1", and with an ending "block.3.ln_1.y". */
static const char *name_of(struct builder *b, const char *what, const char *ending)
{
	return arena_print(&b->m->arena, "%s%s%s", b->prefix, what, ending);
}

static int add_tensor(struct builder *b, const char *name, const char *ending, int64_t rows, int64_t columns,
                      enum weight_init init, double scale)
{
	return model_add_tensor(b->m, b->unit, arena_print(&b->m->arena, "%s%s%s", b->tensor_prefix, name, ending),
	                        rows, columns, init, scale);
}

/* Layer norm of x; returns its output. */
static int add_norm(struct builder *b, const char *name, int x)
{
	struct model *m = b->m;
	struct kernel *k = model_add_kernel(m, KERNEL_NORM, b->unit, name_of(b, name, ""));
	k->in = k->out = b->width;
	k->x = x;
	k->weight = add_tensor(b, name, ".weight", b->width, 0, INIT_ONE, 0);
	k->bias = add_tensor(b, name, ".bias", b->width, 0, INIT_ZERO, 0);
	k->y = model_add_value(m, name_of(b, name, ".y"), m->tokens * b->width, VALUE_ACTIVATION);
	if (!b->standard)
		k->saved = model_add_value(m, name_of(b, name, ".statistics"), 2 * m->tokens, VALUE_FP32);
	return k->y;
}

static int add_linear(struct builder *b, const char *name, const char *tensor, int x, int64_t in, int64_t out,
                      int residual, bool gelu)
{
	struct model *m = b->m;
	struct kernel *k = model_add_kernel(m, KERNEL_LINEAR, b->unit, name_of(b, name, ""));
	k->in = in;
	k->out = out;
	k->x = x;
	k->residual = residual;
	k->weight_in_out = true;
	k->gelu = gelu;
	k->weight = add_tensor(b, tensor, ".weight", in, out, INIT_NORMAL, INIT_DEVIATION);
	k->bias = add_tensor(b, tensor, ".bias", out, 0, INIT_ZERO, 0);
	k->y = model_add_value(m, name_of(b, name, ".y"), m->tokens * out, VALUE_ACTIVATION);
	if (gelu)
		k->saved = model_add_value(m, name_of(b, name, ".pre"), m->tokens * out, VALUE_ACTIVATION);
	return k->y;
}

static int add_qkv(struct builder *b, int x, int64_t width)
{
	const struct tensor_piece pieces[] = {{NULL, width}, {NULL, width}, {NULL, width}};
	int y = add_linear(b, "qkv", "attn.c_attn", x, width, 3 * width, -1, false);
	const struct kernel *k = &b->m->kernels[b->m->kernel_count - 1];
	model_set_pieces(b->m, k->weight, 3, pieces);
	model_set_pieces(b->m, k->bias, 3, pieces);
	return y;
}

/* Dropout of x, added to `residual` if there is one. Returns its output, or x if nothing is dropped. */
static int add_dropout(struct builder *b, const char *name, int x, int64_t width, int residual)
{
	struct model *m = b->m;
	if (b->dropout <= 0)
		return x;
	struct kernel *k = model_add_kernel(m, KERNEL_DROPOUT, b->unit, name_of(b, name, ".dropout"));
	k->in = k->out = width;
	k->dropout = b->dropout;
	k->x = x;
	k->residual = residual;
	k->y = model_add_value(m, name_of(b, name, ".dropout.y"), m->tokens * width, VALUE_ACTIVATION);
	k->saved = model_add_value(m, name_of(b, name, ".dropout.mask"), m->tokens * width, VALUE_MASK);
	return k->y;
}

/* A linear layer and a dropout. The last of the two adds its output to the residual stream. */
static int add_projection(struct builder *b, const char *name, const char *tensor, int x, int64_t in, int residual)
{
	bool drops = b->dropout > 0;
	int y = add_linear(b, name, tensor, x, in, b->width, drops ? -1 : residual, false);
	b->m->tensors[b->m->kernels[b->m->kernel_count - 1].weight].init_scale = b->residual_std;
	return add_dropout(b, name, y, b->width, residual);
}

static int add_attention(struct builder *b, int qkv, int64_t heads)
{
	struct model *m = b->m;
	struct kernel *k = model_add_kernel(m, KERNEL_ATTENTION, b->unit, name_of(b, "attention", ""));
	k->in = 3 * b->width;
	k->out = b->width;
	k->heads = k->kv_heads = heads;
	k->head_size = b->width / heads;
	k->x = qkv;
	k->inner = true;
	k->y = model_add_value(m, name_of(b, "attention", ".y"), m->tokens * b->width, VALUE_ACTIVATION);
	k->saved = model_add_value(m, name_of(b, "attention", ".log_sum_exp"), m->tokens * heads, VALUE_FP32);
	return k->y;
}

static struct kernel *add_inner(struct builder *b, enum kernel_kind kind, const char *name, int x, int64_t heads,
                                int64_t out)
{
	struct model *m = b->m;
	struct kernel *k = model_add_kernel(m, kind, b->unit, name_of(b, name, ""));
	k->in = k->out = out;
	k->heads = k->kv_heads = heads;
	k->head_size = b->width / heads;
	k->x = x;
	k->y = model_add_value(m, name_of(b, name, ".y"), m->tokens * out, VALUE_ACTIVATION);
	k->inner = true;
	return k;
}

static int add_standard_attention(struct builder *b, int qkv, int64_t heads)
{
	struct model *m = b->m;
	int64_t row = heads * m->tokens; /* of the scores: one for every head and token */
	int x = add_inner(b, KERNEL_SCORES, "scores", qkv, heads, row)->y;
	x = add_inner(b, KERNEL_SOFTMAX, "softmax", x, heads, row)->y;
	int kernels = m->kernel_count;
	x = add_dropout(b, "softmax", x, row, -1);
	if (m->kernel_count > kernels)
		m->kernels[kernels].inner = true;
	struct kernel *k = add_inner(b, KERNEL_CONTEXT, "attention", x, heads, b->width);
	k->second = qkv;
	return k->y;
}

static int add_block(struct builder *b, int64_t heads, int x)
{
	int64_t width = b->width;
	b->m->units[b->unit].block = true;
	int h = add_norm(b, "ln_1", x);
	int qkv = add_qkv(b, h, width);
	int attention = b->standard ? add_standard_attention(b, qkv, heads) : add_attention(b, qkv, heads);
	int mid = add_projection(b, "proj", "attn.c_proj", attention, width, x);
	h = add_norm(b, "ln_2", mid);
	int fc = add_linear(b, "fc", "mlp.c_fc", h, width, b->hidden, -1, true);
	return add_projection(b, "out", "mlp.c_proj", fc, b->hidden, mid);
}

static int64_t hidden_of(const struct gpt_sizes *g)
{
	return g->hidden ? g->hidden : 4 * g->width;
}

static void build(struct model *m, const struct gpt_sizes *g, int64_t tokens)
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
	struct builder b = {.m = m,
	                    .unit = root,
	                    .prefix = "",
	                    .tensor_prefix = "",
	                    .width = g->width,
	                    .hidden = hidden_of(g),
	                    .standard = g->standard,
	                    .dropout = g->dropout,
	                    .residual_std = INIT_DEVIATION / sqrt(2.0 * (double)g->layers)};
	struct kernel *k = model_add_kernel(m, KERNEL_EMBEDDING, root, "embedding");
	k->in = k->out = g->width;
	k->x = m->input;
	k->weight = model_add_tensor(m, root, "wte.weight", g->vocabulary, g->width, INIT_NORMAL, INIT_DEVIATION);
	k->bias = model_add_tensor(m, root, "wpe.weight", g->context, g->width, INIT_NORMAL, INIT_DEVIATION);
	int token_table = k->weight;
	int x = k->y = model_add_value(m, "embedding.y", tokens * g->width, VALUE_ACTIVATION);

	x = add_dropout(&b, "embedding", x, g->width, -1);
	for (int i = 0; i < (int)g->layers; i++) {
		struct builder block = b;
		block.unit = model_add_unit(m, arena_print(&m->arena, "block.%d", i));
		block.prefix = arena_print(&m->arena, "block.%d.", i);
		block.tensor_prefix = arena_print(&m->arena, "h.%d.", i);
		x = add_block(&block, g->heads, x);
	}
	x = add_norm(&b, "ln_f", x);

	k = model_add_kernel(m, KERNEL_LINEAR, root, "head");
	k->in = g->width;
	k->out = g->vocabulary;
	k->x = x;
	k->weight = token_table;
	m->logits_stride = logits_stride(g->vocabulary);
	k->y = m->logits = model_add_value(m, "logits", tokens * m->logits_stride, VALUE_ACTIVATION);

	k = model_add_kernel(m, KERNEL_CLASSIFIER, root, "classifier");
	k->in = k->out = g->vocabulary;
	k->x = m->logits;
}

static const struct model_name names[] = {
        {"gpt", NULL, "GPT-2's architecture, small: 4,837,376 parameters, byte vocabulary"},
        {"gpt2-124m", "gpt2", "GPT-2 (gpt2): 124,439,808 parameters"},
        {"gpt2-355m", "gpt2-medium", "GPT-2 medium (gpt2-medium): 354,823,168 parameters"},
        {"gpt2-774m", "gpt2-large", "GPT-2 large (gpt2-large): 774,030,080 parameters"},
        {"gpt2-1558m", "gpt2-xl", "GPT-2 XL (gpt2-xl): 1,557,611,200 parameters"},
        {"gpt3-175b", NULL, "GPT-3: 175 billion parameters, for simulation"},
};

/* The sizes of each name: layers, width, heads, context, vocabulary. */
static const struct gpt_sizes presets[] = {
        {6, 256, 8, 128, 256, 0, false, 0},       {12, 768, 12, 1024, 50257, 0, false, 0},
        {24, 1024, 16, 1024, 50257, 0, false, 0}, {36, 1280, 20, 1024, 50257, 0, false, 0},
        {48, 1600, 25, 1024, 50257, 0, false, 0}, {96, 12288, 96, 2048, 50257, 0, false, 0},
};

/* L·C·(4·C + 2·hidden) is the bulk; refuse what would not fit the exact integers of JSON. */
static bool too_large(const struct gpt_sizes *g)
{
	double parameters =
	        (double)g->layers * (double)g->width * (4.0 * (double)g->width + 2.0 * (double)hidden_of(g)) +
	        (double)(g->vocabulary + g->context) * (double)g->width;
	return parameters > (double)MOST_PARAMETERS || g->layers > 100000;
}

static enum status open_gpt(struct model *m, const struct model_request *q, int place)
{
	enum { LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY, HIDDEN, ATTENTION, DROPOUT, KEYS };
	static const struct key list[KEYS] = {{"layers", "N", "", ""},
	                                      {"width", "N", "", ""},
	                                      {"heads", "N", "", ""},
	                                      {"context", "N", "", ""},
	                                      {"vocabulary", "N", "", ""},
	                                      {"hidden", "N", "", ""},
	                                      {"attention", "flash|standard", "flash", ""},
	                                      {"dropout", "P", "0", ""}};
	const char *name = names[place].name;
	const struct gpt_sizes *preset = &presets[place];
	const struct keys keys = {"{model}", name, list, KEYS, ",", 1, LARGEST_SIZE};
	struct key_value value[KEYS];
	enum status s = keys_read(&keys, q->pairs, value);
	if (s)
		return s;
	const struct gpt_sizes g = {.layers = key_whole(&value[LAYERS], preset->layers),
	                            .width = key_whole(&value[WIDTH], preset->width),
	                            .heads = key_whole(&value[HEADS], preset->heads),
	                            .context = key_whole(&value[CONTEXT], preset->context),
	                            .vocabulary = key_whole(&value[VOCABULARY], preset->vocabulary),
	                            .hidden = key_whole(&value[HIDDEN], 0),
	                            .standard = key_is(&value[ATTENTION], "standard"),
	                            .dropout = key_real(&value[DROPOUT])};
	if (g.width % g.heads)
		return status_fail(STATUS_INPUT, "{model} %s: width %lld is not divisible by %lld heads",
		                   q->specification, (long long)g.width, (long long)g.heads);
	if (too_large(&g))
		return status_fail(STATUS_INPUT, "{model} %s: too large: at most 100,000 layers and 2^53 parameters",
		                   q->specification);
	if (q->sequence > g.context)
		return status_fail(STATUS_INPUT, "{sequence}: %lld is longer than the context of %s, %lld",
		                   (long long)q->sequence, name, (long long)g.context);
	m->name = name;
	m->specification =
	        arena_print(&m->arena, "%s:layers=%lld,width=%lld,heads=%lld,context=%lld,vocabulary=%lld%s", name,
	                    (long long)g.layers, (long long)g.width, (long long)g.heads, (long long)g.context,
	                    (long long)g.vocabulary, g.standard ? ",attention=standard" : "");
	if (hidden_of(&g) != 4 * g.width)
		m->specification = arena_print(&m->arena, "%s,hidden=%lld", m->specification, (long long)g.hidden);
	if (g.dropout > 0)
		m->specification = arena_print(&m->arena, "%s,dropout=%.17g", m->specification, g.dropout);
	build(m, &g, q->sequence ? q->sequence : g.context);
	return STATUS_OK;
}

const struct family family_gpt = {names, sizeof names / sizeof names[0], open_gpt};
