/* Keys of a model: windows and what they leave to compute, ALiBi, biases and activations, and the names of MPT's and
 * OPT's tensors. tests/real/test_golden_llama.c shows that these are the models of transformers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/model/model.h"
#include "strategy/plan/ops.h"
#include "tests/support/suite.h"

static struct model opened(const char *specification, int64_t sequence)
{
	struct model m;
	ck_assert_msg(!model_open(&m, specification, sequence), "%s", status_message());
	return m;
}

static const struct kernel *kernel_called(const struct model *m, const char *name)
{
	for (int i = 0; i < m->kernel_count; i++)
		if (!strcmp(m->kernels[i].name, name))
			return &m->kernels[i];
	ck_abort_msg("%s has no %s", m->specification, name);
}

/* Pairs of tokens of which one attends to the other, counted. */
static int64_t pairs(int64_t tokens, int64_t window)
{
	int64_t n = 0;
	for (int64_t i = 0; i < tokens; i++)
		for (int64_t j = 0; j <= i; j++)
			n += i - window < j;
	return n;
}

START_TEST(windows_leave_pairs_out)
{
	static const int64_t cases[][2] = {{1, 1}, {7, 3}, {64, 1}, {64, 63}, {64, 64}, {64, 1000}};
	for (int c = 0; c < COUNT(cases); c++) {
		int64_t tokens = cases[c][0], window = cases[c][1];
		char text[80];
		snprintf(text, sizeof text, "llama:layers=1,context=64,window=%" PRId64, window);
		struct model m = opened(text, tokens);
		const struct kernel *k = kernel_called(&m, "block.0.attention");
		int64_t each = 3 * k->heads * k->head_size * pairs(tokens, window);
		ck_assert_int_eq(kernel_flops(&m, k, PASS_FORWARD, 3), 4 * each);
		ck_assert_int_eq(kernel_flops(&m, k, PASS_BACKWARD, 3), 10 * each);
		ck_assert_int_eq(k->window, window < tokens ? window : 0);
		model_release(&m);
	}
}

START_TEST(mistral_has_its_window)
{
	struct model m = opened("mistral-7b:layers=1", 8192);
	ck_assert_int_eq(kernel_called(&m, "block.0.attention")->window, 4096);
	ck_assert_int_eq(m.context, 32768);
	model_release(&m);
	m = opened("mistral-7b:layers=1,window=32768", 8192);
	ck_assert_int_eq(kernel_called(&m, "block.0.attention")->window, 0);
	model_release(&m);
}

/* The text that the ranks get opens the same model. */
START_TEST(specifications_are_complete)
{
	static const char *const words[] = {"llama:window=5",
	                                    "mistral-7b:layers=2,window=7",
	                                    "gpt:positions=alibi,bias=no,activation=relu",
	                                    "gpt:positions=none",
	                                    "mpt:bias=yes",
	                                    "mpt:positions=table,hidden=300",
	                                    "opt:activation=gelu",
	                                    "opt-125m:layers=1",
	                                    "mpt-7b:layers=1,activation=gelu_tanh"};
	for (int i = 0; i < COUNT(words); i++) {
		struct model m = opened(words[i], 16), again = opened(m.specification, 16);
		ck_assert_str_eq(m.specification, again.specification);
		ck_assert_int_eq(m.parameters, again.parameters);
		ck_assert_int_eq(m.tensor_count, again.tensor_count);
		for (int k = 0; k < m.kernel_count; k++) {
			const struct kernel *a = &m.kernels[k], *b = &again.kernels[k];
			ck_assert(a->window == b->window && a->alibi == b->alibi && a->nonlinear == b->nonlinear &&
			          (a->bias < 0) == (b->bias < 0) && a->weight_in_out == b->weight_in_out);
		}
		model_release(&m);
		model_release(&again);
	}
}

START_TEST(keys_say_what_is_computed)
{
	struct model m = opened("gpt:positions=alibi,bias=no,activation=relu", 0);
	const struct kernel *fc = kernel_called(&m, "block.0.fc");
	ck_assert(fc->nonlinear == NONLINEAR_RELU && fc->bias < 0 && fc->saved >= 0);
	ck_assert(kernel_called(&m, "block.0.ln_1")->bias < 0 && kernel_called(&m, "embedding")->bias < 0);
	ck_assert(kernel_called(&m, "block.5.attention")->alibi);
	model_release(&m);
	m = opened("gpt", 0);
	ck_assert(kernel_called(&m, "block.0.fc")->nonlinear == NONLINEAR_GELU_TANH);
	ck_assert(!kernel_called(&m, "block.0.attention")->alibi);
	model_release(&m);
}

