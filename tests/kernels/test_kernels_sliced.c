/* Kernels of sliced layers, in every type and at every instruction level: all slices together are the kernel that has
 * everything, up to the roundings that the type makes on the way. That one is taken in fp32, on the same numbers. */
#include "kernels/kernels.h"
#include "tests/kernels/elements_check.h"

/* ---- the classifier ---- */

enum { ROWS = 9, MOST_CLASSES = 150, MOST_RANKS = 5 };

/* Logits of the whole, cut into slices of `stride` with rubbish in the padding. */
struct cut_logits {
	struct class_slice slice;
	void *logits;
};

static void cut_logits(enum element type, struct cut_logits *c, int ranks, int rank, int classes, const void *logits)
{
	int64_t stride = (classes + ranks - 1) / ranks, first = rank * stride, left = classes - first;
	c->slice = (struct class_slice){first, left < 0 ? 0 : left < stride ? left : stride, stride};
	c->logits = none(type, ROWS * stride);
	for (int64_t row = 0; row < ROWS; row++)
		for (int64_t i = 0; i < stride; i++)
			set(type, c->logits, row * stride + i,
			    i < c->slice.count ? get(type, logits, row * classes + first + i) : 6e4F);
}

static void check_gradient(enum element type, const struct cut_logits *c, int classes, const float *whole)
{
	const struct class_slice *s = &c->slice;
	for (int64_t row = 0; row < ROWS; row++)
		for (int64_t i = 0; i < s->stride; i++) {
			double got = (double)get(type, c->logits, row * s->stride + i);
			double want = i < s->count ? (double)whole[row * classes + s->first + i] : 0;
			ck_assert_msg(fabs(got - want) <= unit(type) * fabs(want) + 1e-6, "%s, %d classes: %g, not %g",
			              name_of(type), classes, got, want);
		}
}

static void check_classifier(enum element type, int classes, int ranks, bool ties)
{
	struct cut_logits slices[MOST_RANKS];
	float maxima[ROWS], own[ROWS], sums[2 * ROWS] = {0};
	float part[3 * ROWS], counts[3 * ROWS] = {0}, loss = 0.5F, want = 0.5F;
	int32_t targets[ROWS];
	double evaluated = 0, want_evaluated = 0;
	int64_t correct = 0, want_correct = 0;
	void *logits = some(type, ROWS * classes, 8);
	for (int64_t i = 0; i < ROWS * classes && ties; i++) /* several classes have the largest logit */
		set(type, logits, i, (float)((int)(uniform() * 2.0F)));
	for (int row = 0; row < ROWS; row++) {
		targets[row] = (int32_t)((uniform() + 1.0F) / 2.0F * (float)classes * 0.999F);
		maxima[row] = -INFINITY;
	}
	float *whole = floats_of(type, ROWS * classes, logits);
	classifier_evaluate(ELEMENT_FP32, ROWS, classes, classes, whole, targets, &want_evaluated, &want_correct);
	classifier(ELEMENT_FP32, ROWS, classes, classes, whole, targets, 0.25, 0.25, &want, true);
	for (int r = 0; r < ranks; r++) {
		cut_logits(type, &slices[r], ranks, r, classes, logits);
		classifier_maxima(type, ROWS, &slices[r].slice, slices[r].logits, own);
		for (int row = 0; row < ROWS; row++)
			maxima[row] = fmaxf(maxima[row], own[row]);
	}
	for (int r = 0; r < ranks; r++) {
		classifier_sums(type, ROWS, &slices[r].slice, slices[r].logits, targets, maxima, part);
		for (int i = 0; i < 2 * ROWS; i++)
			sums[i] += part[i];
		evaluate_sums(type, ROWS, &slices[r].slice, slices[r].logits, targets, maxima, part);
		for (int i = 0; i < 3 * ROWS; i++)
			counts[i] += part[i];
	}
	evaluate_count(ROWS, maxima, counts, &evaluated, &correct);
	ck_assert_int_eq(correct, want_correct);
	ck_assert_double_eq_tol(evaluated, want_evaluated, 1e-5 * fabs(want_evaluated));
	for (int r = 0; r < ranks; r++) {
		float each = 0.5F;
		classifier_gradient(type, ROWS, &slices[r].slice, slices[r].logits, targets, maxima, sums, 0.25, 0.25,
		                    &each, true);
		ck_assert(r == 0 || each == loss); /* the same bits on all ranks */
		loss = each;
		check_gradient(type, &slices[r], classes, whole);
	}
	ck_assert_float_eq_tol(loss, want, 1e-5F * want);
	buffers_release();
}

