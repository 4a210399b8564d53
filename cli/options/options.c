#include "cli/options/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options/options_table.h"
#include "real/communicator/kind.h"
#include "strategy/base/keys.h"
#include "strategy/base/near.h"
#include "strategy/base/number.h"
#include "strategy/base/path.h"
#include "strategy/cluster/links.h"
#include "strategy/emit/emit.h"
#include "strategy/model/config.h"
#include "strategy/settings/software.h"

/* ---- suggestions ---- */

/* Is it a file that may be a configuration? */
static bool is_file(const char *path)
{
	static const char *const endings[] = {".json", ".hjson", ".yaml", ".yml", ".toml"};
	struct stat s;
	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
		if (path_ends_in(path, endings[i]))
			return !stat(path, &s) && S_ISREG(s.st_mode);
	return false;
}

enum status command_find(const char *name, enum command *out)
{
	struct near near = {.typed = name};
	for (int c = 0; c < COMMAND_COUNT; c++) {
		if (!strcmp(command_rows[c].name, name)) {
			*out = (enum command)c;
			return STATUS_OK;
		}
		near_consider(&near, command_rows[c].name);
	}
	near_consider(&near, "--version");
	if (is_file(name))
		return status_fail(STATUS_INPUT,
		                   "'%.60s' is no command; what a configuration says: shardlab config %.60s", name,
		                   name);
	return status_fail(STATUS_INPUT, "unknown command '%.40s'%s; known: %s", name, near_words(&near), near.known);
}

/* The names of our options in other programs. */
static const struct {
	const char *name;
	enum option option;
} foreign[] = {
        {"per-device-train-batch-size", OPTION_MICRO_BATCH},
        {"train-micro-batch-size-per-gpu", OPTION_MICRO_BATCH},
        {"batch-size", OPTION_BATCH},
        {"batchsize", OPTION_BATCH},
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
        {"model-name-or-path", OPTION_MODEL},
        {"bs", OPTION_BATCH},
        {"seq-len", OPTION_SEQUENCE},
        {"max-seq-length", OPTION_SEQUENCE},
        {"block-size", OPTION_SEQUENCE},
        {"stage", OPTION_STRATEGY},
        {"fsdp", OPTION_STRATEGY},
        {"sharding-strategy", OPTION_STRATEGY},
        {"tensor-parallel-size", OPTION_STRATEGY},
        {"tp", OPTION_STRATEGY},
        {"pp", OPTION_STRATEGY},
        {"pipeline-parallel-size", OPTION_STRATEGY},
        {"max-steps", OPTION_STEPS},
        {"bucket-cap-mb", OPTION_BUCKET},
        {"optim", OPTION_OPTIMIZER},
        {"hardware", OPTION_CLUSTER},
        {"gpu", OPTION_CLUSTER},
};

/* Options of other programs that have none here. */
#define NODES "the cluster says how many ranks a node has, so --ranks 16 --cluster a100-80gb are two nodes"
static const struct {
	const char *name, *instead;
} elsewhere[] = {
        {"nodes", NODES},
        {"nnodes", NODES},
        {"num-nodes", NODES},
        {"num-machines", NODES},
        {"csv", "--export NAME.csv writes what compare finds; --json has every figure"},
        {"epochs", "--steps says how long to train"},
};

/* An underscore counts as a dash. */
static bool is_foreign(const char *typed, const char *name)
{
	for (; *typed && *name; typed++, name++)
		if (*typed != *name && (*typed != '_' || *name != '-'))
			return false;
	return !*typed && !*name;
}

static enum status unknown_option(enum command c, const char *name)
{
	struct near near = {.typed = name};
	for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
		if (is_foreign(name, foreign[i].name) && option_of(foreign[i].option, c))
			return status_fail(STATUS_INPUT, "unknown option --%.40s; shardlab calls it --%s %s", name,
			                   option_row(foreign[i].option)->name,
			                   option_row(foreign[i].option)->argument);
	for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
		if (is_foreign(name, elsewhere[i].name))
			return status_fail(STATUS_INPUT, "there is no option --%.40s: %s", name, elsewhere[i].instead);
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_of((enum option)i, c))
			near_consider(&near, option_row(i)->name);
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
	return status_fail(STATUS_INPUT, "%s has no option --%s; these commands have it: %s", command_rows[c].name,
	                   option_row(i)->name, list);
}

/* ---- values ---- */

#define RANGE ".."

