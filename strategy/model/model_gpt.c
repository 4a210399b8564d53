/* GPT-2's architecture, exactly: learned positions, pre-LayerNorm, biases, tanh GELU, a head tied to the token table.
 * Names, order and layouts of the tensors are those of Hugging Face's GPT-2 (linear weights [in,out], as its Conv1D has
 * them), so that weights can be exchanged. MPT (ALiBi in place of positions, no biases, GELU with the error function)
 * and OPT (ReLU, two more rows of positions) are the same block, with the names of their files.
 *
 * A block, with the values that forward saves for backward on the right of each kernel:
 *
 *     x ─► ln_1 ─► qkv ─► attention ─► proj(+x) ─► mid ─► ln_2 ─► fc(GELU) ─► out(+mid) ─► x of the next block
 *          stats          log-sum-exp              │      stats   pre          │
 *          └──────── residual stream ──────────────┘      └────────────────────┘
 *
 * pre is what the activation is applied to. ReLU's is kept too, though its slope would follow from its output.
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
 * Initialised as GPT-2 was: normal, standard deviation 0.02, residual projections 0.02/sqrt(2·layers); those of MPT and
 * OPT as Hugging Face's, 0.02.
 */
#include <assert.h>
#include <math.h>

#include "strategy/model/family.h"

#define INIT_DEVIATION 0.02

/* How tokens know their places: a table, ALiBi, or not at all. */
#define POSITIONS "table|alibi|none"
enum positions { POSITIONS_TABLE, POSITIONS_ALIBI, POSITIONS_NONE };

#define ACTIVATION_WORDS "gelu_tanh|gelu|relu" /* NONLINEAR_GELU_TANH and on */

/* Names and layouts of a model's tensors in Hugging Face's files, and how it is initialised. */
struct dialect {
	const char *root, *blocks; /* before the names of the root's tensors; before a block's number */
	const char *tokens, *positions, *last_norm;
	const char *norm_1, *qkv, *projection, *norm_2, *up, *down;
	const char *parts[TENSOR_PIECES]; /* where q, k and v are tensors of their own */
	bool in_out;                      /* weights are [in,out] */
	bool scaled;                      /* layers that add to the residual stream begin smaller */
	int64_t first_position;           /* rows of the position table before token 0's */
};

static const struct dialect gpt2 = {.root = "",
                                    .blocks = "h.",
                                    .tokens = "wte",
                                    .positions = "wpe",
                                    .last_norm = "ln_f",
                                    .norm_1 = "ln_1",
                                    .qkv = "attn.c_attn",
                                    .projection = "attn.c_proj",
                                    .norm_2 = "ln_2",
                                    .up = "mlp.c_fc",
                                    .down = "mlp.c_proj",
                                    .in_out = true,
                                    .scaled = true};
static const struct dialect mpt = {.root = "transformer.",
                                   .blocks = "transformer.blocks.",
                                   .tokens = "wte",
                                   .positions = "wpe",
                                   .last_norm = "norm_f",
                                   .norm_1 = "norm_1",
                                   .qkv = "attn.Wqkv",
                                   .projection = "attn.out_proj",
                                   .norm_2 = "norm_2",
                                   .up = "ffn.up_proj",
                                   .down = "ffn.down_proj"};
static const struct dialect opt = {.root = "model.decoder.",
                                   .blocks = "model.decoder.layers.",
                                   .tokens = "embed_tokens",
                                   .positions = "embed_positions",
                                   .last_norm = "final_layer_norm",
                                   .norm_1 = "self_attn_layer_norm",
                                   .qkv = "self_attn.qkv_proj",
                                   .projection = "self_attn.out_proj",
                                   .norm_2 = "final_layer_norm",
                                   .up = "fc1",
                                   .down = "fc2",
                                   .parts = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                                   .first_position = 2};

