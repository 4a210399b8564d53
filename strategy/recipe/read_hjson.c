/* The reader of Hjson, with JSON as a part of it.
 *
 *     { "stage": 2,          JSON
 *       # a comment          // and /" "* too
 *       bucket: 5e7          neither quotes nor comma
 *       name: as it is       a text without quotes goes on to the end of the line
 *     }
 *
 * A number, true, false or null without quotes ends at a comma, a bracket, a comment or the end of the line; anything
 * else is a text up to the end of the line, commas and brackets in it.
 */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "strategy/recipe/reading.h"

static void depart(struct reading *r, const char *what)
{
	if (r->f->not_json)
		return;
	r->f->not_json = what;
	r->f->not_json_line = r->line;
	r->f->not_json_column = reading_column(r);
}

static bool ends_line(int c)
{
	return c == '\n' || c == '\r' || c < 0;
}

static bool begins_comment(const struct reading *r)
{
	int c = reading_peek(r, 0), d = reading_peek(r, 1);
	return c == '#' || (c == '/' && (d == '/' || d == '*'));
}

static enum status skip_comment(struct reading *r)
{
	bool block = reading_peek(r, 1) == '*' && reading_peek(r, 0) == '/';
	depart(r, "a comment");
	if (!block) {
		while (!ends_line(reading_peek(r, 0)))
			reading_step(r);
		return STATUS_OK;
	}
	struct reading begin = *r;
	for (r->at += 2; r->at < r->end; reading_step(r))
		if (reading_peek(r, 0) == '*' && reading_peek(r, 1) == '/') {
			r->at += 2;
			return STATUS_OK;
		}
	return reading_fail(&begin, "a comment begins here and does not end");
}

/* To what comes next, past white space and comments. */
static enum status skip(struct reading *r)
{
	for (;;) {
		while (r->at < r->end && strchr(" \t\n\r", *r->at))
			reading_step(r);
		if (!begins_comment(r))
			return STATUS_OK;
		TRY(skip_comment(r));
	}
}

/* ---- texts in quotes ---- */

static enum status read_unicode(struct reading *r, struct reading_text *t)
{
	unsigned high, low;
	if (!reading_hexadecimal(r, 4, &high))
		return reading_fail(r, "\\u needs four hexadecimal digits");
	if (high >> 10 == 0xd800 >> 10 && reading_peek(r, 0) == '\\' && reading_peek(r, 1) == 'u') {
		r->at += 2;
		if (!reading_hexadecimal(r, 4, &low) || low >> 10 != 0xdc00 >> 10)
			return reading_fail(r, "\\u%04x is half a character, and its other half does not follow", high);
		high = 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
	}
	if (!high || high >> 11 == 0xd800 >> 11)
		return reading_fail(r, "\\u%04x is no character", high);
	reading_put(t, high);
	return STATUS_OK;
}

static enum status read_escape(struct reading *r, struct reading_text *t)
{
	static const char names[] = "\"'\\/bfnrt", values[] = "\"'\\/\b\f\n\r\t";
	int c = reading_peek(r, 0);
	const char *at = c > 0 ? strchr(names, c) : NULL;
	if (c == '\'')
		depart(r, "the escape \\'");
	if (!at && c != 'u')
		return reading_fail(r, "a backslash, and behind it none of \" ' \\ / b f n r t u");
	r->at++;
	if (c == 'u')
		return read_unicode(r, t);
	reading_put(t, (unsigned char)values[at - names]);
	return STATUS_OK;
}

static enum status read_quoted(struct reading *r, const char **out)
{
	struct reading begin = *r;
	char quote = *r->at;
	struct reading_text t = {.at = NULL};
	size_t room = 0;
	if (quote == '\'')
		depart(r, "single quotes");
	while (reading_peek(r, (int)room + 1) >= ' ' && reading_peek(r, (int)room + 1) != quote)
		room += reading_peek(r, (int)room + 1) == '\\' ? 2 : 1;
	t.at = arena_alloc(r->arena, room + 8);
	for (r->at++; reading_peek(r, 0) != quote;) {
		enum status s = STATUS_OK;
		int c = reading_peek(r, 0);
		if (c < ' ')
			return ends_line(c)
			               ? reading_fail(&begin, "a text begins here, and its line ends without the quote")
			               : reading_fail(r, "a control character in a text");
		r->at++;
		if (c == '\\')
			s = read_escape(r, &t);
		else
			t.at[t.length++] = (char)c;
		if (s)
			return s;
	}
	r->at++;
	*out = t.at;
	return STATUS_OK;
}

/* ---- texts of several lines ---- */

