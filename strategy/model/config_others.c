/* Files that are refused by what they hold or by the type of their model, each with what is missing here. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/base/near.h"
#include "strategy/model/config_file.h"

/* ---- what the file holds ---- */

/* Types of weights, as torch has them. Which one it is says nothing about training: the precision is a setting. */
static enum status check_dtype(const struct config *c)
{
	static const char *const keys[] = {"dtype", "torch_dtype"};
	static const char known[] = "float32|float|bfloat16|float16|half|float64|double|float8_e4m3fn|float8_e5m2|auto";
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *value = config_find(c, keys[i]);
		if (!value || json_is_null(value))
			continue;
		if (!json_is_string(value) || word_find(known, json_string_value(value)) < 0)
			return config_fail(c, keys[i],
			                   "'%s' is no type of weights; float32, bfloat16 and float16 are "
			                   "usual",
			                   config_shown(c, value));
	}
	return STATUS_OK;
}

static enum status check_quantized(const struct config *c)
{
	static const char *const keys[] = {"quantization_config", "compression_config"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (!config_given(c, keys[i]))
			continue;
		const json_t *method = json_object_get(config_find(c, keys[i]), "quant_method");
		return config_fail(c, keys[i],
		                   "%s%squantized weights cannot be trained; take the model that was "
		                   "quantized",
		                   method ? config_shown(c, method) : "", method ? ": " : "");
	}
	return STATUS_OK;
}

/* Classifiers and the like have a head of their own in place of the language model's. */
static enum status check_head(const struct config *c)
{
	static const char *const tasks[] = {"Classification", "QuestionAnswering", "MultipleChoice", "RewardModel",
	                                    "DoubleHeads"};
	const json_t *one = json_array_get(config_find(c, "architectures"), 0);
	if (!json_is_string(one))
		return STATUS_OK;
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
		if (strstr(json_string_value(one), tasks[i]))
			return config_fail(c, "architectures",
			                   "%s has a head of its own; shardlab trains language "
			                   "models, whose head gives the next token",
			                   config_shown(c, one));
	return STATUS_OK;
}

static enum status check_experts(const struct config *c)
{
	static const char *const keys[] = {"num_local_experts", "num_experts",     "n_routed_experts",
	                                   "moe_num_experts",   "num_moe_experts", "ffn_config.moe_num_experts"};
	static const char *const chosen[] = {"num_experts_per_tok", "moe_top_k",         "moe_topk",
	                                     "top_k_experts",       "experts_per_token", "ffn_config.moe_top_k"};
	const json_t *experts = NULL, *each = NULL;
	const char *key = "";
	for (size_t i = 0; i < sizeof keys / sizeof *keys && !experts; i++)
		experts = config_find(c, key = keys[i]);
	for (size_t i = 0; i < sizeof chosen / sizeof *chosen && !each; i++)
		each = config_find(c, chosen[i]);
	if (!json_is_integer(experts) || json_integer_value(experts) <= 1)
		return STATUS_OK;
	return config_fail(c, key,
	                   "%s is a mixture of %lld experts%s%s; routers, and MLPs that only some tokens pass, "
	                   "are missing here%s",
	                   c->type, (long long)json_integer_value(experts), each ? ", of which a token takes " : "",
	                   each ? config_shown(c, each) : "",
	                   config_given(c, "kv_lora_rank") ? ", and so is multi-head latent attention (kv_lora_rank)"
	                                                   : "");
}

enum status config_check_file(const struct config *c)
{
	bool encoder = false;
	if (config_given(c, "peft_type"))
		return config_fail(c, "peft_type", "an adapter, not a model; give the model that it was made for");
	if (config_given(c, "per_layer_config"))
		return config_fail(c, "per_layer_config", "layers of different sizes; shardlab has layers alike");
	/* The model itself comes first: another file of the same one would not be read either. */
	enum status s = check_experts(c);
	if (!s)
		s = check_quantized(c);
	if (!s)
		s = check_dtype(c);
	if (!s)
		s = check_head(c);
	if (!s)
		s = config_flag(c, "is_encoder_decoder", &encoder);
	return s || !encoder ? s
	                     : config_fail(c, "is_encoder_decoder",
	                                   "%s: an encoder and cross-attention are missing "
	                                   "here",
	                                   c->type);
}

