#include "cli/command/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/job.h"
#include "strategy/base/character.h"
#include "strategy/base/file.h"
#include "strategy/base/near.h"
#include "strategy/base/path.h"
#include "strategy/emit/emit.h"

const char *emit_file(const struct options *o)
{
	const char *colon = strchr(option_text(o, OPTION_EMIT), ':');
	return colon ? colon + 1 : NULL;
}

static enum status parse_target(const char *text, enum emit_target *out)
{
	size_t n = strcspn(text, ":");
	char name[64];
	struct near near = {.typed = name};
	snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), text);
	for (int t = 0; t < EMIT_TARGET_COUNT; t++) {
		*out = (enum emit_target)t;
		if (!strcmp(name, emit_target_name(*out)))
			return STATUS_OK;
		near_consider(&near, emit_target_name(*out));
	}
	return status_fail(STATUS_INPUT, "{emit}: unknown program '%s'%s; known: %s", name, near_words(&near),
	                   near.known);
}

bool emit_is_all(const struct options *o)
{
	return option_given(o, OPTION_EMIT) && !emit_file(o);
}

enum status emit_check_option(const struct options *o)
{
	enum emit_target target;
	if (!option_given(o, OPTION_EMIT))
		return STATUS_OK;
	enum status s = parse_target(option_text(o, OPTION_EMIT), &target);
	if (!s && emit_file(o) && !*emit_file(o))
		s = status_fail(STATUS_INPUT, "{emit} %s: the name of a file is missing behind the colon",
		                option_text(o, OPTION_EMIT));
	if (!s && !emit_file(o) && option_given(o, OPTION_JSON))
		s = status_fail(STATUS_INPUT, "{emit} %s and --json both write to stdout; say {emit} %s:FILE",
		                emit_target_name(target), emit_target_name(target));
	return s;
}

static enum status write_beside(void *context, FILE *out)
{
	const struct emission *e = context;
	return fwrite(e->beside_text, 1, e->beside_size, out) == e->beside_size
	               ? STATUS_OK
	               : status_fail(STATUS_RUN, "{emit}: cannot be written");
}

static enum status write_file(void *context, FILE *out)
{
	const struct emission *e = context;
	return fwrite(e->text, 1, e->size, out) == e->size ? STATUS_OK
	                                                   : status_fail(STATUS_RUN, "{emit}: cannot be written");
}

/* ---- what is said of it ---- */

/* Figures that the file has and nobody asked for: a plan does not care for them, and training does. */
static void note_unasked(const struct options *o, const struct settings *s, struct emission *e)
{
	if (e->said[SETTING_LEARNING_RATE] && !option_given(o, (enum option)SETTING_LEARNING_RATE))
		emit_note(e, "its learning rate, %g, is shardlab's default: set yours, or give {learning_rate}",
		          s->learning_rate);
	if (e->said[SETTING_CLIP] && !option_given(o, (enum option)SETTING_CLIP))
		emit_note(e, "it does not clip gradients, as no {clip} was given; 1 is usual");
	if (o->config)
		emit_note(e,
		          "it has what the plan follows from: a schedule, betas or data of %s are not in it; merge "
		          "them by hand",
		          path_name(o->config));
}

/* Notes what the plan was judged by, where nobody named it. */
static void note_class(const struct options *o, const struct settings *s, struct emission *e)
{
	struct arena a = {0};
	bool judged = o->command == COMMAND_ADVISE || emit_file(o);
	const char *cluster = judged ? options_cluster_of(o, s->strategy, &a) : "", *class = strstr(cluster, ":class=");
	if (class && !strstr(o->cluster_alone, ":class="))
		emit_note(e, "judged as %s runs it, class %s; --stack names another", emit_target_version(e->target),
		          class + strlen(":class="));
	arena_release(&a);
}

