/* A table of numbers with a label in each row, from CSV (csv.h) to what a model takes. Between the parts of real/data.
 *
 *     header          the first row, if one of its fields is "label", or none of them is a number, or they are 0, 1, 2,
 *                     3 and so on, or whole numbers that rise but for one word, which its column does not have again
 *     label           the column that the user names; else the one named label; else the first or the last, whichever
 *                     has words, or whole numbers below `classes` of which there are two at least. If both have, the
 *                     table is refused until it is said which.
 *     labels          whole numbers in [0, classes), or words, which are numbered in the order of their bytes
 *     other columns   numbers, all of them there
 */
#ifndef SHARDLAB_DATA_TABLE_H
#define SHARDLAB_DATA_TABLE_H

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Words that stand in a column, each once. */
struct table_words {
	const char **list;
	int count, capacity;
};

struct table_file {
	const char *name;
	int64_t first_row;
};

/* Rows of several files, one after another. A zeroed one is empty, but for its first three members. */
struct table {
	const char *label_is; /* "first", "last", a number from 1, or a name; NULL: found out */
	int64_t classes;
	int64_t inputs; /* numbers in a row beside the label */

	struct arena arena;
	int columns, label;  /* label: -1 until it is known */
	const char **header; /* of columns; NULL: none */
	float *values;       /* [rows][columns]; on the heap */
	int64_t rows;
	size_t capacity;             /* of values */
	struct table_words words[2]; /* of the first column and of the last, or of the label */
	bool numbers[2];             /* there are numbers in it */
	struct table_file *files;
	int file_count, file_capacity;
};

/* Adds the rows of a file, whose bytes need not live on. */
enum status table_add(struct table *t, const char *name, const unsigned char *bytes, int64_t size);
/* Once all files are added: finds the label, and checks it in all rows. */
enum status table_finish(struct table *t);
void table_release(struct table *t);

static inline const float *table_row(const struct table *t, int64_t row)
{
	return t->values + row * t->columns;
}

#endif
