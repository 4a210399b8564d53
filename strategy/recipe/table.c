/* The table of keys: which rows there are, and whether a value has the type of one. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "strategy/base/keys.h"
#include "strategy/base/near.h"
#include "strategy/recipe/reader.h"

/* The rows of a file, each kind by itself. */
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))
#define SECTION(path, kind)
#define KEY(path, type, fallback, here, value, there)
#define ALIAS(path, to)
#define OLD(path, to, type, what)
#define GONE(path, what)
#define FLAVOR(name, flavor, model, otherwise)

#undef KEY
#define KEY(path, type, fallback, here, value, there) {path, type, fallback, HERE_##here, value, there},
static const struct recipe_key deepspeed_keys[] = {
#include "strategy/recipe/deepspeed.def"
};
static const struct recipe_key accelerate_keys[] = {
#include "strategy/recipe/accelerate.def"
};
static const struct recipe_key torchtitan_keys[] = {
#include "strategy/recipe/torchtitan.def"
};
static const struct recipe_key trainer_keys[] = {
#include "strategy/recipe/trainer.def"
};
#undef KEY
#define KEY(path, type, fallback, here, value, there)

#undef SECTION
#define SECTION(path, kind) {path, kind},
static const struct recipe_section deepspeed_sections[] = {
#include "strategy/recipe/deepspeed.def"
};
static const struct recipe_section accelerate_sections[] = {
#include "strategy/recipe/accelerate.def"
};
static const struct recipe_section torchtitan_sections[] = {
#include "strategy/recipe/torchtitan.def"
};
static const struct recipe_section trainer_sections[] = {
#include "strategy/recipe/trainer.def"
};
#undef SECTION
#define SECTION(path, kind)

#undef ALIAS
#define ALIAS(path, to) {path, to},
static const struct recipe_alias deepspeed_aliases[] = {
#include "strategy/recipe/deepspeed.def"
};
static const struct recipe_alias accelerate_aliases[] = {
#include "strategy/recipe/accelerate.def"
};
static const struct recipe_alias trainer_aliases[] = {
#include "strategy/recipe/trainer.def"
};
#undef ALIAS
#define ALIAS(path, to)

#undef FLAVOR
#define FLAVOR(name, flavor, model, otherwise) {name, flavor, model, otherwise},
static const struct recipe_flavor torchtitan_flavors[] = {
#include "strategy/recipe/torchtitan.def"
};
#undef FLAVOR
#define FLAVOR(name, flavor, model, otherwise)

#undef OLD
#define OLD(path, to, type, what) {path, to, type, what},
static const struct recipe_old deepspeed_old[] = {
#include "strategy/recipe/deepspeed.def"
};
#undef OLD
#define OLD(path, to, type, what)

#undef GONE
#define GONE(path, what) {path, what},
static const struct recipe_gone deepspeed_gone[] = {
#include "strategy/recipe/deepspeed.def"
};

static const struct recipe_table deepspeed_table = {
        .keys = deepspeed_keys,
        .aliases = deepspeed_aliases,
        .old = deepspeed_old,
        .gone = deepspeed_gone,
        .sections = deepspeed_sections,
        .key_count = COUNT(deepspeed_keys),
        .alias_count = COUNT(deepspeed_aliases),
        .old_count = COUNT(deepspeed_old),
        .gone_count = COUNT(deepspeed_gone),
        .section_count = COUNT(deepspeed_sections),
        .auto_is_default = true,
};

static const struct recipe_table accelerate_table = {
        .keys = accelerate_keys,
        .aliases = accelerate_aliases,
        .sections = accelerate_sections,
        .key_count = COUNT(accelerate_keys),
        .alias_count = COUNT(accelerate_aliases),
        .section_count = COUNT(accelerate_sections),
};

static const struct recipe_table torchtitan_table = {
        .keys = torchtitan_keys,
        .sections = torchtitan_sections,
        .flavors = torchtitan_flavors,
        .key_count = COUNT(torchtitan_keys),
        .section_count = COUNT(torchtitan_sections),
        .flavor_count = COUNT(torchtitan_flavors),
};

static const struct recipe_table trainer_table = {
        .keys = trainer_keys,
        .aliases = trainer_aliases,
        .sections = trainer_sections,
        .key_count = COUNT(trainer_keys),
        .alias_count = COUNT(trainer_aliases),
        .section_count = COUNT(trainer_sections),
};

