/* The Llama family (Touvron et al. 2023, arXiv 2302.13971 and 2307.09288; Llama 3, Mistral, Qwen2, Qwen3): RMSNorm
 * before each half of a block, rotary positions, grouped-query attention, SwiGLU, linear weights [out,in]. Names and
 * shapes of the tensors are those of Hugging Face's LlamaForCausalLM; q, k and v are one matrix here, gate and up
 * another, whose rows are those of the files' tensors one after another.
 *
 * A block, with the values that forward saves for backward beneath each kernel:
 *
 *     x ─► input_norm ─► qkv ─► rotary ─► attention ─► proj(+x) ─► mid ─► post_norm ─► gate_up ─► swiglu ─► down(+mid)
 *          1/rms, y             y         y, log-sum-exp                  1/rms, y     y          y
 *
 * Of rotary's input nothing is kept, since turning back needs no more than the angle; with qk_norm it is. Of SwiGLU,
 * gate and up are kept and their product, as Megatron's fused kernel does: 3 hidden elements a token where PyTorch's
 * own modules keep 4 (silu(gate) too).
 *
 * A sliding window is the same in every layer, as Mistral has it.
 *
 * Initialised as Hugging Face's: normal, standard deviation 0.02; biases 0.
 */
#include <string.h>

#include "strategy/model/family.h"
#include "strategy/model/rotary.h"

#define INIT_DEVIATION 0.02
enum { LEAST_HEAD = 4, LARGEST_HEAD = 256 };

/* The linear layers that have a bias: none, q, k and v (Qwen2), all of attention, or the MLP's too. */
#define BIASES "none|qkv|attention|all"
enum biases { BIAS_NONE, BIAS_QKV, BIAS_ATTENTION, BIAS_ALL };

struct llama_sizes {
	int64_t layers, width, heads, kv_heads, head_size, hidden, context, vocabulary;
	int64_t window; /* a token attends to so many, itself the last; 0: to all before it */
	double theta, epsilon;
	enum biases bias;
	bool tied, qk_norm; /* qk_norm: RMSNorm of each head of q and k (Qwen3) */
};

struct builder {
	struct text_unit u;
	const struct llama_sizes *g;
	const float *frequency;
	float amplitude;
};

static int add_norm(struct builder *b, const char *name, const char *tensor, int x)
{
	struct kernel *k = text_unit_kernel(&b->u, KERNEL_RMS_NORM, name, x, b->g->width, b->g->width);
	k->epsilon = (float)b->g->epsilon;
	k->weight = text_unit_tensor(&b->u, tensor, ".weight", b->g->width, 0, INIT_ONE, 0);
	k->saved = text_unit_value(&b->u, name, ".statistics", b->u.m->tokens, VALUE_FP32);
	return k->y;
}

static struct kernel *add_linear(struct builder *b, const char *name, const char *tensor, int x, int64_t in,
                                 int64_t out, int residual, bool bias)
{
	struct kernel *k = text_unit_kernel(&b->u, KERNEL_LINEAR, name, x, in, out);
	k->residual = residual;
	k->weight = text_unit_tensor(&b->u, tensor, ".weight", out, in, INIT_NORMAL, INIT_DEVIATION);
	if (bias)
		k->bias = text_unit_tensor(&b->u, tensor, ".bias", out, 0, INIT_ZERO, 0);
	return k;
}

/* Rows of a matrix that are a tensor of their own in files: "self_attn.q_proj". */
struct part {
	const char *name;
	int64_t rows;
};

static void name_parts(struct builder *b, int tensor, const char *ending, const struct part *parts, int count)
{
	struct tensor_piece pieces[TENSOR_PIECES];
	if (tensor < 0)
		return;
	for (int i = 0; i < count; i++)
		pieces[i] = (struct tensor_piece){text_unit_tensor_name(&b->u, parts[i].name, ending), parts[i].rows};
	model_set_pieces(b->u.m, tensor, count, pieces);
}

