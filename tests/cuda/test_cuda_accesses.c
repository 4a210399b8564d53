/* The memory requests of memory-bound kernels and of attention, counted on the host (tests/emulate/emulate.h), stay
 * within the limits listed here: of one multiprocessor's share of GPT-2's micro-batch of 16 × 1024 tokens, so that a
 * block has as many rows as on a GPU of 132. They are bytes of global memory beside those that must be moved, the share
 * of the sectors of 32 bytes that is made use of, and the share of shared memory's turns that no conflict of banks
 * takes. What a card measured of the same kernels is in kernels/RESULTS.md. */
#include <stdlib.h>

#include "kernels/kernels.h"
#include "tests/bench/cuda_jobs.h"
#include "tests/emulate/emulate.h"
#include "tests/support/suite.h"

enum { PROCESSORS = 132 };

static void jobs_of_one_processor(struct job jobs[JOBS])
{
	samples = 2;
	tokens = 16 * 1024 / PROCESSORS / samples;
	parameters = PARAMETERS / PROCESSORS;
	jobs_make(jobs);
}

/* At the beginning of a page, as on a GPU of some hundred bytes. */
static void *zeros(int64_t bytes)
{
	void *p = NULL;
	if (posix_memalign(&p, 4096, (size_t)bytes))
		abort();
	return memset(p, 0, (size_t)bytes);
}

static int64_t buffer_bytes(const struct buffer *b)
{
	return b->n * (b->ids ? (int64_t)sizeof(int32_t) : (int64_t)element_bytes(b->type));
}

/* Returns how many kernels the job launched. Zeros will do for what is read, but token ids: every id a few times. */
static int job_accesses(struct job *j, const struct emulated_accesses **kernels)
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

static int attention_accesses(const struct attention_shape *s, enum cuda_attention rung, bool backward,
                              const struct emulated_accesses **kernels)
{
	const struct cuda_api *api = emulated_api();
	struct kernel_context *c = emulated_open(1, 1 << 20);
	int64_t rows = s->samples * s->tokens, n = rows * s->heads * s->head_size * element_bytes(s->type);
	void *qkv = zeros(3 * n), *y = zeros(n), *dy = zeros(n), *dqkv = zeros(3 * n);
	float *sums = zeros(rows * s->heads * (int64_t)sizeof *sums);
	emulated_accesses_begin();
	(void)api->use_attention(c, rung, false);
	int error = backward ? api->kernels.attention_backward(c, NULL, s, dy, qkv, y, sums, dqkv)
	                     : api->kernels.attention_forward(c, NULL, s, qkv, y, sums);
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
static double job_bytes(const struct job *j)
{
	return j->bytes - (j->run == run_embedding_backward ? 2.0 * VOCABULARY * WIDTH : 0);
}

static double job_times(const struct job *j, int n, const struct emulated_accesses *kernels)
{
	int64_t asked = 0;
	for (int i = 0; i < n; i++)
		asked += kernels[i].read_bytes + kernels[i].written_bytes;
	return (double)asked / job_bytes(j);
}

static double share(int64_t least, int64_t all)
{
	return all ? (double)least / (double)all : 1;
}

/* Bytes asked for ÷ bytes that must be moved, at most; what is more comes out of a cache. */
static const struct {
	const char *name;
	double times;
} LIMITS[JOBS] = {
        {"copy", 0},                  /* no kernel of ours */
        {"norm forward", 2.01},       /* a warp has one row, and reads weight and bias for it */
        {"norm backward", 1.30},      /* the same of weight, and the blocks' sums */
        {"classifier", 1.01},         /* each row is read once; the losses */
        {"embedding forward", 1.51},  /* the position's row too */
        {"embedding backward", 1.50}, /* dy is read twice, as it must; keys, and sums of words in many places */
        {"AdamW", 1.001},
        {"vector add", 1.001},
        {"sum of squares", 1.001},
        {"overflow", 1.001},
        {"fp32 to bf16", 1.001},
        {"bias, residual, GELU", 1.26}, /* the bias once for each row */
        {"bias, residual, GELU of 4×", 1.26},
        {"RMSNorm forward", 1.51},  /* the weight for each row */
        {"RMSNorm backward", 1.30}, /* as above */
        {"SwiGLU forward", 1.001},
        {"SwiGLU backward", 1.001},
        {"rotary forward", 1.001},
        {"rotary backward", 1.001}};

START_LOOP_TEST(memory, 0, JOBS)
{
	struct job jobs[JOBS];
	const struct emulated_accesses *kernels;
	jobs_of_one_processor(jobs);
	ck_assert_str_eq(jobs[_i].name, LIMITS[_i].name);
	if (jobs[_i].run == run_copy)
		return;
	int n = job_accesses(&jobs[_i], &kernels);
	double times = job_times(&jobs[_i], n, kernels);
	int64_t sectors = 0, least = 0;
	ck_assert_msg(times > 0.9 && times <= LIMITS[_i].times, "%s: %.3f times what it must move", jobs[_i].name,
	              times);
	for (int k = 0; k < n; k++) {
		/* where a key goes is the sort's to say */
		bool scatters = strstr(kernels[k].kernel, "sort_scatter") != NULL;
		sectors += kernels[k].sectors;
		least += kernels[k].least_sectors;
		ck_assert_msg(scatters || share(kernels[k].least_sectors, kernels[k].sectors) >= 0.95,
		              "%s: %lld sectors for what %lld hold", kernels[k].kernel, (long long)kernels[k].sectors,
		              (long long)kernels[k].least_sectors);
	}
	ck_assert_msg(share(least, sectors) >= 0.95, "%s: %lld sectors for what %lld hold", jobs[_i].name,
	              (long long)sectors, (long long)least);
}

/* The last: two heads of queries share one of keys, and see a window. */
static const struct attention_shape HEADS[] = {{1, 160, 1, 1, 32, .window = 0},
                                               {1, 160, 1, 1, 64, .window = 0},
                                               {1, 160, 1, 1, 96, .window = 0},
                                               {1, 160, 1, 1, 128, .window = 0},
                                               {1, 160, 2, 1, 64, .window = 50}};
static const enum element TYPES[] = {ELEMENT_BF16, ELEMENT_FP32};

/* Loops over type, pass and the rungs above SIMPLE; fp32 gets that one, whatever is asked for. */
START_LOOP_TEST(attention, 0, 8)
{
	for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) {
		struct attention_shape shape = HEADS[i];
		shape.type = TYPES[_i % 2];
		enum cuda_attention rung = _i / 4 ? CUDA_ATTENTION_HOPPER : CUDA_ATTENTION_TENSOR;
		const struct emulated_accesses *kernels;
		int n = attention_accesses(&shape, rung, _i / 2 % 2, &kernels);
		for (int k = 0; k < n; k++) {
			ck_assert_msg(kernels[k].wavefronts == kernels[k].least_wavefronts,
			              "%s: %lld wavefronts in place of %lld", kernels[k].kernel,
			              (long long)kernels[k].wavefronts, (long long)kernels[k].least_wavefronts);
			ck_assert_msg(share(kernels[k].least_sectors, kernels[k].sectors) >= 0.95,
			              "%s: %lld sectors for what %lld hold", kernels[k].kernel,
			              (long long)kernels[k].sectors, (long long)kernels[k].least_sectors);
		}
	}
}

int main(void)
{
	return emulated_tells() ? suite_run("cuda_accesses", 120)
	                        : suite_skip("kernels of this build have another sanitizer");
}