/* Each of several alternatives. */
static enum status check_choices(const char *where, const struct option_row *row, const char *text)
{
	int place;
	for (const char *p = text;; p++) {
		char one[64];
		size_t length = strcspn(p, "/");
		snprintf(one, sizeof one, "%.*s", length < sizeof one ? (int)length : (int)sizeof one - 1, p);
		enum status s = word_parse(row->argument, where, one, &place);
		p += length;
		if (s || !*p)
			return s;
	}
}

/* Torch's bucket_cap_mb and DeepSpeed's elements are other units than bytes: a small number is none of ours. */
static enum status check_unit(const struct option_row *row, const char *text)
{
	enum { LEAST_PLAIN = 1000 };
	if (row != option_row(OPTION_BUCKET) || text[strspn(text, "0123456789")] || atoll(text) >= LEAST_PLAIN ||
	    !atoll(text))
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "--%s %s: of what? %sMiB, %sMB, or %sB if bytes are meant", row->name, text,
	                   text, text, text);
}

enum status option_read_value(const struct option_row *row, bool varies, const char *text, struct option_value *out)
{
	char what[64];
	int place;
	snprintf(what, sizeof what, "--%s", row->name);
	out->text = text;
	/* INT64_MAX is not a double. */
	int64_t high = row->high >= 9.2e18 ? INT64_MAX : (int64_t)row->high;
	enum status s;
	switch (row->type) {
	case TAKES_WHOLE:
		s = number_whole(text, what, (int64_t)row->low, high, &out->whole);
		out->least = out->whole;
		return s;
	case TAKES_SIZE:
		if (check_unit(row, text))
			return STATUS_INPUT;
		return number_bytes(text, what, (int64_t)row->low, high, &out->whole);
	case TAKES_REAL:
		return number_real(text, what, row->low, row->high, &out->real);
	case TAKES_CHOICE:
		return varies ? check_choices(what, row, text) : word_parse(row->argument, what, text, &place);
	case TAKES_OFFLOAD:
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

/* ---- parsing ---- */

static enum status read_range(const struct option_row *row, const char *text, const char *dots,
                              struct option_value *out)
{
	char what[64], least[32];
	int64_t low = (int64_t)row->low, high = (int64_t)row->high;
	snprintf(what, sizeof what, "--%s", row->name);
	snprintf(least, sizeof least, "%.*s", (int)(dots - text), text);
	out->text = text;
	enum status s = number_whole(least, what, low, high, &out->least);
	if (!s)
		s = number_whole(dots + strlen(RANGE), what, low, high, &out->whole);
	return s || out->least <= out->whole
	               ? s
	               : status_fail(STATUS_INPUT, "--%s %s: the first number is the smaller one", row->name, text);
}

/* With a range for what may be one. */
static enum status read_given(enum option i, enum command c, const char *text, struct option_value *out)
{
	const char *dots = option_ranges(i, c) ? strstr(text, RANGE) : NULL;
	return dots ? read_range(option_row(i), text, dots, out)
	            : option_read_value(option_row(i), option_varies(i, c), text, out);
}

/* Reads the option at argv[*at] and moves *at past it. */
static enum status parse_one(struct options *o, int argc, char **argv, int *at)
{
	const char *word = argv[(*at)++];
	if ((strncmp(word, "--", 2) != 0 || !word[2]) && is_file(word) && option_of(OPTION_CONFIG, o->command))
		return status_fail(STATUS_INPUT,
		                   "unexpected argument '%.60s'; a configuration is read with --config %.60s", word,
		                   word);
	if (strncmp(word, "--", 2) != 0 || !word[2])
		return status_fail(STATUS_INPUT,
		                   "unexpected argument '%.60s'; options look like --ranks 4; see: shardlab help %s",
		                   word, command_rows[o->command].name);
	char name[64];
	const char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
	snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - word) - 2 : (int)sizeof name, word + 2);
	int i = option_find_of(name, o->command);
	if (i < 0)
		return unknown_option(o->command, name);
	if (!option_of((enum option)i, o->command))
		return misplaced_option(o->command, (enum option)i);
	if (o->value[i].given)
		return status_fail(STATUS_INPUT, "--%s is given twice; leave one out", option_row(i)->name);
	o->value[i].given = true;
	if (option_row(i)->type == TAKES_FLAG) {
		if (value)
			return status_fail(STATUS_INPUT, "--%s takes no value", option_row(i)->name);
		o->value[i].whole = 1;
		return STATUS_OK;
	}
	if (!value) {
		if (*at == argc || !strncmp(argv[*at], "--", 2))
			return status_fail(STATUS_INPUT, "--%s needs a value: --%s %s", option_row(i)->name,
			                   option_row(i)->name, option_row(i)->argument);
		value = argv[(*at)++];
	}
	return read_given((enum option)i, o->command, value, &o->value[i]);
}

