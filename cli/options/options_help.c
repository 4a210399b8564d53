#include <string.h>

#include "cli/options/options_table.h"
#include "cli/show/text.h"

/* The width for output that is not a terminal. */
enum { COLUMNS = 80 };

/* Examples for help. A test runs those that are quick. */
static const struct {
	enum command command;
	const char *line;
} examples[] = {
        {COMMAND_PLAN, "shardlab plan --model mlp --strategy zero2 --ranks 4"},
        {COMMAND_PLAN, "shardlab plan --strategy dp --ranks 4 --role worker"},
        {COMMAND_SIM, "shardlab sim --model gpt2-1558m --strategy zero2 --ranks 8 --cluster h100 --precision bf16"},
        {COMMAND_SIM, "shardlab sim --model params=7e9:units=32 --strategy zero3 --ranks 4 --cluster a100-40gb"},
        {COMMAND_SIM, "shardlab sim --model ./Qwen2.5-7B --sequence 4096 --strategy fsdp --ranks 8 --cluster h100"},
        {COMMAND_COMPARE, "shardlab compare --model gpt2-124m --ranks 8 --cluster a100-80gb --precision bf16"},
        {COMMAND_COMPARE, "shardlab compare --strategy ddp,zero3 --activation-checkpointing none/full "
                          "--model gpt2-774m --cluster a100-40gb"},
        {COMMAND_TRAIN, "shardlab train --model gpt --strategy zero3 --ranks 4 --steps 50"},
        {COMMAND_TRAIN, "shardlab train --ranks 2 --trace run.json"},
        {COMMAND_VALIDATE, "shardlab validate --model gpt --strategy ddp,zero2 --ranks 2"},
        {COMMAND_CALIBRATE, "shardlab calibrate --quick --output mine.yaml"},
        {COMMAND_GENERATE, "shardlab generate --init small --prompt \"A hacker is\""},
        {COMMAND_GENERATE, "shardlab generate --init ./Qwen3-0.6B --prompt-file question.txt --temperature 0"},
        {COMMAND_CHECKPOINT, "shardlab checkpoint show run"},
        {COMMAND_CHECKPOINT, "shardlab checkpoint weights run --save small"},
        {COMMAND_VIEW, "shardlab view --model gpt --strategy pipeline --accumulate 4 --scene timeline"},
        {COMMAND_VIEW, "shardlab view --scene collective --export ring.gif"},
        {COMMAND_VIEW, "shardlab view --collective ring-all-reduce --ranks 5 --bytes 40"},
        {COMMAND_COLLECTIVE, "shardlab collective ring-all-reduce --ranks 5 --bytes 40"},
        {COMMAND_TRACE, "shardlab trace rank0.json rank1.json"},
        {COMMAND_TRACE,
         "shardlab compare --trace rank0.json,rank1.json --strategy ddp --model gpt2-124m --cluster a100-80gb"},
        {COMMAND_CONFIG, "shardlab config ds_config.json --model ./Qwen2.5-7B --ranks 8"},
        {COMMAND_CONFIG, "shardlab sim --config ds_config.json --model ./Qwen2.5-7B --ranks 8 --cluster h100"},
        {COMMAND_DEMO, "shardlab demo --ranks 2"},
        {COMMAND_LESSON, "shardlab lesson 3"},
        {COMMAND_LESSON, "shardlab lesson 3 --export slides.pdf"},
};

/* The first option of each group that help sets apart. */
static const enum option groups[] = {OPTION_BATCH,  OPTION_PRECISION, OPTION_OPTIMIZER, OPTION_BUCKET,   OPTION_SEED,
                                     OPTION_EXPORT, OPTION_SCENE,     OPTION_STEPS,     OPTION_EVALUATE, OPTION_TRACE};

/* Options that are not settings, but are listed after one. */
static const struct {
	enum option option, after;
} placed[] = {
        {OPTION_CONFIG, OPTION_STRATEGY}, {OPTION_CLUSTER, OPTION_RANKS}, {OPTION_OFFLOAD_FOLDER, OPTION_OFFLOAD}};
