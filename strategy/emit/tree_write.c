#include "strategy/emit/tree_write.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- making ---- */

static struct tree *section_at(struct tree_file *f, struct arena *a, struct tree *parent, const char *key,
                               size_t length)
{
	struct tree *t = (struct tree *)tree_child(parent, key, length);
	if (t)
		return t;
	t = tree_add(f, a, parent, arena_print(a, "%.*s", (int)length, key));
	t->kind = TREE_OBJECT;
	return t;
}

static enum tree_kind kind_of(const char *literal)
{
	return *literal == '"' ? TREE_TEXT : *literal == 't' || *literal == 'f' ? TREE_FLAG : TREE_NUMBER;
}

void tree_put(struct tree_file *f, struct arena *a, const char *path, const char *literal)
{
	if (!f->root) {
		f->root = tree_add(f, a, NULL, NULL);
		f->root->kind = TREE_OBJECT;
	}
	struct tree *at = f->root;
	for (size_t n; path[n = strcspn(path, ".")]; path += n + 1)
		at = section_at(f, a, at, path, n);
	at = tree_add(f, a, at, path);
	at->kind = kind_of(literal);
	at->text = at->kind == TREE_TEXT ? arena_print(a, "%.*s", (int)strlen(literal) - 2, literal + 1) : literal;
}

/* ---- writing ---- */

static void indent(int depth, FILE *out)
{
	fprintf(out, "%*s", 2 * depth, "");
}

static void json_value(const struct tree *t, int depth, FILE *out)
{
	if (t->kind != TREE_OBJECT) {
		fprintf(out, t->kind == TREE_TEXT ? "\"%s\"" : "%s", t->text);
		return;
	}
	fputs("{\n", out);
	for (const struct tree *at = t->first; at; at = at->next) {
		indent(depth + 1, out);
		fprintf(out, "\"%s\": ", at->key);
		json_value(at, depth + 1, out);
		fputs(at->next ? ",\n" : "\n", out);
	}
	indent(depth, out);
	fputc('}', out);
}

/* A plain word that YAML takes for something else. */
static bool is_ambiguous(const char *text)
{
	static const char *const words[] = {"no", "yes", "true", "false", "on", "off", "null", "n", "y", "~", ""};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return strspn(text, "0123456789.+-eE_") == strlen(text) || strpbrk(text, ":#{}[]&*!|>'\"%@` ");
}

static void yaml_section(const struct tree *t, int depth, FILE *out)
{
	for (const struct tree *at = t->first; at; at = at->next) {
		indent(depth, out);
		if (at->kind == TREE_OBJECT) {
			fprintf(out, "%s:\n", at->key);
			yaml_section(at, depth + 1, out);
		} else {
			bool quoted = at->kind == TREE_TEXT && is_ambiguous(at->text);
			fprintf(out, quoted ? "%s: '%s'\n" : "%s: %s\n", at->key, at->text);
		}
	}
}

/* path: of the section, "" at the top. */
static void toml_section(const struct tree *t, const char *path, FILE *out)
{
	for (const struct tree *at = t->first; at; at = at->next)
		if (at->kind != TREE_OBJECT)
			fprintf(out, at->kind == TREE_TEXT ? "%s = \"%s\"\n" : "%s = %s\n", at->key, at->text);
	for (const struct tree *at = t->first; at; at = at->next) {
		char inner[256];
		if (at->kind != TREE_OBJECT)
			continue;
		snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", at->key);
		fprintf(out, "%s[%s]\n", at == t->first && !*path ? "" : "\n", inner);
		toml_section(at, inner, out);
	}
}

void tree_write(const struct tree *root, enum tree_form form, FILE *out)
{
	if (form == FORM_YAML) {
		yaml_section(root, 0, out);
	} else if (form == FORM_TOML) {
		toml_section(root, "", out);
	} else {
		json_value(root, 0, out);
		fputc('\n', out);
	}
}
