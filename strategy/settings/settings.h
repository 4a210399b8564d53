/* What a user asks for, beside the model and the cluster: everything that a plan depends on.
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

/* What is kept outside the device's memory: --offload. Which goes with which strategy: strategy/step/offload.c. */
struct offload {
	bool optimizer;   /* optimizer state and lasting gradients; the update is the host's work */
	bool parameters;  /* the shards of the parameters; gathered from host memory */
	bool activations; /* what forward saves for backward */
	bool optimizer_on_disk, parameters_on_disk; /* in files, through host staging */
	bool delayed; /* a step's gradients are applied while the next step computes (lag 1) */
};

struct settings {
	char model[512];    /* specification */
	char strategy[256]; /* NAME[:key=value:…] */
	int64_t ranks;
	int64_t batch, micro_batch, accumulate; /* 0: not given */
	int64_t sequence;                       /* 0: the model's context */
	enum type precision;                    /* of parameters, gradients and activations */
	enum optimizer optimizer;
	double learning_rate;
	int64_t warmup,
	        decay; /* steps of linear warm-up, and the step at which a linear decay reaches a tenth; 0: none */
	double weight_decay;
	double clip; /* global norm; 0: none */
	/* fp16 only: how gradients are kept in its range. Resolved: NONE in other precisions, and what was left 0 is
	 * the rule's own. */
	enum loss_scaler loss_scaler;
	double loss_scale;         /* initial */
	int64_t loss_scale_window; /* good steps before it grows */
	bool stochastic_rounding;  /* of 16-bit parameters from the fp32 master weights, at the update */
	int64_t bucket;            /* bytes; 0: PyTorch's 1 MiB first, then 25 MiB */
	int64_t seed;
	struct offload offload;
	bool library_collectives;    /* real runs with a library's collectives need no staging of ours */
	char checkpointing[256];     /* --activation-checkpointing; see strategy/settings/checkpointing.h */
	int64_t checkpointing_tried; /* number_checkpoints=auto has compared so many plans; 0: it was not auto */
};

struct settings settings_default(void);

/* Fills batch, micro_batch and accumulate: what is missing follows from the rest and from the number of ranks that take
 * different samples. All given and unequal, or not divisible: STATUS_INPUT. */
enum status settings_resolve(struct settings *s, int64_t data_ranks);

const char *optimizer_name(enum optimizer o);
enum status optimizer_parse(const char *text, enum optimizer *out);

/* Of --offload: "optimizer:to=disk,parameters". Printing needs OFFLOAD_TEXT characters. */
enum { OFFLOAD_TEXT = 128 };
enum status offload_parse(const char *text, struct offload *out);
void offload_print(const struct offload *o, char *out, size_t size);

#endif