/* A linear layer whose rows are several of the files' tensors, which all read the same input. */
static int add_joined(struct builder *b, const char *name, const char *tensor, int x, const struct part *parts,
                      int count, bool bias)
{
	int64_t out = 0;
	for (int i = 0; i < count; i++)
		out += parts[i].rows;
	const struct kernel *k = add_linear(b, name, tensor, x, b->g->width, out, -1, bias);
	name_parts(b, k->weight, ".weight", parts, count);
	name_parts(b, k->bias, ".bias", parts, count);
	return k->y;
}

static int add_head_norm(struct builder *b, const char *tensor)
{
	return text_unit_tensor(&b->u, tensor, ".weight", b->g->head_size, 0, INIT_ONE, 0);
}

/* A kernel between qkv and the layer that the heads' outputs go to. */
static struct kernel *add_heads(struct builder *b, enum kernel_kind kind, const char *name, int x, int64_t out)
{
	const struct llama_sizes *g = b->g;
	int64_t in = (g->heads + 2 * g->kv_heads) * g->head_size;
	struct kernel *k = text_unit_kernel(&b->u, kind, name, x, in, out);
	k->heads = g->heads;
	k->kv_heads = g->kv_heads;
	k->head_size = g->head_size;
	return k;
}

static int add_rotary(struct builder *b, int qkv)
{
	struct kernel *k =
	        add_heads(b, KERNEL_ROTARY, "rotary", qkv, (b->g->heads + 2 * b->g->kv_heads) * b->g->head_size);
	k->frequency = b->frequency;
	k->amplitude = b->amplitude;
	k->epsilon = (float)b->g->epsilon;
	if (b->g->qk_norm) {
		k->weight = add_head_norm(b, "self_attn.q_norm");
		k->bias = add_head_norm(b, "self_attn.k_norm");
	}
	return k->y;
}

static int add_attention(struct builder *b, int qkv)
{
	struct model *m = b->u.m;
	struct kernel *k = add_heads(b, KERNEL_ATTENTION, "attention", qkv, b->g->heads * b->g->head_size);
	k->inner = true;
	k->window = b->g->window < m->tokens ? b->g->window : 0;
	k->saved = text_unit_value(&b->u, "attention", ".log_sum_exp", m->tokens * b->g->heads, VALUE_FP32);
	return k->y;
}

static int add_swiglu(struct builder *b, int gate_up)
{
	return text_unit_kernel(&b->u, KERNEL_SWIGLU, "swiglu", gate_up, 2 * b->g->hidden, b->g->hidden)->y;
}

static int add_block(struct builder *b, int x)
{
	const struct llama_sizes *g = b->g;
	int64_t all = g->heads * g->head_size, keys = g->kv_heads * g->head_size;
	const struct part qkv[] = {{"self_attn.q_proj", all}, {"self_attn.k_proj", keys}, {"self_attn.v_proj", keys}};
	const struct part gate_up[] = {{"mlp.gate_proj", g->hidden}, {"mlp.up_proj", g->hidden}};
	int h = add_norm(b, "input_norm", "input_layernorm", x);
	h = add_joined(b, "qkv", "self_attn.qkv_proj", h, qkv, 3, g->bias != BIAS_NONE);
	h = add_attention(b, add_rotary(b, h));
	int mid = add_linear(b, "proj", "self_attn.o_proj", h, all, g->width, x, g->bias >= BIAS_ATTENTION)->y;
	h = add_norm(b, "post_norm", "post_attention_layernorm", mid);
	h = add_joined(b, "gate_up", "mlp.gate_up_proj", h, gate_up, 2, g->bias == BIAS_ALL);
	return add_linear(b, "down", "mlp.down_proj", add_swiglu(b, h), g->hidden, g->width, mid, g->bias == BIAS_ALL)
	        ->y;
}

/* `table`: the embedding's tensor, for a head that is tied to it. */
static int add_head_weight(struct builder *b, int table)
{
	return b->g->tied ? table
	                  : model_add_tensor(b->u.m, b->u.unit, "lm_head.weight", b->g->vocabulary, b->g->width,
	                                     INIT_NORMAL, INIT_DEVIATION);
}

