/* Checking lessons: every command is run, every picture drawn, and compared with what the lesson has; or written anew.
 */
#ifndef SHARDLAB_LESSON_CHECK_H
#define SHARDLAB_LESSON_CHECK_H

#include <stdio.h>

#include "cli/lesson/lesson.h"

/* Prints each difference to `out`, a line each, and returns STATUS_CHECK. update: outputs and pictures are written into
 * the files instead. */
enum status lesson_check_all(const char *path, bool update, FILE *out);

/* Writes the file again, with the outputs that its commands have now. */
enum status lesson_write(const struct lesson *l);

#endif
