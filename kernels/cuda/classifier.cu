/* Softmax cross-entropy. A block has a row and goes over it twice: once for the maximum and the sum of the exponentials
 * together, once to write the gradient in its place. A row that fits is copied to shared memory, by cp.async, so that
 * memory is read once, all of the row is under way at once, and two blocks of a multiprocessor take turns. The rows'
 * losses go to the workspace, in double, and one block adds them up. */
#include <cmath>

#include "kernels/cuda/classifier.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { MOST_THREADS = 1024, FINISH_THREADS = 1024 };
/* Threads of each block where two blocks' rows fit into shared memory, and the bytes beside a row. */
enum { HALF_THREADS = 512, BLOCK_BYTES = 2048 };

/* A row of `stride` logits, of which `count` are classes from `first` on. */
struct rows_task {
	int64_t stride;
	int count;
	int64_t first;
	const int32_t *targets;
};

/* The target's place among the slice's classes; −1: it is elsewhere. */
__device__ __forceinline__ int target_of(const rows_task &t, int64_t row)
{
	int64_t target = t.targets[row] - t.first;
	return target >= 0 && target < t.count ? static_cast<int>(target) : -1;
}

/* Logits, read from `from`, become scale × probability, less scale at the target; 0 at padding. */
template <typename T>
__device__ __forceinline__ void row_gradient(const rows_task &t, const T *from, T *row, int target, float maximum,
                                             double sum, double scale)
{
	float factor = static_cast<float>(scale / sum), whole = static_cast<float>(scale);
	row_change(from, row, t.count, [=](int first, auto &x) {
		constexpr int N = static_cast<int>(sizeof x / sizeof x[0]);
#pragma unroll
		for (int i = 0; i < N; i++)
			x[i] = exponential<T>(x[i] - maximum) * factor;
		if (target >= first && target < first + N)
#pragma unroll
			for (int i = 0; i < N; i++)
				x[i] -= first + i == target ? whole : 0;
	});
	for (int64_t i = t.count + static_cast<int64_t>(threadIdx.x); i < t.stride; i += blockDim.x)
		narrow(0, row[i]);
}

template <typename T, bool KEEPS>
__global__ void __launch_bounds__(MOST_THREADS)
        classifier_rows(rows_task t, T *logits, double scale, const float *scaler, double *losses)
{
	T *row = logits + static_cast<int64_t>(blockIdx.x) * t.stride;
	const T *from = KEEPS ? shared_memory<T>() : row;
	if (KEEPS)
		row_copy(shared_memory<T>(), row, t.count);
	int target = target_of(t, blockIdx.x);
	float chosen = target >= 0 ? widen(from[target]) : 0;
	online o = NOTHING;
	row_each(from, t.count, [&](int, const auto &x) { online_add<T>(o, x); });
	o = online_reduce<T>(o); /* all have read the target's logit before any writes */
	if (threadIdx.x == 0)
		losses[blockIdx.x] =
		        log(static_cast<double>(o.sum)) + static_cast<double>(o.maximum) - static_cast<double>(chosen);
	row_gradient(t, from, row, target, o.maximum, static_cast<double>(o.sum),
	             scaler ? scale * static_cast<double>(scaler[SCALER_SCALE]) : scale);
}

template <typename T>
__global__ void __launch_bounds__(MOST_THREADS)
        evaluate_rows(rows_task t, const T *logits, double *losses, int32_t *correct)
{
	const T *row = logits + static_cast<int64_t>(blockIdx.x) * t.stride;
	int target = target_of(t, blockIdx.x), first = INT32_MAX;
	float chosen = target >= 0 ? widen(row[target]) : 0, mine = -INFINITY;
	online o = NOTHING;
	row_each(row, t.count, [&](int begin, const auto &x) {
#pragma unroll
		for (int i = 0; i < static_cast<int>(sizeof x / sizeof x[0]); i++)
			if (x[i] > mine) {
				mine = x[i];
				first = begin + i;
			}
		online_add<T>(o, x);
	});
	o = online_reduce<T>(o);
	first = -block_reduce(mine == o.maximum ? -first : -INT32_MAX, maximum_of(), -INT32_MAX);
	if (threadIdx.x == 0) {
		losses[blockIdx.x] =
		        log(static_cast<double>(o.sum)) + static_cast<double>(o.maximum) - static_cast<double>(chosen);
		correct[blockIdx.x] = first == target;
	}
}

/* ---- a slice of the classes ---- */

