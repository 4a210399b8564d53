/* The model's kernels in every type, at every instruction level: linear layers, attention and the embedding against
 * double arithmetic with the sizes of its terms; of 16 bits, norms and the classifier against fp32's. */
#include <check.h>

#include "tests/kernels/elements_check.h"
#include "tests/kernels/kernels_reference.h"

/* ---- linear ---- */

/* In double, with the sizes of the terms: `terms` roundings of fp32 are relative to them. */
struct sums {
	double *value, *size;
};

static struct sums multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t a_row, int64_t a_depth,
                            const double *b, int64_t b_depth, int64_t b_column)
{
	struct sums s = {doubles(m * n), doubles(m * n)};
	reference_product(m, n, k, a, a_row, a_depth, b, b_depth, b_column, s.value, s.size);
	return s;
}

static void add(const struct sums *s, int64_t rows, int64_t columns, enum element type, const void *x, bool is_row)
{
	if (x)
		reference_add(rows, columns, doubles_of(type, is_row ? columns : rows * columns, x), is_row, s->value,
		              s->size);
}

struct linear_case {
	struct linear_shape shape;
	bool with_bias, accumulate;
	int residual_kind; /* 0 none, 1 beside y, 2 in place of y */
};

static void linear_forward_check(const struct linear_case *c, const void *x, const void *weight, void *pre)
{
	const struct linear_shape *s = &c->shape;
	enum element type = s->type;
	int64_t n = s->rows * s->out;
	void *bias = c->with_bias ? some(type, s->out, 1) : NULL,
	     *residual = c->residual_kind ? some(type, n, 1) : NULL;
	struct sums want = multiply(s->rows, s->out, s->in, doubles_of(type, s->rows * s->in, x), s->in, 1,
	                            doubles_of(type, s->in * s->out, weight), s->weight_in_out ? s->out : 1,
	                            s->weight_in_out ? 1 : s->in);
	add(&want, s->rows, s->out, type, bias, true);
	add(&want, s->rows, s->out, type, residual, false);
	void *y = c->residual_kind == 2 ? residual : none(type, n);
	linear_forward(s, x, weight, bias, residual, y, s->activation ? pre : NULL);
	assert_rounded("linear", type, n, s->activation ? pre : y, want.value, (double)(s->in + 2) * FP32_UNIT,
	               want.size);
	if (!s->activation)
		return;
	double *after = doubles_of(type, n, pre), *size = absolute(n, after);
	for (int64_t i = 0; i < n; i++)
		after[i] = reference_activation(s->activation, after[i]);
	assert_rounded("activation", type, n, y, after, 4e-7, size);
}

static void linear_backward_check(const struct linear_case *c, const void *x, const void *weight, const void *pre)
{
	const struct linear_shape *s = &c->shape;
	enum element type = s->type;
	int64_t n = s->rows * s->out, rows = s->rows, in = s->in, out = s->out;
	bool in_out = s->weight_in_out;
	void *dy = some(type, n, 1), *dx = none(type, rows * in), *dweight = some(type, in * out, 1);
	void *dbias = some(type, out, 1);
	const float *dweight0 = floats_of(type, in * out, dweight), *dbias0 = floats_of(type, out, dbias);
	double *d = doubles_of(type, n, dy), *size = absolute(n, d), *ones = doubles(rows);
	double *w = doubles_of(type, in * out, weight), *input_x = doubles_of(type, rows * in, x);
	for (int64_t i = 0; i < n && s->activation; i++)
		d[i] *= reference_activation_slope(s->activation, (double)get(type, pre, i));
	for (int64_t i = 0; i < rows; i++)
		ones[i] = 1;
	linear_backward(s, dy, x, weight, s->activation ? pre : NULL, dx, dweight, c->accumulate,
	                c->with_bias ? dbias : NULL, c->accumulate);
	assert_rounded("linear dy", type, n, dy, d, s->activation ? 1e-6 : 0, size);
	/* The bias's sums are of what was not rounded yet, and lose by the size of dy; the products, of what then stood
	 * in dy. */
	struct sums bias = multiply(1, out, rows, ones, 0, 1, d, out, 1);
	struct sums lost = multiply(1, out, rows, ones, 0, 1, size, out, 1);
	double *moved = doubles_of(type, n, dy);
	struct sums input = multiply(rows, in, out, moved, out, 1, w, in_out ? 1 : in, in_out ? out : 1);
	struct sums sum = in_out ? multiply(in, out, rows, input_x, 1, in, moved, out, 1)
	                         : multiply(out, in, rows, moved, 1, out, input_x, in, 1);
	add(&sum, in_out ? in : out, in_out ? out : in, ELEMENT_FP32, c->accumulate ? dweight0 : NULL, false);
	add(&bias, 1, out, ELEMENT_FP32, c->accumulate ? dbias0 : NULL, true);
	add(&lost, 1, out, ELEMENT_FP32, c->accumulate ? dbias0 : NULL, true);
	assert_rounded("linear dx", type, rows * in, dx, input.value, (double)(out + 2) * FP32_UNIT, input.size);
	assert_rounded("linear dweight", type, in * out, dweight, sum.value, (double)(rows + 2) * FP32_UNIT, sum.size);
	if (c->with_bias)
		assert_rounded("linear dbias", type, out, dbias, bias.value, 1e-6 + (double)rows * FP32_UNIT,
		               lost.size);
	else
		ck_assert_mem_eq(floats_of(type, out, dbias), dbias0, (size_t)out * sizeof *dbias0);
}