static void must_have(const struct model *m, const char *name, int64_t rows, int64_t columns)
{
	for (int i = 0; i < m->tensor_count; i++)
		if (!strcmp(m->tensors[i].name, name)) {
			ck_assert_int_eq(m->tensors[i].rows, rows);
			ck_assert_int_eq(m->tensors[i].columns, columns);
			return;
		}
	ck_abort_msg("no %s", name);
}

START_TEST(tensors_are_those_of_the_files)
{
	struct model m = opened("mpt:layers=1,width=32,heads=4,hidden=64", 0);
	must_have(&m, "transformer.wte.weight", 256, 32);
	must_have(&m, "transformer.blocks.0.norm_1.weight", 32, 0);
	must_have(&m, "transformer.blocks.0.attn.Wqkv.weight", 96, 32);
	must_have(&m, "transformer.blocks.0.attn.out_proj.weight", 32, 32);
	must_have(&m, "transformer.blocks.0.ffn.up_proj.weight", 64, 32);
	must_have(&m, "transformer.blocks.0.ffn.down_proj.weight", 32, 64);
	must_have(&m, "transformer.norm_f.weight", 32, 0);
	ck_assert_int_eq(m.tensor_count, 8);
	model_release(&m);

	m = opened("opt:layers=1,width=32,heads=4,context=16,hidden=64", 0);
	must_have(&m, "model.decoder.embed_tokens.weight", 256, 32);
	must_have(&m, "model.decoder.embed_positions.weight", 18, 32);
	must_have(&m, "model.decoder.layers.0.self_attn.out_proj.bias", 32, 0);
	must_have(&m, "model.decoder.layers.0.fc1.weight", 64, 32);
	must_have(&m, "model.decoder.layers.0.final_layer_norm.bias", 32, 0);
	must_have(&m, "model.decoder.final_layer_norm.weight", 32, 0);
	const struct kernel *qkv = kernel_called(&m, "block.0.qkv");
	ck_assert_str_eq(m.tensors[qkv->weight].pieces[1].name, "model.decoder.layers.0.self_attn.k_proj.weight");
	ck_assert_str_eq(m.tensors[qkv->bias].pieces[2].name, "model.decoder.layers.0.self_attn.v_proj.bias");
	ck_assert_int_eq(kernel_called(&m, "embedding")->first_position, 2);
	model_release(&m);
}

/* "…: 124,439,808 parameters…"; 0: it says no exact number. */
static int64_t number_said(const char *what)
{
	const char *end = strstr(what, " parameters"), *at = end;
	int64_t n = 0;
	while (at && at > what && (at[-1] == ',' || (at[-1] >= '0' && at[-1] <= '9')))
		at--;
	for (; at && at < end; at++)
		n = *at == ',' ? n : 10 * n + (*at - '0');
	return n;
}

static void compare_number(void *context, const char *name, const char *what)
{
	int *compared = context;
	if (!number_said(what))
		return;
	struct model m = opened(name, 0);
	ck_assert_msg(m.parameters == number_said(what), "%s: %s; it has %" PRId64, name, what, m.parameters);
	model_release(&m);
	(*compared)++;
}

START_TEST(help_tells_the_parameters)
{
	int compared = 0;
	model_list(compare_number, &compared);
	ck_assert_int_eq(compared, 21);
}

START_TEST(wrong_words_are_refused)
{
	static const char *const words[][2] = {{"gpt:positions=rotary", "rotary"},
	                                       {"mpt:activation=silu", "silu"},
	                                       {"opt:bias=maybe", "maybe"},
	                                       {"gpt:window=4", "unknown key 'window'"},
	                                       {"llama:window=0", "window"}};
	for (int i = 0; i < COUNT(words); i++) {
		struct model m;
		ck_assert_int_eq(model_open(&m, words[i][0], 0), STATUS_INPUT);
		ck_assert_msg(strstr(status_message(), words[i][1]) != NULL, "%s: %s", words[i][0], status_message());
	}
}

SUITE("models", 60)