struct gpt_sizes {
	int64_t layers, width, heads, context, vocabulary;
	int64_t hidden; /* of the MLP; 0: four times the width, as GPT-2 has it */
	bool no_bias;
	enum positions positions;
	enum nonlinearity activation;
	bool standard;  /* attention stores the tokens × tokens matrices; the shipped kernel stores none */
	double dropout; /* the probability of every dropout; 0: there is none */
};

struct builder {
	struct text_unit u;
	const struct gpt_sizes *g;
	const struct dialect *d;
	int64_t width, hidden;
	double residual_std; /* of the layers that add to the residual stream */
	bool standard;
	double dropout;
};

/* A bias of zeros, where the model has biases. */
static int add_bias(struct builder *b, const char *name, int64_t n)
{
	return b->g->no_bias ? -1 : text_unit_tensor(&b->u, name, ".bias", n, 0, INIT_ZERO, 0);
}

/* Layer norm of x; returns its output. */
static int add_norm(struct builder *b, const char *name, const char *tensor, int x)
{
	struct kernel *k = text_unit_kernel(&b->u, KERNEL_NORM, name, x, b->width, b->width);
	k->weight = text_unit_tensor(&b->u, tensor, ".weight", b->width, 0, INIT_ONE, 0);
	k->bias = add_bias(b, tensor, b->width);
	if (!b->standard)
		k->saved = text_unit_value(&b->u, name, ".statistics", 2 * b->u.m->tokens, VALUE_FP32);
	return k->y;
}

static int add_linear(struct builder *b, const char *name, const char *tensor, int x, int64_t in, int64_t out,
                      int residual, enum nonlinearity nonlinear)
{
	struct kernel *k = text_unit_kernel(&b->u, KERNEL_LINEAR, name, x, in, out);
	k->residual = residual;
	k->weight_in_out = b->d->in_out;
	k->nonlinear = nonlinear;
	k->weight = text_unit_tensor(&b->u, tensor, ".weight", b->d->in_out ? in : out, b->d->in_out ? out : in,
	                             INIT_NORMAL, INIT_DEVIATION);
	k->bias = add_bias(b, tensor, out);
	if (nonlinear)
		k->saved = text_unit_value(&b->u, name, ".pre", b->u.m->tokens * out, VALUE_ACTIVATION);
	return k->y;
}

static void set_parts(struct builder *b, int tensor, const char *ending)
{
	struct tensor_piece pieces[TENSOR_PIECES];
	if (tensor < 0)
		return;
	for (int i = 0; i < TENSOR_PIECES; i++) {
		const char *name = b->d->parts[i];
		pieces[i].name = name ? text_unit_tensor_name(&b->u, name, ending) : NULL;
		pieces[i].size = b->width;
	}
	model_set_pieces(b->u.m, tensor, TENSOR_PIECES, pieces);
}

static int add_qkv(struct builder *b, int x, int64_t width)
{
	int y = add_linear(b, "qkv", b->d->qkv, x, width, 3 * width, -1, NONLINEAR_NONE);
	const struct kernel *k = &b->u.m->kernels[b->u.m->kernel_count - 1];
	set_parts(b, k->weight, ".weight");
	set_parts(b, k->bias, ".bias");
	return y;
}

/* Dropout of x, added to `residual` if there is one. Returns its output, or x if nothing is dropped. */
static int add_dropout(struct builder *b, const char *name, int x, int64_t width, int residual)
{
	if (b->dropout <= 0)
		return x;
	const char *dropout = arena_print(&b->u.m->arena, "%s.dropout", name);
	struct kernel *k = text_unit_kernel(&b->u, KERNEL_DROPOUT, dropout, x, width, width);
	k->dropout = b->dropout;
	k->residual = residual;
	k->saved = text_unit_value(&b->u, dropout, ".mask", b->u.m->tokens * width, VALUE_MASK);
	return k->y;
}