const struct recipe_table *const recipe_tables[RECIPE_READER_COUNT] = {
        [RECIPE_DEEPSPEED] = &deepspeed_table,   [RECIPE_TRANSFORMERS] = &deepspeed_table,
        [RECIPE_ACCELERATE] = &accelerate_table, [RECIPE_TORCHTITAN] = &torchtitan_table,
        [RECIPE_TRAINER] = &trainer_table,
};

/* ---- rows ---- */

/* A path inside a section of another spelling, "bfloat16.enabled", has the row of the one that replaced it. */
static const char *spelled(const struct recipe_table *t, const char *path, char *out, size_t size)
{
	for (int i = 0; i < t->alias_count; i++) {
		size_t n = strlen(t->aliases[i].path);
		if (strncmp(path, t->aliases[i].path, n) != 0 || (path[n] && path[n] != '.'))
			continue;
		snprintf(out, size, "%s%s", t->aliases[i].to, path + n);
		return out;
	}
	return path;
}

const struct recipe_key *table_key(const struct recipe_table *t, const char *path)
{
	char other[256];
	path = spelled(t, path, other, sizeof other);
	for (int i = 0; i < t->key_count; i++)
		if (!strcmp(t->keys[i].path, path))
			return &t->keys[i];
	return NULL;
}

const struct recipe_key *recipe_key_at(enum recipe_reader reader, int i)
{
	const struct recipe_table *t = recipe_tables[reader];
	return i < t->key_count ? &t->keys[i] : NULL;
}

const struct recipe_old *table_old(const struct recipe_table *t, const char *path)
{
	for (int i = 0; i < t->old_count; i++)
		if (!strcmp(t->old[i].path, path))
			return &t->old[i];
	return NULL;
}

const struct recipe_gone *table_gone(const struct recipe_table *t, const char *path)
{
	for (int i = 0; i < t->gone_count; i++)
		if (!strcmp(t->gone[i].path, path))
			return &t->gone[i];
	return NULL;
}

/* The longest section that the path is, or is in. */
const char *table_section(const struct recipe_table *t, const char *path)
{
	const char *kind = "open";
	size_t longest = 0;
	for (int i = 0; i < t->section_count; i++) {
		size_t n = strlen(t->sections[i].path);
		bool around = !n || (!strncmp(path, t->sections[i].path, n) && (!path[n] || path[n] == '.'));
		if (around && n >= longest) {
			longest = n;
			kind = t->sections[i].kind;
		}
	}
	return kind;
}

static size_t parent_length(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot ? (size_t)(dot - path) : 0;
}

static bool are_siblings(const char *a, const char *b)
{
	size_t n = parent_length(a);
	return parent_length(b) == n && !strncmp(a, b, n);
}

static const char *last_word(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot ? dot + 1 : path;
}

/* The key's successor, if it was renamed; else the nearest key of its section; else a key of that name in another
 * section. */
const char *table_near(const struct recipe_table *t, struct arena *a, const char *path)
{
	struct near near = {.typed = last_word(path)};
	const struct recipe_renamed *now = table_renamed(t, path);
	if (now)
		return arena_print(a, " (it is %s today%s)", now->now, now->how);
	for (int i = 0; i < t->key_count; i++)
		if (are_siblings(path, t->keys[i].path))
			near_consider(&near, last_word(t->keys[i].path));
	if (near.name)
		return arena_copy(a, near_words(&near));
	for (int i = 0; i < t->key_count; i++)
		if (!strcmp(last_word(path), last_word(t->keys[i].path)))
			return arena_print(a, " (it is %s)", t->keys[i].path);
	return "";
}

/* ---- values ---- */

static const char *trimmed(const char *text)
{
	return text + strspn(text, " \t");
}

static bool ends(const char *rest)
{
	return !*trimmed(rest);
}

/* A whole number by pydantic's rules: "500000000", " 5 ", "5_000", "5.0"; no exponent. */
static bool whole_of_text(const char *text, int64_t *out)
{
	char plain[64];
	size_t n = 0;
	for (const char *p = trimmed(text); *p && n + 1 < sizeof plain; p++)
		if (*p != '_')
			plain[n++] = *p;
	plain[n] = '\0';
	char *end;
	errno = 0;
	*out = strtoll(plain, &end, 10);
	if (end == plain || errno)
		return false;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0");
	return ends(end);
}