/* An option that the file cannot say and its reader needs, such as the model as the user wrote it. */
static const char *beside(const struct options *o, const struct settings *s, struct emission *e, enum setting at)
{
	char text[SETTING_TEXT];
	const char *name = option_name((enum option)at);
	if (setting_rows[at].type == TAKES_FLAG)
		return arena_print(&e->arena, "--%s", name);
	setting_print_short(at, s, text, sizeof text);
	return arena_print(&e->arena, "--%s %s", name,
	                   at == SETTING_MODEL && o->model_path ? character_plain(o->model_path) : text);
}

static void print_said(const struct options *o, const struct settings *s, struct emission *e)
{
	const char *file = emit_file(o), *name = file ? file : emit_target_name(e->target);
	if (file)
		fprintf(stderr, "%s: as %s reads it%s%s\n", character_plain(file), emit_target_version(e->target),
		        e->beside_where ? ", with " : "", e->beside_where ? character_plain(e->beside_where) : "");
	for (int i = 0; i < e->note_count; i++)
		fprintf(stderr, "%s: note: %s\n", character_plain(name), character_plain(e->notes[i].text));
	for (int i = 0; i < e->beside_count; i++)
		fprintf(stderr, "%s %s%s", i ? "" : "beside the file:", beside(o, s, e, e->beside[i]),
		        i == e->beside_count - 1 ? "\n" : "");
}

static json_t *note_to_json(const struct emit_note *n)
{
	json_t *json = json_pack("{s:s}", "text", n->text);
	if (n->option)
		json_object_update_new(json, json_pack("{s:s, s:s?, s:s, s:s, s:s?}", "option", n->option, "key",
		                                       n->key, "here", n->here, "there", n->there, "why", n->why));
	return json;
}

static json_t *said_to_json(const struct options *o, const struct settings *s, struct emission *e)
{
	json_t *notes = json_array(), *options = json_array();
	for (int i = 0; i < e->note_count; i++)
		json_array_append_new(notes, note_to_json(&e->notes[i]));
	for (int i = 0; i < e->beside_count; i++)
		json_array_append_new(options, json_string(beside(o, s, e, e->beside[i])));
	return json_pack("{s:s, s:s?, s:s, s:s, s:o, s:o}", "file", emit_file(o), "second_file", e->beside_where,
	                 "program", emit_target_name(e->target), "version", emit_target_version(e->target), "notes",
	                 notes, "beside", options);
}

static void say(const struct options *o, const struct settings *s, struct emission *e, json_t **said)
{
	note_class(o, s, e);
	note_unasked(o, s, e);
	print_said(o, s, e);
	if (said && emit_file(o) && option_given(o, OPTION_JSON))
		*said = said_to_json(o, s, e);
}

/* ---- the whole ---- */

int64_t emit_nodes(const struct options *o, int64_t ranks)
{
	struct cluster c;
	int64_t nodes = 1;
	if (cluster_open(&c, job_cluster(o), ranks))
		return 1;
	if (c.devices)
		nodes = (ranks + c.devices - 1) / c.devices;
	cluster_release(&c);
	return nodes;
}

enum status emit_settings(const struct options *o, const struct settings *s, json_t **said)
{
	struct emission e;
	enum emit_target target;
	if (!option_given(o, OPTION_EMIT))
		return STATUS_OK;
	const char *file = emit_file(o);
	enum status status = parse_target(option_text(o, OPTION_EMIT), &target);
	if (status)
		return status;
	if ((status = emit_make(&e, target, file, s, emit_nodes(o, s->ranks))))
		return status_prefix(status, "{emit} %s", emit_target_name(target));
	if (e.beside_where && o->config && !strcmp(e.beside_where, o->config)) {
		emit_release(&e);
		return status_fail(STATUS_INPUT, "{emit}: '%s' is what is read for --config; give FILE another name",
		                   o->config);
	}
	if (e.beside_where)
		status = file_write(e.beside_where, "{emit}", write_beside, &e);
	if (!status)
		status = file ? file_write(file, "{emit}", write_file, &e) : write_file(&e, stdout);
	if (!status)
		say(o, s, &e, said);
	emit_release(&e);
	return status;
}

void emit_add_said(json_t *printed, json_t *said)
{
	if (said)
		json_object_set_new(printed, "emitted", said);
}
