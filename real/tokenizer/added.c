#include "real/tokenizer/added.h"

#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/character.h"

static int by_first_byte(const void *x, const void *y)
{
	const struct added_token *a = x, *b = y;
	unsigned char first = (unsigned char)a->text[0], second = (unsigned char)b->text[0];
	if (first != second)
		return first < second ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return memcmp(a->text, b->text, a->size);
}

void added_tokens_sort(struct added_tokens *a)
{
	size_t at = 0;
	if (a->count)
		qsort(a->list, a->count, sizeof *a->list, by_first_byte);
	for (size_t b = 0; b < 256; b++) {
		a->begin[b] = at;
		while (at < a->count && (unsigned char)a->list[at].text[0] == b)
			at++;
	}
	a->begin[256] = at;
}

/* The first byte of the character that ends before `at`. */
static size_t character_before(const char *text, size_t at)
{
	do
		at--;
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
	return at;
}

static bool is_within_word(const char *text, size_t size, size_t begin, size_t end)
{
	return (begin > 0 && character_is_word(character_code(text + character_before(text, begin)))) ||
	       (end < size && character_is_word(character_code(text + end)));
}

/* The longest token at this place; NULL: none. */
static const struct added_token *token_at(const struct added_tokens *a, const char *text, size_t size, size_t at)
{
	unsigned char first = (unsigned char)text[at];
	for (size_t i = a->begin[first]; i < a->begin[first + 1]; i++) {
		const struct added_token *t = &a->list[i];
		if (t->size <= size - at && !memcmp(text + at, t->text, t->size))
			return t;
	}
	return NULL;
}

static size_t spaces_before(const char *text, size_t from, size_t at)
{
	while (at > from) {
		size_t before = character_before(text, at);
		if (!character_is_space(character_code(text + before)))
			break;
		at = before;
	}
	return at;
}

static size_t spaces_behind(const char *text, size_t size, size_t at)
{
	while (at < size && character_is_space(character_code(text + at)))
		at += character_bytes(text[at]);
	return at;
}

/* A match within a word counts as text, and the search goes on behind it. */
struct stretch added_tokens_next(const struct added_tokens *a, const char *text, size_t size, size_t from)
{
	for (size_t at = from; a->count && at < size;) {
		const struct added_token *t = token_at(a, text, size, at);
		if (!t || (t->single_word && is_within_word(text, size, at, at + t->size))) {
			at += t ? t->size : 1;
			continue;
		}
		size_t begin = t->takes_before ? spaces_before(text, from, at) : at;
		if (begin > from)
			return (struct stretch){from, begin, -1};
		size_t end = at + t->size;
		return (struct stretch){begin, t->takes_behind ? spaces_behind(text, size, end) : end, t->id};
	}
	return (struct stretch){from, size, -1};
}
