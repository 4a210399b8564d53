/* The communicators that a user can ask for, in one list. */
#ifndef SHARDLAB_COMMUNICATOR_KIND_H
#define SHARDLAB_COMMUNICATOR_KIND_H

#include <stdbool.h>

/* name, library, device, host: see below */
#define COMMUNICATOR_LIST(X)                                                                                           \
	X("ring", false, false, "ring")                                                                                \
	X("mpi", true, false, "mpi")                                                                                   \
	X("nccl", true, true, "mpi")

/* Their names, as an option's choices: "ring|mpi|nccl". */
#define COMMUNICATOR_OR_NAME(name, ...) "|" name
#define COMMUNICATOR_CHOICES (&(COMMUNICATOR_LIST(COMMUNICATOR_OR_NAME))[1])

struct communicator_kind {
	const char *name;
	bool library;     /* a library's collectives: they need no staging, and what they send cannot be counted */
	bool device;      /* moves a GPU's memory, so the CPU has none of it */
	const char *host; /* the one by which its ranks find each other, and which carries control values */
};

/* NULL: none is called so. */
const struct communicator_kind *communicator_kind(const char *name);

#endif
