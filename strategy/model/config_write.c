#include "strategy/model/config_write.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/model/rotary.h"

/* ---- the model's own keys, which its specification has in words: "llama:layers=2,width=64,…" ---- */

struct words {
	const char *text;
	size_t length;
};

static struct words find(const struct model *m, const char *key)
{
	size_t length = strlen(key);
	for (const char *at = strchr(m->specification, ':'); at && *at; at = strchr(at + 1, ','))
		if (!strncmp(at + 1, key, length) && at[1 + length] == '=')
			return (struct words){at + length + 2, strcspn(at + length + 2, ",")};
	return (struct words){0};
}

static bool is(const struct model *m, const char *key, const char *word)
{
	const struct words w = find(m, key);
	return w.length == strlen(word) && !strncmp(w.text, word, w.length);
}

static bool has(const struct model *m, const char *key)
{
	return find(m, key).text != NULL;
}

static double number(const struct model *m, const char *key)
{
	const struct words w = find(m, key);
	return w.text ? strtod(w.text, NULL) : 0;
}

static int64_t whole(const struct model *m, const char *key)
{
	const struct words w = find(m, key);
	return w.text ? strtoll(w.text, NULL, 10) : 0;
}

/* ---- rows: a key of config.json and the model's key that it is of ---- */

struct row {
	const char *name, *key;
};

static void set_whole(json_t *c, const char *name, int64_t value)
{
	json_object_set_new(c, name, json_integer(value));
}

static void set_word(json_t *c, const char *name, const char *word)
{
	json_object_set_new(c, name, word ? json_string(word) : json_null());
}

static void set_rows(json_t *c, const struct model *m, const struct row *rows)
{
	for (; rows->name; rows++)
		set_whole(c, rows->name, whole(m, rows->key));
}

/* ---- Llama, Mistral, Qwen2, Qwen3 ---- */

static const struct row llama_rows[] = {
        {"num_hidden_layers", "layers"},        {"hidden_size", "width"},     {"num_attention_heads", "heads"},
        {"num_key_value_heads", "kv_heads"},    {"head_dim", "head_size"},    {"intermediate_size", "hidden"},
        {"max_position_embeddings", "context"}, {"vocab_size", "vocabulary"}, {NULL, NULL}};

static const char *scaling_of(const struct model *m, char word[16])
{
	const struct words w = find(m, "scaling");
	snprintf(word, 16, "%.*s", (int)w.length, w.text ? w.text : "");
	return *word ? word : "default";
}

static bool is_dynamic(const struct model *m)
{
	return is(m, "scaling", "dynamic");
}

/* Names the two ends of the ramp, for llama3 and yarn. */
static void set_ramp(json_t *rope, const struct model *m)
{
	bool yarn = is(m, "scaling", "yarn");
	if (!has(m, "low"))
		return;
	json_object_set_new(rope, yarn ? "beta_slow" : "low_freq_factor", json_real(number(m, "low")));
	json_object_set_new(rope, yarn ? "beta_fast" : "high_freq_factor", json_real(number(m, "high")));
}

static json_t *scaling(const struct model *m)
{
	char word[16];
	json_t *rope = json_pack("{s:s}", "rope_type", scaling_of(m, word));
	if (has(m, "factor"))
		json_object_set_new(rope, "factor", json_real(number(m, "factor")));
	if (has(m, "original") && !is_dynamic(m))
		set_whole(rope, "original_max_position_embeddings", whole(m, "original"));
	set_ramp(rope, m);
	return rope;
}

static void set_rotary(json_t *c, const struct model *m)
{
	json_t *rope = scaling(m);
	json_object_set_new(c, "rope_scaling", has(m, "scaling") ? json_copy(rope) : json_null());
	json_object_set_new(c, "rope_theta", json_real(number(m, "theta")));
	json_object_set_new(rope, "rope_theta", json_real(number(m, "theta")));
	json_object_set_new(c, "rope_parameters", rope);
}

static void set_llama(json_t *c, const struct model *m)
{
	set_rows(c, m, llama_rows);
	set_rotary(c, m);
	if (is_dynamic(m)) /* transformers stretches the angles of sequences that are longer than this */
		set_whole(c, "max_position_embeddings", whole(m, "original"));
	set_word(c, "hidden_act", "silu");
	json_object_set_new(c, "rms_norm_eps", json_real(number(m, "epsilon")));
	json_object_set_new(c, "tie_word_embeddings", json_boolean(is(m, "tied", "yes")));
	json_object_set_new(c, "attention_dropout", json_real(0));
}

