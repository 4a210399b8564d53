/* config.json files as models. Those of tests/golden/configs have what transformers makes of them (tests/oracle/
 * configs.py writes tests/golden/configs.csv); each refusal is a line that is written out here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/model/config.h"
#include "strategy/model/model.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

#define FOLDER "tests/golden/configs/"
enum { MOST_LINE = 300, MOST_FILES = 100, LEAST_FILES = 45 };

static struct arena arena;

static void begin(void)
{
	arena = (struct arena){0};
}

static void end(void)
{
	arena_release(&arena);
}

/* ---- beside transformers ---- */

struct row {
	char file[64];
	long long parameters, context, vocabulary, window;
	double epsilon, frequency, amplitude;
};

static int read_rows(struct row rows[MOST_FILES])
{
	char line[MOST_LINE];
	int count = 0;
	FILE *f = fopen("tests/golden/configs.csv", "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
	ck_assert_str_eq(line, "file,parameters,context,vocabulary,window,epsilon,frequency,amplitude\n");
	while (fgets(line, sizeof line, f)) {
		struct row *r = &rows[count++];
		ck_assert_int_lt(count, MOST_FILES);
		ck_assert_int_eq(sscanf(line, "%63[^,],%lld,%lld,%lld,%lld,%lf,%lf,%lf", r->file, &r->parameters,
		                        &r->context, &r->vocabulary, &r->window, &r->epsilon, &r->frequency,
		                        &r->amplitude),
		                 8);
	}
	fclose(f);
	return count;
}

static const struct kernel *find_kernel(const struct model *m, enum kernel_kind kind)
{
	for (int i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].kind == kind)
			return &m->kernels[i];
	return NULL;
}

static void compare(const struct model *m, const struct row *r)
{
	const struct kernel *norm = find_kernel(m, KERNEL_RMS_NORM), *rotary = find_kernel(m, KERNEL_ROTARY);
	const struct kernel *attention = find_kernel(m, KERNEL_ATTENTION);
	ck_assert_msg(m->parameters == r->parameters, "%s: %lld parameters, and transformers has %lld", r->file,
	              (long long)m->parameters, r->parameters);
	ck_assert_msg(m->context == r->context && m->classes == r->vocabulary, "%s: context %lld, vocabulary %lld",
	              r->file, (long long)m->context, (long long)m->classes);
	ck_assert_msg(attention->window == r->window, "%s: window %lld", r->file, (long long)attention->window);
	ck_assert_msg(fabs((norm ? norm->epsilon : 1e-5) - r->epsilon) < 1e-12, "%s: epsilon", r->file);
	ck_assert_msg(!rotary == (r->amplitude <= 0), "%s: rotary embedding", r->file);
	if (!rotary)
		return;
	double frequency = rotary->frequency[rotary->head_size / 4];
	ck_assert_msg(fabs(frequency - r->frequency) <= 1e-6 * r->frequency, "%s: frequency %.8g, not %.8g", r->file,
	              frequency, r->frequency);
	ck_assert_msg(fabs(rotary->amplitude - r->amplitude) <= 1e-6, "%s: amplitude %.8g", r->file,
	              (double)rotary->amplitude);
}

START_TEST(files_are_the_models_of_transformers)
{
	static struct row rows[MOST_FILES];
	int count = read_rows(rows);
	ck_assert_int_ge(count, LEAST_FILES);
	for (int i = 0; i < count; i++) {
		const char *specification;
		struct model m;
		const char *path = arena_print(&arena, FOLDER "%s", rows[i].file);
		enum status s = model_config_read(&arena, path, &specification);
		ck_assert_msg(!s, "%s", status_message());
		s = model_open(&m, specification, 0);
		ck_assert_msg(!s, "%s", status_message());
		compare(&m, &rows[i]);
		model_release(&m);
	}
}

/* ---- what becomes of them ---- */

static void must_read(const char *path, const char **specification)
{
	enum status s = model_config_read(&arena, path, specification);
	ck_assert_msg(!s, "%s", status_message());
}

