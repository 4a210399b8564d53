/* Text from a trained model: prompt to ids, a pass over all of them, then token by token.
 *
 *     struct generate_options o = {.model = "gpt", .init = "weights.safetensors", .prompt = "The ", .prompt_bytes = 4,
 *                                  .tokens = 100, .rule = {.temperature = 0.8, .top_k = 40, .top_p = 1, .seed = 1},
 *                                  .cores = 2, .on_text = print};
 *     struct generation g;
 *     enum status s = generate_run(&o, &g);
 *     generation_release(&g);
 */
#ifndef SHARDLAB_GENERATE_H
#define SHARDLAB_GENERATE_H

#include "real/generate/inference.h"
#include "real/generate/sample.h"
#include "real/tokenizer/tokenizer.h"

struct generate_options {
	const char *model;     /* its specification */
	const char *init;      /* a file or folder of weights */
	const char *tokenizer; /* a tokenizer.json; NULL: bytes */
	const char *prompt;
	size_t prompt_bytes;
	int64_t tokens; /* at most so many new ones */
	struct sampler_rule rule;
	int threads; /* 0: a few cores of `cores`, as many as have work */
	int cores;
	/* The prompt, once the weights are there, and text as it comes, in whole characters. NULL: nobody listens. */
	void (*on_prompt)(void *context, const char *text, size_t size);
	void (*on_text)(void *context, const char *text, size_t size);
	void *context;
};

enum generate_stop { STOP_TOKENS, STOP_END, STOP_CONTEXT };

/* A zeroed one is released. */
struct generation {
	struct token_list prompt, tokens; /* tokens: the new ones, without that which ends the text */
	struct bytes text;                /* of the new tokens */
	enum generate_stop stop;
	int64_t context; /* of the model */
	int threads;
	int64_t prompt_ns, tokens_ns; /* of the pass over the prompt, and of all after it */
	struct inference_bytes memory;
};

/* Mistakes are found before the weights are read: a model that does not fit into the machine's memory too. */
enum status generate_run(const struct generate_options *o, struct generation *g);
void generation_release(struct generation *g); /* accepts NULL */

#endif
