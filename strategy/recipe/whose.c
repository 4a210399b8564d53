/* The program that a file belongs to, and whether that program reads the file's syntax. */
#include <string.h>

#include "strategy/recipe/reader.h"

/* ---- how it is written ---- */

enum form { FORM_HJSON, FORM_JSON, FORM_YAML, FORM_TOML };

static const char *const form_names[] = {"Hjson", "JSON", "YAML", "TOML"};

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && !strcmp(text + n - m, end);
}

/* The syntax by the file's name, and by the reader if one was asked for: Accelerate takes all but .json for YAML. */
static enum form form_of(const char *where, enum recipe_reader asked)
{
	if (ends_in(where, ".yaml") || ends_in(where, ".yml"))
		return FORM_YAML;
	if (asked == RECIPE_ACCELERATE && !ends_in(where, ".json"))
		return FORM_YAML;
	return ends_in(where, ".toml") ? FORM_TOML : FORM_HJSON;
}

enum status whose_read(struct arena *a, const char *text, size_t size, const char *where, enum recipe_reader asked,
                       struct tree_file *out)
{
	enum form form = form_of(where, asked);
	return (form == FORM_YAML   ? tree_read_yaml
	        : form == FORM_TOML ? tree_read_toml
	                            : tree_read_hjson)(a, text, size, where, out);
}

/* The syntax in which its program reads a file of this name. Accelerate and Trainer's arguments go by its ending. */
static enum form form_wanted(const struct recipe *r)
{
	bool yaml = form_of(r->file.where, r->question.reader) == FORM_YAML, json = ends_in(r->file.where, ".json");
	switch (r->reader) {
	case RECIPE_DEEPSPEED:
		return FORM_HJSON;
	case RECIPE_TRANSFORMERS:
		return FORM_JSON;
	case RECIPE_TORCHTITAN:
		return FORM_TOML;
	case RECIPE_TRAINER:
		return yaml ? FORM_YAML : FORM_JSON;
	default:
		return json ? FORM_JSON : FORM_YAML;
	}
}

/* JSON is Hjson, and YAML too. */
void whose_judge_syntax(struct recipe *r)
{
	const struct tree_file *f = &r->file;
	const struct tree at = {.line = f->not_json_line, .column = f->not_json_column};
	enum form is = form_of(f->where, r->question.reader), wanted = form_wanted(r);
	const char *judge = recipe_judge(r->reader);
	if (is == wanted || (is == FORM_HJSON && wanted == FORM_YAML) ||
	    (is == FORM_HJSON && wanted == FORM_JSON && !f->not_json))
		return;
	if (is == FORM_HJSON && wanted == FORM_JSON)
		recipe_refuse(r, judge, &at, "%s: this is Hjson, and %s reads JSON", f->not_json, judge);
	else
		recipe_refuse(r, judge, f->not_json ? &at : NULL, "this is %s, and %s reads %s",
		              is == FORM_HJSON && !f->not_json ? "JSON" : form_names[is], judge, form_names[wanted]);
	r->refusals.list[0].of_syntax = true;
}

/* ---- whose it is ---- */

static const struct tree *first_auto(const struct tree *t)
{
	const struct tree *found = tree_is_auto(t) ? t : NULL;
	for (const struct tree *child = t->first; child && !found; child = child->next)
		found = first_auto(child);
	return found;
}

/* Without "auto" the file is DeepSpeed's. */
static void guess_by_auto(struct recipe *r)
{
	const struct tree *automatic = first_auto(r->file.root);
	r->reader = automatic ? RECIPE_TRANSFORMERS : RECIPE_DEEPSPEED;
	r->why = automatic ? arena_print(&r->arena,
	                                 "line %d says \"auto\", which Hugging Face's Trainer and Accelerate fill in",
	                                 automatic->line)
	                   : "nothing in it is \"auto\"";
}

static bool is_key_of(const char *key, enum recipe_reader reader)
{
	return table_key(recipe_tables[reader], key);
}

/* The first key that Trainer's arguments have alone; NULL: there are no more of them than of DeepSpeed's alone. */
static const struct tree *first_argument(const struct recipe *r)
{
	const struct tree *first = NULL;
	int theirs = 0;
	for (const struct tree *t = r->file.root->first; t; t = t->next) {
		bool argument = is_key_of(t->key, RECIPE_TRAINER), other = is_key_of(t->key, RECIPE_DEEPSPEED);
		theirs += (argument && !other) - (other && !argument);
		if (!first && argument && !other && !is_key_of(t->key, RECIPE_ACCELERATE))
			first = t;
	}
	return theirs > 0 ? first : NULL;
}

static void guess(struct recipe *r)
{
	const struct tree *argument = first_argument(r), *type = tree_find(r->file.root, "distributed_type");
	enum form form = form_of(r->file.where, r->question.reader);
	if (form == FORM_TOML) {
		r->reader = RECIPE_TORCHTITAN;
		r->why = "it is TOML";
	} else if (type) {
		r->reader = RECIPE_ACCELERATE;
		r->why = "it has a distributed_type";
	} else if (argument) {
		r->reader = RECIPE_TRAINER;
		r->why = arena_print(&r->arena, "line %d says %s, an argument of Trainer's", argument->key_line,
		                     argument->key);
	} else if (form == FORM_YAML) {
		r->reader = RECIPE_ACCELERATE;
		r->why = "it is YAML";
	} else {
		guess_by_auto(r);
	}
}

void whose_choose(struct recipe *r)
{
	r->reader = r->question.reader;
	if (r->reader == RECIPE_GUESSED)
		guess(r);
	r->table = recipe_tables[r->reader];
}
