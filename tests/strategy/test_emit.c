/* Settings as configurations of other programs: the files of tests/golden/recipes/emitted, which those programs read
 * (tests/oracle/emitted.py), and the plans that come of them again. UPDATE_GOLDEN=1 accepts a change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"
#include "strategy/emit/emit_rows.h"
#include "strategy/recipe/reader.h"
#include "tests/support/plans.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#define FOLDER "tests/golden/recipes/emitted/"
#define GPT "gpt:layers=4,width=64,heads=4,vocabulary=256,context=32"

/* name, settings, nodes */
static const struct {
	const char *name, *words;
	int64_t nodes;
} sets[] = {
        {"plain", GPT " ddp ranks=4", 1},
        {"alone", GPT " single ranks=1 precision=bf16 as=shardlab:gradients=fp32", 1},
        {"ddp", GPT " ddp ranks=8 precision=bf16 bucket=52428800 clip=0.5 seed=7 as=shardlab:gradients=fp32", 1},
        {"sgd", GPT " ddp ranks=4 optimizer=sgd weight_decay=0 bucket=26214400 learning_rate=0.1 clip=1", 1},
        {"zero1", GPT " zero1:overlap=no ranks=8 micro_batch=2 accumulate=4 bucket=1000000000 clip=1 precision=bf16",
         1},
        {"zero2", GPT " zero2 ranks=8 micro_batch=2 bucket=1048576 clip=1 precision=fp16 warmup=10", 1},
        {"zero2_offload", GPT " zero2 ranks=4 offload=optimizer bucket=1048576 clip=1 optimizer=sgd weight_decay=0", 1},
        {"zero3",
         GPT " zero3:prefetch=50000000:live=1000000000:reuse=1000000000 ranks=16 micro_batch=1 clip=1 precision=bf16",
         2},
        {"zero3_secondary", GPT " zero3:prefetch=7:live=8:reuse=9:secondary=2 ranks=4 clip=1 precision=bf16", 1},
        {"zero3_unit", GPT " zero3 ranks=4 micro_batch=1 precision=bf16 warmup=3 decay=100 clip=1", 1},
        {"zero3_disk",
         GPT " zero3:prefetch=7:live=8:reuse=9:overlap=no ranks=4 clip=1 "
             "offload=optimizer:to=disk:buffers=4,parameters:to=disk:staging=500000000",
         1},
        {"zero3_buffers",
         GPT " zero3:prefetch=7:live=8:reuse=9 ranks=4 clip=1 precision=bf16 as=deepspeed:disk=reads:pinned=parameters "
             "offload=optimizer:to=disk:buffers=5:queue=3145728,parameters:to=disk:staging=5120",
         1},
        {"zero3_kept", GPT " zero3:prefetch=7:live=8:reuse=9 ranks=4 clip=1 precision=bf16 as=deepspeed:gradients=kept",
         1},
        {"zero3_bucket",
         GPT " zero3:prefetch=7:live=8:reuse=9 ranks=4 clip=1 precision=bf16 bucket=1048576 as=deepspeed", 1},
        {"zero3_staged",
         GPT " zero3:prefetch=7:live=8:reuse=9 ranks=4 clip=1 precision=bf16 as=shardlab:pinned=none "
             "offload=optimizer,parameters:staging=1024",
         1},
        {"scale", GPT " ddp ranks=4 precision=fp16 loss_scale=1000 loss_scale_window=50 bucket=1048576 clip=1", 1},
        {"fsdp", GPT " fsdp ranks=8 micro_batch=2 precision=bf16 activation_checkpointing=full clip=1 sequence=16", 1},
        {"fsdp_keep", GPT " fsdp:reshard=no ranks=8 accumulate=2 warmup=10 decay=200 weight_decay=0.1", 1},
        {"fsdp_sync", GPT " fsdp:sync=last ranks=8 accumulate=2 clip=1", 1},
        {"fsdp_offload", GPT " fsdp ranks=4 offload=optimizer,parameters precision=bf16 clip=1", 1},
        {"hybrid",
         GPT " hybrid:shard=4 ranks=8 micro_batch=1 precision=bf16 clip=1 as=shardlab:gradients=fp32:weights=fp32", 2},
        {"fsdp_save", GPT " fsdp:save=full ranks=4 precision=bf16 clip=1", 1},
        {"zero3_save", GPT " zero3:save=16bit ranks=4 micro_batch=1 precision=bf16 clip=1", 1},
        {"fsdp_whole", GPT " fsdp:reshard=no:units=model ranks=4 clip=1", 1},
        {"hybrid_keep", GPT " hybrid:shard=4:reshard=no ranks=8 micro_batch=1 clip=1", 2},
        {"fsdp_post", GPT " fsdp:backward=post ranks=4 clip=1", 1},
        {"fsdp_two", GPT " fsdp:reshard=no:prefetch=two:backward=none ranks=4 clip=1 precision=bf16", 1},
        {"fsdp_all", GPT " fsdp:prefetch=all:backward=unit ranks=4 clip=1", 1},
        {"hybrid_post", GPT " hybrid:shard=4:backward=post ranks=8 micro_batch=1 clip=1", 2},
        {"hybrid_inside", GPT " hybrid:shard=2:backward=post ranks=8 micro_batch=1 clip=1", 2},
        {"foreach", GPT " fsdp ranks=4 clip=1 as=pytorch", 1},
        {"fsdp_operations", GPT " fsdp ranks=4 micro_batch=1 activation_checkpointing=operations clip=1", 1},
        {"selective", GPT " fsdp ranks=4 activation_checkpointing=selective clip=1", 1},
        {"one_in",
         GPT " fsdp ranks=4 activation_checkpointing=full:one_in=2 precision=bf16 clip=1 "
             "as=shardlab:gradients=fp32:weights=fp32",
         1},
        {"llama",
         "llama-3-8b fsdp ranks=8 micro_batch=1 precision=bf16 clip=1 activation_checkpointing=full "
         "as=shardlab:gradients=fp32:weights=fp32",
         1},
        {"tensor", GPT " tensor ranks=4 micro_batch=2 precision=bf16 clip=1 as=shardlab:gradients=fp32", 1},
        {"pipeline", GPT " pipeline:schedule=gpipe ranks=4 micro_batch=1 accumulate=8 clip=1", 1},
        {"digits", GPT " ddp ranks=4 learning_rate=1e-05 weight_decay=0.30000000000000004 clip=0.1 bucket=26214400", 1},
        {"dp", GPT " dp ranks=4", 1},
        {"half_offload", GPT " fsdp ranks=4 offload=optimizer", 1},
        {"activations", GPT " ddp ranks=4 offload=activations", 1},
        {"delayed", GPT " zero2 ranks=4 offload=optimizer:delayed=yes", 1},
        {"rounding", GPT " ddp ranks=4 precision=bf16 stochastic_rounding=yes", 1},
        {"scaler", GPT " zero2 ranks=4 precision=fp16 loss_scaler=pytorch", 1},
};
enum { SETS = COUNT(sets) };

