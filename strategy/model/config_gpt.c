/* The files of gpt2, mpt and opt: GPT-2's block, with positions, biases and an activation of their own. */
#include <math.h>

#include "strategy/model/config_file.h"

#define TIED "the head has the token table's weights"
#define EPSILON "what LayerNorm adds to the variance"
#define GELU "gelu_new=gelu_tanh|gelu_fast=gelu_tanh|gelu_pytorch_tanh=gelu_tanh|gelu|gelu_python=gelu|relu"

/* Defaults are those of transformers 5's GPT2Config, MptConfig and OPTConfig. */
static const struct config_row gpt2[] = {
        {"n_layer", "num_hidden_layers", ROW_WHOLE, "layers", {"12"}, NULL, NULL},
        {"n_embd", "hidden_size", ROW_WHOLE, "width", {"768"}, NULL, NULL},
        {"n_head", "num_attention_heads", ROW_WHOLE, "heads", {"12"}, NULL, NULL},
        {"n_inner", NULL, ROW_WHOLE_OR_NULL, "hidden", {""}, NULL, NULL},
        {"n_positions", "max_position_embeddings", ROW_WHOLE, "context", {"1024"}, NULL, NULL},
        {"vocab_size", NULL, ROW_WHOLE, "vocabulary", {"50257"}, NULL, NULL},
        {"activation_function", NULL, ROW_WORD, "activation", {"gelu_new"}, GELU, "the MLP's activation"},
        {"layer_norm_epsilon", NULL, ROW_MUST, NULL, {"1e-05"}, "1e-05", EPSILON},
        {"tie_word_embeddings", NULL, ROW_MUST, NULL, {"true"}, "true", TIED},
        {"scale_attn_weights", NULL, ROW_MUST, NULL, {"true"}, "true", "scores are divided by sqrt(head size)"},
        {"scale_attn_by_inverse_layer_idx", NULL, ROW_MUST, NULL, {"false"}, "false", "scores of all layers alike"},
        {"add_cross_attention", NULL, ROW_MUST, NULL, {"false"}, "false", "no encoder to attend to"},
};

static const struct config_row mpt[] = {
        {"n_layers", "num_hidden_layers", ROW_WHOLE, "layers", {"24"}, NULL, NULL},
        {"d_model", "hidden_size", ROW_WHOLE, "width", {"2048"}, NULL, NULL},
        {"n_heads", "num_attention_heads", ROW_WHOLE, "heads", {"16"}, NULL, NULL},
        {"max_seq_len", NULL, ROW_WHOLE, "context", {"2048"}, NULL, NULL},
        {"vocab_size", NULL, ROW_WHOLE, "vocabulary", {"50368"}, NULL, NULL},
        {"expansion_ratio", NULL, ROW_MUST, NULL, {"4"}, "4", "the MLP is four times as wide, as in transformers"},
        {"no_bias", NULL, ROW_MUST, NULL, {"true"}, "true", "MPT's layers have no biases, as in transformers"},
        {"layer_norm_epsilon", NULL, ROW_MUST, NULL, {"1e-05"}, "1e-05", EPSILON},
        {"norm_type",
         NULL,
         ROW_MUST,
         NULL,
         {"low_precision_layernorm"},
         "low_precision_layernorm|layernorm",
         "the kind of norm"},
        {"logit_scale", NULL, ROW_MUST, NULL, {"null"}, "null", "logits are not scaled"},
        {"tie_word_embeddings", NULL, ROW_MUST, NULL, {"true"}, "true", TIED},
        {"attn_config.attn_type",
         NULL,
         ROW_MUST,
         NULL,
         {"multihead_attention"},
         "multihead_attention",
         "each head has keys of its own"},
        {"attn_config.alibi", NULL, ROW_MUST, NULL, {"true"}, "true", "positions are ALiBi's"},
        {"attn_config.alibi_bias_max", NULL, ROW_MUST, NULL, {"8"}, "8", "the steepest slope of ALiBi"},
        {"attn_config.clip_qkv", NULL, ROW_MUST, NULL, {"null"}, "null", "queries, keys and values are not clipped"},
        {"attn_config.prefix_lm", NULL, ROW_MUST, NULL, {"false"}, "false", "a token attends to those before it"},
        {"attn_config.qk_ln", NULL, ROW_MUST, NULL, {"false"}, "false", "no norms of queries and keys"},
        {"attn_config.attn_uses_sequence_id", NULL, ROW_MUST, NULL, {"false"}, "false", "a sample is one text"},
};

