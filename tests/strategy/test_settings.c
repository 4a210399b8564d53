/* Wrong requests: batches, strategies with their keys, models with theirs. Every refusal is STATUS_INPUT
 * with a line that names what is wrong. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/model/elsewhere.h"
#include "strategy/settings/checkpointing.h"
#include "strategy/strategies/strategy.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

/* ---- batch = ranks × micro-batch × accumulate ---- */

static const struct {
	int64_t ranks, batch, micro_batch, accumulate;         /* as given; 0: not */
	int64_t want_batch, want_micro_batch, want_accumulate; /* 0: refused */
	const char *word;
} batches[] = {
        {1, 0, 0, 0, 4, 4, 1, ""},
        {4, 0, 0, 0, 16, 4, 1, ""},
        {4, 0, 0, 3, 48, 4, 3, ""},
        {4, 32, 0, 0, 32, 8, 1, ""},
        {4, 32, 0, 2, 32, 4, 2, ""},
        {4, 32, 2, 0, 32, 2, 4, ""},
        {4, 0, 2, 0, 8, 2, 1, ""},
        {4, 0, 2, 3, 24, 2, 3, ""},
        {4, 24, 2, 3, 24, 2, 3, ""},
        {1, 4096, 1, 4096, 4096, 1, 4096, ""},
        {4, 33, 0, 0, 0, 0, 0, "not divisible"},
        {4, 2, 0, 0, 0, 0, 0, "not divisible"},
        {4, 32, 0, 3, 0, 0, 0, "not divisible"},
        {4, 32, 3, 0, 0, 0, 0, "not divisible"},
        {4, 4, 2, 0, 0, 0, 0, "not divisible"},
        {4, 25, 2, 3, 0, 0, 0, "leave one of them out"},
        {4, 0, INT64_MAX, 0, 0, 0, 0, "too large"},
        {4, 0, INT64_MAX / 4, 2, 0, 0, 0, "too large"},
        {4, 16, INT64_C(1) << 62, 0, 0, 0, 0, ""}, /* 4 · 2^62 is 0 in 64 bits */
        {8, 16, INT64_C(1) << 60, 0, 0, 0, 0, ""},
        {INT64_C(1) << 62, 16, 0, 4, 0, 0, 0, ""},
        {1, 0, 1, 4097, 0, 0, 0, "above 4096"},
        {1, 8194, 2, 0, 0, 0, 0, "above 4096"},
};

START_LOOP_TEST(batch_follows, 0, COUNT(batches))
{
	struct settings s = settings_default();
	char what[128];
	s.ranks = batches[_i].ranks;
	s.batch = batches[_i].batch;
	s.micro_batch = batches[_i].micro_batch;
	s.accumulate = batches[_i].accumulate;
	snprintf(what, sizeof what, "%lld ranks, batch %lld, micro-batch %lld, accumulate %lld", (long long)s.ranks,
	         (long long)s.batch, (long long)s.micro_batch, (long long)s.accumulate);
	enum status status = settings_resolve(&s, strategy_data_ranks(&s));
	if (!batches[_i].want_batch) {
		must_fail(status, STATUS_INPUT, batches[_i].word);
		return;
	}
	ck_assert_msg(status == STATUS_OK, "%s: %s", what, status_message());
	ck_assert_int_eq(s.batch, batches[_i].want_batch);
	ck_assert_int_eq(s.micro_batch, batches[_i].want_micro_batch);
	ck_assert_int_eq(s.accumulate, batches[_i].want_accumulate);
}

/* ---- strategies ---- */

/* Seven, and the contrasts, which are not in `all`: of those, all but hybrid serve the same samples on all ranks. */
START_TEST(strategies_are_known)
{
	static const char *const names[] = {"single", "dp", "ddp", "zero1", "zero2", "zero3", "fsdp"};
	static const char *const others[] = {"hybrid", "model", "pipeline", "tensor"};
	enum { COUNT = sizeof names / sizeof names[0], OTHERS = sizeof others / sizeof others[0] };
	const struct strategy *g;
	for (int i = 0; i < COUNT; i++) {
		ck_assert_str_eq(strategy_at(i)->name, names[i]);
		ck_assert_int_eq(strategy_parse(names[i], &g), STATUS_OK);
		ck_assert_ptr_eq(g, strategy_at(i));
		ck_assert(!g->same_samples);
	}
	for (int i = 0; i < OTHERS; i++) {
		ck_assert_str_eq(strategy_contrast_at(i)->name, others[i]);
		ck_assert_int_eq(strategy_parse(others[i], &g), STATUS_OK);
		ck_assert_ptr_eq(g, strategy_contrast_at(i));
		ck_assert_int_eq(g->same_samples, i > 0);
	}
	ck_assert_ptr_null(strategy_contrast_at(OTHERS));
	ck_assert_ptr_null(strategy_at(COUNT));
	ck_assert_ptr_null(strategy_at(-1));
}