static struct settings settings_at(int set)
{
	struct settings s = settings_of("%s", sets[set].words);
	return settings_resolved(&s);
}

/* ---- as it was accepted ---- */

static void path_of(char *out, size_t size, int set, int target, const char *ending)
{
	snprintf(out, size, FOLDER "%s.%s%s", sets[set].name, emit_target_name((enum emit_target)target), ending);
}

static void must_be_golden(const char *path, const char *text, size_t size)
{
	char *golden = NULL;
	size_t length = 0;
	if (getenv("UPDATE_GOLDEN"))
		file_put(path, text, size);
	must(file_read(path, "{emit}", TREE_BYTES, &golden, &length));
	ck_assert_msg(length == size && !memcmp(golden, text, size), "%s is another: %.*s", path, (int)size, text);
	free(golden);
}

static const char *const endings[] = {".json", ".yaml", ".json", ".toml"};

/* The file, or why there is none; with it what is said of it. */
static void write_all(FILE *said)
{
	for (int i = 0; i < SETS; i++)
		for (int t = 0; t < EMIT_TARGET_COUNT; t++) {
			struct emission e;
			char path[256];
			struct settings s = settings_at(i);
			fprintf(said, "%s %s:", sets[i].name, emit_target_name((enum emit_target)t));
			if (emit_make(&e, (enum emit_target)t, NULL, &s, sets[i].nodes)) {
				fprintf(said, " refused: %s\n", status_message());
				continue;
			}
			path_of(path, sizeof path, i, t, endings[t]);
			must_be_golden(path, e.text, e.size);
			for (int k = 0; k < e.beside_count; k++)
				fprintf(said, " %s", setting_rows[e.beside[k]].name);
			for (int k = 0; k < e.note_count; k++) {
				fprintf(said, "\n\t%s", e.notes[k].text);
				ck_assert_msg(!e.notes[k].option || e.notes[k].why, "no reason: %s", e.notes[k].text);
			}
			fputc('\n', said);
			emit_release(&e);
		}
}

START_TEST(every_file_is_as_it_was_accepted)
{
	char *text;
	size_t size;
	FILE *said = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(said);
	write_all(said);
	ck_assert_int_eq(fclose(said), 0);
	must_be_golden(FOLDER "said.txt", text, size);
	free(text);
}

/* ---- and back ---- */

static bool is_beside(const struct emission *e, enum setting setting)
{
	for (int i = 0; i < e->beside_count; i++)
		if (e->beside[i] == setting)
			return true;
	return false;
}

