/* The reader of TOML 1.0.
 *
 *     title = "a text"          of the root
 *     [training]                a section; it may come once, but other sections may stand inside it
 *     seq_len = 8_192           # a comment
 *     dataloader.workers = 4    a key with dots makes sections on its way
 *     list = [1, 2,             over several lines
 *             3]
 *     inline = {a = 1, b.c = 2} nothing can be added to it afterwards
 *     [[part]]                  one more section of a list
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/recipe/read_toml.h"

/* Marks of sections and lists. A key with dots opens the sections on its way until the next header. */
enum { MADE_BY_HEADER = 1, MADE_BY_VALUE = 2, MADE_OPEN = 4 };

struct key {
	const char *part[TREE_DEPTH];
	int count;
	struct reading at; /* where it begins */
};

struct toml {
	struct reading reading;
	int header; /* the number of the last one, from 1 */
};

/* ---- keys ---- */

static bool is_bare(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
}

static enum status read_part(struct reading *r, const char **out)
{
	const char *begin = r->at;
	int c = reading_peek(r, 0);
	*out = "";
	if (c == '"' || c == '\'')
		return toml_line_text(r, out);
	while (is_bare(reading_peek(r, 0)))
		r->at++;
	if (r->at == begin)
		return toml_unexpected(r, "a key");
	*out = arena_print(r->arena, "%.*s", (int)(r->at - begin), begin);
	return STATUS_OK;
}

static enum status read_key(struct reading *r, struct key *k)
{
	*k = (struct key){.at = *r};
	for (;;) {
		if (k->count == TREE_DEPTH)
			return reading_fail(r, "nested more than %d deep; a configuration is flatter", TREE_DEPTH);
		enum status s = read_part(r, &k->part[k->count++]);
		toml_skip_blanks(r);
		if (s || reading_peek(r, 0) != '.')
			return s;
		r->at++;
		toml_skip_blanks(r);
	}
}

static const char *printed(const struct key *k, int count)
{
	const char *text = k->part[0];
	for (int i = 1; i < count; i++)
		text = arena_print(k->at.arena, "%s.%s", text, k->part[i]);
	return text;
}

/* ---- sections ---- */

static struct tree *find(const struct tree *section, const char *name)
{
	return (struct tree *)tree_child(section, name, strlen(name));
}

static enum status add(struct reading *r, struct tree *section, const struct key *k, const char *name,
                       struct tree **out)
{
	TRY(reading_add(r, section, name, out));
	(*out)->kind = TREE_OBJECT;
	(*out)->line = (*out)->key_line = k->at.line;
	(*out)->column = (*out)->key_column = reading_column(&k->at);
	return STATUS_OK;
}

static int depth(const struct tree *t)
{
	int n = 0;
	for (; t->parent; t = t->parent)
		n++;
	return n;
}

/* Into the section that is the key's i-th name, which is made if it is not there; of a list, into its last. */
static enum status enter(struct reading *r, struct tree **at, const struct key *k, int i)
{
	struct tree *next = find(*at, k->part[i]);
	TRY(next ? STATUS_OK : add(r, *at, k, k->part[i], &next));
	if (next->made & MADE_BY_VALUE)
		return reading_fail(&k->at, "%.80s has its value already, and nothing can be added to it",
		                    printed(k, i + 1));
	if (next->kind == TREE_LIST)
		next = next->last;
	if (!next || next->kind != TREE_OBJECT)
		return reading_fail(&k->at, "%.80s has a value already, and is no section", printed(k, i + 1));
	*at = next;
	return depth(next) < TREE_DEPTH
	               ? STATUS_OK
	               : reading_fail(&k->at, "nested more than %d deep; a configuration is flatter", TREE_DEPTH);
}

/* A header, or a key with dots before an earlier header, has made it. */
static bool is_closed(const struct toml *t, const struct tree *section)
{
	return (section->made & MADE_BY_HEADER) ||
	       (section->made >= MADE_OPEN && section->made / MADE_OPEN != t->header);
}

/* ---- values ---- */

static enum status read_value(struct toml *t, struct tree *v);

/* Past white space, comments and line ends. */
static enum status skip_lines(struct reading *r)
{
	for (;;) {
		toml_skip_blanks(r);
		enum status s = toml_skip_comment(r);
		if (s || !toml_ends_line(r) || r->at == r->end)
			return s;
		toml_next_line(r);
	}
}

static enum status read_list(struct toml *t, struct tree *v)
{
	struct reading *r = &t->reading, begin = *r;
	enum status s;
	v->kind = TREE_LIST;
	for (r->at++; !(s = skip_lines(r)) && reading_peek(r, 0) != ']';) {
		struct tree *one;
		if (r->at == r->end)
			return reading_fail(&begin, "a list begins here and does not end: ']' is missing");
		if ((s = reading_add(r, v, NULL, &one)) || (s = read_value(t, one)) || (s = skip_lines(r)))
			return s;
		if (reading_peek(r, 0) == ',')
			r->at++;
		else if (reading_peek(r, 0) != ']' && r->at < r->end)
			return toml_unexpected(r, "a comma or a ]");
	}
	r->at++;
	return s;
}

static enum status read_pair(struct toml *t, struct tree *section, bool in_braces);