/* Each setting's own fallback is one of its values, as are the words of the list; `N` stands for a number. */
START_TEST(every_key_takes_its_values)
{
	for (int i = 0; strategy_at(i); i++)
		for (int k = 0; k < STRATEGY_KEYS && strategy_at(i)->keys[k].name; k++) {
			const struct key *key = &strategy_at(i)->keys[k];
			char text[128], values[128];
			const struct strategy *g;
			snprintf(text, sizeof text, "%s:%s=%s", strategy_at(i)->name, key->name, key->fallback);
			ck_assert_msg(strategy_parse(text, &g) == STATUS_OK, "%s: %s", text, status_message());
			snprintf(values, sizeof values, "%s", key->values);
			for (char *save, *v = strtok_r(values, "|", &save); v; v = strtok_r(NULL, "|", &save)) {
				snprintf(text, sizeof text, "%s:%s=%s", strategy_at(i)->name, key->name,
				         strcmp(v, "N") ? v : "12345");
				ck_assert_msg(strategy_parse(text, &g) == STATUS_OK, "%s: %s", text, status_message());
			}
		}
}

static const char *const strategies_put_wrong[][2] = {
        {"", "unknown strategy"},
        {"zero4", "unknown strategy 'zero4'"},
        {"DDP", "(did you mean ddp?)"},
        {"ZeRO-2", "unknown strategy 'ZeRO-2' (did you mean zero2?)"},
        {"1f1b", "unknown strategy '1f1b'; known"},
        {"zero", "unknown strategy"},
        {"zer2", "unknown strategy 'zer2' (did you mean zero2?)"},
        {"zero33", "unknown strategy"},
        {"tp", "unknown strategy 'tp' (did you mean tensor?); all names: help strategies"},
        {":algorithm=ring", "unknown strategy"},
        {"ddp:reshard=no", "unknown key 'reshard'"},
        {"ddp:algorithm", "not key=value"},
        {"ddp:algorithm=", "algorithm: the value is missing"},
        {"ddp:algorithm=tree", "'tree'"},
        {"ddp:algorithm=ring:x", "not key=value"},
        {"ddp:=ring", "unknown key"},
        {"ddp:algo=ring", "unknown key 'algo'"},
        {"single:reshard=no", "unknown key"},
        {"fsdp:reshard=maybe", "'maybe'"},
        {"fsdp:reshard=no:sync=always", "'always'"},
        {"zero3:prefetch=-1", "prefetch"},
        {"zero3:prefetch=1.5", "prefetch"},
        {"zero3:prefetch=many", "prefetch"},
        {"zero3:prefetch=N", "prefetch"},
        {"zero3:prefetch=unlimited", "prefetch"},
        {"zero3:live=1e30", "live"},
        {"zero3:reuse=unit", "reuse"},
        {"fsdp:reshard=yes:reshard=no", "twice"},
};

START_LOOP_TEST(strategy_is_refused, 0, COUNT(strategies_put_wrong))
{
	const struct strategy *g;
	must_fail(strategy_parse(strategies_put_wrong[_i][0], &g), STATUS_INPUT, strategies_put_wrong[_i][1]);
}

/* Help lists the values of a key, the default first. */
static void assert_default_first(const struct key *k)
{
	size_t length = strcspn(k->values, "|");
	ck_assert_msg(strlen(k->fallback) == length && !strncmp(k->values, k->fallback, length),
	              "%s is one of %s, and %s if it is not given", k->name, k->values, k->fallback);
}

