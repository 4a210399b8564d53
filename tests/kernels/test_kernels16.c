/* The model's kernels on 16-bit elements. */
#include <check.h>
#include <string.h>

#include "tests/kernels/kernels16_check.h"
#include "tests/kernels/kernels_reference.h"

#define FP32_UNIT 0x1p-24

/* ---- linear ---- */

/* c = op(a) · op(b) + add in double, and the same of absolute values: `terms` roundings of fp32 are relative to it. */
struct sums {
	double *value, *size;
};

static struct sums multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t a_row, int64_t a_depth,
                            const double *b, int64_t b_depth, int64_t b_column)
{
	struct sums s = {doubles(m * n), doubles(m * n)};
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			for (int64_t l = 0; l < k; l++) {
				double term = a[i * a_row + l * a_depth] * b[l * b_depth + j * b_column];
				s.value[i * n + j] += term;
				s.size[i * n + j] += fabs(term);
			}
	return s;
}

static void add(const struct sums *s, int64_t rows, int64_t columns, const double *x, bool is_row)
{
	for (int64_t i = 0; x && i < rows * columns; i++) {
		s->value[i] += x[is_row ? i % columns : i];
		s->size[i] += fabs(x[is_row ? i % columns : i]);
	}
}

static double gelu_slope(double x)
{
	double root = sqrt(2.0 / acos(-1.0)), t = tanh(root * (x + 0.044715 * x * x * x));
	return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
}

struct linear_case {
	struct linear_shape shape;
	bool with_bias, accumulate;
	int residual_kind; /* 0 none, 1 beside y, 2 in place of y */
};

static void linear_forward_check(const struct linear_case *c, const uint16_t *x, const uint16_t *weight, uint16_t *pre)
{
	const struct linear_shape *s = &c->shape;
	enum element type = s->type;
	int64_t n = s->rows * s->out;
	uint16_t *bias = c->with_bias ? filled16(type, s->out, 1) : NULL;
	uint16_t *residual = c->residual_kind ? filled16(type, n, 1) : NULL;
	struct sums want = multiply(s->rows, s->out, s->in, doubles16(type, s->rows * s->in, x), s->in, 1,
	                            doubles16(type, s->in * s->out, weight), s->weight_in_out ? s->out : 1,
	                            s->weight_in_out ? 1 : s->in);
	add(&want, s->rows, s->out, bias ? doubles16(type, s->out, bias) : NULL, true);
	add(&want, s->rows, s->out, residual ? doubles16(type, n, residual) : NULL, false);
	uint16_t *y = c->residual_kind == 2 ? residual : blank16(n);
	linear_forward(s, x, weight, bias, residual, y, s->gelu ? pre : NULL);
	assert_rounded("linear", type, n, s->gelu ? pre : y, want.value, (double)(s->in + 2) * FP32_UNIT, want.size);
	if (!s->gelu)
		return;
	double *gelu = doubles16(type, n, pre), *size = absolute(n, gelu);
	for (int64_t i = 0; i < n; i++)
		gelu[i] = reference_gelu(gelu[i]);
	assert_rounded("gelu", type, n, y, gelu, 4e-7, size);
}