#define SMALL "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"num_key_value_heads\": 2"
#define LLAMA "\"model_type\": \"llama\", " SMALL
#define QWEN "\"model_type\": \"qwen2\", " SMALL
#define GPT2 "\"model_type\": \"gpt2\""
#define LLAMA_KEYS                                                                                                     \
	"llama:layers=2,width=64,heads=4,kv_heads=2,head_size=16,hidden=11008,context=2048,vocabulary=32000,tied=no,"

static const struct {
	const char *file, *overrides, *specification;
} same[] = {
        {"{" LLAMA "}", NULL, LLAMA_KEYS "bias=none,qk_norm=no,theta=10000,epsilon=1e-06"},
        {"{" LLAMA "}", "layers=3",
         "llama:layers=3,width=64,heads=4,kv_heads=2,head_size=16,hidden=11008,context=2048,vocabulary=32000,tied=no,"
         "bias=none,qk_norm=no,theta=10000,epsilon=1e-06"},
        {"{" LLAMA ", \"attention_bias\": true}", NULL,
         LLAMA_KEYS "bias=attention,qk_norm=no,theta=10000,epsilon=1e-06"},
        {"{" LLAMA ", \"rope_theta\": 5e5, \"rope_parameters\": {\"rope_type\": \"default\"}}", NULL,
         LLAMA_KEYS "bias=none,qk_norm=no,theta=500000,epsilon=1e-06"},
        {"{" LLAMA ", \"rope_theta\": 7, \"rope_parameters\": {\"rope_theta\": 500000}}", NULL,
         LLAMA_KEYS "bias=none,qk_norm=no,theta=500000,epsilon=1e-06"},
        {"{" LLAMA
         ", \"rope_parameters\": {\"rope_theta\": 7}, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}}",
         NULL, LLAMA_KEYS "bias=none,qk_norm=no,theta=10000,epsilon=1e-06,scaling=linear,factor=2"},
        {"{" LLAMA ", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 1}}", NULL,
         LLAMA_KEYS "bias=none,qk_norm=no,theta=10000,epsilon=1e-06"},
        {"{" LLAMA ", \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2}}", NULL,
         LLAMA_KEYS "bias=none,qk_norm=no,theta=10000,epsilon=1e-06,scaling=dynamic,factor=2,original=2048"},
        {"{" LLAMA
         ", \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 512}}",
         NULL,
         LLAMA_KEYS "bias=none,qk_norm=no,theta=10000,epsilon=1e-06,scaling=yarn,factor=4,original=512,low=1,high=32"},
        {"{" LLAMA ", \"rope_scaling\": {\"type\": \"yarn\", \"factor\": null, "
         "\"original_max_position_embeddings\": 512, \"attention_factor\": 1.1386294}}",
         NULL,
         LLAMA_KEYS "bias=none,qk_norm=no,theta=10000,epsilon=1e-06,scaling=yarn,factor=4,original=512,low=1,high=32"},
        {"{" LLAMA
         ", \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 512}}",
         "scaling=linear,factor=2",
         LLAMA_KEYS "bias=none,qk_norm=no,theta=10000,epsilon=1e-06,scaling=linear,factor=2"},
        {"{\"model_type\": \"gpt2\"}", NULL, "gpt2-124m"},
        {"{\"model_type\": \"gpt2\", \"n_inner\": 3072, \"activation_function\": \"gelu_pytorch_tanh\"}", NULL,
         "gpt2-124m"},
        {"{\"model_type\": \"gpt2\", \"hidden_size\": 1024, \"num_attention_heads\": 16, \"num_hidden_layers\": 24}",
         NULL, "gpt2-355m"},
        {"{\"model_type\": \"gpt2\"}", "layers=2", "gpt:layers=2,width=768,heads=12,context=1024,vocabulary=50257"},
        {"{" QWEN ", \"use_sliding_window\": true, \"sliding_window\": 32768, \"max_window_layers\": 0}", NULL,
         "llama:layers=2,width=64,heads=4,kv_heads=2,head_size=16,hidden=22016,context=32768,vocabulary=151936,tied=no,"
         "bias=qkv,qk_norm=no,theta=10000,epsilon=1e-06"},
        {"{\"model_type\": \"llava\", \"text_config\": {" SMALL "}}", NULL,
         LLAMA_KEYS "bias=none,qk_norm=no,theta=10000,epsilon=1e-06"},
};