/* Depths on both sides of one block of the product; rows, columns and depths that fill no tile, panel or pair. */
static const int64_t linear_sizes[][3] = {{1, 1, 1},    {3, 7, 17},    {7, 33, 65},   {17, 65, 33}, {33, 17, 130},
                                          {65, 130, 7}, {130, 64, 48}, {600, 16, 20}, {9, 1024, 5}, {5, 1027, 3},
                                          {7, 5, 300},  {1030, 3, 33}, {2, 33, 1100}};

START_LEVEL_TEST(linear)
{
	EACH_ELEMENT(type)
	for (int64_t i = 0; i < COUNT(linear_sizes); i++)
		for (int options = (int)i % SUITE_CASES(1, 3); options < 8; options += SUITE_CASES(1, 3)) {
			const int64_t *size = linear_sizes[i];
			enum activation activation = (enum activation)(options & 2 ? 1 + (i + options) % 3 : 0);
			struct linear_case c = {{size[0], size[1], size[2], options & 1, activation, type, 0},
			                        (options & 4) != 0,
			                        (i + options) % 3 != 0,
			                        options & 2 ? 0 : (int)(i + options / 4) % 3};
			void *x = some(type, size[0] * size[1], 1), *weight = some(type, size[1] * size[2], 1);
			void *pre = some(type, size[0] * size[2], 3);
			linear_forward_check(&c, x, weight, pre);
			linear_backward_check(&c, x, weight, pre);
			buffers_release();
		}
}

/* ---- norm ---- */

static void norm_check(enum element type, int64_t rows, int64_t width, bool accumulate)
{
	int64_t n = rows * width;
	uint16_t *x = some(type, n, 2), *weight = some(type, width, 1), *bias = some(type, width, 1);
	uint16_t *y = blank16(n), *dy = some(type, n, 1), *dx = some(type, n, 1);
	uint16_t *dweight = some(type, width, 1), *dbias = some(type, width, 1);
	float *fx = floats_of(type, n, x), *fw = floats_of(type, width, weight), *fb = floats_of(type, width, bias),
	      *fy = blank(n), *fdy = floats_of(type, n, dy), *fdx = floats_of(type, n, dx),
	      *fdw = floats_of(type, width, dweight), *fdb = floats_of(type, width, dbias),
	      *statistics = blank(2 * rows), *fs = blank(2 * rows);
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
	EACH_TYPE(type)
	for (int64_t r = 0; r < COUNT(rows); r++)
		for (int64_t w = 0; w < COUNT(widths); w++) {
			norm_check(type, rows[r], widths[w], (r + w) % 2);
			buffers_release();
		}
}