START_TEST(defaults_come_first)
{
	int keys = 0;
	for (int contrast = 0; contrast < 2; contrast++)
		for (int i = 0;; i++) {
			const struct strategy *g = contrast ? strategy_contrast_at(i) : strategy_at(i);
			if (!g)
				break;
			for (int k = 0; k < STRATEGY_KEYS && g->keys[k].name; k++, keys++)
				assert_default_first(&g->keys[k]);
		}
	ck_assert_int_gt(keys, 0);
	for (int k = 0; k < CHECKPOINTING_KEYS; k++)
		assert_default_first(&checkpointing_keys[k]);
}

START_TEST(ranks_are_refused)
{
	must_not_open("single runs on one rank", "mlp single ranks=2");
	must_not_open("more than the model has elements", "mlp:sizes=1-1 zero3 ranks=3");
	must_not_open("more than the model has elements", "mlp:sizes=1-1 ddp ranks=3");
	must_not_open("more than the model has elements", "params=3 zero1 ranks=4");
	must_not_open("shard", "mlp hybrid:shard=3 ranks=4");
	must_not_open("too large", "gpt ddp ranks=2 micro_batch=1000000000000000 accumulate=4096");
	made_plan("mlp:sizes=1-1 zero3 ranks=2");
}

/* A plan that does not compile holds nothing, whatever was found wrong. */
START_TEST(nothing_is_left_of_a_refused_plan)
{
	static const char *const wrong[] = {"mlp single ranks=2", "mlp hybrid:shard=3 ranks=4", "gpt tensor ranks=3",
	                                    "mlp pipeline ranks=8"};
	for (int i = 0; i < COUNT(wrong); i++) {
		struct settings asked = settings_of("%s", wrong[i]), s = settings_resolved(&asked);
		struct model m;
		static struct plan p;
		ck_assert_int_eq(model_open(&m, s.model, s.sequence), STATUS_OK);
		ck_assert_int_eq(plan_compile(&p, &m, &s), STATUS_INPUT);
		ck_assert(!p.arena.chunks && !p.model && !p.role_count);
		model_release(&m);
	}
}

/* ---- models ---- */

static const char *const models_put_wrong[][2] = {
        {"", "unknown model"},
        {"gpt4", "unknown model 'gpt4': its sizes are not public"},
        {"Mixtral-8x7B-v0.1", "experts; routers, and MLPs that only some tokens pass, are missing here; model "
                              "params=46.7e9:units=32 has the model states of Mixtral 8x7B"},
        {"gemma2", "params=9.24e9:units=42 has the model states of Gemma 2 9B"},
        {"gemma-27b", "Gemma 7B"},
        {"bert_base", "BERT base"},
        {"berta", "unknown model 'berta'; of any other give the folder with its config.json"},
        {"llama-405b", "did you mean llama?"},
        {"llama.json", "unknown model 'llama.json'"},
        {"gpt:name=", "name: '' is not 1 to 40 letters"},
        {"gpt:name=a b", "name: 'a b' is not"},
        {"gpt:layers=2,name=../x,heads=4", "name: '../x' is not"},
        {"gpt:name=a,name=b", "unknown key 'name'"},
        {"gpt:", "not key=value"},
        {"gpt:layers", "'layers' is not key=value"},
        {"gpt:layers=", "layers"},
        {"gpt:layers=0", "layers: '0' is below 1"},
        {"gpt:layers=-2", "below 1"},
        {"gpt:layers=two", "'two'"},
        {"gpt:layers=1.5", "layers"},
        {"gpt:layers=0x10", "layers"},
        {"gpt:layers=nan", "layers"},
        {"gpt:layers=inf", "layers"},
        {"gpt:layers=6,layers=7", "layers is given twice"},
        {"gpt:layers=6,", "not key=value"},
        {"gpt:depth=6", "unknown key 'depth'"},
        {"gpt:width=250", "not divisible by 8 heads"},
        {"gpt:width=1e30", "width"},
        {"gpt:width=67108865", "above"},
        {"gpt:width=67108864,heads=1", "too large"},
        {"gpt:layers=2001,width=8", "too large"},
        {"gpt2-124m:vocabulary=99999999999", "above"},
        {"mlp:sizes=784", "at least an input and an output"},
        {"mlp:sizes=", "sizes"},
        {"mlp:sizes=784-0-10", "below 1"},
        {"mlp:sizes=784--10", "sizes"},
        {"mlp:sizes=784-x-10", "'x'"},
        {"mlp:layers=2", "unknown key 'layers'"},
        {"params=0", "below 1"},
        {"params=-5", "below 1"},
        {"params=1.5", "not whole"},
        {"params=much", "'much'"},
        {"params=1e30", "params"},
        {"params=10:layers=2", "unknown key"},
        {"params=10:units=11", "more units than parameters"},
        {"params=10:units=0", "below 1"},
};

