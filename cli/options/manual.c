/* The manual page, in the macros of man(7). */
#include "cli/options/manual.h"

#include <stdio.h>
#include <string.h>

#include "cli/options/options_table.h"
#include "strategy/base/character.h"

/* A dash would become a hyphen, a line that begins with a dot or a quote a macro; what is not ASCII is written by its
 * number, so that any troff reads it. */
static void roff(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	while (*text) {
		unsigned c = character_next(&text);
		if (c >= 0x80)
			printf("\\[u%04X]", c);
		else if (c == '-')
			fputs("\\-", stdout);
		else if (c == '\\')
			fputs("\\e", stdout);
		else
			putchar(c == '\n' ? ' ' : (int)c);
	}
}

static void bold(const char *before, const char *text, const char *behind)
{
	fputs("\\fB", stdout);
	roff(before);
	roff(text);
	fputs("\\fR", stdout);
	roff(behind);
}

static void heading(const char *text)
{
	printf(".SH %s\n", text);
}

static void commands(void)
{
	heading("COMMANDS");
	for (int c = 0; c < COMMAND_COUNT; c++) {
		puts(".TP");
		bold("shardlab ", command_rows[c].name, "");
		putchar('\n');
		roff(command_rows[c].what);
		if (*command_rows[c].more) {
			puts(".");
			roff(command_rows[c].more);
		}
		putchar('\n');
	}
}

static void option(enum option i)
{
	enum command first = option_home(i);
	if (first == COMMAND_COUNT)
		return;
	puts(".TP");
	bold("--", option_row(i)->name, *option_row(i)->argument ? " " : "");
	roff(option_row(i)->argument);
	putchar('\n');
	roff(option_help(i, first));
	if (*option_default(i, first)) {
		fputs(" [", stdout);
		roff(option_default(i, first));
		putchar(']');
	}
	puts(".");
	fputs(".br\nOf: ", stdout);
	for (int c = 0; c < COMMAND_COUNT; c++)
		if (option_of(i, (enum command)c))
			printf("%s%s", c == (int)first ? "" : ", ", command_rows[c].name);
	puts(".");
}

static void options(void)
{
	heading("OPTIONS");
	puts("Defaults are in brackets; a command may have another, which its help says.");
	for (int i = 0; i < OPTION_COUNT; i++)
		option((enum option)i);
}

void manual_page(void)
{
	puts(".TH SHARDLAB 1\n.SH NAME\nshardlab \\- shows, predicts and runs data\\-parallel training\n.SH SYNOPSIS\n"
	     ".B shardlab\n.I COMMAND\n[\\fB\\-\\-option\\fR \\fIvalue\\fR ...]");
	heading("DESCRIPTION");
	roff("shardlab describes each strategy of training on many GPUs (DP, DDP, ZeRO-1/2/3, FSDP, with offload, "
	     "activation checkpointing and mixed precision) once, as a plan that every rank carries out. A simulator "
	     "predicts memory, traffic and time of the plan, a window shows it step by step, and the same plan trains "
	     "for real, on CPU ranks with Open MPI and on GPUs with NCCL.");
	putchar('\n');
	commands();
	options();
	heading("EXIT STATUS");
	puts(".TP\n0\ndone\n.TP\n1\ndone and what was checked does not hold, or the run failed\n.TP\n2\nthe input is "
	     "wrong: "
	     "one line on stderr says what, where, and what to do");
	heading("SEE ALSO");
	puts("\\fBshardlab help models\\fR, \\fBstrategies\\fR, \\fBclusters\\fR, \\fBcheckpointing\\fR, "
	     "\\fBconfig\\fR; "
	     "\\fBshardlab lesson\\fR; \\fBmpirun\\fR(1)");
}
