/* The communicators that a user can ask for, in one list. */
#ifndef SHARDLAB_COMMUNICATOR_KIND_H
#define SHARDLAB_COMMUNICATOR_KIND_H

#include <stdbool.h>

/* name, library, device, host: see below; OR stands between two rows. */
#define COMMUNICATOR_LIST(X, OR)                                                                                       \
	X("ring", false, false, "ring")                                                                                \
	OR X("mpi", true, false, "mpi") OR X("nccl", true, true, "mpi")

#define COMMUNICATOR_NAME(name, ...) name
#define COMMUNICATOR_NAMES COMMUNICATOR_LIST(COMMUNICATOR_NAME, "|") /* "ring|mpi|nccl" */

struct communicator_kind {
	const char *name;
	bool library;     /* a library's collectives: they need no staging, and what they send cannot be counted */
	bool device;      /* moves a GPU's memory, so the CPU has none of it */
	const char *host; /* the one by which its ranks find each other, and which carries control values */
};

/* NULL: none is called so. */
const struct communicator_kind *communicator_kind(const char *name);

#endif
