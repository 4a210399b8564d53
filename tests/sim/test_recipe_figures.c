/* Keys of DeepSpeed and Accelerate: two files that differ in one key are two predictions, which differ in what that key
 * changes there: memory, traffic, or time. */
#include <stdio.h>
#include <string.h>

#include "sim/gathering.h"
#include "sim/sim.h"
#include "strategy/recipe/recipe.h"
#include "tests/support/plans.h"
#include "tests/support/refusal.h"
#include "tests/support/suite.h"

#define MODEL "gpt:layers=4,width=1024,heads=16,vocabulary=8192,context=256"
enum { RANKS = 8, LONGEST = 1000 };

enum { MEMORY = 1, TRAFFIC = 2, TIME = 4 };

/* The key, two files, and what changes; as: whose habits, where not the program's own. */
struct changed {
	const char *key, *without, *with;
	int what;
	const char *as;
};

static const struct changed deepspeed[] = {
#include "tests/sim/recipe_figures_deepspeed.def"
};
static const struct changed accelerate[] = {
#include "tests/sim/recipe_figures_accelerate.def"
};

static const struct {
	enum recipe_reader reader;
	const char *as, *common;
	const struct changed *rows;
	int count;
	const char *otherwise; /* keys that change nothing of a step, and three that test_recipe*.c see to */
} tables[] = {
        {RECIPE_DEEPSPEED, "deepspeed", "", deepspeed, COUNT(deepspeed),
         " optimizer.params.lr optimizer.params.weight_decay scheduler.type scheduler.params.warmup_num_steps "
         "scheduler.params.total_num_steps scheduler.params.warmup_max_lr fp16.loss_scale fp16.initial_scale_power "
         "fp16.loss_scale_window zero_optimization.stage3_param_persistence_threshold "},
        {RECIPE_ACCELERATE, "pytorch", "num_processes: 8, ", accelerate, COUNT(accelerate),
         " fsdp_config.fsdp_transformer_layer_cls_to_wrap "
         "deepspeed_config.deepspeed_config_file "},
};

/* class: of the program, with this file. */
static struct settings settings_of_file(int table, const char *as, const char *section, const char **class)
{
	struct recipe r;
	struct settings s = settings_default();
	char text[LONGEST];
	bool counts = strstr(section, "num_processes");
	const struct recipe_question q = {.reader = tables[table].reader,
	                                  .model = MODEL,
	                                  .ranks = tables[table].reader == RECIPE_DEEPSPEED ? RANKS : 0,
	                                  .given[SETTING_AS] = as};
	snprintf(text, sizeof text, "{%s%s}", counts ? "" : tables[table].common, section);
	for (char *c = text; (c = strchr(c, '\''));)
		*c = '"';
	must(recipe_read(&r, text, strlen(text), tables[table].reader == RECIPE_DEEPSPEED ? "f.json" : "f.yaml", &q));
	must(recipe_plan(&r));
	must(setting_read(SETTING_MODEL, "", MODEL, &s));
	must(setting_read(SETTING_AS, "", as, &s));
	s.ranks = RANKS;
	for (int i = 0; i < r.pair_count; i++)
		must(setting_read(r.pairs[i].setting, "", r.pairs[i].text, &s));
	*class = recipe_class(&r);
	recipe_release(&r);
	s.batch = 0;
	return settings_resolved(&s);
}

/* Its prediction on two nodes of four. */
static void predict(int table, const char *as, const char *section, struct report *r)
{
	char cluster[64];
	const char *class;
	struct made m;
	struct cluster c;
	struct settings s = settings_of_file(table, as, section, &class);
	snprintf(cluster, sizeof cluster, "a100-80gb:node=4:class=%s", class);
	*r = (struct report){0};
	must(made_open(&m, &s));
	must(cluster_open(&c, cluster, m.plan.ranks));
	must(sim_run(&m.plan, &c, GRAIN_OPERATION, NULL, r));
	must(gathering_time(&m.plan, &c, &r->gathering_ns));
	cluster_release(&c);
	made_release(&m);
}

static int what_differs(const struct report *a, const struct report *b)
{
	int what = a->time.step == b->time.step && a->gathering_ns == b->gathering_ns ? 0 : TIME;
	for (int i = 0; i < PLAN_ROLES; i++) {
		const struct report_role *x = &a->roles[i], *y = &b->roles[i];
		if (memcmp(x->by_kind, y->by_kind, sizeof x->by_kind) ||
		    memcmp(x->transfer, y->transfer, sizeof x->transfer) ||
		    x->gathering.sent_bytes != y->gathering.sent_bytes)
			what |= TRAFFIC;
		for (int space = 0; space < SPACE_COUNT; space++)
			if (x->memory[space].peak_bytes != y->memory[space].peak_bytes ||
			    x->memory[space].reserved_bytes != y->memory[space].reserved_bytes ||
			    x->gathering.peak_bytes[space] != y->gathering.peak_bytes[space])
				what |= MEMORY;
	}
	return what;
}

static void must_differ(int table, const struct changed *row)
{
	struct report without, with;
	const char *as = row->as ? row->as : tables[table].as;
	predict(table, as, row->without, &without);
	predict(table, as, row->with, &with);
	int what = what_differs(&without, &with);
	ck_assert_msg(what == row->what, "%s: %s%s%s changes, and not%s%s%s, from %s to %s", row->key,
	              what & MEMORY ? "memory " : "", what & TRAFFIC ? "traffic " : "", what & TIME ? "time " : "",
	              row->what & MEMORY ? " memory" : "", row->what & TRAFFIC ? " traffic" : "",
	              row->what & TIME ? " time" : "", row->without, row->with);
	report_release(&without);
	report_release(&with);
}

START_LOOP_TEST(a_key_of_deepspeed_changes_what_it_changes_there, 0, COUNT(deepspeed))
{
	must_differ(0, &deepspeed[_i]);
}

START_LOOP_TEST(a_key_of_accelerate_changes_what_it_changes_there, 0, COUNT(accelerate))
{
	must_differ(1, &accelerate[_i]);
}

/* The key stands in the second file, and its path among the rows or among what changes nothing of a step. */
START_LOOP_TEST(every_key_that_is_taken_changes_figures, 0, COUNT(tables))
{
	const struct recipe_key *k;
	for (int i = 0; i < tables[_i].count; i++) {
		const char *dot = strrchr(tables[_i].rows[i].key, '.');
		ck_assert_msg(strstr(tables[_i].rows[i].with, dot ? dot + 1 : tables[_i].rows[i].key) != NULL, "%s",
		              tables[_i].rows[i].key);
		ck_assert_int_ne(tables[_i].rows[i].what, 0);
	}
	for (int i = 0; (k = recipe_key_at(tables[_i].reader, i)); i++) {
		char word[128];
		snprintf(word, sizeof word, " %s ", k->path);
		bool found = k->here != HERE_TAKEN || strstr(tables[_i].otherwise, word);
		for (int c = 0; c < tables[_i].count; c++)
			found |= !strcmp(tables[_i].rows[c].key, k->path);
		ck_assert_msg(found, "%s: no row", k->path);
	}
}

SUITE("recipe_figures", 120)
