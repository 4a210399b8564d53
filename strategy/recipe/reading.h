/* For readers of files in text: where a reader stands, texts in the making, and errors with line and column. */
#ifndef SHARDLAB_READING_H
#define SHARDLAB_READING_H

#include "strategy/recipe/tree.h"

struct reading {
	struct arena *arena;
	struct tree_file *f;
	const char *at, *end, *line_begin;
	const struct tree *unquoted; /* the first text without quotes that ends a bracket which it does not begin */
	int line, depth;
};

/* STATUS_INPUT unless the file is a text in UTF-8 of at most TREE_BYTES without zero bytes: texts end at the first, and
 * messages show them. */
enum status reading_open(struct reading *r, struct arena *a, const char *text, size_t size, struct tree_file *f);

int reading_column(const struct reading *r);
enum status reading_fail(const struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The character so far ahead; -1: past the end. */
int reading_peek(const struct reading *r, int ahead);
void reading_step(struct reading *r);
/* A number of decimal digits from here on. */
size_t reading_digits(const char *p);
/* The next value of `parent`, here; NULL fails. */
enum status reading_add(struct reading *r, struct tree *parent, const char *key, struct tree **out);

/* A text in the making: `at` has room for it. */
struct reading_text {
	char *at;
	size_t length;
};
void reading_put(struct reading_text *t, unsigned c); /* in UTF-8 */
/* Reads `count` hexadecimal digits. */
bool reading_hexadecimal(struct reading *r, int count, unsigned *out);

#endif
