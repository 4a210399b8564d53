/* RMSNorm, SwiGLU and rotary embedding at every instruction level that this processor has: fp32 against double
 * arithmetic and gradients by differences, 16 bits against fp32 on the same numbers. */
#include <check.h>
#include <string.h>

#include "tests/kernels/elements_check.h"
#include "tests/kernels/kernels_reference.h"

static float *copy_of(int64_t n, const float *from)
{
	float *to = blank(n);
	memcpy(to, from, (size_t)n * sizeof *to);
	return to;
}

/* Sums of `terms` numbers of size 1 or so, which begin or end with what was there. */
static double *sizes_of(int64_t n, int64_t terms)
{
	double *size = doubles(n);
	for (int64_t i = 0; i < n; i++)
		size[i] = 3 * (double)(terms + 1);
	return size;
}

/* ---- RMSNorm ---- */

static const float EPSILON = 1e-3f; /* large enough to show */

struct rms_case {
	int64_t rows, width;
	double *x, *weight, *y, *statistics;
	const float *dy;
};

static double rms_objective(const void *context)
{
	const struct rms_case *c = context;
	reference_rms_norm(c->rows, c->width, (double)EPSILON, c->x, c->weight, c->y, c->statistics);
	return weighted(c->rows * c->width, c->dy, c->y);
}

static void rms_check(int64_t rows, int64_t width, bool accumulate_x, bool accumulate_weight)
{
	int64_t n = rows * width;
	float *x = filled(n), *weight = filled(width), *y = blank(n), *statistics = blank(rows), *dy = filled(n);
	float *dx = filled(n), *dweight = filled(width), *dx0 = copy_of(n, dx), *dweight0 = copy_of(width, dweight);
	struct rms_case c = {rows, width, widened(n, x), widened(width, weight), doubles(n), doubles(rows), dy};
	rms_norm_forward(ELEMENT_FP32, rows, width, EPSILON, x, weight, y, statistics);
	rms_objective(&c);
	assert_close("rms norm y", n, y, c.y, 1e-6);
	assert_close("rms norm statistics", rows, statistics, c.statistics, 1e-6);
	rms_norm_backward(ELEMENT_FP32, rows, width, dy, x, statistics, weight, dx, accumulate_x, dweight,
	                  accumulate_weight);
	assert_gradient("rms norm dx", rms_objective, &c, n, c.x, dx, accumulate_x ? dx0 : NULL);
	assert_gradient("rms norm dweight", rms_objective, &c, width, c.weight, dweight,
	                accumulate_weight ? dweight0 : NULL);
}

static void rms_types_check(enum element type, int64_t rows, int64_t width, bool accumulate)
{
	int64_t n = rows * width;
	void *x = some(type, n, 2), *weight = some(type, width, 1), *dy = some(type, n, 1), *y = none(type, n);
	void *dx = some(type, n, 1), *dweight = some(type, width, 1);
	float *fx = floats_of(type, n, x), *fw = floats_of(type, width, weight), *fdy = floats_of(type, n, dy);
	float *fdx = floats_of(type, n, dx), *fdw = floats_of(type, width, dweight), *fy = blank(n);
	float *statistics = blank(rows), *fs = blank(rows);
	rms_norm_forward(type, rows, width, EPSILON, x, weight, y, statistics);
	rms_norm_forward(ELEMENT_FP32, rows, width, EPSILON, fx, fw, fy, fs);
	ck_assert_mem_eq(statistics, fs, (size_t)rows * sizeof *fs);
	assert_rounded("rms norm y", type, n, y, widened(n, fy), 0, NULL);
	rms_norm_backward(type, rows, width, dy, x, statistics, weight, dx, accumulate, dweight, accumulate);
	rms_norm_backward(ELEMENT_FP32, rows, width, fdy, fx, fs, fw, fdx, accumulate, fdw, accumulate);
	assert_rounded("rms norm dx", type, n, dx, widened(n, fdx), 0, NULL);
	assert_rounded("rms norm dweight", type, width, dweight, widened(width, fdw), FP32_UNIT * (double)rows,
	               sizes_of(width, rows));
}

START_LEVEL_TEST(rms_norm)
{
	static const int64_t rows[] = {1, 3, 17, 65, 130}, widths[] = {7, 8, 16, 17, 33, 130, 1030};
	for (int64_t r = 0; r < COUNT(rows); r++)
		for (int64_t w = r % SUITE_CASES(1, 2); w < COUNT(widths); w += SUITE_CASES(1, 2)) {
			rms_check(rows[r], widths[w], false, false);
			rms_check(rows[r], widths[w], true, false);
			rms_check(rows[r], widths[w], true, true);
			buffers_release();
			EACH_TYPE(type)
			{
				rms_types_check(type, rows[r], widths[w], (r + w) % 2);
				buffers_release();
			}
		}
}

