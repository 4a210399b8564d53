#include "cli/lesson/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "strategy/base/path.h"

/* "03-ring-all-reduce.md" */
static int is_lesson(const struct dirent *e)
{
	size_t length = strlen(e->d_name);
	return length > 6 && isdigit((unsigned char)e->d_name[0]) && isdigit((unsigned char)e->d_name[1]) &&
	       e->d_name[2] == '-' && !strcmp(e->d_name + length - 3, ".md");
}

/* Beside the program: build/../lessons, or PREFIX/bin/../share/shardlab/lessons. */
static bool find_folder(char *out, size_t size)
{
	static const char *const places[] = {"../lessons", "../../lessons", "../share/shardlab/lessons"};
	char program[PATH_OF_PROGRAM];
	path_of_program_folder(program);
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		snprintf(out, size, "%.400s/%s", program, places[i]);
		if (path_is_folder(out))
			return true;
	}
	return false;
}

enum status lesson_folder_open(struct lesson_folder *f, const char *language)
{
	struct dirent **list = NULL;
	*f = (struct lesson_folder){0};
	if (!find_folder(f->path, sizeof f->path))
		return status_fail(STATUS_INPUT,
		                   "there are no lessons beside this program: `make install` brings them to "
		                   "share/shardlab/lessons");
	if (strcmp(language, "en") != 0)
		snprintf(f->path + strlen(f->path), sizeof f->path - strlen(f->path), "/%.8s", language);
	int n = scandir(f->path, &list, is_lesson, alphasort);
	if (n <= 0)
		return status_fail(STATUS_INPUT, "there are no lessons in %s", f->path);
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];
		snprintf(path, sizeof path, "%s/%s", f->path, list[i]->d_name);
		if (f->count < LESSONS)
			f->files[f->count++] = memory_text(path);
		free(list[i]);
	}
	free(list);
	return STATUS_OK;
}

static void cut_name(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = 0;
	else
		snprintf(path, 2, ".");
}

const char *lesson_home(const char *path, char *out, size_t size)
{
	snprintf(out, size, "%s", path);
	cut_name(out);
	if (!strcmp(language_of(path_name(out)), path_name(out)))
		cut_name(out);
	return out;
}

enum status lesson_folder_find(const struct lesson_folder *f, const char *wanted, const char **path)
{
	char *end;
	long number = strtol(wanted, &end, 10);
	for (int i = 0; i < f->count; i++) {
		const char *name = path_name(f->files[i]);
		if (end != wanted && !*end ? strtol(name, NULL, 10) == number : strstr(name, wanted) != NULL) {
			*path = f->files[i];
			return STATUS_OK;
		}
	}
	return status_fail(STATUS_INPUT, "there is no lesson '%.40s'; there are lessons %ld to %ld: {lesson}", wanted,
	                   strtol(path_name(f->files[0]), NULL, 10),
	                   strtol(path_name(f->files[f->count - 1]), NULL, 10));
}

void lesson_folder_release(struct lesson_folder *f)
{
	for (int i = 0; i < f->count; i++)
		free(f->files[i]);
	*f = (struct lesson_folder){0};
}
