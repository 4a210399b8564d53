/* The time of a training step by rank and by step, whoever recorded it: kernels sorted into matrix products, attention
 * and the rest, collectives by kind, copies; and the time when neither computes.
 *
 *     struct profile p = {0};
 *     enum status s = profile_open(&p, paths, count);      // PyTorch's profiler's traces, a file a rank; or our own
 *     … p.ranks[0].mean.kinds[PROFILE_ALL_REDUCE].time, p.ranks[0].steps[2].idle …
 *     profile_release(&p);
 *
 * A step of a profiler's trace is a range ProfilerStep#N, which prof.step() makes. What a GPU carries out belongs to
 * the step in which it was launched, and lasts on it from its first kernel to the first of the next step; the last one
 * ends with its last kernel. Without kernels of a GPU the host's operators are sorted, each by the time that none of
 * those it calls takes, and a step is the host's range.
 *
 *     compute    ████████░░░░████████░░░░░░      computing: some kernel runs
 *     collective     ░░░░░░░░░░░░                exposed: a collective does, and nothing computes
 *     copy                       ░░░░██          copying: a copy does, and neither of them
 *     step       |------------------------|      idle: what is left. The four are the whole step.
 *
 * A collective's kernel begins when its own rank comes, so in a profiler's trace waiting for other ranks is exposed
 * communication. In ours it is idle.
 */
#ifndef SHARDLAB_PROFILE_H
#define SHARDLAB_PROFILE_H

#include <jansson.h>

#include "strategy/trace/gpu_names.h"
#include "strategy/trace/trace_file.h"

/* constant, key in JSON, name in tables, what it does meanwhile */
#define PROFILE_KIND_LIST(X)                                                                                           \
	X(PRODUCTS, "products", "matrix products", COMPUTES)                                                           \
	X(ATTENTION, "attention", "attention", COMPUTES)                                                               \
	X(REST, "rest", "the rest", COMPUTES)                                                                          \
	X(WITHIN, "device_to_device", "copies within a device", COMPUTES)                                              \
	X(ALL_REDUCE, "all_reduce", "all-reduce", COMMUNICATES)                                                        \
	X(REDUCE_SCATTER, "reduce_scatter", "reduce-scatter", COMMUNICATES)                                            \
	X(ALL_GATHER, "all_gather", "all-gather", COMMUNICATES)                                                        \
	X(ALL_TO_ALL, "all_to_all", "all-to-all", COMMUNICATES)                                                        \
	X(GATHER, "gather", "gather", COMMUNICATES)                                                                    \
	X(SCATTER, "scatter", "scatter", COMMUNICATES)                                                                 \
	X(BROADCAST, "broadcast", "broadcast", COMMUNICATES)                                                           \
	X(REDUCE, "reduce", "reduce", COMMUNICATES)                                                                    \
	X(MESSAGE, "send_receive", "send, receive", COMMUNICATES)                                                      \
	X(CONTROL, "control", "control", COMMUNICATES)                                                                 \
	X(COMMUNICATION, "other_communication", "other communication", COMMUNICATES)                                   \
	X(TO_DEVICE, "host_to_device", "host to device", COPIES)                                                       \
	X(TO_HOST, "device_to_host", "device to host", COPIES)                                                         \
	X(BETWEEN, "peer_to_peer", "device to device", COPIES)                                                         \
	X(DISK, "disk", "disk", COPIES)

enum profile_kind {
#define X(constant, key, name, does) PROFILE_##constant,
	PROFILE_KIND_LIST(X)
#undef X
	        PROFILE_KINDS
};

enum profile_does { PROFILE_COMPUTES, PROFILE_COMMUNICATES, PROFILE_COPIES, PROFILE_DOES };

/* Phases of computing. What is neither backward nor update counts as forward in a profiler's trace, where nothing marks
 * it. recomputing is part of the backward pass. */
#define PROFILE_PHASE_LIST(X) X(FORWARD, "forward") X(BACKWARD, "backward") X(UPDATE, "update") X(BESIDE, "other")

enum profile_phase {
#define X(constant, name) PROFILE_##constant,
	PROFILE_PHASE_LIST(X)
#undef X
	        PROFILE_PHASES
};

const char *profile_kind_name(enum profile_kind k);
const char *profile_kind_key(enum profile_kind k);
enum profile_does profile_kind_does(enum profile_kind k);
const char *profile_phase_name(enum profile_phase p);

/* Sums over what began in the step. */
struct profile_part {
	int64_t calls;
	int64_t time;    /* ns; of calls side by side, of both */
	int64_t exposed; /* of a collective, a copy: that nothing computes beside */
	int64_t bytes;   /* as the larger of what goes in and what comes out; 0: not known */
};

struct profile_step {
	int64_t number;                               /* N of ProfilerStep#N; of a mean -1 */
	int64_t step, compute, exposed, copies, idle; /* ns; the last four are the first */
	int64_t communication;                        /* exposed or not */
	int64_t host;                                 /* how long the host's range takes; 0: there is none */
	struct profile_part kinds[PROFILE_KINDS];
	int64_t phases[PROFILE_PHASES];
};

struct profile_rank {
	int64_t rank;
	const char *file, *device; /* device: "python (GPU 0)", "rank 0" */
	struct profile_step *steps;
	int step_count;
	struct profile_step mean; /* each figure's mean over the steps */
};

enum profile_source { PROFILE_KERNELS, PROFILE_OPERATORS, PROFILE_PLAN };

struct profile {
	enum profile_source source;
	struct profile_rank *ranks; /* by rank */
	int rank_count;
	int64_t world; /* ranks of the run, of which the files may be some */
	size_t rank_capacity;
	struct arena arena;
};

/* One line says what is wrong with a file. On failure `p` is released. */
enum status profile_open(struct profile *p, const char *const *paths, int count);
/* Opens the files of a list: "a.json,b.json". */
enum status profile_open_list(struct profile *p, const char *list);
/* Adds one open file, for callers that have it in memory. */
enum status profile_add(struct profile *p, const struct trace_file *f, const char *name);
/* Makes a profile of a trace in memory, such as a simulation's. */
void profile_of_trace(struct profile *p, const struct trace *t);
void profile_release(struct profile *p); /* accepts NULL and a zeroed struct */

/* The mean over all ranks, and the rank whose steps take longest. */
struct profile_step profile_mean(const struct profile *p);
const struct profile_rank *profile_slowest(const struct profile *p);

/* The objects of docs/json.md. New references. */
json_t *profile_to_json(const struct profile *p);
json_t *profile_step_to_json(const struct profile_step *s);

/* ---- for the files that read (profile_foreign.c, profile_plan.c) ---- */

struct profile_item {
	int64_t begin, end;
	int64_t bytes;
	enum profile_kind kind;
	enum profile_phase phase;
	int step;   /* of those added so far; -1: of none, and yet the device is busy */
	bool calls; /* else it is the rest of one that was counted */
};

struct profile_work {
	struct profile_item *items;
	size_t item_count, item_capacity;
	struct profile_window {
		int64_t number, begin, end, host;
	} * windows;
	size_t window_count, window_capacity;
};

/* Adds a rank with the figures of its windows. */
void profile_add_rank(struct profile *p, const struct profile_work *w, struct profile_rank rank);
void profile_work_release(struct profile_work *w);
enum profile_kind profile_kind_of_collective(const char *name); /* its own, its kernel's or its range's */
enum status profile_add_foreign(struct profile *p, const struct trace_file *f, const char *name);
void profile_add_plan(struct profile *p, const struct trace *t, const char *name);

#endif