bool tree_whole(const struct tree *v, int64_t *out)
{
	switch (v->kind) {
	case TREE_TEXT:
		return whole_of_text(v->text, out);
	case TREE_FLAG:
	case TREE_NUMBER:
		if (!(fabs(v->number) < 9.3e18) || v->number != floor(v->number))
			return false;
		*out = v->number >= 9.2233720368547758e18 ? INT64_MAX : (int64_t)v->number;
		return true;
	default:
		return false;
	}
}

bool tree_real(const struct tree *v, double *out)
{
	char *end;
	if (v->kind == TREE_TEXT) {
		*out = strtod(v->text, &end);
		return end != v->text && ends(end);
	}
	*out = v->number;
	return v->kind == TREE_NUMBER || v->kind == TREE_FLAG;
}

bool tree_flag(const struct tree *v, bool *out)
{
	static const char *const yes[] = {"1", "on", "t", "true", "y", "yes"}, *const no[] = {"0",     "off", "f",
	                                                                                      "false", "n",   "no"};
	*out = v->number != 0;
	if (v->kind == TREE_FLAG)
		return true;
	if (v->kind == TREE_NUMBER)
		return v->number == 0 || v->number == 1;
	for (int i = 0; v->kind == TREE_TEXT && i < COUNT(yes); i++) {
		*out = !strcasecmp(v->text, yes[i]);
		if (*out || !strcasecmp(v->text, no[i]))
			return true;
	}
	return false;
}

bool tree_is_auto(const struct tree *v)
{
	return v && v->kind == TREE_TEXT && !strcmp(v->text, "auto");
}

/* ---- types ---- */

bool type_is_checked(const char *type)
{
	return *type != '~';
}

static bool in_bounds(const char *bounds, double n)
{
	for (const char *p = bounds; (p = strpbrk(p, "<>")); p++) {
		bool equal = p[1] == '=';
		double limit = strtod(p + 1 + equal, NULL);
		if (*p == '>' ? (equal ? n < limit : n <= limit) : (equal ? n > limit : n >= limit))
			return false;
	}
	return true;
}

/* "a whole number above 0". */
static const char *number_words(struct arena *a, const char *what, const char *bounds)
{
	const char *text = what;
	for (const char *p = bounds; (p = strpbrk(p, "<>")); p++) {
		bool equal = p[1] == '=';
		const char *number = p + 1 + equal;
		text = arena_print(a, "%s %s %.*s", text,
		                   *p == '>' ? (equal ? "of at least" : "above") : (equal ? "up to" : "below"),
		                   (int)strcspn(number, " "), number);
	}
	return text;
}

static bool begins(const char *type, const char *word)
{
	size_t n = strlen(word);
	return !strncmp(type, word, n) && (!type[n] || strchr("? ", type[n]));
}

static const char *upper(const char *text, char *out, size_t size)
{
	size_t n = 0;
	for (; text[n] && n + 1 < size; n++)
		out[n] = (char)toupper((unsigned char)text[n]);
	out[n] = '\0';
	return out;
}

static bool word_holds(const char *words, const struct tree *v)
{
	char text[64];
	int64_t n;
	if (v->kind == TREE_TEXT && word_find(words, v->text) >= 0)
		return true;
	/* Words in capitals are read in either case. */
	if (v->kind == TREE_TEXT && *words >= 'A' && *words <= 'Z')
		return word_find(words, upper(v->text, text, sizeof text)) >= 0;
	/* 0|1|2|3: an enumeration of numbers. */
	if (*words < '0' || *words > '9' || !tree_whole(v, &n))
		return false;
	snprintf(text, sizeof text, "%lld", (long long)n);
	return word_find(words, text) >= 0;
}

static const char *words_of(struct arena *a, const char *type)
{
	return arena_print(a, "%.*s", (int)strcspn(type, "? "), type);
}

static const char *listed(struct arena *a, const char *words, const struct tree *v)
{
	char *text = arena_print(a, "one of %s", words);
	for (char *p = text; *p; p++)
		*p = *p == '|' ? ' ' : *p;
	return arena_print(a, "%s%s", text, tree_near(a, words, v));
}

