/* Configurations of torchtitan and Trainer's arguments: judged as those judge (verdicts.txt, by
 * tests/oracle/config_keys.py), and each key as its table says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/model/model.h"
#include "strategy/recipe/reader.h"
#include "tests/support/recipe_settings.h"
#include "tests/support/refusal.h"
#include "tests/support/suite.h"

enum { MOST_LINE = 1000 };

static struct recipe recipe;

static void end(void)
{
	recipe_release(&recipe);
}

static enum status read_text(enum recipe_reader reader, const char *where, const char *text, int64_t ranks)
{
	const struct recipe_question q = {.reader = reader, .model = "gpt2-124m", .ranks = ranks};
	recipe_release(&recipe);
	return recipe_read(&recipe, text, strlen(text), where, &q);
}

/* ---- beside the programs ---- */

static const struct judge {
	enum recipe_reader reader;
	const char *folder, *where;
	int64_t ranks;
} judges[] = {{RECIPE_TORCHTITAN, "tests/golden/recipes/torchtitan/", "f.toml", 8},
              {RECIPE_TRAINER, "tests/golden/recipes/trainer/", "f.json", 1}};

/* The line of cases.txt, or the file, of this name. What is no TOML or JSON is refused too. */
static bool takes(const struct judge *j, const char *name)
{
	char line[MOST_LINE], path[300];
	const struct recipe_question q = {.reader = j->reader, .model = "gpt2-124m", .ranks = j->ranks};
	snprintf(path, sizeof path, "%s%s", j->folder, atoi(name) ? "cases.txt" : name);
	recipe_release(&recipe);
	if (!atoi(name))
		return !recipe_open(&recipe, path, &q) && !recipe.refusals.count;
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < atoi(name); i++)
		ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
	fclose(f);
	return !read_text(j->reader, j->where, line, j->ranks) && !recipe.refusals.count;
}

START_LOOP_TEST(files_are_judged_as_their_programs_judge, 0, COUNT(judges))
{
	const struct judge *j = &judges[_i];
	char verdict[16], name[128], path[300];
	int count = 0, wrong = 0;
	snprintf(path, sizeof path, "%sverdicts.txt", j->folder);
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	for (; fscanf(f, "%15s %127s", verdict, name) == 2; count++) {
		bool took = takes(j, name), theirs = !strcmp(verdict, "takes");
		if (took != theirs)
			fprintf(stderr, "%s%s: %s %s it, not we%s%s\n", j->folder, name, recipe_judge(j->reader),
			        verdict, took ? "" : ": ",
			        took                    ? ""
			        : recipe.refusals.count ? recipe.refusals.list[0].text
			                                : status_message());
		wrong += took != theirs;
	}
	fclose(f);
	ck_assert_int_ge(count, 80);
	ck_assert_int_eq(wrong, 0);
}

START_TEST(files_are_known_for_whose_they_are)
{
	static const struct {
		const char *where, *text;
		enum recipe_reader reader;
	} files[] = {{"a.toml", "training = {seq_len = 16}", RECIPE_TORCHTITAN},
	             {"a.json", "{\"learning_rate\": 1}", RECIPE_TRAINER},
	             {"a.json", "{\"bf16\": true, \"fsdp\": true}", RECIPE_TRAINER},
	             {"a.yaml", "per_device_train_batch_size: 2", RECIPE_TRAINER},
	             {"a.yaml", "num_processes: 2", RECIPE_ACCELERATE},
	             {"a.json", "{\"distributed_type\": \"NO\", \"seed\": 1}", RECIPE_ACCELERATE},
	             {"a.json", "{\"train_batch_size\": 8, \"bf16\": {\"enabled\": true}}", RECIPE_DEEPSPEED},
	             {"a.json", "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 1}, \"seed\": 1}",
	              RECIPE_DEEPSPEED},
	             {"a.json", "{\"train_batch_size\": \"auto\"}", RECIPE_TRANSFORMERS},
	             {"a", "# of yesterday\n[training]\nseq_len = 16", RECIPE_TORCHTITAN},
	             {"a", "training.seq_len = 16", RECIPE_TORCHTITAN},
	             {"a", "---\nnum_processes: 2", RECIPE_ACCELERATE},
	             {"a", "\noutput_dir: x\nbf16: true", RECIPE_TRAINER},
	             {"a", "{output_dir: x\nbf16: true}", RECIPE_TRAINER},
	             {"a", "train_batch_size: 8 # of all", RECIPE_DEEPSPEED},
	             {"a.conf", "{\"train_batch_size\": 8}", RECIPE_DEEPSPEED}};
	for (int i = 0; i < COUNT(files); i++) {
		must(read_text(RECIPE_GUESSED, files[i].where, files[i].text, 1));
		ck_assert_int_eq(recipe.reader, files[i].reader);
	}
}

