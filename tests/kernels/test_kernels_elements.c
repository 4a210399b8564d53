/* Elements themselves: conversions to 16 bits and back, vectors, optimizers in 16 bits; and of all kernels: the same
 * bits again, and what threads change. */
#include <check.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/kernels/elements_check.h"

/* ---- conversions ---- */

static bool is_nan16(enum element type, unsigned bits)
{
	return (bits & 0x7fff) > (type == ELEMENT_BF16 ? 0x7f80 : 0x7c00);
}

/* Every pattern there is, to fp32 and back. */
START_LEVEL_TEST(every_pattern)
{
	enum { N = 65536 };
	EACH_TYPE(type)
	{
		uint16_t *all = blank16(N), *back = blank16(N);
		float *wide = blank(N);
		for (int i = 0; i < N; i++)
			all[i] = (uint16_t)i;
		vector_convert(N, type, all, ELEMENT_FP32, wide);
		vector_convert(N, ELEMENT_FP32, wide, type, back);
		for (unsigned i = 0; i < N; i++) {
			float want = get(type, all, i);
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

/* Between every two neighbours: what is nearer to one of them, and the middle, which goes to the even one. */
START_LEVEL_TEST(rounding_is_to_nearest_even)
{
	enum { N = 6 * 65536 };
	EACH_TYPE(type)
	{
		float *x = blank(N);
		uint16_t *got = blank16(N), *want = blank16(N);
		int n = 0;
		unsigned infinite = type == ELEMENT_BF16 ? 0x7f80 : 0x7c00;
		for (unsigned i = 0; i < infinite; i++) {
			uint16_t pair[2] = {(uint16_t)i, (uint16_t)(i + 1)};
			double low = (double)get(type, pair, 0), high = (double)get(type, pair, 1);
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
			ck_assert_msg(got[i] == want[i], "%a in %s is %x, not %x", (double)x[i], name_of(type),
			              (unsigned)got[i], (unsigned)want[i]);
	}
}

START_LEVEL_TEST(lengths_and_types)
{
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
				set(type, &want, 0, x[i]);
				ck_assert_uint_eq(narrow[i], want);
				set(other, &want, 0, get(type, narrow, i));
				ck_assert_uint_eq(again[i], want);
				ck_assert(wide[i] == get(other, again, i));
			}
			buffers_release();
		}
}

/* ---- vectors ---- */

START_LEVEL_TEST(vectors)
{
	static const int64_t sizes[] = {0, 1, 3, 15, 16, 17, 63, 65, 1000, 100003};
	EACH_ELEMENT(type)
	for (int64_t s = 0; s < COUNT(sizes); s++) {
		int64_t n = sizes[s];
		size_t bytes = (size_t)(n * element_bytes(type));
		void *x = some(type, n, 2), *y = some(type, n, 1), *sum = none(type, n), *copy = none(type, n);
		void *sums = none(type, n);
		double squares = 0;
		for (int64_t i = 0; i < n; i++) {
			float one = get(type, x, i);
			set(type, sums, i, one + get(type, y, i));
			squares += (double)one * (double)one;
		}
		vector_copy(type, n, y, copy);
		ck_assert(n == 0 || memcmp(copy, y, bytes) == 0);
		elements_add(type, n, x, y, sum);
		vector_add(type, n, x, y);
		ck_assert(n == 0 || (memcmp(sum, sums, bytes) == 0 && memcmp(y, sums, bytes) == 0));
		ck_assert(fabs(vector_sum_of_squares(type, n, x) - squares) <= 1e-12 * squares);
		ck_assert(vector_is_finite(type, n, x));
		vector_zero(type, n, x);
		for (int64_t i = 0; i < n; i++)
			ck_assert(get(type, x, i) == 0);
		buffers_release();
	}
}

/* ---- optimizers ---- */

/* The master and the moments are those of fp32, bit for bit, for gradients that are the same numbers; parameters are
 * the master, rounded. A factor of a power of two, as of a loss scale, changes no bit either. */
START_LEVEL_TEST(optimizers)
{
	static const int64_t sizes[] = {1, 3, 17, 33, 130, 10007};
	const struct adamw a = {1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f};
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
			uint16_t *g = some(type, n, 1);
			float *fg = floats_of(type, n, g);
			for (int64_t i = 0; i < n; i++)
				set(type, g, i, get(type, g, i) * 128); /* exact */
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

/* One element that is not finite, anywhere, and none; fp32 too. */
START_LEVEL_TEST(not_finite)
{
	static const float largest[] = {
	        [ELEMENT_FP32] = 0x1.fffffep127f, [ELEMENT_BF16] = 0x1.fep127f, [ELEMENT_FP16] = 65504};
	enum { COUNT_OF_ELEMENTS = 1003 };
	EACH_ELEMENT(type)
	{
		float *x = blank(COUNT_OF_ELEMENTS); /* room for any type */
		for (int64_t i = 0; i < COUNT_OF_ELEMENTS; i++)
			set(type, x, i, i % 2 ? largest[type] : -largest[type]);
		ck_assert(vector_is_finite(type, COUNT_OF_ELEMENTS, x));
		for (int64_t i = 0; i < COUNT_OF_ELEMENTS; i++) {
			float was = get(type, x, i);
			kernels_set_threads(i % 50 ? 1 : 3);
			set(type, x, i, i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY);
			ck_assert_msg(!vector_is_finite(type, COUNT_OF_ELEMENTS, x), "%s: element %lld went unseen",
			              name_of(type), (long long)i);
			set(type, x, i, was);
		}
		kernels_set_threads(1);
	}
}

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

struct results {
	enum element type;
	int64_t count;
	void *memory;
};

static void *take(struct results *r, int64_t n)
{
	r->count += n;
	ck_assert_int_lt(r->count, RESULTS);
	return place(r->type, r->memory, r->count - n);
}

/* Like the runs below, for a layer that has the middle third of the classes and ids, the last place empty. */
static void run_sliced(enum element type, const void *x, const void *dy, struct results *out)
{
	enum { OWN = WIDTH / 3 };
	const struct class_slice slice = {OWN, OWN - 1, OWN};
	float *maxima = blank(ROWS), *sums = blank(3 * ROWS), loss;
	int32_t ids[ROWS];
	for (int i = 0; i < ROWS; i++)
		ids[i] = i * 5 % WIDTH;
	void *sum = take(out, ROWS * WIDTH), *y = take(out, ROWS * WIDTH);
	vector_copy(type, ROWS * WIDTH, x, sum);
	linear_finish(type, ACTIVATION_GELU_TANH, ROWS, WIDTH, dy, dy, sum, y);
	embedding_sliced_forward(type, SAMPLES, TOKENS, WIDTH, &slice, ids, dy, y = take(out, ROWS * WIDTH));
	embedding_finish(type, SAMPLES, TOKENS, WIDTH, dy, y);
	embedding_sliced_backward(type, SAMPLES, TOKENS, WIDTH, &slice, 80, 0, ids, x, take(out, OWN * WIDTH), false,
	                          take(out, 80 * WIDTH), false);
	void *logits = take(out, ROWS * OWN);
	vector_copy(type, ROWS * OWN, x, logits);
	classifier_maxima(type, ROWS, &slice, logits, maxima);
	evaluate_sums(type, ROWS, &slice, logits, ids, maxima, sums);
	vector_convert(3 * ROWS, ELEMENT_FP32, sums, type, take(out, 3 * ROWS));
	classifier_sums(type, ROWS, &slice, logits, ids, maxima, sums);
	classifier_gradient(type, ROWS, &slice, logits, ids, maxima, sums, 0.1, 100, &loss, false);
	vector_convert(ROWS, ELEMENT_FP32, maxima, type, take(out, ROWS));
	set(type, take(out, 1), 0, loss);
}

static void run_update(enum element type, const void *x, struct results *out)
{
	enum { ALL = ROWS * WIDTH };
	const struct adamw adam = {1e-2f, 0.9f, 0.999f, 1e-8f, 0.01f};
	float *m = blank(ALL), *v = blank(ALL), *master = floats_of(type, ALL, x);
	void *p = take(out, ALL);
	vector_copy(type, ALL, x, p);
	vector_zero(ELEMENT_FP32, ALL, m);
	vector_zero(ELEMENT_FP32, ALL, v);
	adamw_update(type, &adam, 1, ALL, p, x, 1, m, v, type == ELEMENT_FP32 ? NULL : master);
	vector_convert(ALL, ELEMENT_FP32, m, type, take(out, ALL));
	vector_convert(ALL, ELEMENT_FP32, v, type, take(out, ALL));
	set(type, take(out, 1), 0, (float)vector_sum_of_squares(type, ALL, p));
}

/* One pass through everything; results lie one after the other. Returns how many there are. */
static int64_t run_everything(enum element type, void *memory)
{
	struct results results = {type, 0, memory}, *out = &results;
	struct linear_shape s = {ROWS, WIDTH, OUT, false, ACTIVATION_NONE, type, 0},
	                    g = {ROWS, WIDTH, OUT, true, ACTIVATION_GELU_TANH, type, 0};
	struct attention_shape a = {SAMPLES, TOKENS, HEADS, HEADS, SIZE, .type = type};
	struct batch_norm_shape b = {ROWS, WIDTH, true, type};
	void *x = some(type, ROWS * WIDTH, 1), *w = some(type, WIDTH * OUT, 1), *bias = some(type, OUT, 1);
	void *dy = some(type, ROWS * OUT, 1), *qkv = take(out, ROWS * OUT), *pre = take(out, ROWS * OUT);
	float *lse = blank(ROWS * HEADS), *statistics = blank(2 * ROWS), *part = blank(2 * WIDTH + 1);
	float *sums = blank(2 * WIDTH), *running = filled(2 * WIDTH), loss;
	int32_t ids[ROWS];
	for (int i = 0; i < ROWS; i++)
		ids[i] = i * 5 % 13;
	linear_forward(&s, x, w, bias, NULL, qkv, NULL);
	linear_forward(&g, x, w, bias, NULL, take(out, ROWS * OUT), pre);
	linear_backward(&g, dy, x, w, pre, take(out, ROWS * WIDTH), take(out, WIDTH * OUT), false, take(out, OUT),
	                false);
	void *y = take(out, ROWS * WIDTH);
	attention_forward(&a, qkv, y, lse);
	attention_backward(&a, x, qkv, y, lse, take(out, ROWS * OUT));
	norm_forward(type, ROWS, WIDTH, y, w, bias, take(out, ROWS * WIDTH), statistics);
	norm_backward(type, ROWS, WIDTH, x, y, statistics, w, take(out, ROWS * WIDTH), false, take(out, WIDTH), false,
	              take(out, WIDTH), false);
	batch_norm_statistics(&b, y, part);
	batch_norm_merge(1, WIDTH, part, running, statistics);
	batch_norm_forward(&b, y, statistics, w, bias, take(out, ROWS * WIDTH));
	batch_norm_sums(&b, x, y, statistics, w, bias, sums, take(out, WIDTH), false, take(out, WIDTH), false);
	batch_norm_backward(&b, x, y, statistics, sums, w, take(out, ROWS * WIDTH));
	embedding_forward(type, SAMPLES, TOKENS, WIDTH, ids, w, x, take(out, ROWS * WIDTH));
	embedding_backward(type, SAMPLES, TOKENS, WIDTH, 13, 80, 0, ids, x, take(out, 13 * WIDTH), false,
	                   take(out, 80 * WIDTH), false);
	void *logits = take(out, ROWS * WIDTH);
	vector_copy(type, ROWS * WIDTH, x, logits);
	classifier(type, ROWS, WIDTH, WIDTH, logits, ids, 0.1, 100, &loss, false);
	set(type, take(out, 1), 0, loss);
	run_sliced(type, x, dy, out);
	run_update(type, x, out);
	return results.count;
}

/* Twice with the same number of threads gives the same bits; in 16 bits any number of threads does, whose products are
 * not OpenBLAS's. */
START_LEVEL_TEST(repeatable)
{
	EACH_ELEMENT(type)
	{
		void *first = none(type, RESULTS), *again = none(type, RESULTS), *twice = none(type, RESULTS);
		buffers_init();
		int64_t n = run_everything(type, first);
		for (int64_t i = 0; i < n; i++)
			ck_assert_msg(isfinite(get(type, first, i)), "result %lld was not written", (long long)i);
		for (int threads = 1; threads <= 3; threads++) {
			kernels_set_threads(threads);
			ck_assert_int_eq(kernels_threads(), threads);
			buffers_init();
			run_everything(type, again);
			buffers_init();
			run_everything(type, twice);
			ck_assert_mem_eq(again, twice, (size_t)(n * element_bytes(type)));
			float limit = type == ELEMENT_FP32 && threads > 1 ? 1e-4f : 0;
			for (int64_t i = 0; i < n; i++) {
				float one = get(type, first, i), other = get(type, again, i);
				ck_assert_msg(fabsf(one - other) <= limit * (1 + fabsf(one)),
				              "%s, %d threads: result %lld is %g, not %g", name_of(type), threads,
				              (long long)i, (double)other, (double)one);
			}
		}
		kernels_set_threads(1);
		buffers_release();
	}
}

SUITE_WITH("elements", 120, buffers_init, buffers_release)
