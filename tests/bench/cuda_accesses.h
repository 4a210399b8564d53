/* The memory requests of memory-bound kernels and of attention, counted on the host
 * (tests/emulate/emulate.h): of one multiprocessor's share of a micro-batch of 16 × 1024 tokens, so that a block
 * has as many rows as on a GPU of 132.
 *
 *     const struct emulated_accesses *kernels;
 *     int n = job_accesses(&job, &kernels);          what each of its kernels did
 *     double times = job_times(&job, n, kernels);    bytes asked for ÷ bytes that must be moved
 */
#ifndef SHARDLAB_CUDA_ACCESSES_H
#define SHARDLAB_CUDA_ACCESSES_H

#include <stdlib.h>

#include "kernels/kernels.h"
#include "tests/bench/cuda_jobs.h"
#include "tests/emulate/emulate.h"

enum { PROCESSORS = 132 };

static inline void jobs_of_one_processor(struct job jobs[JOBS])
{
	samples = 2;
	tokens = 16 * 1024 / PROCESSORS / samples;
	parameters = PARAMETERS / PROCESSORS;
	jobs_make(jobs);
}

/* At the beginning of a page, as on a GPU of some hundred bytes. */
static inline void *zeros(int64_t bytes)
{
	void *p = NULL;
	if (posix_memalign(&p, 4096, (size_t)bytes))
		abort();
	return memset(p, 0, (size_t)bytes);
}

static inline int64_t buffer_bytes(const struct buffer *b)
{
	return b->n * (b->ids ? (int64_t)sizeof(int32_t) : (int64_t)element_bytes(b->type));
}

/* Returns how many kernels the job launched. Zeros will do for what is read, but token ids: every id a few times. */
static inline int job_accesses(struct job *j, const struct emulated_accesses **kernels)
{
	struct kernel_context *c = emulated_open(1, 64 << 20);
	for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++) {
		j->b[i].p = zeros(buffer_bytes(&j->b[i]));
		for (int64_t k = 0; j->b[i].ids && !j->b[i].step && k < j->b[i].n; k++)
			((int32_t *)j->b[i].p)[k] = (int32_t)(k * k % 37 * 1009);
		if (j->b[i].step)
			*(int64_t *)j->b[i].p = 1;
	}
	emulated_accesses_begin();
	int error = j->run(&(struct on){&emulated_api()->kernels, c, NULL}, j->b), n = emulated_accesses_end(kernels);
	if (error)
		abort();
	for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++)
		free(j->b[i].p);
	emulated_close(c);
	return n;
}

enum attention_version { ATTENTION_FORWARD, ATTENTION_HOPPER, ATTENTION_BACKWARD, ATTENTION_VERSIONS };

static inline int attention_accesses(const struct attention_shape *s, enum attention_version version,
                                     const struct emulated_accesses **kernels)
{
	const struct cuda_api *api = emulated_api();
	struct kernel_context *c = emulated_open(1, 1 << 20);
	int64_t rows = s->samples * s->tokens, n = rows * s->heads * s->head_size * element_bytes(s->type);
	void *qkv = zeros(3 * n), *y = zeros(n), *dy = zeros(n), *dqkv = zeros(3 * n);
	float *sums = zeros(rows * s->heads * (int64_t)sizeof *sums);
	emulated_accesses_begin();
	int error = version == ATTENTION_FORWARD  ? api->kernels.attention_forward(c, NULL, s, qkv, y, sums)
	            : version == ATTENTION_HOPPER ? api->attention_forward_hopper(c, NULL, s, qkv, y, sums)
	                                          : api->kernels.attention_backward(c, NULL, s, dy, qkv, y, sums, dqkv);
	int count = emulated_accesses_end(kernels);
	if (error)
		abort();
	void *const all[] = {qkv, y, dy, dqkv, sums};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
	emulated_close(c);
	return count;
}

/* The bytes that its kernels must move: the embedding's table is set to 0 by a fill before them. */
static inline double job_bytes(const struct job *j)
{
	return j->bytes - (j->run == run_embedding_backward ? 2.0 * VOCABULARY * WIDTH : 0);
}

static inline double job_times(const struct job *j, int n, const struct emulated_accesses *kernels)
{
	int64_t asked = 0;
	for (int i = 0; i < n; i++)
		asked += kernels[i].read_bytes + kernels[i].written_bytes;
	return (double)asked / job_bytes(j);
}

static inline double share(int64_t least, int64_t all)
{
	return all ? (double)least / (double)all : 1;
}

#endif
