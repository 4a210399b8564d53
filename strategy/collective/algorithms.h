/* Functions that the algorithms share. An algorithm is a file that ends with its rows, which SCHEDULE_LIST names. */
#ifndef SHARDLAB_COLLECTIVE_ALGORITHMS_H
#define SHARDLAB_COLLECTIVE_ALGORITHMS_H

#include "strategy/collective/schedule.h"

/* The amount sent: so many times the whole buffer, or so many times a slice. */
static inline struct amount times_whole(const struct schedule *s, int64_t times)
{
	return (struct amount){times, s->elements};
}

static inline struct amount times_slice(const struct schedule *s, int64_t times)
{
	return (struct amount){times, s->elements / s->ranks};
}

#define X(constant, row) extern const struct algorithm row;
SCHEDULE_LIST(X)
#undef X

/* The user's own algorithms, which tools/own.sh adds to a program, come after them and end with NULL. The library has
 * none. */
enum { OWN_ALGORITHMS = 8 };
extern const struct algorithm *const own_algorithms[];

/* A stretch of the buffer. */
struct stretch {
	int64_t offset, count;
};

/* The start of piece k when `elements` are cut into `pieces`: k·elements/pieces rounded down, without the product that
 * would overflow. Pieces differ by at most one element and cover everything; some are empty if pieces > elements. */
static inline int64_t piece_begin(int64_t elements, int64_t pieces, int64_t k)
{
	return elements / pieces * k + elements % pieces * k / pieces;
}

static inline struct stretch piece_of(int64_t elements, int64_t pieces, int64_t k)
{
	int64_t begin = piece_begin(elements, pieces, k);
	return (struct stretch){begin, piece_begin(elements, pieces, k + 1) - begin};
}

/* a mod n in 0 … n-1, for a ≥ -n */
static inline int64_t around(int64_t a, int64_t n)
{
	return (a + n) % n;
}

static inline void round_send(struct round *r, int64_t to, struct stretch what)
{
	r->send_to = to;
	r->send_offset = what.offset;
	r->send_count = what.count;
}

static inline void round_receive(struct round *r, int64_t from, struct stretch what, bool add)
{
	r->receive_from = from;
	r->receive_offset = what.offset;
	r->receive_count = what.count;
	r->add = add;
}

#endif