static void linear_backward_check(const struct linear_case *c, const uint16_t *x, const uint16_t *weight,
                                  const uint16_t *pre)
{
	const struct linear_shape *s = &c->shape;
	enum element type = s->type;
	int64_t n = s->rows * s->out, rows = s->rows, in = s->in, out = s->out;
	bool in_out = s->weight_in_out;
	uint16_t *dy = filled16(type, n, 1), *dx = blank16(rows * in), *dweight = filled16(type, in * out, 1),
	         *dbias = filled16(type, out, 1);
	double *d = doubles16(type, n, dy), *dx0 = doubles16(type, rows * in, x), *ones = doubles(rows);
	double *dweight0 = doubles16(type, in * out, dweight), *dbias0 = doubles16(type, out, dbias);
	double *w = doubles16(type, in * out, weight), *size = absolute(n, d);
	for (int64_t i = 0; i < n && s->gelu; i++)
		d[i] *= gelu_slope((double)element_get((enum type)type, pre, i));
	for (int64_t i = 0; i < rows; i++)
		ones[i] = 1;
	linear_backward(s, dy, x, weight, s->gelu ? pre : NULL, dx, dweight, c->accumulate, c->with_bias ? dbias : NULL,
	                c->accumulate);
	assert_rounded("linear dy", type, n, dy, d, 1e-6, size);
	/* The bias's sums are of what was not rounded yet; the products, of what then stood in dy. */
	struct sums bias = multiply(1, out, rows, ones, 0, 1, d, out, 1);
	double *moved = doubles16(type, n, dy);
	struct sums input = multiply(rows, in, out, moved, out, 1, w, in_out ? 1 : in, in_out ? out : 1);
	struct sums sum = in_out ? multiply(in, out, rows, dx0, 1, in, moved, out, 1)
	                         : multiply(out, in, rows, moved, 1, out, dx0, in, 1);
	add(&sum, in_out ? in : out, in_out ? out : in, c->accumulate ? dweight0 : NULL, false);
	add(&bias, 1, out, c->accumulate ? dbias0 : NULL, true);
	assert_rounded("linear dx", type, rows * in, dx, input.value, (double)(out + 2) * FP32_UNIT, input.size);
	assert_rounded("linear dweight", type, in * out, dweight, sum.value, (double)(rows + 2) * FP32_UNIT, sum.size);
	if (c->with_bias)
		assert_rounded("linear dbias", type, out, dbias, bias.value, 1e-6 + (double)rows * FP32_UNIT,
		               bias.size);
	else
		assert_rounded("no dbias", type, out, dbias, dbias0, 0, NULL);
}

/* Depths on both sides of one block of the product; rows, columns and depths that fill no tile, panel or pair. */
static const int64_t linear_sizes[][3] = {{1, 1, 1},    {3, 7, 17},   {33, 17, 130}, {65, 130, 7}, {130, 64, 48},
                                          {9, 1024, 5}, {5, 1027, 3}, {1030, 3, 33}, {7, 5, 300},  {2, 33, 1100}};

START_LEVEL_TEST(linear)
{
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	for (int64_t i = 0; i < COUNT(linear_sizes); i++)
		for (int options = 0; options < 8; options++) {
			const int64_t *size = linear_sizes[i];
			struct linear_case c = {{size[0], size[1], size[2], options & 1, (options & 2) != 0, type, 0},
			                        (options & 4) != 0,
			                        (i + options) % 3 != 0,
			                        options & 2 ? 0 : (int)(i + options / 4) % 3};
			uint16_t *x = filled16(type, size[0] * size[1], 1),
			         *weight = filled16(type, size[1] * size[2], 1);
			uint16_t *pre = filled16(type, size[0] * size[2], 3);
			linear_forward_check(&c, x, weight, pre);
			linear_backward_check(&c, x, weight, pre);
			buffers_release();
		}
}
END_TEST

/* ---- norm ---- */

