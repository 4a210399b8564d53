/* Batch normalization in its simplest form: a thread has a column, or an element. */
#include "tests/plain/plain.cuh"
#include "tests/plain/plain.h"

namespace
{

/* mean and variance of a column of x, and how many rows it has */
template <typename T> struct statistics_column {
	int64_t rows, width;
	const T *x;
	float *part;
	__device__ void operator()(int64_t c) const
	{
		double sum = 0, squares = 0, n = static_cast<double>(rows);
		for (int64_t row = 0; row < rows; row++)
			sum += static_cast<double>(widen(x[row * width + c]));
		for (int64_t row = 0; row < rows; row++) {
			double d = static_cast<double>(widen(x[row * width + c])) - sum / n;
			squares += d * d;
		}
		part[c] = static_cast<float>(sum / n);
		part[width + c] = static_cast<float>(squares / n);
		if (c == 0)
			part[2 * width] = static_cast<float>(rows);
	}
};

int statistics_plain(struct kernel_context *, kernel_stream s, const struct batch_norm_shape *shape, const void *x,
                     float *part)
{
	return RUN(shape->type, shape->width, statistics_column, shape->rows, shape->width, IN(x), part);
}

/* The mean of all is the parts' mean, weighted by rows; to a part's variance comes the square of how far its mean is
 * from that. */
struct merge_column {
	int64_t parts, width;
	const float *part;
	float *running, *statistics;
	__device__ double number(int64_t i, int64_t at) const
	{
		return static_cast<double>(part[i * (2 * width + 1) + at]);
	}
	__device__ void put_running(int64_t at, double x) const
	{
		running[at] = static_cast<float>(0.9 * static_cast<double>(running[at]) + 0.1 * x);
	}
	__device__ void operator()(int64_t c) const
	{
		double rows = 0, mean = 0, squares = 0;
		for (int64_t i = 0; i < parts; i++) {
			rows += number(i, 2 * width);
			mean += number(i, 2 * width) * number(i, c);
		}
		mean /= rows;
		for (int64_t i = 0; i < parts; i++) {
			double d = number(i, c) - mean;
			squares += number(i, 2 * width) * (number(i, width + c) + d * d);
		}
		statistics[c] = static_cast<float>(mean);
		statistics[width + c] = static_cast<float>(1 / sqrt(squares / rows + 1e-5));
		statistics[2 * width] = static_cast<float>(rows);
		put_running(c, mean);
		put_running(width + c, squares / (rows - 1));
	}
};

int merge_plain(struct kernel_context *, kernel_stream s, int64_t parts, int64_t width, const float *part,
                float *running, float *statistics)
{
	return for_each(s, width, merge_column{parts, width, part, running, statistics});
}

struct running_column {
	int64_t width;
	const float *running;
	float *statistics;
	__device__ void operator()(int64_t c) const
	{
		statistics[c] = running[c];
		statistics[width + c] = static_cast<float>(1 / sqrt(static_cast<double>(running[width + c]) + 1e-5));
		statistics[2 * width] = 0;
	}
};

int running_plain(struct kernel_context *, kernel_stream s, int64_t width, const float *running, float *statistics)
{
	return for_each(s, width, running_column{width, running, statistics});
}

/* x̂ · weight + bias */
template <typename T>
__device__ float normalized(T x, const float *statistics, int64_t width, int64_t c, T weight, T bias)
{
	return (widen(x) - statistics[c]) * statistics[width + c] * widen(weight) + widen(bias);
}

template <typename T> struct forward_element {
	int64_t width;
	bool with_gelu;
	const T *x;
	const float *statistics;
	const T *weight, *bias;
	T *y;
	__device__ void operator()(int64_t i) const
	{
		int64_t c = i % width;
		float u = normalized(x[i], statistics, width, c, weight[c], bias[c]);
		put(y[i], with_gelu ? gelu<float>(u) : u);
	}
};

int forward_plain(struct kernel_context *, kernel_stream s, const struct batch_norm_shape *shape, const void *x,
                  const float *statistics, const void *weight, const void *bias, void *y)
{
	return RUN(shape->type, shape->rows * shape->width, forward_element, shape->width, shape->gelu, IN(x),
	           statistics, IN(weight), IN(bias), OUT(y));
}

template <typename T> struct sums_column {
	struct batch_norm_shape shape;
	T *dy;
	const T *x;
	const float *statistics;
	const T *weight, *bias;
	float *sums;
	T *dweight;
	bool accumulate_weight;
	T *dbias;
	bool accumulate_bias;
	__device__ void operator()(int64_t c) const
	{
		double sum = 0, product = 0;
		for (int64_t row = 0; row < shape.rows; row++) {
			int64_t i = row * shape.width + c;
			float d = widen(dy[i]);
			if (shape.gelu) {
				d *= gelu_slope<float>(
				        normalized(x[i], statistics, shape.width, c, weight[c], bias[c]));
				put(dy[i], d);
			}
			sum += static_cast<double>(d);
			product += static_cast<double>(d) * static_cast<double>(widen(x[i]) - statistics[c]);
		}
		sums[c] = static_cast<float>(sum);
		sums[shape.width + c] = static_cast<float>(product);
		if (dweight)
			put(dweight[c], sums[shape.width + c] * statistics[shape.width + c], accumulate_weight);
		if (dbias)
			put(dbias[c], sums[c], accumulate_bias);
	}
};

int sums_plain(struct kernel_context *, kernel_stream s, const struct batch_norm_shape *shape, void *dy, const void *x,
               const float *statistics, const void *weight, const void *bias, float *sums, void *dweight,
               bool accumulate_weight, void *dbias, bool accumulate_bias)
{
	return RUN(shape->type, shape->width, sums_column, *shape, OUT(dy), IN(x), statistics, IN(weight), IN(bias),
	           sums, OUT(dweight), accumulate_weight, OUT(dbias), accumulate_bias);
}

/* weight / std · (du − Σ du / n − x̂ · Σ du·x̂ / n) */
template <typename T> struct backward_element {
	int64_t width;
	const T *du, *x;
	const float *statistics, *sums;
	const T *weight;
	T *dx;
	__device__ void operator()(int64_t i) const
	{
		int64_t c = i % width;
		float inverse = statistics[width + c], n = statistics[2 * width];
		float normal = (widen(x[i]) - statistics[c]) * inverse, product = sums[width + c] * inverse;
		put(dx[i], (widen(du[i]) - sums[c] / n - normal * product / n) * inverse * widen(weight[c]));
	}
};

int backward_plain(struct kernel_context *, kernel_stream s, const struct batch_norm_shape *shape, const void *du,
                   const void *x, const float *statistics, const float *sums, const void *weight, void *dx)
{
	return RUN(shape->type, shape->rows * shape->width, backward_element, shape->width, IN(du), IN(x), statistics,
	           sums, IN(weight), OUT(dx));
}

} // namespace

void plain_fill_batch_norm(struct kernel_table *t)
{
	t->batch_norm_statistics = statistics_plain;
	t->batch_norm_merge = merge_plain;
	t->batch_norm_running = running_plain;
	t->batch_norm_forward = forward_plain;
	t->batch_norm_sums = sums_plain;
	t->batch_norm_backward = backward_plain;
}
