/* Running text for people: lines that end where the terminal does.
 *
 *     text_wrapped(stdout, "a long line …", 2, text_columns(stdout, 80));
 */
#ifndef SHARDLAB_TEXT_H
#define SHARDLAB_TEXT_H

#include <stdio.h>

int text_width(const char *utf8); /* code points */

/* How wide a line may be: 60 to 110, as the terminal is; `otherwise` where `out` is none. */
int text_columns(FILE *out, int otherwise);

/* Breaks `text` at spaces into lines of at most `columns` where a word allows it; the first goes on at `indent`, where
 * the cursor is, the others are indented so far. What colours a terminal takes no room. Ends the line. */
void text_wrapped(FILE *out, const char *text, int indent, int columns);

/* The same where " · " stands between items, which stay whole. */
void text_items(FILE *out, const char *text, int columns);

#endif
