/* A report: the figures of one strategy, predicted or measured, in one form, so that they stand side by side. It is
 * what `sim --json` prints (the names are the design's), what the tables show, and what `validate` subtracts.
 */
#ifndef SHARDLAB_REPORT_H
#define SHARDLAB_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "strategy/plan/plan.h"
#include "strategy/trace/bubble.h"
#include "strategy/trace/trace.h"

struct report_traffic {
	int64_t calls, payload_bytes;
	int64_t sent_bytes, received_bytes; /* -1: not countable (inside a library's collective) */
};

/* Copies between spaces, the same on every rank of the role. */
struct report_transfer {
	int64_t calls, bytes;
};

/* Parts of a GPU's memory beside the arena, by the stage of a run that took it. constant, name, what it is */
#define OVERHEAD_LIST(X)                                                                                               \
	X(CONTEXT, "context", "CUDA's context, and what other programs have")                                          \
	X(WORKSPACE, "workspace", "what kernels and matrix products work in")                                          \
	X(CUBLASLT, "cublaslt", "cuBLASLt's handle")                                                                   \
	X(NCCL, "nccl", "NCCL's communicators")                                                                        \
	X(FIRST_USE, "first_use", "code of kernels and products, and buffers of NCCL's first collectives")             \
	X(GRAPHS, "graphs", "captured steps")                                                                          \
	X(OTHER, "other", "streams, events, rounding up; where ranks share a GPU, all of it")

enum overhead_part {
#define X(constant, name, what) OVERHEAD_##constant,
	OVERHEAD_LIST(X)
#undef X
	        OVERHEAD_PARTS
};
const char *overhead_name(enum overhead_part part);
const char *overhead_what(enum overhead_part part);

struct report_overhead {
	bool measured;
	int64_t part[OVERHEAD_PARTS]; /* bytes; their sum is overhead_bytes of the device's memory */
	int64_t in_use_bytes;         /* of the device's memory at the most, the arena with it */
};

struct report_memory {
	int64_t peak_bytes, arena_bytes;
	int64_t allocated_bytes,
	        reserved_bytes; /* under a stack: at the peak, and with what its allocator holds; 0: none */
	bool cached;            /* reserved_bytes follows from the plan and its software's caching allocator */
	int64_t overhead_bytes, workspace_bytes; /* of libraries; of that what a stack's products work in, 0: unknown */
	bool overhead_assumed;
	char peak_at[96]; /* "backward block.5.qkv, micro-batch 0" */
	int64_t at_peak[CATEGORY_COUNT], steady[CATEGORY_COUNT];
};

/* The epilogue's gathering of weights to save them (save=full, save=16bit): bytes of the busiest rank of a role (-1:
 * not countable), and the most that are live meanwhile. */
struct report_gathering {
	int64_t sent_bytes, received_bytes;
	int64_t peak_bytes[SPACE_COUNT];
};

struct report_role {
	char role[16];
	int64_t ranks;
	struct report_memory memory[SPACE_COUNT];
	struct report_overhead overhead;              /* of a GPU, of the rank with the most of it */
	int64_t sent_bytes, received_bytes;           /* of the busiest rank, without control; -1: not countable */
	struct report_traffic by_kind[TRAFFIC_COUNT]; /* of the busiest rank */
	struct report_transfer transfer[TRANSFER_COUNT];
	struct report_gathering gathering; /* zeros: ranks save what they have */
};

/* The work of one rank in a step, and the memory that it took. */
struct report_rank {
	struct report_traffic by_kind[TRAFFIC_COUNT];
	struct report_transfer transfer[TRANSFER_COUNT];
	int64_t peak_bytes[SPACE_COUNT], arena_bytes[SPACE_COUNT];
};
/* A figure by its number from 0: its place, and in `name` its name ("communication.broadcast.sent_bytes"). NULL past
 * the last. */
int64_t *report_rank_figure(struct report_rank *r, int i, char *name, size_t size);

