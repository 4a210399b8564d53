/* Generation computes what training does: logits of a whole pass, of a prompt and then token by token, and of the
 * training executor are the same within rounding. Then how a token is drawn. */
#include "real/generate/inference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "real/generate/codec.h"
#include "real/generate/generate.h"
#include "strategy/model/config.h"
#include "strategy/plan/ops.h"
#include "tests/support/json.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

/* Relative to the largest logit; fp32 rounds at 6e-8, a few dozen times. */
static const double LIMIT = 2e-6;

/* ---- a trained model, and the executor's logits of a sample ---- */

static enum status read_trained(void *context, int tensor, int64_t first, int64_t count, float *out)
{
	memcpy(out, trainer_tensor(context, "parameters", tensor) + first, (size_t)count * sizeof *out);
	return STATUS_OK;
}

static const float *executor_logits(struct trainer *t)
{
	const struct role *r = t->device.role;
	double loss;
	int64_t n;
	must(trainer_evaluate(t, &loss));
	for (int i = r->evaluate.begin; i < r->evaluate.end; i++)
		if (r->ops[i].kind == OP_EVALUATE)
			return rank_memory_region(&t->device, &r->ops[i].operand[EVALUATE_LOGITS], &n);
	ck_abort_msg("no operation evaluates");
}

static void check_rows(const char *what, const struct model *m, int64_t first, int64_t rows, const float *got,
                       const float *want)
{
	double largest = 0;
	want += first * m->logits_stride;
	for (int64_t r = 0; r < rows; r++)
		for (int64_t i = 0; i < m->classes; i++)
			largest = fmax(largest, fabs((double)want[r * m->logits_stride + i]));
	for (int64_t r = 0; r < rows; r++)
		for (int64_t i = 0; i < m->classes; i++) {
			double a = (double)got[r * m->logits_stride + i], b = (double)want[r * m->logits_stride + i];
			ck_assert_msg(fabs(a - b) <= LIMIT * largest,
			              "%s of %s: logit %lld of token %lld is %.9g, not %.9g", m->specification, what,
			              (long long)i, (long long)(first + r), a, b);
		}
}

/* In calls of these sizes, then token by token. */
static void check_in_parts(struct inference *e, const int32_t *tokens, int64_t n, const float *want)
{
	static const int64_t parts[] = {1, 2, 7, 66};
	const float *logits;
	int64_t done = 0;
	e->length = 0; /* forgets all tokens */
	for (int i = 0; i < COUNT(parts) && done + parts[i] <= n; done += parts[i++]) {
		inference_forward(e, tokens + done, parts[i], &logits);
		check_rows("parts", e->model, done + parts[i] - 1, 1, logits, want);
	}
	for (; done < n; done++) {
		inference_forward(e, tokens + done, 1, &logits);
		check_rows("single tokens", e->model, done, 1, logits, want);
	}
}

static const char *const models[] = {
        "gpt:layers=2,width=48,heads=3,context=100",
        "gpt:layers=1,width=70,heads=2,context=100,hidden=33",
        "llama:layers=2,width=64,heads=4,context=100",
        "llama:layers=2,width=64,heads=4,kv_heads=2,head_size=20,hidden=50,context=100,bias=all,tied=yes",
        "llama:layers=2,width=48,heads=6,kv_heads=1,context=100,qk_norm=yes,bias=qkv",
        "llama:layers=1,width=64,heads=4,context=100,scaling=llama3,factor=8,original=16",
        "llama:layers=1,width=64,heads=2,context=100,scaling=yarn,factor=4,original=16",
        "llama:layers=2,width=64,heads=4,kv_heads=2,context=100,window=13",
        "llama:layers=1,width=64,heads=4,context=100,window=80",
        "mpt:layers=2,width=48,heads=3,context=100,vocabulary=256",
        "opt:layers=2,width=48,heads=3,context=100,vocabulary=256",
        "gpt:layers=1,width=48,heads=2,context=100,positions=none,bias=no,activation=gelu",
};

