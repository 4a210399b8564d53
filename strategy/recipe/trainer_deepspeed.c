/* A configuration of DeepSpeed's that another one names: Trainer's argument `deepspeed`, a file or a section, which it
 * fills in with its arguments and holds to them; and deepspeed_config_file of Accelerate's. It is read as one, and what
 * is said of it is said of this file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy/base/file.h"
#include "strategy/recipe/reader.h"
#include "strategy/recipe/trainer.h"

/* ---- its text ---- */

/* Looks in the current folder, as Trainer does; else beside the file that names it. */
static const char *find_file(struct recipe *r, const char *path)
{
	const char *slash = strrchr(r->file.where, '/');
	if (*path == '/' || !access(path, R_OK) || !slash)
		return path;
	return arena_print(&r->arena, "%.*s%s", (int)(slash + 1 - r->file.where), r->file.where, path);
}

/* Reads it into a tree. What is none, they refuse too. */
static bool read_file(struct recipe *r, struct recipe *inner, const struct tree *at, struct tree_file *f)
{
	char *text;
	size_t size;
	const struct recipe_question *q = &r->question;
	const char *path = find_file(r, at->text);
	if (q->beside && !strcmp(q->beside, at->text))
		return !whose_read(&inner->arena, q->beside_text, strlen(q->beside_text), q->beside, RECIPE_GUESSED, f);
	enum status s = file_read(path, at->key, TREE_BYTES, &text, &size);
	if (s) {
		recipe_refuse(r, recipe_judge(r->reader), at, "%s", status_message());
		return false;
	}
	s = whose_read(&inner->arena, text, size, path, RECIPE_GUESSED, f);
	free(text);
	if (s)
		recipe_refuse(r, recipe_judge(r->reader), at, "%s: %s", at->key, status_message());
	return !s;
}

static void copy_below(struct tree_file *f, struct arena *a, struct tree *to, const struct tree *from)
{
	for (const struct tree *t = from->first; t; t = t->next) {
		struct tree *one = tree_add(f, a, to, t->key), links = *one;
		*one = *t;
		one->parent = links.parent;
		one->next = links.next;
		one->first = one->last = NULL;
		copy_below(f, a, one, t);
	}
}

/* The same section as a file of its own. */
static void read_section(struct recipe *r, struct recipe *inner, const struct tree *section, struct tree_file *f)
{
	*f = (struct tree_file){.where = r->file.where};
	f->root = tree_add(f, &inner->arena, NULL, NULL);
	f->root->kind = TREE_OBJECT;
	f->root->line = section->line;
	f->root->column = section->column;
	copy_below(f, &inner->arena, f->root, section);
}

/* ---- what is said of it ---- */

static void take_lines(struct recipe *r, const struct recipe *inner, const struct tree *at)
{
	for (int i = 0; i < inner->line_count; i++) {
		r->lines = arena_grow(&r->arena, r->lines, r->line_count, &r->line_capacity, sizeof *r->lines);
		struct recipe_line *to = &r->lines[r->line_count++];
		*to = inner->lines[i];
		struct tree *value = arena_alloc(&r->arena, sizeof *value);
		*value = *to->value;
		value->text = value->text ? arena_copy(&r->arena, value->text) : NULL;
		value->first = value->first ? value : NULL; /* shown as […] or {…} */
		to->value = value;
		to->path = arena_print(&r->arena, "%s.%s", at->key, to->path);
		to->here = arena_copy(&r->arena, to->here);
		to->there = arena_copy(&r->arena, to->there);
	}
}

static void take_remarks(struct recipe *r, const struct recipe *inner, const struct recipe_remarks *from,
                         void (*say)(struct recipe *r, const struct tree *at, const struct recipe_remark *m,
                                     const char *text),
                         const struct tree *at)
{
	for (int i = 0; i < from->count; i++) {
		const struct recipe_remark *m = &from->list[i];
		const struct tree place = {.line = m->line, .column = m->column};
		bool same = inner->file.where == r->file.where;
		say(r, same && m->line ? &place : at, m,
		    same      ? arena_print(&r->arena, "%s: %s", at->key, m->text)
		    : m->line ? arena_print(&r->arena, "%s:%d:%d: %s", inner->file.where, m->line, m->column, m->text)
		              : arena_print(&r->arena, "%s: %s", inner->file.where, m->text));
	}
}

static void say_refusal(struct recipe *r, const struct tree *at, const struct recipe_remark *m, const char *text)
{
	recipe_refuse(r, recipe_judge(r->reader), at, "%s", text);
	r->refusals.list[r->refusals.count - 1].of_syntax = m->of_syntax;
}

static void say_barrier(struct recipe *r, const struct tree *at, const struct recipe_remark *m, const char *text)
{
	(void)m;
	recipe_bar(r, at, "%s", text);
}

static void say_note(struct recipe *r, const struct tree *at, const struct recipe_remark *m, const char *text)
{
	(void)m;
	recipe_note(r, at, "%s", text);
}

/* ---- settings ---- */

static struct recipe_pair *own_pair(struct recipe *r, enum setting i)
{
	for (int k = 0; k < r->pair_count; k++)
		if (r->pairs[k].setting == i)
			return &r->pairs[k];
	return NULL;
}