START_LEVEL_TEST(slices_of_a_classifier)
{
	static const int classes[] = {5, 16, 33, 130, MOST_CLASSES};
	EACH_ELEMENT(type)
	for (size_t k = 0; k < sizeof classes / sizeof *classes; k++)
		for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
			check_classifier(type, classes[k], ranks, false);
			check_classifier(type, classes[k], ranks, true);
		}
}

/* ---- the token table ---- */

enum {
	SAMPLES = 4,
	TOKENS = 5,
	WIDTH = 21,
	CONTEXT = 7,
	VOCABULARY = 11,
	RANKS = 3,
	OWN = 4,
	N = SAMPLES * TOKENS * WIDTH
};

/* Twice the gradient: rounded once when it is written, and again when it is added to. */
static void check_twice(const char *what, enum element type, int64_t n, const void *got, int64_t known,
                        const float *want)
{
	for (int64_t i = 0; i < n; i++) {
		double there = i < known ? 2 * (double)want[i] : 0, x = (double)get(type, got, i);
		ck_assert_msg(fabs(x - there) <= 2 * unit(type) * fabs(there) + 1e-5,
		              "%s in %s: element %lld is %g, not %g", what, name_of(type), (long long)i, x, there);
	}
}

/* Token 0 has row `first` of the position table. */
static void check_token_table(enum element type, int64_t first)
{
	float dtable[VOCABULARY * WIDTH], dpositions[CONTEXT * WIDTH];
	void *table = some(type, RANKS * OWN * WIDTH, 1), *positions = some(type, CONTEXT * WIDTH, 1),
	     *dy = some(type, N, 1), *want = none(type, N), *sum = none(type, N), *part = none(type, N);
	int32_t ids[SAMPLES * TOKENS];
	for (int i = 0; i < SAMPLES * TOKENS; i++)
		ids[i] = (i * 7 + 3) % VOCABULARY;
	embedding_forward(type, SAMPLES, TOKENS, WIDTH, ids, table, place(type, positions, first * WIDTH), want);
	embedding_backward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, VOCABULARY, CONTEXT, first, ids,
	                   floats_of(type, N, dy), dtable, false, dpositions, false);
	vector_zero(type, N, sum);
	for (int r = 0; r < RANKS; r++) {
		struct class_slice s = {r * OWN, r < RANKS - 1 ? OWN : VOCABULARY - r * OWN, OWN};
		void *own = none(type, OWN * WIDTH), *own_positions = none(type, CONTEXT * WIDTH);
		embedding_sliced_forward(type, SAMPLES, TOKENS, WIDTH, &s, ids,
		                         place(type, table, (int64_t)r * OWN * WIDTH), part);
		vector_add(type, N, part, sum);
		for (int accumulate = 0; accumulate < 2; accumulate++) /* over rubbish first */
			embedding_sliced_backward(type, SAMPLES, TOKENS, WIDTH, &s, CONTEXT, first, ids, dy, own,
			                          accumulate, own_positions, accumulate);
		check_twice("token table", type, OWN * WIDTH, own, s.count * WIDTH, dtable + r * OWN * WIDTH);
		check_twice("position table", type, CONTEXT * WIDTH, own_positions, CONTEXT * WIDTH, dpositions);
	}
	embedding_finish(type, SAMPLES, TOKENS, WIDTH, place(type, positions, first * WIDTH), sum);
	/* One rank's row and zeros: rounded once, as in the whole. */
	ck_assert_mem_eq(sum, want, (size_t)(N * element_bytes(type)));
	buffers_release();
}

START_LEVEL_TEST(slices_of_a_token_table)
{
	EACH_ELEMENT(type)
	for (int64_t first = 0; first <= CONTEXT - TOKENS; first++)
		check_token_table(type, first);
}

/* ---- a linear layer ---- */

enum { ROWS_IN = 5, IN = 14, OUT = 19, HALF = IN / 2, Y = ROWS_IN * OUT };

