/* The settings: everything that a plan depends on, beside the model and the cluster.
 *
 *     struct settings s = settings_default();
 *     s.ranks = 4;
 *     settings_resolve(&s, strategy_data_ranks(&s));   // batch = ranks × micro-batch × accumulate
 */
#ifndef SHARDLAB_SETTINGS_H
#define SHARDLAB_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/base/status.h"
#include "strategy/base/type.h"
#include "strategy/settings/loss_scale.h"

enum optimizer { OPTIMIZER_ADAMW, OPTIMIZER_SGD };

/* Products in fp8: whose scales are of the tensor itself, or of its largest elements in earlier steps. */
enum fp8 { FP8_NONE, FP8_DYNAMIC, FP8_DELAYED };

/* State that is kept outside the device's memory. strategy/step/offload.c says which of it goes with which strategy. */
struct offload {
	bool optimizer;   /* optimizer state and lasting gradients; the update is the host's work */
	bool parameters;  /* the shards of the parameters; gathered from host memory */
	bool activations; /* what forward saves for backward */
	bool optimizer_on_disk, parameters_on_disk; /* in files, through host staging */
	bool delayed; /* a step's gradients are applied while the next step computes (lag 1) */
	/* Host memory that is set aside besides, whatever the step needs: so many buffers for the optimizer's state,
	 * each of the largest piece of a rank's share in fp32; and so many elements for parameters, in the precision.
	 */
	int64_t buffers, staging;
	int64_t queue; /* bytes that are asked of the disk at a time at the most; 0: no bound */
};

struct settings {
	char model[512];    /* specification */
	char strategy[256]; /* NAME[:key=value:…] */
	int64_t ranks;
	int64_t batch, micro_batch, accumulate; /* 0: not given */
	int64_t sequence;                       /* 0: the model's context */
	enum type precision;                    /* of parameters, gradients and activations */
	enum fp8 fp8; /* of linear layers' products, beside a 16-bit precision; simulated only */
	enum optimizer optimizer;
	/* The loss is scaled in fp16 only. Once resolved, it is NONE in other precisions, and a 0 of the two figures
	 * below has become the rule's own value. */
	enum loss_scaler loss_scaler;
	double learning_rate;
	int64_t warmup,
	        decay; /* steps of linear warm-up, and the step at which a linear decay reaches a tenth; 0: none */
	double weight_decay;
	double clip;               /* global norm; 0: none */
	double loss_scale;         /* initial */
	int64_t loss_scale_window; /* good steps before it grows */
	int64_t bucket;            /* bytes; 0: PyTorch's 1 MiB first, then 25 MiB */
	int64_t seed;
	struct offload offload;
	bool library_collectives; /* real runs with a library's collectives need no staging of ours */
	bool stochastic_rounding; /* of 16-bit parameters from the fp32 master weights, at the update */
	bool checkpoints;         /* the plan has sections to save and restore its state */
	bool checkpoint_async;    /* and the saved state is copied to host buffers first, and written from there */
	bool reproducible; /* gradients of micro-batches are summed in one binary tree, however many ranks there are */
	char checkpointing[256];     /* --activation-checkpointing; see strategy/settings/checkpointing.h */
	char software[192];          /* --as; see strategy/settings/software.h */
	int64_t checkpointing_tried; /* how many plans number_checkpoints=auto has compared; 0: it was not auto */
};

/* The settings that a user gives: from this table come the options and their help, the copy of them that ranks get, the
 * `set` lines of a plan's text and the plan's JSON.
 *
 * constant, name, field, type, values (of a word: those that are possible), low, high, default ("": none), place among
 * the lines of a plan's text (0: not there; negative: left out at its default), help */
