/* 16-bit elements themselves: conversions, vectors, optimizers; and of all 16-bit kernels: the same bits again, with
 * any number of threads. */
#include <check.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/kernels/kernels16_check.h"

/* ---- conversions ---- */

static bool is_nan16(enum element type, unsigned bits)
{
	return (bits & 0x7fff) > (type == ELEMENT_BF16 ? 0x7f80 : 0x7c00);
}

/* Every pattern there is, to fp32 and back. */
START_LEVEL_TEST(every_pattern)
{
	enum { N = 65536 };
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	{
		uint16_t *all = blank16(N), *back = blank16(N);
		float *wide = blank(N);
		for (int i = 0; i < N; i++)
			all[i] = (uint16_t)i;
		vector_convert(N, type, all, ELEMENT_FP32, wide);
		vector_convert(N, ELEMENT_FP32, wide, type, back);
		for (unsigned i = 0; i < N; i++) {
			float want = element_get((enum type)type, all, i);
			if (is_nan16(type, i)) {
				ck_assert_msg(isnan(wide[i]) && is_nan16(type, back[i]), "%x is no NaN any more", i);
				continue;
			}
			ck_assert_msg(memcmp(&wide[i], &want, sizeof want) == 0, "%x is %g, not %g", i, (double)wide[i],
			              (double)want);
			ck_assert_msg(back[i] == i, "%x came back as %x", i, (unsigned)back[i]);
		}
	}
}
END_TEST

/* Between every two neighbours: what is nearer to one of them, and the middle, which goes to the even one. */
START_LEVEL_TEST(rounding_is_to_nearest_even)
{
	enum { N = 6 * 65536 };
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	{
		float *x = blank(N);
		uint16_t *got = blank16(N), *want = blank16(N);
		int n = 0;
		unsigned infinite = type == ELEMENT_BF16 ? 0x7f80 : 0x7c00;
		for (unsigned i = 0; i < infinite; i++) {
			uint16_t pair[2] = {(uint16_t)i, (uint16_t)(i + 1)};
			double low = (double)element_get((enum type)type, pair, 0),
			       high = (double)element_get((enum type)type, pair, 1);
			if (i + 1 == infinite) /* as if there were one more number */
				high = type == ELEMENT_BF16 ? 0x1p128 : 0x1p16;
			float middle = (float)((low + high) / 2);
			float around[3] = {nextafterf(middle, 0), middle, nextafterf(middle, INFINITY)};
			for (int k = 0; k < 3; k++)
				for (int sign = 0; sign < 2; sign++) {
					unsigned nearest = k == 0 ? i : k == 2 ? i + 1 : i + (i & 1);
					x[n] = sign ? -around[k] : around[k];
					want[n++] = (uint16_t)(nearest | (unsigned)sign << 15);
				}
		}
		vector_convert(n, ELEMENT_FP32, x, type, got);
		for (int i = 0; i < n; i++)
			ck_assert_msg(got[i] == want[i], "%a in %s is %x, not %x", (double)x[i],
			              type_name((enum type)type), (unsigned)got[i], (unsigned)want[i]);
	}
}
END_TEST

START_LEVEL_TEST(lengths_and_types)
{
	if (!level_select(_i))
		return;
	for (int64_t n = 0; n < 70; n++)
		EACH_TYPE(type)
		{
			enum element other = type == ELEMENT_BF16 ? ELEMENT_FP16 : ELEMENT_BF16;
			float *x = filled(n), *wide = blank(n);
			uint16_t *narrow = blank16(n), *again = blank16(n);
			vector_convert(n, ELEMENT_FP32, x, type, narrow);
			vector_convert(n, type, narrow, other, again);
			vector_convert(n, other, again, ELEMENT_FP32, wide);
			for (int64_t i = 0; i < n; i++) {
				uint16_t want;
				element_set((enum type)type, &want, 0, x[i]);
				ck_assert_uint_eq(narrow[i], want);
				element_set((enum type)other, &want, 0, element_get((enum type)type, narrow, i));
				ck_assert_uint_eq(again[i], want);
				ck_assert(wide[i] == element_get((enum type)other, again, i));
			}
			buffers_release();
		}
}
END_TEST

