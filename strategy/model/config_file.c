#include "strategy/model/config_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/model/family.h"

enum { SHOWN = 48, WORD = 64 };

/* ---- looking up ---- */

const json_t *config_find(const struct config *c, const char *key)
{
	const json_t *at = c->object;
	for (const char *p = key;; p++) {
		char part[WORD];
		size_t length = strcspn(p, ".");
		snprintf(part, sizeof part, "%.*s", (int)length, p);
		at = json_object_get(at, part);
		p += length;
		if (!at || !*p)
			return at;
	}
}

bool config_given(const struct config *c, const char *key)
{
	const json_t *value = config_find(c, key);
	return value && !json_is_null(value);
}

enum status config_fail(const struct config *c, const char *key, const char *format, ...)
{
	char text[512];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	return status_fail(STATUS_INPUT, "%s: %s%s: %s", c->where, c->inside, key, text);
}

/* A text of the file may be long, and of several lines. */
static const char *shorten(const struct config *c, const char *text)
{
	char *out = arena_print(c->arena, "%.*s", SHOWN, text);
	size_t n = strlen(out);
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	if (n < SHOWN)
		return out;
	while (n && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
		n--; /* a character that was cut */
	out[n && (unsigned char)out[n - 1] >= 0xc0 ? n - 1 : n] = 0;
	return arena_print(c->arena, "%s…", out);
}

const char *config_shown(const struct config *c, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return shorten(c, json_string_value(value));
	case JSON_INTEGER:
		return arena_print(c->arena, "%lld", (long long)json_integer_value(value));
	case JSON_REAL:
		return arena_print(c->arena, "%g", json_real_value(value));
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_NULL:
		return "null";
	case JSON_ARRAY:
		return "a list";
	case JSON_OBJECT:
		return "an object";
	}
	return "";
}

/* ---- values ---- */

static enum status wrong_kind(const struct config *c, const char *key, const json_t *value, const char *what)
{
	return config_fail(c, key, "'%s' is not %s", config_shown(c, value), what);
}

enum status config_whole(const struct config *c, const char *key, int64_t *out)
{
	const json_t *value = config_find(c, key);
	if (!value || json_is_null(value))
		return STATUS_OK;
	if (!json_is_integer(value))
		return wrong_kind(c, key, value, "a whole number");
	*out = json_integer_value(value);
	if (*out < 1)
		return config_fail(c, key, "%lld is below 1", (long long)*out);
	if (*out > LARGEST_SIZE)
		return config_fail(c, key, "%lld is above %lld", (long long)*out, (long long)LARGEST_SIZE);
	return STATUS_OK;
}

enum status config_real(const struct config *c, const char *key, double *out)
{
	const json_t *value = config_find(c, key);
	if (!value || json_is_null(value))
		return STATUS_OK;
	if (!json_is_number(value))
		return wrong_kind(c, key, value, "a number");
	*out = json_number_value(value);
	return *out > 0 ? STATUS_OK : config_fail(c, key, "%g is not above 0", *out);
}

enum status config_flag(const struct config *c, const char *key, bool *out)
{
	const json_t *value = config_find(c, key);
	if (!value || json_is_null(value))
		return STATUS_OK;
	if (!json_is_boolean(value))
		return wrong_kind(c, key, value, "true or false");
	*out = json_is_true(value);
	return STATUS_OK;
}

enum status config_text(const struct config *c, const char *key, const char **out)
{
	const json_t *value = config_find(c, key);
	if (!value || json_is_null(value))
		return STATUS_OK;
	if (!json_is_string(value))
		return wrong_kind(c, key, value, "text");
	*out = json_string_value(value);
	return STATUS_OK;
}

/* ---- pairs ---- */

static struct config_pair *find_pair(struct config *c, const char *key)
{
	for (int i = 0; i < c->pair_count; i++)
		if (!strcmp(c->pairs[i].key, key))
			return &c->pairs[i];
	if (c->pair_count == CONFIG_PAIRS)
		abort();
	return &c->pairs[c->pair_count++];
}

