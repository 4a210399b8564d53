/* Configurations of other programs: judged as those judge (verdicts.txt, by tests/oracle/config_keys.py), and each key
 * as the table of keys says. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/recipe/reader.h"
#include "tests/support/recipe_settings.h"
#include "tests/support/refusal.h"
#include "tests/support/suite.h"

#define FOLDER "tests/golden/recipes/deepspeed/"
enum { MOST_LINE = 1000 };

static struct recipe recipe;

static void end(void)
{
	recipe_release(&recipe);
}

static enum status read_as(enum recipe_reader reader, const char *text)
{
	const struct recipe_question q = {.reader = reader, .model = "gpt2-124m", .ranks = 1};
	recipe_release(&recipe);
	return recipe_read(&recipe, text, strlen(text), "f", &q);
}

/* ---- beside the programs ---- */

static bool takes_file(enum recipe_reader reader, const char *path)
{
	const struct recipe_question q = {.reader = reader, .model = "gpt2-124m", .ranks = 1};
	recipe_release(&recipe);
	enum status s = recipe_open(&recipe, path, &q);
	return !s && !recipe.refusals.count;
}

/* Adds what the oracle adds where a case says nothing of it. */
static void add_missing(const char *line, char *out, size_t size)
{
	const char *batch = strstr(line, "\"train_batch_size\"") ? "" : "\"train_batch_size\": 8, ";
	const char *zero = strstr(line, "\"zero_optimization\"") ? "" : "\"zero_optimization\": {}, ";
	snprintf(out, size, "{%s%s%s", batch, zero, line + 1);
}

/* The case on this line of cases.txt. */
static bool takes_case(enum recipe_reader reader, int number)
{
	static char line[MOST_LINE], text[MOST_LINE + 80];
	FILE *f = fopen(FOLDER "cases.txt", "r");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < number; i++)
		ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
	fclose(f);
	add_missing(line, text, sizeof text);
	must(read_as(reader, text));
	return !recipe.refusals.count;
}

START_TEST(files_are_judged_as_their_programs_judge)
{
	char deepspeed[16], trainer[16], name[128];
	int count = 0, wrong = 0;
	FILE *f = fopen(FOLDER "verdicts.txt", "r");
	ck_assert_ptr_nonnull(f);
	for (; fscanf(f, "%15s %15s %127s", deepspeed, trainer, name) == 3; count++)
		for (enum recipe_reader r = RECIPE_DEEPSPEED; r <= RECIPE_TRANSFORMERS; r++) {
			char path[256];
			snprintf(path, sizeof path, FOLDER "%s", name);
			bool took = atoi(name) ? takes_case(r, atoi(name)) : takes_file(r, path);
			bool theirs = !strcmp(r == RECIPE_DEEPSPEED ? deepspeed : trainer, "takes");
			if (took != theirs)
				fprintf(stderr, "%s: %s %s it, not we%s%s\n", name, recipe_judge(r),
				        theirs ? "takes" : "refuses", took ? "" : ": ",
				        took                    ? ""
				        : recipe.refusals.count ? recipe.refusals.list[0].text
				                                : status_message());
			wrong += took != theirs;
		}
	fclose(f);
	ck_assert_int_ge(count, 120);
	ck_assert_int_eq(wrong, 0);
}

/* ---- each key ---- */

#define NVME "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"nvme\"}}"

/* The rest of a file, what the key says, and the settings that come of it. Settings that begin with - are
 * not there. */
