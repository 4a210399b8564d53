/* Products on a GPU: those that cuBLASLt had nothing for are named, and algorithms that were timed are kept, by card
 * and version, for later runs. On a stand-in for the GPU (tests/support/fake_cuda.h), which
 * reports what a test tells it to: products without cuBLASLt, times, a capture that fails. No test here asks what a
 * kernel computes, so the kernels are the CPU's; how the shipped ones choose is test_cuda_choice's. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/show.h"
#include "real/cuda/algorithms.h"
#include "strategy/trace/report.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/refusal.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

#define GPT "gpt:layers=1,width=16,heads=2,context=8 single micro_batch=2"
#define WHY "8 x 16 x 32 bf16, A whole, B whole: some error"

static char calibration[300], kept[300];

static void make_place(void)
{
	snprintf(calibration, sizeof calibration, "%s/deep/rates.yaml", support_folder());
	snprintf(kept, sizeof kept, "%s/deep/algorithms-a-fake-GPU-130200.txt", support_folder());
	setenv("SHARDLAB_CONFIG", calibration, 1);
	(void)unlink(kept);
}

static void remove_place(void)
{
	(void)unlink(kept);
	cuda_library_use(NULL);
}

static struct train_options options(bool autotune)
{
	struct train_options o = train_options_default();
	struct settings asked = settings_of(GPT);
	o.settings = settings_resolved(&asked);
	o.device = "cuda";
	o.steps = 3;
	o.data = "tests/golden/text.txt";
	o.autotune = autotune;
	return o;
}

static const struct report *trained(const struct fake_cuda_settings *s, bool autotune)
{
	struct train_options o = options(autotune);
	cuda_library_use(fake_cuda(s));
	return report_trained(&o);
}

/* ---- products that cuBLASLt has nothing for ---- */

static char *shown(const struct report *r)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	show_run(r, out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

START_TEST(a_slow_product_is_named_in_text_and_json)
{
	const struct report *r = trained(&(struct fake_cuda_settings){.plain_products = 5}, false);
	struct report again;
	char *text = shown(r);
	ck_assert_int_eq(r->slowed.plain_products, 5);
	ck_assert_ptr_nonnull(strstr(text, "products computed without cuBLASLt"));
	ck_assert_ptr_nonnull(strstr(text, "5, hundreds of times slower; the first: " WHY));
	json_t *o = report_to_json(r), *slow = json_object_get(o, "plain_products");
	ck_assert_int_eq(json_integer_value(json_object_get(slow, "count")), 5);
	ck_assert_str_eq(json_string_value(json_object_get(slow, "why")), WHY);
	ck_assert_int_eq(report_from_json(&again, o), STATUS_OK);
	ck_assert_int_eq(again.slowed.plain_products, 5);
	ck_assert_str_eq(again.slowed.plain_why, WHY);
	report_release(&again);
	json_decref(o);
	free(text);
}

START_TEST(nothing_is_said_where_nothing_is_slow)
{
	const struct report *r = trained(&(struct fake_cuda_settings){.seed = 1}, false);
	char *text = shown(r);
	json_t *o = report_to_json(r);
	ck_assert_ptr_null(strstr(text, "cuBLASLt"));
	ck_assert_ptr_null(json_object_get(o, "plain_products"));
	json_decref(o);
	free(text);
}

/* A capture that does not end well: the run goes on, with the same losses, and says so. */
START_TEST(what_cannot_be_captured_is_issued_anew)
{
	const struct report *replayed = trained(&(struct fake_cuda_settings){.seed = 4}, false);
	ck_assert_int_gt(fake_cuda_counts()->launches, 0);
	const struct report *r = trained(&(struct fake_cuda_settings){.seed = 4, .no_capture = true}, false);
	ck_assert_int_eq(fake_cuda_counts()->launches, 0);
	ck_assert_int_eq(fake_cuda_counts()->live, 0);
	ck_assert_str_eq(r->weights_checksum, replayed->weights_checksum);
	ck_assert_str_eq(replayed->slowed.not_captured, "");
	ck_assert_ptr_nonnull(strstr(r->slowed.not_captured, "GPU 0 (a fake GPU): capturing a step: operation failed"));
	json_t *o = report_to_json(r);
	ck_assert_str_eq(json_string_value(json_object_get(o, "not_captured")), r->slowed.not_captured);
	json_decref(o);
}

/* ---- algorithms ---- */

static int given_to_a_run(bool autotune)
{
	(void)trained(&(struct fake_cuda_settings){.seed = 2}, autotune);
	return fake_cuda_counts()->algorithms_given;
}

START_TEST(what_was_timed_is_given_to_later_runs)
{
	ck_assert_int_eq(given_to_a_run(false), 0);
	ck_assert_int_ne(access(kept, F_OK), 0);
	ck_assert_int_eq(given_to_a_run(true), 0);
	ck_assert_int_eq(access(kept, F_OK), 0);
	ck_assert_int_eq(given_to_a_run(false), 1);
	ck_assert_int_eq(given_to_a_run(true), 1); /* and one more is timed */
	ck_assert_int_eq(given_to_a_run(false), 2);
}

START_TEST(times_of_biases_are_said)
{
	static const char *const times = "16 to 48: epilogue 300, pass 200 µs; 16 to 48, accumulated: pass 200 µs";
	const struct report *r = trained(&(struct fake_cuda_settings){.seed = 2}, true);
	struct report again;
	char *text = shown(r);
	ck_assert_ptr_nonnull(strstr(text, "gradients of biases, the faster way as was measured"));
	ck_assert_ptr_nonnull(strstr(text, times));
	json_t *o = report_to_json(r);
	ck_assert_str_eq(json_string_value(json_object_get(o, "bias_gradients")), times);
	ck_assert_int_eq(report_from_json(&again, o), STATUS_OK);
	ck_assert_str_eq(again.slowed.bias_times, times);
	report_release(&again);
	json_decref(o);
	free(text);
	r = trained(&(struct fake_cuda_settings){.seed = 2}, false);
	ck_assert_str_eq(r->slowed.bias_times, "");
}

START_TEST(a_broken_file_is_one_line)
{
	struct train_options o = options(false);
	FILE *out;
	(void)given_to_a_run(true);
	out = fopen(kept, "a");
	ck_assert_ptr_nonnull(out);
	fputs("0123\n", out);
	ck_assert_int_eq(fclose(out), 0);
	must_fail(train_run(&o, report_kept()), STATUS_INPUT, "algorithms-a-fake-GPU-130200.txt:3: not 23 words");
	must_fail(train_run(&o, report_kept()), STATUS_INPUT, "remove the file, and autotune makes it again");
}

START_TEST(a_cpu_has_nothing_to_time)
{
	struct train_options o = options(true);
	o.device = "cpu";
	must_fail(train_check(&o), STATUS_INPUT, "autotune: only a GPU's products");
	o.autotune = false;
	o.products = "simple";
	must_fail(train_check(&o), STATUS_INPUT, "products: only a GPU has kernels");
	o.products = NULL;
	o.attention = "simple";
	must_fail(train_check(&o), STATUS_INPUT, "attention: only a GPU has kernels");
}

START_TEST(kernels_of_products_are_those_that_were_asked_for)
{
	struct train_options o = options(false);
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = 2}));
	(void)report_trained(&o);
	ck_assert_int_eq(fake_cuda_counts()->rung_of_products, CUDA_PRODUCT_CUBLASLT);
	o.products = "hopper";
	const struct report *r = report_trained(&o);
	ck_assert_int_eq(fake_cuda_counts()->rung_of_products, CUDA_PRODUCT_HOPPER);
	ck_assert_str_eq(r->slowed.products_by, "hopper 3"); /* as the fake card has it */
}