/* No bias gives the result of a bias of zeros. */
START_LEVEL_TEST(norm_without_bias)
{
	static const int64_t rows[] = {1, 130}, widths[] = {7, 33, 1030};
	EACH_ELEMENT(type)
	for (int c = 0; c < COUNT(rows) * COUNT(widths); c++) {
		int64_t r = rows[c % 2], width = widths[c / 2], n = r * width;
		void *x = some(type, n, 2), *weight = some(type, width, 1), *zeros = none(type, width),
		     *dy = some(type, n, 1), *dbias = none(type, width);
		void *y[] = {none(type, n), none(type, n)}, *dx[] = {none(type, n), none(type, n)};
		void *dweight[] = {none(type, width), none(type, width)};
		float *statistics = blank(2 * r);
		vector_zero(type, width, zeros);
		for (int with = 0; with < 2; with++) {
			norm_forward(type, r, width, x, weight, with ? zeros : NULL, y[with], statistics);
			norm_backward(type, r, width, dy, x, statistics, weight, dx[with], false, dweight[with], false,
			              with ? dbias : NULL, false);
		}
		for (int64_t i = 0; i < n; i++)
			ck_assert(get(type, y[0], i) == get(type, y[1], i));
		ck_assert_mem_eq(dx[0], dx[1], (size_t)(n * element_bytes(type)));
		ck_assert_mem_eq(dweight[0], dweight[1], (size_t)(width * element_bytes(type)));
		buffers_release();
	}
}

/* ---- attention ---- */

/* True if bf16 products are made of pairs. P and dS of attention are then rounded to bf16 too. */
static bool pairs(enum element type, int level)
{
	return type == ELEMENT_BF16 && level == 3;
}

static void attention_check_of(struct attention_shape s, enum element type, int level, float factor)
{
	int64_t samples = s.samples, tokens = s.tokens, heads = s.heads, kv_heads = s.kv_heads, size = s.head_size;
	s.type = type;
	int64_t n = samples * tokens * heads * size, rows = samples * heads * tokens;
	int64_t all = n / heads * (heads + 2 * kv_heads);
	/* P and dS as bf16; else fp32 arithmetic alone. Scores are up to `size` products and go through exp. */
	double slack = (pairs(type, level) ? unit(type) : 0) + 2e-6 + 8 * (double)size * (double)factor * FP32_UNIT;
	void *qkv = some(type, all, factor), *y = none(type, n), *dy = some(type, n, 1), *dqkv = none(type, all);
	float *log_sum_exp = blank(rows);
	double *d = doubles_of(type, all, qkv), *want = doubles(n), *positive = doubles(n), *want_log = doubles(rows);
	attention_forward(&s, qkv, y, log_sum_exp);
	reference_attention(&s, d, want, positive, want_log);
	assert_close("log-sum-exp", rows, log_sum_exp, want_log, 2e-6);
	if (type == ELEMENT_FP32)
		assert_close("attention y", n, y, want, 3e-6);
	assert_rounded("attention y", type, n, y, want, slack, positive);
	attention_backward(&s, dy, qkv, y, log_sum_exp, dqkv);
	double *gradient = doubles(all), *sizes = doubles(all), *lost = doubles(all);
	reference_attention_backward(&s, doubles_of(type, n, dy), d, doubles_of(type, n, y), log_sum_exp, gradient,
	                             sizes, lost);
	assert_rounded("attention dqkv", type, all, dqkv, gradient, slack, lost);
}

static void attention_check(enum element type, int level, int64_t samples, int64_t tokens, int64_t heads,
                            int64_t kv_heads, int64_t size, float factor)
{
	const struct attention_shape s = {samples, tokens, heads, kv_heads, size, .type = type};
	attention_check_of(s, type, level, factor);
}