static void skip_indent(struct reading *r, int most)
{
	for (int i = 0; i != most && r->at < r->end && strchr(" \t\r", *r->at); i++)
		r->at++;
}

/* ''' … ''', each line less the indent of the first. */
static enum status read_lines(struct reading *r, const char **out)
{
	const char *closing = memmem(r->at + 3, (size_t)(r->end - r->at - 3), "'''", 3);
	if (!closing)
		return reading_fail(r, "''' begins a text here, and no ''' ends it");
	struct reading_text t = {.at = arena_alloc(r->arena, (size_t)(closing - r->at) + 1)};
	int indent = reading_column(r) - 1;
	depart(r, "''' quotes");
	r->at += 3;
	skip_indent(r, -1);
	if (reading_peek(r, 0) == '\n') {
		reading_step(r);
		skip_indent(r, indent);
	}
	while (r->at < closing) {
		int c = reading_peek(r, 0);
		reading_step(r);
		if (c != '\r')
			t.at[t.length++] = (char)c;
		if (c == '\n')
			skip_indent(r, indent);
	}
	r->at = closing + 3;
	if (t.length && t.at[t.length - 1] == '\n')
		t.at[t.length - 1] = '\0';
	*out = t.at;
	return STATUS_OK;
}

/* ---- values without quotes ---- */

static const char *copy(struct reading *r, const char *begin, const char *end)
{
	while (begin < end && strchr(" \t\r", *begin))
		begin++;
	while (end > begin && strchr(" \t\r", end[-1]))
		end--;
	return arena_print(r->arena, "%.*s", (int)(end - begin), begin);
}

/* JSON's numbers. whole: without point and exponent. */
static bool is_number(const char *text, bool *whole)
{
	const char *p = text + (*text == '-');
	size_t n = reading_digits(p);
	if (!n || (*p == '0' && n > 1))
		return false;
	p += n;
	*whole = !*p;
	if (*p == '.' && (n = reading_digits(p + 1)))
		p += 1 + n;
	if (*p == 'e' || *p == 'E') {
		const char *exponent = p + 1 + (p[1] == '+' || p[1] == '-');
		if ((n = reading_digits(exponent)))
			p = exponent + n;
	}
	return !*p;
}

/* True if this is a number, true, false or null. */
static bool take_word(struct tree *t, const char *text)
{
	bool yes = !strcmp(text, "true");
	t->text = text;
	if (is_number(text, &t->whole)) {
		t->kind = TREE_NUMBER;
		t->number = strtod(text, NULL);
		return true;
	}
	if (!strcmp(text, "null")) {
		t->kind = TREE_NULL;
		return true;
	}
	if (!yes && strcmp(text, "false") != 0)
		return false;
	t->kind = TREE_FLAG;
	t->number = yes;
	return true;
}

static enum status read_word(struct reading *r, struct tree *t)
{
	enum { LONGEST_WORD = 64 }; /* of numbers, true, false, null; one alone on its line may be longer */
	const char *begin = r->at;
	struct reading start = *r;
	if (r->at == r->end)
		return reading_fail(r, "the file ends where a value should be");
	if (strchr("{}[],:", *r->at))
		return reading_fail(r, "'%c' where a value should be", *r->at);
	for (;; r->at++) {
		int c = reading_peek(r, 0);
		bool line_ends = ends_line(c);
		if (!line_ends && !strchr(",}]", c) && !begins_comment(r))
			continue;
		if ((line_ends || r->at - begin < LONGEST_WORD) && take_word(t, copy(r, begin, r->at)))
			return STATUS_OK;
		if (line_ends)
			break;
	}
	depart(&start, "a text without quotes");
	t->kind = TREE_TEXT;
	if (!r->unquoted && strpbrk(t->text, "}]") && !strpbrk(t->text, "{["))
		r->unquoted = t;
	return STATUS_OK;
}

/* ---- objects and lists ---- */

static enum status read_value(struct reading *r, struct tree *t);

static enum status read_bare_key(struct reading *r, const char **out)
{
	const char *begin = r->at;
	depart(r, "a key without quotes");
	while (r->at < r->end && !strchr(": \t\n\r{}[],", *r->at))
		r->at++;
	*out = copy(r, begin, r->at);
	const char *end = r->at;
	while (r->at < r->end && strchr(" \t\n\r", *r->at))
		reading_step(r);
	if (begin == end || reading_peek(r, 0) != ':')
		return r->at == r->end
		               ? reading_fail(r, "the file ends where %s should be",
		                              begin == end ? "a key or a }" : "a : behind a key")
		               : reading_fail(r, "'%c' where a %s should be", *r->at, begin == end ? "key" : ":");
	return STATUS_OK;
}

