/* Queries and remarks on a recipe, for judges and takers of settings. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/base/number.h"
#include "strategy/recipe/reader.h"
#include "strategy/settings/software.h"

static const struct {
	const char *name, *judge, *version;
} readers[] = {
#define X(constant, name, judge, version) {name, judge, version},
        RECIPE_READERS(X)
#undef X
};

const char *recipe_reader_name(enum recipe_reader r)
{
	return readers[r].name;
}

const char *recipe_judge(enum recipe_reader r)
{
	return readers[r].judge;
}

const char *recipe_version(enum recipe_reader r)
{
	return readers[r].version;
}

const char *recipe_state_name(enum recipe_state s)
{
	static const char *const names[] = {
	        [STATE_TAKEN] = "taken",     [STATE_AS_HERE] = "as here", [STATE_NOTED] = "not in the figures",
	        [STATE_NOTHING] = "nothing", [STATE_IGNORED] = "ignored", [STATE_UNKNOWN] = "unknown",
	        [STATE_REFUSED] = "refused", [STATE_WRONG] = "wrong"};
	return names[s];
}

/* ---- remarks ---- */

static void remark(struct recipe *r, struct recipe_remarks *to, const char *by, const struct tree *from,
                   const char *format, va_list args)
{
	char text[600];
	status_format(text, sizeof text, format, args);
	to->list = arena_grow(&r->arena, to->list, to->count, &to->capacity, sizeof *to->list);
	to->list[to->count++] = (struct recipe_remark){.by = by,
	                                               .text = arena_copy(&r->arena, text),
	                                               .line = from ? from->line : 0,
	                                               .column = from ? from->column : 0};
}

void recipe_refuse(struct recipe *r, const char *by, const struct tree *from, const char *format, ...)
{
	WITH_ARGS(format, remark(r, &r->refusals, by, from, format, args));
}

void recipe_note(struct recipe *r, const struct tree *from, const char *format, ...)
{
	WITH_ARGS(format, remark(r, &r->notes, NULL, from, format, args));
}

/* ---- lines ---- */

static struct recipe_line *line_of(const struct recipe *r, const struct tree *from)
{
	for (int i = 0; from && i < r->line_count; i++)
		if (r->lines[i].value == from)
			return &r->lines[i];
	return NULL;
}

/* A line that says nothing else says that it was refused. */
static void refuse_line(struct recipe_line *l)
{
	if (l && l->state == STATE_TAKEN && !*l->here) {
		l->state = STATE_REFUSED;
		l->refused_alone = true;
		l->here = recipe_state_name(STATE_REFUSED);
	}
}

void recipe_bar(struct recipe *r, const struct tree *from, const char *format, ...)
{
	WITH_ARGS(format, remark(r, &r->barriers, NULL, from, format, args));
	refuse_line(line_of(r, from));
}

bool recipe_is_said(const struct recipe *r, const struct tree *from)
{
	const struct recipe_line *l = line_of(r, from);
	return l && *l->here;
}

bool recipe_is_wrong(const struct recipe *r, const struct tree *from)
{
	const struct recipe_line *l = line_of(r, from);
	return l && l->state == STATE_WRONG;
}

static void say(struct recipe *r, const struct tree *from, const char *format, va_list args)
{
	char text[300];
	struct recipe_line *l = line_of(r, from);
	status_format(text, sizeof text, format, args);
	if (l && l->refused_alone) { /* it is said more exactly */
		l->state = STATE_TAKEN;
		l->refused_alone = false;
		l->here = "";
	}
	if (l && l->state != STATE_WRONG && strcmp(l->here, text) != 0)
		l->here = *l->here ? arena_print(&r->arena, "%s, %s", l->here, text) : arena_copy(&r->arena, text);
}

void recipe_say(struct recipe *r, const struct tree *from, const char *format, ...)
{
	WITH_ARGS(format, say(r, from, format, args));
}

const char *recipe_option(struct recipe *r, enum setting i)
{
	return arena_copy(&r->arena, status_words(arena_print(&r->arena, "{%s}", setting_rows[i].name)));
}

void recipe_set(struct recipe *r, enum setting i, const struct tree *from, const char *format, ...)
{
	char text[300];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	r->pairs = arena_grow(&r->arena, r->pairs, r->pair_count, &r->pair_capacity, sizeof *r->pairs);
	r->pairs[r->pair_count++] =
	        (struct recipe_pair){.setting = i, .text = arena_copy(&r->arena, text), .from = from};
	recipe_say(r, from, "%s %s", recipe_option(r, i), text);
}

void recipe_set_real(struct recipe *r, enum setting i, const struct tree *from, double value)
{
	char text[NUMBER_REAL];
	number_exact_real(text, value);
	recipe_set(r, i, from, "%s", text);
}

