/* The kernels once more, in double and as plainly as their formulas, for test_kernels.c to compare with. Forward only:
 * gradients are compared with differences of these. */
#ifndef SHARDLAB_TESTS_KERNELS_REFERENCE_H
#define SHARDLAB_TESTS_KERNELS_REFERENCE_H

#include <math.h>
#include <stdlib.h>

#include "kernels/kernels.h"

static inline double reference_gelu(double x)
{
	return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static inline void reference_linear(const struct linear_shape *s, const double *x, const double *weight,
                                    const double *bias, const double *residual, double *y)
{
	for (int64_t r = 0; r < s->rows; r++)
		for (int64_t o = 0; o < s->out; o++) {
			double sum = (bias ? bias[o] : 0) + (residual ? residual[r * s->out + o] : 0);
			for (int64_t i = 0; i < s->in; i++)
				sum += x[r * s->in + i] * weight[s->weight_in_out ? i * s->out + o : o * s->in + i];
			y[r * s->out + o] = s->gelu ? reference_gelu(sum) : sum;
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

static inline void reference_attention(const struct attention_shape *s, const double *qkv, double *y,
                                       double *log_sum_exp)
{
	int64_t width = s->heads * s->head_size, size = s->head_size;
	double *p = malloc((size_t)s->tokens * sizeof *p);
	for (int64_t sample = 0; sample < s->samples; sample++)
		for (int64_t head = 0; head < s->heads; head++)
			for (int64_t t = 0; t < s->tokens; t++) {
				const double *base = qkv + sample * s->tokens * 3 * width + head * size;
				double top = -INFINITY, sum = 0;
				for (int64_t u = 0; u <= t; u++) {
					p[u] = 0;
					for (int64_t i = 0; i < size; i++)
						p[u] += base[t * 3 * width + i] * base[u * 3 * width + width + i] /
						        sqrt((double)size);
					top = fmax(top, p[u]);
				}
				for (int64_t u = 0; u <= t; u++)
					sum += p[u] = exp(p[u] - top);
				log_sum_exp[(sample * s->heads + head) * s->tokens + t] = top + log(sum);
				for (int64_t i = 0; i < size; i++) {
					double value = 0;
					for (int64_t u = 0; u <= t; u++)
						value += p[u] / sum * base[u * 3 * width + 2 * width + i];
					y[(sample * s->tokens + t) * width + head * size + i] = value;
				}
			}
	free(p);
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
