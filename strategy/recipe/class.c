/* Chooses the class of stacks for a recipe where the user names none. */
#include <string.h>

#include "strategy/recipe/reader.h"

/* The first row that holds gives the class: the file's key is `text`, or with no text it is there and not "no". */
static const struct {
	enum recipe_reader reader;
	const char *key, *text, *class;
} rows[] = {
        {RECIPE_DEEPSPEED, NULL, NULL, "deepspeed"},
        {RECIPE_TRANSFORMERS, NULL, NULL, "deepspeed"},
        {RECIPE_ACCELERATE, "distributed_type", "DEEPSPEED", "deepspeed"},
        {RECIPE_ACCELERATE, "dynamo_backend", NULL, "pytorch-compiled"},
        {RECIPE_ACCELERATE, "dynamo_config.dynamo_backend", NULL, "pytorch-compiled"},
        {RECIPE_TRAINER, "deepspeed", NULL, "deepspeed"},
        {RECIPE_TRAINER, "torch_compile", NULL, "pytorch-compiled"},
        {RECIPE_TRAINER, "torch_compile_backend", NULL, "pytorch-compiled"},
        {RECIPE_TRAINER, "torch_compile_mode", NULL, "pytorch-compiled"},
        {RECIPE_TORCHTITAN, "compile.enable", NULL, "pytorch-compiled"},
};

static const char otherwise[] = "pytorch-eager";

static bool says_yes(const struct tree *v)
{
	bool on;
	if (tree_flag(v, &on))
		return on;
	return v->kind != TREE_TEXT || *v->text;
}

static bool holds(const struct recipe *r, int i)
{
	const struct tree *v = rows[i].key ? recipe_find(r, rows[i].key) : NULL;
	if (rows[i].reader != r->reader || !rows[i].key || !v)
		return rows[i].reader == r->reader && !rows[i].key;
	return rows[i].text ? v->kind == TREE_TEXT && !strcmp(v->text, rows[i].text) : says_yes(v);
}

void class_say(struct recipe *r)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct tree *v = rows[i].key ? recipe_find(r, rows[i].key) : NULL;
		if (rows[i].reader == r->reader && v && !strcmp(rows[i].class, "pytorch-compiled"))
			recipe_say(r, v, "class %s", says_yes(v) ? rows[i].class : otherwise);
	}
}

const char *recipe_class(const struct recipe *r)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (holds(r, (int)i))
			return rows[i].class;
	return otherwise;
}