/* ---- attention ---- */

START_TEST(kernels_of_attention_are_those_that_were_asked_for)
{
	const struct cuda_api *api = fake_cuda(&(struct fake_cuda_settings){.seed = 2});
	struct train_options o = options(false);
	o.attention = "simple";
	cuda_library_use(api);
	const struct report *r = report_trained(&o);
	ck_assert_int_eq(api->attention_rung(NULL, NULL, false), CUDA_ATTENTION_SIMPLE);
	char *text = shown(r);
	json_t *written = report_to_json(r), *rungs = json_object_get(written, "attention");
	ck_assert_ptr_nonnull(strstr(text, "kernels of attention, forward and backward"));
	ck_assert_ptr_nonnull(strstr(text, "simple; plain")); /* the fake card's backward pass has no other */
	ck_assert_str_eq(json_string_value(json_object_get(rungs, "forward")), "simple");
	ck_assert_str_eq(json_string_value(json_object_get(rungs, "backward")), "plain");
	json_decref(written);
	free(text);
	o.attention = NULL;
	(void)report_trained(&o);
	ck_assert_int_eq(api->attention_rung(NULL, NULL, false), CUDA_ATTENTION_PLAIN);
}

START_TEST(cudnn_is_asked_for)
{
	struct fake_cuda_settings s = {.seed = 2};
	struct train_options o = options(false);
	o.attention = "cudnn";
	cuda_library_use(fake_cuda(&s));
	must_fail(train_check(&o), STATUS_INPUT, "attention cudnn: no libcudnn.so.9 is found; install it");
	s.cudnn = 90700;
	cuda_library_use(fake_cuda(&s));
	must_fail(train_check(&o), STATUS_INPUT, "attention cudnn: cuDNN 9.7.0 is older than 9.10");
	s.cudnn = 92000;
	cuda_library_use(fake_cuda(&s));
	const struct report *r = report_trained(&o);
	ck_assert_str_eq(r->slowed.attention_forward, "cudnn");
	ck_assert_str_eq(r->slowed.attention_why, "asked");
	ck_assert(r->slowed.attention_refused); /* backward is plain there, and a line says so */
}

/* `auto` that is asked for times, and what it found is kept and said. */
START_TEST(attention_is_measured)
{
	struct train_options o = options(false);
	o.attention = "auto";
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = 2}));
	const struct report *r = report_trained(&o);
	char *text = shown(r);
	ck_assert(fake_cuda_counts()->times_attention);
	ck_assert(!access(kept, R_OK));
	ck_assert_ptr_nonnull(
	        strstr(text, "forward: plain 300, cudnn 600 µs; backward: plain 500, cudnn (plan 1) 600 µs"));
	json_t *written = report_to_json(r), *rungs = json_object_get(written, "attention");
	ck_assert_str_eq(json_string_value(json_object_get(rungs, "why")), "measured");
	ck_assert_str_eq(json_string_value(json_object_get(rungs, "times")),
	                 "forward: plain 300, cudnn 600 µs; backward: plain 500, cudnn (plan 1) 600 µs");
	json_decref(written);
	free(text);
	o.attention = NULL;
	r = report_trained(&o);
	ck_assert(!fake_cuda_counts()->times_attention);
	ck_assert_str_eq(r->slowed.attention_why, "highest");
}

SUITE_WITH("algorithms", 60, make_place, remove_place)
