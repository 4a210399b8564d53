#include "real/generate/generate.h"

#include <unistd.h>

#include "kernels/kernels.h"
#include "real/data/model_weights.h"
#include "real/generate/codec.h"
#include "strategy/base/clock.h"
#include "strategy/base/number.h"

struct run {
	const struct generate_options *o;
	struct generation *g;
	struct codec codec;
	struct model model;
	struct model_weights weights;
	struct inference inference;
	struct sampler_scratch scratch;
	struct bytes pending; /* bytes of a character that is not whole yet */
};

/* ---- before the weights are read ---- */

static enum status check_prompt(const struct run *r)
{
	int64_t n = (int64_t)r->g->prompt.count;
	if (!n)
		return status_fail(STATUS_INPUT, "the prompt is empty: {prompt} needs a text to go on from");
	if (n > r->g->context)
		return status_fail(STATUS_INPUT,
		                   "the prompt has %lld tokens, and the context of %s is %lld; shorten it",
		                   (long long)n, r->model.name, (long long)r->g->context);
	return STATUS_OK;
}

/* The model is opened for as many tokens as there can be: frequencies of rotary embeddings may depend on them. */
static enum status open_model(struct run *r)
{
	const struct generate_options *o = r->o;
	TRY(model_open(&r->model, o->model, 0));
	r->g->context = r->model.context;
	if (!r->model.is_text)
		return status_fail(STATUS_INPUT, "{model} %s writes no text; {generate} takes gpt, llama, mpt and opt",
		                   r->model.name);
	TRY(codec_open(&r->codec, o->tokenizer, r->model.classes));
	TRY(codec_encode(&r->codec, o->prompt, o->prompt_bytes, &r->g->prompt));
	TRY(check_prompt(r));
	int64_t most = (int64_t)r->g->prompt.count + o->tokens;
	model_release(&r->model);
	return model_open(&r->model, o->model, most < r->g->context ? most : r->g->context);
}

static enum status check_memory(const struct run *r)
{
	const struct inference_bytes *b = &r->g->memory;
	double wants = (double)b->weights + (double)b->cache + (double)b->values;
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	double has = (double)pages * (double)size;
	char weights[32], cache[32], there[32];
	if (pages <= 0 || size <= 0 || wants <= has)
		return STATUS_OK;
	number_format_bytes(weights, sizeof weights, b->weights);
	number_format_bytes(cache, sizeof cache, b->cache);
	number_format_bytes(there, sizeof there, (int64_t)has);
	return status_fail(STATUS_INPUT,
	                   "%s does not fit: %s of weights in fp32 and %s of keys and values for %lld tokens, and this "
	                   "machine has %s of memory; take a smaller model",
	                   r->model.name, weights, cache, (long long)r->model.tokens, there);
}

static enum status read_weights(void *context, int tensor, int64_t first, int64_t count, float *out)
{
	return model_weights_read(context, tensor, first, count, out);
}

/* A token reads all weights once. Of less than so many bytes a thread is done sooner than it could meet the others, and
 * where other programs want the cores too, it waits for them at each kernel. */
enum { BYTES_OF_THREAD = 16 << 20 };

static int choose_threads(const struct generate_options *o, int64_t weights)
{
	int64_t most = weights / BYTES_OF_THREAD, cores = o->cores;
	int64_t chosen = most < cores ? most : cores;
	return o->threads ? o->threads : chosen > 1 ? (int)chosen : 1;
}

static enum status prepare_threads(int threads)
{
	int64_t bytes;
	char size[32];
	kernels_set_threads(threads);
	if (kernels_prepare(&bytes))
		return STATUS_OK;
	number_format_bytes(size, sizeof size, bytes);
	return status_fail(STATUS_MEMORY, "no memory for OpenBLAS: %s for {threads} %d; take fewer", size, threads);
}

static enum status open_all(struct run *r)
{
	struct inference_options e = {.read = read_weights, .context = &r->weights};
	TRY(open_model(r));
	e.capacity = r->model.tokens;
	r->g->memory = inference_bytes(&r->model, &e);
	r->weights = (struct model_weights){.model = &r->model, .setting = "{init}"};
	enum status s = check_memory(r);
	if (!s)
		s = model_weights_open(&r->weights, r->o->init);
	r->g->threads = choose_threads(r->o, r->g->memory.weights);
	if (!s)
		s = prepare_threads(r->g->threads);
	return s ? s : inference_open(&r->inference, &r->model, &e);
}

/* ---- token by token ---- */

static void tell(struct run *r, bool last)
{
	size_t told = r->g->text.size;
	codec_take_whole(&r->pending, last, &r->g->text);
	if (r->g->text.size > told && r->o->on_text)
		r->o->on_text(r->o->context, r->g->text.at + told, r->g->text.size - told);
}

/* Ids above the tokenizer's last, which pad a vocabulary, are never drawn. */
static enum status draw(struct run *r, const float *logits, int32_t *token)
{
	int64_t classes = r->codec.tokens, position = (int64_t)(r->g->prompt.count + r->g->tokens.count);
	if (!vector_is_finite(ELEMENT_FP32, classes, logits))
		return status_fail(STATUS_RUN, "the model's logits are not finite at token %lld: are its weights?",
		                   (long long)position);
	*token = sample(&r->o->rule, &r->scratch, logits, classes, position);
	return STATUS_OK;
}

static bool is_done(struct run *r, int32_t token)
{
	if (codec_is_end(&r->codec, token)) {
		r->g->stop = STOP_END;
		return true;
	}
	token_list_add(&r->g->tokens, token);
	codec_decode(&r->codec, token, &r->pending);
	tell(r, false);
	int64_t tokens = (int64_t)r->g->tokens.count;
	if (tokens == r->o->tokens) {
		r->g->stop = STOP_TOKENS;
		return true;
	}
	r->g->stop = STOP_CONTEXT;
	return (int64_t)r->g->prompt.count + tokens == r->model.tokens;
}

static enum status write_tokens(struct run *r)
{
	const float *logits = NULL;
	int32_t token = 0;
	enum status s;
	if (r->o->on_prompt)
		r->o->on_prompt(r->o->context, r->o->prompt, r->o->prompt_bytes);
	int64_t begin = clock_ns();
	inference_forward(&r->inference, r->g->prompt.list, (int64_t)r->g->prompt.count, &logits);
	r->g->prompt_ns = clock_ns() - begin;
	if (r->o->tokens == 0 || (int64_t)r->g->prompt.count == r->g->context) {
		r->g->stop = r->o->tokens ? STOP_CONTEXT : STOP_TOKENS;
		return STATUS_OK;
	}
	begin = clock_ns();
	while (!(s = draw(r, logits, &token)) && !is_done(r, token))
		inference_forward(&r->inference, &token, 1, &logits);
	tell(r, true);
	r->g->tokens_ns = clock_ns() - begin;
	return s;
}

enum status generate_run(const struct generate_options *o, struct generation *g)
{
	struct run r = {.o = o, .g = g};
	*g = (struct generation){0};
	enum status s = open_all(&r);
	if (!s)
		s = write_tokens(&r);
	inference_release(&r.inference);
	model_weights_release(&r.weights);
	model_release(&r.model);
	codec_release(&r.codec);
	sampler_scratch_release(&r.scratch);
	bytes_release(&r.pending);
	return s;
}

void generation_release(struct generation *g)
{
	if (!g)
		return;
	token_list_release(&g->prompt);
	token_list_release(&g->tokens);
	bytes_release(&g->text);
	*g = (struct generation){0};
}
