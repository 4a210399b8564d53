/* The kernels of kernels/sliced.h in their simplest form. */
#include "tests/plain/plain.cuh"
#include "tests/plain/plain.h"

namespace
{

/* ---- after a sum over ranks ---- */

template <typename T> struct finish_element {
	int64_t width;
	const T *bias, *residual;
	T *sum, *y;
	__device__ void operator()(int64_t i) const
	{
		put(sum[i], (bias ? widen(bias[i % width]) : 0) + (residual ? widen(residual[i]) : 0), true);
		if (y)
			put(y[i], gelu<float>(widen(sum[i])));
	}
};

int finish_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t rows, int64_t width,
                 const void *bias, const void *residual, void *sum, void *y)
{
	return RUN(type, rows * width, finish_element, width, IN(bias), IN(residual), OUT(sum), OUT(y));
}

/* ---- embedding ---- */

template <typename T> struct slice_element {
	int64_t width;
	struct class_slice slice;
	const int32_t *ids;
	const T *token;
	T *y;
	__device__ void operator()(int64_t i) const
	{
		int64_t id = ids[i / width] - slice.first;
		put(y[i], id >= 0 && id < slice.count ? widen(token[id * width + i % width]) : 0);
	}
};

int embedding_forward_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t samples,
                            int64_t tokens, int64_t width, const struct class_slice *slice, const int32_t *ids,
                            const void *token_table, void *y)
{
	return RUN(type, samples * tokens * width, slice_element, width, *slice, ids, IN(token_table), OUT(y));
}

template <typename T> struct position_sum {
	int64_t tokens, width;
	const T *position;
	T *y;
	__device__ void operator()(int64_t i) const
	{
		put(y[i], widen(position[i % (tokens * width)]), true);
	}
};

int embedding_finish_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t samples, int64_t tokens,
                           int64_t width, const void *position_table, void *y)
{
	return RUN(type, samples * tokens * width, position_sum, tokens, width, IN(position_table), OUT(y));
}

int embedding_backward_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t samples,
                             int64_t tokens, int64_t width, const struct class_slice *slice, int64_t context,
                             const int32_t *ids, const void *dy, void *dtoken_table, bool accumulate_token,
                             void *dposition_table, bool accumulate_position)
{
	int error = RUN(type, slice->stride * width, token_element, samples * tokens, width, slice->first, slice->count,
	                ids, IN(dy), OUT(dtoken_table), accumulate_token);
	return error ? error
	             : RUN(type, context * width, position_element, samples, tokens, width, IN(dy),
	                   OUT(dposition_table), accumulate_position);
}

/* ---- classifier ---- */

template <typename T> struct maximum_row {
	struct class_slice slice;
	const T *logits;
	float *maxima;
	__device__ void operator()(int64_t row) const
	{
		float maximum = -INFINITY;
		for (int64_t i = 0; i < slice.count; i++)
			maximum = fmaxf(maximum, widen(logits[row * slice.stride + i]));
		maxima[row] = maximum;
	}
};

int maxima_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t rows,
                 const struct class_slice *slice, const void *logits, float *maxima)
{
	return RUN(type, rows, maximum_row, *slice, IN(logits), maxima);
}

/* `numbers` of a row: 2, or 3 for validation. */
template <typename T> struct sums_row {
	struct class_slice slice;
	const T *logits;
	const int32_t *targets;
	const float *maxima;
	float *sums;
	int numbers;
	__device__ void operator()(int64_t row) const
	{
		const T *x = logits + row * slice.stride;
		int64_t target = targets[row] - slice.first, before = 0;
		double sum = 0;
		for (int64_t i = 0; i < slice.count; i++) {
			sum += static_cast<double>(expf(widen(x[i]) - maxima[row]));
			before += i < target && widen(x[i]) == maxima[row];
		}
		sums[numbers * row] = static_cast<float>(sum);
		sums[numbers * row + 1] = target >= 0 && target < slice.count ? widen(x[target]) : 0;
		if (numbers == 3)
			sums[numbers * row + 2] = static_cast<float>(before);
	}
};

int sums_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t rows,
               const struct class_slice *slice, const void *logits, const int32_t *targets, const float *maxima,
               float *sums)
{
	return RUN(type, rows, sums_row, *slice, IN(logits), targets, maxima, sums, 2);
}

int evaluate_sums_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t rows,
                        const struct class_slice *slice, const void *logits, const int32_t *targets,
                        const float *maxima, float *sums)
{
	return RUN(type, rows, sums_row, *slice, IN(logits), targets, maxima, sums, 3);
}

template <typename T> struct gradient_element {
	struct class_slice slice;
	T *logits;
	const int32_t *targets;
	const float *maxima, *sums;
	double scale;
	const float *scaler;
	__device__ void operator()(int64_t i) const
	{
		int64_t row = i / slice.stride, column = i % slice.stride;
		double whole = scale * (scaler ? static_cast<double>(scaler[SCALER_SCALE]) : 1);
		double p = static_cast<double>(expf(widen(logits[i]) - maxima[row]) / sums[2 * row]);
		if (slice.first + column == targets[row])
			p -= 1;
		put(logits[i], column < slice.count ? static_cast<float>(whole * p) : 0);
	}
};

/* The rows' losses, made of their sums and added up. */
struct add_losses_of_sums {
	int64_t rows;
	double scale;
	const float *maxima, *sums;
	float *loss;
	bool accumulate;
	__device__ void operator()(int64_t) const
	{
		double sum = 0;
		for (int64_t row = 0; row < rows; row++)
			sum += log(static_cast<double>(sums[2 * row])) + static_cast<double>(maxima[row]) -
			       static_cast<double>(sums[2 * row + 1]);
		*loss = static_cast<float>((accumulate ? static_cast<double>(*loss) : 0) + scale * sum);
	}
};

int gradient_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t rows,
                   const struct class_slice *slice, void *logits, const int32_t *targets, const float *maxima,
                   const float *sums, double scale, const float *scaler, float *loss, bool accumulate)
{
	int error = RUN(type, rows * slice->stride, gradient_element, *slice, OUT(logits), targets, maxima, sums, scale,
	                scaler);
	return error ? error : for_each(s, 1, add_losses_of_sums{rows, scale, maxima, sums, loss, accumulate});
}

struct count_all {
	int64_t rows;
	const float *maxima, *sums;
	double *loss;
	int64_t *correct;
	__device__ void operator()(int64_t) const
	{
		for (int64_t row = 0; row < rows; row++) {
			const float *one = sums + 3 * row;
			*loss += log(static_cast<double>(one[0])) + static_cast<double>(maxima[row]) -
			         static_cast<double>(one[1]);
			*correct += one[1] == maxima[row] && one[2] == 0;
		}
	}
};

int evaluate_count_plain(struct kernel_context *, kernel_stream s, int64_t rows, const float *maxima, const float *sums,
                         double *loss, int64_t *correct)
{
	return for_each(s, 1, count_all{rows, maxima, sums, loss, correct});
}

} // namespace

void plain_fill_sliced(struct kernel_table *t)
{
	t->linear_finish = finish_plain;
	t->embedding_sliced_forward = embedding_forward_plain;
	t->embedding_finish = embedding_finish_plain;
	t->embedding_sliced_backward = embedding_backward_plain;
	t->classifier_maxima = maxima_plain;
	t->classifier_sums = sums_plain;
	t->classifier_gradient = gradient_plain;
	t->evaluate_sums = evaluate_sums_plain;
	t->evaluate_count = evaluate_count_plain;
}