enum { PLACED = sizeof placed / sizeof placed[0] };

static bool begins_group(int option)
{
	for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
		if (groups[g] == (enum option)option)
			return true;
	return false;
}

void commands_help(FILE *out)
{
	fputs("shardlab shows, predicts and runs data-parallel training.\n\n", out);
	for (int c = 0; c < COMMAND_COUNT; c++) {
		fprintf(out, "  shardlab %-10s ", command_rows[c].name);
		text_wrapped(out, command_rows[c].what, 22, text_columns(out, COLUMNS));
	}
	fputs("\nTo begin with:\n\n"
	      "  shardlab demo                    # everything in two minutes\n"
	      "  shardlab compare --model gpt2-124m --ranks 8 --cluster a100-80gb\n"
	      "  shardlab train --model gpt --strategy zero3 --ranks 4\n\n",
	      out);
	text_wrapped(out,
	             "For the options of a command: shardlab help COMMAND. Exit status: 0 done; 1 the run failed, or "
	             "what was checked does not hold; 2 the input is wrong, and one line on stderr says what; 75 a "
	             "training was stopped by a signal and ended in order.",
	             0, text_columns(out, COLUMNS));
}

static void option_line(enum option i, enum command c, int columns, FILE *out)
{
	enum { INDENT = 30 };
	char head[128], text[256];
	const char *fallback = option_default(i, c), *help = option_help(i, c);
	snprintf(head, sizeof head, "--%s%s%s", option_row(i)->name, *option_row(i)->argument ? " " : "",
	         option_row(i)->argument);
	snprintf(text, sizeof text, "%s%s%s%s", help, *fallback ? " [" : "", fallback, *fallback ? "]" : "");
	int shown = text_width(head);
	if (shown <= INDENT - 4)
		fprintf(out, "  %s%*s", head, INDENT - 2 - shown, "");
	else
		fprintf(out, "  %s\n%*s", head, INDENT, "");
	text_wrapped(out, text, INDENT, columns);
}

void option_explain(enum option i, FILE *out)
{
	int columns = text_columns(out, COLUMNS);
	enum command first = option_home(i);
	char text[512] = "Commands:";
	option_line(i, first, columns, out);
	for (int c = 0; c < COMMAND_COUNT; c++)
		if (option_of(i, (enum command)c)) {
			size_t n = strlen(text);
			snprintf(text + n, sizeof text - n, "%s %s", c == (int)first ? "" : ",", command_rows[c].name);
		}
	fputc('\n', out);
	text_wrapped(out, text, 0, columns);
}

struct help_list {
	enum command command;
	int columns;
	FILE *out;
	bool apart, any; /* leave a gap before the next line; some line was printed */
};

static void list_option(struct help_list *l, enum option i)
{
	l->apart |= l->any && begins_group((int)i);
	if (!option_of(i, l->command))
		return;
	if (l->apart)
		fputc('\n', l->out);
	option_line(i, l->command, l->columns, l->out);
	l->apart = false;
	l->any = true;
}

static bool is_placed(enum option i)
{
	for (int k = 0; k < PLACED; k++)
		if (placed[k].option == i)
			return true;
	return false;
}

void options_help(enum command c, FILE *out)
{
	int columns = text_columns(out, COLUMNS);
	fprintf(out, "shardlab %s: ", command_rows[c].name);
	text_wrapped(out, command_rows[c].what, 0, columns - text_width(command_rows[c].name) - 11);
	text_wrapped(out, command_rows[c].more, 0, columns);
	fputc('\n', out);
	for (size_t e = 0; e < sizeof examples / sizeof examples[0]; e++)
		if (examples[e].command == c)
			fprintf(out, "  %s\n", examples[e].line);
	fputs("\nOptions, their defaults in brackets:\n\n", out);
	struct help_list list = {.command = c, .columns = columns, .out = out};
	for (int i = 0; i < OPTION_COUNT; i++) {
		if (!is_placed((enum option)i))
			list_option(&list, (enum option)i);
		for (int k = 0; k < PLACED; k++)
			if ((int)placed[k].after == i)
				list_option(&list, placed[k].option);
	}
}
