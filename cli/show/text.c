#include "cli/show/text.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int text_columns(FILE *out, int otherwise)
{
	enum { LEAST = 60, MOST = 110 };
	struct winsize size;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return otherwise;
	return size.ws_col < LEAST ? LEAST : size.ws_col > MOST ? MOST : size.ws_col;
}

/* Columns of the first `length` bytes: code points, less those of "\033[1m" and the like. */
static int shown(const char *text, size_t length)
{
	int n = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\033')
			i += strcspn(text + i, "m");
		else
			n += (text[i] & 0xc0) != 0x80;
	}
	return n;
}

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
	text_items(out, text, " ", indent, columns);
}
