#include "cli/options/options.h"

#include <string.h>

#include "cli/options/options_table.h"
#include "strategy/base/number.h"
#include "strategy/settings/checkpointing.h"

/* What has a name in the table and is refused in this version. value NULL: anything but the default. */
static const struct {
	enum option option;
	const char *value;
	const char *why;
} refusals[] = {
        {OPTION_CONFIG, NULL,
         "DeepSpeed and Accelerate files are not read; which options their keys are: shardlab help config"},
};

/* ---- suggestions ---- */

/* Levenshtein's distance: insertions, deletions and substitutions that make b of a. */
static int distance(const char *a, const char *b)
{
	enum { LONGEST = 40 };
	int row[LONGEST + 1];
	int columns = (int)strnlen(b, LONGEST);
	for (int j = 0; j <= columns; j++)
		row[j] = j;
	for (int i = 0; i < LONGEST && a[i]; i++) {
		int diagonal = row[0];
		row[0] = i + 1;
		for (int j = 0; j < columns; j++) {
			int best = diagonal + (a[i] != b[j]);
			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[columns];
}

/* " (did you mean X?)", or nothing when nothing is near. */
struct suggestion {
	const char *name;
	int distance;
};

static void consider(struct suggestion *s, const char *typed, const char *name)
{
	int d = distance(typed, name);
	/* Short words must be nearer; a beginning of a word is near. */
	bool near = d <= 1 + (int)strlen(typed) / 4 || (strlen(typed) >= 3 && !strncmp(typed, name, strlen(typed)));
	if (near && (!s->name || d < s->distance))
		*s = (struct suggestion){name, d};
}

enum status command_find(const char *name, enum command *out)
{
	char list[256] = "";
	struct suggestion near = {0};
	for (int c = 0; c < COMMAND_COUNT; c++) {
		if (!strcmp(command_rows[c].name, name)) {
			*out = (enum command)c;
			return STATUS_OK;
		}
		consider(&near, name, command_rows[c].name);
		size_t n = strlen(list);
		snprintf(list + n, sizeof list - n, "%s%s", c ? ", " : "", command_rows[c].name);
	}
	return status_fail(STATUS_INPUT, "unknown command '%.40s'%s%s%s; known: %s", name,
	                   near.name ? " (did you mean " : "", near.name ? near.name : "", near.name ? "?)" : "", list);
}

/* What other programs call it. */
static const struct {
	const char *name;
	enum option option;
} foreign[] = {
        {"per-device-train-batch-size", OPTION_MICRO_BATCH},
        {"train-micro-batch-size-per-gpu", OPTION_MICRO_BATCH},
        {"batch-size", OPTION_BATCH},
        {"global-batch-size", OPTION_BATCH},
        {"gradient-accumulation-steps", OPTION_ACCUMULATE},
        {"seq-length", OPTION_SEQUENCE},
        {"gpus", OPTION_RANKS},
        {"nproc", OPTION_RANKS},
        {"nproc-per-node", OPTION_RANKS},
        {"num-processes", OPTION_RANKS},
        {"world-size", OPTION_RANKS},
        {"zero", OPTION_STRATEGY},
        {"zero-stage", OPTION_STRATEGY},
        {"bf16", OPTION_PRECISION},
        {"fp16", OPTION_PRECISION},
        {"dtype", OPTION_PRECISION},
        {"mixed-precision", OPTION_PRECISION},
        {"lr", OPTION_LEARNING_RATE},
        {"max-grad-norm", OPTION_CLIP},
        {"gradient-clipping", OPTION_CLIP},
        {"checkpointing", OPTION_CHECKPOINTING},
        {"gradient-checkpointing", OPTION_CHECKPOINTING},
        {"cpu-offload", OPTION_OFFLOAD},
        {"deepspeed", OPTION_CONFIG},
        {"config-file", OPTION_CONFIG},
};

/* "gradient_accumulation_steps" too. */
static bool is_foreign(const char *typed, const char *name)
{
	for (; *typed && *name; typed++, name++)
		if (*typed != *name && (*typed != '_' || *name != '-'))
			return false;
	return !*typed && !*name;
}

static enum status unknown_option(enum command c, const char *name)
{
	struct suggestion near = {0};
	for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
		if (is_foreign(name, foreign[i].name) && option_of(foreign[i].option, c))
			return status_fail(STATUS_INPUT, "unknown option --%.40s; here it is --%s %s", name,
			                   option_rows[foreign[i].option].name,
			                   option_rows[foreign[i].option].argument);
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_of((enum option)i, c))
			consider(&near, name, option_rows[i].name);
	if (near.name)
		return status_fail(STATUS_INPUT, "unknown option --%.40s; did you mean --%s?", name, near.name);
	return status_fail(STATUS_INPUT, "unknown option --%.40s; see: shardlab help %s", name, command_rows[c].name);
}

/* An option that exists, but not for this command. */
static enum status misplaced_option(enum command c, enum option i)
{
	char list[128] = "";
	for (int k = 0; k < COMMAND_COUNT; k++)
		if (option_of(i, (enum command)k)) {
			size_t n = strlen(list);
			snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", command_rows[k].name);
		}
	return status_fail(STATUS_INPUT, "%s has no option --%s; those that have it: %s", command_rows[c].name,
	                   option_rows[i].name, list);
}

/* ---- values ---- */

static enum status check_choice(const struct option_row *row, const char *text)
{
	for (const char *p = row->argument; *p;) {
		size_t length = strcspn(p, "|");
		const char *equals = memchr(p, '=', length);
		if (equals && !strncmp(text, p, (size_t)(equals + 1 - p))) {
			int64_t n;
			char what[64];
			snprintf(what, sizeof what, "--%s %.*s", row->name, (int)(equals - p), p);
			return number_whole(text + (equals + 1 - p), what, 1, INT64_MAX, &n);
		}
		if (strlen(text) == length && !strncmp(text, p, length))
			return STATUS_OK;
		p += length + (p[length] == '|');
	}
	return status_fail(STATUS_INPUT, "--%s: '%.40s' is not one of: %s", row->name, text, row->argument);
}

/* Each of several alternatives. */
static enum status check_choices(const struct option_row *row, const char *text)
{
	for (const char *p = text;; p++) {
		char one[64];
		size_t length = strcspn(p, "/");
		snprintf(one, sizeof one, "%.*s", length < sizeof one ? (int)length : (int)sizeof one - 1, p);
		enum status s = check_choice(row, one);
		p += length;
		if (s || !*p)
			return s;
	}
}

static enum status read_value(const struct option_row *row, bool varies, const char *text, struct option_value *out)
{
	char what[64];
	snprintf(what, sizeof what, "--%s", row->name);
	out->text = text;
	/* LARGE and INT64_MAX as limits: the latter is not a double */
	int64_t high = row->high >= 9.2e18 ? INT64_MAX : (int64_t)row->high;
	switch (row->type) {
	case TAKES_WHOLE:
		return number_whole(text, what, (int64_t)row->low, high, &out->whole);
	case TAKES_SIZE:
		return number_bytes(text, what, (int64_t)row->low, high, &out->whole);
	case TAKES_REAL:
		return number_real(text, what, row->low, row->high, &out->real);
	case TAKES_CHOICE:
		return varies ? check_choices(row, text) : check_choice(row, text);
	case TAKES_TEXT:
		if (!*text)
			return status_fail(STATUS_INPUT, "--%s: the value is empty; it takes %s", row->name,
			                   row->argument);
		return STATUS_OK;
	case TAKES_FLAG:
		break;
	}
	return STATUS_OK;
}

static enum status check_refusals(const struct options *o)
{
	for (size_t r = 0; r < sizeof refusals / sizeof refusals[0]; r++) {
		enum option i = refusals[r].option;
		if (!o->value[i].given)
			continue;
		const char *text = o->value[i].text, *refused = refusals[r].value;
		if (refused ? !strcmp(text, refused) : strcmp(text, option_rows[i].fallback) != 0)
			return status_fail(STATUS_INPUT, "--%s %.60s: %s", option_rows[i].name, text, refusals[r].why);
	}
	return STATUS_OK;
}

/* ---- parsing ---- */

/* `name` of `length` characters; -1 if there is none. */
static int find_option(const char *name, size_t length)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (strlen(option_rows[i].name) == length && !strncmp(option_rows[i].name, name, length))
			return i;
	return -1;
}

