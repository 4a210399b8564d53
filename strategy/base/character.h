/* Characters of UTF-8 text, as wide as terminals and fonts have them, and between which of them a line may end.
 *
 *     for (const char *at = text; *at;)
 *             columns += character_is_wide(character_next(&at)) ? 2 : 1;
 */
#ifndef SHARDLAB_CHARACTER_H
#define SHARDLAB_CHARACTER_H

#include <stdbool.h>

/* Returns the character at *at and moves *at behind it. A byte that is not UTF-8 counts as one character. */
unsigned character_next(const char **at);

/* Does it take two columns? Chinese, Japanese and Korean characters do, and their punctuation. */
bool character_is_wide(unsigned c);

/* May a line end between these two characters without a space? It may beside a wide one, but not before closing or
 * behind opening punctuation. */
bool character_may_part(unsigned before, unsigned after);

/* Replaces by ? what a terminal must not get from a file's name or contents: control characters, those that turn the
 * direction of writing, and bytes that are not UTF-8. The text becomes no longer. */
void character_make_plain(char *text);
/* Such a copy, for a name on its way to a terminal; messages (status.h) are plain already. Four of a thread, of 4096
 * bytes, live at a time. NULL stays NULL. */
const char *character_plain(const char *text);

#endif
