#include "cli/show/text.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "strategy/base/character.h"

int text_columns(FILE *out, int otherwise)
{
	enum { LEAST = 40, MOST = 110 };
	struct winsize size;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return otherwise;
	return size.ws_col < LEAST ? LEAST : size.ws_col > MOST ? MOST : size.ws_col;
}

/* ---- columns ---- */

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
			n += character_is_wide(character_next(&at)) ? 2 : 1;
	return n;
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
		unsigned c = character_next(&at);
		if (before && character_may_part(before, c))
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