/* The settings that the file says, and those that are beside it. */
static struct settings read_back(const struct emission *e, const struct settings *s, const char *name)
{
	struct recipe r;
	struct settings back = settings_default();
	char text[SETTING_TEXT];
	const struct recipe_question q = {.reader = emit_target_reader(e->target),
	                                  .model = is_beside(e, SETTING_MODEL) ? s->model : NULL,
	                                  .ranks = is_beside(e, SETTING_RANKS) ? s->ranks : 0,
	                                  .given[SETTING_AS] = is_beside(e, SETTING_AS) ? s->software : NULL};
	must(recipe_read(&r, e->text, e->size, name, &q));
	must(recipe_plan(&r));
	ck_assert_str_eq(emit_target_class(e->target, s->strategy), recipe_class(&r));
	for (int i = 0; i < r.pair_count; i++)
		must(setting_read(r.pairs[i].setting, "", r.pairs[i].text, &back));
	for (int i = 0; i < e->beside_count; i++) {
		setting_print(e->beside[i], s, text, sizeof text);
		must(setting_read(e->beside[i], "", text, &back));
	}
	recipe_release(&r);
	back.batch = 0;
	return settings_resolved(&back);
}

static char *plan_text(const struct settings *s)
{
	struct made m;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	must(made_open(&m, s));
	plan_write(&m.plan, NULL, out);
	made_release(&m);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

/* But for the line that names the strategy, whose keys may be the same in other words. */
static void must_be_same_plan(const struct settings *a, const struct settings *b, const char *name)
{
	char *x = plan_text(a), *y = plan_text(b);
	const char *p = strstr(x, "\nset strategy "), *q = strstr(y, "\nset strategy ");
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(q);
	ck_assert_msg(p - x == q - y && !strncmp(x, y, (size_t)(p - x)), "%s: another model", name);
	ck_assert_msg(!strcmp(strchr(p + 1, '\n'), strchr(q + 1, '\n')), "%s: another plan", name);
	free(x);
	free(y);
}

/* A setting that the other program has otherwise gives another plan there. `zero3` in numbers is an exception: they say
 * what `unit` does. */
static bool comes_back(const struct emission *e)
{
	return !e->otherwise || (e->target != EMIT_ACCELERATE && emit_is(e, "zero3"));
}

START_TEST(what_is_read_again_is_the_same_plan)
{
	int compared[EMIT_TARGET_COUNT] = {0};
	for (int i = 0; i < SETS; i++)
		for (int t = 0; t < EMIT_TARGET_COUNT; t++) {
			struct emission e;
			char name[256];
			struct settings s = settings_at(i);
			path_of(name, sizeof name, i, t, endings[t]);
			if (emit_make(&e, (enum emit_target)t, NULL, &s, sets[i].nodes))
				continue;
			if (comes_back(&e)) {
				struct settings back = read_back(&e, &s, name);
				must_be_same_plan(&s, &back, name);
				compared[t]++;
			}
			emit_release(&e);
		}
	ck_assert_int_ge(compared[EMIT_DEEPSPEED], 7);
	ck_assert_int_ge(compared[EMIT_ACCELERATE], 8);
	ck_assert_int_ge(compared[EMIT_TRAINER], 13);
	ck_assert_int_ge(compared[EMIT_TORCHTITAN], 7);
}

/* Accelerate's few keys for DeepSpeed say no size: beside a named file there is one of DeepSpeed's. */
static void must_come_back_in_two(int set)
{
	struct emission e;
	struct settings s = settings_at(set);
	char name[256];
	snprintf(name, sizeof name, FOLDER "%s-two.accelerate.yaml", sets[set].name);
	must(emit_make(&e, EMIT_ACCELERATE, name, &s, sets[set].nodes));
	ck_assert_ptr_nonnull(e.beside_where);
	must_be_golden(name, e.text, e.size);
	must_be_golden(e.beside_where, e.beside_text, e.beside_size);
	struct settings back = read_back(&e, &s, name);
	if (!e.otherwise || strstr(sets[set].name, "unit") || strstr(sets[set].name, "save"))
		must_be_same_plan(&s, &back, name);
	emit_release(&e);
}

START_TEST(two_files_say_what_one_cannot)
{
	int compared = 0;
	for (int i = 0; i < SETS; i++) {
		struct settings s = settings_at(i);
		bool zero =
		        !strncmp(s.strategy, "zero", 4) && !s.offload.delayed && s.loss_scaler != LOSS_SCALER_PYTORCH;
		if (zero)
			must_come_back_in_two(i);
		compared += zero;
	}
	ck_assert_int_ge(compared, 9);
}

/* A row is a key that the reader takes, or that changes nothing. */
START_TEST(every_row_is_a_key_of_its_reader)
{
	for (int t = 0; t < EMIT_TARGET_COUNT; t++) {
		enum recipe_reader reader = emit_target_reader((enum emit_target)t);
		for (const struct emit_row *row = emit_rows((enum emit_target)t); *row->path; row++)
			ck_assert_msg(table_key(recipe_tables[reader], row->path), "%s: no such key", row->path);
	}
}

/* Accelerate goes by the end of the name. */
START_TEST(the_name_chooses_the_form)
{
	struct emission e;
	struct settings s = settings_at(0);
	must(emit_make(&e, EMIT_ACCELERATE, "a.json", &s, 1));
	ck_assert_int_eq(*e.text, '{');
	emit_release(&e);
	must(emit_make(&e, EMIT_TRAINER, "a.yaml", &s, 1));
	ck_assert_ptr_nonnull(strstr(e.text, "learning_rate: 0.001\n"));
	emit_release(&e);
}

SUITE("emit", 60)
