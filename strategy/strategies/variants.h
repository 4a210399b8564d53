/* Variants: the changes of a job's settings that take less memory, so that a plan that does not fit may. The caller
 * compiles them and says which fit: the simulator, which knows the cheapest, and the ranks on a GPU that is too small.
 *
 * They are the places of a grid, of which the first along each axis is what was given:
 *
 *     strategy        the one given, without keys that keep memory (reshard=no …), and those that divide more among
 *                     their ranks: of hybrid those with larger groups
 *     checkpointing   as given, selective, full
 *     offload         as given, with the optimizer, with optimizer and parameters
 *     micro-batch     as given, half, a quarter, … 1, in as many more steps of accumulation
 */
#ifndef SHARDLAB_VARIANTS_H
#define SHARDLAB_VARIANTS_H

#include "strategy/settings/settings.h"

enum { VARIANT_STRATEGIES = 24, VARIANT_LEVELS = 4, VARIANT_MICROS = 40 };

struct variant_grid {
	struct settings given; /* resolved */
	char strategy[VARIANT_STRATEGIES][64];
	const char *checkpointing[VARIANT_LEVELS]; /* [0]: as given */
	struct offload offload[VARIANT_LEVELS];
	int64_t micro[VARIANT_MICROS]; /* those that make up the batch, descending */
	int strategies, checkpointings, offloads, micros;
};

struct variant_place {
	int strategy, checkpointing, offload, micro;
};

struct variant {
	struct settings settings; /* resolved */
	char change[160]; /* "{activation_checkpointing} full": see status_words(). Said again, it is exactly `settings`
	                   */
	int family; /* of a family (micro-batches of 4, 2, 1; twice and four times the ranks) the first that fits is
	               enough */
};

/* given: resolved settings. */
void variant_grid_make(struct variant_grid *g, const struct settings *given);
/* Makes the settings of a place; the global batch stays as it is. False: they contradict each other. */
bool variant_at(const struct variant_grid *g, const struct variant_place *place, struct variant *out);
/* The strategy, which has no groups, divides more of a copy of the model among ranks than `than` does. */
bool variant_divides_more(const struct settings *than, const char *strategy);
/* The distance between two settings of a user's job. Another micro-batch is the least; then come what is computed
 * again, another strategy by how much more it divides, what is offloaded, and another precision. A difference of one
 * kind outweighs all before it. */
int variant_distance(const struct settings *a, const struct settings *b);
/* 2, 4, … 64 times as many ranks, with micro-batches of the same size and a batch that grows with the ranks. */
enum { VARIANT_RANKS = 6 };
bool variant_of_ranks(const struct settings *given, int doublings, struct variant *out);

enum { VARIANTS = 80 };

/* Lists the variants that change one setting, then those with more ranks. Returns how many there are. */
int variants_of(const struct settings *given, struct variant out[VARIANTS]);

#endif