START_LOOP_TEST(model_is_refused, 0, COUNT(models_put_wrong))
{
	struct model m;
	must_fail(model_open(&m, models_put_wrong[_i][0], 0), STATUS_INPUT, models_put_wrong[_i][1]);
	ck_assert_ptr_null(m.tensors);
}

/* Each type that the table of models elsewhere names is one of those that files may have, and so has a reason. */
START_TEST(models_elsewhere_have_a_reason)
{
	static const char names[] =
	        "mixtral mixtral-8x22b deepseek-v2 deepseek-v3 deepseek-r1 gpt-oss-20b llama-4 "
	        "qwen3-30b-a3b qwen3-235b gemma-2b gemma-2-9b gemma phi-1.5 phi-2 phi falcon bloom gpt-j "
	        "gpt-neox pythia olmo bert roberta t5 vit resnet";
	struct arena a = {0};
	for (const char *p = names; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		const char *name = arena_print(&a, "%.*s", (int)n, p), *why = model_elsewhere(&a, name);
		ck_assert_msg(why && strstr(why, " has the model states of ") && !strstr(why, "(null)"), "%s: %s", name,
		              why ? why : "nothing");
		p += n;
	}
	arena_release(&a);
}

START_TEST(long_models_are_refused)
{
	char text[1024];
	struct model m;
	int n = snprintf(text, sizeof text, "mlp:sizes=8");
	for (int i = 1; i < 66; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "-8");
	must_fail(model_open(&m, text, 0), STATUS_INPUT, "sizes: more than 65");
	n = snprintf(text, sizeof text, "gpt:layers=1");
	while (n < 900)
		n += snprintf(text + n, sizeof text - (size_t)n, ",layers=1");
	must_fail(model_open(&m, text, 0), STATUS_INPUT, "layers is given twice");
	snprintf(text, sizeof text, "gpt:layers=%0900d", 1);
	must_fail(model_open(&m, text, 0), STATUS_INPUT, "too long");
}

START_TEST(sequence_is_at_most_the_context)
{
	struct model m;
	must_fail(model_open(&m, "gpt", 129), STATUS_INPUT, "longer than the context");
	must_fail(model_open(&m, "mlp", 2), STATUS_INPUT, "sequence: the MLP");
	must_fail(model_open(&m, "params=10", 2), STATUS_INPUT, "sequence: params=10");
	ck_assert_int_eq(model_open(&m, "gpt", 100), STATUS_OK);
	ck_assert_int_eq(m.tokens, 100);
	ck_assert_int_eq(m.parameters, 4837376);
	model_release(&m);
}

START_TEST(words_are_refused)
{
	struct settings s = settings_default();
	must_fail(setting_read(SETTING_PRECISION, "it", "fp64", &s), STATUS_INPUT,
	          "it: 'fp64' is not one of: fp32, bf16, fp16");
	must_fail(setting_read(SETTING_PRECISION, "it", "i32", &s), STATUS_INPUT, "'i32'");
	must_fail(setting_read(SETTING_OPTIMIZER, "it", "adam", &s), STATUS_INPUT,
	          "it: 'adam' is not one of: adamw, sgd");
	must_fail(setting_read(SETTING_LOSS_SCALER, "it", "none", &s), STATUS_INPUT,
	          "is not one of: deepspeed, pytorch");
	must_fail(setting_read(SETTING_STOCHASTIC_ROUNDING, "it", "no", &s), STATUS_INPUT, "is not one of: yes");
	ck_assert_int_eq(setting_read(SETTING_PRECISION, "it", "bf16", &s), STATUS_OK);
	ck_assert_int_eq(s.precision, TYPE_BF16);
	ck_assert_int_eq(setting_read(SETTING_OPTIMIZER, "it", "sgd", &s), STATUS_OK);
	ck_assert_int_eq(s.optimizer, OPTIMIZER_SGD);
}