/* ---- vectors ---- */

START_LEVEL_TEST(vectors)
{
	static const int64_t sizes[] = {0, 1, 3, 15, 17, 63, 65, 1000, 100003};
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	for (int64_t s = 0; s < COUNT(sizes); s++) {
		int64_t n = sizes[s];
		uint16_t *x = filled16(type, n, 2), *y = filled16(type, n, 1), *sum = blank16(n), *copy = blank16(n),
		         want;
		float *fx = floats16(type, n, x), *fy = floats16(type, n, y);
		double squares = 0;
		vector_copy(type, n, y, copy);
		elements_add(type, n, x, y, sum);
		vector_add(type, n, x, y);
		for (int64_t i = 0; i < n; i++) {
			element_set((enum type)type, &want, 0, fx[i] + fy[i]);
			ck_assert(sum[i] == want && y[i] == want && element_get((enum type)type, copy, i) == fy[i]);
			squares += (double)fx[i] * (double)fx[i];
		}
		ck_assert(fabs(vector_sum_of_squares(type, n, x) - squares) <= 1e-12 * squares);
		vector_scale(type, n, 0.3f, x);
		for (int64_t i = 0; i < n; i++) {
			element_set((enum type)type, &want, 0, fx[i] * 0.3f);
			ck_assert_uint_eq(x[i], want);
		}
		ck_assert(vector_is_finite(type, n, x));
		vector_zero(type, n, x);
		for (int64_t i = 0; i < n; i++)
			ck_assert_uint_eq(x[i], 0);
		if (n) {
			element_set((enum type)type, x, n - 1, n % 2 ? INFINITY : NAN);
			ck_assert(!vector_is_finite(type, n, x));
		}
		buffers_release();
	}
}
END_TEST

/* ---- optimizers ---- */

/* The master and the moments are those of fp32, bit for bit, for gradients that are the same numbers; parameters are
 * the master, rounded. A factor of a power of two, as of a loss scale, changes no bit either. */
START_LEVEL_TEST(optimizers)
{
	static const int64_t sizes[] = {1, 3, 17, 33, 130, 10007};
	const struct adamw a = {1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f};
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	for (int64_t s = 0; s < COUNT(sizes); s++) {
		int64_t n = sizes[s];
		size_t bytes = (size_t)n * sizeof(float);
		float *master = filled(n), *m = blank(n), *v = blank(n), *p = blank(n), *pm = blank(n), *pv = blank(n),
		      *q = blank(n), *sgd_master = blank(n);
		uint16_t *parameters = blank16(n), *rounded = blank16(n), *sgd_parameters = blank16(n);
		memcpy(p, master, bytes);
		memcpy(q, master, bytes);
		memcpy(sgd_master, master, bytes);
		memset(m, 0, bytes);
		memset(v, 0, bytes);
		memset(pm, 0, bytes);
		memset(pv, 0, bytes);
		for (int64_t step = 1; step <= 5; step++) {
			uint16_t *g = filled16(type, n, 1);
			float *fg = floats16(type, n, g);
			vector_scale(type, n, 128, g); /* exact */
			adamw_update(type, &a, step, n, parameters, g, 1 / 128.0f, m, v, master);
			adamw_update(ELEMENT_FP32, &a, step, n, p, fg, 1, pm, pv, NULL);
			sgd_update(type, 0.1f, n, sgd_parameters, g, 1 / 128.0f, sgd_master);
			sgd_update(ELEMENT_FP32, 0.1f, n, q, fg, 1, NULL);
		}
		ck_assert_mem_eq(master, p, bytes);
		ck_assert_mem_eq(m, pm, bytes);
		ck_assert_mem_eq(v, pv, bytes);
		ck_assert_mem_eq(sgd_master, q, bytes);
		vector_convert(n, ELEMENT_FP32, p, type, rounded);
		ck_assert_mem_eq(parameters, rounded, bytes / 2);
		vector_convert(n, ELEMENT_FP32, q, type, rounded);
		ck_assert_mem_eq(sgd_parameters, rounded, bytes / 2);
		buffers_release();
	}
}
END_TEST