static enum status refuse_adapter(const struct options *o)
{
	const char *init = option_text(o, OPTION_INIT);
	if (!option_given(o, OPTION_INIT) || !path_is_folder(init) || !path_folder_has(init, "adapter_config.json"))
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "--init %s: the folder holds an adapter (adapter_config.json); give the folder of the "
	                   "model that it was made for",
	                   init);
}

/* A folder of weights says which model it holds, unless a plan or the user does. A name that leads nowhere is told
 * before the rest is judged by another model. */
static enum status take_model_of_weights(struct options *o)
{
	const char *init = option_text(o, OPTION_INIT);
	if (!option_given(o, OPTION_INIT) || option_given(o, OPTION_PLAN_FILE))
		return STATUS_OK;
	if (!path_is_there(init))
		return status_fail(STATUS_INPUT, "--init %s: there is no such file or folder", init);
	if (!path_is_folder(init))
		return STATUS_OK;
	if (!path_folder_has(init, "config.json"))
		return status_fail(STATUS_INPUT,
		                   "--init %s: the folder has no config.json to say which model it holds: give --model",
		                   init);
	o->value[OPTION_MODEL].given = true;
	return model_config_read(&o->arena, init, &o->value[OPTION_MODEL].text);
}

/* Whoever reads the option finds a specification: children on other machines need no file. */
static enum status read_model_file(struct options *o)
{
	struct option_value *v = &o->value[OPTION_MODEL];
	TRY(refuse_adapter(o));
	if (!v->given)
		return take_model_of_weights(o);
	if (!model_config_is_path(v->text))
		return STATUS_OK;
	o->model_path = v->text;
	return model_config_read(&o->arena, v->text, &v->text);
}

/* A cluster that says itself which stack runs there, or is this machine. */
static bool has_stack(const char *cluster)
{
	return strstr(cluster, ":stack=") || strstr(cluster, ":class=") || links_named(cluster, CLUSTER_LOCAL);
}

const char *options_cluster_of(const struct options *o, const char *strategy, struct arena *a)
{
	enum emit_target target;
	bool emits = option_given(o, OPTION_EMIT) && !option_given(o, OPTION_STACK) &&
	             emit_target_named(option_text(o, OPTION_EMIT), &target);
	if (!emits || has_stack(o->cluster_alone))
		return option_text(o, OPTION_CLUSTER);
	return arena_print(a, "%s:class=%s", o->cluster_alone, emit_target_class(target, strategy));
}

/* The class of the file's program, else of what --as names. */
static const char *class_of_step(const struct options *o)
{
	struct software software;
	if (o->class || software_parse(option_text(o, OPTION_AS), &software))
		return o->class;
	return software_class(&software);
}

/* A stack is the cluster's (strategy/cluster/links.h): whoever opens the one has the other. */
static void take_stack(struct options *o)
{
	const char **cluster = &o->value[OPTION_CLUSTER].text, *class = class_of_step(o);
	o->cluster_alone = *cluster;
	if (option_given(o, OPTION_STACK))
		*cluster = arena_print(&o->arena, "%s:stack=%s", *cluster, option_text(o, OPTION_STACK));
	else if (class && !has_stack(*cluster))
		*cluster = arena_print(&o->arena, "%s:class=%s", *cluster, class);
}

void options_judge(struct options *o, const char *strategy)
{
	o->value[OPTION_CLUSTER].text = options_cluster_of(o, strategy, &o->arena);
}

static enum status (*take_hosts)(struct options *o);

void options_on_hosts(enum status (*take)(struct options *o))
{
	take_hosts = take;
}

