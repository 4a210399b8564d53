/* Shared by the communicators: the duplicated MPI communicator, waiting that leaves the core to others, and errors
 * that name who waited for whom. Only this folder includes it.
 */
#ifndef SHARDLAB_COMMUNICATOR_INTERNAL_H
#define SHARDLAB_COMMUNICATOR_INTERNAL_H

#include <mpi.h>
#include <stdatomic.h>

#include "real/communicator/communicator.h"

enum { TAG_COLLECTIVE = 1, TAG_SUM = 2, TAG_MEETING = 3, TAG_MESSAGE = 4 };

struct communicator_base {
	struct communicator public; /* first: a pointer to the one is a pointer to the other */
	MPI_Comm comm;
	atomic_bool spin;
	bool broken; /* a call failed: nobody may take the messages on their way, so every later call fails too */
	int64_t timeout_ns; /* of a wait in which nothing moves */
};

static inline struct communicator_base *base_of(struct communicator *c)
{
	return (struct communicator_base *)c;
}

/* Allocate; communicator_open() fills in the base. */
struct communicator_base *communicator_ring_new(void);
struct communicator_base *communicator_mpi_new(void);

enum { PATIENCE_TO_MEET = 3 }; /* for a rank that may compute, or write a file: so many times the limit */
enum status communicator_read_timeout(int64_t *ns);

/* In the messages about a rank that is gone: communicator_lost() finds them. */
#define LIMIT_SET_BY "(SHARDLAB_COMM_TIMEOUT_S sets the limit)"
#define MPI_SAYS "MPI says: "

/* Functions that both communicators share. */
enum status communicator_sum(struct communicator *c, double *values, int n, struct traffic *traffic);
enum status communicator_message(struct communicator *c, const struct point_to_point *m, struct traffic *traffic);
void communicator_spin(struct communicator *c, bool spin);
void communicator_release(struct communicator *c);

/* How long a wait has been fruitless, and its limit. Start again whenever something has moved. */
struct patience {
	int polls;
	int64_t since_ns; /* 0 until the first sleep */
	int64_t looked_ns;
	int64_t limit_ns;
	bool computing; /* the awaited rank may be */
};

/* Between two fruitless polls: yields or sleeps. False when the time is up. */
bool patience_pause(struct communicator_base *b, struct patience *p);

/* Polls one request until it is done. `peer` is -1 if many take part. */
enum status communicator_wait(struct communicator_base *b, MPI_Request *request, const char *what, int peer);
/* The same until the other end of a message comes. That rank may still compute, as the next stage of a pipeline does,
 * so a long wait is no sign of failure. */
enum status communicator_wait_to_meet(struct communicator_base *b, MPI_Request *request, const char *what, int peer);

/* These mark the communicator as broken and return STATUS_RUN. */
enum status communicator_mpi_failed(struct communicator_base *b, int code, const char *what, int peer);
enum status communicator_timed_out(struct communicator_base *b, int64_t limit_ns, const char *what, int peer);
enum status communicator_is_broken(const struct communicator_base *b);

#endif