static bool kind_holds(const char *type, const struct tree *v, struct arena *a, const char **want)
{
	int64_t n;
	double x;
	bool flag;
	if (begins(type, "section")) {
		*want = "a section, { … }";
		return v->kind == TREE_OBJECT;
	}
	if (begins(type, "section|flag")) {
		*want = "a section, { … }";
		return v->kind == TREE_OBJECT || v->kind == TREE_FLAG;
	}
	if (begins(type, "list")) {
		*want = "a list, [ … ]";
		return v->kind == TREE_LIST;
	}
	if (begins(type, "flag")) {
		*want = "true or false";
		return tree_flag(v, &flag);
	}
	if (begins(type, "whole") || begins(type, "count")) {
		*want = number_words(a, "a whole number", type);
		return (*type == 'w' || v->kind != TREE_TEXT) && tree_whole(v, &n) && in_bounds(type, (double)n);
	}
	if (begins(type, "real")) {
		*want = number_words(a, "a number", type);
		return tree_real(v, &x) && isfinite(x) && in_bounds(type, x);
	}
	if (begins(type, "real|inf")) {
		*want = "a number, or inf";
		return tree_real(v, &x) && x > -INFINITY;
	}
	if (begins(type, "text")) {
		*want = "a text";
		return v->kind == TREE_TEXT;
	}
	*want = listed(a, words_of(a, type), v);
	return word_holds(words_of(a, type), v);
}

/* Python's whole numbers have no end, and pydantic takes them where they are written without point and exponent. */
bool type_is_exceeded(const char *type, const struct tree *v)
{
	type += *type == '~';
	return v->kind == TREE_NUMBER && v->number >= 9.3e18 &&
	       (begins(type, "count") || (begins(type, "whole") && v->whole));
}

bool type_holds(const char *type, const struct tree *v, struct arena *a, const char **want)
{
	type += *type == '~';
	*want = "";
	if (begins(type, "any") || (v->kind == TREE_NULL && strchr(type, '?')))
		return true;
	return kind_holds(type, v, a, want);
}

/* ---- values that a row names ---- */

/* llama3_ft, which bears faults, has the sizes of llama3. */
static bool is_of_family(const struct recipe_flavor *f, const char *name)
{
	size_t n = strlen(f->name);
	return !strncmp(f->name, name, n) && (!name[n] || !strcmp(name + n, "_ft"));
}

const struct recipe_flavor *table_flavor(const struct recipe_table *t, const char *name, const char *flavor)
{
	for (const struct recipe_flavor *f = t->flavors; f < t->flavors + t->flavor_count; f++)
		if (is_of_family(f, name) && !strcmp(f->flavor, flavor))
			return f;
	return NULL;
}

const char *table_model(const struct recipe_table *t, const struct recipe_flavor *f)
{
	return *f->model == '=' ? table_flavor(t, f->name, f->model + 1)->model : f->model;
}

const char *table_flavors(const struct recipe_table *t, struct arena *a, const char *name)
{
	const char *words = "";
	for (const struct recipe_flavor *f = t->flavors; f < t->flavors + t->flavor_count; f++)
		if (is_of_family(f, name))
			words = arena_print(a, "%s%s%s", words, *words ? "|" : "", f->flavor);
	return words;
}

static bool list_same(const struct tree *v, const char *text)
{
	const char *p = text + 1;
	for (const struct tree *t = v->first; t; t = t->next) {
		char *end;
		double n = strtod(p, &end), x;
		if (end == p || !tree_real(t, &x) || n != x)
			return false;
		p = end + strspn(end, ", ");
	}
	return *p == ']';
}

bool tree_same(const struct tree *v, const char *text)
{
	char *end;
	double n = strtod(text, &end), x;
	bool flag;
	if (!strcmp(text, "null") || v->kind == TREE_NULL)
		return v->kind == TREE_NULL && !strcmp(text, "null");
	if (*text == '[')
		return v->kind == TREE_LIST && list_same(v, text);
	if (*text == '{')
		return v->kind == TREE_OBJECT && !v->first;
	if (end != text && !*end)
		return tree_real(v, &x) && x == n;
	if (!strcmp(text, "true") || !strcmp(text, "false"))
		return tree_flag(v, &flag) && flag == !strcmp(text, "true");
	return v->kind == TREE_TEXT && !strcasecmp(v->text, text);
}