START_LOOP_TEST(keys_become_keys, 0, COUNT(same))
{
	const char *specification, *text = same[_i].file;
	enum status s = model_config_text(&arena, text, strlen(text), "f", same[_i].overrides, NULL, &specification);
	ck_assert_msg(!s, "%s: %s", text, status_message());
	ck_assert_str_eq(specification, same[_i].specification);
}

/* transformers 5 writes the same model in other words. */
START_TEST(equal_files_are_equal_models)
{
	const char *old, *new, *preset, *named, *text;
	must_read(FOLDER "llama-3.2-1b.json", &old);
	must_read(FOLDER "llama-3.2-1b-transformers5.json", &new);
	must_read(FOLDER "qwen3-8b.json", &preset);
	must_read(FOLDER "gpt2-xl.json:name=mine", &named);
	size_t keys = (size_t)(strstr(old, ",name=") - old);
	ck_assert_str_eq(old + keys, ",name=llama-3.2-1b");
	ck_assert_str_eq(new + keys, ",name=llama-3.2-1b-transformers5");
	ck_assert_int_eq(strncmp(old, new, keys), 0);
	ck_assert_str_eq(preset, "qwen3-8b");
	must_read(FOLDER "llava-1.5-7b.json", &text);
	ck_assert_ptr_nonnull(strstr(text, ",name=llava-1.5-7b-text"));
	ck_assert_str_eq(named, "gpt:layers=48,width=1600,heads=25,context=1024,vocabulary=50257,name=mine");
}

START_TEST(names_go_before_files)
{
	static const char *const names[] = {"gpt",        "gpt2", "gpt:layers=2", "llama-3-8b",
	                                    "params=1e6", "nope", "mlp:sizes=4-4"};
	static const char *const paths[] = {"./gpt", "a/b",   "nope.json",     "nope.json:layers=2",
	                                    "/",     "tests", "tests:layers=2"};
	for (int i = 0; i < COUNT(names); i++)
		ck_assert_msg(!model_config_is_path(names[i]), "%s", names[i]);
	for (int i = 0; i < COUNT(paths); i++)
		ck_assert_msg(model_config_is_path(paths[i]), "%s", paths[i]);
}

START_TEST(a_name_is_no_key_of_the_model)
{
	struct model named, plain;
	ck_assert_int_eq(model_open(&named, "llama:name=a.B-1_c,layers=2", 0), STATUS_OK);
	ck_assert_int_eq(model_open(&plain, "llama:layers=2", 0), STATUS_OK);
	ck_assert_str_eq(named.name, "a.B-1_c");
	ck_assert_str_eq(plain.name, "llama");
	ck_assert_int_eq(strncmp(named.specification, plain.specification, strlen(plain.specification)), 0);
	ck_assert_str_eq(named.specification + strlen(plain.specification), ",name=a.B-1_c");
	model_release(&named);
	ck_assert_int_eq(model_open(&named, "mlp:name=x", 0), STATUS_OK);
	ck_assert_str_eq(named.name, "x");
	model_release(&named);
	model_release(&plain);
}

/* ---- what is refused ---- */

static const struct {
	const char *file, *line;
} refused[] = {
#include "tests/strategy/config_refused.def"
};

START_LOOP_TEST(others_are_refused_by_name, 0, COUNT(refused))
{
	const char *specification, *text = refused[_i].file;
	enum status s = model_config_text(&arena, text, strlen(text), "f", NULL, NULL, &specification);
	ck_assert_msg(s == STATUS_INPUT, "%s: taken as %s", text, specification);
	ck_assert_str_eq(status_message(), refused[_i].line);
	ck_assert_ptr_null(specification);
}

SUITE_WITH("config", 60, begin, end)
