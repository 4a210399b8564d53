/* Variants: the changes of a job's settings that take less memory, so that a plan that does not fit may. Whoever asks
 * compiles them and says which fit: the simulator, which knows the fastest, and the ranks on a GPU that is too small.
 */
#ifndef SHARDLAB_VARIANTS_H
#define SHARDLAB_VARIANTS_H

#include "strategy/settings/settings.h"

/* How much a change asks of the user; a smaller one is tried first. */
enum variant_effort {
	VARIANT_ONE,  /* a setting */
	VARIANT_MANY, /* several settings together */
	VARIANT_RANKS /* more devices */
};

struct variant {
	struct settings settings; /* resolved */
	char change[160]; /* "{activation_checkpointing} full": see status_words(). Said again, it is exactly `settings`
	                   */
	enum variant_effort effort;
	int family; /* of a family (micro-batches of 4, 2, 1; twice and four times the ranks) the first that fits is
	               enough */
};

enum { VARIANTS = 80 };

/* Fills `out` with the variants of resolved settings, by effort; returns how many there are. The global batch stays as
 * it is, except with more ranks, which take micro-batches of the same size. */
int variants_of(const struct settings *given, struct variant out[VARIANTS]);

#endif