/* The batch that it says, at the place that names it. */
static void take_batch(struct recipe *r, const struct tree *batch, const struct tree *at)
{
	if (!batch)
		return;
	struct tree *own = arena_alloc(&r->arena, sizeof *own);
	*own = *batch;
	own->text = batch->text ? arena_copy(&r->arena, batch->text) : NULL;
	own->line = at->line;
	own->column = at->column;
	r->batch = own;
}

/* DeepSpeed's own value counts; where it agrees with an argument, the argument says it. */
static void take_pairs(struct recipe *r, const struct recipe *inner, const struct tree *at)
{
	for (int i = 0; i < inner->pair_count; i++) {
		const struct recipe_pair *p = &inner->pairs[i];
		struct recipe_pair *own = own_pair(r, p->setting);
		if (own)
			own->text = arena_copy(&r->arena, p->text);
		else
			recipe_set(r, p->setting, p->from && !tree_is_auto(p->from) ? at : NULL, "%s", p->text);
	}
	take_batch(r, inner->batch, at);
	if (inner->ranks_from)
		r->ranks_from = arena_copy(&r->arena, inner->ranks_from);
}

/* Numbers of the file that an argument says too, besides those that settings say. */
static void judge_matches(struct recipe *r, struct recipe *inner)
{
	static const struct {
		const char *path, *argument;
		double otherwise;
	} pairs[] = {{"optimizer.params.eps", "adam_epsilon", 1e-8},
	             {"scheduler.params.warmup_max_lr", "learning_rate", 5e-5},
	             {"scheduler.params.total_num_steps", "max_steps", 0},
	             {"scheduler.params.warmup_num_steps", "warmup_steps", 0},
	             {"optimizer.params.betas", "adam_beta1", 0.9},
	             {"optimizer.params.betas", "adam_beta2", 0.999}};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		const struct tree *v = recipe_find(inner, pairs[i].path), *own = recipe_find(r, pairs[i].argument);
		double said, given = pairs[i].otherwise;
		bool beta = strstr(pairs[i].path, "betas");
		if (v && v->kind == TREE_LIST && v->first && beta)
			v = pairs[i].argument[9] == '2' ? v->last : v->first;
		if (!v || !tree_real(v, &said) || (own && !tree_real(own, &given)))
			continue;
		if (strstr(pairs[i].path, "warmup_num") && given < 1)
			given = given > 0 ? said : 1;
		if (said != given && (given > 0 || beta || !strstr(pairs[i].path, "total")))
			recipe_refuse(inner, "Trainer", v, "%s %g disagrees with its argument %s %g", pairs[i].path,
			              said, pairs[i].argument, given);
	}
}

static struct recipe_question question_of(struct recipe *r)
{
	struct recipe_question q = r->question;
	q.reader = RECIPE_TRANSFORMERS;
	for (int i = 0; i < r->pair_count; i++)
		q.given[r->pairs[i].setting] = r->pairs[i].text;
	return q;
}

/* False: it cannot be read, which is said. */
static bool open_inner(struct recipe *r, struct recipe *inner, const struct tree *at, struct tree_file *f)
{
	if (at->kind == TREE_OBJECT && r->reader == RECIPE_TRAINER)
		read_section(r, inner, at, f);
	else if (at->kind == TREE_TEXT)
		return read_file(r, inner, at, f);
	else
		recipe_bar(r, at, "%s: %s is neither a file nor a section", at->key, tree_shown(&r->arena, at));
	return at->kind == TREE_OBJECT && r->reader == RECIPE_TRAINER;
}

/* Accelerate's batch is the data loader's, and of no file. */
static void must_say_batch(struct recipe *r, const struct recipe *inner, const struct tree *at)
{
	const struct tree *micro = recipe_find(inner, "train_micro_batch_size_per_gpu");
	if (r->reader == RECIPE_ACCELERATE && tree_is_auto(micro) && !recipe_given(r, SETTING_MICRO_BATCH))
		recipe_bar(r, at,
		           "%s:%d:%d: train_micro_batch_size_per_gpu \"auto\" is the data loader's: give {micro_batch}",
		           inner->file.where, micro->line, micro->column);
}

enum status recipe_follow(struct recipe *r, const struct tree *at, const struct recipe_question *q)
{
	struct recipe inner = {.question = *q};
	struct tree_file f;
	if (!open_inner(r, &inner, at, &f)) {
		recipe_release(&inner);
		return STATUS_OK;
	}
	TRY(recipe_judge_tree(&inner, &f));
	if (r->reader == RECIPE_TRAINER)
		judge_matches(r, &inner);
	must_say_batch(r, &inner, at);
	take_lines(r, &inner, at);
	take_remarks(r, &inner, &inner.refusals, say_refusal, at);
	take_remarks(r, &inner, &inner.barriers, say_barrier, at);
	take_remarks(r, &inner, &inner.notes, say_note, at);
	take_pairs(r, &inner, at);
	recipe_release(&inner);
	return STATUS_OK;
}

enum status trainer_follow(struct recipe *r)
{
	const struct recipe_question q = question_of(r);
	return recipe_follow(r, recipe_find(r, "deepspeed"), &q);
}