static const struct {
	const char *beside, *key, *value, *settings;
} takes[] = {
        {"", "train_batch_size", "6", "micro_batch=6 accumulate=1"},
        {"\"train_batch_size\": 8", "train_micro_batch_size_per_gpu", "2", "micro_batch=2 accumulate=4"},
        {"\"train_batch_size\": 8", "gradient_accumulation_steps", "2", "micro_batch=4 accumulate=2"},
        {"", "gradient_clipping", "0.5", "clip=0.5"},
        {"", "fp16.enabled", "true", "precision=fp16 loss_scale=65536 loss_scale_window=1000"},
        {"", "bf16.enabled", "true", "precision=bf16"},
        {"", "bfloat16.enabled", "true", "precision=bf16"},
        {"\"fp16\": {\"enabled\": true}", "fp16.initial_scale_power", "10", "loss_scale=1024"},
        {"\"fp16\": {\"enabled\": true}", "fp16.loss_scale_window", "50", "loss_scale_window=50"},
        {"", "zero_optimization.stage", "0", "strategy=ddp bucket=2000000000"},
        {"", "zero_optimization.stage", "1", "strategy=zero1:overlap=no"},
        {"", "zero_optimization.stage", "2", "strategy=zero2:overlap=no"},
        {"", "zero_optimization.stage", "3", "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000"},
        {"\"zero_optimization\": {\"stage\": 1}", "zero_optimization.overlap_comm", "true", "strategy=zero1"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.overlap_comm", "false",
         "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000:overlap=no"},
        {"\"zero_optimization\": {\"stage\": 1}", "zero_optimization.reduce_scatter", "false",
         "strategy=zero1:reduce=all:overlap=no"},
        {"", "zero_optimization", "true", "strategy=zero1:overlap=no"},
        {"\"bf16\": {\"enabled\": true}", "zero_optimization.reduce_bucket_size", "1000", "bucket=2000"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.stage3_prefetch_bucket_size", "7",
         "strategy=zero3:prefetch=7:live=1000000000:reuse=1000000000"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.prefetch_bucket_size", "7",
         "strategy=zero3:prefetch=7:live=1000000000:reuse=1000000000"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.stage3_max_live_parameters", "8",
         "strategy=zero3:prefetch=50000000:live=8:reuse=1000000000"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.stage3_max_reuse_distance", "9",
         "strategy=zero3:prefetch=50000000:live=1000000000:reuse=9"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.sub_group_size", "1000",
         "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000:pieces=1000"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.zero_hpz_partition_size", "4",
         "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000:secondary=4"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.stage3_gather_16bit_weights_on_model_save", "true",
         "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000:save=16bit"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.stage3_gather_fp16_weights_on_model_save", "true",
         "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000:save=16bit"},
        {"\"zero_optimization\": {\"stage\": 2}", "zero_optimization.offload_optimizer.device", "\"cpu\"",
         "offload=optimizer"},
        {"\"zero_optimization\": {\"stage\": 2}", "zero_optimization.offload_optimizer.device", "\"nvme\"",
         "offload=optimizer"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.offload_optimizer.device", "\"nvme\"",
         "offload=optimizer:to=disk:buffers=4 as=shardlab:disk=none"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.offload_optimizer.buffer_count",
         "6, \"device\": \"nvme\"", "offload=optimizer:to=disk:buffers=6"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.offload_optimizer.pipeline_read",
         "true, \"device\": \"nvme\"", "as=shardlab:disk=reads"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.offload_optimizer.pipeline_write",
         "true, \"device\": \"nvme\"", "as=shardlab:disk=writes"},
        {"\"zero_optimization\": {\"stage\": 3}", "zero_optimization.offload_optimizer.pin_memory",
         "false, \"device\": \"nvme\"", "as=shardlab:disk=none:pinned=parameters"},
        {"\"zero_optimization\": {\"stage\": 1}", "zero_optimization.offload_optimizer.pin_memory",
         "false, \"device\": \"cpu\"", "as=shardlab:pinned=parameters:copies=one"},
        {"\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}",
         "zero_optimization.offload_param.pin_memory", "false, \"device\": \"cpu\"", "as=shardlab:pinned=optimizer"},
        {"\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}",
         "zero_optimization.offload_param.buffer_count", "3, \"device\": \"nvme\", \"max_in_cpu\": 0",
         "offload=optimizer,parameters:to=disk:staging=300000000"},
        {"\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}",
         "zero_optimization.offload_param.buffer_size", "1000, \"device\": \"nvme\", \"max_in_cpu\": 0",
         "offload=optimizer,parameters:to=disk:staging=5120"},
        {"\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}",
         "zero_optimization.offload_param.max_in_cpu", "100, \"device\": \"nvme\"",
         "offload=optimizer,parameters:to=disk:staging=500000100"},
        {"\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}",
         "zero_optimization.offload_param.max_in_cpu", "130000000, \"device\": \"nvme\"",
         "offload=optimizer,parameters:staging=500000000"},
        {"\"zero_optimization\": {\"stage\": 2}", "zero_optimization.cpu_offload", "true", "offload=optimizer"},
        {"\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}",
         "zero_optimization.offload_param.device", "\"cpu\"", "offload=optimizer,parameters"},
        {"\"zero_optimization\": {\"stage\": 3, \"cpu_offload\": true}", "zero_optimization.cpu_offload_param", "true",
         "offload=optimizer,parameters"},
        {NVME, "aio.block_size", "65536", "offload=optimizer:to=disk:buffers=4:queue=524288"},
        {NVME, "aio.queue_depth", "2", "offload=optimizer:to=disk:buffers=4:queue=2097152"},
        {NVME, "aio.intra_op_parallelism", "4", "offload=optimizer:to=disk:buffers=4:queue=33554432"},
        {NVME, "aio.overlap_events", "true", "as=shardlab:requests=ahead:disk=none"},
        {NVME, "aio.overlap_events", "false", "as=shardlab:disk=none"},
        {"\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}",
         "zero_optimization.round_robin_gradients", "false", "as=shardlab:copies=one"},
        {"\"zero_optimization\": {\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\"}}",
         "zero_optimization.round_robin_gradients", "true", "offload=optimizer"},
        {"", "optimizer.type", "\"SGD\"", "optimizer=sgd learning_rate=0.001 weight_decay=0"},
        {"\"optimizer\": {\"type\": \"SGD\"}", "optimizer.params.weight_decay", "0.5", "optimizer=sgd weight_decay=0"},
        {"\"optimizer\": {\"type\": \"AdamW\"}", "optimizer.params.lr", "0.25", "optimizer=adamw learning_rate=0.25"},
        {"\"optimizer\": {\"type\": \"Adam\"}", "optimizer.params.weight_decay", "0.5",
         "optimizer=adamw weight_decay=0.5"},
        {"", "scheduler.type", "\"WarmupLR\"", "warmup=1000"},
        {"\"bf16\": {\"enabled\": true}", "communication_data_type", "\"fp32\"", "as=shardlab:gradients=fp32"},
        {"\"bf16\": {\"enabled\": true}, \"communication_data_type\": \"fp32\"", "data_types.grad_accum_dtype",
         "\"fp32\"", "as=shardlab:gradients=fp32"},
        {"\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3}", "data_types.grad_accum_dtype",
         "\"fp32\"", "as=shardlab:gradients=kept"},
        {"\"scheduler\": {\"type\": \"WarmupLR\"}", "scheduler.params.warmup_num_steps", "5", "warmup=5"},
        {"\"scheduler\": {\"type\": \"WarmupDecayLR\"}", "scheduler.params.total_num_steps", "50",
         "warmup=1000 decay=50"},
};