/* A linear layer and a dropout. The last of the two adds its output to the residual stream. */
static int add_projection(struct builder *b, const char *name, const char *tensor, int x, int64_t in, int residual)
{
	bool drops = b->dropout > 0;
	int y = add_linear(b, name, tensor, x, in, b->width, drops ? -1 : residual, NONLINEAR_NONE);
	b->u.m->tensors[b->u.m->kernels[b->u.m->kernel_count - 1].weight].init_scale = b->residual_std;
	return add_dropout(b, name, y, b->width, residual);
}

static int add_attention(struct builder *b, int qkv, int64_t heads)
{
	struct kernel *k = text_unit_kernel(&b->u, KERNEL_ATTENTION, "attention", qkv, 3 * b->width, b->width);
	k->heads = k->kv_heads = heads;
	k->head_size = b->width / heads;
	k->alibi = b->g->positions == POSITIONS_ALIBI;
	k->inner = true;
	k->saved = text_unit_value(&b->u, "attention", ".log_sum_exp", b->u.m->tokens * heads, VALUE_FP32);
	return k->y;
}

static struct kernel *add_inner(struct builder *b, enum kernel_kind kind, const char *name, int x, int64_t heads,
                                int64_t out)
{
	struct kernel *k = text_unit_kernel(&b->u, kind, name, x, out, out);
	k->heads = k->kv_heads = heads;
	k->head_size = b->width / heads;
	k->inner = true;
	return k;
}

static int add_standard_attention(struct builder *b, int qkv, int64_t heads)
{
	struct model *m = b->u.m;
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
	int h = add_norm(b, "ln_1", b->d->norm_1, x);
	int qkv = add_qkv(b, h, width);
	int attention = b->standard ? add_standard_attention(b, qkv, heads) : add_attention(b, qkv, heads);
	int mid = add_projection(b, "proj", b->d->projection, attention, width, x);
	h = add_norm(b, "ln_2", b->d->norm_2, mid);
	int fc = add_linear(b, "fc", b->d->up, h, width, b->hidden, -1, b->g->activation);
	return add_projection(b, "out", b->d->down, fc, b->hidden, mid);
}

static int64_t hidden_of(const struct gpt_sizes *g)
{
	return g->hidden ? g->hidden : 4 * g->width;
}

/* Token table, and position table if there is one. Returns the output. */
static int add_embedding(struct builder *b)
{
	const struct gpt_sizes *g = b->g;
	struct kernel *k = text_unit_embedding(&b->u, b->d->tokens, g->vocabulary, g->width, INIT_DEVIATION);
	if (g->positions == POSITIONS_TABLE) {
		k->first_position = b->d->first_position;
		k->bias = text_unit_tensor(&b->u, b->d->positions, ".weight", k->first_position + g->context, g->width,
		                           INIT_NORMAL, INIT_DEVIATION);
	}
	return k->y;
}

static void build(struct model *m, const struct gpt_sizes *g, const struct dialect *d, int64_t tokens)
{
	model_begin_text(m, g->context, tokens, g->vocabulary);
	if (g->standard || g->dropout > 0)
		m->only_simulated = "the shipped kernels store no tokens × tokens matrix and no masks; leave attention="
		                    "standard and dropout out, or use sim";
	int root = model_add_unit(m, "root");
	struct builder b = {.u = {m, root, "", d->root},
	                    .g = g,
	                    .d = d,
	                    .width = g->width,
	                    .hidden = hidden_of(g),
	                    .standard = g->standard,
	                    .dropout = g->dropout,
	                    .residual_std =
	                            d->scaled ? INIT_DEVIATION / sqrt(2.0 * (double)g->layers) : INIT_DEVIATION};
	int x = add_embedding(&b), token_table = m->kernels[m->kernel_count - 1].weight;
	x = add_dropout(&b, "embedding", x, g->width, -1);
	for (int i = 0; i < (int)g->layers; i++) {
		struct builder block = b;
		text_unit_block(&block.u, i, d->blocks);
		x = add_block(&block, g->heads, x);
	}
	model_add_text_head(m, root, add_norm(&b, "ln_f", d->last_norm, x), g->width, token_table);
}