/* The figures of activation checkpointing. */
struct report_checkpointing {
	char setting[256];           /* "full:number_checkpoints=3": with auto, what was found; or "none" */
	int64_t checkpoints;         /* block boundaries at which activations are kept; 0: selective */
	int64_t tried;               /* number_checkpoints=auto: plans that were compared; 0: it was not auto */
	bool profile;                /* show the times of the passes */
	int64_t arena_bytes_without; /* contiguous_memory_optimization: as laid out without it; 0: not asked for */
};

/* The memory that is fullest for its size, of all that a step needs. */
struct report_tightest {
	enum space space;       /* the device's; the node's, for all its ranks (on CPUs devices are in it); its disk */
	int64_t needed_bytes;   /* as laid out, with libraries */
	int64_t capacity_bytes; /* 0: not known, as of a real run */
};

/* A change that makes a plan fit: the options to add, and the time of a step then. */
struct report_change {
	char words[160];  /* "": none was looked for, or nothing that was tried does */
	bool none;        /* the latter */
	enum type halves; /* none: what the cluster computes in with 16 bits; fp32: nothing */
	bool close;       /* it fits, but that is close (enum report_fit): nothing that was tried surely does */
	bool cut;         /* the search gave up before it had tried all: there may be a cheaper one, or one at all */
	int64_t step;     /* ns */
	char near[160];   /* beside one that surely fits: one that is faster, and close; "": there is none */
	int64_t near_step;
	/* For settings from a configuration, beside which the options cannot be given: a command with all of them, and
	 * the program for which --emit can write them (""). "": there was none. */
	char command[1024], emit[16];
};

/* A step's use of the devices, by model FLOPs (strategy/model/flops.h) and not by those that were carried out. */
struct report_speed {
	double model_flops;       /* of a step, on all ranks; 0: the model has none */
	double tflops_per_device; /* 10¹² model FLOPs a second and rank; 0: unknown */
	double units_per_s;       /* tokens, or samples of models without them, on all ranks; 0: unknown */
	double mfu;               /* share of the device's peak (cluster_peak); 0: the peak is unknown */
};

/* The choice of a GPU's kernels, and what it did more slowly than it could, on the rank that has most of it. It is
 * counted as operations are put on streams; replayed steps are not counted again. */
struct report_slowed {
	int64_t gelu_passes;    /* GELU's backward pass was a kernel of its own */
	int64_t plain_products; /* products of linear layers that cuBLASLt had nothing for: hundreds of times slower */
	char plain_why[224];    /* of the first: its shape, and what cuBLASLt said */
	char products_by[64];   /* "hopper 98, simple 2": where other kernels than cuBLASLt's were asked for; "" */
	/* The rungs of attention's ladder (docs/ladder.md) that its forward and backward passes had: "hopper", or
	 * "hopper, tensor" where not all layers have the same; "": no attention. */
	char attention_forward[40], attention_backward[40];
	char attention_why[16];    /* "highest" of our own, for nothing was measured; "asked"; "measured" */
	char attention_times[192]; /* measured: "forward: tensor 412, hopper 301 µs; …", of the first layer */
	/* Times of the ways to a bias's gradient, where measured: "768 to 2304: epilogue 202, pass 203 µs; …". */
	char bias_times[512];
	bool attention_refused; /* cuDNN was asked for, and does not take a pass, which has the next rung */
	char not_captured[224]; /* why steps were issued anew, not replayed from a graph; "": nothing went wrong */
};

/* Checkpoints: the state's bytes of one, of all ranks and of the rank that saves most, without headers of files. */
struct report_saved {
	int64_t bytes, rank_bytes; /* 0: the plan saves nothing, or the run saved nothing */
	int64_t saves;             /* measured: how many became checkpoints */
	int64_t write_ns;          /* the time that the slowest rank took to write its part of the last */
	int64_t stall_ns;          /* the time that steps waited for them, in all */
};

/* The training data of a run. */
struct report_data {
	char type[16]; /* "uint16", "bytes", "pixels", … */
	int64_t files, training_samples, validation_samples;
};

/* The settings without a figure of their own. */
struct report_asked {
	char model_keys[256]; /* "vocabulary=256"; of a file's model "" */
	char others[256];     /* "clip 1 · seed 7": those that are not the default */
	int64_t seed;
	char version[16]; /* of shardlab */
};
void report_asked(struct report_asked *a, const struct settings *s);

