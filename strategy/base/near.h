/* The name that somebody probably meant: near by a letter too many, too few, wrong or swapped, or begun by what was
 * typed. Case and punctuation do not count, so `ZeRO-2` is `zero2`.
 *
 *     struct near near = {.typed = "tran"};
 *     near_consider(&near, "train");        // for each name there is
 *     … near_words(&near) …                 // " (did you mean train?)", or "" when none is near
 *     … near.known …                        // all that were considered: "train, sim"
 */
#ifndef SHARDLAB_NEAR_H
#define SHARDLAB_NEAR_H

struct near {
	const char *typed;
	const char *name; /* the nearest of those considered; NULL: none is near */
	int distance;
	char known[400], words[64];
};

void near_consider(struct near *n, const char *name);
/* The same for functions that list what there is, to which it is given with a `struct near` as context. */
void near_line(void *near, const char *name, const char *what);
const char *near_words(struct near *n);

#endif
