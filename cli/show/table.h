/* Tables for people: columns that line up, without boxes; colour only on a terminal, and not under NO_COLOR.
 *
 *     struct table t;
 *     table_init(&t, stdout, 3, 1);               // one column of text on the left, then numbers, on the right
 *     table_row(&t, STYLE_HEAD, "strategy\tcalls\tsent");
 *     table_row(&t, STYLE_PLAIN, "%s\t%d", "ddp", 7);
 *     table_bytes(&t, 2, 1000000);
 *     table_end(&t, 2);                           // prints it, with two spaces before each line
 *
 * A first cell that is alone in its row is a title: it runs over the other columns, and does not widen its own. A cell
 * may have a style of its own (table_cell_style). Text is UTF-8; one code point is one column wide.
 */
#ifndef SHARDLAB_TABLE_H
#define SHARDLAB_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "strategy/base/arena.h"

enum style { STYLE_PLAIN, STYLE_HEAD, STYLE_FAINT, STYLE_GOOD, STYLE_BAD };

enum { TABLE_COLUMNS = 34 };

struct table_row {
	const char *cell[TABLE_COLUMNS];
	enum style style[TABLE_COLUMNS];
};

struct table {
	struct arena arena;
	FILE *out;
	int columns;
	bool left[TABLE_COLUMNS];   /* columns of text; others than the first ones are set after table_init */
	bool hidden[TABLE_COLUMNS]; /* columns that are not printed, set after table_init */
	struct table_row *rows;
	size_t row_count, row_capacity;
	bool colour;
};

void table_init(struct table *t, FILE *out, int columns, int text_columns);
/* Prints the table and releases it. */
void table_end(struct table *t, int indent);

/* A new row with the cells that stand in `format`, with tabs between them. Other cells are filled in afterwards. */
void table_row(struct table *t, enum style style, const char *format, ...) __attribute__((format(printf, 3, 4)));
void table_gap(struct table *t); /* an empty row */
void table_cell(struct table *t, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));
void table_cell_style(struct table *t, int column, enum style style); /* of the last row */

/* Numbers as cells. Negative: "–", for what cannot be counted. */
void table_bytes(struct table *t, int column, int64_t bytes); /* with its own unit: "7.455 MB" */
void table_time(struct table *t, int column, int64_t nanoseconds);

/* One unit for a group of numbers, so that they can be compared: the largest in which the largest number is at
 * least 2. */
struct scale {
	const char *name;
	double size;
	int decimals; /* the same for all, so that points stand under each other */
};
struct scale scale_of_bytes(int64_t largest);
/* The unit below that one, where the least of them would have less than three digits. */
struct scale scale_of_bytes_between(int64_t least, int64_t largest);
struct scale scale_of_time(int64_t largest_nanoseconds);
struct scale scale_of_flops(int64_t largest); /* a second */
struct scale scale_of_count(int64_t largest); /* its name may be "" */
void table_scaled(struct table *t, int column, int64_t value, struct scale u);

/* True if `out` is a terminal that wants colour. */
bool terminal_colour(FILE *out);
/* Begins a style ("" where there is no colour) and ends it. */
const char *style_begin(enum style s, bool colour);
const char *style_end(enum style s, bool colour);

#endif
