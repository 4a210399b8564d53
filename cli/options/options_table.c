#include "cli/options/options_table.h"

#include <assert.h>
#include <string.h>

#include "strategy/strategies/strategy.h"

/* The options that are not settings. */
static const struct option_row own_rows[] = {
#define X(constant, name, type, argument, low, high, fallback, commands, help)                                         \
	{name, argument, fallback, help, TAKES_##type, commands, (double)(low), (double)(high)},
        OPTION_LIST(X)
#undef X
};
static_assert(SETTING_COUNT + sizeof own_rows / sizeof own_rows[0] == OPTION_COUNT, "one row an option");

/* The arguments of a program that reads a recipe. */
static bool is_argument(enum setting i)
{
	return i == SETTING_MODEL || i == SETTING_RANKS || i == SETTING_MICRO_BATCH || i == SETTING_ACCUMULATE ||
	       i == SETTING_PRECISION || i == SETTING_CLIP || i == SETTING_LEARNING_RATE || i == SETTING_WEIGHT_DECAY ||
	       i == SETTING_WARMUP || i == SETTING_DECAY;
}

static unsigned commands_of(enum setting i)
{
	return i == SETTING_COLLECTIVES                  ? 0 /* --comm says it */
	       : i == SETTING_CHECKPOINTS                ? 0 /* --checkpoint and --resume say it */
	       : i == SETTING_CHECKPOINT_ASYNC           ? IN_REPORTS
	       : i == SETTING_MODEL || i == SETTING_SEED ? IN_MODELS | IN(ADVISE) | IN(GENERATE) | IN(CALIBRATE)
	       : i == SETTING_RANKS ? IN_MODELS | IN(ADVISE) | IN(CALIBRATE) | IN(COLLECTIVE) | IN(DEMO)
	                            : IN_MODELS | IN(ADVISE) | IN(CALIBRATE);
}

static unsigned commands_with(enum setting i)
{
	return commands_of(i) | (is_argument(i) ? IN(CONFIG) : 0);
}

static void put_dashes(char out[OPTION_NAME], const char *name)
{
	snprintf(out, OPTION_NAME, "%s", name);
	for (char *p = out; *p; p++)
		*p = *p == '_' ? '-' : *p;
}

static void fill_row(struct option_row *out, enum setting i)
{
	const struct setting_row *s = &setting_rows[i];
	*out = (struct option_row){.argument = s->values,
	                           .fallback = s->fallback,
	                           .help = s->help,
	                           .type = s->type,
	                           .commands = commands_with(i),
	                           .low = s->low,
	                           .high = s->high};
	put_dashes(out->name, s->name);
}

const struct option_row *option_row(int i)
{
	static struct option_row settings[SETTING_COUNT];
	if (i >= SETTING_COUNT)
		return &own_rows[i - SETTING_COUNT];
	if (!*settings[i].name)
		fill_row(&settings[i], (enum setting)i);
	return &settings[i];
}

const struct command_row command_rows[COMMAND_COUNT] = {
#define X(constant, name, what, more) {#name, what, more},
        COMMAND_LIST(X)
#undef X
};

/* Options whose default or meaning differs for a command. NULL: it does not. */
static const struct special {
	enum command command;
	enum option option;
	const char *value, *help;
} specials[] = {
        {COMMAND_COMPARE, OPTION_STRATEGY, "all", "a list: a,b,c, or all for the first seven of help strategies"},
        {COMMAND_COMPARE, OPTION_RANKS, "4", NULL},
        {COMMAND_COMPARE, OPTION_TRACE, NULL,
         "beside the predictions: a recorded run, or traces of PyTorch's profiler, rank0.json,rank1.json"},
        {COMMAND_ADVISE, OPTION_STRATEGY, "all",
         "a list: a,b,c, or all for the first seven of help strategies; all,hybrid,pipeline,tensor for more"},
        {COMMAND_ADVISE, OPTION_RANKS, "4", NULL},
        {COMMAND_ADVISE, OPTION_BATCH, NULL, "global, in samples: what every line takes; 4 × ranks unless given"},
        {COMMAND_ADVISE, OPTION_PRECISION, "",
         "one, or several as in bf16/fp32; fp32 and the cluster's 16-bit type unless given"},
        {COMMAND_ADVISE, OPTION_CHECKPOINTING, "", "one, or several as in none/full; all unless given"},
        {COMMAND_ADVISE, OPTION_OFFLOAD, "", "one, or several as in none/optimizer; all unless given"},
        {COMMAND_ADVISE, OPTION_EXPORT, NULL, "draw memory against speed of all candidates, as .svg .pdf .png"},
        {COMMAND_ADVISE, OPTION_VERBOSE, NULL, "list everything that fits, and everything that does not"},
        {COMMAND_TRAIN, OPTION_RANKS, NULL,
         "how many; each has a device of its own. A..B: the largest number of these that divides the batch"},
        {COMMAND_VALIDATE, OPTION_STRATEGY, "all", "a list: a,b,c, or all for the first seven of help strategies"},
        {COMMAND_VALIDATE, OPTION_RANKS, "4", NULL},
        {COMMAND_VALIDATE, OPTION_STEPS, "5", "at least; as many as take two seconds"},
        {COMMAND_VALIDATE, OPTION_VERBOSE, NULL, "list every check, not only those that fail"},
        {COMMAND_CALIBRATE, OPTION_RANKS, "2", NULL},
        {COMMAND_CALIBRATE, OPTION_TRACE, NULL,
         "traces of PyTorch's profiler of steps of yours, rank0.json,rank1.json: products, attention, traffic and "
         "network at once"},
        {COMMAND_VIEW, OPTION_RANKS, "4", NULL},
        /* Memory climbs, buckets overlap with the backward pass, the last is exposed, and 4 ranks divide it in every
         * way. */
        {COMMAND_VIEW, OPTION_MODEL, "gpt:layers=6,width=512,heads=8,vocabulary=32768", NULL},
        {COMMAND_VIEW, OPTION_EXPORT, NULL, "write .png .svg .pdf .gif .html instead of opening a window"},
        {COMMAND_LESSON, OPTION_EXPORT, NULL, "write it as one file: NAME.html works offline, slides.pdf, handout.pdf"},
        {COMMAND_VIEW, OPTION_TRACE, NULL, "open this recorded run, or another program's Chrome trace"},
        {COMMAND_VIEW, OPTION_VALUES, NULL, "numbers in the chunks of a collective, as there are by default"},
        {COMMAND_GENERATE, OPTION_MODEL, "gpt", NULL},
        {COMMAND_GENERATE, OPTION_SEED, NULL, "of the draws"},
        {COMMAND_GENERATE, OPTION_INIT, NULL, "the weights: a file.safetensors, or a folder as Hugging Face has it"},
        {COMMAND_GENERATE, OPTION_THREADS, "",
         "CPU threads; by default one for each 16 MiB of weights, and at most one for each core"},
        {COMMAND_COLLECTIVE, OPTION_RANKS, "4", NULL},
        {COMMAND_COLLECTIVE, OPTION_GRAIN, NULL,
         "collectives by formula, or message by message, as up to 64 ranks unless this is given"},
        {COMMAND_COLLECTIVE, OPTION_CLUSTER, "v100-16gb", NULL},
        {COMMAND_COLLECTIVE, OPTION_NO_VALUES, NULL, "bytes alone, no numbers"},
        {COMMAND_COLLECTIVE, OPTION_VALUES, NULL, "numbers, as there are by default up to 8 ranks"},
        {COMMAND_DEMO, OPTION_RANKS, "4", NULL},
        {COMMAND_DEMO, OPTION_STEPS, "320", NULL},
};

static const struct special *find_special(enum option i, enum command c)
{
	static const struct special none = {.value = NULL};
	for (size_t k = 0; k < sizeof specials / sizeof specials[0]; k++)
		if (specials[k].command == c && specials[k].option == i)
			return &specials[k];
	return &none;
}

static const char *strategies_help(void)
{
	static char text[160];
	const struct strategy *g;
	size_t n = 0;
	for (int i = 0; (g = strategy_at(i)); i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", g->name);
	for (int i = 0; (g = strategy_contrast_at(i)); i++)
		n += (size_t)snprintf(text + n, sizeof text - n, " %s", g->name);
	snprintf(text + n, sizeof text - n, "; %s", option_row(OPTION_STRATEGY)->help);
	return text;
}

const char *option_help(enum option i, enum command c)
{
	const char *help = find_special(i, c)->help;
	return help ? help : i == OPTION_STRATEGY ? strategies_help() : option_row(i)->help;
}

const char *option_default(enum option i, enum command c)
{
	const char *value = find_special(i, c)->value;
	return value ? value : option_row(i)->fallback;
}

const char *command_name(enum command c)
{
	return command_rows[c].name;
}

const char *option_name(enum option i)
{
	return option_row(i)->name;
}

int option_find(const char *name)
{
	int i = OPTION_COUNT - 1;
	while (i >= 0 && strcmp(option_row(i)->name, name) != 0)
		i--;
	return i;
}

int option_find_of(const char *name, enum command c)
{
	int i = 0;
	while (i < OPTION_COUNT && (strcmp(option_row(i)->name, name) != 0 || !option_of((enum option)i, c)))
		i++;
	return i < OPTION_COUNT ? i : option_find(name);
}

void option_spell(const char *name, char *out, size_t size)
{
	char dashed[OPTION_NAME];
	enum command c = 0;
	put_dashes(dashed, name);
	if (option_find(dashed) >= 0) {
		snprintf(out, size, "--%s", dashed);
		return;
	}
	while (c < COMMAND_COUNT && strcmp(command_rows[c].name, name) != 0)
		c++;
	snprintf(out, size, "%s%s", c < COMMAND_COUNT ? "shardlab " : "", name);
}

bool option_of(enum option i, enum command c)
{
	return option_row(i)->commands >> c & 1;
}

bool option_varies(enum option i, enum command c)
{
	return (c == COMMAND_COMPARE || c == COMMAND_ADVISE) &&
	       (i == OPTION_PRECISION || i == OPTION_CHECKPOINTING || i == OPTION_OFFLOAD);
}

bool option_ranges(enum option i, enum command c)
{
	return c == COMMAND_TRAIN && i == OPTION_RANKS;
}

enum command option_home(enum option i)
{
	enum command c = 0;
	while (c < COMMAND_COUNT && !option_of(i, c))
		c++;
	return c;
}
