/* Reading a recipe: the lines of its keys, and what is said of each. */
#include "strategy/recipe/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"
#include "strategy/recipe/reader.h"

/* ---- what a key does ---- */

static bool offloads_to(const struct recipe *r, const char *path, const char *device)
{
	char at[64];
	snprintf(at, sizeof at, "%.*s.device", (int)(strrchr(path, '.') - path), path);
	const struct tree *v = recipe_find(r, at);
	return v && v->kind == TREE_TEXT && !strcmp(v->text, device);
}

/* The reason that a key does nothing in this configuration; NULL: it applies. A key that works in some configurations
 * alone has a text that begins with "stage 3: …". */
static const char *does_not_apply(const struct recipe *r, const struct recipe_key *k)
{
	int64_t stage = recipe_stage(r);
	if (!strncmp(k->there, "stage 3: ", 9) && stage != 3)
		return "below stage 3";
	if (!strncmp(k->there, "stage 1, 2", 10) && stage != 1 && stage != 2)
		return stage ? "in stage 3" : "in stage 0";
	if (!strncmp(k->there, "nvme: ", 6) && strstr(k->path, "offload_") && !offloads_to(r, k->path, "nvme"))
		return "without a disk";
	if (strstr(k->path, ".pin_memory") && !offloads_to(r, k->path, "cpu") && !offloads_to(r, k->path, "nvme"))
		return "without offload";
	if (!strncmp(k->path, "fp16.", 5) && strcmp(k->path, "fp16.enabled") != 0 &&
	    !recipe_flag(r, "fp16.enabled", false) && !tree_is_auto(recipe_find(r, "fp16.enabled")))
		return "without fp16";
	return NULL;
}

/* The sections of Accelerate that its distributed_type does not ask for. */
static const char *is_of_another_type(const struct recipe *r, const struct recipe_key *k)
{
	static const struct {
		const char *section, *type, *without;
	} sections[] = {{"fsdp_config.", "FSDP", "without FSDP"},
	                {"parallelism_config.", "FSDP", "without FSDP"},
	                {"deepspeed_config.", "DEEPSPEED", "without DEEPSPEED"}};
	const struct tree *type = recipe_find(r, "distributed_type");
	for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
		if (!strncmp(k->path, sections[i].section, strlen(sections[i].section)) &&
		    (!type || type->kind != TREE_TEXT || strcmp(type->text, sections[i].type) != 0))
			return sections[i].without;
	return NULL;
}

/* torchtitan's keys for an axis that the configuration does not have. */
static const char *is_of_no_axis(const struct recipe *r, const struct recipe_key *k)
{
	static const struct {
		const char *keys, *degree, *without;
	} axes[] = {{"parallelism.pipeline_parallel_", "parallelism.pipeline_parallel_degree", "without a pipeline"},
	            {"parallelism.module_fqns", "parallelism.pipeline_parallel_degree", "without a pipeline"},
	            {"parallelism.disable_loss_", "parallelism.tensor_parallel_degree", "without tensor parallelism"},
	            {"parallelism.enable_async_", "parallelism.tensor_parallel_degree", "without tensor parallelism"}};
	for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
		if (!strncmp(k->path, axes[i].keys, strlen(axes[i].keys)) && strcmp(k->path, axes[i].degree) != 0 &&
		    recipe_whole(r, axes[i].degree, 1) == 1)
			return axes[i].without;
	return NULL;
}

static const char *without_what(const struct recipe *r, const struct recipe_key *k)
{
	return r->reader == RECIPE_ACCELERATE   ? is_of_another_type(r, k)
	       : r->reader == RECIPE_TORCHTITAN ? is_of_no_axis(r, k)
	       : r->reader == RECIPE_TRAINER    ? trainer_without(r, k)
	                                        : does_not_apply(r, k);
}

/* Names how every plan is, after "as" or "those". */
static const char *as_usual(struct recipe *r, const struct recipe_key *k, const char *with)
{
	bool none = !*k->value || !strcmp(k->value, "null");
	return none ? "without it" : arena_print(&r->arena, "%s %s", with, k->value);
}

static bool has_its_type(struct recipe *r, const struct recipe_line *l)
{
	const char *want;
	return type_holds(l->key->type, l->value, &r->arena, &want);
}

