/* The files of llama, mistral, qwen2 and qwen3: one block, with biases, norms and a window of their own. */
#include <string.h>

#include "strategy/model/config_file.h"

enum { LLAMA, MISTRAL, QWEN2, QWEN3 };

/* Defaults are those of transformers 5's LlamaConfig, MistralConfig, Qwen2Config and Qwen3Config. */
static const struct config_row rows[] = {
        {"num_hidden_layers", NULL, ROW_WHOLE, "layers", {"32", "32", "32", "32"}, NULL, NULL},
        {"hidden_size", NULL, ROW_WHOLE, "width", {"4096", "4096", "4096", "4096"}, NULL, NULL},
        {"num_attention_heads", NULL, ROW_WHOLE, "heads", {"32", "32", "32", "32"}, NULL, NULL},
        {"num_key_value_heads", NULL, ROW_WHOLE_OR_NULL, "kv_heads", {"", "8", "32", "32"}, NULL, NULL},
        {"head_dim", NULL, ROW_WHOLE_OR_NULL, "head_size", {"", "", "", "128"}, NULL, NULL},
        {"intermediate_size", NULL, ROW_WHOLE, "hidden", {"11008", "14336", "22016", "22016"}, NULL, NULL},
        {"max_position_embeddings", NULL, ROW_WHOLE, "context", {"2048", "131072", "32768", "32768"}, NULL, NULL},
        {"vocab_size", NULL, ROW_WHOLE, "vocabulary", {"32000", "32000", "151936", "151936"}, NULL, NULL},
        {"tie_word_embeddings", NULL, ROW_FLAG, "tied", {"no", "no", "no", "no"}, NULL, NULL},
        {"rms_norm_eps", NULL, ROW_REAL, "epsilon", {"1e-6", "1e-6", "1e-6", "1e-6"}, NULL, NULL},
        {"hidden_act",
         NULL,
         ROW_MUST,
         NULL,
         {"silu", "silu", "silu", "silu"},
         "silu|swish",
         "the MLP's gate is SwiGLU's"},
};

/* ---- heads ---- */

static enum status read_heads(struct config *c)
{
	int64_t width = config_pair_whole(c, "width"), heads = config_pair_whole(c, "heads");
	if (!config_pair(c, "kv_heads"))
		config_set(c, "kv_heads", "%lld", (long long)heads);
	int64_t keys = config_pair_whole(c, "kv_heads"), size = config_pair_whole(c, "head_size");
	if (!size && width % heads)
		return config_fail(c, "hidden_size", "%lld is not divisible by %lld heads (num_attention_heads)",
		                   (long long)width, (long long)heads);
	if (!size && width / heads % 2)
		return config_fail(c, "hidden_size",
		                   "%lld elements in %lld heads (num_attention_heads) are %lld each; rotary embedding "
		                   "turns pairs, so that must be even",
		                   (long long)width, (long long)heads, (long long)(width / heads));
	if (size % 2)
		return config_fail(c, "head_dim", "%lld is odd; rotary embedding turns pairs", (long long)size);
	if (heads % keys)
		return config_fail(c, "num_attention_heads",
		                   "%lld heads are not divisible among %lld heads of keys (num_key_value_heads)",
		                   (long long)heads, (long long)keys);
	return STATUS_OK;
}

/* ---- biases ---- */

static enum status read_biases(struct config *c, int type)
{
	bool attention = false, mlp = false;
	enum status s = STATUS_OK;
	if (type == QWEN2)
		config_set(c, "bias", "qkv");
	if (type == LLAMA || type == QWEN3)
		s = config_flag(c, "attention_bias", &attention);
	if (!s && type == LLAMA)
		s = config_flag(c, "mlp_bias", &mlp);
	if (!s && mlp && !attention)
		s = config_fail(c, "mlp_bias",
		                "true without attention_bias: shardlab has biases of attention alone, "
		                "or of both");
	if (!s && attention)
		config_set(c, "bias", "%s", mlp ? "all" : "attention");
	return s;
}

/* ---- windows ---- */

/* Layers that attend to a window alone, by layer_types; -1: the file has none. */
static enum status count_sliding(struct config *c, int64_t layers, int64_t *sliding)
{
	const json_t *list = config_find(c, "layer_types");
	*sliding = -1;
	if (!list || json_is_null(list))
		return STATUS_OK;
	if (json_array_size(list) != (size_t)layers)
		return config_fail(c, "layer_types", "it lists %zu layers, and num_hidden_layers is %lld",
		                   json_array_size(list), (long long)layers);
	*sliding = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *shown = config_shown(c, one);
		if (!strcmp(shown, "sliding_attention"))
			++*sliding;
		else if (strcmp(shown, "full_attention") != 0)
			return config_fail(c, "layer_types",
			                   "'%s' in layer %zu: shardlab has full_attention and sliding_attention",
			                   shown, i);
	}
	return STATUS_OK;
}

/* In Qwen's files layers from max_window_layers on have the window, and only if use_sliding_window says so. */
static enum status read_qwen_layers(struct config *c, int64_t layers, int64_t *sliding)
{
	bool used = false;
	int64_t most = 28;
	const json_t *value = config_find(c, "max_window_layers");
	enum status s = config_flag(c, "use_sliding_window", &used);
	if (!s && !used && *sliding > 0)
		s = config_fail(c, "layer_types", "has sliding_attention, and use_sliding_window is not true");
	if (s || !used) {
		*sliding = 0;
		return s;
	}
	if (json_is_integer(value) && json_integer_value(value) == 0)
		most = 0; /* the whole numbers of other keys begin at 1 */
	else if ((s = config_whole(c, "max_window_layers", &most)))
		return s;
	if (*sliding < 0)
		*sliding = most < layers ? layers - most : 0;
	return STATUS_OK;
}

/* A window as long as the context leaves nothing out. */
static enum status read_window(struct config *c, int type)
{
	int64_t layers = config_pair_whole(c, "layers"), context = config_pair_whole(c, "context"), sliding,
	        window = 4096;
	const json_t *value = config_find(c, "sliding_window");
	enum status s = count_sliding(c, layers, &sliding);
	if (!s && type != MISTRAL)
		s = read_qwen_layers(c, layers, &sliding);
	else if (!s && sliding < 0)
		sliding = layers;
	if (s || !sliding || (value && json_is_null(value)))
		return s;
	if ((s = config_whole(c, "sliding_window", &window)) || window >= context)
		return s;
	if (sliding < layers)
		return config_fail(c, config_find(c, "layer_types") ? "layer_types" : "max_window_layers",
		                   "%lld of %lld layers attend to a window of %lld tokens, the others to all; shardlab "
		                   "has one window for all layers",
		                   (long long)sliding, (long long)layers, (long long)window);
	config_set(c, "window", "%lld", (long long)window);
	return STATUS_OK;
}

static enum status finish(struct config *c, int type)
{
	enum status s = read_heads(c);
	if (!s)
		s = read_biases(c, type);
	if (type == QWEN3)
		config_set(c, "qk_norm", "yes");
	if (!s)
		s = config_rope(c);
	return s || type == LLAMA ? s : read_window(c, type);
}

const struct config_family config_llama = {{"llama", "mistral", "qwen2", "qwen3"},
                                           {"llama", "llama", "llama", "llama"},
                                           "llama|mistral|qwen",
                                           rows,
                                           sizeof rows / sizeof *rows,
                                           finish};