START_LOOP_TEST(same_logits, 0, COUNT(models))
{
	struct trainer t;
	struct inference e;
	int32_t tokens[128];
	const float *logits;
	double loss;
	kernels_set_threads(1 + _i % 2);
	const struct plan *p = right_plan("%s single micro_batch=1", models[_i]);
	must(trainer_open(&t, p, "tests/golden/text.txt", false));
	for (int i = 0; i < 3; i++) /* biases and norms are no longer 0 and 1 */
		must(trainer_step(&t, &loss));
	const float *want = executor_logits(&t);
	int64_t n = p->model->tokens;
	dataset_fill_validation(&t.data, 0, 1, tokens, NULL);

	struct inference_options o = {.capacity = n, .all_logits = true, .read = read_trained, .context = &t};
	must(inference_open(&e, p->model, &o));
	inference_forward(&e, tokens, n, &logits);
	check_rows("a whole pass", p->model, 0, n, logits, want);
	inference_release(&e);

	o.all_logits = false;
	must(inference_open(&e, p->model, &o));
	inference_forward(&e, tokens, n, &logits);
	check_rows("a prompt", p->model, n - 1, 1, logits, want);
	check_in_parts(&e, tokens, n, want);
	inference_release(&e);
	trainer_release(&t);
}

/* A call of many tokens goes by parts, and threads divide it: the tokens that are drawn are the same. */
START_TEST(long_prompts)
{
	enum { N = INFERENCE_MOST_ROWS + 60 };
	static const char *const model = "llama:layers=1,width=32,heads=2,context=600";
	struct trainer t;
	struct inference e;
	int32_t tokens[N];
	const float *logits;
	float *whole = array_make(256, sizeof *whole);
	must(trainer_open(&t, right_plan("%s single micro_batch=1", model), "tests/golden/text.txt", false));
	const struct model *m = t.plan->model;
	struct inference_options o = {.capacity = N, .read = read_trained, .context = &t};
	for (int i = 0; i < N; i++)
		tokens[i] = i * 7 % 256;
	must(inference_open(&e, m, &o));
	inference_forward(&e, tokens, N, &logits);
	memcpy(whole, logits, 256 * sizeof *whole);
	e.length = 0;
	for (int i = 0; i < N; i += 100)
		inference_forward(&e, tokens + i, N - i < 100 ? N - i : 100, &logits);
	for (int i = 0; i < 256; i++)
		ck_assert_float_eq_tol(logits[i], whole[i], 1e-5f);
	free(whole);
	inference_release(&e);
	trainer_release(&t);
}

/* ---- beside transformers, from a folder to text ---- */

static void take_text(void *context, const char *text, size_t size)
{
	bytes_add(context, text, size);
}

/* transformers makes each byte of a row of byte tokens U+FFFD if the row as a whole is not UTF-8. Text that is shown as
 * it comes cannot know how the row ends, so of such a text what is between is compared. */
static bool has_pieces(const char *heard, const char *text)
{
	static const char broken[] = "\xef\xbf\xbd";
	while (*text) {
		const char *end = strstr(text, broken);
		size_t n = end ? (size_t)(end - text) : strlen(text);
		char piece[512];
		ck_assert_uint_lt(n, sizeof piece);
		snprintf(piece, sizeof piece, "%.*s", (int)n, text);
		heard = strstr(heard, piece);
		if (!heard)
			return false;
		heard += n;
		text += end ? n + sizeof broken - 1 : n;
	}
	return true;
}

/* transformers' text has the prompt before what was written. */
static void check_heard(const char *prompt, const struct bytes *heard, const char *text, bool has_byte_tokens)
{
	char all[1024];
	ck_assert_uint_lt(strlen(prompt) + heard->size, sizeof all);
	snprintf(all, sizeof all, "%s%.*s", prompt, (int)heard->size, heard->at);
	ck_assert_msg(!strcmp(all, text) || (has_byte_tokens && strstr(text, "\xef\xbf\xbd") && has_pieces(all, text)),
	              "'%s', not '%s'", all, text);
}