static void take_value(struct recipe *r, struct recipe_line *l)
{
	const struct recipe_key *k = l->key;
	const char *without = without_what(r, k);
	bool same = recipe_is_default(r, l->path, l->value) || tree_same(l->value, k->value) ||
	            (!strcmp(k->value, "null") && l->value->kind == TREE_NULL);
	const char *shown = tree_shown(&r->arena, l->value);
	if (without && k->here != HERE_NOTHING) {
		l->state = STATE_NOTHING;
		l->here = arena_print(&r->arena, "nothing, %s", without);
	} else if (k->here == HERE_TAKEN) {
		l->state = STATE_TAKEN;
	} else if (k->here == HERE_NOTHING) {
		l->state = STATE_NOTHING;
		l->here = "nothing";
	} else if (same) {
		l->state = STATE_AS_HERE;
		l->here = "as here";
	} else if (k->here == HERE_NOTED) {
		l->state = STATE_NOTED;
		l->here = "not in the figures";
		recipe_note(r, l->value, "%s %s: not in the figures, which are those %s (%s)", l->path, shown,
		            as_usual(r, k, "of"), k->there);
	} else {
		l->state = STATE_REFUSED;
		l->here = "refused";
		if (has_its_type(r, l)) /* of another judge_value says what is wrong */
			recipe_bar(r, l->value, "%s: %s cannot be said here; every plan is as %s (%s)", l->path, shown,
			           as_usual(r, k, "with"), k->there);
	}
}

/* Keys whose "auto" Trainer replaces. */
static bool trainer_fills(const char *path)
{
	static const char *const keys[] = {"train_micro_batch_size_per_gpu",
	                                   "gradient_accumulation_steps",
	                                   "train_batch_size",
	                                   "gradient_clipping",
	                                   "optimizer.params.lr",
	                                   "optimizer.params.betas",
	                                   "optimizer.params.eps",
	                                   "optimizer.params.weight_decay",
	                                   "scheduler.params.warmup_min_lr",
	                                   "scheduler.params.warmup_max_lr",
	                                   "scheduler.params.warmup_num_steps",
	                                   "scheduler.params.total_num_steps",
	                                   "fp16.enabled",
	                                   "bf16.enabled",
	                                   "zero_optimization.reduce_bucket_size",
	                                   "zero_optimization.stage3_prefetch_bucket_size",
	                                   "zero_optimization.stage3_param_persistence_threshold"};
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (!strcmp(keys[i], path))
			return true;
	return false;
}

static void judge_value(struct recipe *r, struct recipe_line *l)
{
	const char *want, *judge = recipe_judge(r->reader), *type = l->key->type;
	bool automatic = tree_is_auto(l->value);
	if (automatic && (recipe_is_default(r, l->path, l->value) ||
	                  (r->reader == RECIPE_TRANSFORMERS && trainer_fills(l->key->path))))
		return;
	if (type_holds(type, l->value, &r->arena, &want))
		return;
	l->state = STATE_WRONG;
	if (strncmp(l->here, "nothing", 7) != 0)
		l->here = "wrong";
	const char *shown = tree_shown(&r->arena, l->value);
	if (type_is_exceeded(type, l->value))
		recipe_bar(r, l->value, "%s: %s is too large", l->path, shown);
	else if (type_is_checked(type))
		recipe_refuse(r, judge, l->value, "%s: %s is not %s", l->path, shown, want);
	else if (l->key->here != HERE_NOTHING)
		recipe_bar(r, l->value, "%s: %s is not %s; %s finds that out when it uses it", l->path, shown, want,
		           judge);
}

static void judge_unknown(struct recipe *r, struct recipe_line *l)
{
	const char *section = table_section(r->table, l->path), *judge = recipe_judge(r->reader);
	const struct recipe_gone *gone = table_gone(r->table, l->path);
	const char *near = table_near(r->table, &r->arena, l->path);
	if (gone) {
		l->state = STATE_UNKNOWN;
		l->there = arena_print(&r->arena, "removed: %s", gone->what);
		recipe_refuse(r, judge, l->value, "%s: removed from DeepSpeed: %s", l->path, gone->what);
	} else if (!strcmp(section, "strict")) {
		l->state = STATE_UNKNOWN;
		l->there = arena_print(&r->arena, "unknown%s", near);
		recipe_refuse(r, judge, l->value, "%s: unknown%s", l->path, near);
	} else {
		bool free = !strcmp(section, "free");
		l->state = free ? STATE_NOTHING : STATE_IGNORED;
		l->there = free ? "of its section" : arena_print(&r->arena, "unknown, and ignored%s", near);
		if (!free)
			recipe_note(r, l->value, "%s: unknown, and ignored by %s%s", l->path, judge, near);
	}
	l->here = "nothing";
}