static void norm_check(enum element type, int64_t rows, int64_t width, bool accumulate)
{
	int64_t n = rows * width;
	uint16_t *x = filled16(type, n, 2), *weight = filled16(type, width, 1), *bias = filled16(type, width, 1);
	uint16_t *y = blank16(n), *dy = filled16(type, n, 1), *dx = filled16(type, n, 1);
	uint16_t *dweight = filled16(type, width, 1), *dbias = filled16(type, width, 1);
	float *fx = floats16(type, n, x), *fw = floats16(type, width, weight), *fb = floats16(type, width, bias),
	      *fy = blank(n), *fdy = floats16(type, n, dy), *fdx = floats16(type, n, dx),
	      *fdw = floats16(type, width, dweight), *fdb = floats16(type, width, dbias), *statistics = blank(2 * rows),
	      *fs = blank(2 * rows);
	norm_forward(type, rows, width, x, weight, bias, y, statistics);
	norm_forward(ELEMENT_FP32, rows, width, fx, fw, fb, fy, fs);
	ck_assert_mem_eq(statistics, fs, (size_t)(2 * rows) * sizeof *fs);
	assert_rounded("norm y", type, n, y, widened(n, fy), 0, NULL);
	norm_backward(type, rows, width, dy, x, statistics, weight, dx, accumulate, dweight, accumulate, dbias,
	              accumulate);
	norm_backward(ELEMENT_FP32, rows, width, fdy, fx, fs, fw, fdx, accumulate, fdw, accumulate, fdb, accumulate);
	/* The sums begin with what was there in fp32, and end with it in 16 bits: rows + 1 terms of size 1 or so. */
	double *size = doubles(width);
	for (int64_t c = 0; c < width; c++)
		for (int64_t r = 0; r <= rows; r++)
			size[c] += 3;
	assert_rounded("norm dx", type, n, dx, widened(n, fdx), 0, NULL);
	assert_rounded("norm dweight", type, width, dweight, widened(width, fdw), FP32_UNIT * (double)rows, size);
	assert_rounded("norm dbias", type, width, dbias, widened(width, fdb), FP32_UNIT * (double)rows, size);
}

START_LEVEL_TEST(norm)
{
	static const int64_t rows[] = {1, 3, 65, 130}, widths[] = {7, 16, 33, 130, 1030};
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	for (int64_t r = 0; r < COUNT(rows); r++)
		for (int64_t w = 0; w < COUNT(widths); w++) {
			norm_check(type, rows[r], widths[w], (r + w) % 2);
			buffers_release();
		}
}
END_TEST

/* ---- attention ---- */

/* The formulas of the backward pass on what the kernel was given; the sizes of its sums beside them. */
static void reference_attention_backward(const struct attention_shape *s, const double *dy, const double *qkv,
                                         const double *y, const float *log_sum_exp, double *dqkv, double *size)
{
	int64_t width = s->heads * s->head_size, row = 3 * width, n = s->head_size;
	double scale = 1 / sqrt((double)n);
	for (int64_t h = 0; h < s->samples * s->heads; h++) {
		int64_t sample = h / s->heads, column = h % s->heads * n;
		int64_t base = sample * s->tokens * row + column, base_y = sample * s->tokens * width + column;
		for (int64_t t = 0; t < s->tokens; t++)
			for (int64_t u = 0; u <= t; u++) {
				const double *q = qkv + base + t * row, *k = qkv + base + u * row + width,
				             *v = k + width;
				const double *dyt = dy + base_y + t * width, *yt = y + base_y + t * width;
				double score = 0, dp = 0, delta = 0, dp_size = 0;
				for (int64_t i = 0; i < n; i++) {
					score += q[i] * k[i] * scale;
					dp += dyt[i] * v[i];
					delta += dyt[i] * yt[i];
					dp_size += fabs(dyt[i] * v[i]) + fabs(dyt[i] * yt[i]);
				}
				double p = exp(score - (double)log_sum_exp[h * s->tokens + t]),
				       ds = p * (dp - delta) * scale;
				/* fp32 loses a few units of dP and δ, and of the score, which is in the exponent */
				double lost = p * scale * dp_size;
				for (int64_t i = 0; i < n; i++) {
					int64_t at_q = base + t * row + i, at_k = base + u * row + width + i,
					        at_v = at_k + width;
					dqkv[at_q] += ds * k[i];
					dqkv[at_k] += ds * q[i];
					dqkv[at_v] += p * dyt[i];
					size[at_q] += lost * fabs(k[i]);
					size[at_k] += lost * fabs(q[i]);
					size[at_v] += fabs(p * dyt[i]);
				}
			}
	}
}