/* Reads the option at argv[*at] and moves *at past it. */
static enum status parse_one(struct options *o, int argc, char **argv, int *at)
{
	const char *word = argv[(*at)++];
	if (strncmp(word, "--", 2) != 0 || !word[2])
		return status_fail(STATUS_INPUT,
		                   "unexpected argument '%.60s'; options look like --ranks 4; see: shardlab help %s",
		                   word, command_rows[o->command].name);
	const char *name = word + 2;
	size_t length = strcspn(name, "=");
	const char *value = name[length] ? name + length + 1 : NULL;
	int i = find_option(name, length);
	if (i < 0) {
		char typed[64];
		snprintf(typed, sizeof typed, "%.*s", length < 60 ? (int)length : 60, name);
		return unknown_option(o->command, typed);
	}
	if (!option_of((enum option)i, o->command))
		return misplaced_option(o->command, (enum option)i);
	if (o->value[i].given)
		return status_fail(STATUS_INPUT, "--%s is given twice; leave one out", option_rows[i].name);
	o->value[i].given = true;
	if (option_rows[i].type == TAKES_FLAG) {
		if (value)
			return status_fail(STATUS_INPUT, "--%s takes no value", option_rows[i].name);
		o->value[i].whole = 1;
		return STATUS_OK;
	}
	if (!value) {
		if (*at == argc || !strncmp(argv[*at], "--", 2))
			return status_fail(STATUS_INPUT, "--%s needs a value: --%s %s", option_rows[i].name,
			                   option_rows[i].name, option_rows[i].argument);
		value = argv[(*at)++];
	}
	return read_value(&option_rows[i], option_varies((enum option)i, o->command), value, &o->value[i]);
}

