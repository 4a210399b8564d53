#include <string.h>

#include "cli/options_table.h"
#include "cli/table.h"

void commands_help(FILE *out)
{
	fputs("shardlab shows, predicts and runs data-parallel training.\n\n", out);
	for (int c = 0; c < COMMAND_COUNT; c++)
		fprintf(out, "  shardlab %-10s %s\n", command_rows[c].name, command_rows[c].what);
	fputs("\nTo begin with:\n\n"
	      "  shardlab demo                                             everything in two minutes\n"
	      "  shardlab compare --model gpt2-124m --ranks 8 --cluster a100-80gb --precision bf16\n"
	      "  shardlab train --model gpt --strategy zero3 --ranks 4\n\n"
	      "Options of a command: shardlab help COMMAND. Exit status: 0 done, 1 done and what was checked does not "
	      "hold\n"
	      "or the run failed, 2 the input is wrong (one line on stderr says what).\n",
	      out);
}

/* Breaks `text` into lines that end before `width`, the later ones indented. */
static void print_wrapped(FILE *out, const char *text, int indent, int width)
{
	int column = indent;
	while (*text) {
		size_t length = strcspn(text, " ");
		int shown = 0;
		for (size_t i = 0; i < length; i++)
			shown += (text[i] & 0xc0) != 0x80;
		if (column > indent && column + 1 + shown > width) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)length, text);
		column += shown;
		text += length + (text[length] == ' ');
	}
	fputc('\n', out);
}

void options_help(enum command c, FILE *out)
{
	enum { INDENT = 34, WIDTH = 110 };
	fprintf(out, "shardlab %s: %s\n", command_rows[c].name, command_rows[c].what);
	if (*command_rows[c].more)
		fprintf(out, "%s\n", command_rows[c].more);
	fputc('\n', out);
	for (int i = 0; i < OPTION_COUNT; i++) {
		if (!option_of((enum option)i, c))
			continue;
		char head[128], text[256];
		const char *fallback = option_default((enum option)i, c), *help = option_help((enum option)i, c);
		snprintf(head, sizeof head, "--%s%s%s", option_rows[i].name, *option_rows[i].argument ? " " : "",
		         option_rows[i].argument);
		snprintf(text, sizeof text, "%s%s%s%s", help, *fallback ? *help ? " [" : "[" : "", fallback,
		         *fallback ? "]" : "");
		int shown = text_width(head);
		if (shown <= INDENT - 4)
			fprintf(out, "  %s%*s", head, INDENT - 2 - shown, "");
		else
			fprintf(out, "  %s\n%*s", head, INDENT, "");
		print_wrapped(out, text, INDENT, WIDTH);
	}
}