/* ---- each key ---- */

/* A file, and its settings, or the line that refuses it. */
struct taken {
	enum recipe_reader reader;
	const char *text, *settings, *refused;
};

static const struct taken taken[] = {
#include "tests/strategy/recipe_jobs.def"
};

START_LOOP_TEST(a_file_becomes_settings, 0, COUNT(taken))
{
	const struct taken *t = &taken[_i];
	const bool is_toml = t->reader == RECIPE_TORCHTITAN;
	const bool counts = strstr(t->text, "degree = 3") || strstr(t->text, "degree = -1");
	const struct recipe_question q = {.reader = t->reader, .ranks = counts ? 0 : 8};
	enum status s = recipe_read(&recipe, t->text, strlen(t->text), is_toml ? "f.toml" : "f.json", &q);
	if (!s)
		s = recipe_plan(&recipe);
	if (t->refused) {
		must_fail(s, STATUS_INPUT, "f.");
		ck_assert_str_eq(status_message(), t->refused);
		return;
	}
	must(s);
	must_have_settings(&recipe, t->settings);
}

/* ---- whose rates ---- */

static const struct {
	enum recipe_reader reader;
	const char *text, *class;
} classes[] = {
        {RECIPE_DEEPSPEED, "{\"train_batch_size\": 8}", "deepspeed"},
        {RECIPE_TRANSFORMERS, "{\"train_batch_size\": 8}", "deepspeed"},
        {RECIPE_ACCELERATE, "{\"distributed_type\": \"DEEPSPEED\"}", "deepspeed"},
        {RECIPE_ACCELERATE, "{\"distributed_type\": \"FSDP\"}", "pytorch-eager"},
        {RECIPE_ACCELERATE, "{\"dynamo_config\": {\"dynamo_backend\": \"INDUCTOR\"}}", "pytorch-compiled"},
        {RECIPE_ACCELERATE, "{\"dynamo_backend\": \"NO\"}", "pytorch-eager"},
        {RECIPE_TRAINER, "{\"output_dir\": \"x\"}", "pytorch-eager"},
        {RECIPE_TRAINER, "{\"torch_compile\": true}", "pytorch-compiled"},
        {RECIPE_TRAINER, "{\"torch_compile\": false}", "pytorch-eager"},
        {RECIPE_TRAINER, "{\"torch_compile_mode\": \"max-autotune\"}", "pytorch-compiled"},
        {RECIPE_TRAINER, "{\"torch_compile\": true, \"deepspeed\": {\"train_batch_size\": 8}}", "deepspeed"},
        {RECIPE_TORCHTITAN, "compile.enable = true", "pytorch-compiled"},
        {RECIPE_TORCHTITAN, "compile.enable = false", "pytorch-eager"},
        {RECIPE_TORCHTITAN, "[job]", "pytorch-eager"},
};

START_LOOP_TEST(a_file_has_a_class, 0, COUNT(classes))
{
	const struct recipe_question q = {.reader = classes[_i].reader, .ranks = 8};
	must(recipe_read(&recipe, classes[_i].text, strlen(classes[_i].text),
	                 classes[_i].reader == RECIPE_TORCHTITAN ? "f.toml" : "f.json", &q));
	ck_assert_str_eq(recipe_class(&recipe), classes[_i].class);
}

