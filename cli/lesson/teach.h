/* A lesson in the terminal, piece by piece: text, commands that run, the window, questions that wait for an answer.
 *
 *     struct teaching t = {.lesson = &l, .in = stdin, .out = stdout, .interactive = true, .display = true};
 *     status = teach(&t, &progress);
 */
#ifndef SHARDLAB_LESSON_TEACH_H
#define SHARDLAB_LESSON_TEACH_H

#include <stdio.h>

#include "cli/lesson/lesson.h"
#include "cli/lesson/progress.h"

struct teaching {
	const struct lesson *lesson;
	FILE *in, *out;
	bool interactive; /* waits for Enter, and for answers */
	bool display;     /* there is one, for the window */
	int columns;
	bool bold;
	int from; /* the piece to begin with */
};

enum status teach(struct teaching *t, struct progress *progress);

/* Is what was typed the right answer? A choice by its number or its text; a number with a unit, within the tolerance.
 * False and a line in `hint` where it cannot be read: the question is asked again. */
enum answer { ANSWER_RIGHT, ANSWER_WRONG, ANSWER_UNREADABLE };
enum answer teach_judge(const struct piece *p, const char *typed, char *hint, size_t size);

#endif