/* Keys that become a setting only together with another, or that must say what the precision is. */
static const char *const said_elsewhere[] = {"fp16.loss_scale", "scheduler.params.warmup_max_lr",
                                             "zero_optimization.stage3_param_persistence_threshold"};

/* "a.b", value → "a": {"b": value}, inside what stands beside it if that is the same section. */
static void put_key(char *out, size_t size, const char *beside, const char *key, const char *value)
{
	char inner[400];
	const char *dot = strchr(key, '.');
	if (!dot) {
		snprintf(out, size, "%s%s\"%s\": %s", beside, *beside ? ", " : "", key, value);
		return;
	}
	char section[64], text[300] = "";
	snprintf(section, sizeof section, "\"%.*s\": {", (int)(dot - key), key);
	if (!strncmp(beside, section, strlen(section)))
		snprintf(text, sizeof text, "%.*s", (int)(strlen(beside + strlen(section)) - 1),
		         beside + strlen(section));
	put_key(inner, sizeof inner, text, dot + 1, value);
	snprintf(out, size, "%s%s%s%s}", *text ? "" : beside, *text || !*beside ? "" : ", ", section, inner);
}

START_LOOP_TEST(a_key_becomes_a_setting, 0, COUNT(takes))
{
	char inner[600], text[700];
	put_key(inner, sizeof inner, takes[_i].beside, takes[_i].key, takes[_i].value);
	bool batch = strstr(inner, "batch_size");
	snprintf(text, sizeof text, "{%s%s}", inner, batch ? "" : ", \"train_batch_size\": 8");
	must(read_as(RECIPE_DEEPSPEED, text));
	must(recipe_plan(&recipe));
	must_have_settings(&recipe, takes[_i].settings);
}

