/* The communicator: how a rank's communication queue moves bytes. A small table of functions, so that executors know
 * collectives and not libraries. `ring` carries out our schedules over MPI point-to-point; `mpi` calls the library's
 * collectives. A caller that asks for one gets it or an error: nothing falls back by itself.
 *
 * All calls are made by one thread (the communication thread), in the plan's order, and return when the rank's part is
 * done. Bytes are counted where they are sent. Inside a library's collective they cannot be counted: `counted` is
 * false.
 *
 * When a rank dies, mpirun ends the others within seconds; nothing here looks for it. A wait in which nothing moves
 * ends with STATUS_RUN after SHARDLAB_COMM_TIMEOUT_S seconds (120 by default). A wait for the other end of a message
 * lasts three times as long, because the two ranks need not compute at the same time. A program that computes for
 * longer must set a larger value. After a timeout the communicator cannot be used again.
 */
#ifndef SHARDLAB_COMMUNICATOR_H
#define SHARDLAB_COMMUNICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/status.h"
#include "strategy/base/type.h"
#include "strategy/collective/schedule.h"

struct communicator;

/* One collective. Elements of any type are moved unchanged. fp32, bf16 and fp16 can be added: 16-bit elements are added
 * in fp32 and rounded to the nearest after each addition, so a sum over n ranks is rounded n-1 times, as in NCCL's
 * ring. */
struct collective {
	enum schedule_algorithm algorithm; /* which schedule; `mpi` takes the operation from it and ignores the rest */
	int64_t root;
	int64_t elements; /* of the whole, a multiple of ranks */
	void *whole;      /* reduce-scatter, all-gather, scatter, gather at ranks that have it whole; all others */
	void *part;       /* the slice of elements/ranks: result of reduce-scatter and scatter, source of all-gather and
	                     gather. May lie inside `whole` at the rank's own slice (in place). */
	void *staging;    /* SCHEDULE_STAGING_BYTES, lent: may be used for what comes in, and nothing else */
	bool maximum;     /* all-reduce of fp32: take the larger of two elements instead of adding them */
	enum type type;   /* of the elements */
};
/* Scatter and gather: `whole` is NULL on ranks other than the root. Reduce: spoils `whole` where the schedule does. */

/* One end of a message. The call returns when this end is done: a send's memory may be written again then. Neither end
 * begins before both have come. */
struct point_to_point {
	bool sends; /* else it receives */
	int peer;
	void *at;
	int64_t bytes;
};

struct traffic {
	int64_t handed_bytes;               /* of the whole, or the message, that the call worked on; with padding */
	int64_t staging_bytes;              /* of the staging that was written to, up to the furthest byte */
	int64_t sent_bytes, received_bytes; /* what this rank sent and received in this call */
	bool counted;                       /* false: inside a library's collective */
	int64_t began_ns;                   /* of a message: CLOCK_MONOTONIC when both ends had come; else 0 */
};

struct communicator_ops {
	const char *name; /* of kind.h */
	enum status (*run)(struct communicator *c, const struct collective *what, struct traffic *traffic);
	/* control values: sums `n` doubles over all ranks, the same bits everywhere. Numbers of fp32 whose exponents
	 * differ by less than 29 - log2(ranks) add up exactly, whatever the order. */
	enum status (*sum)(struct communicator *c, double *values, int n, struct traffic *traffic);
	enum status (*message)(struct communicator *c, const struct point_to_point *what, struct traffic *traffic);
	/* set by the executor while its compute queue stands still waiting for communication: then spinning is right;
	 * otherwise the communicator sleeps between polls, and leaves the core to the compute thread */
	void (*spin)(struct communicator *c, bool spin);
	void (*release)(struct communicator *c);
};

struct communicator {
	const struct communicator_ops *ops;
	int rank, ranks;
};

/* name: of one that moves no device's memory (kind.h). `mpi_communicator` is a pointer to an MPI_Comm (kept out of this
 * header), which is duplicated. MPI must be initialized with at least MPI_THREAD_SERIALIZED. */
enum status communicator_open(struct communicator **out, const char *name, void *mpi_communicator);
void communicator_close(struct communicator *c); /* accepts NULL */

/* Bytes that ranks tell each other between steps: all call it, with the communicator's patience. */
struct exchange {
	const char *what;  /* for messages: "saving" */
	bool others_write; /* a file, meanwhile: patience as for a message */
};
/* all: the bytes of all ranks, in their order, on every rank. */
enum status communicator_tell_all(struct communicator *c, const struct exchange *x, const void *mine, int64_t bytes,
                                  void *all);
/* The same at rank 0 alone, where rank i's are counts[i] bytes at places[i]. */
enum status communicator_tell_first(struct communicator *c, const struct exchange *x, const void *mine, int bytes,
                                    void *all, const int *counts, const int *places);
/* All get the bytes that rank `from` has there. */
enum status communicator_hear(struct communicator *c, const struct exchange *x, void *at, int64_t bytes, int from);

/* CLOCK_MONOTONIC when a wait of this process for another rank last found that nothing had come; 0: never. Any thread
 * may ask. */
int64_t communicator_waited(void);

/* Whether this is the message of a wait for a rank that did not come, or of a call that failed: that rank is gone. */
bool communicator_lost(const char *message);

/* Whether a call of it failed. Every later one fails too, and MPI_Finalize would wait for those that do not come. */
bool communicator_failed(const struct communicator *c);

/* Between these two a call of the library that waits for all ranks, such as MPI_Init, ends the process with a line when
 * it takes longer than SHARDLAB_COMM_TIMEOUT_S. */
enum status communicator_deadline(const char *what);
enum status communicator_deadline_to_meet(const char *what); /* three times as long: the others may compute */
void communicator_deadline_end(void);
/* MPI for this process as communicators need it, and its end, each with that deadline. */
enum status communicator_start_mpi(void);
void communicator_end_mpi(void);

/* A communicator of the same kind for part of the ranks: those that give the same colour, in the order of `place`.
 * Every rank of `c` calls it; one that gives a colour below 0 is in none and gets NULL. */
enum status communicator_split(struct communicator **out, struct communicator *c, int colour, int place);

#endif