static void judge_old(struct recipe *r, struct recipe_line *l, const struct recipe_old *old)
{
	const char *want;
	l->there = arena_print(&r->arena, "deprecated: %s", old->what);
	l->here = "nothing";
	l->state = STATE_NOTHING;
	if (!type_holds(old->type, l->value, &r->arena, &want)) {
		l->state = STATE_WRONG;
		recipe_refuse(r, recipe_judge(r->reader), l->value, "%s: %s is not %s", l->path,
		              tree_shown(&r->arena, l->value), want);
	} else if (*old->to && recipe_spelled(r, old->to)) {
		recipe_refuse(r, recipe_judge(r->reader), l->value, "%s: deprecated, and %s is there too", l->path,
		              old->to);
	} else {
		recipe_note(r, l->value, "%s: deprecated: %s", l->path, old->what);
	}
}

/* DeepSpeed knows the longer of two spellings; the other is then an unknown key. */
static bool is_second_spelling(const struct recipe *r, const struct recipe_line *l)
{
	return l->key && strcmp(l->key->path, l->path) != 0 && tree_find(r->file.root, l->key->path) &&
	       !strcmp(table_section(r->table, l->path), "strict") && strncmp(l->path, "bfloat16", 8) != 0;
}

static void judge_line(struct recipe *r, struct recipe_line *l)
{
	const struct recipe_old *old = table_old(r->table, l->path);
	if (tree_repeated(l->value)) {
		l->state = STATE_WRONG;
		l->here = "nothing: a later one counts";
		if (r->reader == RECIPE_DEEPSPEED)
			recipe_refuse(r, "DeepSpeed", l->value, "%s is there twice", l->path);
		else
			recipe_note(r, l->value, "%s is there twice; the last counts", l->path);
	} else if (is_second_spelling(r, l)) {
		l->state = STATE_UNKNOWN;
		l->here = "nothing";
		recipe_refuse(r, recipe_judge(r->reader), l->value, "%s is there as %s too", l->path, l->key->path);
	} else if (old) {
		judge_old(r, l, old);
	} else if (!l->key) {
		judge_unknown(r, l);
	} else {
		take_value(r, l);
		judge_value(r, l);
	}
}

static struct recipe_line *add_line(struct recipe *r, const struct tree *t)
{
	const char *path = tree_path(&r->arena, t);
	const struct recipe_key *key = table_key(r->table, path);
	r->lines = arena_grow(&r->arena, r->lines, r->line_count, &r->line_capacity, sizeof *r->lines);
	struct recipe_line *l = &r->lines[r->line_count++];
	*l = (struct recipe_line){.value = t, .path = path, .key = key, .here = "", .there = key ? key->there : ""};
	return l;
}

/* A section has a line where it is not what it should be, or says something by itself. */
static bool is_plain_section(const struct tree *t, const struct recipe_key *key)
{
	return t->kind == TREE_OBJECT && key && strstr(key->type, "section") &&
	       (key->here == HERE_NOTHING || strchr(key->type, '|'));
}

static void walk(struct recipe *r, const struct tree *section)
{
	for (const struct tree *t = section->first; t; t = t->next) {
		const char *path = tree_path(&r->arena, t);
		const struct recipe_key *key = table_key(r->table, path);
		bool plain = is_plain_section(t, key) && !tree_repeated(t);
		if (!plain)
			judge_line(r, add_line(r, t));
		if (plain || (t->kind == TREE_OBJECT && key && strcmp(table_section(r->table, path), "apart") != 0))
			walk(r, t);
	}
}

/* ---- the whole file ---- */