/* Requests that are larger than what a rank has, and those that are none, are no plan here. */
START_TEST(requests_that_cannot_be_made_are_refused)
{
	static const char *const cases[][2] = {
	        {"\"block_size\": 2000000000", "a rank's 124439808 elements are less than a request"},
	        {"\"queue_depth\": 0", "aio.block_size, queue_depth and intra_op_parallelism: their product must be"}};
	for (int i = 0; i < COUNT(cases); i++) {
		char text[300];
		snprintf(text, sizeof text, "{\"train_batch_size\": 8, " NVME ", \"aio\": {%s}}", cases[i][0]);
		must(read_as(RECIPE_DEEPSPEED, text));
		must_fail(recipe_plan(&recipe), STATUS_INPUT, cases[i][1]);
	}
}

/* A part of a rank's share that stays in host memory, and the rest on the disk, is no plan here. */
START_TEST(a_share_in_two_places_is_refused)
{
	static const char *const cases[][2] = {
	        {"\"max_in_cpu\": 80000000, \"device\": \"nvme\"",
	         "max_in_cpu 80000000: of a rank's 124439808 elements a part stays in host memory"},
	        {"\"buffer_size\": 1e17, \"device\": \"nvme\"", "buffer_size and max_in_cpu: too large"}};
	for (int i = 0; i < COUNT(cases); i++) {
		char text[300];
		snprintf(text, sizeof text,
		         "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3, \"sub_group_size\": 1000000, "
		         "\"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {%s}}}",
		         cases[i][0]);
		must(read_as(RECIPE_DEEPSPEED, text));
		must_fail(recipe_plan(&recipe), STATUS_INPUT, cases[i][1]);
	}
	must(read_as(RECIPE_DEEPSPEED, "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3, "
	                               "\"offload_optimizer\": {\"device\": \"nvme\", \"buffer_count\": 3}}}"));
	must_fail(recipe_plan(&recipe), STATUS_INPUT, "buffer_count: 3 buffers are too few for AdamW's");
}

START_TEST(every_key_that_is_taken_has_a_case)
{
	const struct recipe_key *k;
	for (int i = 0; (k = recipe_key_at(RECIPE_DEEPSPEED, i)); i++) {
		bool found = k->here != HERE_TAKEN;
		for (int t = 0; t < COUNT(takes); t++)
			found |= !strcmp(takes[t].key, k->path);
		for (int t = 0; t < COUNT(said_elsewhere); t++)
			found |= !strcmp(said_elsewhere[t], k->path);
		ck_assert_msg(found, "%s: no case", k->path);
	}
}

/* Another value of the type. */
static const char *another(const struct recipe_key *k)
{
	static char text[32];
	double n;
	char *end;
	if (strstr(k->type, "flag"))
		return strcmp(k->value, "true") ? "true" : "false";
	if (strstr(k->type, "section"))
		return strcmp(k->value, "{}") ? "{}" : "{\"a\": 1}";
	if (strstr(k->type, "list"))
		return "[1]";
	n = strtod(k->value, &end);
	if (end == k->value || *end)
		return strstr(k->type, "mean") ? "\"sum\"" : strstr(k->type, "log") ? "\"log\"" : "\"fp16\"";
	snprintf(text, sizeof text, "%.15g", strstr(k->type, "real") ? n / 2 + 0.25 : n + 8);
	return text;
}

/* The sections and the stage in which a key means something. */
static void put_where_it_counts(const struct recipe_key *k, char *out, size_t size)
{
	const char *stage = strstr(k->there, "stage 1, 2") ? "2" : "3";
	const char *device = strstr(k->path, "pin_memory") ? "cpu" : "nvme";
	char beside[200] = "", inner[500];
	if (!strncmp(k->path, "zero_optimization.offload_", 26))
		snprintf(beside, sizeof beside,
		         "\"zero_optimization\": {\"stage\": 3, \"%.*s\": {\"device\": \"%s\", \"%s\": %s}}",
		         (int)strcspn(k->path + 18, "."), k->path + 18, device, strrchr(k->path, '.') + 1, another(k));
	else if (!strncmp(k->path, "zero_optimization.", 18))
		snprintf(beside, sizeof beside, "\"zero_optimization\": {\"stage\": %s}", stage);
	else if (!strncmp(k->path, "fp16.", 5))
		snprintf(beside, sizeof beside, "\"fp16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}");
	if (strstr(beside, "device"))
		snprintf(inner, sizeof inner, "%s", beside);
	else if (*k->path == 'f' && *beside)
		snprintf(inner, sizeof inner,
		         "\"zero_optimization\": {\"stage\": 1}, \"fp16\": {\"enabled\": true, \"%s\": %s}",
		         k->path + 5, another(k));
	else
		put_key(inner, sizeof inner, beside, k->path, another(k));
	snprintf(out, size, "{\"train_batch_size\": 8, %s}", inner);
}

