#include "cli/lesson/learner.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "strategy/base/file.h"

/* Makes the folders of a path, all but its last part. */
static bool make_folders(const char *path)
{
	char folder[512];
	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(folder, sizeof folder, "%.*s", (int)(at - path), path);
		if (mkdir(folder, 0755) && errno != EEXIST)
			return false;
	}
	return true;
}

enum status learner_open(struct learner *p)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	*p = (struct learner){0};
	if (state && *state == '/')
		snprintf(p->path, sizeof p->path, "%.400s/shardlab/lessons.json", state);
	else if (home && *home == '/')
		snprintf(p->path, sizeof p->path, "%.400s/.local/state/shardlab/lessons.json", home);
	json_error_t error;
	p->all = *p->path ? json_load_file(p->path, JSON_REJECT_DUPLICATES, &error) : NULL;
	if (*p->path && !p->all && json_error_code(&error) != json_error_cannot_open_file)
		return status_fail(STATUS_INPUT, "%s:%d: this is no progress of lessons: %s; move it away", p->path,
		                   error.line, error.text);
	if (p->all && !json_is_object(p->all)) {
		learner_release(p);
		return status_fail(STATUS_INPUT, "%s: this is no progress of lessons; move it away", p->path);
	}
	p->all = p->all ? p->all : json_object();
	return STATUS_OK;
}

static json_t *entry(const struct learner *p, int lesson)
{
	char key[16];
	snprintf(key, sizeof key, "%d", lesson);
	json_t *one = json_object_get(p->all, key);
	if (!json_is_object(one)) {
		one = json_object();
		json_object_set_new(p->all, key, one);
	}
	return one;
}

static int whole(const json_t *o, const char *key)
{
	return (int)json_integer_value(json_object_get(o, key));
}

struct lesson_progress learner_progress(const struct learner *p, int lesson)
{
	const json_t *o = entry(p, lesson);
	return (struct lesson_progress){.piece = whole(o, "piece"),
	                                .right = whole(o, "right"),
	                                .asked = whole(o, "asked"),
	                                .done = json_is_true(json_object_get(o, "done"))};
}

static enum status print_all(void *context, FILE *out)
{
	json_dumpf(context, out, JSON_INDENT(1) | JSON_SORT_KEYS);
	fputc('\n', out);
	return STATUS_OK;
}

static enum status save(struct learner *p)
{
	if (!*p->path)
		return STATUS_OK;
	if (!make_folders(p->path))
		return status_fail(STATUS_RUN, "cannot make the folder of %s: %s", p->path, strerror(errno));
	return file_write(p->path, "lesson", print_all, p->all);
}

enum status learner_set(struct learner *p, int lesson, const struct lesson_progress *l)
{
	json_t *o = entry(p, lesson);
	json_object_set_new(o, "piece", json_integer(l->piece));
	json_object_set_new(o, "right", json_integer(l->right));
	json_object_set_new(o, "asked", json_integer(l->asked));
	json_object_set_new(o, "done", json_boolean(l->done));
	return save(p);
}

bool learner_solved(const struct learner *p, int lesson, const char *exercise)
{
	size_t i;
	json_t *one;
	json_array_foreach(json_object_get(entry(p, lesson), "solved"), i, one)
	{
		if (json_is_string(one) && !strcmp(json_string_value(one), exercise))
			return true;
	}
	return false;
}

enum status learner_solve(struct learner *p, int lesson, const char *exercise)
{
	json_t *o = entry(p, lesson), *list = json_object_get(o, "solved");
	if (learner_solved(p, lesson, exercise))
		return STATUS_OK;
	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(o, "solved", list);
	}
	json_array_append_new(list, json_string(exercise));
	return save(p);
}

void learner_release(struct learner *p)
{
	if (p->all)
		json_decref(p->all);
	*p = (struct learner){0};
}