static void check_written(const char *name, const json_t *row)
{
	char folder[256], tokenizer[300];
	struct arena a = {0};
	struct generation g;
	struct bytes heard = {0};
	const char *prompt = text_of(row, "prompt");
	const json_t *want = member_of(row, "tokens"), *ids = member_of(row, "prompt_tokens");
	snprintf(folder, sizeof folder, "tests/golden/generate/%s", name);
	snprintf(tokenizer, sizeof tokenizer, "%s/tokenizer.json", folder);
	struct generate_options o = {.init = folder,
	                             .tokenizer = tokenizer,
	                             .prompt = prompt,
	                             .prompt_bytes = strlen(prompt),
	                             .tokens = 20,
	                             .cores = 8,
	                             .on_text = take_text,
	                             .context = &heard};
	must(model_config_read(&a, folder, &o.model));
	must(generate_run(&o, &g));
	ck_assert_int_eq(g.threads, 1); /* there is no work for more */
	ck_assert_uint_eq(g.prompt.count, json_array_size(ids));
	for (size_t i = 0; i < g.prompt.count; i++)
		ck_assert_int_eq(g.prompt.list[i], (int)number_at(ids, (int)i));
	ck_assert_uint_eq(g.tokens.count, json_array_size(want));
	for (size_t i = 0; i < g.tokens.count; i++)
		ck_assert_msg(g.tokens.list[i] == (int32_t)number_at(want, (int)i), "%s, '%s': token %zu is %d, not %d",
		              name, prompt, i, g.tokens.list[i], (int)number_at(want, (int)i));
	check_heard(prompt, &heard, text_of(row, "text"), !strcmp(name, "llama"));
	ck_assert_uint_eq(heard.size, g.text.size);
	ck_assert_int_eq(memcmp(heard.at, g.text.at, heard.size), 0);
	bytes_release(&heard);
	generation_release(&g);
	arena_release(&a);
}

START_TEST(as_transformers)
{
	static const char *const names[] = {"gpt2", "llama", "qwen2"};
	json_t *golden = json_open("tests/golden/generate/golden.json");
	for (int n = 0; n < COUNT(names); n++) {
		const json_t *rows = member_of(golden, names[n]);
		ck_assert_uint_eq(json_array_size(rows), 4);
		for (size_t i = 0; i < json_array_size(rows); i++)
			check_written(names[n], json_array_get(rows, i));
	}
	json_decref(golden);
}

/* ---- drawing ---- */

static int32_t draw(struct sampler_rule r, const float *logits, int64_t n, int64_t position)
{
	struct sampler_scratch scratch = {0};
	int32_t token = sample(&r, &scratch, logits, n, position);
	sampler_scratch_release(&scratch);
	return token;
}

START_TEST(greedy_takes_the_first_of_the_largest)
{
	const float x[] = {1, 3, -2, 3, 2};
	ck_assert_int_eq(draw((struct sampler_rule){.top_p = 1}, x, 5, 0), 1);
	ck_assert_int_eq(draw((struct sampler_rule){.temperature = 9, .top_k = 1, .top_p = 1, .seed = 3}, x, 5, 0), 1);
	ck_assert_int_eq(draw((struct sampler_rule){.temperature = 9, .top_p = 1e-9, .seed = 4}, x, 5, 0), 1);
}