enum status options_parse(struct options *o, enum command c, int argc, char **argv)
{
	enum status s = STATUS_OK;
	memset(o, 0, sizeof *o);
	o->command = c;
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			o->help = true;
			return STATUS_OK;
		}
	for (int at = 0; at < argc;)
		if ((s = parse_one(o, argc, argv, &at)))
			return s;
	if ((s = check_refusals(o)))
		return s;
	for (int i = 0; i < OPTION_COUNT; i++) {
		const char *text = option_default((enum option)i, c);
		if (!o->value[i].given && *text && (s = read_value(&option_rows[i], false, text, &o->value[i])))
			return s;
	}
	return STATUS_OK;
}

static enum status copy_text(const struct options *o, enum option i, char *out, size_t size)
{
	if (strlen(option_text(o, i)) >= size)
		return status_fail(STATUS_INPUT, "--%s: the value has more than %d characters", option_rows[i].name,
		                   (int)size - 1);
	snprintf(out, size, "%s", option_text(o, i));
	return STATUS_OK;
}

enum status options_settings(const struct options *o, struct settings *out)
{
	enum status s;
	*out = settings_default();
	struct checkpointing checkpointing;
	if ((s = copy_text(o, OPTION_MODEL, out->model, sizeof out->model)) ||
	    (s = copy_text(o, OPTION_CHECKPOINTING, out->checkpointing, sizeof out->checkpointing)) ||
	    (s = checkpointing_parse(out->checkpointing, &checkpointing)) ||
	    (s = type_parse(option_text(o, OPTION_PRECISION), &out->precision)) ||
	    (s = optimizer_parse(option_text(o, OPTION_OPTIMIZER), &out->optimizer)) ||
	    (s = offload_parse(option_text(o, OPTION_OFFLOAD), &out->offload)))
		return s;
	if (option_given(o, OPTION_LOSS_SCALER) &&
	    (s = loss_scaler_parse(option_text(o, OPTION_LOSS_SCALER), &out->loss_scaler)))
		return s;
	/* The strategy may be a list here: whoever splits it checks the length of each. */
	snprintf(out->strategy, sizeof out->strategy, "%s", option_text(o, OPTION_STRATEGY));
	out->ranks = option_whole(o, OPTION_RANKS);
	out->batch = option_whole(o, OPTION_BATCH);
	out->micro_batch = option_whole(o, OPTION_MICRO_BATCH);
	out->accumulate = option_whole(o, OPTION_ACCUMULATE);
	out->sequence = option_whole(o, OPTION_SEQUENCE);
	out->learning_rate = o->value[OPTION_LEARNING_RATE].real;
	out->warmup = option_whole(o, OPTION_WARMUP);
	out->decay = option_whole(o, OPTION_DECAY);
	out->weight_decay = o->value[OPTION_WEIGHT_DECAY].real;
	out->clip = o->value[OPTION_CLIP].real;
	out->loss_scale = o->value[OPTION_LOSS_SCALE].real;
	out->loss_scale_window = option_whole(o, OPTION_LOSS_SCALE_WINDOW);
	out->stochastic_rounding = option_given(o, OPTION_STOCHASTIC_ROUNDING);
	out->bucket = option_whole(o, OPTION_BUCKET);
	out->seed = option_whole(o, OPTION_SEED);
	out->library_collectives = strcmp(option_text(o, OPTION_COMM), "ring") != 0;
	return STATUS_OK;
}