/* Σ|x||w| + |b| + |residual|: what a rounding on the way may be half a unit of. */
static double size_at(int64_t i, const float *x, const float *weight, const float *bias, const float *residual)
{
	double size = fabs((double)bias[i % OUT]) + fabs((double)residual[i]);
	for (int64_t k = 0; k < IN; k++)
		size += fabs((double)x[i / OUT * IN + k] * (double)weight[k * OUT + i % OUT]);
	return size;
}

/* y = x W + b + residual, and an activation of it: the two halves of x on two ranks, then what is added once. Rounded
 * are each part, their sum, and what is finished; an activation is nowhere steeper than 1.13. */
static void check_linear(enum element type, enum activation activation)
{
	void *x = some(type, ROWS_IN * IN, 1), *weight = some(type, IN * OUT, 1), *bias = some(type, OUT, 1),
	     *residual = some(type, Y, 1), *half = none(type, ROWS_IN * HALF), *part = none(type, Y),
	     *sum = none(type, Y), *y = none(type, Y);
	float *fx = floats_of(type, ROWS_IN * IN, x), *fw = floats_of(type, IN * OUT, weight),
	      *fb = floats_of(type, OUT, bias), *fr = floats_of(type, Y, residual), *want = blank(Y),
	      *want_pre = blank(Y);
	struct linear_shape s = {ROWS_IN, IN, OUT, true, activation, ELEMENT_FP32, 0},
	                    own = {ROWS_IN, HALF, OUT, true, ACTIVATION_NONE, type, 0};
	linear_forward(&s, fx, fw, fb, activation ? NULL : fr, want, activation ? want_pre : NULL);
	vector_zero(type, Y, sum);
	for (int64_t r = 0; r < 2; r++) {
		for (int64_t row = 0; row < ROWS_IN; row++)
			vector_copy(type, HALF, place(type, x, row * IN + r * HALF), place(type, half, row * HALF));
		linear_forward(&own, half, place(type, weight, r * HALF * OUT), NULL, NULL, part, NULL);
		vector_add(type, Y, part, sum);
	}
	linear_finish(type, activation, ROWS_IN, OUT, bias, activation ? NULL : residual, sum, activation ? y : NULL);
	for (int64_t i = 0; i < Y; i++) {
		double limit = 4 * unit(type) * size_at(i, fx, fw, fb, fr) + 1e-5;
		double finished = (double)get(type, sum, i), wanted = (double)(activation ? want_pre : want)[i];
		ck_assert_msg(fabs(finished - wanted) <= limit, "%s: %g, not %g", name_of(type), finished, wanted);
		double after = activation ? (double)get(type, y, i) : (double)want[i];
		limit = 1.13 * limit + unit(type) * fabs((double)want[i]) * 1.01 + smallest(type);
		ck_assert_msg(fabs(after - (double)want[i]) <= limit, "activation in %s: %g, not %g", name_of(type),
		              after, (double)want[i]);
	}
	buffers_release();
}

START_LEVEL_TEST(halves_of_a_linear_layer)
{
	EACH_ELEMENT(type)
	{
		for (int a = ACTIVATION_NONE; a < ACTIVATIONS; a++)
			check_linear(type, (enum activation)a);
	}
}

/* Bias and residual may each be absent; what is there is added, and rounded once. */
START_LEVEL_TEST(bias_and_residual_may_be_absent)
{
	EACH_ELEMENT(type)
	for (int given = 0; given < 4; given++) {
		void *bias = given & 1 ? some(type, OUT, 1) : NULL, *residual = given & 2 ? some(type, Y, 1) : NULL,
		     *sum = some(type, Y, 2);
		float *before = floats_of(type, Y, sum);
		linear_finish(type, ACTIVATION_NONE, ROWS_IN, OUT, bias, residual, sum, NULL);
		for (int64_t i = 0; i < Y; i++) {
			double b = bias ? (double)get(type, bias, i % OUT) : 0;
			double r = residual ? (double)get(type, residual, i) : 0;
			double want = (double)before[i] + b + r, got = (double)get(type, sum, i);
			double inner = 0x1p-23 * (fabs((double)before[i]) + fabs(b) + fabs(r));
			ck_assert_msg(fabs(got - want) <= unit(type) * fabs(want) * 1.01 + inner + smallest(type),
			              "%s: %g, not %g", name_of(type), got, want);
		}
		buffers_release();
	}
}

SUITE_WITH("sliced kernels", 120, buffers_init, buffers_release)