static enum status read_pair(struct reading *r, struct tree *object)
{
	int line = r->line, at = reading_column(r);
	const char *key = "";
	bool quoted = reading_peek(r, 0) == '"' || reading_peek(r, 0) == '\'';
	enum status s = quoted ? read_quoted(r, &key) : read_bare_key(r, &key);
	if (s || (s = skip(r)))
		return s;
	if (reading_peek(r, 0) != ':')
		return reading_fail(r, "a : should stand behind the key \"%.40s\"", key);
	r->at++;
	if ((s = skip(r)))
		return s;
	struct tree *t;
	if ((s = reading_add(r, object, key, &t)))
		return s;
	t->key_line = line;
	t->key_column = at;
	return read_value(r, t);
}

static enum status read_element(struct reading *r, struct tree *list)
{
	struct tree *t;
	enum status s = reading_add(r, list, NULL, &t);
	return s ? s : read_value(r, t);
}

/* Past the comma behind a value, if there is one. */
static enum status skip_comma(struct reading *r, int closer)
{
	enum status s = skip(r);
	if (s)
		return s;
	if (reading_peek(r, 0) == ',') {
		struct reading comma = *r;
		r->at++;
		if (!(s = skip(r)) && reading_peek(r, 0) == closer)
			depart(&comma, closer < 0 ? "a comma at the end" : "a comma behind the last value");
	} else if (reading_peek(r, 0) != closer) {
		depart(r, "a comma is missing before this");
	}
	return s;
}

/* The file ends, and no bracket has ended this: the bracket may stand in a text. */
static enum status fail_open(const struct reading *r, const struct tree *t, int closer)
{
	const struct tree *text = r->unquoted;
	if (text && strchr(text->text, closer))
		return status_fail(STATUS_INPUT,
		                   "%s:%d:%d: a text without quotes goes on to the end of its line, and this one takes "
		                   "the '%c' along: put it in quotes",
		                   r->f->where, text->line, text->column, closer);
	return status_fail(STATUS_INPUT, "%s:%d:%d: a %s begins here and does not end: '%c' is missing", r->f->where,
	                   t->line, t->column, t->kind == TREE_LIST ? "list" : "section", closer);
}

/* closer: the bracket that ends it; -1: the end of the file. */
static enum status read_members(struct reading *r, struct tree *t, int closer)
{
	enum status s = skip(r);
	while (!s && reading_peek(r, 0) != closer) {
		if (r->at == r->end)
			return fail_open(r, t, closer);
		s = t->kind == TREE_LIST ? read_element(r, t) : read_pair(r, t);
		if (!s)
			s = skip_comma(r, closer);
	}
	if (!s && closer > 0)
		r->at++;
	return s;
}

static enum status read_value(struct reading *r, struct tree *t)
{
	int c = reading_peek(r, 0);
	t->line = r->line;
	t->column = reading_column(r);
	if (c == '{' || c == '[') {
		t->kind = c == '{' ? TREE_OBJECT : TREE_LIST;
		if (++r->depth > TREE_DEPTH)
			return reading_fail(r, "nested more than %d deep; a configuration is flatter", TREE_DEPTH);
		r->at++;
		enum status s = read_members(r, t, c == '{' ? '}' : ']');
		r->depth--;
		return s;
	}
	t->kind = TREE_TEXT;
	if (c == '\'' && reading_peek(r, 1) == '\'' && reading_peek(r, 2) == '\'')
		return read_lines(r, &t->text);
	return c == '"' || c == '\'' ? read_quoted(r, &t->text) : read_word(r, t);
}

static enum status read_root(struct reading *r)
{
	struct tree *root = r->f->root = tree_add(r->f, r->arena, NULL, NULL);
	root->kind = TREE_OBJECT;
	root->line = root->column = 1;
	TRY(skip(r));
	if (reading_peek(r, 0) == '[')
		return reading_fail(r, "a list; a configuration is a section of keys, { … }");
	if (reading_peek(r, 0) != '{') {
		depart(r, r->at == r->end ? "an empty file" : "no { } around the file");
		return read_members(r, root, -1);
	}
	TRY(read_value(r, root));
	TRY(skip(r));
	return r->at < r->end ? reading_fail(r, "more follows behind the } that ends the file") : STATUS_OK;
}

enum status tree_read_hjson(struct arena *a, const char *text, size_t size, const char *where, struct tree_file *out)
{
	static const char mark[] = "\xef\xbb\xbf";
	*out = (struct tree_file){.where = where};
	struct reading r;
	TRY(reading_open(&r, a, text, size, out));
	if (size >= 3 && !memcmp(text, mark, 3)) {
		depart(&r, "a byte order mark");
		r.at += 3;
	}
	return read_root(&r);
}
