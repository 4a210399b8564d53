/* Batch normalization's kernels, at every instruction level that this processor has, against plain double arithmetic
 * and differences of it, with the rows in one piece and in several, as ranks have them. */
#include <check.h>
#include <string.h>

#include "tests/kernels/kernels_check.h"
#include "tests/kernels/kernels_reference.h"

static const struct {
	int64_t rows, width;
} sizes[] = {{2, 1}, {3, 5}, {4, 16}, {5, 33}, {64, 17}, {67, 70}, {130, 64}, {201, 130}};

struct norm_case {
	struct batch_norm_shape shape;
	double *x, *weight, *bias, *y, *statistics;
	const float *dy;
};

static double norm_objective(const void *context)
{
	const struct norm_case *c = context;
	reference_batch_norm(c->shape.rows, c->shape.width, c->shape.gelu, c->x, c->weight, c->bias, c->y,
	                     c->statistics);
	return weighted(c->shape.rows * c->shape.width, c->dy, c->y);
}

/* Forward and backward over all rows, with the rows in `parts` pieces as ranks have them. */
static void norm_check(int64_t rows, int64_t width, bool gelu, int64_t parts, bool accumulate)
{
	struct batch_norm_shape all = {rows, width, gelu, ELEMENT_FP32};
	int64_t n = rows * width, stride = 2 * width + 1;
	float *x = filled(n), *weight = filled(width), *bias = filled(width), *dy = filled(n), *y = blank(n);
	float *part = blank(parts * stride), *statistics = blank(stride), *running = filled(2 * width);
	float *sums = blank(2 * width), *own = blank(2 * width), *du = blank(n), *dx = blank(n);
	float *dweight = filled(width), *dbias = filled(width), *dweight0 = blank(width), *dbias0 = blank(width);
	double *running0 = widened(2 * width, running), *want = doubles(2 * width);
	for (int64_t i = 0; i < n; i++)
		x[i] = 3 * x[i] + 2; /* a mean that cancels if it is not taken away first */
	struct norm_case c = {
	        all, widened(n, x), widened(width, weight), widened(width, bias), doubles(n), doubles(stride), dy};
	memcpy(dweight0, dweight, (size_t)width * sizeof *dweight);
	memcpy(dbias0, dbias, (size_t)width * sizeof *dbias);
	memcpy(du, dy, (size_t)n * sizeof *dy);
	for (int64_t p = 0; p < parts; p++) {
		struct batch_norm_shape s = {rows * (p + 1) / parts - rows * p / parts, width, gelu, ELEMENT_FP32};
		batch_norm_statistics(&s, x + rows * p / parts * width, part + p * stride);
	}
	batch_norm_merge(parts, width, part, running, statistics);
	for (int64_t i = 0; i < 2 * width; i++)
		sums[i] = 0;
	for (int64_t p = 0; p < parts; p++) {
		int64_t first = rows * p / parts;
		struct batch_norm_shape s = {rows * (p + 1) / parts - first, width, gelu, ELEMENT_FP32};
		batch_norm_forward(&s, x + first * width, statistics, weight, bias, y + first * width);
		batch_norm_sums(&s, du + first * width, x + first * width, statistics, weight, bias, own, dweight,
		                accumulate || p, dbias, accumulate || p);
		vector_add(ELEMENT_FP32, 2 * width, own, sums);
	}
	for (int64_t p = 0; p < parts; p++) {
		int64_t first = rows * p / parts;
		struct batch_norm_shape s = {rows * (p + 1) / parts - first, width, gelu, ELEMENT_FP32};
		batch_norm_backward(&s, du + first * width, x + first * width, statistics, sums, weight,
		                    dx + first * width);
	}
	(void)norm_objective(&c);
	/* Two rows may be close to one another, and 1/std then amplifies the rounding of their mean. */
	assert_close("batch norm statistics", width, statistics, c.statistics, 2e-6);
	assert_close("batch norm 1/std", width, statistics + width, c.statistics + width, rows < 4 ? 2e-4 : 1e-5);
	ck_assert_double_eq((double)statistics[2 * width], (double)rows);
	assert_close("batch norm y", n, y, c.y, rows < 4 ? 1e-4 : 1e-5);
	for (int64_t i = 0; i < width; i++) {
		double variance = 1 / (c.statistics[width + i] * c.statistics[width + i]) - 1e-5;
		want[i] = 0.9 * running0[i] + 0.1 * c.statistics[i];
		want[width + i] = 0.9 * running0[width + i] + 0.1 * variance * (double)rows / (double)(rows - 1);
	}
	assert_close("batch norm running", 2 * width, running, want, 1e-5);
	if (rows >= 4) { /* fp32 has too few digits for differences where the variance is almost 0 */
		assert_gradient("batch norm dx", norm_objective, &c, n, c.x, dx, NULL);
		assert_gradient("batch norm dweight", norm_objective, &c, width, c.weight, dweight,
		                accumulate ? dweight0 : NULL);
		assert_gradient("batch norm dbias", norm_objective, &c, width, c.bias, dbias,
		                accumulate ? dbias0 : NULL);
	}
}

