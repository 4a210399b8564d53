/* A model that writes: its forward pass alone, of a few new tokens at a time, in fp32 on the CPU.
 *
 * Keys and values of all tokens so far are kept for each layer, so that a new token costs one pass of one row. What is
 * computed is what the model's kernels say (strategy/model/model.h), by the CPU's table of them (kernels/table.h); only
 * attention is another function, attention_cached, since its queries are fewer than its keys.
 *
 *     struct inference e;
 *     struct inference_options o = {.capacity = 256, .read = read_weights, .context = &file};
 *     enum status s = inference_open(&e, &model, &o);
 *     s = inference_forward(&e, prompt, 12, &logits);      (logits of the last token: what comes after it)
 *     s = inference_forward(&e, &next, 1, &logits);
 *     inference_release(&e);
 *
 * The same calls give the same bits, with any number of threads where a call has one token.
 */
#ifndef SHARDLAB_GENERATE_INFERENCE_H
#define SHARDLAB_GENERATE_INFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/status.h"
#include "strategy/model/model.h"

/* Tokens of one pass: a longer prompt takes several. */
enum { INFERENCE_MOST_ROWS = 512 };

struct inference_options {
	int64_t capacity; /* tokens that the cache holds, at most the model's context */
	bool all_logits;  /* of every token of a call, not of its last alone */
	/* Elements [first, first + count) of a tensor of the model. */
	enum status (*read)(void *context, int tensor, int64_t first, int64_t count, float *out);
	void *context;
};

struct inference {
	const struct model *model; /* the caller's */
	int64_t capacity, rows;    /* rows: of a pass, at most */
	int64_t length;            /* tokens in the cache */
	bool all_logits;
	float *memory, *cache;
	float **tensors;       /* the place of each in memory */
	float **values;        /* of each that a pass makes; NULL: of none of its kernels */
	float **keys, **items; /* of each kernel that is attention: its part of the cache */
};

/* Bytes that inference_open takes: weights, cache, and what a pass makes. */
struct inference_bytes {
	int64_t weights, cache, values;
};
struct inference_bytes inference_bytes(const struct model *m, const struct inference_options *o);

/* The model must be one of text, and outlives it. A kernel that this cannot run is STATUS_INPUT. */
enum status inference_open(struct inference *e, const struct model *m, const struct inference_options *o);
void inference_release(struct inference *e); /* accepts NULL and a zeroed struct */

/* Takes n ≥ 1 more tokens, which must have room in the cache. *logits: rows of m->logits_stride; of the last token, or
 * of every token with all_logits, when n is INFERENCE_MOST_ROWS at most. They last until the next call. */
void inference_forward(struct inference *e, const int32_t *tokens, int64_t n, const float **logits);

#endif
