/* The name that somebody probably meant: near by insertions, deletions and substitutions, or begun by what was typed.
 * Case and punctuation do not count, so `ZeRO-2` is `zero2`.
 *
 *     struct near near = {.typed = "tran"};
 *     near_consider(&near, "train");                       // for each name there is
 *     … near_words(&near, text, sizeof text) …             // " (did you mean train?)", or "" when none is near
 */
#ifndef SHARDLAB_NEAR_H
#define SHARDLAB_NEAR_H

#include <stddef.h>

enum { NEAR_WORDS = 64 };

struct near {
	const char *typed;
	const char *name; /* the nearest of those considered; NULL: none is near */
	int distance;
};

void near_consider(struct near *n, const char *name);
const char *near_words(const struct near *n, char *out, size_t size);

#endif
