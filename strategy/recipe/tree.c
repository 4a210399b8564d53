#include "strategy/recipe/tree.h"

#include <string.h>

struct tree *tree_add(struct tree_file *f, struct arena *a, struct tree *parent, const char *key)
{
	if (f->values == TREE_VALUES)
		return NULL;
	struct tree *t = arena_alloc(a, sizeof *t);
	f->values++;
	t->key = key;
	t->parent = parent;
	if (!parent)
		return t;
	if (parent->last)
		parent->last->next = t;
	else
		parent->first = t;
	return parent->last = t;
}

const struct tree *tree_child(const struct tree *object, const char *key, size_t length)
{
	const struct tree *found = NULL;
	if (!object || object->kind != TREE_OBJECT)
		return NULL;
	for (const struct tree *t = object->first; t; t = t->next)
		if (strlen(t->key) == length && !memcmp(t->key, key, length))
			found = t;
	return found;
}

const struct tree *tree_find(const struct tree *from, const char *path)
{
	while (from && *path) {
		size_t length = strcspn(path, ".");
		from = tree_child(from, path, length);
		path += length + (path[length] == '.');
	}
	return from;
}

bool tree_repeated(const struct tree *t)
{
	return t->key && tree_child(t->parent, t->key, strlen(t->key)) != t;
}

static int place_in_list(const struct tree *t)
{
	int n = 0;
	for (const struct tree *at = t->parent->first; at != t; at = at->next)
		n++;
	return n;
}

/* Nobody would see the blank. */
static bool has_blank_end(const char *key)
{
	size_t n = strlen(key);
	return !n || strchr(" \t", key[0]) || strchr(" \t", key[n - 1]);
}

const char *tree_path(struct arena *a, const struct tree *t)
{
	if (!t->parent)
		return "";
	const char *before = tree_path(a, t->parent);
	if (!t->key)
		return arena_print(a, "%s[%d]", before, place_in_list(t));
	const char *quote = has_blank_end(t->key) ? "\"" : "";
	return arena_print(a, "%s%s%s%s%s", before, *before ? "." : "", quote, t->key, quote);
}

enum { SHOWN = 40 };

/* As many of its first elements as there is room for. */
static const char *list_shown(struct arena *a, const struct tree *list)
{
	const char *shown = "[";
	for (const struct tree *t = list->first; t; t = t->next) {
		const char *between = t == list->first ? "" : ", ", *next = tree_shown(a, t);
		bool fits = strlen(shown) + strlen(next) < SHOWN;
		shown = arena_print(a, "%s%s%s", shown, between, fits ? next : "…");
		if (!fits)
			break;
	}
	return arena_print(a, "%s]", shown);
}

const char *tree_shown(struct arena *a, const struct tree *t)
{
	size_t length = t->text ? strlen(t->text) : 0, most = length;
	switch (t->kind) {
	case TREE_NULL:
		return "null";
	case TREE_LIST:
		return list_shown(a, t);
	case TREE_OBJECT:
		return t->first ? "{…}" : "{}";
	default:
		break;
	}
	if (length > SHOWN)
		for (most = SHOWN; (t->text[most] & 0xc0) == 0x80;)
			most--;
	const char *quote = t->kind == TREE_TEXT ? "\"" : "";
	char *shown = arena_print(a, "%s%.*s%s%s", quote, (int)most, t->text, most < length ? "…" : "", quote);
	for (char *p = shown; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return shown;
}
