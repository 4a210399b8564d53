#include "strategy/model/elsewhere.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

#include "strategy/model/config_file.h"

#define CLOSED "its sizes are not public"
#define CONVOLUTIONS "convolutions are missing here"

/* The longer of two names that begin alike stands first. type: of its config.json, which says what differs; NULL: why
 * does. parameters, layers: of the one that `which` names; NULL: nobody knows. */
static const struct {
	const char *name, *type, *why, *which, *parameters;
	int layers;
} rows[] = {
        {"mixtral-8x22b", "mixtral", NULL, "Mixtral 8x22B", "140.6e9", 56},
        {"mixtral", "mixtral", NULL, "Mixtral 8x7B", "46.7e9", 32},
        {"deepseek-v2", "deepseek_v2", NULL, "DeepSeek V2", "236e9", 60},
        {"deepseek-v", "deepseek_v3", NULL, "DeepSeek V3", "671e9", 61},
        {"deepseek-r", "deepseek_v3", NULL, "DeepSeek R1", "671e9", 61},
        {"gpt-oss", "gpt_oss", NULL, "gpt-oss 20B", "20.9e9", 24},
        {"llama-4", "llama4", NULL, "Llama 4 Scout", "109e9", 48},
        {"qwen3-30b", "qwen3_moe", NULL, "Qwen3 30B-A3B", "30.5e9", 48},
        {"qwen3-235b", "qwen3_moe", NULL, "Qwen3 235B-A22B", "235e9", 94},
        {"gemma-2b", "gemma", NULL, "Gemma 2B", "2.51e9", 18},
        {"gemma-2", "gemma2", NULL, "Gemma 2 9B", "9.24e9", 42},
        {"gemma", "gemma", NULL, "Gemma 7B", "8.54e9", 28},
        {"phi-1", "phi", NULL, "Phi-1.5", "1.42e9", 24},
        {"phi-2", "phi", NULL, "Phi-2", "2.78e9", 32},
        {"phi", "phi3", NULL, "Phi-3-mini", "3.82e9", 32},
        {"falcon", "falcon", NULL, "Falcon 7B", "6.92e9", 32},
        {"bloom", "bloom", NULL, "BLOOM 7B", "7.07e9", 30},
        {"gpt-j", "gptj", NULL, "GPT-J 6B", "6.05e9", 28},
        {"gpt-neox", NULL, "attention and MLP side by side on one input", "GPT-NeoX 20B", "20.6e9", 44},
        {"pythia", NULL, "attention and MLP side by side on one input", "Pythia 6.9B", "6.86e9", 32},
        {"olmo", "olmo2", NULL, "OLMo 2 7B", "7.3e9", 32},
        {"bert", "bert", NULL, "BERT base", "110e6", 12},
        {"roberta", "roberta", NULL, "RoBERTa base", "125e6", 12},
        {"t5", "t5", NULL, "T5 base", "223e6", 24},
        {"vit", "vit", NULL, "ViT-B/16", "86.6e6", 12},
        {"resnet", NULL, CONVOLUTIONS, "ResNet-50", "25.6e6", 16},
        {"gpt-4", NULL, CLOSED, NULL, NULL, 0},
        {"gpt-5", NULL, CLOSED, NULL, NULL, 0},
        {"chatgpt", NULL, CLOSED, NULL, NULL, 0},
        {"claude", NULL, CLOSED, NULL, NULL, 0},
        {"gemini", NULL, CLOSED, NULL, NULL, 0},
};

static bool is_letter(char c)
{
	return isalpha((unsigned char)c);
}

static bool is_digit(char c)
{
	return isdigit((unsigned char)c);
}

static const char *skip_marks(const char *text)
{
	while (*text && !is_letter(*text) && !is_digit(*text))
		text++;
	return text;
}

/* Case and punctuation do not count. A word or a number of the name ends where it does in what was typed: `bert` begins
 * bert-base and bert2, and not berta, and `llama-4` not llama-405b. */
static bool begins(const char *typed, const char *name)
{
	char last = 0;
	for (name = skip_marks(name); *name; name = skip_marks(name + 1)) {
		typed = skip_marks(typed);
		last = *name;
		if (tolower((unsigned char)*typed++) != last)
			return false;
	}
	return is_digit(last) ? !is_digit(*typed) : !is_letter(*typed);
}

const char *model_elsewhere(struct arena *a, const char *typed)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!begins(typed, rows[i].name))
			continue;
		const char *why = rows[i].type ? config_differs(rows[i].type) : rows[i].why;
		return !rows[i].parameters ? why
		                           : arena_print(a, "%s; {model} params=%s:units=%d has the model states of %s",
		                                         why, rows[i].parameters, rows[i].layers, rows[i].which);
	}
	return NULL;
}