#define SETTING_LIST(X)                                                                                                \
	X(MODEL, model, model, TEXT, "NAME|PATH[:key=value,…]", 0, 0, "mlp", 1,                                        \
	  "mlp, gpt2-124m …, params=7.5e9, or a model's folder (config.json); see: help models")                       \
	X(STRATEGY, strategy, strategy, TEXT, "NAME[:key=value:…]", 0, 0, "ddp", 2, "see: help strategies")            \
	X(RANKS, ranks, ranks, WHOLE, "N", 1, 1 << 24, "1", 4, "how many; each has a device of its own")               \
	X(BATCH, batch, batch, WHOLE, "N", 1, SETTING_LARGE, "", 0, "global, in samples; 4 × ranks unless given")      \
	X(MICRO_BATCH, micro_batch, micro_batch, WHOLE, "N", 1, SETTING_LARGE, "", 5,                                  \
	  "samples a rank takes at once; batch = ranks × micro-batch × accumulate")                                    \
	X(ACCUMULATE, accumulate, accumulate, WHOLE, "N", 1, SETTING_LARGE, "", 6,                                     \
	  "micro-batches whose gradients are summed before the update; 1 unless batch asks for more")                  \
	X(SEQUENCE, sequence, sequence, WHOLE, "T", 1, SETTING_LARGE, "", 7,                                           \
	  "tokens of a sample; the model's context")                                                                   \
	X(PRECISION, precision, precision, CHOICE, "fp32|bf16|fp16|fp8", 0, 0, "fp32", 8,                              \
	  "of parameters, gradients and activations; master weights, moments, sums are fp32. fp8: bf16, fp8 products") \
	X(FP8, fp8, fp8, CHOICE, "dynamic|delayed", 0, 0, "", -24,                                                     \
	  "bf16, fp16: products of linear layers in fp8, and how tensors are scaled; simulated only")                  \
	X(LOSS_SCALER, loss_scaler, loss_scaler, CHOICE, "deepspeed|pytorch", 0, 0, "", -15,                           \
	  "fp16: whose rule moves the loss scale; deepspeed unless given")                                             \
	X(LOSS_SCALE, loss_scale, loss_scale, REAL, "X", 1e-6, 1e38, "", -16,                                          \
	  "fp16: the first one; 65536 unless given")                                                                   \
	X(LOSS_SCALE_WINDOW, loss_scale_window, loss_scale_window, WHOLE, "N", 1, LOSS_SCALE_MOST_WINDOW, "", -17,     \
	  "fp16: good steps before it doubles; deepspeed 1000, pytorch 2000 unless given")                             \
	X(STOCHASTIC_ROUNDING, stochastic_rounding, stochastic_rounding, FLAG, "", 0, 0, "", -18,                      \
	  "bf16, fp16: the update rounds parameters up or down by chance; seed and step decide")                       \
	X(OPTIMIZER, optimizer, optimizer, CHOICE, "adamw|sgd", 0, 0, "adamw", 9, "sgd has no momentum")               \
	X(LEARNING_RATE, learning_rate, learning_rate, REAL, "X", 0, 1e6, "1e-3", 10, "after the warm-up")             \
	X(WARMUP, warmup, warmup, WHOLE, "N", 0, SETTING_LARGE, "0", 11,                                               \
	  "steps in which the learning rate rises linearly")                                                           \
	X(DECAY, decay, decay, WHOLE, "N", 0, SETTING_LARGE, "0", 12,                                                  \
	  "the step at which it has fallen linearly to a tenth; 0: never")                                             \
	X(WEIGHT_DECAY, weight_decay, weight_decay, REAL, "X", 0, 1e6, "0.01", 13, "of adamw, decoupled")              \
	X(CLIP, clip, clip, REAL, "NORM", 0, 1e30, "0", 14, "global norm of the gradients at most; 0: any")            \
	X(BUCKET, bucket, bucket, SIZE, "BYTES", 0, SETTING_LARGE, "", 0,                                              \
	  "gradients that travel together: 25MiB, the first 1MiB, unless given")                                       \
	X(CHECKPOINTING, activation_checkpointing, checkpointing, TEXT,                                                \
	  "none|full|every=K|selective|operations[:key=value…]", 0, 0, "none", -3,                                     \
	  "activations that are not kept but made again; see: help checkpointing")                                     \
	X(AS, as, software, TEXT, "NAME[:key=value:…]", 0, 0, "shardlab", -23,                                         \
	  "whose plan: shardlab, pytorch, deepspeed or megatron; simulated only; see: help as")                        \
	X(OFFLOAD, offload, offload, OFFLOAD, "none|optimizer|parameters|activations[,…]", 0, 0, "none", -19,          \
	  "to host memory; optimizer and parameters also :to=disk[:queue=BYTES], optimizer also :delayed=yes")         \
	X(COLLECTIVES, collectives, library_collectives, CHOICE, "schedule|library", 0, 0, "schedule", 20,             \
	  "our schedules, or a library's collectives")                                                                 \
	X(CHECKPOINTS, checkpoints, checkpoints, FLAG, "", 0, 0, "", 0, "sections that save and restore the state")    \
	X(CHECKPOINT_ASYNC, checkpoint_async, checkpoint_async, FLAG, "", 0, 0, "", -22,                               \
	  "checkpoints are copied to host memory, and written while steps go on")                                      \
	X(REPRODUCIBLE, reproducible, reproducible, FLAG, "", 0, 0, "", -23,                                           \
	  "one tree of sums: the same bits on any number of ranks, by ddp, zero1 to 3, fsdp")                          \
	X(SEED, seed, seed, WHOLE, "N", 0, INT64_MAX, "1", 21, "of the initial weights and the order of the data")

