/* The GPU's kernels of the Llama family: RMSNorm, SwiGLU, rotary embedding, an embedding without positions. */
#include "kernels/cuda/context.h"
#include "tests/cuda/cuda_check.h"

static const int64_t row_counts[] = {1, 2, 37};

/* ---- RMSNorm ---- */

struct norm_case {
	enum element type;
	int64_t rows, width;
	bool accumulate;
};

CASE_RUN(norm_forward_run, struct norm_case, n)
{
	return kernels->rms_norm_forward(c, NULL, n->type, n->rows, n->width, 1e-3f, a[0].now, a[1].now, a[2].now,
	                                 a[3].now);
}

CASE_RUN(norm_backward_run, struct norm_case, n)
{
	bool add = n->accumulate;
	return kernels->rms_norm_backward(c, NULL, n->type, n->rows, n->width, a[0].now, a[1].now, a[2].now, a[3].now,
	                                  a[4].now, add, a[5].now, add);
}

static void norm_check(enum element type, int64_t rows, int64_t width, bool accumulate)
{
	struct norm_case n = {type, rows, width, accumulate};
	struct array forward[] = {only_read(type, rows * width, 3), only_read(type, width, 1),
	                          changed("rms norm y", type, rows * width, 1),
	                          changed("rms norm statistics", ELEMENT_FP32, rows, 1)};
	cuda_check(norm_forward_run, &n, forward, COUNT(forward), 4e-6);
	struct array backward[] = {only_read(type, rows * width, 1),
	                           only_read(type, rows * width, 3),
	                           only_read(ELEMENT_FP32, rows, 1),
	                           only_read(type, width, 1),
	                           changed("rms norm dx", type, rows * width, 1),
	                           changed("rms norm dweight", type, width, 1)};
	cuda_check(norm_backward_run, &n, backward, COUNT(backward), 4e-6);
}

/* A wide row goes through one warp or block as every other does: some are enough for several blocks. */
enum { WIDE = 2000, WIDE_ROWS = 11 };

START_LOOP_TEST(rms_norms, 0, 2)
{
	static const int64_t widths[] = {1, 7, 63, 129, 768, 2056, 12304};
	EACH_ELEMENT(type)
	for (int i = 0; i < CASES(widths); i++)
		for (int j = 0; j < COUNT(row_counts); j++) {
			int64_t rows = widths[i] > WIDE && row_counts[j] > WIDE_ROWS ? WIDE_ROWS : row_counts[j];
			begin(_i);
			norm_check(type, rows, widths[i], (i + j) % 2);
		}
}

/* ---- SwiGLU ---- */

struct swiglu_case {
	enum element type;
	int64_t rows, width;
};

CASE_RUN(swiglu_run, struct swiglu_case, k)
{
	int error = kernels->swiglu_forward(c, NULL, k->type, k->rows, k->width, a[0].now, a[2].now);
	return error ? error
	             : kernels->swiglu_backward(c, NULL, k->type, k->rows, k->width, a[1].now, a[0].now, a[3].now);
}

START_LOOP_TEST(gates, 0, 2)
{
	static const int64_t widths[] = {1, 7, 64, 688, 1032};
	EACH_ELEMENT(type)
	for (int i = 0; i < CASES(widths); i++)
		for (int j = 0; j < COUNT(row_counts); j++) {
			begin(_i);
			struct swiglu_case k = {type, row_counts[j], widths[i]};
			int64_t n = k.rows * k.width;
			struct array arrays[] = {only_read(type, 2 * n, 8), only_read(type, n, 1),
			                         changed("swiglu y", type, n, 1), changed("swiglu dx", type, 2 * n, 1)};
			cuda_check(swiglu_run, &k, arrays, COUNT(arrays), 2e-6);
		}
}

/* ---- rotary ---- */

struct rotary_case {
	struct rotary_shape shape;
	bool norms, accumulate;
};

CASE_RUN(rotary_run, struct rotary_case, k)
{
	const void *q = k->norms ? a[2].now : NULL, *key = k->norms ? a[3].now : NULL;
	int error = kernels->rotary_forward(c, NULL, &k->shape, a[0].now, q, key, a[4].now);
	return error ? error
	             : kernels->rotary_backward(c, NULL, &k->shape, a[1].now, k->norms ? a[0].now : NULL, q, key,
	                                        a[5].now, k->norms ? a[6].now : NULL, k->accumulate,
	                                        k->norms ? a[7].now : NULL, k->accumulate);
}

