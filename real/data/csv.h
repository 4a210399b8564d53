/* Fields of a table in text (RFC 4180, and what others write), one after another.
 *
 *     struct csv c;
 *     csv_begin(&c, "iris.csv", bytes, size);
 *     while (!(s = csv_next(&c)) && !c.at_end)
 *             … c.text, c.row, c.column; c.ends_row …
 *
 * Rows end with a line; empty lines are none. Fields end with a comma, or with a semicolon or a tab if the first line
 * has one of these and no comma but between two digits, as in 5,1. Spaces around them are left out. A field in quotes
 * may have all of these in it, and "" for a quote. A byte-order mark is skipped. Allocates nothing.
 */
#ifndef SHARDLAB_DATA_CSV_H
#define SHARDLAB_DATA_CSV_H

#include "strategy/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { CSV_FIELD_BYTES = 256 };

struct csv {
	const char *name; /* of the file, for messages */
	const unsigned char *next, *end;
	unsigned char separator;
	int64_t next_line;
	bool row_is_open;
	/* the field at hand */
	bool at_end; /* there is none */
	bool ends_row;
	int64_t line, row; /* from 1, from 0 */
	int column;        /* from 0 */
	int length;
	char text[CSV_FIELD_BYTES];
};

void csv_begin(struct csv *c, const char *name, const unsigned char *bytes, int64_t size);
/* STATUS_INPUT, with the line: a quote that is not closed, or has text behind it; a field that is too long; a byte 0.
 */
enum status csv_next(struct csv *c);

/* True if the field is a finite number in decimal; then that is it. */
bool csv_number(const struct csv *c, float *out);
/* Would it be a number with a point in place of a comma? */
bool csv_has_decimal_comma(const struct csv *c);

#endif
