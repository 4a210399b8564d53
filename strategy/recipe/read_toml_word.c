/* The parts of TOML's values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/recipe/read_toml.h"

void toml_skip_blanks(struct reading *r)
{
	while (reading_peek(r, 0) == ' ' || reading_peek(r, 0) == '\t')
		r->at++;
}

static bool is_control(int c)
{
	return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f;
}

/* A line ends in \n or \r\n. */
bool toml_ends_line(const struct reading *r)
{
	int c = reading_peek(r, 0);
	return c < 0 || c == '\n' || (c == '\r' && reading_peek(r, 1) == '\n');
}

void toml_next_line(struct reading *r)
{
	r->at += *r->at == '\r';
	reading_step(r);
}

enum status toml_skip_comment(struct reading *r)
{
	if (reading_peek(r, 0) != '#')
		return STATUS_OK;
	for (; !toml_ends_line(r); r->at++)
		if (is_control(reading_peek(r, 0)))
			return reading_fail(r, "a control character in a comment");
	return STATUS_OK;
}

enum status toml_unexpected(const struct reading *r, const char *wanted)
{
	int c = reading_peek(r, 0);
	if (c < 0)
		return reading_fail(r, "the file ends where %s should be", wanted);
	if (toml_ends_line(r))
		return reading_fail(r, "the line ends where %s should be", wanted);
	if (is_control(c) || c >= 0x80)
		return reading_fail(r, "this character stands where %s should be", wanted);
	return reading_fail(r, "'%c' where %s should be", c, wanted);
}

/* ---- texts ---- */

static enum status read_unicode(struct reading *r, int digits, struct reading_text *t)
{
	struct reading begin = *r;
	unsigned c;
	if (!reading_hexadecimal(r, digits, &c))
		return reading_fail(&begin, "\\%c needs %s hexadecimal digits", digits == 4 ? 'u' : 'U',
		                    digits == 4 ? "four" : "eight");
	if (!c || c > 0x10ffff || c >> 11 == 0xd800 >> 11)
		return reading_fail(&begin, "this is no character");
	reading_put(t, c);
	return STATUS_OK;
}

/* Behind a backslash. */
static enum status read_escape(struct reading *r, struct reading_text *t)
{
	static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
	int c = reading_peek(r, 0);
	const char *at = c > 0 ? strchr(names, c) : NULL;
	if (!at && c != 'u' && c != 'U')
		return reading_fail(r, "a backslash, and behind it none of \" \\ b f n r t u U");
	r->at++;
	if (!at)
		return read_unicode(r, c == 'u' ? 4 : 8, t);
	reading_put(t, (unsigned char)values[at - names]);
	return STATUS_OK;
}

/* A backslash at the end of a line of """ takes the line end and all white space behind it away. */
static bool skip_line_end(struct reading *r)
{
	struct reading ahead = *r;
	toml_skip_blanks(&ahead);
	if (ahead.at == ahead.end || !toml_ends_line(&ahead))
		return false;
	while (ahead.at < ahead.end && toml_ends_line(&ahead)) {
		toml_next_line(&ahead);
		toml_skip_blanks(&ahead);
	}
	*r = ahead;
	return true;
}

/* Room for what is left of the line, or of the file: a text is no longer than it is written. */
static struct reading_text begin_text(const struct reading *r, bool of_lines)
{
	const char *end = of_lines ? NULL : memchr(r->at, '\n', (size_t)(r->end - r->at));
	return (struct reading_text){.at = arena_alloc(r->arena, (size_t)((end ? end : r->end) - r->at) + 8)};
}

static enum status take_character(struct reading *r, struct reading_text *t, int quote, bool of_lines)
{
	int c = reading_peek(r, 0);
	if (of_lines && toml_ends_line(r)) {
		t->at[t->length++] = '\n';
		toml_next_line(r);
		return STATUS_OK;
	}
	if (is_control(c))
		return reading_fail(r, "a control character in a text");
	r->at++;
	if (c == '\\' && quote == '"')
		return of_lines && skip_line_end(r) ? STATUS_OK : read_escape(r, t);
	t->at[t->length++] = (char)c;
	return STATUS_OK;
}

enum status toml_line_text(struct reading *r, const char **out)
{
	struct reading begin = *r;
	int quote = (unsigned char)*r->at++;
	struct reading_text t = begin_text(r, false);
	while (reading_peek(r, 0) != quote) {
		if (toml_ends_line(r))
			return reading_fail(&begin, "a text begins here, and its line ends without the quote");
		TRY(take_character(r, &t, quote, false));
	}
	r->at++;
	*out = t.at;
	return STATUS_OK;
}

static bool is_closing(const struct reading *r, int quote)
{
	return reading_peek(r, 0) == quote && reading_peek(r, 1) == quote && reading_peek(r, 2) == quote;
}

/* A line end behind the opening quotes is none of the text; up to two quotes before the closing ones are. */
enum status toml_lines_text(struct reading *r, const char **out)
{
	struct reading begin = *r;
	int quote = (unsigned char)*r->at;
	r->at += 3;
	struct reading_text t = begin_text(r, true);
	if (r->at < r->end && toml_ends_line(r))
		toml_next_line(r);
	while (!is_closing(r, quote)) {
		TRY(r->at < r->end ? take_character(r, &t, quote, true)
		                   : reading_fail(&begin, "%c%c%c begins a text here, and nothing ends it", quote,
		                                  quote, quote));
	}
	r->at += 3;
	for (int i = 0; i < 2 && reading_peek(r, 0) == quote; i++)
		t.at[t.length++] = *r->at++;
	*out = t.at;
	return STATUS_OK;
}