/* One element that is not finite, anywhere, and none; fp32 too. */
START_LEVEL_TEST(not_finite)
{
	static const float largest[] = {
	        [ELEMENT_FP32] = 0x1.fffffep127f, [ELEMENT_BF16] = 0x1.fep127f, [ELEMENT_FP16] = 65504};
	enum { COUNT_OF_ELEMENTS = 1003 };
	if (!level_select(_i))
		return;
	for (enum element type = ELEMENT_FP32; type < ELEMENT_TYPES; type++) {
		float *x = blank(COUNT_OF_ELEMENTS); /* room for any type */
		for (int64_t i = 0; i < COUNT_OF_ELEMENTS; i++)
			element_set((enum type)type, x, i, i % 2 ? largest[type] : -largest[type]);
		ck_assert(vector_is_finite(type, COUNT_OF_ELEMENTS, x));
		for (int64_t i = 0; i < COUNT_OF_ELEMENTS; i++) {
			float was = element_get((enum type)type, x, i);
			kernels_set_threads(i % 50 ? 1 : 3);
			element_set((enum type)type, x, i, i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY);
			ck_assert_msg(!vector_is_finite(type, COUNT_OF_ELEMENTS, x), "%s: element %lld went unseen",
			              type_name((enum type)type), (long long)i);
			element_set((enum type)type, x, i, was);
		}
		kernels_set_threads(1);
	}
}
END_TEST

/* ---- the same bits again, and threads ---- */

enum {
	SAMPLES = 3,
	TOKENS = 70,
	HEADS = 2,
	SIZE = 24,
	WIDTH = HEADS * SIZE,
	OUT = 3 * WIDTH,
	ROWS = SAMPLES * TOKENS,
	RESULTS = 400000
};

static uint16_t *take(uint16_t **next, int64_t n)
{
	*next += n;
	return *next - n;
}

/* As below, of a layer that has the middle third of the classes and ids, the last place empty. */
static int64_t run_sliced(enum element type, const uint16_t *x, const uint16_t *dy, uint16_t *out)
{
	enum { OWN = WIDTH / 3 };
	const struct class_slice slice = {OWN, OWN - 1, OWN};
	uint16_t *next = out;
	float *maxima = blank(ROWS), *sums = blank(3 * ROWS), loss;
	int32_t ids[ROWS];
	for (int i = 0; i < ROWS; i++)
		ids[i] = i * 5 % WIDTH;
#define TAKE(n) take(&next, n)
	uint16_t *sum = TAKE(ROWS * WIDTH), *y = TAKE(ROWS * WIDTH);
	vector_copy(type, ROWS * WIDTH, x, sum);
	linear_finish(type, ROWS, WIDTH, dy, dy, sum, y);
	embedding_sliced_forward(type, SAMPLES, TOKENS, WIDTH, &slice, ids, dy, y = TAKE(ROWS * WIDTH));
	embedding_finish(type, SAMPLES, TOKENS, WIDTH, dy, y);
	embedding_sliced_backward(type, SAMPLES, TOKENS, WIDTH, &slice, 80, ids, x, TAKE(OWN * WIDTH), false,
	                          TAKE(80 * WIDTH), false);
	uint16_t *logits = TAKE(ROWS * OWN), *results = TAKE(4 * ROWS + 1);
	vector_copy(type, ROWS * OWN, x, logits);
	classifier_maxima(type, ROWS, &slice, logits, maxima);
	evaluate_sums(type, ROWS, &slice, logits, ids, maxima, sums);
	vector_convert(3 * ROWS, ELEMENT_FP32, sums, type, results);
	classifier_sums(type, ROWS, &slice, logits, ids, maxima, sums);
	classifier_gradient(type, ROWS, &slice, logits, ids, maxima, sums, 0.1, 100, &loss, false);
	vector_convert(ROWS, ELEMENT_FP32, maxima, type, results + 3 * ROWS);
	element_set((enum type)type, results + 4 * ROWS, 0, loss);
#undef TAKE
	return next - out;
}

