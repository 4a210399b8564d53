/* The loss of a run as text: a small picture of a few lines, in braille or in ASCII.
 *
 *     loss of training, o validation
 *      5.56 |*
 *           | *
 *           |  o***
 *      3.21 |      ***o
 *           +----------
 *            1      100 step
 */
#ifndef SHARDLAB_SHOW_CURVE_H
#define SHARDLAB_SHOW_CURVE_H

#include <stdbool.h>
#include <stdio.h>

#include "strategy/trace/curves.h"

/* Nothing of fewer than two points. columns: of the longest line, from 40. braille: eight dots a character, for a
 * terminal that shows UTF-8. */
void show_curve(const struct curves *c, int columns, bool braille, FILE *out);

/* True if the environment (LC_ALL, LC_CTYPE, LANG) says that text is UTF-8. */
bool text_is_utf8(void);

#endif