/* ---- types ---- */

#define EXPERTS "a mixture of experts; routers, and MLPs that only some tokens pass, are missing here"
#define GEMMA "norms of 1 + weight, a gated GELU, an embedding times sqrt(width)"
#define STATE "layers with a recurrent state are missing here"
#define ENCODER "it is an encoder, or has one, and predicts no next token alone"
#define PICTURES "it reads images or sound, and its file has no text_config of a model that is read here"

/* Types of model_type, separated by bars, how their blocks differ from those here, and which family has their matrices:
 * those of llama are q, k, v and o, an MLP with a gate, embedding and head. NULL: none has. */
static const char *const others[][3] = {
        {"gptj|codegen|phi", "attention and MLP side by side on one input, and rotary embedding with LayerNorm"},
        {"falcon|RefinedWeb|RefinedWebModel", "attention and MLP side by side on one input, and one or few heads of "
                                              "keys with LayerNorm"},
        {"bloom", "ALiBi with biases, and a norm of the embedding"},
        {"gpt_neo", "every second layer attends to a window, and scores are not divided by sqrt(head size)"},
        {"gpt_bigcode", "one head of keys with GPT-2's block"},
        {"openai-gpt|ctrl|xglm|biogpt", "other norms or positions than GPT-2's"},
        {"starcoder2|stablelm|persimmon|nemotron", "rotary embedding with LayerNorm, or of a part of each head"},
        {"cohere|cohere2|aya_vision", "attention and MLP side by side on one input, and LayerNorm without bias"},
        {"gemma|gemma2|gemma3|gemma3_text|gemma3n|gemma3n_text|gemma4|gemma4_text|paligemma|recurrent_gemma|vaultgemma",
         GEMMA, "llama"},
        {"phi3|phi3small", "q, k and v are one tensor in its files, and some sizes turn a part of each head", "llama"},
        {"olmo|olmo2|olmo3", "norms without weights, or behind each half of a block and of all heads together",
         "llama"},
        {"granite|minicpm|minicpm3", "factors on embedding, residual stream and logits", "llama"},
        {"smollm3", "every fourth layer has no rotary embedding", "llama"},
        {"glm|glm4|chatglm", "rotary embedding of a part of each head, and norms behind each half of a block", "llama"},
        {"exaone|exaone4|ministral|ministral3|arcee|apertus|seed_oss|helium|hunyuan_v1_dense|baichuan|internlm|"
         "internlm2|internlm3|qwen|Yi|ernie4_5",
         "its block is near Llama's, and nobody has compared them", "llama"},
        {"qwen2_vl|qwen2_5_vl|qwen3_vl|qwen2_vl_text|qwen2_5_vl_text|qwen3_vl_text",
         "rotary embedding has positions in three directions", "llama"},
        {"mllama|mllama_text_model", "cross-attention to images in some layers"},
        {"mixtral|qwen2_moe|qwen3_moe|qwen3_next|qwen3_5_moe|qwen3_vl_moe|qwen3_omni_moe|deepseek_v2|deepseek_v3|"
         "deepseek_v32|deepseek_v4|gpt_oss|dbrx|olmoe|phimoe|jetmoe|granitemoe|granitemoeshared|granitemoehybrid|"
         "llama4|"
         "llama4_text|glm4_moe|glm4v_moe|ernie4_5_moe|hunyuan_v1_moe|minimax|minimax_m2|kimi_k2|kimi_k25|kimi_linear|"
         "arctic|grok-1|bailing_moe|flex_olmo|dots1|longcat_flash|lfm2_moe|afmoe|exaone_moe|switch_transformers|nllb-"
         "moe|"
         "solar_open|mimo_v2_flash",
         EXPERTS},
        {"mamba|mamba2|falcon_mamba|falcon_h1|rwkv|jamba|zamba|zamba2|bamba|nemotron_h|xlstm|lfm2|qwen3_5|qwen3_5_text|"
         "olmo_hybrid",
         STATE},
        {"t5|mt5|umt5|longt5|bart|mbart|pegasus|m2m_100|marian|bert|roberta|xlm-roberta|camembert|distilbert|deberta|"
         "deberta-v2|electra|albert|mpnet|modernbert|xlnet|longformer|big_bird|switch|blenderbot|prophetnet|t5gemma",
         ENCODER},
        {"clip|siglip|vit|deit|swin|convnext|resnet|dinov2|whisper|wav2vec2|hubert|blip|blip-2|git|llava|llava_next|"
         "idefics|idefics2|idefics3|smolvlm|mistral3|internvl|internvl_chat|pixtral|florence2|qwen2_audio|speecht5|"
         "voxtral",
         PICTURES},
};