void recipe_switch(struct recipe *r, const struct tree *from, int which, const char *word)
{
	const struct software_row *row = &software_rows[which];
	const char *given = recipe_given(r, SETTING_AS), *name = given ? given : software_name(SOFTWARE_OF_SHARDLAB);
	struct software s;
	for (int i = 0; i < r->pair_count; i++)
		if (r->pairs[i].setting == SETTING_AS)
			name = r->pairs[i].text; /* with the switches that were set before */
	if (software_parse(name, &s) || s.does[which] == word_find(row->words, word))
		recipe_say(r, from, "as {as} %s", name);
	else if (strstr(name, arena_print(&r->arena, ":%s=", row->key)))
		recipe_say(r, from, "{as} %s stands for it", name);
	else
		recipe_set(r, SETTING_AS, from, "%s:%s=%s", name, row->key, word);
}

/* The copies that autocast keeps of the weights are our parameters, and its parameters our master weights. */
void recipe_autocast(struct recipe *r, const struct tree *from, const char *what, enum type type)
{
	recipe_switch(r, from, SOFTWARE_GRADIENTS, "fp32");
	recipe_note(r, from,
	            "%s is autocast there: parameters and gradients are fp32, and gradients travel so, as here; its %s "
	            "copies of the weights come and go, and here they stay, beside fp32 master weights",
	            what, type_name(type));
}

/* The last counts. */
const char *recipe_pair_find(const struct recipe *r, enum setting i)
{
	for (int k = r->pair_count - 1; k >= 0; k--)
		if (r->pairs[k].setting == i)
			return r->pairs[k].text;
	return NULL;
}

/* ---- values ---- */

const char *tree_near(struct arena *a, const char *words, const struct tree *v)
{
	char near[WORD_NEAR] = "";
	if (v->kind == TREE_TEXT && isalpha((unsigned char)*words) && isalpha((unsigned char)*v->text))
		word_near(words, v->text, near);
	return arena_copy(a, near);
}

bool recipe_is_default(const struct recipe *r, const char *path, const struct tree *v)
{
	return v->kind == TREE_NULL ||
	       (r->table->auto_is_default && tree_is_auto(v) && !strcmp(table_section(r->table, path), "strict"));
}

const struct tree *recipe_spelled(const struct recipe *r, const char *path)
{
	const struct tree *v = tree_find(r->file.root, path);
	for (int i = 0; !v && i < r->table->alias_count; i++) {
		const struct recipe_alias *a = &r->table->aliases[i];
		size_t n = strlen(a->to);
		char other[256];
		if (strncmp(path, a->to, n) != 0 || (path[n] && path[n] != '.'))
			continue;
		snprintf(other, sizeof other, "%s%s", a->path, path + n);
		v = tree_find(r->file.root, other);
	}
	return v;
}

const struct tree *recipe_find(const struct recipe *r, const char *path)
{
	const struct tree *v = recipe_spelled(r, path);
	return v && v->kind != TREE_NULL ? v : NULL;
}

int64_t recipe_whole(const struct recipe *r, const char *path, int64_t otherwise)
{
	const struct tree *v = recipe_find(r, path);
	int64_t n;
	return v && !recipe_is_default(r, path, v) && !recipe_is_wrong(r, v) && tree_whole(v, &n) ? n : otherwise;
}

void recipe_take_seed(struct recipe *r, const char *path)
{
	const struct tree *v = recipe_find(r, path);
	int64_t n = recipe_whole(r, path, -1);
	if (n >= 0)
		recipe_set(r, SETTING_SEED, v, "%" PRId64, n);
	else
		recipe_say(r, v, "nothing: seeds are at least 0 here");
}

void recipe_take_decay(struct recipe *r, const struct tree *from, double value)
{
	const char *optimizer = recipe_pair_find(r, SETTING_OPTIMIZER);
	bool has = !optimizer || strcmp(optimizer, "sgd") != 0;
	recipe_set_real(r, SETTING_WEIGHT_DECAY, has ? from : NULL, has ? value : 0);
	if (has)
		return;
	recipe_say(r, from, "nothing: {optimizer} sgd has no weight decay here");
	if (value != 0)
		recipe_note(r, from,
		            "SGD's weight decay of %g is a part of its gradients there, and here sgd has none: memory, "
		            "traffic and time are the same; `train` makes other weights, and {emit} writes none",
		            value);
}

bool recipe_flag(const struct recipe *r, const char *path, bool otherwise)
{
	const struct tree *v = recipe_find(r, path);
	bool flag;
	return v && !recipe_is_default(r, path, v) && tree_flag(v, &flag) ? flag : otherwise;
}

int64_t recipe_stage(const struct recipe *r)
{
	/* zero_optimization: true is the oldest form, of stage 1. */
	const struct tree *v = recipe_find(r, "zero_optimization.stage");
	int64_t n;
	bool said = v && !recipe_is_default(r, "zero_optimization.stage", v) && tree_whole(v, &n);
	return recipe_flag(r, "zero_optimization", false) ? 1 : said ? n : 0; /* also one that there is not */
}

const char *recipe_given(const struct recipe *r, enum setting i)
{
	return r->question.given[i];
}
