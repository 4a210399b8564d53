/* The right answer of a question that asks for a number, for those who judge it elsewhere. */
#ifndef SHARDLAB_LESSON_ANSWER_H
#define SHARDLAB_LESSON_ANSWER_H

#include "cli/lesson/lesson.h"

/* The answer's unit, as the player's script names it: "bytes", "percent" or "number". NULL: the answer is not a number.
 */
const char *lesson_amount(const struct piece *p, double *value);

#endif
