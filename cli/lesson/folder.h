/* The folder of the lessons, in the source tree or where `make install` put it. */
#ifndef SHARDLAB_LESSON_FOLDER_H
#define SHARDLAB_LESSON_FOLDER_H

#include "cli/lesson/lesson.h"

enum { LESSONS = 100 };

struct lesson_folder {
	char path[512];
	char *files[LESSONS]; /* paths, by number */
	int count;
};

/* language: "en", or a folder in it, whose lessons are those of the same names. STATUS_INPUT, with where it was looked
 * for, if there is none. */
enum status lesson_folder_open(struct lesson_folder *f, const char *language);
/* The folder of the lessons in which, or below which, a lesson lies: that of its commands and pictures. Returns out. */
const char *lesson_home(const char *path, char *out, size_t size);
/* "3", "03" or a part of the name. NULL and a failure that lists what is near, if there is none. */
enum status lesson_folder_find(const struct lesson_folder *f, const char *wanted, const char **path);
void lesson_folder_release(struct lesson_folder *f);

#endif
