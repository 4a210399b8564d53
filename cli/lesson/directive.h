/* A directive of a lesson: <!-- name: word word key=value key="several words" -->. */
#ifndef SHARDLAB_DIRECTIVE_H
#define SHARDLAB_DIRECTIVE_H

#include "cli/lesson/lesson.h"

enum { DIRECTIVE_WORDS = 32, DIRECTIVE_SIZE = 1024 };

struct directive {
	char text[DIRECTIVE_SIZE];                                  /* its words, cut apart */
	const char *name;                                           /* "": a comment that is no directive */
	const char *word[DIRECTIVE_WORDS], *value[DIRECTIVE_WORDS]; /* value: NULL where there is no `=` */
	int count, line;
};

enum status directive_read(struct directive *d, const struct lesson *l, const char *comment, int line);
enum status directive_check_keys(const struct directive *d, const struct lesson *l, const char *keys);

const char *directive_word(const struct directive *d, int i);            /* of those without a value; "" */
const char *directive_value(const struct directive *d, const char *key); /* "" */
/* The words without a value from the i-th on, with spaces between. */
const char *directive_rest(const struct directive *d, struct arena *a, int i);
/* "--key 'value' …" for a shell: every word but `but` is an option. */
const char *directive_options(const struct directive *d, struct arena *a, const char *but);
/* Leaves *out where the key is not given. */
enum status directive_real(const struct directive *d, const struct lesson *l, const char *key, double low, double high,
                           double *out);

#endif