static const struct model_name names[] = {
        {"gpt", NULL, "GPT-2's architecture, small: 4,837,376 parameters, byte vocabulary"},
        {"gpt2-124m", "gpt2", "GPT-2 (gpt2): 124,439,808 parameters"},
        {"gpt2-355m", "gpt2-medium", "GPT-2 medium (gpt2-medium): 354,823,168 parameters"},
        {"gpt2-774m", "gpt2-large", "GPT-2 large (gpt2-large): 774,030,080 parameters"},
        {"gpt2-1558m", "gpt2-xl", "GPT-2 XL (gpt2-xl): 1,557,611,200 parameters"},
        {"gpt3-175b", NULL, "GPT-3: 175 billion parameters, for simulation"},
        {"mpt", NULL, "MPT's architecture, small: 4,787,456 parameters, byte vocabulary"},
        {"mpt-7b", NULL, "MPT 7B: 6,649,286,656 parameters; ALiBi, no biases"},
        {"mpt-30b", NULL, "MPT 30B: 29,957,200,896 parameters"},
        {"opt", NULL, "OPT's architecture, small: 4,837,888 parameters, byte vocabulary"},
        {"opt-125m", NULL, "OPT 125M: 125,239,296 parameters; ReLU"},
        {"opt-1.3b", NULL, "OPT 1.3B: 1,315,758,080 parameters"},
        {"opt-6.7b", NULL, "OPT 6.7B: 6,658,473,984 parameters"},
        {"opt-13b", NULL, "OPT 13B: 12,853,473,280 parameters"},
};

/* The sizes of each name: layers, width, heads, context, vocabulary. */
#define GPT2(...)                                                                                                      \
	{                                                                                                              \
		{__VA_ARGS__, .activation = NONLINEAR_GELU_TANH}, &gpt2                                                \
	}
#define MPT(...)                                                                                                       \
	{                                                                                                              \
		{__VA_ARGS__, .activation = NONLINEAR_GELU, .positions = POSITIONS_ALIBI, .no_bias = true}, &mpt       \
	}
#define OPT(...)                                                                                                       \
	{                                                                                                              \
		{__VA_ARGS__, .activation = NONLINEAR_RELU}, &opt                                                      \
	}
static const struct preset {
	struct gpt_sizes sizes;
	const struct dialect *dialect;
} presets[] = {
        GPT2(6, 256, 8, 128, 256),       GPT2(12, 768, 12, 1024, 50257),  GPT2(24, 1024, 16, 1024, 50257),
        GPT2(36, 1280, 20, 1024, 50257), GPT2(48, 1600, 25, 1024, 50257), GPT2(96, 12288, 96, 2048, 50257),
        MPT(6, 256, 8, 128, 256),        MPT(32, 4096, 32, 2048, 50432),  MPT(48, 7168, 64, 8192, 50432),
        OPT(6, 256, 8, 128, 256),        OPT(12, 768, 12, 2048, 50272),   OPT(24, 2048, 32, 2048, 50272),
        OPT(32, 4096, 32, 2048, 50272),  OPT(40, 5120, 40, 2048, 50272),
};
static_assert(sizeof names / sizeof *names == sizeof presets / sizeof *presets, "each name has its preset");

/* L·C·(4·C + 2·hidden) is the bulk. */
static double parameters_of(const struct gpt_sizes *g)
{
	return (double)g->layers * (double)g->width * (4.0 * (double)g->width + 2.0 * (double)hidden_of(g)) +
	       (double)(g->vocabulary + g->context) * (double)g->width;
}

/* The keys in which the model is not its name's. */
static const char *own_keys(struct arena *a, const struct gpt_sizes *g, const struct gpt_sizes *preset)
{
	char word[16];
	const char *text = g->standard ? ",attention=standard" : "";
	if (hidden_of(g) != 4 * g->width)
		text = arena_print(a, "%s,hidden=%lld", text, (long long)g->hidden);
	if (g->dropout > 0)
		text = arena_print(a, "%s,dropout=%.17g", text, g->dropout);
	word_at(POSITIONS, (int)g->positions, word, sizeof word);
	if (g->positions != preset->positions)
		text = arena_print(a, "%s,positions=%s", text, word);
	if (g->no_bias != preset->no_bias)
		text = arena_print(a, "%s,bias=%s", text, g->no_bias ? "no" : "yes");
	word_at(ACTIVATION_WORDS, (int)g->activation - 1, word, sizeof word);
	if (g->activation != preset->activation)
		text = arena_print(a, "%s,activation=%s", text, word);
	return text;
}

