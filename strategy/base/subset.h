/* Some of the numbers 0 … n - 1, and the place of each among them: two bits a number where an array would take four
 * bytes.
 *
 *     struct subset s;
 *     subset_init(&s, 5);
 *     subset_add(&s, 1);          in ascending order
 *     subset_add(&s, 4);
 *     subset_place(&s, 4)         1
 *     subset_place(&s, 3)         -1: it is none of them
 *     subset_release(&s);
 */
#ifndef SHARDLAB_SUBSET_H
#define SHARDLAB_SUBSET_H

#include <stdint.h>

enum { SUBSET_WORD = 64 };

struct subset {
	struct subset_word {
		uint64_t bits; /* bit i: the i-th of these 64 numbers belongs to it */
		int before;    /* how many that belong to it are below all of these */
	} * words;
	int count;
};

void subset_init(struct subset *s, int n);
void subset_release(struct subset *s); /* accepts NULL and a zeroed struct */
void subset_add(struct subset *s, int number);

static inline int subset_place(const struct subset *s, int number)
{
	const struct subset_word *w = &s->words[number / SUBSET_WORD];
	const uint64_t bit = UINT64_C(1) << number % SUBSET_WORD;
	return w->bits & bit ? w->before + __builtin_popcountll(w->bits & (bit - 1)) : -1;
}

#endif
