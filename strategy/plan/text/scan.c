#include "strategy/plan/text/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"

void scan_release(struct scan *s)
{
	free(s->words);
	free(s->copy);
}

void scan_place(const struct scan *s, size_t word, char *out, size_t size)
{
	int column = 1;
	if (word < s->count)
		column = s->words[word].column;
	else if (s->count)
		column = s->words[s->count - 1].column + (int)strlen(s->words[s->count - 1].text);
	snprintf(out, size, "%.200s:%d:%d", s->name, s->line, column);
}

enum status scan_fail(const struct scan *s, size_t word, const char *format, ...)
{
	char text[800], place[240];
	WITH_ARGS(format, status_format(text, sizeof text, format, args));
	scan_place(s, word, place, sizeof place);
	return status_fail(STATUS_INPUT, "%s: %s", place, text);
}

static void add_word(struct scan *s, char *text, int column)
{
	s->words = array_reserve(s->words, s->count, &s->capacity, sizeof *s->words);
	s->words[s->count++] = (struct word){text, column};
}

/* The words of s->copy, which is `length` bytes and a 0. */
static enum status split_words(struct scan *s, size_t length)
{
	bool inside = false;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)s->copy[i];
		if (c == ' ') {
			s->copy[i] = 0;
			inside = false;
			continue;
		}
		if (c < ' ' || c > '~')
			return status_fail(STATUS_INPUT,
			                   "%.200s:%d:%zu: byte 0x%02x has no place in a plan; use plain ASCII",
			                   s->name, s->line, i + 1, c);
		if (!inside)
			add_word(s, s->copy + i, i < INT32_MAX ? (int)i + 1 : INT32_MAX);
		inside = true;
	}
	return STATUS_OK;
}

enum status scan_line(struct scan *s, bool *more)
{
	s->count = s->next = 0;
	while (s->at < s->size) {
		const char *begin = s->text + s->at, *end = memchr(begin, '\n', s->size - s->at);
		size_t length = end ? (size_t)(end - begin) : s->size - s->at;
		s->at += length + (end != NULL);
		s->line++;
		if (!length || *begin == '#')
			continue;
		s->copy = array_reserve(s->copy, length, &s->copy_capacity, 1);
		memcpy(s->copy, begin, length);
		s->copy[length] = 0;
		enum status status = split_words(s, length);
		*more = s->count > 0;
		if (status || *more)
			return status;
	}
	*more = false;
	return STATUS_OK;
}

/* ---- words ---- */

bool scan_is(struct scan *s, const char *text)
{
	if (s->next >= s->count || strcmp(s->words[s->next].text, text))
		return false;
	s->next++;
	return true;
}

enum status scan_word(struct scan *s, const char *what, char **out)
{
	if (s->next >= s->count)
		return scan_fail(s, s->next, "the line ends here; %s is missing", what);
	*out = s->words[s->next++].text;
	return STATUS_OK;
}

bool whole_parse(const char *text, int64_t high, int64_t *out)
{
	int64_t n = 0;
	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *text - '0', &n) || n > high)
			return false;
	}
	*out = n;
	return true;
}

enum status scan_whole(struct scan *s, const char *what, int64_t low, int64_t high, int64_t *out)
{
	char *text = "";
	TRY(scan_word(s, what, &text));
	if (!whole_parse(text, high, out) || *out < low)
		return scan_fail(s, s->next - 1, "'%.40s' is not %s, a whole number from %lld to %lld", text, what,
		                 (long long)low, (long long)high);
	return STATUS_OK;
}

enum status scan_real(struct scan *s, const char *what, double *out)
{
	char *text = "", *end;
	TRY(scan_word(s, what, &text));
	/* strtod takes more than digits: no "nan", "inf", hexadecimal */
	bool plain = strspn(text, "0123456789.eE+-") == strlen(text);
	*out = plain ? strtod(text, &end) : 0;
	if (!plain || *end || end == text || !isfinite(*out) || *out < 0)
		return scan_fail(s, s->next - 1, "'%.40s' is not %s, a number that is not negative", text, what);
	return STATUS_OK;
}

enum status scan_expect(struct scan *s, const char *text)
{
	if (scan_is(s, text))
		return STATUS_OK;
	return scan_fail(s, s->next, "'%s' belongs here", text);
}

static enum status fail_unknown(const struct scan *s, const char *what, const char *known)
{
	return scan_fail(s, s->next - 1, "unknown %s '%.60s'%s", what, s->words[s->next - 1].text, known);
}

static enum status scan_its(struct scan *s, const char *what, char **out)
{
	char its[60];
	snprintf(its, sizeof its, "its %s", what);
	return scan_word(s, its, out);
}

enum status scan_name(struct scan *s, const char *what, const char *(*name)(unsigned), int count, int *out)
{
	enum { LISTED = 8, LENGTH = 24 };
	char *text = "", known[LISTED * LENGTH] = "";
	TRY(scan_its(s, what, &text));
	for (*out = 0; *out < count; ++*out)
		if (!strcmp(name((unsigned)*out), text))
			return STATUS_OK;
	for (int i = 0, n = 0; i < count && count <= LISTED; i++)
		if (*name((unsigned)i))
			n += snprintf(known + n, LENGTH, "%s%.20s", n ? ", " : "; known: ", name((unsigned)i));
	return fail_unknown(s, what, known);
}

enum status scan_known(struct scan *s, const char *what, const struct names *names, int *out)
{
	char *text = "";
	TRY(scan_its(s, what, &text));
	*out = names_find(names, text);
	return *out < 0 ? fail_unknown(s, what, "") : STATUS_OK;
}

enum status scan_end(const struct scan *s)
{
	if (s->next >= s->count)
		return STATUS_OK;
	return scan_fail(s, s->next, "'%.60s' has no place here; take it out", s->words[s->next].text);
}

/* ---- names ---- */

static size_t place_of(const struct names *n, const char *name)
{
	uint64_t h = 1469598103934665603u;
	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211u;
	size_t at = (size_t)(h ^ h >> 32) & (n->size - 1);
	while (n->name[at] && strcmp(n->name[at], name))
		at = (at + 1) & (n->size - 1);
	return at;
}

static void names_grow(struct names *n)
{
	struct names old = *n;
	n->size = old.size ? 2 * old.size : 64;
	n->name = array_make(n->size, sizeof *n->name);
	n->number = array_make(n->size, sizeof *n->number);
	for (size_t i = 0; i < old.size; i++)
		if (old.name[i]) {
			size_t at = place_of(n, old.name[i]);
			n->name[at] = old.name[i];
			n->number[at] = old.number[i];
		}
	free(old.name);
	free(old.number);
}

void names_release(struct names *n)
{
	free(n->name);
	free(n->number);
	*n = (struct names){0};
}

bool names_add(struct names *n, const char *name, int number)
{
	if (2 * (n->count + 1) > n->size)
		names_grow(n);
	size_t at = place_of(n, name);
	if (n->name[at])
		return false;
	n->name[at] = name;
	n->number[at] = number;
	n->count++;
	return true;
}

int names_find(const struct names *n, const char *name)
{
	if (!n->size)
		return -1;
	size_t at = place_of(n, name);
	return n->name[at] ? n->number[at] : -1;
}