/* Whether its halves stand side by side, and how much of a head is turned, the file says. */
static enum status refuse_gpt_neox(const struct config *c)
{
	bool beside = true;
	double part = 0.25;
	enum status s = config_flag(c, "use_parallel_residual", &beside);
	if (!s)
		s = config_real(c, "rotary_pct", &part);
	if (!s)
		s = config_real(c, "rope_parameters.partial_rotary_factor", &part);
	return s ? s
	         : config_fail(c, "model_type",
	                       "gpt_neox is not read: %srotary embedding of %g of each head, with "
	                       "LayerNorm",
	                       beside ? "attention and MLP side by side on one input (use_parallel_residual), and "
	                              : "",
	                       part);
}

static const char *const *row_of(const char *type)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (word_find(others[i][0], type) >= 0)
			return others[i];
	return NULL;
}

const char *config_differs(const char *type)
{
	const char *const *row = row_of(type);
	return row ? row[1] : NULL;
}

/* Gemma's head is its embedding unless the file says otherwise. */
static bool is_tied(const struct config *c)
{
	const json_t *tied = config_find(c, "tie_word_embeddings");
	return tied ? json_is_true(tied) : !strncmp(c->type, "gemma", strlen("gemma"));
}

/* "; {model} llama:layers=32,… has its matrices": what stands for it in memory and traffic; "": the file lacks a size.
 */
static const char *stand_in(const struct config *c, const char *family)
{
	static const struct {
		const char *key, *to;
		bool may_lack;
	} sizes[] = {{"num_hidden_layers", "layers", false},
	             {"hidden_size", "width", false},
	             {"num_attention_heads", "heads", false},
	             {"num_key_value_heads", "kv_heads", true},
	             {"head_dim", "head_size", true},
	             {"intermediate_size", "hidden", false},
	             {"max_position_embeddings", "context", true},
	             {"vocab_size", "vocabulary", false}};
	const char *list = "";
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const json_t *value = config_find(c, sizes[i].key);
		if (json_is_integer(value) && json_integer_value(value) > 0)
			list = arena_print(c->arena, "%s%s%s=%lld", list, *list ? "," : "", sizes[i].to,
			                   (long long)json_integer_value(value));
		else if (!sizes[i].may_lack)
			return "";
	}
	return arena_print(c->arena, "; %s %s:%s,tied=%s has its matrices", status_words("{model}"), family, list,
	                   is_tied(c) ? "yes" : "no");
}

enum status config_refuse_type(const struct config *c)
{
	if (!strcmp(c->type, "gpt_neox"))
		return refuse_gpt_neox(c);
	static const char known[] = "gpt2, llama, mistral, qwen2, qwen3, mpt and opt";
	const char *const *row = row_of(c->type);
	if (row)
		return config_fail(c, "model_type", "%s is not read: %s%s", c->type, row[1],
		                   row[2] ? stand_in(c, row[2]) : "");
	return config_fail(c, "model_type", "'%s' is unknown; the files of %s are read",
	                   config_shown(c, config_find(c, "model_type")), known);
}

const char *config_text_type(const char *outer)
{
	static const char *const types[][2] = {
	        {"llava|llava_next|video_llava|vipllava|idefics3|smolvlm", "llama"},
	        {"mistral3|idefics2", "mistral"},
	        {"internvl|llava_onevision", "qwen2"},
	};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (word_find(types[i][0], outer) >= 0)
			return types[i][1];
	return NULL;
}