START_LEVEL_TEST(attention)
{
	static const int64_t tokens[] = {1, 3, 7, 17, 33, 64, 65, 130}, sizes[] = {1, 4, 8, 16, 32, 33, 64, 80};
	EACH_ELEMENT(type)
	{
		for (int64_t t = 0; t < COUNT(tokens); t++)
			for (int64_t k = t % SUITE_CASES(1, 3); k < COUNT(sizes); k += SUITE_CASES(1, 3)) {
				attention_check(type, _i, 1 + (t + k) % 2, tokens[t], 1 + k % 3, 1 + k % 3, sizes[k],
				                2.0f);
				buffers_release();
			}
		attention_check(type, _i, 2, 128, 8, 8, 32, 3.0f);
		attention_check(type, _i, 1, 600, 1, 1, 8,
		                2.0f); /* more queries than one stripe of the backward pass */
		attention_check(type, _i, 1, 70, 1, 1, 150, 1.0f);  /* a head in two groups of columns */
		attention_check(type, _i, 2, 70, 6, 2, 16, 2.0f);   /* three heads share their keys */
		attention_check(type, _i, 1, 150, 4, 1, 150, 1.0f); /* dQ of four is not kept */
		if (SUITE_CASES(true, (int)type == _i % 3))         /* dQ is not kept: a second pass */
			attention_check(type, _i, 1, 600, 1, 1, 118, 1.0f);
		buffers_release();
	}
}

/* Windows of one token, within a tile, at its edges, over several, and wider than the text; heads that share keys; dQ
 * that is kept and that is not; several stripes. ALiBi of 8 and of 6 heads, of which a rank has the last. */
START_LEVEL_TEST(attention_window_alibi)
{
	static const struct attention_shape shapes[] = {
	        {1, 33, 1, 1, 8, .window = 1},         {2, 70, 2, 2, 16, .window = 5},
	        {1, 130, 1, 1, 32, .window = 32},      {1, 130, 3, 1, 8, .window = 33},
	        {1, 200, 1, 1, 16, .window = 63},      {1, 200, 4, 2, 16, .window = 64},
	        {1, 200, 1, 1, 16, .window = 65},      {1, 70, 1, 1, 8, .window = 70},
	        {1, 70, 1, 1, 8, .window = 1000},      {1, 1100, 1, 1, 8, .window = 100},
	        {1, 300, 4, 1, 150, .window = 40},     {1, 33, 8, 8, 8, .alibi_heads = 8},
	        {2, 130, 6, 6, 16, .alibi_heads = 6},  {1, 70, 2, 1, 33, .alibi_heads = 6, .first_head = 4},
	        {1, 600, 2, 2, 118, .alibi_heads = 2}, {1, 150, 3, 3, 16, .window = 48, .alibi_heads = 3},
	};
	EACH_ELEMENT(type)
	for (int i = 0; i < COUNT(shapes); i++) {
		attention_check_of(shapes[i], type, _i, 2.0f);
		buffers_release();
	}
}

/* dqkv against differences of the double forward pass. */
static double attention_loss(const struct attention_shape *s, const double *qkv, const float *dy, int64_t n)
{
	double *y = doubles(n), *size = doubles(n), *sums = doubles(s->samples * s->heads * s->tokens), loss = 0;
	reference_attention(s, qkv, y, size, sums);
	for (int64_t i = 0; i < n; i++)
		loss += y[i] * (double)dy[i];
	return loss;
}

START_LEVEL_TEST(attention_differences)
{
	static const struct attention_shape shapes[] = {{1, 11, 2, 1, 4, .window = 3},
	                                                {1, 11, 3, 3, 4, .alibi_heads = 3},
	                                                {1, 11, 3, 3, 4, .window = 4, .alibi_heads = 3}};
	for (int c = 0; c < COUNT(shapes); c++) {
		const struct attention_shape *s = &shapes[c];
		int64_t n = s->tokens * s->heads * s->head_size, all = n + 2 * s->tokens * s->kv_heads * s->head_size;
		float *qkv = some(ELEMENT_FP32, all, 1), *dy = some(ELEMENT_FP32, n, 1), *y = blank(n),
		      *dqkv = blank(all), *sums = blank(s->heads * s->tokens);
		double *moved = widened(all, qkv);
		attention_forward(s, qkv, y, sums);
		attention_backward(s, dy, qkv, y, sums, dqkv);
		for (int64_t i = 0; i < all; i++) {
			const double h = 1e-5, at = moved[i];
			moved[i] = at + h;
			double above = attention_loss(s, moved, dy, n);
			moved[i] = at - h;
			double slope = (above - attention_loss(s, moved, dy, n)) / (2 * h);
			moved[i] = at;
			ck_assert_msg(fabs((double)dqkv[i] - slope) <= 2e-6, "case %d, dqkv[%lld] = %.9g, not %.9g", c,
			              (long long)i, (double)dqkv[i], slope);
		}
		buffers_release();
	}
}