/* ---- SwiGLU ---- */

struct swiglu_case {
	int64_t rows, width;
	double *x, *y;
	const float *dy;
};

static double swiglu_objective(const void *context)
{
	const struct swiglu_case *c = context;
	reference_swiglu(c->rows, c->width, c->x, c->y);
	return weighted(c->rows * c->width, c->dy, c->y);
}

static void swiglu_check(int64_t rows, int64_t width)
{
	int64_t n = rows * width;
	float *x = filled(2 * n), *y = blank(n), *dy = filled(n), *dx = blank(2 * n);
	for (int64_t i = 0; i < 2 * n; i++)
		x[i] *= 4;
	struct swiglu_case c = {rows, width, widened(2 * n, x), doubles(n), dy};
	swiglu_forward(ELEMENT_FP32, rows, width, x, y);
	swiglu_objective(&c);
	assert_close("swiglu y", n, y, c.y, 1e-6);
	swiglu_backward(ELEMENT_FP32, rows, width, dy, x, dx);
	assert_gradient("swiglu dx", swiglu_objective, &c, 2 * n, c.x, dx, NULL);
}

static void swiglu_types_check(enum element type, int64_t rows, int64_t width)
{
	int64_t n = rows * width;
	void *x = some(type, 2 * n, 4), *y = none(type, n), *dy = some(type, n, 1), *dx = none(type, 2 * n);
	float *fx = floats_of(type, 2 * n, x), *fy = blank(n), *fdy = floats_of(type, n, dy), *fdx = blank(2 * n);
	swiglu_forward(type, rows, width, x, y);
	swiglu_forward(ELEMENT_FP32, rows, width, fx, fy);
	assert_rounded("swiglu y", type, n, y, widened(n, fy), 0, NULL);
	swiglu_backward(type, rows, width, dy, x, dx);
	swiglu_backward(ELEMENT_FP32, rows, width, fdy, fx, fdx);
	assert_rounded("swiglu dx", type, 2 * n, dx, widened(2 * n, fdx), 0, NULL);
}

START_LEVEL_TEST(swiglu)
{
	static const int64_t rows[] = {1, 3, 17}, widths[] = {1, 7, 16, 33, 64, 65, 130};
	for (int64_t r = 0; r < COUNT(rows); r++)
		for (int64_t w = 0; w < COUNT(widths); w++) {
			swiglu_check(rows[r], widths[w]);
			EACH_TYPE(type)
			swiglu_types_check(type, rows[r], widths[w]);
			buffers_release();
		}
}

/* Gates so far from 0 that the exponential leaves fp32's range, and a NaN, which a diverged run must not hide. */
START_LEVEL_TEST(swiglu_range)
{
	enum { N = 9 };
	static const float gates[N] = {0, 1, -1, 88, -88, 1e4f, -1e4f, 1e30f, -1e30f};
	float x[2 * N], y[N], dy[N], dx[2 * N];
	for (int i = 0; i < N; i++) {
		x[i] = gates[i];
		x[N + i] = 2;
		dy[i] = 1;
	}
	swiglu_forward(ELEMENT_FP32, 1, N, x, y);
	swiglu_backward(ELEMENT_FP32, 1, N, dy, x, dx);
	for (int i = 0; i < N; i++) {
		double g = (double)gates[i], s = 1 / (1 + exp(-g));
		ck_assert_double_eq_tol((double)y[i], 2 * g * s, 1e-6 * fabs(2 * g * s) + 1e-35);
		ck_assert_double_eq_tol((double)dx[i], 2 * (s + g * s * (1 - s)), 2e-6);
		ck_assert_double_eq_tol((double)dx[N + i], g * s, 1e-6 * fabs(g * s) + 1e-35);
	}
	x[3] = NAN;
	swiglu_forward(ELEMENT_FP32, 1, N, x, y);
	ck_assert(isnan(y[3]) && !isnan(y[2]));
}

/* ---- rotary ---- */

struct rotary_case {
	struct rotary_shape shape;
	int64_t n;
	bool norms;
	double *x, *q_norm, *k_norm, *y;
	const float *dy;
};

static double rotary_objective(const void *context)
{
	const struct rotary_case *c = context;
	reference_rotary(&c->shape, c->x, c->norms ? c->q_norm : NULL, c->norms ? c->k_norm : NULL, c->y);
	return weighted(c->n, c->dy, c->y);
}

static struct rotary_shape shape_of(enum element type, const int64_t size[5])
{
	struct rotary_shape s = {.samples = size[0],
	                         .tokens = size[1],
	                         .heads = size[2],
	                         .kv_heads = size[3],
	                         .head_size = size[4],
	                         .first = size[0] - 1,
	                         .epsilon = EPSILON,
	                         .amplitude = 1.25f,
	                         .type = type};
	float *frequency = blank(s.head_size / 2);
	for (int64_t i = 0; i < s.head_size / 2; i++)
		frequency[i] = powf(100, -2 * (float)i / (float)s.head_size);
	s.frequency = frequency;
	return s;
}

