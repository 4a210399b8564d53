#include "strategy/base/keys.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/near.h"
#include "strategy/base/number.h"

enum { NUMBER_MOST = 63 };                                /* characters */
static const double LEAST_REAL = 1e-12, MOST_REAL = 1e12; /* of R */

/* ---- words ---- */

int word_find(const char *words, const char *text)
{
	size_t length = strlen(text);
	for (int place = 0;; place++, words++) {
		size_t word = strcspn(words, "|");
		if (word == length && !strncmp(words, text, length))
			return place;
		words += word;
		if (!*words)
			return -1;
	}
}

void word_at(const char *words, int place, char *out, size_t size)
{
	if (place < 0)
		words = "";
	while (place-- > 0)
		words += strcspn(words, "|") + 1;
	snprintf(out, size, "%.*s", (int)strcspn(words, "|"), words);
}

void word_near(const char *words, const char *text, char out[WORD_NEAR])
{
	enum { MOST = 24, LONGEST = 32 };
	char names[MOST][LONGEST];
	struct near near = {.typed = text};
	for (int i = 0; *words && i < MOST; i++) {
		size_t length = strcspn(words, "|");
		snprintf(names[i], LONGEST, "%.*s", (int)length, words);
		near_consider(&near, names[i]);
		words += length + (words[length] == '|');
	}
	snprintf(out, WORD_NEAR, "%s", near_words(&near));
}

enum status word_parse(const char *words, const char *where, const char *text, int *place)
{
	char list[256], near[WORD_NEAR];
	size_t n = 0;
	*place = word_find(words, text);
	if (*place >= 0)
		return STATUS_OK;
	word_near(words, text, near);
	for (int i = 0; *words && n + 3 < sizeof list; i++) {
		size_t length = strcspn(words, "|");
		n += (size_t)snprintf(list + n, sizeof list - n, "%s%.*s", i ? ", " : "", (int)length, words);
		words += length + (words[length] == '|');
	}
	list[n < sizeof list ? n : sizeof list - 1] = 0;
	return status_fail(STATUS_INPUT, "%s: '%.40s' is not one of: %s%s", where, text, list, near);
}

/* ---- values ---- */

static const char *copy_value(const struct key_value *v, char out[NUMBER_MOST + 1])
{
	snprintf(out, NUMBER_MOST + 1, "%.*s", (int)v->length, v->text);
	return out;
}

bool key_is(const struct key_value *v, const char *word)
{
	return v->length == strlen(word) && !strncmp(v->text, word, v->length);
}

int64_t key_whole(const struct key_value *v, int64_t otherwise)
{
	char text[NUMBER_MOST + 1];
	int64_t n = otherwise;
	if (v->length)
		(void)number_whole(copy_value(v, text), "", INT64_MIN, INT64_MAX, &n);
	return n;
}

int key_word(const struct key_value *v, const char *words, int otherwise)
{
	char text[NUMBER_MOST + 1];
	int place = v->length ? word_find(words, copy_value(v, text)) : -1;
	return place < 0 ? otherwise : place;
}

double key_real(const struct key_value *v)
{
	char text[NUMBER_MOST + 1];
	return strtod(copy_value(v, text), NULL);
}

static bool word_stands_for_numbers(const char *word)
{
	return !strcmp(word, "N") || !strcmp(word, "P") || !strcmp(word, "R");
}

static enum status check_value(const struct keys *k, const char *where, const struct key *key,
                               const struct key_value *v)
{
	char text[NUMBER_MOST + 1], what[448];
	int64_t whole;
	double real;
	int place;
	snprintf(what, sizeof what, "%s: %s", where, key->name);
	if (!v->length)
		return status_fail(STATUS_INPUT, "%s: the value is missing behind '='", what);
	if (!*key->values)
		return STATUS_OK;
	if (v->length > NUMBER_MOST)
		return status_fail(STATUS_INPUT, "%s: '%.40s…' is too long", what, v->text);
	if (word_find(key->values, copy_value(v, text)) >= 0 && !word_stands_for_numbers(text))
		return STATUS_OK;
	if (word_find(key->values, "N") >= 0)
		return number_whole(text, what, k->low, k->high ? k->high : INT64_MAX, &whole);
	if (word_find(key->values, "P") >= 0)
		return number_real(text, what, 0, 0.999, &real);
	if (word_find(key->values, "R") >= 0)
		return number_real(text, what, LEAST_REAL, MOST_REAL, &real);
	return word_parse(key->values, what, text, &place);
}

/* ---- pairs ---- */

static int find_key(const struct keys *k, const char *name, size_t length)
{
	for (int i = 0; i < k->count; i++)
		if (strlen(k->list[i].name) == length && !strncmp(k->list[i].name, name, length))
			return i;
	return -1;
}

static enum status unknown_key(const struct keys *k, const char *where, const char *name)
{
	struct near near = {.typed = name};
	for (int i = 0; i < k->count; i++)
		near_consider(&near, k->list[i].name);
	return status_fail(STATUS_INPUT, "%s: unknown key '%s'%s; %s%s", where, name, near_words(&near),
	                   k->count ? "known: " : "it has none", near.known);
}

static enum status read_pair(const struct keys *k, const char *where, const char *pair, size_t length,
                             struct key_value *values)
{
	const char *equals = memchr(pair, '=', length);
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - pair : (ptrdiff_t)length), pair);
	if (!equals)
		return status_fail(STATUS_INPUT, "%s: '%s' is not key=value", where, name);
	int i = find_key(k, pair, (size_t)(equals - pair));
	if (i < 0)
		return unknown_key(k, where, name);
	if (values[i].given)
		return status_fail(STATUS_INPUT, "%s: %s is given twice", where, name);
	values[i] = (struct key_value){equals + 1, length - (size_t)(equals + 1 - pair), true};
	return check_value(k, where, &k->list[i], &values[i]);
}

enum status keys_read(const struct keys *k, const char *pairs, struct key_value *values)
{
	char where[384];
	assert(k->count <= KEYS_MOST);
	snprintf(where, sizeof where, "%s %s", status_words(k->setting), k->name);
	for (int i = 0; i < k->count; i++)
		values[i] = (struct key_value){k->list[i].fallback, strlen(k->list[i].fallback), false};
	for (const char *p = pairs; p; p++) {
		size_t length = strcspn(p, k->separators ? k->separators : ":");
		enum status s = read_pair(k, where, p, length, values);
		p += length;
		if (s || !*p)
			return s;
	}
	return STATUS_OK;
}

enum status keys_check(const struct keys *k, const char *pairs)
{
	struct key_value values[KEYS_MOST];
	return keys_read(k, pairs, values);
}
