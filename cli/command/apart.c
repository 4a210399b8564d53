#include "cli/command/apart.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "real/data/sources.h"
#include "strategy/base/path.h"

/* ---- places ---- */

/* A path, there or not. */
struct place {
	bool is_there, is_folder, is_special; /* special: a device or FIFO, which nobody replaces */
	struct stat self;
	bool has_folder; /* the folder that would hold it exists */
	struct stat folder;
	char name[NAME_MAX + 1]; /* in it */
};

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static struct place place_of(const char *path)
{
	struct place p = {.is_there = stat(path, &p.self) == 0};
	char folder[PATH_MAX];
	int length = (int)strnlen(path, sizeof folder);
	while (length > 1 && path[length - 1] == '/')
		length--;
	int begin = length;
	while (begin && path[begin - 1] != '/')
		begin--;
	snprintf(folder, sizeof folder, "%.*s", begin, path);
	snprintf(p.name, sizeof p.name, "%.*s", length - begin, path + begin);
	p.has_folder = stat(begin ? folder : ".", &p.folder) == 0;
	p.is_folder = p.is_there && S_ISDIR(p.self.st_mode);
	p.is_special = p.is_there && !p.is_folder && !S_ISREG(p.self.st_mode);
	return p;
}

static bool is_same(const struct place *a, const struct place *b)
{
	if (a->is_there && b->is_there)
		return !a->is_special && same_file(&a->self, &b->self);
	return !a->is_there && !b->is_there && a->has_folder && b->has_folder && same_file(&a->folder, &b->folder) &&
	       !strcmp(a->name, b->name);
}

static bool is_in(const struct place *file, const struct place *folder)
{
	return folder->is_folder && file->has_folder && same_file(&file->folder, &folder->self);
}

/* ---- options ---- */

/* Names that count in a folder of data, of all its forms, and in one of weights. */
static const char *const data_endings[] = {".csv", ".csv.gz", ".tsv",      ".tsv.gz", ".bin",
                                           ".npy", "-ubyte",  "-ubyte.gz", NULL};
static const char *const data_words[] = {"train", "val", "test", "t10k", NULL};
static const char *const weights_endings[] = {".safetensors", ".json", ".txt", ".model", ".jinja", NULL};
static const char *const weights_words[] = {"model",        "config",        "tokenizer",          "vocab", "merges",
                                            "added_tokens", "chat_template", "special_tokens_map", NULL};
static const struct source_folder data_folder = {data_endings, data_words, ""};
static const struct source_folder weights_folder = {weights_endings, weights_words, ""};

static const struct input {
	const struct source_folder *folder; /* NULL: it is no folder */
	enum option option;
	bool may_be_name; /* without a dot or slash it is one that the program knows */
} inputs[] = {{&data_folder, OPTION_DATA, false},    {&weights_folder, OPTION_INIT, false},
              {&weights_folder, OPTION_MODEL, true}, {NULL, OPTION_CLUSTER, true},
              {NULL, OPTION_PLAN_FILE, false},       {NULL, OPTION_CONFIG, false}};

static const enum option outputs[] = {OPTION_LOG,  OPTION_PLOT,       OPTION_TRACE,
                                      OPTION_SAVE, OPTION_CHECKPOINT, OPTION_EMIT};

/* The file of {emit} TARGET:FILE; NULL: nothing is written. */
static const char *output_path(const struct options *o, enum option output)
{
	const char *text = option_text(o, output), *colon = text ? strchr(text, ':') : NULL;
	return output != OPTION_EMIT ? text : colon ? colon + 1 : NULL;
}

static enum status refuse(const struct options *o, enum option output, const char *does, enum option other)
{
	return status_fail(STATUS_INPUT, "--%s: '%.600s' is %s --%s; choose another name", option_name(output),
	                   output_path(o, output), does, option_name(other));
}

static bool is_read(const struct place *output, const char *path, const struct source_folder *folder)
{
	struct place read = place_of(path);
	return is_same(output, &read) || (folder && is_in(output, &read) && source_folder_takes(folder, output->name));
}

/* A path that cannot be expanded is refused where it is read. */
static bool is_among(const struct place *output, const char *text, const struct source_folder *folder)
{
	struct sources s;
	bool found = false;
	if (sources_find(&s, text, NULL))
		return false;
	for (int i = 0; i < s.count && !found; i++)
		found = is_read(output, s.list[i].path, folder);
	sources_release(&s);
	return found;
}

/* An index names the shards beside it. */
static bool is_shard(const struct place *output, const char *index, const struct source_folder *folder)
{
	if (!path_ends_in(index, ".index.json"))
		return false;
	char *beside = path_beside(index, ".");
	struct place read = place_of(beside);
	free(beside);
	return is_in(output, &read) && source_folder_takes(folder, output->name);
}

static enum status check_inputs(const struct options *o, enum option output, const struct place *p)
{
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
		const char *text = option_text(o, inputs[i].option);
		if (!text || (inputs[i].may_be_name && !strpbrk(text, "./")))
			continue;
		if (is_among(p, text, inputs[i].folder) ||
		    (inputs[i].option == OPTION_INIT && is_shard(p, text, inputs[i].folder)))
			return refuse(o, output, "what is read for", inputs[i].option);
	}
	return STATUS_OK;
}

static enum status check_outputs(const struct options *o, size_t n, const struct place *p)
{
	for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
		const char *text = i == n ? NULL : output_path(o, outputs[i]);
		struct place other = text ? place_of(text) : (struct place){.is_there = false};
		if (text && is_same(p, &other))
			return refuse(o, outputs[n], "what is written for", outputs[i]);
		/* A run's folder may hold its log. */
		if (text && outputs[i] != OPTION_CHECKPOINT && is_in(p, &other))
			return refuse(o, outputs[n], "in the folder that is made for", outputs[i]);
	}
	return STATUS_OK;
}

enum status outputs_are_apart(const struct options *o)
{
	enum status s = STATUS_OK;
	for (size_t i = 0; i < sizeof outputs / sizeof *outputs && !s; i++) {
		if (!output_path(o, outputs[i]))
			continue;
		struct place p = place_of(output_path(o, outputs[i]));
		s = check_inputs(o, outputs[i], &p);
		if (!s)
			s = check_outputs(o, i, &p);
	}
	return s;
}

enum status inputs_are_files(const struct options *o)
{
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
		struct stat info;
		const char *path = option_text(o, inputs[i].option);
		if (path && !stat(path, &info) && S_ISFIFO(info.st_mode))
			return status_fail(STATUS_INPUT,
			                   "--%s: '%.600s' is a pipe, which can be read once, and every rank reads it; "
			                   "give a file",
			                   option_name(inputs[i].option), path);
	}
	return STATUS_OK;
}
