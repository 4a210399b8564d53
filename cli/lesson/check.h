/* Checking lessons: every command is run, every picture drawn, and compared with what the lesson has; or written anew.
 */
#ifndef SHARDLAB_LESSON_CHECK_H
#define SHARDLAB_LESSON_CHECK_H

#include <stdio.h>

#include "cli/lesson/lesson.h"

/* What differs is printed to `out`, a line each, and STATUS_CHECK. update: outputs and pictures are written into the
 * files instead. */
enum status lesson_check_all(const char *path, bool update, FILE *out);

/* The same commands in the same order as in another language's file. */
enum status lesson_check_translation(const struct lesson *l, const struct lesson *translated);

#endif