static void build(struct model *m, const struct llama_sizes *g, const struct rotary *r, int64_t tokens)
{
	model_begin_text(m, g->context, tokens, g->vocabulary);
	float *frequency = arena_alloc(&m->arena, (size_t)(g->head_size / 2) * sizeof *frequency);
	struct builder b = {.u = {m, model_add_unit(m, "root"), "", "model."}, .g = g, .frequency = frequency};
	rotary_frequencies(r, g->head_size, tokens, frequency, &b.amplitude);
	const struct kernel *k = text_unit_embedding(&b.u, "embed_tokens", g->vocabulary, g->width, INIT_DEVIATION);
	int x = k->y, table = k->weight;
	for (int i = 0; i < (int)g->layers; i++) {
		struct builder block = b;
		text_unit_block(&block.u, i, "model.layers.");
		x = add_block(&block, x);
	}
	x = add_norm(&b, "norm", "norm", x);
	model_add_text_head(m, b.u.unit, x, g->width, add_head_weight(&b, table));
}

/* ---- names and keys ---- */

static const struct model_name names[] = {
        {"llama", NULL, "Llama's architecture, small: 4,484,352 parameters, byte vocabulary"},
        {"llama-2-7b", "Llama-2-7b-hf", "Llama 2 7B: 6,738,415,616 parameters"},
        {"llama-3-8b", "Meta-Llama-3-8B", "Llama 3 8B: 8,030,261,248 parameters, 8 heads of keys"},
        {"llama-3-70b", "Meta-Llama-3-70B", "Llama 3 70B: 70,553,706,496 parameters"},
        {"mistral-7b", "Mistral-7B-v0.1", "Mistral 7B: 7,241,732,096 parameters, a window of 4,096 tokens"},
        {"qwen2.5-7b", "Qwen2.5-7B", "Qwen2.5 7B: 7,615,616,512 parameters, with biases of q, k and v"},
        {"qwen3-8b", "Qwen3-8B", "Qwen3 8B: 8,190,735,360 parameters, with norms of q and k"},
};

/* layers, width, heads, kv_heads, head_size, hidden, context, vocabulary, window, theta, epsilon, bias, tied, qk_norm
 */
static const struct llama_sizes presets[] = {
        {6, 256, 8, 4, 32, 688, 128, 256, 0, 1e4, 1e-5, BIAS_NONE, false, false},
        {32, 4096, 32, 32, 128, 11008, 4096, 32000, 0, 1e4, 1e-5, BIAS_NONE, false, false},
        {32, 4096, 32, 8, 128, 14336, 8192, 128256, 0, 5e5, 1e-5, BIAS_NONE, false, false},
        {80, 8192, 64, 8, 128, 28672, 8192, 128256, 0, 5e5, 1e-5, BIAS_NONE, false, false},
        {32, 4096, 32, 8, 128, 14336, 32768, 32000, 4096, 1e4, 1e-5, BIAS_NONE, false, false},
        {28, 3584, 28, 4, 128, 18944, 32768, 152064, 0, 1e6, 1e-6, BIAS_QKV, false, false},
        {36, 4096, 32, 8, 128, 12288, 40960, 151936, 0, 1e6, 1e-6, BIAS_NONE, false, true},
};

enum {
	LAYERS,
	WIDTH,
	HEADS,
	KV_HEADS,
	HEAD_SIZE,
	HIDDEN,
	CONTEXT,
	VOCABULARY,
	WINDOW,
	TIED,
	BIAS,
	QK_NORM,
	THETA,
	EPSILON,
	SCALING,
	FACTOR,
	ORIGINAL,
	LOW,
	HIGH,
	KEYS
};