/* ---- embedding ---- */

static void embedding_check(enum element type, const int64_t shape[5], bool add_token, bool add_position)
{
	int64_t samples = shape[0], tokens = shape[1], width = shape[2], vocabulary = shape[3], context = shape[4];
	int64_t rows = samples * tokens, first = context - tokens; /* the position table's row of token 0 */
	int32_t *ids = keep(calloc((size_t)rows, sizeof *ids), 0);
	for (int64_t i = 0; i < rows; i++) /* the last id; repeated ones; some are never used */
		ids[i] = i == 1 ? (int32_t)vocabulary - 1 : (int32_t)(i * i % vocabulary / 2);
	void *token = some(type, vocabulary * width, 1), *position = some(type, context * width, 1);
	void *y = none(type, rows * width), *dy = some(type, rows * width, 1), *want = none(type, rows * width);
	struct sums dtoken = {doubles(vocabulary * width), doubles(vocabulary * width)};
	struct sums dposition = {doubles(context * width), doubles(context * width)};
	add(&dtoken, vocabulary, width, type, add_token ? token : NULL, false);
	add(&dposition, context, width, type, add_position ? position : NULL, false);
	embedding_forward(type, samples, tokens, width, ids, token,
	                  (char *)position + first * width * element_bytes(type), y);
	for (int64_t i = 0; i < rows * width; i++) {
		int64_t at = ids[i / width] * width + i % width,
		        there = (i / width % tokens + first) * width + i % width;
		double term = (double)get(type, dy, i);
		set(type, want, i, get(type, token, at) + get(type, position, there));
		dtoken.value[at] += term;
		dtoken.size[at] += fabs(term);
		dposition.value[there] += term;
		dposition.size[there] += fabs(term);
	}
	ck_assert_mem_eq(y, want, (size_t)(rows * width * element_bytes(type)));
	embedding_backward(type, samples, tokens, width, vocabulary, context, first, ids, dy, token, add_token,
	                   position, add_position);
	/* A rounding for each block of 1024 tokens, of which the last is assert_rounded's own. */
	int64_t earlier = (rows - 1) / 1024;
	double blocks = (double)earlier, fp32 = (double)rows * FP32_UNIT;
	assert_rounded("dtoken", type, vocabulary * width, token, dtoken.value, fp32 + blocks * unit(type),
	               dtoken.size);
	assert_rounded("dposition", type, context * width, position, dposition.value, fp32, dposition.size);
	buffers_release();
}

START_LEVEL_TEST(embedding)
{
	static const int64_t shapes[][5] = {/* samples, tokens, width, vocabulary, context */
	                                    {1, 1, 1, 1, 1},
	                                    {3, 7, 17, 5, 9},
	                                    {2, 33, 65, 11, 33},
	                                    {4, 5, 130, 100, 7},
	                                    {40, 30, 5, 100, 30}}; /* more tokens than one block */
	EACH_ELEMENT(type)
	for (int64_t c = 0; c < COUNT(shapes); c++)
		for (int accumulate = 0; accumulate < 4; accumulate++)
			embedding_check(type, shapes[c], accumulate & 1, accumulate & 2);
}

/* ---- classifier ---- */

START_LEVEL_TEST(classifier_loss)
{
	static const int64_t rows[] = {1, 3, 65}, classes[] = {1, 2, 7, 16, 17, 33, 65, 256, 2049};
	EACH_TYPE(type)
	for (int64_t r = 0; r < COUNT(rows); r++)
		for (int64_t k = 0; k < COUNT(classes); k++) {
			int64_t n = rows[r] * classes[k], correct = 0, want_correct = 0;
			uint16_t *logits = some(type, n, 6);
			float *f = floats_of(type, n, logits), loss = 7, want_loss = 7;
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

SUITE_WITH("kernels in every type", 120, buffers_init, buffers_release)
