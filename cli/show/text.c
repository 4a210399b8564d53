#include "cli/show/text.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int text_columns(FILE *out, int otherwise)
{
	enum { LEAST = 40, MOST = 110 };
	struct winsize size;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return otherwise;
	return size.ws_col < LEAST ? LEAST : size.ws_col > MOST ? MOST : size.ws_col;
}

/* ---- columns ---- */

/* The character at *at, which is moved behind it. Bytes that are no UTF-8 count each. */
static unsigned next_character(const char **at)
{
	const unsigned char *c = (const unsigned char *)*at;
	int more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc0 ? 1 : 0;
	unsigned value = more ? *c & (0x3fu >> more) : *c;
	for (c++; more && (*c & 0xc0) == 0x80; more--, c++)
		value = value << 6 | (*c & 0x3f);
	*at = (const char *)c;
	return value;
}

/* Two columns, as terminals have them: Chinese, Japanese, Korean, and their punctuation. */
static bool is_wide(unsigned c)
{
	static const struct {
		unsigned first, last;
	} ranges[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
	              {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x20000, 0x3fffd}};
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

/* Moves *at behind "\033[1m" and the like, if one begins there. */
static bool skip_colour(const char **at)
{
	if (**at != '\033')
		return false;
	*at += strcspn(*at, "m");
	*at += **at == 'm';
	return true;
}

/* Columns of the first `length` bytes, colours not among them. */
static int shown(const char *text, size_t length)
{
	int n = 0;
	for (const char *at = text; at < text + length;)
		if (!skip_colour(&at))
			n += is_wide(next_character(&at)) ? 2 : 1;
	return n;
}

/* ---- where a line may end ---- */

static bool is_among(unsigned c, const char *set)
{
	while (*set)
		if (next_character(&set) == c)
			return true;
	return false;
}

/* Between two characters without a space: beside a wide one, but not before what closes or behind what opens. */
static bool may_part(unsigned before, unsigned after)
{
	return (is_wide(before) || is_wide(after)) && !is_among(before, "（《【「“‘([") &&
	       !is_among(after, "，。、；：！？）》】」”’…—·,.;:!?)]%");
}

/* The bytes from here to where a line may end. */
static size_t unbroken(const char *text)
{
	unsigned before = 0;
	const char *at = text;
	while (*at && *at != ' ') {
		const char *begin = at;
		if (skip_colour(&at))
			continue;
		unsigned c = next_character(&at);
		if (before && may_part(before, c))
			return (size_t)(begin - text);
		before = c;
	}
	return (size_t)(at - text);
}

/* ---- lines ---- */

int text_width(const char *utf8)
{
	return shown(utf8, strlen(utf8));
}

void text_items(FILE *out, const char *text, const char *separator, int indent, int columns)
{
	size_t gap = strlen(separator);
	int column = indent;
	while (*text) {
		const char *end = strstr(text, separator);
		size_t length = end ? (size_t)(end - text) : strlen(text);
		int width = shown(text, length), between = text_width(separator);
		if (column > indent && column + between + width > columns) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputs(separator, out);
			column += between;
		}
		fprintf(out, "%.*s", (int)length, text);
		column += width;
		text += length + (end ? gap : 0);
	}
	fputc('\n', out);
}

void text_wrapped(FILE *out, const char *text, int indent, int columns)
{
	int column = indent;
	for (bool gap = false; *text;) {
		size_t length = unbroken(text);
		int width = shown(text, length);
		if (column > indent && column + gap + width > columns) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (gap && column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)length, text);
		column += width;
		text += length;
		gap = *text == ' ';
		text += gap;
	}
	fputc('\n', out);
}