template <typename T>
__global__ void __launch_bounds__(MOST_THREADS) maxima_rows(rows_task t, const T *logits, float *maxima)
{
	float maximum = -INFINITY;
	row_each(logits + static_cast<int64_t>(blockIdx.x) * t.stride, t.count, [&](int, const auto &x) {
#pragma unroll
		for (float one : x)
			maximum = one > maximum ? one : maximum;
	});
	maximum = block_reduce(maximum, maximum_of(), -INFINITY);
	if (threadIdx.x == 0)
		maxima[blockIdx.x] = maximum;
}

/* `numbers` of a row: 2, or 3 with how many classes before the target have the maximum. */
template <typename T>
__global__ void __launch_bounds__(MOST_THREADS)
        sums_rows(rows_task t, const T *logits, const float *maxima, float *sums, int numbers)
{
	const T *row = logits + static_cast<int64_t>(blockIdx.x) * t.stride;
	float maximum = maxima[blockIdx.x], sum = 0;
	int64_t target = t.targets[blockIdx.x] - t.first;
	int before = 0;
	row_each(row, t.count, [&](int first, const auto &x) {
#pragma unroll
		for (int i = 0; i < static_cast<int>(sizeof x / sizeof x[0]); i++) {
			sum += exponential<T>(x[i] - maximum);
			before += first + i < target && x[i] == maximum;
		}
	});
	sum = block_reduce(sum, sum_of(), 0.0F);
	before = block_reduce(before, sum_of(), 0);
	if (threadIdx.x)
		return;
	float *out = sums + static_cast<int64_t>(blockIdx.x) * numbers;
	out[0] = sum;
	out[1] = target >= 0 && target < t.count ? widen(row[target]) : 0;
	if (numbers == 3)
		out[2] = static_cast<float>(before);
}

template <typename T>
__global__ void __launch_bounds__(MOST_THREADS)
        gradient_rows(rows_task t, T *logits, const float *maxima, const float *sums, double scale, const float *scaler)
{
	int64_t row = blockIdx.x;
	T *place = logits + row * t.stride;
	row_gradient(t, place, place, target_of(t, row), maxima[row], static_cast<double>(sums[2 * row]),
	             scaler ? scale * static_cast<double>(scaler[SCALER_SCALE]) : scale);
}

/* ---- the rows' losses, added up by one block ---- */

/* A row's loss from the workspace, or from the slices' sums. */
struct losses_given {
	const double *losses;
	const int32_t *correct;
	__device__ double loss(int64_t row) const
	{
		return losses[row];
	}
	__device__ int64_t is_correct(int64_t row) const
	{
		return correct[row];
	}
};

struct losses_of_sums {
	const float *maxima, *sums;
	int numbers;
	__device__ double loss(int64_t row) const
	{
		const float *s = sums + row * numbers;
		return log(static_cast<double>(s[0])) + static_cast<double>(maxima[row]) - static_cast<double>(s[1]);
	}
	__device__ int64_t is_correct(int64_t row) const
	{
		const float *s = sums + row * numbers;
		return s[1] == maxima[row] && s[2] == 0;
	}
};

template <typename Losses> __device__ __forceinline__ double losses_sum(const Losses &l, int64_t rows)
{
	double sum = 0;
#pragma unroll 4
	for (int64_t row = threadIdx.x; row < rows; row += FINISH_THREADS)
		sum += l.loss(row);
	return block_reduce(sum, sum_of(), 0.0);
}

template <typename Losses>
__global__ void __launch_bounds__(FINISH_THREADS)
        loss_finish(Losses l, int64_t rows, double scale, float *loss, bool accumulate)
{
	double sum = losses_sum(l, rows);
	if (threadIdx.x == 0)
		*loss = static_cast<float>((accumulate ? static_cast<double>(*loss) : 0) + scale * sum);
}

template <typename Losses>
__global__ void __launch_bounds__(FINISH_THREADS)
        evaluate_finish(Losses l, int64_t rows, double *loss, int64_t *correct)
{
	double sum = losses_sum(l, rows);
	long long count = 0;
	for (int64_t row = threadIdx.x; row < rows; row += FINISH_THREADS)
		count += l.is_correct(row);
	count = block_reduce(count, sum_of(), 0LL);
	if (threadIdx.x == 0) {
		*loss += sum;
		*correct += count;
	}
}

/* ---- calling them ---- */