/* A key of which plans have one value alone refuses another by name, and one that the figures do not follow is noted.
 */
START_TEST(other_values_are_refused_or_noted_by_name)
{
	const struct recipe_key *k;
	int refused = 0, noted = 0;
	for (int i = 0; (k = recipe_key_at(RECIPE_DEEPSPEED, i)); i++) {
		char text[700];
		if (k->here != HERE_ONLY && k->here != HERE_NOTED)
			continue;
		put_where_it_counts(k, text, sizeof text);
		must(read_as(RECIPE_DEEPSPEED, text));
		const struct recipe_remarks *all = k->here == HERE_ONLY ? &recipe.barriers : &recipe.notes;
		bool found = false;
		for (int m = 0; m < all->count; m++)
			found |= !strncmp(all->list[m].text, k->path, strlen(k->path)) && all->list[m].line == 1;
		ck_assert_msg(found, "%s: nothing says so, of %s", k->path, text);
		if (k->here == HERE_ONLY)
			must_fail(recipe_plan(&recipe), STATUS_INPUT, "");
		refused += k->here == HERE_ONLY;
		noted += k->here == HERE_NOTED;
	}
	ck_assert_int_ge(refused, 25);
	ck_assert_int_ge(noted, 10);
}

/* Tensors that the other program keeps whole are noted with their share, given or not. */
START_TEST(small_tensors_that_stay_whole_are_noted)
{
	static const struct {
		const char *value, *note;
	} cases[] = {{"", " 100000, the default: tensors with fewer elements stay whole on every rank there, 0.098 %"},
	             {", \"stage3_param_persistence_threshold\": 1000", " 1000: tensors with fewer"},
	             {", \"stage3_param_persistence_threshold\": 0", NULL}};
	for (int i = 0; i < COUNT(cases); i++) {
		char text[200];
		bool found = false;
		snprintf(text, sizeof text, "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3%s}}",
		         cases[i].value);
		must(read_as(RECIPE_DEEPSPEED, text));
		for (int k = 0; k < recipe.notes.count; k++)
			found |= strstr(recipe.notes.list[k].text, cases[i].note ? cases[i].note : "persistence") !=
			         NULL;
		ck_assert_msg(found == (cases[i].note != NULL), "%s", text);
	}
}

/* A threshold under which much of the model would stay whole cannot be said here. */
START_TEST(large_tensors_that_stay_whole_are_refused)
{
	must(read_as(RECIPE_DEEPSPEED, "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3, "
	                               "\"stage3_param_persistence_threshold\": 10000000}}"));
	ck_assert_int_eq(recipe.barriers.count, 1);
	ck_assert_ptr_nonnull(strstr(recipe.barriers.list[0].text, "threshold 10000000: 69 % of the model"));
}

/* A key that does nothing says so, and changes no setting. */
START_TEST(keys_that_do_nothing_change_nothing)
{
	const struct recipe_key *k;
	char text[700], inner[600];
	must(read_as(RECIPE_DEEPSPEED, "{\"train_batch_size\": 8}"));
	int pairs = recipe.pair_count;
	for (int i = 0; (k = recipe_key_at(RECIPE_DEEPSPEED, i)); i++) {
		if (k->here != HERE_NOTHING || strstr(k->type, "section"))
			continue;
		put_key(inner, sizeof inner, "", k->path, "0");
		snprintf(text, sizeof text, "{\"train_batch_size\": 8, %s}", inner);
		must(read_as(RECIPE_DEEPSPEED, text));
		ck_assert_int_eq(recipe.pair_count, pairs);
		const struct recipe_line *l = &recipe.lines[recipe.line_count - 1];
		ck_assert_msg(!strncmp(l->here, "nothing", 7), "%s: '%s'", k->path, l->here);
	}
}

static const struct recipe_line *line_at(const char *path)
{
	for (int i = 0; i < recipe.line_count; i++)
		if (!strcmp(recipe.lines[i].path, path))
			return &recipe.lines[i];
	ck_abort_msg("no line %s", path);
}

