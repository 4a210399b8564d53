/* TRANSFORMER_BASED_WRAP: each module of the named classes is a unit. A plan has a unit for each block, and one with
 * embedding, final norm and head; other classes are judged by how transformers and PyTorch name theirs. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/near.h"
#include "strategy/recipe/reader.h"

/* transformers' classes of blocks, by the beginning of a model's specification. A folder's llama may be any that is
 * read as one. */
static const struct {
	const char *model, *class;
} blocks[] = {{"llama", "LlamaDecoderLayer"},
              {"llama:", "MistralDecoderLayer"},
              {"llama:", "Qwen2DecoderLayer"},
              {"llama:", "Qwen3DecoderLayer"},
              {"mistral", "MistralDecoderLayer"},
              {"qwen2", "Qwen2DecoderLayer"},
              {"qwen3", "Qwen3DecoderLayer"},
              {"gpt", "GPT2Block"},
              {"mpt", "MptBlock"},
              {"opt", "OPTDecoderLayer"}};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Bars a class that the model cannot have: its program looks for it in the model, and finds none. What is nobody's
 * and near nothing may be a class of the user's own. */
static void judge_class(struct recipe *r, const char *path, const struct tree *v, const char *class)
{
	const char *model = r->question.model ? r->question.model : "", *other = NULL;
	struct near near = {.typed = class}, any = {.typed = class};
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		bool own = !*model || begins(model, blocks[i].model);
		if (own && !strcmp(class, blocks[i].class))
			return;
		if (!strcmp(class, blocks[i].class))
			other = class;
		near_consider(own ? &near : &any, blocks[i].class);
	}
	if (!near.known[0])
		return; /* of this model no class is known */
	if (other)
		recipe_bar(r, v, "%s: %s has no %s; its blocks are %s; %s finds that out when it wraps them", path,
		           model, class, near.known, recipe_judge(r->reader));
	else if (near.name || any.name)
		recipe_bar(r, v, "%s: no model has a %s%s; %s finds that out when it wraps them", path, class,
		           near_words(near.name ? &near : &any), recipe_judge(r->reader));
	else
		recipe_note(r, v, "%s: %s is taken for the class of a block", path, class);
}

enum wrapped { WRAPPED_BLOCK, WRAPPED_TABLE, WRAPPED_PART };

/* "LlamaDecoderLayer", "GPT2Block": what ends in none of these is taken for a block. */
static enum wrapped kind_of(const char *class)
{
	static const struct {
		const char *ending;
		enum wrapped kind;
	} endings[] = {{"Embedding", WRAPPED_TABLE}, {"Embeddings", WRAPPED_TABLE}, {"MLP", WRAPPED_PART},
	               {"Attention", WRAPPED_PART},  {"Linear", WRAPPED_PART},      {"Norm", WRAPPED_PART},
	               {"Conv1D", WRAPPED_PART},     {"FeedForward", WRAPPED_PART}};
	size_t n = strlen(class);
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t e = strlen(endings[i].ending);
		if (n >= e && !strcmp(class + n - e, endings[i].ending))
			return endings[i].kind;
	}
	return WRAPPED_BLOCK;
}

/* Class i of "A, B" or of a list. */
static bool class_at(const struct tree *v, int i, char *out, size_t size)
{
	const struct tree *one = v->kind == TREE_LIST ? v->first : NULL;
	const char *p = v->kind == TREE_TEXT ? v->text : "";
	for (int k = i; one && k; k--)
		one = one->next;
	if (one)
		p = one->kind == TREE_TEXT ? one->text : "";
	for (int k = v->kind == TREE_TEXT ? i : 0; k && *p; k--) {
		p += strcspn(p, ",");
		p += *p == ',';
	}
	p += strspn(p, " ");
	snprintf(out, size, "%.*s", (int)strcspn(p, ", "), p);
	return *out;
}

/* True if it is the block alone. */
bool wrapped_by_class(struct recipe *r, const char *path)
{
	const struct tree *v = recipe_find(r, path);
	bool has[WRAPPED_PART + 1] = {false};
	char class[64], part[64] = "";
	for (int i = 0; v && class_at(v, i, class, sizeof class); i++) {
		enum wrapped kind = kind_of(class);
		has[kind] = true;
		if (kind == WRAPPED_BLOCK)
			judge_class(r, path, v, class);
		if (kind == WRAPPED_PART)
			snprintf(part, sizeof part, "%s", class);
	}
	if (has[WRAPPED_PART] || (has[WRAPPED_TABLE] && !has[WRAPPED_BLOCK])) {
		recipe_bar(r, v,
		           "%s: a unit is %s%s, which cannot be said here; a block can, and the whole model (NO_WRAP)",
		           path,
		           *part ? "a part of a block or the head, " : "the embedding alone, and another all blocks",
		           part);
		return false;
	}
	recipe_say(r, v, has[WRAPPED_TABLE] ? "as here but for the embedding" : "as here: a block is a unit");
	if (has[WRAPPED_TABLE])
		recipe_note(r, v, "%s: the embedding is a unit of its own there, and here it is one with the head",
		            path);
	return true;
}