struct report {
	char model[64], cluster[64];
	char strategy[256]; /* as asked for: "fsdp:reshard=no" */
	struct report_asked asked;
	char grain[16]; /* of the simulation; "": it was measured */
	int64_t parameters, units, ranks, batch, micro_batch, accumulate, sequence;
	enum type precision;
	int role_count;
	struct report_role roles[PLAN_ROLES];
	struct report_rank *by_rank; /* [ranks], owned; NULL: of a prediction that nobody compares by rank */
	struct report_checkpointing checkpointing;
	char offload[OFFLOAD_TEXT];    /* "optimizer:to=disk,activations", "none" */
	struct times time;             /* of the slowest rank */
	char stack[64];                /* the stack whose times these are; "": the cluster's rates themselves */
	char basis[160];               /* the range's basis: "stack fsdp, fitted on 43 runs"; "": none */
	int64_t range_low, range_high; /* ns: of measured steps, nine of ten lie between */
	struct report_speed speed;
	struct bubble bubble; /* in closed form */
	struct report_tightest tightest;
	struct report_change change;
	bool stochastic_rounding;
	bool whole_context;  /* the sequence is the longest that the model has */
	enum fp8 fp8;        /* products in fp8, and how they are scaled */
	bool tf32;           /* predicted with the cluster's rates of tf32 for products of fp32 */
	bool rates_measured; /* the cluster's rates were measured, not taken from a data sheet */
	bool fits;           /* the tightest has room, so that all have */
	bool measured;       /* it is of a real run */
	struct report_saved saved;
	int64_t machine_ranks; /* predicted: the most that share the cores of one machine */
	int64_t gathering_ns;  /* predicted: how long the epilogue takes to gather the weights; 0: it does not */
	/* The rest are figures of a real run: `measured` is true. */
	struct report_data data;
	char weights_checksum[17];
	int64_t steps;  /* steps that were done */
	double *losses; /* owned: of the first step, of every losses_every-th from there on, and of the last */
	int64_t loss_count, losses_every;
	double validation_loss, validation_accuracy; /* NaN: none */
	double loss_scale; /* fp16: at the end, and how many steps were skipped until then; 0: no fp16 */
	int64_t skipped_steps;
	struct report_slowed slowed;
	int64_t resident_bytes; /* the operating system's figure for the largest rank; 0: unknown */
	/* Buffers count staging as the plan has it, since a collective is lent all of it; it wrote to so much, at most.
	 */
	int64_t staging_touched_bytes;
	double units_per_s; /* tokens or samples a second */
};

/* A prediction's answer to whether the step fits: "yes", "close", "no". Under a stack memory is known within a
 * twentieth, and a need that is as near to the capacity, above or below, is close. */
#define REPORT_CLOSE 20 /* one part in */
enum report_fit { FIT_YES, FIT_CLOSE, FIT_NO };
enum report_fit report_fit(const struct report *r);
const char *report_fit_word(const struct report *r);

/* Fills in everything that follows from the plan alone: names, memory by category, bytes by kind. Times, fits and the
 * tightest memory stay 0. */
void report_from_plan(struct report *r, const struct plan *p);
/* Fills in what follows from the time of a step. peak: of a device, in FLOP/s; 0: unknown. */
void report_set_speed(struct report *r, double peak);
/* The share of a step that waits for communication, in millionths. */
int64_t report_waiting(int64_t exposed, int64_t step);
/* Fills in by_rank too, to compare a measured report with. */
void report_add_ranks(struct report *r, const struct plan *p);
/* True if the epilogue gathers the weights. */
bool report_gathers(const struct report *r);
void report_release(struct report *r);

/* The JSON object of the design. New reference. */
json_t *report_to_json(const struct report *r);
/* The overhead's part of that object: bytes by name, and in_use_bytes; null if nothing was measured. New reference. */
json_t *report_overhead_to_json(const struct report_overhead *o);
/* Reads such an object, for `validate`, which reads a run's output. STATUS_RUN: fields are missing or have another
 * type.
 */
enum status report_from_json(struct report *r, const json_t *object);

#endif
