#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/character.h"
#include "real/tokenizer/steps.h"

/* ---- pieces ---- */

void pieces_release(struct pieces *p)
{
	bytes_release(&p->text);
	free(p->ends);
	*p = (struct pieces){0};
}

void pieces_clear(struct pieces *p)
{
	p->text.size = p->count = 0;
}

void pieces_end(struct pieces *p)
{
	if (p->text.size > (p->count ? p->ends[p->count - 1] : 0))
		*ARRAY_ADD(p->ends, p->count, p->capacity) = p->text.size;
}

static void add_piece(struct pieces *p, const char *text, size_t size)
{
	bytes_add(&p->text, text, size);
	pieces_end(p);
}

/* ---- by matches ---- */

/* A piece that is being cut: what has been cut off so far, and whether the last part was a match. */
struct cutting {
	const struct cut_step *step;
	struct pieces *out;
	bool was_match, any;
};

/* The next part of a piece: a match, or what lies between two. */
static void add_part(struct cutting *c, const char *text, size_t size, bool match)
{
	enum cut_behavior b = c->step->behavior;
	bool joins = (b == CUT_CONTIGUOUS && match == c->was_match) ||
	             (b == CUT_WITH_BEFORE && match && !c->was_match) || (b == CUT_WITH_NEXT && !match && c->was_match);
	if (!size)
		return;
	if (c->any && !joins)
		pieces_end(c->out);
	if (b != CUT_REMOVED || !match)
		bytes_add(&c->out->text, text, size);
	c->any = true;
	c->was_match = match;
}

typedef enum status finder(const struct cut_step *step, const char *text, size_t size, size_t from, size_t *begin,
                           size_t *end);

static enum status cut_piece(const struct cut_step *step, finder *find, const char *text, size_t size,
                             struct pieces *out)
{
	struct cutting c = {.step = step, .out = out};
	size_t from = 0, begin, end;
	enum status s;
	while (!(s = find(step, text, size, from, &begin, &end)) && end) {
		add_part(&c, text + from, begin - from, step->invert);
		add_part(&c, text + begin, end - begin, !step->invert);
		from = end;
	}
	if (!s)
		add_part(&c, text + from, size - from, step->invert);
	pieces_end(out);
	return s;
}

static enum status find_pattern(const struct cut_step *step, const char *text, size_t size, size_t from, size_t *begin,
                                size_t *end)
{
	return pattern_find(&step->pattern, text, size, from, begin, end);
}

/* Numbers of all scripts, as Rust's char::is_numeric. */
static bool is_number(const char *at)
{
	GUnicodeType type = g_unichar_type(character_code(at));
	return type == G_UNICODE_DECIMAL_NUMBER || type == G_UNICODE_LETTER_NUMBER || type == G_UNICODE_OTHER_NUMBER;
}

static enum status find_digit(const struct cut_step *step, const char *text, size_t size, size_t from, size_t *begin,
                              size_t *end)
{
	(void)step;
	while (from < size && !is_number(text + from))
		from += character_bytes(text[from]);
	*begin = from;
	*end = from < size ? from + character_bytes(text[from]) : 0;
	return STATUS_OK;
}

typedef bool character_test(uint32_t code);

static bool is_neither(uint32_t code)
{
	return !character_is_word(code) && !character_is_space(code);
}

static size_t skip(character_test *is, const char *text, size_t size, size_t at)
{
	while (at < size && is(character_code(text + at)))
		at += character_bytes(text[at]);
	return at;
}

/* \w+|[^\w\s]+ */
static enum status find_word(const struct cut_step *step, const char *text, size_t size, size_t from, size_t *begin,
                             size_t *end)
{
	(void)step;
	*begin = skip(character_is_space, text, size, from);
	*end = skip(character_is_word, text, size, *begin);
	if (*end == *begin)
		*end = skip(is_neither, text, size, *begin);
	*end = *end > *begin ? *end : 0;
	return STATUS_OK;
}

static enum status find_space(const struct cut_step *step, const char *text, size_t size, size_t from, size_t *begin,
                              size_t *end)
{
	(void)step;
	while (from < size && !character_is_space(character_code(text + from)))
		from += character_bytes(text[from]);
	*begin = from;
	*end = from < size ? from + character_bytes(text[from]) : 0;
	return STATUS_OK;
}

/* ---- the others ---- */

static void add_bytes(struct pieces *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char written[4];
		size_t n = character_write(character_of_byte((unsigned char)text[i]), written);
		bytes_add(&out->text, written, n);
	}
	pieces_end(out);
}

/* Spaces become ▁, and one is put before. */
static enum status cut_metaspace(const struct cut_step *step, bool first, const char *text, size_t size,
                                 struct pieces *out)
{
	struct bytes made = {0};
	size_t n = strlen(step->replacement);
	bytes_add(&made, text, size);
	bytes_replace(&made, " ", step->replacement);
	bool has = made.size >= n && !memcmp(made.at, step->replacement, n);
	if (!has && (step->scheme == SCHEME_ALWAYS || (step->scheme == SCHEME_FIRST && first))) {
		struct bytes longer = {0};
		bytes_add(&longer, step->replacement, n);
		bytes_add(&longer, made.at, made.size);
		bytes_release(&made);
		made = longer;
	}
	enum status s = STATUS_OK;
	if (step->split)
		s = cut_piece(step, find_pattern, made.at, made.size, out);
	else
		add_piece(out, made.at, made.size);
	bytes_release(&made);
	return s;
}

static enum status cut_one(const struct cut_step *step, bool first, const char *text, size_t size, struct pieces *out)
{
	switch (step->kind) {
	case CUT_PATTERN:
		return cut_piece(step, find_pattern, text, size, out);
	case CUT_DIGITS:
		return cut_piece(step, find_digit, text, size, out);
	case CUT_WORDS:
		return cut_piece(step, find_word, text, size, out);
	case CUT_SPACES:
		return cut_piece(step, find_space, text, size, out);
	case CUT_SPACE_BEFORE:
		if (text[0] != ' ')
			bytes_add(&out->text, " ", 1);
		add_piece(out, text, size);
		return STATUS_OK;
	case CUT_BYTES:
		add_bytes(out, text, size);
		return STATUS_OK;
	case CUT_METASPACE:
		return cut_metaspace(step, first, text, size, out);
	}
	abort();
}

enum status cut(const struct cut_step *steps, int count, bool first, struct pieces *now, struct pieces *next)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < count && !s; i++) {
		pieces_clear(next);
		for (size_t p = 0, begin = 0; p < now->count && !s; begin = now->ends[p++])
			s = cut_one(&steps[i], first && p == 0, now->text.at + begin, now->ends[p] - begin, next);
		struct pieces made = *next;
		*next = *now;
		*now = made;
	}
	return s;
}
