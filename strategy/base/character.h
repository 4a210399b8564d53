/* Characters of UTF-8 text, as wide as terminals and fonts have them, and between which of them a line may end.
 *
 *     for (const char *at = text; *at;)
 *             columns += character_is_wide(character_next(&at)) ? 2 : 1;
 */
#ifndef SHARDLAB_CHARACTER_H
#define SHARDLAB_CHARACTER_H

#include <stdbool.h>

/* The character at *at, which is moved behind it. Bytes that are no UTF-8 count each. */
unsigned character_next(const char **at);

/* Two columns: Chinese, Japanese, Korean, and their punctuation. */
bool character_is_wide(unsigned c);

/* May a line end between the two, where no space is? Beside a wide one, but not before what closes or behind what
 * opens.
 */
bool character_may_part(unsigned before, unsigned after);

#endif
