/* A command's options as a line of words, which spaces separate. */
#ifndef SHARDLAB_TESTS_ARGUMENTS_H
#define SHARDLAB_TESTS_ARGUMENTS_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "cli/options/options.h"
#include "tests/support/suite.h"

/* The options point into their words, those of the last few lines. */
static inline void arguments_parse(struct options *o, enum command c, const char *line)
{
	enum { WORDS = 64, LINES = 8 };
	static char lines[LINES][4096];
	static int next;
	char *words[WORDS], *text = lines[next++ % LINES], *rest = text;
	int count = 0;
	ck_assert_int_lt(snprintf(text, sizeof lines[0], "%s", line), (int)sizeof lines[0]);
	while (count < WORDS - 1 && (words[count] = strtok_r(rest, " ", &rest)))
		count++;
	ck_assert_msg(!options_parse(o, c, count, words), "%s", status_message());
}

#endif
