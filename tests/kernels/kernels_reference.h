/* The kernels once more, in double and as plainly as their formulas, for tests to compare with. Of most, forward only:
 * their gradients are compared with differences of these.
 *
 * `size` is the sum of a sum's absolute terms, which roundings of fp32 are relative to. What is a sum is added to what
 * is there. */
#ifndef SHARDLAB_TESTS_KERNELS_REFERENCE_H
#define SHARDLAB_TESTS_KERNELS_REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/kernels.h"

static inline double reference_gelu(double x)
{
	return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static inline double reference_gelu_slope(double x)
{
	double root = sqrt(2.0 / acos(-1.0)), t = tanh(root * (x + 0.044715 * x * x * x));
	return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * x * x);
}

static inline double reference_activation(enum activation activation, double x)
{
	return activation == ACTIVATION_GELU_TANH ? reference_gelu(x)
	       : activation == ACTIVATION_GELU    ? 0.5 * x * erfc(-x / sqrt(2.0))
	                                          : fmax(x, 0);
}

static inline double reference_activation_slope(enum activation activation, double x)
{
	if (activation == ACTIVATION_RELU)
		return x > 0;
	if (activation == ACTIVATION_GELU)
		return 0.5 * erfc(-x / sqrt(2.0)) + x * exp(-0.5 * x * x) / sqrt(2.0 * acos(-1.0));
	return reference_gelu_slope(x);
}

/* value[m,n] += op(a) · op(b): an element of a is a_row or a_depth from the next along its row or depth. */
static inline void reference_product(int64_t m, int64_t n, int64_t k, const double *a, int64_t a_row, int64_t a_depth,
                                     const double *b, int64_t b_depth, int64_t b_column, double *value, double *size)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			for (int64_t l = 0; l < k; l++) {
				double term = a[i * a_row + l * a_depth] * b[l * b_depth + j * b_column];
				value[i * n + j] += term;
				size[i * n + j] += fabs(term);
			}
}

/* value[rows,columns] += x, which is one row for all of them or has as many. */
static inline void reference_add(int64_t rows, int64_t columns, const double *x, bool is_row, double *value,
                                 double *size)
{
	for (int64_t i = 0; i < rows * columns; i++) {
		value[i] += x[is_row ? i % columns : i];
		size[i] += fabs(x[is_row ? i % columns : i]);
	}
}

static inline void reference_norm(int64_t rows, int64_t width, const double *x, const double *weight,
                                  const double *bias, double *y, double *statistics)
{
	for (int64_t r = 0; r < rows; r++, x += width, y += width) {
		double mean = 0, variance = 0;
		for (int64_t i = 0; i < width; i++)
			mean += x[i] / (double)width;
		for (int64_t i = 0; i < width; i++)
			variance += (x[i] - mean) * (x[i] - mean) / (double)width;
		statistics[2 * r] = mean;
		statistics[2 * r + 1] = 1.0 / sqrt(variance + 1e-5);
		for (int64_t i = 0; i < width; i++)
			y[i] = (x[i] - mean) * statistics[2 * r + 1] * weight[i] + bias[i];
	}
}

/* Over rows; statistics[2·width + 1]; y with GELU if gelu. */
static inline void reference_batch_norm(int64_t rows, int64_t width, bool gelu, const double *x, const double *weight,
                                        const double *bias, double *y, double *statistics)
{
	for (int64_t c = 0; c < width; c++) {
		double mean = 0, variance = 0;
		for (int64_t r = 0; r < rows; r++)
			mean += x[r * width + c] / (double)rows;
		for (int64_t r = 0; r < rows; r++)
			variance += (x[r * width + c] - mean) * (x[r * width + c] - mean) / (double)rows;
		statistics[c] = mean;
		statistics[width + c] = 1.0 / sqrt(variance + 1e-5);
		for (int64_t r = 0; r < rows; r++) {
			double u = (x[r * width + c] - mean) * statistics[width + c] * weight[c] + bias[c];
			y[r * width + c] = gelu ? reference_gelu(u) : u;
		}
	}
	statistics[2 * width] = (double)rows;
}