/* ---- numbers ---- */

/* Past digits with single underlines between them; NULL: there are none. */
static const char *pass_digits(const char *p, const char *digits)
{
	const char *end = NULL;
	for (size_t n; (n = strspn(p, digits)); p = end + 1) {
		end = p + n;
		if (*end != '_')
			return end;
	}
	return end;
}

/* 0x1F, 0o17, 0b11: all of the word. */
static bool is_based(const char *word, int *base)
{
	static const char *const digits[] = {"0123456789abcdefABCDEF", "01234567", "01"};
	static const int bases[] = {16, 8, 2};
	int i = word[1] == 'x' ? 0 : word[1] == 'o' ? 1 : word[1] == 'b' ? 2 : -1;
	if (word[0] != '0' || i < 0)
		return false;
	*base = bases[i];
	const char *end = pass_digits(word + 2, digits[i]);
	return end && !*end;
}

static bool is_decimal(const char *word, bool *whole)
{
	static const char digits[] = "0123456789";
	const char *p = word + (*word == '+' || *word == '-'), *end = *p == '0' ? p + 1 : pass_digits(p, digits);
	if (!reading_digits(p) || !end)
		return false;
	*whole = !*end;
	if (*end == '.' && !(end = pass_digits(end + 1, digits)))
		return false;
	if (*end == 'e' || *end == 'E')
		end = pass_digits(end + 1 + (end[1] == '+' || end[1] == '-'), digits);
	return end && !*end;
}

static const char *without_underlines(struct arena *a, const char *word)
{
	char *text = arena_copy(a, word), *to = text;
	for (const char *p = word; *p; p++)
		if (*p != '_')
			*to++ = *p;
	*to = '\0';
	return text;
}

static bool take_number(struct arena *a, struct tree *v, const char *word)
{
	int base = 10;
	const char *plain = without_underlines(a, word), *name = word + (*word == '+' || *word == '-');
	v->kind = TREE_NUMBER;
	v->whole = true;
	if (is_based(word, &base)) {
		v->number = (double)strtoull(plain + 2, NULL, base);
		return true;
	}
	if (!strcmp(name, "inf") || !strcmp(name, "nan")) {
		v->whole = false;
		v->number = *name == 'n' ? NAN : *word == '-' ? -INFINITY : INFINITY;
		return true;
	}
	v->number = strtod(plain, NULL);
	return is_decimal(word, &v->whole);
}

/* ---- dates ---- */

/* A number of two digits in [low, high], and the character behind it, unless that is 0. */
static bool pass_pair(const char **p, int low, int high, int behind)
{
	if (reading_digits(*p) < 2)
		return false;
	int n = ((*p)[0] - '0') * 10 + (*p)[1] - '0';
	*p += 2;
	if (n < low || n > high || (behind && **p != behind))
		return false;
	*p += behind != 0;
	return true;
}

static bool pass_time(const char **p)
{
	if (!pass_pair(p, 0, 23, ':') || !pass_pair(p, 0, 59, ':') || !pass_pair(p, 0, 59, 0))
		return false;
	if (**p != '.')
		return true;
	size_t n = reading_digits(*p + 1);
	*p += 1 + n;
	return n > 0;
}

static bool pass_day(const char **p)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	if (reading_digits(*p) != 4 || (*p)[4] != '-')
		return false;
	int year = atoi(*p), month = atoi(*p + 5);
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	*p += 5;
	return year && pass_pair(p, 1, 12, '-') && pass_pair(p, 1, days[month - 1] + (leap && month == 2), 0);
}

/* 2026-01-31, 2026-01-31T07:30:00.5Z, with a space or an offset, 07:30:00. */
static bool is_date(const char *word)
{
	const char *p = word;
	if (reading_digits(p) == 2)
		return pass_time(&p) && !*p;
	if (!pass_day(&p))
		return false;
	if (!*p)
		return true;
	if (!strchr("Tt ", *p++) || !pass_time(&p))
		return false;
	if (*p == 'Z' || *p == 'z')
		return !p[1];
	if (*p != '+' && *p != '-')
		return !*p;
	p++;
	return pass_pair(&p, 0, 23, ':') && pass_pair(&p, 0, 59, 0) && !*p;
}

/* ---- words ---- */

/* Up to what ends a word, from `ahead` characters on. */
static int word_end(const struct reading *r, int ahead)
{
	while (reading_peek(r, ahead) >= 0 && !strchr(" \t\r\n,]}#", reading_peek(r, ahead)))
		ahead++;
	return ahead;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* A date may have a space before its time. */
static const char *cut_word(const struct reading *r)
{
	int n = word_end(r, 0);
	if (n == 10 && r->at[4] == '-' && reading_peek(r, 10) == ' ' && is_digit(reading_peek(r, 11)))
		n = word_end(r, 11);
	return arena_print(r->arena, "%.*s", n, r->at);
}

enum status toml_word(struct reading *r, struct tree *v)
{
	const char *word = cut_word(r);
	bool yes = !strcmp(word, "true");
	v->text = word;
	if (!*word)
		return toml_unexpected(r, "a value");
	if (yes || !strcmp(word, "false")) {
		v->kind = TREE_FLAG;
		v->number = yes;
	} else if (is_date(word)) {
		v->kind = TREE_TEXT;
	} else if (!take_number(r->arena, v, word)) {
		return reading_fail(r, "%.40s is no value; a text stands in quotes", word);
	}
	r->at += strlen(word);
	return STATUS_OK;
}
