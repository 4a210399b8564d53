/* Running text for people: lines that end where the terminal does.
 *
 *     text_wrapped(stdout, "a long line …", 2, text_columns(stdout, 80));
 */
#ifndef SHARDLAB_TEXT_H
#define SHARDLAB_TEXT_H

#include <stdio.h>

int text_width(const char *utf8); /* columns: two for a Chinese character */

/* How wide a line may be: the terminal's width, from 40 to 110; `otherwise` if `out` is not a terminal. */
int text_columns(FILE *out, int otherwise);

/* Breaks `text` at spaces, and between Chinese characters, into lines of at most `columns` where a word allows it; the
 * first goes on at `indent`, where the cursor is, the others are indented so far. Colour codes take no room. Ends the
 * line. */
void text_wrapped(FILE *out, const char *text, int indent, int columns);

/* The same for items with a separator between them, such as " · ": lines end only there, and begin without it. */
void text_items(FILE *out, const char *text, const char *separator, int indent, int columns);

#endif
