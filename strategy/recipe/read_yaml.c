/* The reader of YAML, as PyYAML's safe_load: a plain `no` is a flag, 5e7 without a point is a text. An alias (*name)
 * and a merge (<<) are refused: no configuration here needs them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "strategy/base/keys.h"
#include "strategy/base/memory.h"
#include "strategy/recipe/tree.h"

struct reader {
	struct arena *arena;
	struct tree_file *f;
	yaml_parser_t parser;
	struct tree *at; /* the list or section that is open; NULL: none */
	const char *key; /* of the value that comes; NULL: a key comes */
	yaml_mark_t key_mark;
	int depth;
};

static enum status fail(const struct reader *r, yaml_mark_t mark, const char *what)
{
	return status_fail(STATUS_INPUT, "%s:%zu:%zu: %s", r->f->where, mark.line + 1, mark.column + 1, what);
}

static enum status not_yaml(const struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	if (p->error == YAML_MEMORY_ERROR || !p->problem)
		memory_exhausted();
	return status_fail(STATUS_INPUT, "%s:%zu:%zu: not YAML: %s", r->f->where, p->problem_mark.line + 1,
	                   p->problem_mark.column + 1, p->problem);
}

/* ---- plain words ---- */

/* Numbers are YAML 1.1's: 0x10 and 0b11 and 010, which is 8, are whole, as is 1:30, of which 60 make one; 0o17 and 08
 * are texts. */
static const char decimal[] = "0123456789_", octal[] = "01234567_", binary[] = "01_",
                  hexadecimal[] = "0123456789abcdefABCDEF_";

/* The base by the first characters, and where its digits begin. */
static int base_of(const char *p, const char **digits, const char **set)
{
	bool zero = *p == '0';
	int base = zero && p[1] == 'x' ? 16 : zero && p[1] == 'b' ? 2 : zero && p[1] ? 8 : 10;
	*digits = base == 16 || base == 2 ? p + 2 : p;
	*set = base == 16 ? hexadecimal : base == 2 ? binary : base == 8 ? octal : decimal;
	return base;
}

