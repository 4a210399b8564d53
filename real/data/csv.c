#include "real/data/csv.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Between two digits a comma may be a decimal point. */
static bool is_in_number(const unsigned char *begin, const unsigned char *p, const unsigned char *end)
{
	return p > begin && isdigit(p[-1]) && p + 1 < end && isdigit(p[1]);
}

/* A comma, unless the line has a semicolon or a tab and no comma but within numbers. */
static unsigned char find_separator(const unsigned char *begin, const unsigned char *end)
{
	unsigned char other = ',';
	bool quoted = false;
	for (const unsigned char *p = begin; p < end && (quoted || (*p != '\n' && *p != '\r')); p++) {
		quoted ^= *p == '"';
		if (quoted)
			continue;
		if (*p == ',' && !is_in_number(begin, p, end))
			return ',';
		if (other == ',' && (*p == ';' || *p == '\t'))
			other = *p;
	}
	return other;
}

void csv_begin(struct csv *c, const char *name, const unsigned char *bytes, int64_t size)
{
	*c = (struct csv){.name = name, .next = bytes, .end = bytes + size, .next_line = 1, .row = -1};
	if (size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3))
		c->next += 3;
	c->separator = find_separator(c->next, c->end);
}

static enum status bad_line(const struct csv *c, const char *what)
{
	return status_fail(STATUS_INPUT, "%s:%" PRId64 ": %s", c->name, c->next_line, what);
}

static bool is_line_end(const struct csv *c)
{
	return c->next == c->end || *c->next == '\n' || *c->next == '\r';
}

/* "\n", "\r\n" or "\r" */
static void skip_line_end(struct csv *c)
{
	unsigned char first = *c->next++;
	if (first == '\r' && c->next < c->end && *c->next == '\n')
		c->next++;
	c->next_line++;
}

static bool is_blank(const struct csv *c)
{
	return c->next < c->end && (*c->next == ' ' || (*c->next == '\t' && c->separator != '\t'));
}

static void skip_blanks(struct csv *c)
{
	while (is_blank(c))
		c->next++;
}

static enum status keep(struct csv *c)
{
	if (!*c->next)
		return bad_line(c, "a byte of zero; this is no table in text");
	if (c->length == CSV_FIELD_BYTES - 1)
		return bad_line(c, "a field is longer than 255 bytes");
	c->next_line += *c->next == '\n';
	c->text[c->length++] = (char)*c->next++;
	return STATUS_OK;
}

static enum status read_plain(struct csv *c)
{
	enum status s = STATUS_OK;
	while (!s && !is_line_end(c) && *c->next != c->separator)
		s = keep(c);
	while (c->length && (c->text[c->length - 1] == ' ' || c->text[c->length - 1] == '\t'))
		c->length--;
	return s;
}

static enum status read_quoted(struct csv *c)
{
	enum status s = STATUS_OK;
	for (c->next++; !s;) {
		if (c->next == c->end)
			return bad_line(c, "a quote is not closed");
		if (*c->next == '"' && (++c->next == c->end || *c->next != '"'))
			break;
		s = keep(c);
	}
	skip_blanks(c);
	return s || is_line_end(c) || *c->next == c->separator ? s : bad_line(c, "text behind a closing quote");
}

enum status csv_next(struct csv *c)
{
	skip_blanks(c);
	while (!c->row_is_open && c->next < c->end && is_line_end(c)) {
		skip_line_end(c);
		skip_blanks(c);
	}
	c->length = 0;
	c->at_end = !c->row_is_open && c->next == c->end;
	if (c->at_end)
		return STATUS_OK;
	c->column = c->row_is_open ? c->column + 1 : 0;
	c->row += !c->row_is_open;
	c->line = c->next_line;
	TRY(c->next < c->end && *c->next == '"' ? read_quoted(c) : read_plain(c));
	c->text[c->length] = 0;
	c->ends_row = is_line_end(c);
	c->row_is_open = !c->ends_row;
	if (!c->ends_row)
		c->next++;
	else if (c->next < c->end)
		skip_line_end(c);
	return STATUS_OK;
}

/* ---- numbers ---- */

/* strtod also takes hexadecimal, "nan" and "inf". */
static bool is_plain(const char *p)
{
	p += *p == '-' || *p == '+';
	return (isdigit((unsigned char)p[0]) || (p[0] == '.' && isdigit((unsigned char)p[1]))) &&
	       !(p[0] == '0' && (p[1] == 'x' || p[1] == 'X'));
}

/* Most fields of pictures are short whole numbers. */
static bool short_whole(const struct csv *c, float *out)
{
	int n = 0;
	if (!c->length || c->length > 6)
		return false;
	for (int i = 0; i < c->length; i++) {
		if (c->text[i] < '0' || c->text[i] > '9')
			return false;
		n = 10 * n + (c->text[i] - '0');
	}
	*out = (float)n;
	return true;
}

bool csv_number(const struct csv *c, float *out)
{
	char *end;
	if (short_whole(c, out))
		return true;
	if (!is_plain(c->text))
		return false;
	*out = strtof(c->text, &end);
	return end == c->text + c->length && isfinite(*out);
}

bool csv_has_decimal_comma(const struct csv *c)
{
	struct csv point = *c;
	char *comma = strchr(point.text, ',');
	float number;
	if (!comma)
		return false;
	*comma = '.';
	return csv_number(&point, &number);
}
