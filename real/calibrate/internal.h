/* Shared by the files of the calibration. */
#ifndef SHARDLAB_CALIBRATE_INTERNAL_H
#define SHARDLAB_CALIBRATE_INTERNAL_H

#include <mpi.h>

#include "real/calibrate/calibrate.h"
#include "real/communicator/communicator.h"
#include "real/train/timed_run.h"

/* ---- curve.c ---- */

/* Points of all curves, best first. A point with the same work as an earlier one is averaged with it; one that is only
 * near it is dropped. */
struct curve_point {
	int kind; /* of the operation */
	enum type type;
	int64_t work;
	struct rate rate;
	int64_t times; /* the number of measurements */
};
struct curve_points {
	struct curve_point *points; /* owned */
	size_t count, capacity;
};
void curve_points_add(struct curve_points *p, int kind, enum type type, int64_t work, struct rate rate);
void curve_points_fill(const struct curve_points *p, struct cluster *c);
void curve_points_release(struct curve_points *p);

/* ---- durations.c ---- */

struct duration {
	int kind;
	enum type type;
	int64_t work, bytes, weights, ns; /* weights: bytes of them (op_weight_bytes) */
};

struct durations {
	struct duration *d; /* owned */
	size_t count, capacity;
	int64_t *steps; /* owned: a time of each step */
	size_t step_count, step_capacity;
};
void durations_add_step(struct durations *all, int64_t ns);
void durations_add(struct durations *all, const struct timed_run *r, int op); /* of the last step */
void durations_sort(struct durations *all);                                   /* by kind, type, work, and time */
/* The run of equal (kind, type, work) that begins at `first`: its times, and where the next one begins. */
size_t durations_equal(const struct durations *all, size_t first, int64_t *ns);
void durations_release(struct durations *all);

/* ---- measure.c ---- */

struct calibration_gpu; /* cuda.h */

struct calibration {
	const struct calibrate_options *options;
	struct cluster *cluster;
	struct calibrate_figures *figures;
	int rank, ranks;
	int local_rank, local_ranks;       /* of those on this machine */
	struct calibration_gpu *gpu;       /* while GPUs are measured */
	struct communicator *communicator; /* of the ranks of this machine; NULL: the process stands alone there */
	struct communicator *between;      /* of one rank of each machine, in those; NULL: there is one machine */
	MPI_Comm group;                    /* the ranks that measure together at present; not used without MPI */
	MPI_Comm node, hosts;              /* the ranks of this host, and one of each */
	MPI_Comm machine;                  /* of the hosts that share this one's cores (containers, namespaces) */
	int machine_ranks;
	int group_ranks;
	struct curve_points points; /* of rank 0 */
	int tasks, tasks_done;      /* for the progress */
	bool alone;                 /* rank 0 measures alone, and the others wait for it */
};

void calibrate_progress(struct calibration *k, const char *what);

/* Adds a figure for people; ranks other than 0 drop it. */
void calibrate_figure(struct calibration *k, const char *name, enum calibrate_unit unit, struct rate rate);

/* A call of MPI that waits for other ranks. It ends the process with a line when they do not come. */
#define CALIBRATE_WAITS(call) (communicator_deadline("calibrating"), (call), communicator_deadline_end())

/* Both wait until all are here, the first for all ranks and asleep, so that ranks still at work have the cores, the
 * second for those that measure together and awake, so that all begin together. */
void calibrate_wait(const struct calibration *k);
void calibrate_sleep(MPI_Comm group);
void calibrate_meet(const struct calibration *k);
/* All ranks, when rank 0 has measured alone: the others sleep until then. Their patience begins anew with each part of
 * its work, if it has set `alone`. */
void calibrate_wait_for_first(const struct calibration *k);

/* The median of n times as a rate: amount a second, or with amount 0 the nanoseconds themselves. Sorts them. */
struct rate calibrate_rate(int64_t amount, int64_t *ns, int n);

/* Carries out steps: two to warm up, then for `seconds`, but at least 3 and at most 400; `seen` is called after each
 * that counts. together: all ranks begin each step together, and do as many as rank 0 has time for. */
enum status calibrate_steps(struct timed_run *r, const struct calibration *k, double seconds, bool together,
                            void (*seen)(void *context, const struct timed_run *r), void *context);

/* ---- cuda.c ---- */

enum status calibrate_cuda(struct calibration *k); /* all ranks */

/* ---- compute.c ---- */

/* The bytes that a copy of fp32 moves, as plans count them: each is read once and written once. */
int64_t calibrate_copy_bytes(int64_t elements);
int calibrate_compute_tasks(const struct calibration *k);
/* The durations of a case's steps; together: all ranks at once. */
enum status calibrate_case(const struct calibration *k, const struct timed_case *what, bool together,
                           struct durations *all);
enum status calibrate_compute(struct calibration *k);  /* rank 0 alone */
enum status calibrate_together(struct calibration *k); /* all ranks: more points, node_bandwidth, overhead */
/* The rate at which this process copies so many elements of fp32, more than caches hold. */
enum status calibrate_copy(int64_t elements, struct rate *out);

/* ---- weights.c ---- */

enum status calibrate_weights(struct calibration *k); /* rank 0 alone: weight_bandwidth */
/* From the steps of few samples and of many. Assumed and 0 if weights are seen to take nothing. Sorts them. */
struct rate calibrate_fit_weights(struct durations *few, struct durations *many);
/* The time of a product without its weights: at least a quarter of the whole. */
int64_t calibrate_without_weights(const struct duration *d, int64_t ns, const struct rate *bandwidth);

/* ---- link.c ---- */

struct link_sample {
	int64_t rounds, bytes; /* of each round's message */
	int64_t ns;            /* of the whole */
};
/* Fits the latency to the smallest messages, and the bandwidth to those of at least a quarter of the largest: their
 * median rate once the latency is subtracted. */
void link_fit(const struct link_sample *samples, int count, struct link *out);

/* The cost of a collective to its rank: handing it to the communication thread, and the way back. */
struct rate calibrate_there_and_back(struct rate there, struct rate back);

int calibrate_links_tasks(const struct calibration *k);
enum status calibrate_links(struct calibration *k); /* all ranks; at least two */

/* From now on these measure together. */
void calibrate_gather(struct calibration *k, MPI_Comm group);

#endif
