/* The table behind options.h, for the files that read it: options.c (parsing), options_help.c, arguments.c. */
#ifndef SHARDLAB_OPTIONS_TABLE_H
#define SHARDLAB_OPTIONS_TABLE_H

#include "cli/options/options.h"

enum { OPTION_NAME = 48 };

struct option_row {
	char name[OPTION_NAME];
	const char *argument, *fallback, *help;
	enum setting_type type;
	unsigned commands;
	double low, high;
};

struct command_row {
	const char *name, *what, *more;
};

const struct option_row *option_row(int i);
/* The first command that has it; COMMAND_COUNT: none, it is a setting that another option gives. */
enum command option_home(enum option i);
int option_find(const char *name); /* "micro-batch"; -1: there is none */
/* The command's own where two have one name, as --step of view and of calibrate. */
int option_find_of(const char *name, enum command c);
extern const struct command_row command_rows[COMMAND_COUNT];

/* The help text of an option of a command. */
const char *option_help(enum option i, enum command c);
/* The default of an option for a command; "": none. */
const char *option_default(enum option i, enum command c);

/* Reads a value from text. varies: it may have several alternatives. */
enum status option_read_value(const struct option_row *row, bool varies, const char *text, struct option_value *out);

/* options_recipe.c: what --config says becomes values, as if they had been given. */
enum status options_take_recipe(struct options *o);

/* options_ranks.c. What --trace or --cluster says of the ranks; 0: nothing. */
enum status options_find_ranks(struct options *o, int64_t *ranks);
/* Makes of --cluster 2x8xh100 what it stands for. */
enum status options_count_cluster(struct options *o);
/* Where nothing else has said it: becomes --ranks. */
enum status options_take_ranks(struct options *o);
/* Says on stderr where the ranks came from, unless the settings are wrong: then theirs is the one line. */
void options_tell_ranks(const struct options *o);

#endif