/* Draws are as frequent as softmax says, within 4 standard deviations; what is left out never comes. */
START_TEST(draws_are_as_likely_as_they_should_be)
{
	enum { N = 5, DRAWS = 20000 };
	static const struct sampler_rule rules[] = {
	        {1, 0, 1, 7}, {0.5, 0, 1, 7}, {2, 3, 1, 7}, {1, 0, 0.8, 7}, {1, 3, 0.8, 8}};
	static const float x[N] = {0.5f, 2, -1, 1.5f, 0};
	static const int order[N] = {1, 3, 0, 4, 2};
	for (int r = 0; r < COUNT(rules); r++) {
		double p[N] = {0}, sum = 0, part = 0;
		int seen[N] = {0}, n = rules[r].top_k ? (int)rules[r].top_k : N, kept = 0;
		for (int i = 0; i < n; i++)
			sum += p[order[i]] = exp((double)x[order[i]] / rules[r].temperature);
		while (kept < n && part < rules[r].top_p * sum)
			part += p[order[kept++]];
		for (int i = kept; i < N; i++)
			p[order[i]] = 0;
		for (int i = 0; i < DRAWS; i++)
			seen[draw(rules[r], x, N, i)]++;
		for (int i = 0; i < N; i++) {
			double want = p[i] / part * DRAWS;
			ck_assert_msg(fabs(seen[i] - want) <= 4 * sqrt(want), "rule %d: token %d %d times, not %g", r,
			              i, seen[i], want);
		}
	}
}

/* Few candidates are found in another way than many. */
START_TEST(the_largest_of_many)
{
	enum { N = 5000 };
	static float x[N];
	struct sampler_rule few = {.temperature = 1, .top_k = 256, .top_p = 1, .seed = 1}, many = few;
	for (int i = 0; i < N; i++)
		x[i] = (float)(i * 7919 % 1000) / 100;
	many.top_k = N - 1;
	many.top_p = 0.9;
	few.top_p = 0.01;
	for (int i = 0; i < 50; i++) {
		ck_assert_float_ge(x[draw(few, x, N, i)], 9.9f);
		ck_assert_float_ge(x[draw(many, x, N, i)], 7.5f);
	}
}

/* ---- bytes that are not whole characters yet ---- */

START_TEST(characters_come_whole)
{
	struct bytes pending = {0}, out = {0};
	bytes_add(&pending, "a\xe2\x82", 3);
	codec_take_whole(&pending, false, &out);
	ck_assert_uint_eq(out.size, 1);
	ck_assert_uint_eq(pending.size, 2);
	bytes_add(&pending,
	          "\xac\xff"
	          "b\xc3",
	          4);
	codec_take_whole(&pending, false, &out);
	ck_assert_uint_eq(out.size, 8);
	ck_assert_int_eq(memcmp(out.at,
	                        "a€\xef\xbf\xbd"
	                        "b",
	                        8),
	                 0);
	codec_take_whole(&pending, true, &out);
	ck_assert_uint_eq(out.size, 11);
	ck_assert_uint_eq(pending.size, 0);

	/* The beginning of a character that does not go on is one U+FFFD, however many bytes it has. */
	bytes_add(&pending,
	          "\xe2\x82"
	          "c\xf0\x9f\x98\xe2\xe2",
	          8);
	codec_take_whole(&pending, true, &out);
	ck_assert_uint_eq(out.size, 24);
	ck_assert_int_eq(memcmp(out.at + 11,
	                        "\xef\xbf\xbd"
	                        "c\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	                        13),
	                 0);
	bytes_release(&pending);
	bytes_release(&out);
}

/* Byte 0 is no text: tools/tokenize.py puts it behind each document. */
START_TEST(a_text_of_bytes_ends_with_0)
{
	struct codec c;
	must(codec_open(&c, NULL, CODEC_BYTES));
	ck_assert(codec_is_end(&c, 0));
	for (int32_t id = 1; id < CODEC_BYTES; id++)
		ck_assert(!codec_is_end(&c, id));
	codec_release(&c);
	must_fail(codec_open(&c, NULL, 300), STATUS_INPUT, "a vocabulary of 300 tokens needs a tokenizer");
}

SUITE("generate", 120)