/* y[rows,width], and 1/root mean square of each row. */
static inline void reference_rms_norm(int64_t rows, int64_t width, double epsilon, const double *x,
                                      const double *weight, double *y, double *statistics)
{
	for (int64_t r = 0; r < rows; r++, x += width, y += width) {
		double squares = 0;
		for (int64_t i = 0; i < width; i++)
			squares += x[i] * x[i] / (double)width;
		statistics[r] = 1.0 / sqrt(squares + epsilon);
		for (int64_t i = 0; i < width; i++)
			y[i] = x[i] * statistics[r] * weight[i];
	}
}

static inline void reference_swiglu(int64_t rows, int64_t width, const double *x, double *y)
{
	for (int64_t r = 0; r < rows; r++, x += 2 * width, y += width)
		for (int64_t i = 0; i < width; i++)
			y[i] = x[i] / (1.0 + exp(-x[i])) * x[width + i];
}

/* q_norm and k_norm may be NULL. Angles are those of fp32, as the kernels have them. */
static inline void reference_rotary(const struct rotary_shape *s, const double *x, const double *q_norm,
                                    const double *k_norm, double *y)
{
	int64_t all = s->heads + 2 * s->kv_heads, n = s->head_size, half = n / 2;
	for (int64_t i = 0; i < s->samples * s->tokens * all; i++, x += n, y += n) {
		const double *norm = i % all < s->heads ? q_norm : k_norm;
		double squares = 0, inverse = 1;
		for (int64_t j = 0; j < n; j++)
			squares += x[j] * x[j] / (double)n;
		if (norm)
			inverse = 1.0 / sqrt(squares + (double)s->epsilon);
		for (int64_t j = 0; j < half; j++) {
			float angle = (float)(s->first + i / all % s->tokens) * s->frequency[j];
			double cosine = (double)s->amplitude * cos((double)angle);
			double sine = (double)s->amplitude * sin((double)angle);
			double first = x[j] * inverse * (norm ? norm[j] : 1);
			double second = x[half + j] * inverse * (norm ? norm[half + j] : 1);
			bool value = i % all >= s->heads + s->kv_heads;
			y[j] = value ? x[j] : first * cosine - second * sine;
			y[half + j] = value ? x[half + j] : second * cosine + first * sine;
		}
	}
}

/* The first elements of a head's query at token t, its key at token u and its output y, and the distance from a key to
 * its value. */
struct reference_places {
	int64_t q, k, v, y;
};

static inline struct reference_places reference_place(const struct attention_shape *s, int64_t head, int64_t t,
                                                      int64_t u)
{
	int64_t n = s->head_size, width = s->heads * n, keys = s->kv_heads * n, row = width + 2 * keys;
	int64_t first = head / s->heads * s->tokens, h = head % s->heads, of_key = h / (s->heads / s->kv_heads);
	int64_t k = (first + u) * row + width + of_key * n;
	return (struct reference_places){(first + t) * row + h * n, k, k + keys, (first + t) * width + h * n};
}

/* The first token that token t attends to. */
static inline int64_t reference_first(const struct attention_shape *s, int64_t t)
{
	return s->window && t >= s->window ? t - s->window + 1 : 0;
}

/* ALiBi's slope as Hugging Face's build_mpt_alibi_tensor has it: those of the next power of two, every other one
 * first. */
static inline double reference_slope(const struct attention_shape *s, int64_t head)
{
	int64_t power = 1, i = s->first_head + head;
	if (!s->alibi_heads)
		return 0;
	while (power < s->alibi_heads)
		power *= 2;
	if (power != s->alibi_heads)
		i = i < power / 2 ? 2 * i + 1 : 2 * (i - power / 2);
	return pow(2.0, -8.0 * (double)(i + 1) / (double)power);
}