/* Another value of each setting, read and printed; no other setting moves. */
static const struct {
	enum setting setting;
	const char *text, *printed;
} others[] = {
        {SETTING_MODEL, "gpt", "gpt"},
        {SETTING_STRATEGY, "zero2", "zero2"},
        {SETTING_RANKS, "8", "8"},
        {SETTING_BATCH, "64", "64"},
        {SETTING_MICRO_BATCH, "2", "2"},
        {SETTING_ACCUMULATE, "3", "3"},
        {SETTING_SEQUENCE, "1e2", "100"},
        {SETTING_PRECISION, "fp16", "fp16"},
        {SETTING_FP8, "delayed", "delayed"},
        {SETTING_LOSS_SCALER, "pytorch", "pytorch"},
        {SETTING_LOSS_SCALE, "1024.5", "1024.5"},
        {SETTING_LOSS_SCALE_WINDOW, "500", "500"},
        {SETTING_STOCHASTIC_ROUNDING, "yes", "yes"},
        {SETTING_OPTIMIZER, "sgd", "sgd"},
        {SETTING_LEARNING_RATE, "0.25", "0.25"},
        {SETTING_WARMUP, "10", "10"},
        {SETTING_DECAY, "20", "20"},
        {SETTING_WEIGHT_DECAY, "0.5", "0.5"},
        {SETTING_CLIP, "1", "1"},
        {SETTING_BUCKET, "25MB", "25000000"},
        {SETTING_CHECKPOINTING, "full", "full"},
        {SETTING_AS, "pytorch:root=again", "pytorch:root=again"},
        {SETTING_OFFLOAD, "activations,optimizer", "optimizer,activations"},
        {SETTING_COLLECTIVES, "library", "library"},
        {SETTING_CHECKPOINTS, "yes", "yes"},
        {SETTING_CHECKPOINT_ASYNC, "yes", "yes"},
        {SETTING_REPRODUCIBLE, "yes", "yes"},
        {SETTING_SEED, "9223372036854775807", "9223372036854775807"},
};

START_LOOP_TEST(a_setting_is_read_and_printed, 0, COUNT(others))
{
	struct settings s = settings_default();
	char text[SETTING_TEXT];
	enum setting i = others[_i].setting;
	ck_assert_int_eq(sizeof others / sizeof *others, SETTING_COUNT);
	ck_assert(!setting_differs(i, &s));
	must(setting_read(i, "it", others[_i].text, &s));
	setting_print(i, &s, text, sizeof text);
	ck_assert_str_eq(text, others[_i].printed);
	for (int k = 0; k < SETTING_COUNT; k++)
		ck_assert_msg(setting_differs((enum setting)k, &s) == (k == (int)i), "%s", setting_rows[k].name);
}

/* fp8 is a word of --precision: all but products is as in bf16, and how they are scaled may be said besides. */
START_TEST(fp8_is_bf16_with_products_in_fp8)
{
	struct settings s = settings_default();
	must(setting_read(SETTING_PRECISION, "it", "fp8", &s));
	ck_assert_int_eq(s.precision, TYPE_BF16);
	ck_assert_int_eq(s.fp8, FP8_DYNAMIC);
	must(setting_read(SETTING_FP8, "it", "delayed", &s));
	must(setting_read(SETTING_PRECISION, "it", "fp8", &s));
	ck_assert_int_eq(s.fp8, FP8_DELAYED);
	must(setting_read(SETTING_PRECISION, "it", "fp32", &s));
	s.ranks = 1;
	ck_assert_int_eq(settings_resolve(&s, 1), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "precision is fp32"));
}

/* ---- numbers ---- */

START_TEST(units_are_powers)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} sizes[] = {
	        {"512", 512},
	        {"3B", 3},
	        {"2kB", 2000},
	        {"25MB", 25000000},
	        {"25MiB", 26214400},
	        {"1.5KiB", 1536},
	        {"7.455GB", 7455000000},
	        {"2GiB", 2147483648},
	        {"1TB", 1000000000000},
	        {"1TiB", 1099511627776},
	};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		int64_t bytes = 0;
		ck_assert_int_eq(number_bytes(sizes[i].text, "size", 0, INT64_MAX, &bytes), STATUS_OK);
		ck_assert_msg(bytes == sizes[i].bytes, "%s is %lld", sizes[i].text, (long long)bytes);
	}
}