static int64_t elements_of(const struct rotary_shape *s)
{
	return s->samples * s->tokens * (s->heads + 2 * s->kv_heads) * s->head_size;
}

static void rotary_check(const int64_t size[5], bool norms, bool accumulate)
{
	struct rotary_shape s = shape_of(ELEMENT_FP32, size);
	int64_t n = elements_of(&s), head = s.head_size;
	float *x = filled(n), *q = filled(head), *k = filled(head), *y = blank(n), *dy = filled(n), *dx = blank(n);
	float *dq = filled(head), *dk = filled(head), *dq0 = copy_of(head, dq), *dk0 = copy_of(head, dk);
	struct rotary_case c = {s, n, norms, widened(n, x), widened(head, q), widened(head, k), doubles(n), dy};
	rotary_forward(&s, x, norms ? q : NULL, norms ? k : NULL, y);
	rotary_objective(&c);
	assert_close("rotary y", n, y, c.y, 1e-6);
	rotary_backward(&s, dy, norms ? x : NULL, norms ? q : NULL, norms ? k : NULL, dx, norms ? dq : NULL, accumulate,
	                norms ? dk : NULL, accumulate);
	assert_gradient("rotary dx", rotary_objective, &c, n, c.x, dx, NULL);
	if (!norms)
		return;
	assert_gradient("rotary dq_norm", rotary_objective, &c, head, c.q_norm, dq, accumulate ? dq0 : NULL);
	assert_gradient("rotary dk_norm", rotary_objective, &c, head, c.k_norm, dk, accumulate ? dk0 : NULL);
}

static void rotary_types_check(enum element type, const int64_t size[5], bool accumulate)
{
	struct rotary_shape s = shape_of(type, size), f = s;
	int64_t n = elements_of(&s), head = s.head_size;
	void *x = some(type, n, 2), *q = some(type, head, 1), *k = some(type, head, 1), *y = none(type, n);
	void *dy = some(type, n, 1), *dx = none(type, n), *dq = some(type, head, 1), *dk = some(type, head, 1);
	float *fx = floats_of(type, n, x), *fq = floats_of(type, head, q), *fk = floats_of(type, head, k);
	float *fdy = floats_of(type, n, dy), *fdq = floats_of(type, head, dq), *fdk = floats_of(type, head, dk);
	float *fy = blank(n), *fdx = blank(n);
	f.type = ELEMENT_FP32;
	rotary_forward(&s, x, q, k, y);
	rotary_forward(&f, fx, fq, fk, fy);
	assert_rounded("rotary y", type, n, y, widened(n, fy), 0, NULL);
	rotary_backward(&s, dy, x, q, k, dx, dq, accumulate, dk, accumulate);
	rotary_backward(&f, fdy, fx, fq, fk, fdx, fdq, accumulate, fdk, accumulate);
	assert_rounded("rotary dx", type, n, dx, widened(n, fdx), 0, NULL);
	double *sizes = sizes_of(head, s.samples * s.tokens * s.heads);
	assert_rounded("rotary dq_norm", type, head, dq, widened(head, fdq), 2 * FP32_UNIT, sizes);
	assert_rounded("rotary dk_norm", type, head, dk, widened(head, fdk), 2 * FP32_UNIT, sizes);
}

START_LEVEL_TEST(rotary)
{
	static const int64_t sizes[][5] = {/* samples, tokens, heads, kv_heads, head_size */
	                                   {1, 1, 1, 1, 4},   {2, 5, 2, 1, 6},  {1, 7, 6, 2, 32},
	                                   {3, 70, 1, 1, 16}, {1, 3, 2, 2, 70}, {1, 2, 1, 1, 256}};
	for (int64_t i = 0; i < COUNT(sizes); i++) {
		rotary_check(sizes[i], false, false);
		rotary_check(sizes[i], true, false);
		rotary_check(sizes[i], true, true);
		EACH_TYPE(type)
		rotary_types_check(type, sizes[i], i % 2);
		buffers_release();
	}
}

/* ---- an embedding without positions ---- */

