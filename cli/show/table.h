/* Tables for people: columns that line up, without boxes; colour only on a terminal, and not under NO_COLOR.
 *
 *     struct table t;
 *     table_init(&t, stdout, 3);                  // the first column is text, the others are numbers, on the right
 *     table_add_row(&t, STYLE_HEAD);
 *     table_cell(&t, 0, "strategy");
 *     …
 *     table_print(&t, 2);                         // two spaces before each line
 *     table_release(&t);
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
	int columns, text_columns; /* so many from the left are set on the left; 1 unless changed */
	struct table_row *rows;
	size_t row_count, row_capacity;
	bool colour;
};

void table_init(struct table *t, FILE *out, int columns);
void table_release(struct table *t);

/* A new row, empty; cells are filled in with table_cell. */
void table_add_row(struct table *t, enum style style);
void table_cell(struct table *t, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));
void table_cell_style(struct table *t, int column, enum style style); /* of the last row */
void table_gap(struct table *t);                                      /* an empty line */
void table_print(const struct table *t, int indent);

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
struct scale scale_of_time(int64_t largest_nanoseconds);
void table_scaled(struct table *t, int column, int64_t value, struct scale u);

/* Is `out` a terminal that wants colour? */
bool terminal_colour(FILE *out);
/* Begins a style ("" where there is no colour) and ends it. */
const char *style_begin(enum style s, bool colour);
const char *style_end(enum style s, bool colour);

#endif