void config_set(struct config *c, const char *key, const char *format, ...)
{
	char text[WORD];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	*find_pair(c, key) = (struct config_pair){key, arena_copy(c->arena, text)};
}

const char *config_pair(const struct config *c, const char *key)
{
	for (int i = 0; i < c->pair_count; i++)
		if (!strcmp(c->pairs[i].key, key))
			return c->pairs[i].value;
	return NULL;
}

int64_t config_pair_whole(const struct config *c, const char *key)
{
	const char *value = config_pair(c, key);
	return value ? strtoll(value, NULL, 10) : 0;
}

/* ---- rows ---- */

/* Finds a word in "theirs=ours|same", and what it is called here. */
static bool find_word(const char *words, const char *word, char ours[WORD])
{
	for (const char *p = words;; p++) {
		size_t length = strcspn(p, "|"), theirs = strcspn(p, "=|");
		if (theirs == strlen(word) && !strncmp(p, word, theirs)) {
			const char *from = p[theirs] == '=' ? p + theirs + 1 : p;
			snprintf(ours, WORD, "%.*s", (int)(p + length - from), from);
			return true;
		}
		p += length;
		if (!*p)
			return false;
	}
}

/* "a=x|b" as "a, b" */
static const char *list_words(const struct config *c, const char *words)
{
	const char *text = "";
	for (const char *p = words;; p++) {
		text = arena_print(c->arena, "%s%s%.*s", text, *text ? ", " : "", (int)strcspn(p, "=|"), p);
		p += strcspn(p, "|");
		if (!*p)
			return text;
	}
}

static enum status refuse_value(const struct config *c, const struct config_row *row, const char *key,
                                const char *shown)
{
	return config_fail(c, key, "%s is not read, only %s: %s", shown, list_words(c, row->words), row->why);
}

static enum status read_word(struct config *c, const struct config_row *row, const char *key, const char *fallback)
{
	char ours[WORD], usual[WORD] = "";
	const json_t *value = config_find(c, key);
	if (!value || json_is_null(value))
		return STATUS_OK;
	const char *shown = config_shown(c, value);
	if (!find_word(row->words, shown, ours))
		return refuse_value(c, row, key, shown);
	find_word(row->words, fallback, usual);
	if (row->to && strcmp(ours, usual) != 0)
		config_set(c, row->to, "%s", ours);
	return STATUS_OK;
}

static enum status read_whole(struct config *c, const struct config_row *row, const char *key, const char *fallback)
{
	const json_t *value = config_find(c, key);
	int64_t n = value ? 0 : strtoll(fallback, NULL, 10);
	if (row->kind == ROW_WHOLE && value && json_is_null(value))
		return wrong_kind(c, key, value, "a whole number");
	enum status s = config_whole(c, key, &n);
	if (!s && n)
		config_set(c, row->to, "%lld", (long long)n);
	return s;
}

static enum status read_row(struct config *c, const struct config_row *row, const char *fallback)
{
	const char *key = row->alias && !config_find(c, row->key) ? row->alias : row->key;
	double real = strtod(fallback, NULL);
	bool flag = !strcmp(fallback, "yes");
	enum status s = STATUS_OK;
	if (!config_find(c, key))
		key = row->key;
	switch (row->kind) {
	case ROW_WHOLE:
	case ROW_WHOLE_OR_NULL:
		return read_whole(c, row, key, fallback);
	case ROW_REAL:
		if (!(s = config_real(c, key, &real)))
			config_set(c, row->to, "%.17g", real);
		return s;
	case ROW_FLAG:
		if (!(s = config_flag(c, key, &flag)))
			config_set(c, row->to, "%s", flag ? "yes" : "no");
		return s;
	case ROW_WORD:
	case ROW_MUST:
		return read_word(c, row, key, fallback);
	}
	return s;
}

enum status config_rows(struct config *c, const struct config_row *rows, int count, int type)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < count && !s; i++)
		if (rows[i].fallback[type])
			s = read_row(c, &rows[i], rows[i].fallback[type]);
	return s;
}