static enum status read_sizes(const struct model_request *q, const char *name, const struct gpt_sizes *preset,
                              struct gpt_sizes *out)
{
	enum {
		LAYERS,
		WIDTH,
		HEADS,
		CONTEXT,
		VOCABULARY,
		HIDDEN,
		ATTENTION,
		DROPOUT,
		POSITION,
		BIAS,
		ACTIVATION,
		KEYS
	};
	static const struct key list[KEYS] = {{"layers", "N", "", ""},
	                                      {"width", "N", "", ""},
	                                      {"heads", "N", "", ""},
	                                      {"context", "N", "", ""},
	                                      {"vocabulary", "N", "", ""},
	                                      {"hidden", "N", "", ""},
	                                      {"attention", "flash|standard", "flash", ""},
	                                      {"dropout", "P", "0", ""},
	                                      {"positions", POSITIONS, "", ""},
	                                      {"bias", "yes|no", "", ""},
	                                      {"activation", ACTIVATION_WORDS, "", ""}};
	const struct keys keys = {"{model}", name, list, KEYS, ",", 1, LARGEST_SIZE};
	struct key_value value[KEYS];
	TRY(keys_read(&keys, q->pairs, value));
	*out = (struct gpt_sizes){.layers = key_whole(&value[LAYERS], preset->layers),
	                          .width = key_whole(&value[WIDTH], preset->width),
	                          .heads = key_whole(&value[HEADS], preset->heads),
	                          .context = key_whole(&value[CONTEXT], preset->context),
	                          .vocabulary = key_whole(&value[VOCABULARY], preset->vocabulary),
	                          .hidden = key_whole(&value[HIDDEN], 0),
	                          .positions =
	                                  (enum positions)key_word(&value[POSITION], POSITIONS, (int)preset->positions),
	                          .no_bias = key_word(&value[BIAS], "yes|no", preset->no_bias),
	                          .activation = (enum nonlinearity)(1 + key_word(&value[ACTIVATION], ACTIVATION_WORDS,
	                                                                         (int)preset->activation - 1)),
	                          .standard = key_is(&value[ATTENTION], "standard"),
	                          .dropout = key_real(&value[DROPOUT])};
	return STATUS_OK;
}

static enum status check_sizes(const struct model_request *q, const char *name, const struct gpt_sizes *g)
{
	if (g->width % g->heads)
		return status_fail(STATUS_INPUT, "{model} %s: width %lld is not divisible by %lld heads",
		                   q->specification, (long long)g->width, (long long)g->heads);
	return model_check_text(q, name, g->layers, g->context, parameters_of(g));
}

static enum status open_gpt(struct model *m, const struct model_request *q, int place)
{
	const char *name = names[place].name;
	const struct gpt_sizes *preset = &presets[place].sizes;
	struct gpt_sizes g;
	TRY(read_sizes(q, name, preset, &g));
	TRY(check_sizes(q, name, &g));
	m->name = name;
	m->specification = arena_print(&m->arena, "%s:layers=%lld,width=%lld,heads=%lld,context=%lld,vocabulary=%lld%s",
	                               name, (long long)g.layers, (long long)g.width, (long long)g.heads,
	                               (long long)g.context, (long long)g.vocabulary, own_keys(&m->arena, &g, preset));
	build(m, &g, presets[place].dialect, q->sequence ? q->sequence : g.context);
	return STATUS_OK;
}

const struct family family_gpt = {names, sizeof names / sizeof names[0], open_gpt};
