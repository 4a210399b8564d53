/* The program that a file belongs to, and whether that program reads the file's syntax. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "strategy/recipe/reader.h"

/* ---- how it is written ---- */

static const char *const syntax_names[] = {"Hjson", "JSON", "YAML", "TOML"};

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && !strcmp(text + n - m, end);
}

/* The first line that is neither empty nor a comment. */
static const char *first_line(const char *p, const char *end)
{
	while (p < end && (isspace((unsigned char)*p) || *p == '#')) {
		const char *newline = *p == '#' ? memchr(p, '\n', (size_t)(end - p)) : p;
		p = newline ? newline + 1 : end;
	}
	return p;
}

static bool is_key_of(const char *key, enum recipe_reader reader)
{
	return table_key(recipe_tables[reader], key);
}

/* "key: value" is YAML, and Hjson without braces: by whose key it is. */
static enum tree_syntax syntax_of_key(const char *key, size_t length)
{
	char word[64];
	snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), key);
	return is_key_of(word, RECIPE_DEEPSPEED) && !is_key_of(word, RECIPE_TRAINER) ? SYNTAX_HJSON : SYNTAX_YAML;
}

/* A file whose name says nothing: "[section]" and "key = value" begin TOML, "---" and "key: value" YAML. All else is
 * Hjson. */
static enum tree_syntax guess_syntax(const char *text, size_t size)
{
	const char *end = text + size, *p = first_line(text, end), *word = p;
	if (end - p >= 3 && !strncmp(p, "---", 3))
		return SYNTAX_YAML;
	p += p < end && *p == '[';
	while (p < end && (isalnum((unsigned char)*p) || *p == '_' || *p == '-' || *p == '.'))
		p++;
	if (p < end && *word == '[')
		return *p == ']' && p > word + 1 && isalpha((unsigned char)word[1]) ? SYNTAX_TOML : SYNTAX_HJSON;
	if (p == word)
		return SYNTAX_HJSON;
	if (p < end && *p == ':')
		return syntax_of_key(word, (size_t)(p - word));
	while (p < end && *p == ' ')
		p++;
	return p < end && *p == '=' ? SYNTAX_TOML : SYNTAX_HJSON;
}

/* By the file's name, by the reader if one was asked for (Accelerate takes all but .json for YAML), or by what is in
 * it. */
static enum tree_syntax syntax_of(const char *where, enum recipe_reader asked, const char *text, size_t size)
{
	if (ends_in(where, ".yaml") || ends_in(where, ".yml"))
		return SYNTAX_YAML;
	if (asked == RECIPE_ACCELERATE && !ends_in(where, ".json"))
		return SYNTAX_YAML;
	if (ends_in(where, ".toml"))
		return SYNTAX_TOML;
	if (ends_in(where, ".json") || ends_in(where, ".hjson") || asked == RECIPE_DEEPSPEED)
		return SYNTAX_HJSON;
	return guess_syntax(text, size);
}

static bool says_syntax(const char *where)
{
	static const char *const ends[] = {".json", ".hjson", ".yaml", ".yml", ".toml"};
	bool says = false;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		says |= ends_in(where, ends[i]);
	return says;
}

enum status whose_read(struct arena *a, const char *text, size_t size, const char *where, enum recipe_reader asked,
                       struct tree_file *out)
{
	static enum status (*const read[])(struct arena * a, const char *text, size_t size, const char *where,
	                                   struct tree_file *out) = {
	        [SYNTAX_HJSON] = tree_read_hjson, [SYNTAX_YAML] = tree_read_yaml, [SYNTAX_TOML] = tree_read_toml};
	enum tree_syntax syntax = syntax_of(where, asked, text, size);
	if (first_line(text, text + size) == text + size)
		return status_fail(STATUS_INPUT, "%s:1:1: empty; a configuration has keys and values", where);
	enum status s = read[syntax](a, text, size, where, out);
	out->syntax = syntax;
	return s && !says_syntax(where) ? status_fail(s, "%s (read as %s: its name says no format)",
	                                              arena_copy(a, status_message()), syntax_names[syntax])
	                                : s;
}

/* The syntax in which its program reads a file of this name. Accelerate and Trainer's arguments go by its ending. */
static enum tree_syntax syntax_wanted(const struct recipe *r)
{
	bool yaml = r->file.syntax == SYNTAX_YAML, json = ends_in(r->file.where, ".json");
	switch (r->reader) {
	case RECIPE_DEEPSPEED:
		return SYNTAX_HJSON;
	case RECIPE_TRANSFORMERS:
		return SYNTAX_JSON;
	case RECIPE_TORCHTITAN:
		return SYNTAX_TOML;
	case RECIPE_TRAINER:
		return yaml ? SYNTAX_YAML : SYNTAX_JSON;
	default:
		return json ? SYNTAX_JSON : SYNTAX_YAML;
	}
}

/* JSON is Hjson, and YAML too. */
void whose_judge_syntax(struct recipe *r)
{
	const struct tree_file *f = &r->file;
	const struct tree at = {.line = f->not_json_line, .column = f->not_json_column};
	enum tree_syntax is = f->syntax, wanted = syntax_wanted(r);
	const char *judge = recipe_judge(r->reader);
	if (is == wanted || (is == SYNTAX_HJSON && wanted == SYNTAX_YAML) ||
	    (is == SYNTAX_HJSON && wanted == SYNTAX_JSON && !f->not_json))
		return;
	if (is == SYNTAX_HJSON && wanted == SYNTAX_JSON)
		recipe_refuse(r, judge, &at, "%s: this is Hjson, and %s reads JSON", f->not_json, judge);
	else
		recipe_refuse(r, judge, f->not_json ? &at : NULL, "this is %s, and %s reads %s",
		              is == SYNTAX_HJSON && !f->not_json ? "JSON" : syntax_names[is], judge,
		              syntax_names[wanted]);
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
	enum tree_syntax syntax = r->file.syntax;
	if (syntax == SYNTAX_TOML) {
		r->reader = RECIPE_TORCHTITAN;
		r->why = "it is TOML";
	} else if (type) {
		r->reader = RECIPE_ACCELERATE;
		r->why = "it has a distributed_type";
	} else if (argument) {
		r->reader = RECIPE_TRAINER;
		r->why = arena_print(&r->arena, "line %d says %s, an argument of Trainer's", argument->key_line,
		                     argument->key);
	} else if (syntax == SYNTAX_YAML) {
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