static int digit_of(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* The digits of a part: n times the base, plus each. NULL: there is none. */
static const char *take_digits(const char *p, const char *set, int base, double *n)
{
	const char *end = p + strspn(p, set);
	bool any = false;
	for (; p < end; p++)
		if (*p != '_') {
			*n = *n * base + digit_of(*p);
			any = true;
		}
	return any ? end : NULL;
}

/* ":30" and so on, each of two digits at most. */
static const char *take_sixtieths(const char *p, double *n)
{
	while (*p == ':') {
		double part = 0;
		size_t length = strspn(p + 1, "0123456789");
		if (!length || length > 2 || !take_digits(p + 1, decimal, 10, &part) || part > 59)
			return p;
		*n = *n * 60 + part;
		p += 1 + length;
	}
	return p;
}

static bool is_whole(const char *text, double *out)
{
	const char *digits, *set, *p = text + (*text == '-' || *text == '+');
	double n = 0;
	int base = base_of(p, &digits, &set);
	if (*p == '_' || !(digits = take_digits(digits, set, base, &n)))
		return false;
	if (base == 10 && *p != '0')
		digits = take_sixtieths(digits, &n);
	*out = *text == '-' ? -n : n;
	return !*digits;
}

static double number_of(const char *text)
{
	char plain[64];
	size_t n = 0;
	for (; *text && n + 1 < sizeof plain; text++)
		if (*text != '_')
			plain[n++] = *text;
	plain[n] = '\0';
	return strtod(plain, NULL);
}

/* A float has a point, and its exponent a sign. Without digits before the point it has no sign of its own. */
static bool is_float(const char *text, double *out)
{
	const char *p = text + (*text == '-' || *text == '+');
	size_t n = *p == '_' ? 0 : strspn(p, decimal);
	if (word_find(".inf|.Inf|.INF", p) >= 0 || word_find(".nan|.NaN|.NAN", text) >= 0) {
		*out = p[1] == 'n' || p[1] == 'N' ? (double)NAN : *text == '-' ? -(double)INFINITY : (double)INFINITY;
		return true;
	}
	if (p[n] != '.' || (!n && (p != text || p[1] < '0' || p[1] > '9')))
		return false;
	p += n + 1;
	p += strspn(p, decimal);
	if ((*p == 'e' || *p == 'E') && (p[1] == '+' || p[1] == '-') && strspn(p + 2, "0123456789"))
		p += 2 + strspn(p + 2, "0123456789");
	*out = number_of(text);
	return !*p;
}

static void resolve(struct tree *t)
{
	static const char yes[] = "yes|Yes|YES|true|True|TRUE|on|On|ON",
	                  no[] = "no|No|NO|false|False|FALSE|off|Off|OFF";
	bool is_yes = word_find(yes, t->text) >= 0;
	t->kind = TREE_TEXT;
	if (!*t->text || word_find("~|null|Null|NULL", t->text) >= 0) {
		t->kind = TREE_NULL;
	} else if (is_yes || word_find(no, t->text) >= 0) {
		t->kind = TREE_FLAG;
		t->number = is_yes;
	} else if (is_whole(t->text, &t->number)) {
		t->kind = TREE_NUMBER;
		t->whole = true;
	} else if (is_float(t->text, &t->number)) {
		t->kind = TREE_NUMBER;
	} else {
		t->number = 0;
	}
}

/* ---- events ---- */

/* NULL: it fails with STATUS_INPUT. */
static struct tree *add(struct reader *r, yaml_mark_t mark)
{
	if (!r->at && r->f->root) {
		fail(r, mark, "a second document; a configuration is one");
		return NULL;
	}
	struct tree *t = tree_add(r->f, r->arena, r->at, r->key);
	if (!t) {
		fail(r, mark, "too many values; a configuration has fewer");
		return NULL;
	}
	if (!r->at)
		r->f->root = t;
	t->line = (int)mark.line + 1;
	t->column = (int)mark.column + 1;
	t->key_line = (int)r->key_mark.line + 1;
	t->key_column = (int)r->key_mark.column + 1;
	r->key = NULL;
	return t;
}

static enum status take_scalar(struct reader *r, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	if (strlen(text) != e->data.scalar.length)
		return fail(r, e->start_mark, "a zero byte in a text");
	if (r->at && r->at->kind == TREE_OBJECT && !r->key) {
		r->key = arena_copy(r->arena, text);
		r->key_mark = e->start_mark;
		return strcmp(text, "<<") ? STATUS_OK : fail(r, e->start_mark, "a merge (<<) is not read here");
	}
	if (!r->at)
		return fail(r, e->start_mark, "no section; a configuration is lines of key: value");
	struct tree *t = add(r, e->start_mark);
	if (!t)
		return STATUS_INPUT;
	t->kind = TREE_TEXT;
	t->text = arena_copy(r->arena, text);
	if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		resolve(t);
	return STATUS_OK;
}

static enum status open_collection(struct reader *r, const yaml_event_t *e, enum tree_kind kind)
{
	if (r->at && r->at->kind == TREE_OBJECT && !r->key)
		return fail(r, e->start_mark, "a section or list where a key should be");
	if (!r->at && kind == TREE_LIST)
		return fail(r, e->start_mark, "a list; a configuration is lines of key: value");
	if (++r->depth > TREE_DEPTH)
		return fail(r, e->start_mark, "nested too deep; a configuration is flatter");
	struct tree *t = add(r, e->start_mark);
	if (!t)
		return STATUS_INPUT;
	t->kind = kind;
	r->at = t;
	return STATUS_OK;
}

static void close_collection(struct reader *r)
{
	r->depth--;
	r->at = r->at->parent;
}

static enum status take_event(struct reader *r, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return take_scalar(r, e);
	case YAML_MAPPING_START_EVENT:
		return open_collection(r, e, TREE_OBJECT);
	case YAML_SEQUENCE_START_EVENT:
		return open_collection(r, e, TREE_LIST);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		close_collection(r);
		return STATUS_OK;
	case YAML_ALIAS_EVENT:
		return fail(r, e->start_mark, "an alias (*name) is not read here");
	default:
		return STATUS_OK;
	}
}

static enum status read_events(struct reader *r)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	enum status s = STATUS_OK;
	while (!s && type != YAML_STREAM_END_EVENT) {
		yaml_event_t e;
		if (!yaml_parser_parse(&r->parser, &e))
			return not_yaml(r);
		type = e.type;
		s = take_event(r, &e);
		yaml_event_delete(&e);
	}
	if (!s && !r->f->root)
		return status_fail(STATUS_INPUT, "%s:1:1: empty; a configuration is lines of key: value", r->f->where);
	return s;
}

enum status tree_read_yaml(struct arena *a, const char *text, size_t size, const char *where, struct tree_file *out)
{
	struct reader r = {.arena = a, .f = out};
	*out = (struct tree_file){.where = where, .not_json = "YAML", .not_json_line = 1, .not_json_column = 1};
	if (size > TREE_BYTES)
		return status_fail(STATUS_INPUT, "%s:1:1: larger than 1 MiB; a configuration is a page", where);
	if (!yaml_parser_initialize(&r.parser))
		memory_exhausted();
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
	enum status s = read_events(&r);
	yaml_parser_delete(&r.parser);
	return s;
}