static inline void reference_attention(const struct attention_shape *s, const double *qkv, double *y, double *y_size,
                                       double *log_sum_exp)
{
	int64_t size = s->head_size;
	double *p = (double *)malloc((size_t)s->tokens * sizeof *p);
	for (int64_t h = 0; h < s->samples * s->heads; h++)
		for (int64_t t = 0; t < s->tokens; t++) {
			double top = -INFINITY, sum = 0, slope = reference_slope(s, h % s->heads);
			int64_t first = reference_first(s, t);
			for (int64_t u = first; u <= t; u++) {
				struct reference_places at = reference_place(s, h, t, u);
				p[u] = slope * (double)(u - t);
				for (int64_t i = 0; i < size; i++)
					p[u] += qkv[at.q + i] * qkv[at.k + i] / sqrt((double)size);
				top = fmax(top, p[u]);
			}
			for (int64_t u = first; u <= t; u++)
				sum += p[u] = exp(p[u] - top);
			log_sum_exp[h * s->tokens + t] = top + log(sum);
			for (int64_t i = 0; i < size; i++)
				for (int64_t u = first; u <= t; u++) {
					struct reference_places at = reference_place(s, h, t, u);
					double term = p[u] / sum * qkv[at.v + i];
					y[at.y + i] += term;
					y_size[at.y + i] += fabs(term);
				}
		}
	free(p);
}

/* From the y and log_sum_exp that a kernel was given. dS is a difference of sums, of which fp32 loses digits by their
 * own size: `lost` has that in place of the difference's. */
static inline void reference_attention_backward(const struct attention_shape *s, const double *dy, const double *qkv,
                                                const double *y, const float *log_sum_exp, double *dqkv, double *size,
                                                double *lost)
{
	int64_t n = s->head_size;
	double scale = 1 / sqrt((double)n);
	for (int64_t h = 0; h < s->samples * s->heads; h++)
		for (int64_t t = 0; t < s->tokens; t++)
			for (int64_t u = reference_first(s, t); u <= t; u++) {
				struct reference_places at = reference_place(s, h, t, u);
				double score = reference_slope(s, h % s->heads) * (double)(u - t), dp = 0, delta = 0,
				       sizes = 0;
				for (int64_t i = 0; i < n; i++) {
					score += qkv[at.q + i] * qkv[at.k + i] * scale;
					dp += dy[at.y + i] * qkv[at.v + i];
					delta += dy[at.y + i] * y[at.y + i];
					sizes += fabs(dy[at.y + i] * qkv[at.v + i]) + fabs(dy[at.y + i] * y[at.y + i]);
				}
				double p = exp(score - (double)log_sum_exp[h * s->tokens + t]);
				double ds = p * (dp - delta) * scale, ds_lost = p * sizes * scale;
				for (int64_t i = 0; i < n; i++) {
					dqkv[at.q + i] += ds * qkv[at.k + i];
					dqkv[at.k + i] += ds * qkv[at.q + i];
					dqkv[at.v + i] += p * dy[at.y + i];
					size[at.q + i] += fabs(ds * qkv[at.k + i]);
					size[at.k + i] += fabs(ds * qkv[at.q + i]);
					size[at.v + i] += fabs(p * dy[at.y + i]);
					lost[at.q + i] += ds_lost * fabs(qkv[at.k + i]);
					lost[at.k + i] += ds_lost * fabs(qkv[at.q + i]);
					lost[at.v + i] += fabs(p * dy[at.y + i]);
				}
			}
}

static inline double reference_classifier(int64_t rows, int64_t classes, const double *logits, const int32_t *targets)
{
	double loss = 0;
	for (int64_t r = 0; r < rows; r++, logits += classes) {
		double top = -INFINITY, sum = 0;
		for (int64_t i = 0; i < classes; i++)
			top = fmax(top, logits[i]);
		for (int64_t i = 0; i < classes; i++)
			sum += exp(logits[i] - top);
		loss += top + log(sum) - logits[targets[r]];
	}
	return loss;
}

/* torch.optim.AdamW, in its own order of operations. */
static inline void reference_adamw(const struct adamw *a, int64_t step, int64_t n, double *parameters,
                                   const double *gradients, double *first_moment, double *second_moment)
{
	double rate = (double)a->learning_rate, beta1 = (double)a->beta1, beta2 = (double)a->beta2;
	for (int64_t i = 0; i < n; i++) {
		parameters[i] *= 1.0 - rate * (double)a->weight_decay;
		first_moment[i] = beta1 * first_moment[i] + (1.0 - beta1) * gradients[i];
		second_moment[i] = beta2 * second_moment[i] + (1.0 - beta2) * gradients[i] * gradients[i];
		double m = first_moment[i] / (1.0 - pow(beta1, (double)step));
		double v = second_moment[i] / (1.0 - pow(beta2, (double)step));
		parameters[i] -= rate * m / (sqrt(v) + (double)a->epsilon);
	}
}

#endif
