/* Batch normalization: sums over rows by columns, the rest by rows. Merging parts is work on each feature alone, and is
 * done here, in double: it decides what all ranks agree on. */
#include <math.h>

#include "kernels/cpu/bodies.h"

static const double EPSILON = 1e-5, MOMENTUM = 0.1;

enum { COLUMN_GRAIN = 64 }; /* threads begin at multiples of a vector */

void batch_norm_statistics(const struct batch_norm_shape *s, const void *x, float *part)
{
	struct batch_norm_task t = {.shape = *s, .x = x, .part = part};
	parallel_for(kernel_bodies(s->type)->batch_norm_statistics, &t, s->width, COLUMN_GRAIN);
	part[2 * s->width] = (float)s->rows;
}

/* Two sets of n and m values with means a and b and sums of squared differences p and q: together the mean is
 * a + (b − a)·m/(n + m) and the sum p + q + (b − a)²·n·m/(n + m). */
void batch_norm_merge(int64_t parts, int64_t width, const float *part, float *running, float *statistics)
{
	double rows = 0;
	for (int64_t c = 0; c < width; c++) {
		double mean = 0, squares = 0;
		const float *p = part;
		rows = 0;
		for (int64_t i = 0; i < parts; i++, p += 2 * width + 1) {
			double m = (double)p[2 * width], difference = (double)p[c] - mean;
			mean += difference * m / (rows + m);
			squares += (double)p[width + c] * m + difference * difference * rows * m / (rows + m);
			rows += m;
		}
		double variance = squares / rows, unbiased = squares / (rows - 1);
		statistics[c] = (float)mean;
		statistics[width + c] = (float)(1 / sqrt(variance + EPSILON));
		running[c] = (float)((1 - MOMENTUM) * (double)running[c] + MOMENTUM * mean);
		running[width + c] = (float)((1 - MOMENTUM) * (double)running[width + c] + MOMENTUM * unbiased);
	}
	statistics[2 * width] = (float)rows;
}

void batch_norm_running(int64_t width, const float *running, float *statistics)
{
	for (int64_t c = 0; c < width; c++) {
		statistics[c] = running[c];
		statistics[width + c] = (float)(1 / sqrt((double)running[width + c] + EPSILON));
	}
	statistics[2 * width] = 0;
}

void batch_norm_forward(const struct batch_norm_shape *s, const void *x, const float *statistics, const void *weight,
                        const void *bias, void *y)
{
	struct batch_norm_task t = {
	        .shape = *s, .x = x, .statistics = statistics, .weight = weight, .bias = bias, .y = y};
	parallel_for(kernel_bodies(s->type)->batch_norm_forward, &t, s->rows, 1);
}

void batch_norm_sums(const struct batch_norm_shape *s, void *dy, const void *x, const float *statistics,
                     const void *weight, const void *bias, float *sums, void *dweight, bool accumulate_weight,
                     void *dbias, bool accumulate_bias)
{
	struct batch_norm_task t = {.shape = *s,
	                            .x = x,
	                            .statistics = statistics,
	                            .weight = weight,
	                            .bias = bias,
	                            .dy = dy,
	                            .sums = sums,
	                            .dweight = dweight,
	                            .dbias = dbias,
	                            .accumulate_weight = accumulate_weight,
	                            .accumulate_bias = accumulate_bias};
	parallel_for(kernel_bodies(s->type)->batch_norm_sums, &t, s->width, COLUMN_GRAIN);
}

void batch_norm_backward(const struct batch_norm_shape *s, const void *du, const void *x, const float *statistics,
                         const float *sums, const void *weight, void *dx)
{
	struct batch_norm_task t = {.shape = *s,
	                            .x = x,
	                            .statistics = statistics,
	                            .weight = weight,
	                            .dy = (void *)du,      /* read only */
	                            .sums = (float *)sums, /* likewise */
	                            .dx = dx};
	parallel_for(kernel_bodies(s->type)->batch_norm_backward, &t, s->rows, 1);
}