static void set_llama_biases(json_t *c, const struct model *m)
{
	set_llama(c, m);
	json_object_set_new(c, "attention_bias", json_boolean(!is(m, "bias", "none")));
	json_object_set_new(c, "mlp_bias", json_boolean(is(m, "bias", "all")));
}

static json_t *window_of(const struct model *m)
{
	return has(m, "window") ? json_integer(whole(m, "window")) : json_null();
}

static void set_mistral(json_t *c, const struct model *m)
{
	set_llama(c, m);
	json_object_set_new(c, "sliding_window", window_of(m));
}

/* max_window_layers: those before it see everything. */
static void set_qwen(json_t *c, const struct model *m)
{
	set_llama(c, m);
	json_object_set_new(c, "sliding_window", window_of(m));
	json_object_set_new(c, "use_sliding_window", json_boolean(has(m, "window")));
	set_whole(c, "max_window_layers", has(m, "window") ? 0 : whole(m, "layers"));
}

static void set_qwen3(json_t *c, const struct model *m)
{
	set_qwen(c, m);
	json_object_set_new(c, "attention_bias", json_boolean(!is(m, "bias", "none")));
}

static bool is_llama_family(const struct model *m)
{
	return has(m, "kv_heads");
}

static bool is_qwen3(const struct model *m)
{
	return is_llama_family(m) && is(m, "qk_norm", "yes") && (is(m, "bias", "none") || is(m, "bias", "attention"));
}

static bool is_qwen2(const struct model *m)
{
	return is_llama_family(m) && is(m, "qk_norm", "no") && is(m, "bias", "qkv");
}

static bool is_mistral(const struct model *m)
{
	return is_llama_family(m) && is(m, "qk_norm", "no") && is(m, "bias", "none") && has(m, "window");
}

static bool is_llama(const struct model *m)
{
	return is_llama_family(m) && is(m, "qk_norm", "no") && !is(m, "bias", "qkv") && !has(m, "window");
}

/* ---- GPT-2, MPT, OPT: their specifications have the keys in which they are not as their names say ---- */

static const struct row gpt2_rows[] = {{"n_layer", "layers"},      {"n_embd", "width"},          {"n_head", "heads"},
                                       {"n_positions", "context"}, {"vocab_size", "vocabulary"}, {NULL, NULL}};
static const struct row mpt_rows[] = {{"n_layers", "layers"},     {"d_model", "width"},         {"n_heads", "heads"},
                                      {"max_seq_len", "context"}, {"vocab_size", "vocabulary"}, {NULL, NULL}};
static const struct row opt_rows[] = {{"num_hidden_layers", "layers"},
                                      {"hidden_size", "width"},
                                      {"word_embed_proj_dim", "width"},
                                      {"num_attention_heads", "heads"},
                                      {"max_position_embeddings", "context"},
                                      {"vocab_size", "vocabulary"},
                                      {NULL, NULL}};

/* Its tensors are named as these are, and its positions and biases are the usual ones. */
static bool is_dialect(const struct model *m, const char *table)
{
	return m->tensor_count && !strcmp(m->tensors[0].name, table) && !has(m, "positions") && !has(m, "bias");
}

static bool is_gpt2(const struct model *m)
{
	return is_dialect(m, "wte.weight");
}

static bool is_mpt(const struct model *m)
{
	return is_dialect(m, "transformer.wte.weight") && !has(m, "activation") && !has(m, "hidden");
}

static bool is_opt(const struct model *m)
{
	return is_dialect(m, "model.decoder.embed_tokens.weight");
}

static void set_activation(json_t *c, const struct model *m, const char *usual)
{
	set_word(c, "activation_function",
	         is(m, "activation", "gelu_tanh") ? "gelu_new"
	         : is(m, "activation", "gelu")    ? "gelu"
	         : is(m, "activation", "relu")    ? "relu"
	                                          : usual);
}

