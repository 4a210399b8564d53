/* Numbers for the chunks of a collective: one small number stands for a chunk, and messages add or copy it as ranks do
 * with its elements. A rank's chunk begins with a digit of its own, so that sums are checked by eye; or, where the
 * trace has values of the run, with the first element that the rank had there.
 *
 *     rank 0    3 ──────┐ 3         rank 1 has 5 and receives 3: 5 + 3 = 8
 *     rank 1    5       └─► 8
 *
 *     struct values v;
 *     values_make(&v, &state, &state.groups[0]);
 *     … v.now[member * v.chunks + chunk], and v.last[…], by which message it came …
 *     values_release(&v);
 */
#ifndef SHARDLAB_VIZ_VALUES_H
#define SHARDLAB_VIZ_VALUES_H

#include "viz/timeline/state.h"

/* Above so many ranks of a group there are none. */
enum { VALUES_RANKS = 8 };

/* The change that a message made to the number of a chunk at the receiver: had + came = has, max(had, came) = has, or
 * came = has. */
struct exchange {
	double had, came, has; /* had: NAN where the receiver had nothing */
	bool adds, maximum;
};

struct values {
	int power; /* of ten, by which the numbers are to be multiplied; 0 of examples */
	int64_t members;
	int chunks;
	double *now;           /* [member * chunks + chunk]; NAN: nothing is there */
	struct exchange *last; /* likewise: the last message; came is NAN before the first */
};

/* The trace has values of the run, which stand in the place of examples. */
bool values_recorded(const struct timeline *s);
/* Does a collective have numbers? */
bool values_shown(const struct timeline *s, const struct collective *c);
/* The number that a rank's chunk begins with; NAN: it was not recorded. s: NULL stands for one without values. */
double value_initially(const struct timeline *s, const struct collective *c, int64_t member, int chunk);

/* The values before the first message. */
void values_init(struct values *v, const struct timeline *s, const struct collective *c);
void values_carry(struct values *v, const struct collective *c, const struct event *message);
/* The values in a state: after the messages that have arrived. */
void values_make(struct values *v, const struct state *st, const struct state_group *g);
void values_release(struct values *v); /* accepts NULL and a zeroed struct */

/* The change that the last carried message made to the first of its chunks. */
const struct exchange *values_exchange(const struct values *v, const struct collective *c, const struct event *message);

/* " × 10⁻³"; "" for 0. In a buffer of the caller, which it returns. */
enum { POWER_WORD = 32 };
const char *power_word(char *out, int power);
/* "8", and "5 + 3 = 8", "max(3, 5) = 5", or "8" where it is taken over, in a buffer of the caller, which they return.
 */
enum { VALUE_WORD = 32, EXCHANGE_WORD = 112 };
const char *value_word(char *out, double value);
const char *exchange_word(char *out, const struct exchange *x);

#endif