/* A value that cannot be read makes no setting, and none of the default either. */
START_TEST(of_a_wrong_value_nothing_comes)
{
	must(read_as(RECIPE_DEEPSPEED,
	             "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": -1, "
	             "\"stage3_prefetch_bucket_size\": \"5e7\"}}"));
	ck_assert_str_eq(line_at("zero_optimization.reduce_bucket_size")->here, "wrong");
	ck_assert_str_eq(line_at("zero_optimization.stage3_prefetch_bucket_size")->here, "wrong");
	ck_assert_ptr_null(recipe_pair_find(&recipe, SETTING_BUCKET));
	for (int i = 0; i < recipe.notes.count; i++)
		ck_assert_ptr_null(strstr(recipe.notes.list[i].text, "reduce_bucket_size"));
}

/* Nor of an "auto" that is a size of the model's, where no model is given. */
START_TEST(of_an_auto_without_a_model_nothing_comes)
{
	const struct recipe_question q = {.reader = RECIPE_TRANSFORMERS};
	const char *text = "{\"train_batch_size\": \"auto\", \"zero_optimization\": {\"stage\": 3, "
	                   "\"reduce_bucket_size\": \"auto\", \"stage3_prefetch_bucket_size\": \"auto\"}}";
	recipe_release(&recipe);
	must(recipe_read(&recipe, text, strlen(text), "f", &q));
	ck_assert_str_eq(line_at("zero_optimization.reduce_bucket_size")->here, "h², with model");
	ck_assert_str_eq(line_at("zero_optimization.stage3_prefetch_bucket_size")->here, "0.9 h², with model");
	ck_assert_ptr_null(recipe_pair_find(&recipe, SETTING_BUCKET));
	ck_assert_ptr_null(strstr(recipe_pair_find(&recipe, SETTING_STRATEGY), "prefetch"));
	must_fail(recipe_plan(&recipe), STATUS_INPUT, "give model");
}

/* ---- mistakes ---- */

static const struct {
	const char *text, *line;
} mistakes[] = {
#include "tests/strategy/recipe_refused.def"
};

START_TEST(mistakes_are_refused_in_a_line)
{
	ck_assert_int_ge(COUNT(mistakes), 60);
	for (int i = 0; i < COUNT(mistakes); i++) {
		enum status s = read_as(RECIPE_DEEPSPEED, mistakes[i].text);
		if (!s)
			s = recipe_plan(&recipe);
		must_fail(s, STATUS_INPUT, "f:");
		size_t n = strlen(mistakes[i].line); /* of one that cannot be read at all also as what it was read */
		const char *rest = status_message() + (strlen(status_message()) < n ? 0 : n);
		ck_assert_msg(!strncmp(status_message(), mistakes[i].line, n), "%s", status_message());
		ck_assert_msg(!*rest || !strcmp(rest, " (read as Hjson: its name says no format)"), "%s",
		              status_message());
	}
}

/* Which format a file was read as is said where its name does not say it. */
START_TEST(a_file_that_cannot_be_read_says_as_what)
{
	static const struct {
		const char *where, *text, *line;
	} files[] = {
	        {"a.ini", "b c", "a.ini:1:3: 'c' where a : should be (read as Hjson: its name says no format)"},
	        {"a.ini", "[x]\nb",
	         "a.ini:2:2: the file ends where a = behind the key should be (read as TOML: its name "
	         "says no format)"},
	        {"a.json", "b c", "a.json:1:3: 'c' where a : should be"},
	        {"a.json", " \n", "a.json:1:1: empty; a configuration has keys and values"},
	        {"a.toml", "", "a.toml:1:1: empty; a configuration has keys and values"},
	        {"a.toml", "# nothing yet\n", "a.toml:1:1: empty; a configuration has keys and values"},
	};
	for (int i = 0; i < COUNT(files); i++) {
		const struct recipe_question q = {.reader = RECIPE_GUESSED};
		recipe_release(&recipe);
		must_fail(recipe_read(&recipe, files[i].text, strlen(files[i].text), files[i].where, &q), STATUS_INPUT,
		          "a.");
		ck_assert_str_eq(status_message(), files[i].line);
	}
}

