#include "cli/lesson/same.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line, walked word by word: a number with its unit is one word, everything else up to a space or a number another.
 */
struct word {
	const char *text;
	size_t length;
	bool number;
	double value;
	char unit[8];
};

#define MICRO "µ"
static const char *const units[] = {"ns", "µs", "us", "ms", "s",   "min", "B",
                                    "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB"};

/* The unit behind a number, with a space before it or without. Returns its length with the space. */
static size_t unit_length(const char *text)
{
	const char *begin = text + (*text == ' ');
	size_t length = strncmp(begin, MICRO, strlen(MICRO)) ? 0 : strlen(MICRO);
	while (isalpha((unsigned char)begin[length]))
		length++;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (length && strlen(units[i]) == length && !strncmp(units[i], begin, length))
			return (size_t)(begin - text) + length;
	return 0;
}

/* Digits with commas, a point, an exponent: "1,863,692", "0.25", "1e-3". */
static size_t number_length(const char *text, double *value)
{
	char digits[64];
	size_t n = 0, at = 0;
	if (!isdigit((unsigned char)*text))
		return 0;
	for (; (isdigit((unsigned char)text[n]) || text[n] == '.' ||
	        (text[n] == ',' && isdigit((unsigned char)text[n + 1]))) &&
	       at + 8 < sizeof digits;
	     n++)
		if (text[n] != ',')
			digits[at++] = text[n];
	digits[at] = 0;
	*value = strtod(digits, NULL);
	return n;
}

static bool next_word(const char **at, struct word *w)
{
	const char *p = *at + strspn(*at, " \t");
	*w = (struct word){.text = p};
	if (!*p)
		return false;
	w->length = number_length(p, &w->value);
	if (w->length) {
		size_t unit = unit_length(p + w->length);
		snprintf(w->unit, sizeof w->unit, "%.*s", (int)unit, p + w->length);
		w->length += unit;
		w->number = true;
	}
	while (!w->number && p[w->length] && !strchr(" \t", p[w->length]) && !isdigit((unsigned char)p[w->length]))
		w->length++;
	*at = p + w->length;
	return true;
}

static bool same_word(enum lesson_check check, double tolerance, const struct word *a, const struct word *b)
{
	if (a->number != b->number)
		return false;
	if (!a->number)
		return a->length == b->length && !strncmp(a->text, b->text, a->length);
	if (check == LESSON_PATTERN)
		return true;
	double most = fmax(fabs(a->value), fabs(b->value));
	return !strcmp(a->unit, b->unit) && fabs(a->value - b->value) <= tolerance / 100 * most;
}

/* Columns are as wide as their numbers, so how many spaces there are does not count. */
static bool same_line(enum lesson_check check, double tolerance, const char *a, const char *b)
{
	struct word one, other;
	if (check == LESSON_EXACT)
		return !strcmp(a, b);
	for (;;) {
		bool has = next_word(&a, &one), has_other = next_word(&b, &other);
		if (!has || !has_other)
			return has == has_other;
		if (!same_word(check, tolerance, &one, &other))
			return false;
	}
}

/* Copies a line; false: the text has ended. */
static bool next_line(const char **at, char *out, size_t size)
{
	size_t length = strcspn(*at, "\n");
	if (!**at)
		return false;
	snprintf(out, size, "%.*s", (int)length, *at);
	*at += length + ((*at)[length] == '\n');
	return true;
}

bool lesson_same(enum lesson_check check, double tolerance, const char *written, const char *printed, char *why,
                 size_t size)
{
	char a[1024], b[1024];
	for (int line = 1;; line++) {
		bool has = next_line(&written, a, sizeof a), has_other = next_line(&printed, b, sizeof b);
		if (!has && !has_other)
			return true;
		if (!has || !has_other) {
			snprintf(why, size, has ? "it prints %d lines only" : "it prints more than %d lines: '%.200s'",
			         line - 1, b);
			return false;
		}
		if (!same_line(check, tolerance, a, b)) {
			snprintf(why, size, "line %d of its output is '%.200s', written is '%.200s'", line, b, a);
			return false;
		}
	}
}
