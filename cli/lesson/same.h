/* Compares what a command prints with what the lesson says it prints. */
#ifndef SHARDLAB_LESSON_SAME_H
#define SHARDLAB_LESSON_SAME_H

#include "cli/lesson/lesson.h"

/* False: `why` says which line differs, and how. tolerance: per cent, of LESSON_RATIO. */
bool lesson_same(enum lesson_check check, double tolerance, const char *written, const char *printed, char *why,
                 size_t size);

#endif