/* As PyYAML 6.0.3 has them. */
static const struct {
	const char *text;
	bool number, whole;
	double value;
} words_of_yaml[] = {
        {"0x10", true, true, 16},     {"-0x1F", true, true, -31},      {"0b101", true, true, 5},
        {"017", true, true, 15},      {"0_7", true, true, 7},          {"1_000", true, true, 1000},
        {"+12", true, true, 12},      {"1_", true, true, 1},           {"0", true, true, 0},
        {"1:30", true, true, 90},     {"-1:30", true, true, -90},      {"10:20:30", true, true, 37230},
        {"5.0e+7", true, false, 5e7}, {"5.e-3", true, false, 0.005},   {".5", true, false, 0.5},
        {"1.5_0", true, false, 1.5},  {".inf", true, false, INFINITY}, {"-.INF", true, false, -INFINITY},
        {"0X10", false, false, 0},    {"0o17", false, false, 0},       {"08", false, false, 0},
        {"0x", false, false, 0},      {"1:60", false, false, 0},       {"0:30", false, false, 0},
        {"5e7", false, false, 0},     {"5.0e7", false, false, 0},      {"-.5", false, false, 0},
        {"_1", false, false, 0},      {"1:3a", false, false, 0},
};

START_LOOP_TEST(plain_words_of_yaml_are_what_pyyaml_has, 0, COUNT(words_of_yaml))
{
	struct arena a = {0};
	struct tree_file f;
	char text[64];
	snprintf(text, sizeof text, "a: %s\nb: '%s'\n", words_of_yaml[_i].text, words_of_yaml[_i].text);
	must(tree_read_yaml(&a, text, strlen(text), "f.yaml", &f));
	const struct tree *v = tree_find(f.root, "a");
	ck_assert_int_eq(v->kind, words_of_yaml[_i].number ? TREE_NUMBER : TREE_TEXT);
	ck_assert(v->whole == words_of_yaml[_i].whole);
	ck_assert_msg(v->number == words_of_yaml[_i].value, "%s: %g", words_of_yaml[_i].text, v->number);
	ck_assert_int_eq(tree_find(f.root, "b")->kind, TREE_TEXT);
	arena_release(&a);
}

/* AdamW's alone is a setting, and of another optimizer's a note says what becomes of it; of 0 there is nothing to say.
 */
START_TEST(the_weight_decay_of_sgd_is_noted)
{
	static const char form[] =
	        "{\"train_batch_size\": 1, \"optimizer\": {\"type\": \"%s\", \"params\": {\"weight_decay\": %s}}}";
	static const struct {
		const char *type, *decay;
		bool noted;
	} cases[] = {{"SGD", "0.1", true}, {"SGD", "0", false}, {"AdamW", "0.1", false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[160];
		int notes = 0;
		snprintf(text, sizeof text, form, cases[i].type, cases[i].decay);
		must(read_as(RECIPE_DEEPSPEED, text));
		for (int k = 0; k < recipe.notes.count; k++)
			notes += strstr(recipe.notes.list[k].text, "SGD's weight decay of 0.1") &&
			         recipe.notes.list[k].line == 1;
		ck_assert_int_eq(notes, cases[i].noted);
	}
}

START_TEST(the_oldest_form_of_zero_is_stage_1)
{
	must(read_as(RECIPE_DEEPSPEED, "{\"train_batch_size\": 8, \"zero_optimization\": true, \"bf16 \": 1}"));
	ck_assert_str_eq(recipe.lines[1].here, "strategy zero1:overlap=no");
	ck_assert_int_eq(recipe.lines[1].state, STATE_TAKEN);
	ck_assert_str_eq(recipe.lines[2].path, "\"bf16 \"");
}

/* A renamed key's successor is read, and the key itself no more. */
START_TEST(renamed_keys_have_successors)
{
	const struct recipe_renamed *r;
	for (int i = 0; (r = recipe_renamed_at(i)); i++) {
		ck_assert_msg(table_key(recipe_tables[r->reader], r->now) != NULL, "%s is unknown", r->now);
		ck_assert_msg(table_key(recipe_tables[r->reader], r->path) == NULL, "%s is read", r->path);
	}
	must(read_as(RECIPE_TRAINER, "{\"output_dir\": \"x\", \"evaluation_strategy\": \"steps\"}"));
	ck_assert_str_eq(recipe.refusals.list[0].text, "evaluation_strategy: unknown (it is eval_strategy today)");
}

SUITE_WITH("recipe", 60, NULL, end)
