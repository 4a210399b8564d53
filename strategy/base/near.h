/* The name that somebody probably meant: near by a letter too many, too few, wrong or swapped, or begun by what was
 * typed, which is nearest, or the first part of it, or in other words (`half` is fp16). Case and punctuation do not
 * count, so `ZeRO-2` is `zero2`.
 *
 *     struct near near = {.typed = "tran"};
 *     near_consider(&near, "train");        // for each name there is
 *     … near_words(&near) …                 // " (did you mean train?)", " (did you mean zero1, zero2 or zero3?)", or
 * "" … near.known …                        // all that were considered: "train, sim"
 */
#ifndef SHARDLAB_NEAR_H
#define SHARDLAB_NEAR_H

enum { NEAR_NAMES = 4 };

struct near {
	const char *typed;
	const char *name;              /* the nearest of those considered; NULL: none is near */
	const char *names[NEAR_NAMES]; /* it and others that are as near, in the order in which they were considered */
	int count;                     /* of all of them: more than NEAR_NAMES are none that anybody meant */
	int distance;
	char known[400], words[128];
};

void near_consider(struct near *n, const char *name);
/* Considers a name too: a callback for functions that list names, with a `struct near` as context. */
void near_line(void *near, const char *name, const char *what);
const char *near_words(struct near *n);

#endif