static void rotary_check(enum element type, const int64_t size[5], bool norms, bool accumulate)
{
	float frequency[ROTARY_PAIRS];
	struct rotary_case k = {{.samples = size[0],
	                         .tokens = size[1],
	                         .heads = size[2],
	                         .kv_heads = size[3],
	                         .head_size = size[4],
	                         .first = size[0] - 1,
	                         .epsilon = 1e-3f,
	                         .amplitude = 1.25f,
	                         .frequency = frequency,
	                         .type = type},
	                        norms,
	                        accumulate};
	for (int64_t i = 0; i < size[4] / 2; i++)
		frequency[i] = powf(100, -2 * (float)i / (float)size[4]);
	int64_t n = size[0] * size[1] * (size[2] + 2 * size[3]) * size[4];
	struct array arrays[] = {only_read(type, n, 3),
	                         only_read(type, n, 1),
	                         only_read(type, size[4], 1),
	                         only_read(type, size[4], 1),
	                         changed("rotary y", type, n, 1),
	                         changed("rotary dx", type, n, 1),
	                         changed("dq_norm", type, size[4], 1),
	                         changed("dk_norm", type, size[4], 1)};
	cuda_check(rotary_run, &k, arrays, COUNT(arrays), 6e-6);
}

START_LOOP_TEST(rotary, 0, 2)
{
	static const int64_t sizes[][5] = {/* samples, tokens, heads, kv_heads, head_size */
	                                   {1, 1, 1, 1, 4},   {2, 5, 2, 1, 6},   {1, 7, 6, 2, 32},
	                                   {3, 40, 1, 1, 16}, {1, 3, 2, 2, 130}, {1, 2, 1, 1, 256}};
	EACH_ELEMENT(type)
	for (int i = 0; i < CASES(sizes); i++)
		for (int norms = 0; norms < 2; norms++) {
			begin(_i);
			rotary_check(type, sizes[i], norms, i % 2);
		}
}

/* The workspace must hold the sums of one block at least. */
START_TEST(no_room)
{
	float frequency[2] = {1, 1};
	const struct rotary_shape s = {.samples = 1,
	                               .tokens = 1,
	                               .heads = 1,
	                               .kv_heads = 1,
	                               .head_size = 4,
	                               .amplitude = 1,
	                               .frequency = frequency,
	                               .type = ELEMENT_FP32};
	begin(0);
	struct kernel_context *c = target_open(3, 16);
	float *x = typed(ELEMENT_FP32, 12, 1), *norm = typed(ELEMENT_FP32, 4, 1), *dx = typed(ELEMENT_FP32, 12, 1);
	ck_assert_int_eq(target_kernels()->rotary_backward(c, NULL, &s, x, x, norm, norm, dx, norm, false, norm, false),
	                 CUDA_ERROR_WORKSPACE);
	target_close(c);
}

/* ---- an embedding without positions ---- */

struct embedding_case {
	enum element type;
	const int32_t *ids;
};

enum { ROWS = 40, WIDTH = 24, VOCABULARY = 9 };

CASE_RUN(embedding_run, struct embedding_case, k)
{
	int error = kernels->embedding_forward(c, NULL, k->type, 2, ROWS / 2, WIDTH, k->ids, a[0].now, NULL, a[1].now);
	return error ? error
	             : kernels->embedding_backward(c, NULL, k->type, 2, ROWS / 2, WIDTH, VOCABULARY, 0, 0, k->ids,
	                                           a[2].now, a[3].now, false, NULL, false);
}

START_LOOP_TEST(embeddings, 0, 2)
{
	EACH_ELEMENT(type)
	{
		begin(_i);
		int32_t *ids = keep(target_memory(ROWS * sizeof *ids), 0);
		for (int i = 0; i < ROWS; i++)
			ids[i] = i * i % VOCABULARY;
		struct embedding_case k = {type, ids};
		struct array arrays[] = {
		        only_read(type, VOCABULARY * WIDTH, 1), changed("embedding y", type, ROWS * WIDTH, 1),
		        only_read(type, ROWS * WIDTH, 1), changed("dtoken", type, VOCABULARY * WIDTH, 1)};
		cuda_check(embedding_run, &k, arrays, COUNT(arrays), 4e-6);
	}
}

CUDA_SUITE("cuda_llama", 60)
