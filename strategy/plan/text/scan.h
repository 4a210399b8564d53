/* Lines and words of a plan's text, with where they stand; and tables of names. For read.c. */
#ifndef SHARDLAB_TEXT_SCAN_H
#define SHARDLAB_TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/base/status.h"

struct word {
	char *text; /* ends with 0 */
	int column; /* from 1 */
};

/* Takes a text apart line by line. Empty lines and lines that begin with # are passed over. */
struct scan {
	const char *name, *text;
	size_t size, at;
	int line; /* of the words at hand, from 1 */
	struct word *words;
	size_t count, capacity;
	char *copy;
	size_t copy_capacity;
	size_t next; /* the word to be taken next */
};

void scan_release(struct scan *s);
/* The next line's words; *more is false at the end. Bytes that are no printable ASCII are an error. */
enum status scan_line(struct scan *s, bool *more);

/* "name:line:column" of a word of the line (past the last: behind it). */
void scan_place(const struct scan *s, size_t word, char *out, size_t size);
/* "name:line:column: …" at word number `word` of the line (past the last: behind it). */
enum status scan_fail(const struct scan *s, size_t word, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The next word is `text`: takes it. */
bool scan_is(struct scan *s, const char *text);
/* Takes a word, a whole number in [low, high], a number; `what` is for the message if there is none. */
enum status scan_word(struct scan *s, const char *what, char **out);
enum status scan_whole(struct scan *s, const char *what, int64_t low, int64_t high, int64_t *out);
enum status scan_real(struct scan *s, const char *what, double *out);
enum status scan_expect(struct scan *s, const char *text);
enum status scan_end(const struct scan *s); /* nothing stands behind */

/* Takes the name of one of `count` things, or of one in a table; what: "queue". Enumerations without negative constants
 * are unsigned, so that queue_name and its like fit. */
struct names;
enum status scan_name(struct scan *s, const char *what, const char *(*name)(unsigned), int count, int *out);
enum status scan_known(struct scan *s, const char *what, const struct names *names, int *out);

/* Digits alone, up to `high`. */
bool whole_parse(const char *text, int64_t high, int64_t *out);

/* Names and their numbers. Names are not copied. */
struct names {
	const char **name;
	int *number;
	size_t count, size;
};
void names_release(struct names *n);
bool names_add(struct names *n, const char *name, int number); /* false: it is there already */
int names_find(const struct names *n, const char *name);       /* -1: it is not */

#endif