#define SETTING_LARGE INT64_C(1000000000000000)
enum { SETTING_MOST_ACCUMULATE = 4096 };

enum setting {
#define X(constant, name, field, type, values, low, high, fallback, line, help) SETTING_##constant,
	SETTING_LIST(X)
#undef X
	        SETTING_COUNT
};

/* Values as text, in the order of struct setting_row's types. */
enum setting_type {
	TAKES_TEXT,
	TAKES_CHOICE, /* one of the words of `values`; without a default the first is 1, and 0 is none */
	TAKES_WHOLE,  /* in [low, high] */
	TAKES_SIZE,   /* bytes, in [low, high] */
	TAKES_REAL,   /* in [low, high] */
	TAKES_FLAG,   /* as an option it has no value */
	TAKES_OFFLOAD
};

struct setting_row {
	const char *name, *values, *fallback, *help;
	double low, high;
	size_t offset, size; /* in struct settings */
	enum setting_type type;
	int line; /* in a plan's text */
};
extern const struct setting_row setting_rows[SETTING_COUNT];

enum { SETTING_TEXT = 512 }; /* the most characters that printing needs */

struct settings settings_default(void);

/* Takes a value from text. where: for the message, "ranks", "my.plan:4:11: ranks". */
enum status setting_read(enum setting i, const char *where, const char *text, struct settings *s);
void setting_print(enum setting i, const struct settings *s, char *out, size_t size);
/* Prints numbers as short as they can be: "1MiB", 0.1. */
void setting_print_short(enum setting i, const struct settings *s, char *out, size_t size);
/* True if the value is not the default. */
bool setting_differs(enum setting i, const struct settings *s);
/* True of the rules of fp16 that resolving fills in: a setting that is what it would be, had nobody given it. */
bool setting_is_rule(enum setting i, const struct settings *s);

/* Fills batch, micro_batch and accumulate: what is missing follows from the rest and from the number of ranks that take
 * different samples. All given and unequal, or not divisible: STATUS_INPUT. With `reproducible` ranks, and
 * micro-batches of the batch, are powers of two; there are 8 unless one of the others says so, or fewer in a small
 * batch. */
enum status settings_resolve(struct settings *s, int64_t data_ranks);

const char *optimizer_name(enum optimizer o);

/* The elements that a loss and a sum of squares have in a plan: one number, or with `reproducible` the digits of a sum
 * that no order changes (kernels/exact.h). */
enum { SCALAR_DIGITS = 48 };
static inline int64_t scalar_elements(const struct settings *s)
{
	return s->reproducible ? SCALAR_DIGITS : 1;
}

/* "optimizer:to=disk,parameters", "none". Printing needs OFFLOAD_TEXT characters. */
enum { OFFLOAD_TEXT = 128, OFFLOAD_BUFFERS_MOST = 4096 };
#define OFFLOAD_STAGING_MOST INT64_C(1000000000000)
enum status offload_parse(const char *text, struct offload *out);
void offload_print(const struct offload *o, char *out, size_t size);

#endif
