#include "cli/text.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int text_width(const char *utf8)
{
	int n = 0;
	for (; *utf8; utf8++)
		n += (*utf8 & 0xc0) != 0x80;
	return n;
}

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

void text_wrapped(FILE *out, const char *text, int indent, int columns)
{
	int column = indent;
	while (*text) {
		size_t length = strcspn(text, " ");
		int width = shown(text, length);
		if (column > indent && column + 1 + width > columns) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)length, text);
		column += width;
		text += length + (text[length] == ' ');
	}
	fputc('\n', out);
}
