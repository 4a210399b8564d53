/* A lesson in the terminal, piece by piece: text, commands that run, the window, questions that wait for an answer.
 *
 *     struct teaching t = {.lesson = &l, .in = stdin, .out = stdout, .interactive = true, .display = true};
 *     status = teach(&t, &progress);
 */
#ifndef SHARDLAB_LESSON_TEACH_H
#define SHARDLAB_LESSON_TEACH_H

#include <stdio.h>

#include "cli/lesson/learner.h"
#include "cli/lesson/lesson.h"
#include "viz/question/question.h"

struct teaching {
	const struct lesson *lesson;
	FILE *in, *out;
	bool interactive; /* waits for Enter, and for answers */
	bool display;     /* there is one, for the window */
	int columns;
	bool bold;
	int from; /* the piece to begin with */
};

enum status teach(struct teaching *t, struct learner *progress);

/* Judges what was typed: a choice by its number or its text; a number with a unit, within the tolerance.
 * Unclear: `why` says what is asked for, and the question is asked again. */
enum answer teach_judge(const struct piece *p, const char *typed, char why[ANSWER_WORDS]);

#endif