START_LEVEL_TEST(embedding_of_tokens)
{
	enum { TOKENS = 5, WIDTH = 19, VOCABULARY = 7 };
	static const int32_t ids[TOKENS] = {3, 0, 6, 3, 1};
	EACH_ELEMENT(type)
	{
		int64_t row = WIDTH * element_bytes(type);
		void *table = some(type, VOCABULARY * WIDTH, 1), *y = none(type, TOKENS * WIDTH);
		void *dtable = none(type, VOCABULARY * WIDTH);
		embedding_forward(type, 1, TOKENS, WIDTH, ids, table, NULL, y);
		for (int64_t t = 0; t < TOKENS; t++)
			ck_assert_mem_eq((char *)y + t * row, (char *)table + ids[t] * row, (size_t)row);
		embedding_backward(type, 1, TOKENS, WIDTH, VOCABULARY, 0, 0, ids, y, dtable, false, NULL, false);
		for (int64_t i = 0; i < WIDTH; i++) {
			ck_assert(get(type, dtable, WIDTH + i) == get(type, table, WIDTH + i));
			ck_assert(get(type, dtable, 3 * WIDTH + i) == 2 * get(type, table, 3 * WIDTH + i));
			ck_assert(get(type, dtable, 2 * WIDTH + i) == 0);
		}
		buffers_release();
	}
}

/* ---- new tokens against a cache ---- */

static void cached_check(const int64_t size[5], int64_t window, int64_t alibi)
{
	struct attention_shape whole = {.samples = 1,
	                                .tokens = size[0],
	                                .heads = size[2],
	                                .kv_heads = size[3],
	                                .head_size = size[4],
	                                .window = window,
	                                .alibi_heads = alibi};
	int64_t row = (size[2] + 2 * size[3]) * size[4], n = whole.tokens * size[2] * size[4];
	int64_t capacity = size[0] + 3, cache = size[3] * capacity * size[4];
	float *qkv = filled(whole.tokens * row), *y = blank(n), *keys = blank(cache), *values = blank(cache);
	double *want = doubles(n), *sizes = doubles(n), *logs = doubles(whole.tokens * size[2]);
	reference_attention(&whole, widened(whole.tokens * row, qkv), want, sizes, logs);
	for (int64_t first = 0, part; first < whole.tokens; first += part) {
		part = whole.tokens - first < size[1] ? whole.tokens - first : size[1];
		struct attention_cached_shape s = {whole, first, capacity};
		s.of.tokens = part;
		attention_cached(&s, qkv + first * row, keys, values, y + first * size[2] * size[4]);
	}
	assert_close("attention against a cache", n, y, want, 1e-6);
}

START_LEVEL_TEST(cached_attention)
{
	static const int64_t sizes[][5] = {/* tokens, of a call, heads, kv_heads, head_size */
	                                   {1, 1, 1, 1, 4},    {65, 65, 2, 1, 6}, {70, 1, 6, 2, 32},
	                                   {130, 7, 4, 4, 16}, {40, 9, 2, 2, 70}, {200, 64, 1, 1, 256}};
	static const int64_t windows[] = {0, 1, 17, 64, 100, 1000};
	for (int64_t i = 0; i < COUNT(sizes); i++)
		for (int64_t w = 0; w < COUNT(windows); w += SUITE_CASES(1, 3)) {
			kernels_set_threads(1 + (int)(i % 2));
			cached_check(sizes[i], windows[w], 0);
			cached_check(sizes[i], windows[w], sizes[i][2]);
			buffers_release();
		}
	kernels_set_threads(1);
}

/* ---- a linear layer of one row ---- */

static void row_check(int64_t in, int64_t out, bool in_out, bool bias, bool residual)
{
	struct linear_shape s = {.rows = 1, .in = in, .out = out, .weight_in_out = in_out};
	float *x = filled(in), *w = filled(in * out), *b = filled(out), *r = filled(out), *y = blank(out),
	      *again = blank(out);
	double *want = doubles(out);
	for (int64_t o = 0; o < out; o++) {
		want[o] = (bias ? (double)b[o] : 0) + (residual ? (double)r[o] : 0);
		for (int64_t i = 0; i < in; i++)
			want[o] += (double)x[i] * (double)w[in_out ? i * out + o : o * in + i];
	}
	linear_forward(&s, x, w, bias ? b : NULL, residual ? r : NULL, y, NULL);
	assert_close("one row", out, y, want, 2e-6);
	kernels_set_threads(3);
	linear_forward(&s, x, w, bias ? b : NULL, residual ? r : NULL, again, NULL);
	kernels_set_threads(1);
	ck_assert_mem_eq(y, again, (size_t)out * sizeof *y);
}

START_LEVEL_TEST(linear_row)
{
	static const int64_t sizes[][2] = {{1, 1}, {7, 3}, {16, 64}, {33, 65}, {100, 130}, {257, 700}, {70, 2100}};
	for (int i = 0; i < COUNT(sizes); i++)
		for (int k = 0; k < 8; k++) {
			row_check(sizes[i][0], sizes[i][1], k & 1, k & 2, k & 4);
			buffers_release();
		}
}

SUITE_WITH("kernels of Llama", 120, buffers_init, buffers_release)