/* Four digits: a number that would round up to a thousand has the next unit. */
START_TEST(sizes_and_times_are_printed)
{
	static const struct {
		int64_t value;
		const char *bytes, *time;
	} rows[] = {
	        {0, "0 B", "0.000 µs"},
	        {999, "999 B", "0.999 µs"},
	        {1000, "1.000 kB", "1.000 µs"},
	        {1234, "1.234 kB", "1.234 µs"},
	        {99990, "99.99 kB", "99.99 µs"},
	        {999940, "999.9 kB", "999.9 µs"},
	        {999960, "1.000 MB", "1.000 ms"},
	        {25000000, "25.00 MB", "25.00 ms"},
	        {26214400, "26.21 MB", "26.21 ms"},
	        {7454900000, "7.455 GB", "7.455 s"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char bytes[32], time[32];
		number_format_bytes(bytes, sizeof bytes, rows[i].value);
		number_format_time(time, sizeof time, rows[i].value);
		ck_assert_str_eq(bytes, rows[i].bytes);
		ck_assert_str_eq(time, rows[i].time);
	}
}

/* Cards are named after GiB: an A100 of 80 GB shows 81049 MiB. */
START_TEST(capacities)
{
	static const struct {
		int64_t value;
		const char *text;
	} rows[] = {{INT64_C(81049) << 20, "84.99 GB (79.15 GiB)"},
	            {24000000000, "24.00 GB (22.35 GiB)"},
	            {INT64_C(2000000000000), "2.000 TB (1863 GiB)"},
	            {1000000000, "1.000 GB (0.931 GiB)"},
	            {999999999, "1.000 GB"},
	            {2000000, "2.000 MB"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[64];
		number_format_capacity(text, sizeof text, rows[i].value);
		ck_assert_str_eq(text, rows[i].text);
	}
}

START_TEST(exact_bytes)
{
	static const char *const text[] = {"25MiB", "1MB", "1GiB", "1536KiB", "20kB", "1048577B", "3GB", "0"};
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		char back[32];
		int64_t bytes;
		ck_assert_int_eq(number_bytes(text[i], "text", 0, INT64_MAX, &bytes), STATUS_OK);
		number_exact_bytes(back, sizeof back, bytes);
		ck_assert_str_eq(back, text[i]);
	}
}

START_TEST(short_counts)
{
	static const struct {
		int64_t n;
		const char *text;
	} rows[] = {{7000000000, "7B"},   {7500000000, "7.5B"},
	            {1100000000, "1.1B"}, {INT64_C(2000000000000), "2T"},
	            {1536000, "1.536M"},  {1000, "1K"},
	            {999, "999"},         {7241732096, "7241732096"},
	            {1234567, "1234567"}, {1, "1"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[NUMBER_COUNT];
		int64_t back;
		number_short_count(text, rows[i].n);
		ck_assert_str_eq(text, rows[i].text);
		must(number_whole(text, "count", 0, INT64_MAX, &back));
		ck_assert_int_eq(back, rows[i].n);
	}
}

/* ---- how messages name settings ---- */

static void spell_loudly(const char *name, char *out, size_t size)
{
	snprintf(out, size, "<%s>", name);
}

START_TEST(messages_name_settings)
{
	ck_assert_int_eq(status_fail(STATUS_INPUT, "{micro_batch}: '%s' of {} {no such} {clip", "{ranks}"),
	                 STATUS_INPUT);
	ck_assert_str_eq(status_message(), "micro_batch: '{ranks}' of {} {no such} {clip");
	status_spell(spell_loudly);
	status_prefix(STATUS_INPUT, "{model} %d", 3);
	status_prefix(STATUS_INPUT, "%s", status_words("{seed}{clip}"));
	status_spell(NULL);
	ck_assert_str_eq(status_message(), "<seed><clip>: <model> 3: micro_batch: '{ranks}' of {} {no such} {clip");
}

SUITE("settings", 0)