/* On one line, and without a comma at its end. */
static enum status read_inline(struct toml *t, struct tree *v)
{
	struct reading *r = &t->reading;
	v->kind = TREE_OBJECT;
	r->at++;
	toml_skip_blanks(r);
	if (reading_peek(r, 0) == '}') {
		r->at++;
		return STATUS_OK;
	}
	for (;;) {
		TRY(read_pair(t, v, true));
		toml_skip_blanks(r);
		int c = reading_peek(r, 0);
		if (c != ',' && c != '}')
			return toml_unexpected(r, "a comma or a }");
		r->at++;
		if (c == '}')
			return STATUS_OK;
		toml_skip_blanks(r);
	}
}

static enum status read_nested(struct toml *t, struct tree *v, int c)
{
	struct reading *r = &t->reading;
	if (++r->depth > TREE_DEPTH)
		return reading_fail(r, "nested more than %d deep; a configuration is flatter", TREE_DEPTH);
	enum status s = c == '[' ? read_list(t, v) : read_inline(t, v);
	v->made = MADE_BY_VALUE;
	r->depth--;
	return s;
}

static enum status read_value(struct toml *t, struct tree *v)
{
	struct reading *r = &t->reading;
	int c = reading_peek(r, 0);
	v->line = r->line;
	v->column = reading_column(r);
	if (c == '[' || c == '{')
		return read_nested(t, v, c);
	if (c != '"' && c != '\'')
		return toml_word(r, v);
	v->kind = TREE_TEXT;
	return reading_peek(r, 1) == c && reading_peek(r, 2) == c ? toml_lines_text(r, &v->text)
	                                                          : toml_line_text(r, &v->text);
}

/* key = value. The sections of a key with dots are its own: no header may have made them. */
static enum status read_pair(struct toml *t, struct tree *section, bool in_braces)
{
	struct reading *r = &t->reading;
	struct key k;
	struct tree *v;
	TRY(read_key(r, &k));
	if (reading_peek(r, 0) != '=')
		return toml_unexpected(r, "a = behind the key");
	for (int i = 0; i + 1 < k.count; i++) {
		TRY(enter(r, &section, &k, i));
		if (!in_braces && (is_closed(t, section) ||
		                   (section->parent->made & MADE_BY_HEADER && section->parent->kind == TREE_LIST)))
			return reading_fail(&k.at, "%.80s is a section already: write this key under its header",
			                    printed(&k, i + 1));
		section->made = in_braces ? 0 : MADE_OPEN * t->header;
	}
	const char *name = k.part[k.count - 1];
	const struct tree *there = find(section, name);
	if (there)
		return reading_fail(&k.at, "%.80s is there twice", tree_path(r->arena, there));
	r->at++;
	toml_skip_blanks(r);
	TRY(add(r, section, &k, name, &v));
	return read_value(t, v);
}

/* ---- headers ---- */

static enum status open_section(struct toml *t, struct tree **at, const struct key *k)
{
	struct tree *there = find(*at, k->part[k->count - 1]);
	if (there && is_closed(t, there))
		return reading_fail(&k->at, "the section %.80s is there twice", printed(k, k->count));
	TRY(enter(&t->reading, at, k, k->count - 1));
	(*at)->made = MADE_BY_HEADER;
	return STATUS_OK;
}

static enum status open_element(struct toml *t, struct tree **at, const struct key *k)
{
	struct reading *r = &t->reading;
	const char *name = k->part[k->count - 1];
	struct tree *list = find(*at, name);
	enum status s = STATUS_OK;
	if (!list && !(s = add(r, *at, k, name, &list)))
		list->kind = TREE_LIST;
	if (!s && (list->kind != TREE_LIST || list->made & MADE_BY_VALUE))
		return reading_fail(&k->at, "%.80s has a value already, and is no list of sections",
		                    printed(k, k->count));
	if (s || (s = add(r, list, k, NULL, at)))
		return s;
	list->made = MADE_BY_HEADER;
	return STATUS_OK;
}

static enum status read_header(struct toml *t, struct tree **section)
{
	struct reading *r = &t->reading;
	struct key k;
	bool element = reading_peek(r, 1) == '[';
	struct tree *at = r->f->root;
	r->at += 1 + element;
	t->header++;
	toml_skip_blanks(r);
	enum status s = read_key(r, &k);
	if (s)
		return s;
	if (reading_peek(r, 0) != ']' || (element && reading_peek(r, 1) != ']'))
		return toml_unexpected(r, element ? "a ]] behind the name" : "a ] behind the name");
	r->at += 1 + element;
	for (int i = 0; !s && i + 1 < k.count; i++)
		s = enter(r, &at, &k, i);
	if (!s)
		s = (element ? open_element : open_section)(t, &at, &k);
	*section = at;
	return s;
}

static enum status read_lines(struct toml *t)
{
	struct reading *r = &t->reading;
	struct tree *section = r->f->root;
	enum status s = skip_lines(r);
	while (!s && r->at < r->end) {
		s = reading_peek(r, 0) == '[' ? read_header(t, &section) : read_pair(t, section, false);
		if (s)
			return s;
		toml_skip_blanks(r);
		if ((s = toml_skip_comment(r)))
			return s;
		if (!toml_ends_line(r))
			return toml_unexpected(r, "the end of the line");
		s = skip_lines(r);
	}
	return s;
}

enum status tree_read_toml(struct arena *a, const char *text, size_t size, const char *where, struct tree_file *out)
{
	struct toml t = {.header = 1};
	*out = (struct tree_file){.where = where, .not_json = "TOML", .not_json_line = 1, .not_json_column = 1};
	TRY(reading_open(&t.reading, a, text, size, out));
	struct tree *root = out->root = tree_add(out, a, NULL, NULL);
	root->kind = TREE_OBJECT;
	root->line = root->column = 1;
	return read_lines(&t);
}