static const struct key list[KEYS] = {
        {"layers", "N", "", ""},    {"width", "N", "", ""},      {"heads", "N", "", ""},
        {"kv_heads", "N", "", ""},  {"head_size", "N", "", ""},  {"hidden", "N", "", ""},
        {"context", "N", "", ""},   {"vocabulary", "N", "", ""}, {"window", "N", "", ""},
        {"tied", "yes|no", "", ""}, {"bias", BIASES, "", ""},    {"qk_norm", "yes|no", "", ""},
        {"theta", "R", "", ""},     {"epsilon", "R", "", ""},    {"scaling", ROTARY_SCALINGS, "none", ""},
        {"factor", "R", "", ""},    {"original", "N", "", ""},   {"low", "R", "", ""},
        {"high", "R", "", ""}};

static double real_of(const struct key_value *v, double otherwise)
{
	return v->length ? key_real(v) : otherwise;
}

static struct rotary read_rotary(const struct key_value *value, const struct llama_sizes *g)
{
	enum rotary_scaling scaling = (enum rotary_scaling)key_word(&value[SCALING], ROTARY_SCALINGS, ROTARY_NONE);
	return (struct rotary){.theta = g->theta,
	                       .scaling = scaling,
	                       .factor = real_of(&value[FACTOR], 0),
	                       .low = real_of(&value[LOW], 1),
	                       .high = real_of(&value[HIGH], scaling == ROTARY_YARN ? 32 : 4),
	                       .original = key_whole(&value[ORIGINAL], g->context)};
}

static struct llama_sizes read_sizes(const struct key_value *value, const struct llama_sizes *preset)
{
	struct llama_sizes g = {.layers = key_whole(&value[LAYERS], preset->layers),
	                        .width = key_whole(&value[WIDTH], preset->width),
	                        .heads = key_whole(&value[HEADS], preset->heads),
	                        .hidden = key_whole(&value[HIDDEN], preset->hidden),
	                        .context = key_whole(&value[CONTEXT], preset->context),
	                        .vocabulary = key_whole(&value[VOCABULARY], preset->vocabulary),
	                        .window = key_whole(&value[WINDOW], preset->window),
	                        .theta = real_of(&value[THETA], preset->theta),
	                        .epsilon = real_of(&value[EPSILON], preset->epsilon),
	                        .bias = (enum biases)key_word(&value[BIAS], BIASES, (int)preset->bias),
	                        .tied = !key_word(&value[TIED], "yes|no", !preset->tied),
	                        .qk_norm = !key_word(&value[QK_NORM], "yes|no", !preset->qk_norm)};
	bool same = g.width == preset->width && g.heads == preset->heads;
	g.head_size = key_whole(&value[HEAD_SIZE], same ? preset->head_size : g.width / g.heads);
	g.kv_heads = key_whole(&value[KV_HEADS], g.heads == preset->heads ? preset->kv_heads : g.heads);
	return g;
}

/* The bulk of each layer, and the tables. */
static double parameters_of(const struct llama_sizes *g)
{
	double layer = (double)g->width *
	               ((double)(2 * (g->heads + g->kv_heads)) * (double)g->head_size + 3.0 * (double)g->hidden);
	return (double)g->layers * layer + 2.0 * (double)g->vocabulary * (double)g->width;
}

/* A key of a scaling that is not chosen would be ignored. */
static enum status check_scaling(const struct model_request *q, const struct key_value *value, const struct rotary *r)
{
	static const struct {
		int key;
		unsigned of; /* bit i: scaling i */
	} rows[] = {{FACTOR, ~1U << 0},
	            {ORIGINAL, 1U << ROTARY_DYNAMIC | 1U << ROTARY_LLAMA3 | 1U << ROTARY_YARN},
	            {LOW, 1U << ROTARY_LLAMA3 | 1U << ROTARY_YARN},
	            {HIGH, 1U << ROTARY_LLAMA3 | 1U << ROTARY_YARN}};
	char word[16];
	word_at(ROTARY_SCALINGS, (int)r->scaling, word, sizeof word);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (value[rows[i].key].given && !(rows[i].of >> r->scaling & 1))
			return status_fail(STATUS_INPUT, "{model} %s: %s has no meaning with scaling=%s; leave it out",
			                   q->specification, list[rows[i].key].name, word);
	if (r->scaling != ROTARY_NONE && r->factor < 1)
		return status_fail(STATUS_INPUT, "{model} %s: scaling=%s needs factor=R, at least 1", q->specification,
		                   word);
	if (r->scaling >= ROTARY_LLAMA3 && r->low >= r->high)
		return status_fail(STATUS_INPUT, "{model} %s: low must be below high", q->specification);
	return STATUS_OK;
}