enum status options_parse(struct options *o, enum command c, int argc, char **argv)
{
	enum status s = STATUS_OK;
	memset(o, 0, sizeof *o);
	o->command = c;
	if (c == COMMAND_HELP) {
		o->topic = argc && strcmp(argv[0], "--help") != 0 ? argv[0] : NULL;
		return argc < 2 ? STATUS_OK
		                : status_fail(STATUS_INPUT, "help takes one word: a command, an option, a "
		                                            "strategy, models, strategies, clusters, stacks, "
		                                            "as, checkpointing, data or config");
	}
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			o->help = true;
			return STATUS_OK;
		}
	int at = 0;
	if (c == COMMAND_CALIBRATE && arguments_count_steps(argc, argv) > 1) {
		o->given = argv;
		o->given_count = argc;
		argv = arena_alloc(&o->arena, (size_t)argc * sizeof *argv);
		argc = arguments_of_step(argc, o->given, 0, argv);
	}
	const unsigned with_topic = IN(COLLECTIVE) | IN(LESSON) | IN(CONFIG) | IN(CHECKPOINT) | IN(CLUSTER) | IN(STACK);
	bool takes_topic = with_topic >> c & 1;
	if (c == COMMAND_TRACE)
		o->words = arena_alloc(&o->arena, (size_t)argc * sizeof *o->words);
	while (at < argc)
		if (c == COMMAND_TRACE && argv[at][0] != '-')
			o->words[o->word_count++] = argv[at++];
		else if (takes_topic && !o->topic && argv[at][0] != '-')
			o->topic = argv[at++];
		else if (c == COMMAND_CHECKPOINT && !o->second && argv[at][0] != '-')
			o->second = argv[at++];
		else if ((s = parse_one(o, argc, argv, &at)))
			return s;
	TRY(read_model_file(o));
	if (take_hosts && option_given(o, OPTION_HOSTS) && (s = take_hosts(o)))
		return s;
	TRY(options_count_cluster(o));
	if (option_given(o, OPTION_CONFIG) && (s = options_take_recipe(o)))
		return s;
	TRY(options_take_ranks(o));
	for (int i = 0; i < OPTION_COUNT; i++) {
		const char *text = option_default((enum option)i, c);
		if (!o->value[i].given && *text && (s = option_read_value(option_row(i), false, text, &o->value[i])))
			return s;
	}
	take_stack(o);
	options_tell_ranks(o);
	return STATUS_OK;
}

static bool is_named(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = text; (p = strstr(p, "--")); p += 2)
		if (!strncmp(p + 2, name, n) && !isalnum((unsigned char)p[2 + n]) && p[2 + n] != '-')
			return true;
	return false;
}

enum status options_explain(const struct options *o, enum status s)
{
	const char *message = status_message();
	for (int i = 0; s == STATUS_INPUT && i < SETTING_COUNT; i++)
		if (o->place[i] && is_named(message, option_name((enum option)i)) &&
		    strncmp(message, o->place[i], strcspn(o->place[i], ":")) != 0)
			return status_prefix(s, "%s", o->place[i]);
	return s;
}

/* The numbers in `options` count, not their texts: commands have defaults of their own. */
static enum status take_setting(const struct options *o, enum setting i, struct settings *out)
{
	const struct option_value *v = &o->value[i];
	void *at = (char *)out + setting_rows[i].offset;
	char where[48];
	switch (setting_rows[i].type) {
	case TAKES_WHOLE:
	case TAKES_SIZE:
		memcpy(at, &v->whole, sizeof v->whole);
		return STATUS_OK;
	case TAKES_REAL:
		memcpy(at, &v->real, sizeof v->real);
		return STATUS_OK;
	case TAKES_FLAG:
		*(bool *)at = v->given;
		return STATUS_OK;
	default:
		snprintf(where, sizeof where, "--%s", option_name((enum option)i));
		return v->text ? setting_read(i, where, v->text, out) : STATUS_OK;
	}
}

enum status options_settings(const struct options *o, struct settings *out)
{
	*out = settings_default();
	for (int i = 0; i < SETTING_COUNT; i++) {
		enum status s = STATUS_OK;
		if (i != SETTING_STRATEGY && i != SETTING_COLLECTIVES && i != SETTING_CHECKPOINTS)
			s = take_setting(o, (enum setting)i, out);
		if (s)
			return s;
	}
	/* The strategy may be a list here; whoever splits it checks its parts. */
	snprintf(out->strategy, sizeof out->strategy, "%s", option_text(o, OPTION_STRATEGY));
	out->checkpoints = option_given(o, OPTION_CHECKPOINT) || option_given(o, OPTION_RESUME) ||
	                   option_given(o, OPTION_CHECKPOINT_EVERY) || option_given(o, OPTION_MTBF) ||
	                   out->checkpoint_async;
	out->library_collectives = communicator_kind(option_text(o, OPTION_COMM))->library;
	return STATUS_OK;
}