static void set_dropouts(json_t *c, const struct model *m, const char *const *names)
{
	for (; *names; names++)
		json_object_set_new(c, *names, json_real(number(m, "dropout")));
}

static void set_gpt2(json_t *c, const struct model *m)
{
	set_rows(c, m, gpt2_rows);
	set_activation(c, m, "gelu_new");
	set_dropouts(c, m, (const char *const[]){"attn_pdrop", "embd_pdrop", "resid_pdrop", NULL});
	json_object_set_new(c, "n_inner", has(m, "hidden") ? json_integer(whole(m, "hidden")) : json_null());
	json_object_set_new(c, "layer_norm_epsilon", json_real(1e-5));
	json_object_set_new(c, "tie_word_embeddings", json_true());
}

static void set_mpt(json_t *c, const struct model *m)
{
	set_rows(c, m, mpt_rows);
	set_dropouts(c, m, (const char *const[]){"emb_pdrop", "resid_pdrop", NULL});
	json_object_update_new(c, json_pack("{s:i, s:b, s:s, s:f, s:b, s:{s:b, s:i, s:s}}", "expansion_ratio", 4,
	                                    "no_bias", 1, "norm_type", "low_precision_layernorm", "layer_norm_epsilon",
	                                    1e-5, "tie_word_embeddings", 1, "attn_config", "alibi", 1, "alibi_bias_max",
	                                    8, "attn_type", "multihead_attention"));
}

static void set_opt(json_t *c, const struct model *m)
{
	set_rows(c, m, opt_rows);
	set_activation(c, m, "relu");
	set_dropouts(c, m, (const char *const[]){"dropout", "attention_dropout", NULL});
	set_whole(c, "ffn_dim", has(m, "hidden") ? whole(m, "hidden") : 4 * whole(m, "width"));
	json_object_update_new(c, json_pack("{s:b, s:b, s:b, s:b}", "do_layer_norm_before", 1, "enable_bias", 1,
	                                    "layer_norm_elementwise_affine", 1, "tie_word_embeddings", 1));
}

/* ---- the whole ---- */

static const struct kind {
	const char *type, *architecture;
	bool (*is)(const struct model *m);
	void (*set)(json_t *c, const struct model *m);
} kinds[] = {{"llama", "LlamaForCausalLM", is_llama, set_llama_biases},
             {"mistral", "MistralForCausalLM", is_mistral, set_mistral},
             {"qwen2", "Qwen2ForCausalLM", is_qwen2, set_qwen},
             {"qwen3", "Qwen3ForCausalLM", is_qwen3, set_qwen3},
             {"gpt2", "GPT2LMHeadModel", is_gpt2, set_gpt2},
             {"mpt", "MptForCausalLM", is_mpt, set_mpt},
             {"opt", "OPTForCausalLM", is_opt, set_opt}};

static const struct kind *kind_of(const struct model *m)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].is(m))
			return &kinds[i];
	return NULL;
}

static void keep_tokens(json_t *c, const char *origin, size_t bytes)
{
	static const char *const names[] = {"bos_token_id", "eos_token_id", "pad_token_id"};
	json_t *from = origin ? json_loadb(origin, bytes, 0, NULL) : NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_t *value = json_object_get(from, names[i]);
		json_object_set(c, names[i], value ? value : json_null());
	}
	json_decref(from);
}

static const char *dump(struct arena *a, const json_t *c)
{
	char *text = json_dumps(c, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
	if (!text)
		abort();
	const char *copy = arena_print(a, "%s\n", text);
	free(text);
	return copy;
}

enum status model_config_write(struct arena *a, const struct model *m, const char *origin, size_t origin_bytes,
                               const char **text)
{
	const struct kind *k = kind_of(m);
	if (!k)
		return status_fail(
		        STATUS_INPUT,
		        "{save}: transformers has no model like %s, and so no config.json for a folder; name a "
		        "file that ends in .safetensors",
		        m->specification);
	json_t *c = json_pack("{s:s, s:[s], s:b, s:s, s:s}", "model_type", k->type, "architectures", k->architecture,
	                      "use_cache", 1, "dtype", "float32", "torch_dtype", "float32");
	k->set(c, m);
	keep_tokens(c, origin, origin_bytes);
	*text = dump(a, c);
	json_decref(c);
	return STATUS_OK;
}