static enum status check_sizes(const struct model_request *q, const char *name, const struct llama_sizes *g)
{
	if (g->heads % g->kv_heads)
		return status_fail(STATUS_INPUT,
		                   "{model} %s: %lld heads are not divisible among %lld heads of keys; choose kv_heads",
		                   q->specification, (long long)g->heads, (long long)g->kv_heads);
	if (g->head_size < LEAST_HEAD || g->head_size % 2 || g->head_size > LARGEST_HEAD)
		return status_fail(
		        STATUS_INPUT,
		        "{model} %s: heads of %lld; rotary embedding turns pairs: head_size must be even, from %d "
		        "to %d",
		        q->specification, (long long)g->head_size, LEAST_HEAD, LARGEST_HEAD);
	if (g->theta <= 1)
		return status_fail(STATUS_INPUT, "{model} %s: theta must be above 1", q->specification);
	return model_check_text(q, name, g->layers, g->context, parameters_of(g));
}

/* Writes every key, so that the text opens the same model. */
static const char *specification_of(struct arena *a, const char *name, const struct llama_sizes *g,
                                    const struct rotary *r)
{
	char bias[16], scaling[16];
	word_at(BIASES, (int)g->bias, bias, sizeof bias);
	word_at(ROTARY_SCALINGS, (int)r->scaling, scaling, sizeof scaling);
	const char *text = arena_print(
	        a,
	        "%s:layers=%lld,width=%lld,heads=%lld,kv_heads=%lld,head_size=%lld,hidden=%lld,context=%lld,vocabulary="
	        "%lld,tied=%s,bias=%s,qk_norm=%s,theta=%.17g,epsilon=%.9g",
	        name, (long long)g->layers, (long long)g->width, (long long)g->heads, (long long)g->kv_heads,
	        (long long)g->head_size, (long long)g->hidden, (long long)g->context, (long long)g->vocabulary,
	        g->tied ? "yes" : "no", bias, g->qk_norm ? "yes" : "no", g->theta, g->epsilon);
	if (g->window)
		text = arena_print(a, "%s,window=%lld", text, (long long)g->window);
	if (r->scaling != ROTARY_NONE)
		text = arena_print(a, "%s,scaling=%s,factor=%.17g", text, scaling, r->factor);
	if (r->scaling >= ROTARY_DYNAMIC)
		text = arena_print(a, "%s,original=%lld", text, (long long)r->original);
	if (r->scaling >= ROTARY_LLAMA3)
		text = arena_print(a, "%s,low=%.17g,high=%.17g", text, r->low, r->high);
	return text;
}

static enum status open_llama(struct model *m, const struct model_request *q, int place)
{
	const char *name = names[place].name;
	const struct keys keys = {"{model}", name, list, KEYS, ",", 1, LARGEST_SIZE};
	struct key_value value[KEYS];
	TRY(keys_read(&keys, q->pairs, value));
	const struct llama_sizes g = read_sizes(value, &presets[place]);
	const struct rotary r = read_rotary(value, &g);
	TRY(check_scaling(q, value, &r));
	TRY(check_sizes(q, name, &g));
	m->name = name;
	m->specification = specification_of(&m->arena, name, &g, &r);
	build(m, &g, &r, q->sequence ? q->sequence : g.context);
	return STATUS_OK;
}

const struct family family_llama = {names, sizeof names / sizeof names[0], open_llama};