/* One pass through everything; results lie one after the other. Returns how many there are. */
static int64_t run_everything(enum element type, uint16_t *out)
{
	struct linear_shape s = {ROWS, WIDTH, OUT, false, false, type, 0}, g = {ROWS, WIDTH, OUT, true, true, type, 0};
	struct attention_shape a = {SAMPLES, TOKENS, HEADS, SIZE, type};
	struct batch_norm_shape b = {ROWS, WIDTH, true, type};
	uint16_t *x = filled16(type, ROWS * WIDTH, 1), *w = filled16(type, WIDTH * OUT, 1),
	         *bias = filled16(type, OUT, 1);
	uint16_t *dy = filled16(type, ROWS * OUT, 1), *next = out, *qkv, *y, *pre;
	float *lse = blank(ROWS * HEADS), *statistics = blank(2 * ROWS), *part = blank(2 * WIDTH + 1),
	      *sums = blank(2 * WIDTH);
	float *running = filled(2 * WIDTH), loss;
	int32_t ids[ROWS];
	for (int i = 0; i < ROWS; i++)
		ids[i] = i * 5 % 13;
#define TAKE(n) take(&next, n)
	linear_forward(&s, x, w, bias, NULL, qkv = TAKE(ROWS * OUT), NULL);
	pre = TAKE(ROWS * OUT);
	linear_forward(&g, x, w, bias, NULL, TAKE(ROWS * OUT), pre);
	linear_backward(&g, dy, x, w, pre, TAKE(ROWS * WIDTH), TAKE(WIDTH * OUT), false, TAKE(OUT), false);
	y = TAKE(ROWS * WIDTH);
	attention_forward(&a, qkv, y, lse);
	attention_backward(&a, x, qkv, y, lse, TAKE(ROWS * OUT));
	norm_forward(type, ROWS, WIDTH, y, w, bias, TAKE(ROWS * WIDTH), statistics);
	norm_backward(type, ROWS, WIDTH, x, y, statistics, w, TAKE(ROWS * WIDTH), false, TAKE(WIDTH), false,
	              TAKE(WIDTH), false);
	batch_norm_statistics(&b, y, part);
	batch_norm_merge(1, WIDTH, part, running, statistics);
	batch_norm_forward(&b, y, statistics, w, bias, TAKE(ROWS * WIDTH));
	batch_norm_sums(&b, x, y, statistics, w, bias, sums, TAKE(WIDTH), false, TAKE(WIDTH), false);
	batch_norm_backward(&b, x, y, statistics, sums, w, TAKE(ROWS * WIDTH));
	embedding_forward(type, SAMPLES, TOKENS, WIDTH, ids, w, x, TAKE(ROWS * WIDTH));
	embedding_backward(type, SAMPLES, TOKENS, WIDTH, 13, 80, ids, x, TAKE(13 * WIDTH), false, TAKE(80 * WIDTH),
	                   false);
	uint16_t *logits = TAKE(ROWS * WIDTH);
	vector_copy(type, ROWS * WIDTH, x, logits);
	classifier(type, ROWS, WIDTH, WIDTH, logits, ids, 0.1, 100, &loss, false);
	element_set((enum type)type, TAKE(1), 0, loss);
	return next - out + run_sliced(type, x, dy, next);
#undef TAKE
}

START_LEVEL_TEST(repeatable)
{
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	{
		uint16_t *first = blank16(RESULTS), *again = blank16(RESULTS);
		buffers_init();
		int64_t n = run_everything(type, first);
		ck_assert_int_lt(n, RESULTS);
		for (int64_t i = 0; i < n; i++)
			ck_assert_msg(isfinite(element_get((enum type)type, first, i)), "result %lld was not written",
			              (long long)i);
		for (int threads = 1; threads <= 3; threads++) {
			kernels_set_threads(threads);
			buffers_init();
			run_everything(type, again);
			ck_assert_msg(memcmp(first, again, (size_t)n * sizeof *first) == 0,
			              "%s: other bits with %d threads", type_name((enum type)type), threads);
		}
		kernels_set_threads(1);
	}
}
END_TEST

int main(void)
{
	suite_fixture(buffers_init, buffers_release);
	return suite_run("16-bit elements", 120);
}