static void attention_check(enum element type, int level, int64_t samples, int64_t tokens, int64_t heads, int64_t size,
                            float factor)
{
	struct attention_shape s = {samples, tokens, heads, size, type};
	int64_t n = samples * tokens * heads * size, rows = samples * heads * tokens, width = heads * size;
	/* P and dS as bf16; else fp32 arithmetic alone. Scores are up to `size` products and go through exp. */
	double slack = (pairs(type, level) ? unit(type) : 0) + 2e-6 + 8 * (double)size * (double)factor * FP32_UNIT;
	uint16_t *qkv = filled16(type, 3 * n, factor), *y = blank16(n), *dy = filled16(type, n, 1),
	         *dqkv = blank16(3 * n);
	float *log_sum_exp = blank(rows);
	double *d = doubles16(type, 3 * n, qkv), *want = doubles(n), *positive = doubles(n), *want_log = doubles(rows);
	double *absolute_v = doubles16(type, 3 * n, qkv);
	for (int64_t i = 0; i < 3 * n; i++)
		absolute_v[i] = i % (3 * width) < 2 * width ? d[i] : fabs(d[i]);
	attention_forward(&s, qkv, y, log_sum_exp);
	reference_attention(&s, absolute_v, positive, want_log);
	reference_attention(&s, d, want, want_log);
	assert_close("log-sum-exp", rows, log_sum_exp, want_log, 2e-6);
	assert_rounded("attention y", type, n, y, want, slack, positive);
	attention_backward(&s, dy, qkv, y, log_sum_exp, dqkv);
	double *gradient = doubles(3 * n), *sizes = doubles(3 * n);
	reference_attention_backward(&s, doubles16(type, n, dy), d, doubles16(type, n, y), log_sum_exp, gradient,
	                             sizes);
	assert_rounded("attention dqkv", type, 3 * n, dqkv, gradient, slack, sizes);
}

START_LEVEL_TEST(attention)
{
	static const int64_t tokens[] = {1, 3, 17, 33, 64, 65, 130}, sizes[] = {1, 4, 16, 32, 33, 80};
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	{
		for (int64_t t = 0; t < COUNT(tokens); t++)
			for (int64_t k = 0; k < COUNT(sizes); k++) {
				attention_check(type, _i, 1 + (t + k) % 2, tokens[t], 1 + k % 3, sizes[k], 2.0f);
				buffers_release();
			}
		attention_check(type, _i, 1, 70, 1, 150, 1.0f);  /* a head in two groups of columns */
		attention_check(type, _i, 1, 600, 1, 118, 1.0f); /* dQ is not kept: a second pass */
		buffers_release();
	}
}
END_TEST

/* ---- embedding ---- */

