/* The right answer of a question that asks for a number, for those who judge it elsewhere. */
#ifndef SHARDLAB_LESSON_ANSWER_H
#define SHARDLAB_LESSON_ANSWER_H

#include "cli/lesson/lesson.h"

/* In bytes, per cent or as it is: "bytes", "percent", "number", as the player's script names them. NULL: it is none. */
const char *lesson_amount(const struct piece *p, double *value);

#endif