START_LEVEL_TEST(kernels)
{
	for (int64_t i = 0; i < COUNT(sizes); i++)
		for (int options = 0; options < 4; options++)
			for (int64_t parts = 1; parts <= 3 && parts * 2 <= sizes[i].rows + 1; parts++) {
				norm_check(sizes[i].rows, sizes[i].width, options & 1, parts, options & 2);
				buffers_release();
			}
}

START_TEST(running_statistics_replace_a_batchs)
{
	enum { WIDTH = 37 };
	float *running = filled(2 * WIDTH), *statistics = blank(2 * WIDTH + 1);
	for (int i = 0; i < 2 * WIDTH; i++)
		running[i] = fabsf(running[i]);
	batch_norm_running(WIDTH, running, statistics);
	for (int i = 0; i < WIDTH; i++) {
		double inverse = 1 / sqrt((double)running[WIDTH + i] + 1e-5);
		ck_assert(statistics[i] == running[i]);
		ck_assert_double_eq_tol((double)statistics[WIDTH + i], inverse, 1e-6 * inverse);
	}
}

/* The same bits with one thread and with three. */
START_TEST(threads_change_no_bit)
{
	enum { ROWS = 70, WIDTH = 200, N = ROWS * WIDTH };
	struct batch_norm_shape s = {ROWS, WIDTH, true, ELEMENT_FP32};
	float *x = filled(N), *weight = filled(WIDTH), *bias = filled(WIDTH), *dy = filled(N), *out[2];
	for (int i = 0; i < 2; i++) {
		enum { STATISTICS = 2 * WIDTH + 1, ALL = 3 * N + 2 * STATISTICS + 6 * WIDTH };
		float *o = out[i] = blank(ALL), *part = o + 3 * N, *statistics = part + STATISTICS;
		float *running = statistics + STATISTICS, *sums = running + 2 * WIDTH, *rest = sums + 2 * WIDTH;
		kernels_set_threads(i ? 3 : 1);
		vector_zero(ELEMENT_FP32, 2 * WIDTH, running);
		memcpy(o + N, dy, N * sizeof *dy);
		batch_norm_statistics(&s, x, part);
		batch_norm_merge(1, WIDTH, part, running, statistics);
		batch_norm_forward(&s, x, statistics, weight, bias, o);
		batch_norm_sums(&s, o + N, x, statistics, weight, bias, sums, rest, false, rest + WIDTH, false);
		batch_norm_backward(&s, o + N, x, statistics, sums, weight, o + 2 * N);
		if (i)
			ck_assert_mem_eq(out[0], out[1], ALL * sizeof *o);
	}
	kernels_set_threads(1);
}

SUITE_WITH("batch norm kernels", 120, buffers_init, buffers_release)