START_LEVEL_TEST(embedding)
{
	static const int64_t shapes[][5] = {/* samples, tokens, width, vocabulary, context */
	                                    {1, 1, 1, 1, 1},
	                                    {3, 7, 17, 5, 9},
	                                    {2, 33, 65, 11, 33},
	                                    {40, 30, 5, 100, 30}}; /* more tokens than one block */
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	for (int64_t c = 0; c < COUNT(shapes); c++)
		for (int accumulate = 0; accumulate < 2; accumulate++) {
			int64_t samples = shapes[c][0], tokens = shapes[c][1], width = shapes[c][2],
			        vocabulary = shapes[c][3], context = shapes[c][4], rows = samples * tokens;
			int32_t *ids = keep(calloc((size_t)rows, sizeof *ids), 0);
			for (int64_t i = 0; i < rows; i++) /* the last id; repeated ones; some are never used */
				ids[i] = i == 1 ? (int32_t)vocabulary - 1 : (int32_t)(i * i % vocabulary / 2);
			uint16_t *token = filled16(type, vocabulary * width, 1),
			         *position = filled16(type, context * width, 1);
			uint16_t *y = blank16(rows * width), *dy = filled16(type, rows * width, 1);
			float *ft = floats16(type, vocabulary * width, token),
			      *fp = floats16(type, context * width, position);
			embedding_forward(type, samples, tokens, width, ids, token, position, y);
			for (int64_t i = 0; i < rows * width; i++) {
				uint16_t want;
				element_set((enum type)type, &want, 0,
				            ft[ids[i / width] * width + i % width] +
				                    fp[i / width % tokens * width + i % width]);
				ck_assert_uint_eq(y[i], want);
			}
			double *want_token = doubles(vocabulary * width), *want_position = doubles(context * width);
			double *size_token = doubles(vocabulary * width), *size_position = doubles(context * width);
			for (int64_t i = 0; i < vocabulary * width && accumulate; i++)
				size_token[i] = fabs(want_token[i] = (double)ft[i]);
			for (int64_t i = 0; i < context * width && accumulate; i++)
				size_position[i] = fabs(want_position[i] = (double)fp[i]);
			for (int64_t i = 0; i < rows * width; i++) {
				double term = (double)element_get((enum type)type, dy, i);
				int64_t at = ids[i / width] * width + i % width,
				        place = i / width % tokens * width + i % width;
				want_token[at] += term;
				size_token[at] += fabs(term);
				want_position[place] += term;
				size_position[place] += fabs(term);
			}
			embedding_backward(type, samples, tokens, width, vocabulary, context, ids, dy, token,
			                   accumulate, position, accumulate);
			/* A rounding for each block of 1024 tokens, of which the last is assert_rounded's own. */
			int64_t earlier = (rows - 1) / 1024;
			double blocks = (double)earlier, fp32 = (double)rows * FP32_UNIT;
			assert_rounded("dtoken", type, vocabulary * width, token, want_token,
			               fp32 + blocks * unit(type), size_token);
			assert_rounded("dposition", type, context * width, position, want_position, fp32,
			               size_position);
			buffers_release();
		}
}
END_TEST

/* ---- classifier ---- */

START_LEVEL_TEST(classifier_loss)
{
	static const int64_t rows[] = {1, 3, 65}, classes[] = {1, 2, 7, 16, 17, 33, 65, 256, 2049};
	if (!level_select(_i))
		return;
	EACH_TYPE(type)
	for (int64_t r = 0; r < COUNT(rows); r++)
		for (int64_t k = 0; k < COUNT(classes); k++) {
			int64_t n = rows[r] * classes[k], correct = 0, want_correct = 0;
			uint16_t *logits = filled16(type, n, 6);
			float *f = floats16(type, n, logits), loss = 7, want_loss = 7;
			double evaluated = 0, want_evaluated = 0, *size = doubles(n);
			int32_t *targets = keep(calloc((size_t)rows[r], sizeof *targets), 0);
			for (int64_t i = 0; i < rows[r]; i++)
				targets[i] = (int32_t)(i * 7 % classes[k]);
			for (int64_t i = 0; i < n; i++)
				size[i] = 0.25 * 512;
			classifier_evaluate(type, rows[r], classes[k], classes[k], logits, targets, &evaluated,
			                    &correct);
			classifier_evaluate(ELEMENT_FP32, rows[r], classes[k], classes[k], f, targets, &want_evaluated,
			                    &want_correct);
			ck_assert(evaluated == want_evaluated && correct == want_correct);
			/* the loss without the loss scale of 512, the gradient with it */
			classifier(type, rows[r], classes[k], classes[k], logits, targets, 0.25, 0.25 * 512, &loss,
			           true);
			classifier(ELEMENT_FP32, rows[r], classes[k], classes[k], f, targets, 0.25, 0.25 * 512,
			           &want_loss, true);
			ck_assert(loss == want_loss && (loss > 7 || classes[k] == 1));
			assert_rounded("classifier", type, n, logits, widened(n, f), 4 * FP32_UNIT, size);
			buffers_release();
		}
}
END_TEST

int main(void)
{
	suite_fixture(buffers_init, buffers_release);
	return suite_run("kernels in 16 bits", 120);
}
