/* Batch normalization: the parts of each feature are merged here, in double, because all ranks must agree on the
 * result. The passes over rows are bodies (simd/batch_norm.c). */
#include <math.h>

#include "kernels/kernels.h"

static const double EPSILON = 1e-5, MOMENTUM = 0.1;

/* Two sets of n and m values with means a and b and sums of squared differences p and q: together the mean is
 * a + (b − a)·m/(n + m) and the sum p + q + (b − a)²·n·m/(n + m). */
KERNEL_FUNCTION(batch_norm_merge)
{
	double rows = 0;
	for (int64_t c = 0; c < width; c++) {
		double mean = 0, squares = 0;
		const float *p = parts;
		rows = 0;
		for (int64_t i = 0; i < contributors; i++, p += 2 * width + 1) {
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

KERNEL_FUNCTION(batch_norm_running)
{
	for (int64_t c = 0; c < width; c++) {
		statistics[c] = running[c];
		statistics[width + c] = (float)(1 / sqrt((double)running[width + c] + EPSILON));
	}
	statistics[2 * width] = 0;
}
