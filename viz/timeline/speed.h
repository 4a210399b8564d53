/* How fast a collective or a copy was, as nccl-tests (doc/PERFORMANCE.md) count it: of S bytes in t seconds over n
 * ranks
 *
 *     algorithm bandwidth   S / t
 *     bus bandwidth         all-reduce                                     S / t · 2 (n − 1)/n
 *                           reduce-scatter, all-gather, gather, scatter    S / t · (n − 1)/n
 *                           broadcast, reduce, a message, a copy           S / t
 *
 * The bus bandwidth is what a link between ranks has to carry, so that it can be held against the link's rate. t begins
 * when the last member has come: waiting is not counted. S is the whole: for an all-gather what each rank has at its
 * end, for a reduce-scatter what each has at its beginning.
 */
#ifndef SHARDLAB_VIZ_SPEED_H
#define SHARDLAB_VIZ_SPEED_H

#include "viz/timeline/lanes.h"

struct speed {
	int64_t payload_bytes; /* S, without padding */
	int64_t wire_bytes; /* that leave the rank, padding with them; of a receive that reach it, of a copy its bytes;
	                       -1: not known */
	int64_t waits, moves;  /* ns; another program's waiting is part of what it moves */
	int64_t ranks;         /* of a copy 1; 0: not known */
	double algorithm, bus; /* bytes/s; bus 0: not known */
	double link;           /* bytes/s of the slowest link that it has to take; 0: not known */
	int64_t parts;         /* of the link, each of which has its part of that rate: the NICs of a node; else 1 */
	bool assumed;          /* the run was measured, and the link's rate was not: a share of it says nothing */
	const char *link_name; /* "link", "network", "host link", "disk" */
};

/* False: it moves nothing from rank to rank or from space to space, or takes no time. */
bool speed_of_op(const struct timeline *s, int index, int op, struct speed *out);
/* The same for a span of another program's trace, whose name and arguments say what it does. */
bool speed_of_span(const struct trace_file *f, size_t span, struct speed *out);

/* 2 (n − 1)/n and its like; by the name of another program's collective. */
double speed_bus_factor(enum operation o, int64_t ranks);

#endif