static const struct config_row opt[] = {
        {"num_hidden_layers", NULL, ROW_WHOLE, "layers", {"12"}, NULL, NULL},
        {"hidden_size", NULL, ROW_WHOLE, "width", {"768"}, NULL, NULL},
        {"num_attention_heads", NULL, ROW_WHOLE, "heads", {"12"}, NULL, NULL},
        {"ffn_dim", NULL, ROW_WHOLE, "hidden", {"3072"}, NULL, NULL},
        {"max_position_embeddings", NULL, ROW_WHOLE, "context", {"2048"}, NULL, NULL},
        {"vocab_size", NULL, ROW_WHOLE, "vocabulary", {"50272"}, NULL, NULL},
        {"activation_function", NULL, ROW_WORD, "activation", {"relu"}, GELU, "the MLP's activation"},
        {"do_layer_norm_before", NULL, ROW_MUST, NULL, {"true"}, "true", "a norm stands before each half of a block"},
        {"_remove_final_layer_norm", NULL, ROW_MUST, NULL, {"false"}, "false", "a norm stands before the head"},
        {"enable_bias", NULL, ROW_MUST, NULL, {"true"}, "true", "linear layers have biases"},
        {"layer_norm_elementwise_affine", NULL, ROW_MUST, NULL, {"true"}, "true", "norms have weights"},
        {"tie_word_embeddings", NULL, ROW_MUST, NULL, {"true"}, "true", TIED},
};

static enum status check_heads(struct config *c, const char *width_key, const char *heads_key)
{
	int64_t width = config_pair_whole(c, "width"), heads = config_pair_whole(c, "heads");
	if (width % heads)
		return config_fail(c, width_key, "%lld is not divisible by %lld heads (%s)", (long long)width,
		                   (long long)heads, heads_key);
	return STATUS_OK;
}

static enum status finish_gpt2(struct config *c, int type)
{
	(void)type;
	return check_heads(c, "n_embd", "n_head");
}

static enum status finish_mpt(struct config *c, int type)
{
	(void)type;
	double scale = 0;
	TRY(check_heads(c, "d_model", "n_heads"));
	if (config_given(c, "attn_config") && !json_is_object(config_find(c, "attn_config")))
		return config_fail(c, "attn_config", "is not an object");
	TRY(config_real(c, "attn_config.softmax_scale", &scale));
	if (scale <= 0)
		return STATUS_OK;
	int64_t size = config_pair_whole(c, "width") / config_pair_whole(c, "heads");
	double usual = 1 / sqrt((double)size);
	return fabs(scale - usual) <= 1e-6 * usual
	               ? STATUS_OK
	               : config_fail(c, "attn_config.softmax_scale", "%g; shardlab divides by sqrt(head size), %g",
	                             scale, usual);
}

static enum status finish_opt(struct config *c, int type)
{
	(void)type;
	int64_t width = config_pair_whole(c, "width"), tokens = width;
	enum status s = config_whole(c, "word_embed_proj_dim", &tokens);
	if (!s && tokens != width)
		s = config_fail(c, "word_embed_proj_dim",
		                "%lld, and hidden_size is %lld: the layers between table and blocks are missing here",
		                (long long)tokens, (long long)width);
	return s ? s : check_heads(c, "hidden_size", "num_attention_heads");
}

#define ROWS(rows) rows, sizeof(rows) / sizeof *(rows)
const struct config_family config_gpt2 = {{"gpt2"}, {"gpt"}, "gpt", ROWS(gpt2), finish_gpt2};
const struct config_family config_mpt = {{"mpt"}, {"mpt"}, "mpt", ROWS(mpt), finish_mpt};
const struct config_family config_opt = {{"opt"}, {"opt"}, "opt", ROWS(opt), finish_opt};