/* A key that is taken, or has one value here alone, is in a file of the table above; of others the table says all. */
START_LOOP_TEST(every_key_has_a_case, 0, COUNT(judges))
{
	const struct recipe_key *k;
	for (int i = 0; (k = recipe_key_at(judges[_i].reader, i)); i++) {
		const char *dot = strrchr(k->path, '.'), *word = dot ? dot + 1 : k->path;
		bool found = k->here != HERE_TAKEN && k->here != HERE_ONLY;
		for (int c = 0; c < COUNT(taken); c++)
			found |= taken[c].reader == judges[_i].reader && strstr(taken[c].text, word);
		ck_assert_msg(found, "%s: no case", k->path);
	}
}

/* Its own sizes: those of llama3 and qwen3 as their makers count them, the small ones as torchtitan prints them. */
START_TEST(models_of_torchtitan_have_as_many_parameters_as_there)
{
	static const struct {
		const char *name, *flavor;
		int64_t parameters;
	} sizes[] = {
	        {"llama3", "8B", 8030261248},      {"llama3", "70B", 70553706496},   {"llama3", "405B", 405853388800},
	        {"llama3", "debugmodel", 6163712}, {"qwen3", "0.6B", 596049920},     {"qwen3", "1.7B", 1720574976},
	        {"qwen3", "4B", 4022468096},       {"qwen3", "8B", 8190735360},      {"qwen3", "14B", 14768307200},
	        {"qwen3", "32B", 32762123264},     {"qwen3", "debugmodel", 31987968}};
	const struct recipe_table *t = recipe_tables[RECIPE_TORCHTITAN];
	for (int i = 0; i < COUNT(sizes); i++) {
		const struct recipe_flavor *f = table_flavor(t, sizes[i].name, sizes[i].flavor);
		struct model m;
		ck_assert_ptr_nonnull(f);
		must(model_open(&m, f->model, 0));
		ck_assert_msg(m.parameters == sizes[i].parameters, "%s %s: %lld", f->name, f->flavor,
		              (long long)m.parameters);
		model_release(&m);
	}
	for (int i = 0; i < t->flavor_count; i++) { /* each is said, or why not */
		const struct recipe_flavor *f = &t->flavors[i];
		bool counted = false;
		for (int k = 0; k < COUNT(sizes); k++)
			counted |= !strcmp(table_flavor(t, sizes[k].name, sizes[k].flavor)->model, table_model(t, f));
		ck_assert_msg(*f->model ? counted : *f->otherwise != 0, "%s %s", f->name, f->flavor);
	}
}

/* What nobody may take for Trainer's word, or for a number of ranks. */
START_TEST(a_file_is_said_for_what_it_is)
{
	static const struct {
		enum recipe_reader reader;
		const char *text, *note;
	} files[] = {{RECIPE_TRAINER, "{\"output_dir\": \"y\", \"model_name_or_path\": \"x\"}",
	              "model_name_or_path is an argument of a training script"},
	             {RECIPE_TORCHTITAN, "[job]",
	              "data_parallel_shard_degree is -1 by default: FSDP over all ranks that the other degrees leave"},
	             {RECIPE_TORCHTITAN, "model.flavor = '8B_flex'",
	              "model: there attention ends where a document does; here every token attends to all before it"}};
	for (int i = 0; i < COUNT(files); i++) {
		const struct recipe_question q = {.reader = files[i].reader};
		const char *where = files[i].reader == RECIPE_TORCHTITAN ? "f.toml" : "f.json";
		recipe_release(&recipe);
		must(recipe_read(&recipe, files[i].text, strlen(files[i].text), where, &q));
		bool said = false;
		for (int k = 0; k < recipe.notes.count; k++)
			said |= strstr(recipe.notes.list[k].text, files[i].note) != NULL;
		ck_assert_msg(said, "%s", files[i].note);
	}
}

SUITE_WITH("recipe_jobs", 60, NULL, end)