/* Threads of a row: all packs at once, in whole warps. */
template <typename T> unsigned threads_for(int64_t classes)
{
	int64_t packs = classes / lanes_of<T>() + 1, warps = (packs + WARP - 1) / WARP;
	return static_cast<unsigned>(smaller(warps * WARP, MOST_THREADS));
}

rows_task rows_of(int64_t first, int64_t count, int64_t stride, const int32_t *targets)
{
	return {stride, static_cast<int>(count), first, targets};
}

int sums_of(kernel_stream s, enum element type, int64_t rows, const struct class_slice *slice, const void *logits,
            const int32_t *targets, const float *maxima, float *sums, int numbers)
{
	rows_task t = rows_of(slice->first, slice->count, slice->stride, targets);
	return rows == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return launch(sums_rows<T>, static_cast<unsigned>(rows), threads_for<T>(t.count), 0, s, t,
		              static_cast<const T *>(logits), maxima, sums, numbers);
	});
}

} // namespace

CUDA_KERNEL(classifier)
{
	double *losses = static_cast<double *>(c->workspace);
	rows_task t = rows_of(0, classes, stride, targets);
	if (static_cast<size_t>(rows) * sizeof *losses > c->workspace_bytes)
		return CUDA_ERROR_WORKSPACE;
	int error = rows == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		const unsigned blocks = static_cast<unsigned>(rows), threads = threads_for<T>(classes);
		const int64_t bytes = classes * static_cast<int64_t>(sizeof(T)), most = c->shared_bytes - BLOCK_BYTES;
		T *first = static_cast<T *>(logits);
		const unsigned halves =
		        static_cast<unsigned>(2 * bytes > most ? threads : smaller(threads, HALF_THREADS));
		if (bytes > most || stride % lanes_of<T>() != 0 || !is_aligned(logits, 16))
			return launch(classifier_rows<T, false>, blocks, threads, 0, s, t, first, scale, scaler,
			              losses);
		return launch(classifier_rows<T, true>, blocks, halves, static_cast<size_t>(bytes), s, t, first, scale,
		              scaler, losses);
	});
	losses_given given = {losses, nullptr};
	return error ? error
	             : launch(loss_finish<losses_given>, 1, FINISH_THREADS, 0, s, given, rows, scale, loss, accumulate);
}

CUDA_KERNEL(classifier_evaluate)
{
	double *losses = static_cast<double *>(c->workspace);
	int32_t *hits = reinterpret_cast<int32_t *>(losses + rows);
	rows_task t = rows_of(0, classes, stride, targets);
	if (static_cast<size_t>(rows) * (sizeof *losses + sizeof *hits) > c->workspace_bytes)
		return CUDA_ERROR_WORKSPACE;
	if (rows == 0)
		return 0;
	int error = with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return launch(evaluate_rows<T>, static_cast<unsigned>(rows), threads_for<T>(classes), 0, s, t,
		              static_cast<const T *>(logits), losses, hits);
	});
	losses_given given = {losses, hits};
	return error ? error
	             : launch(evaluate_finish<losses_given>, 1, FINISH_THREADS, 0, s, given, rows, loss, correct);
}

CUDA_KERNEL(classifier_maxima)
{
	rows_task t = rows_of(slice->first, slice->count, slice->stride, nullptr);
	return rows == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return launch(maxima_rows<T>, static_cast<unsigned>(rows), threads_for<T>(t.count), 0, s, t,
		              static_cast<const T *>(logits), maxima);
	});
}

CUDA_KERNEL(classifier_sums)
{
	return sums_of(s, type, rows, slice, logits, targets, maxima, sums, 2);
}

CUDA_KERNEL(classifier_gradient)
{
	rows_task t = rows_of(slice->first, slice->count, slice->stride, targets);
	int error = rows == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return launch(gradient_rows<T>, static_cast<unsigned>(rows), threads_for<T>(t.stride), 0, s, t,
		              static_cast<T *>(logits), maxima, sums, scale, scaler);
	});
	losses_of_sums given = {maxima, sums, 2};
	return error ? error
	             : launch(loss_finish<losses_of_sums>, 1, FINISH_THREADS, 0, s, given, rows, scale, loss,
	                      accumulate);
}

CUDA_KERNEL(evaluate_sums)
{
	return sums_of(s, type, rows, slice, logits, targets, maxima, sums, 3);
}

CUDA_KERNEL(evaluate_count)
{
	losses_of_sums given = {maxima, sums, 3};
	return launch(evaluate_finish<losses_of_sums>, 1, FINISH_THREADS, 0, s, given, rows, loss, correct);
}