static enum status judge(struct recipe *r)
{
	static const struct {
		void (*judge)(struct recipe *r);
		enum status (*take)(struct recipe *r);
	} readers[RECIPE_READER_COUNT] = {
	        [RECIPE_DEEPSPEED] = {judge_deepspeed, take_deepspeed},
	        [RECIPE_TRANSFORMERS] = {judge_deepspeed, take_deepspeed},
	        [RECIPE_ACCELERATE] = {judge_accelerate, take_accelerate},
	        [RECIPE_TORCHTITAN] = {judge_torchtitan, take_torchtitan},
	        [RECIPE_TRAINER] = {judge_trainer, take_trainer},
	};
	whose_choose(r);
	whose_judge_syntax(r);
	walk(r, r->file.root);
	readers[r->reader].judge(r);
	enum status s = readers[r->reader].take(r);
	if (!s)
		class_say(r);
	return s;
}

/* The judgement of the other program, of the same file: its first refusal is remarked. */
static enum status judge_by_others(struct recipe *r, const char *text, size_t size)
{
	struct recipe other;
	struct recipe_question q = r->question;
	q.reader = r->reader == RECIPE_DEEPSPEED ? RECIPE_TRANSFORMERS : RECIPE_DEEPSPEED;
	if (r->question.reader != RECIPE_GUESSED || r->reader > RECIPE_TRANSFORMERS)
		return STATUS_OK;
	enum status s = recipe_read(&other, text, size, r->file.where, &q);
	if (!s && other.refusals.count) {
		struct recipe_remark *first = &other.refusals.list[0];
		const struct tree at = {.line = first->line, .column = first->column};
		struct recipe_remarks keep = r->refusals;
		r->refusals = (struct recipe_remarks){0};
		recipe_refuse(r, recipe_judge(q.reader), first->line ? &at : NULL, "%s", first->text);
		r->others = r->refusals;
		r->refusals = keep;
	}
	recipe_release(&other);
	return s;
}

enum status recipe_judge_tree(struct recipe *r, const struct tree_file *f)
{
	r->file = *f;
	enum status s = judge(r);
	if (s)
		recipe_release(r);
	return s;
}

enum status recipe_read(struct recipe *r, const char *text, size_t size, const char *where,
                        const struct recipe_question *q)
{
	*r = (struct recipe){.question = *q};
	enum status s = whose_read(&r->arena, text, size, where, q->reader, &r->file);
	if (!s)
		s = judge(r);
	if (!s)
		s = judge_by_others(r, text, size);
	if (s)
		recipe_release(r);
	return s;
}

enum status recipe_open(struct recipe *r, const char *path, const struct recipe_question *q)
{
	char *text;
	size_t size;
	*r = (struct recipe){0};
	TRY(file_read(path, "{config}", TREE_BYTES, &text, &size));
	enum status s = recipe_read(r, text, size, path, q);
	free(text);
	return s;
}

void recipe_release(struct recipe *r)
{
	if (!r)
		return;
	arena_release(&r->arena);
	*r = (struct recipe){0};
}

/* ---- its settings ---- */

static enum status fail_with(const struct recipe *r, const struct recipe_remark *m)
{
	char place[48] = "";
	if (m->line)
		snprintf(place, sizeof place, ":%d:%d", m->line, m->column);
	return status_fail(STATUS_INPUT, "%.200s%s: %s%s%s", r->file.where, place, m->by ? m->by : "",
	                   m->by ? " would refuse: " : "", m->text);
}

static enum status plan_but(const struct recipe *r, bool searched, const struct recipe_remark **other)
{
	*other = NULL;
	for (int i = 0; i < r->refusals.count; i++)
		if (!r->refusals.list[i].of_syntax)
			return fail_with(r, &r->refusals.list[i]);
	for (int i = 0; i < r->barriers.count; i++) {
		const struct recipe_remark *m = &r->barriers.list[i];
		if (!searched || !m->of_checkpointing)
			return fail_with(r, m);
		*other = *other ? *other : m;
	}
	return STATUS_OK;
}

enum status recipe_plan(const struct recipe *r)
{
	const struct recipe_remark *other;
	return plan_but(r, false, &other);
}

enum status recipe_plan_searched(const struct recipe *r, const struct recipe_remark **other)
{
	return plan_but(r, true, other);
}
