/* LayerNorm, and RMSNorm: the same with a mean of 0 and without bias. A warp has a row, or where its registers do not
 * take one, a block, so that memory is read once; the weights come out of the cache.
 *
 * Backward, blocks stay for many rows, and threads also add up their rows' part of dweight and dbias. A block's warps
 * are added up in shared memory, blocks leave their sums in the workspace, and a second kernel adds those: always in
 * the same order. */
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 256, WARPS = THREADS / WARP };
const float EPSILON = 1e-5F;

struct norm_task {
	int64_t rows;
	int width;
	float inverse_width, epsilon;
};

/* A row's statistics: mean and 1/std, or 1/root mean square alone. */
struct row_numbers {
	float mean, inverse;
};

template <bool RMS> __device__ __forceinline__ row_numbers numbers_load(const float *statistics, int64_t row)
{
	return RMS ? row_numbers{0, statistics[row]} : row_numbers{statistics[2 * row], statistics[2 * row + 1]};
}

template <bool RMS> __device__ __forceinline__ void numbers_store(float *statistics, int64_t row, const row_numbers &n)
{
	if (RMS) {
		statistics[row] = n.inverse;
	} else {
		statistics[2 * row] = n.mean;
		statistics[2 * row + 1] = n.inverse;
	}
}

/* Sums over the threads that share a row: a warp, or the block. */
template <int SHARERS, int N> __device__ __forceinline__ void row_sums(float (&sums)[N])
{
#pragma unroll
	for (int i = 0; i < N; i++)
		sums[i] = warp_reduce(sums[i], sum_of());
	if constexpr (SHARERS > WARP) {
		__shared__ float parts[WARPS][N];
		__syncthreads(); /* an earlier call's values have been read */
		if (threadIdx.x % WARP == 0)
#pragma unroll
			for (int i = 0; i < N; i++)
				parts[threadIdx.x / WARP][i] = sums[i];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < N; i++) {
			sums[i] = 0;
#pragma unroll
			for (int w = 0; w < WARPS; w++)
				sums[i] += parts[w][i];
		}
	}
}

/* ---- forward ---- */

/* Blocks of a multiprocessor that leave each thread the registers for P packs. */
constexpr int blocks_of_packs(int packs)
{
	return packs <= 3 ? 4 : packs <= 4 ? 3 : packs <= 6 ? 2 : 1;
}

/* Rows of up to P packs of 16 bytes for each of their threads. */
template <typename T, int P, int SHARERS, bool RMS>
__global__ void __launch_bounds__(THREADS, blocks_of_packs(P))
        forward_registers(norm_task t, const T *x, const T *weight, const T *bias, T *y, float *statistics)
{
	constexpr int V = lanes_of<T>();
	int lane = static_cast<int>(threadIdx.x) % SHARERS, packs = t.width / V;
	int64_t row = static_cast<int64_t>(blockIdx.x) * (THREADS / SHARERS) + threadIdx.x / SHARERS;
	if (row >= t.rows)
		return;
	float v[P][V], sum[1] = {}, squares[1] = {}, mean = 0;
#pragma unroll
	for (int p = 0; p < P; p++) {
		if (lane + p * SHARERS < packs)
			load(x + row * t.width + (lane + p * SHARERS) * V, v[p]);
		else
			for (int i = 0; i < V; i++)
				v[p][i] = 0;
	}
	if constexpr (!RMS) {
#pragma unroll
		for (int p = 0; p < P; p++)
#pragma unroll
			for (int i = 0; i < V; i++)
				sum[0] += v[p][i];
		row_sums<SHARERS>(sum);
		mean = sum[0] * t.inverse_width;
	}
#pragma unroll
	for (int p = 0; p < P; p++)
		if (lane + p * SHARERS < packs)
#pragma unroll
			for (int i = 0; i < V; i++)
				squares[0] += (v[p][i] - mean) * (v[p][i] - mean);
	row_sums<SHARERS>(squares);
	float inverse = 1 / sqrtf(squares[0] * t.inverse_width + t.epsilon);
#pragma unroll
	for (int p = 0; p < P; p++)
		if (lane + p * SHARERS < packs) {
			pack<T, V> w, b = {};
			pack_load(weight + (lane + p * SHARERS) * V, w);
			if (!RMS && bias)
				pack_load(bias + (lane + p * SHARERS) * V, b);
#pragma unroll
			for (int i = 0; i < V; i++) {
				v[p][i] = (v[p][i] - mean) * inverse * widen(w.at[i]);
				if constexpr (!RMS)
					v[p][i] += widen(b.at[i]);
			}
			store(y + row * t.width + (lane + p * SHARERS) * V, v[p]);
		}
	if (statistics && lane == 0)
		numbers_store<RMS>(statistics, row, {mean, inverse});
}

/* Rows of any width, at any address: read three times, of which the cache has two. */
template <typename T, bool RMS>
__global__ void __launch_bounds__(THREADS)
        forward_any(norm_task t, const T *x, const T *weight, const T *bias, T *y, float *statistics)
{
	int lane = static_cast<int>(threadIdx.x) % WARP;
	int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	for (; row < t.rows; row += static_cast<int64_t>(gridDim.x) * WARPS) {
		const T *in = x + row * t.width;
		float sum = 0, squares = 0;
		for (int i = lane; !RMS && i < t.width; i += WARP)
			sum += widen(in[i]);
		float mean = RMS ? 0 : warp_reduce(sum, sum_of()) * t.inverse_width;
		for (int i = lane; i < t.width; i += WARP)
			squares += (widen(in[i]) - mean) * (widen(in[i]) - mean);
		float inverse = 1 / sqrtf(warp_reduce(squares, sum_of()) * t.inverse_width + t.epsilon);
		for (int i = lane; i < t.width; i += WARP)
			narrow((widen(in[i]) - mean) * inverse * widen(weight[i]) + (RMS || !bias ? 0 : widen(bias[i])),
			       y[row * t.width + i]);
		if (statistics && lane == 0)
			numbers_store<RMS>(statistics, row, {mean, inverse});
	}
}

/* ---- backward: g = dy·weight, dx = (g − mean(g) − x̂·mean(g·x̂)) / std ---- */

/* The warps' sums, through shared memory: [WARPS][2][columns]. */
template <typename T, int P>
__device__ __forceinline__ void warps_add(const float (&dweight)[P][lanes_of<T>()],
                                          const float (&dbias)[P][lanes_of<T>()], int width, float *part)
{
	constexpr int V = lanes_of<T>(), COLUMNS = P * V * WARP;
	const int thread = static_cast<int>(threadIdx.x);
	float *sums = shared_memory<float>(), *own = sums + thread / WARP * 2 * COLUMNS + thread % WARP * V;
#pragma unroll
	for (int p = 0; p < P; p++) {
		store(own + p * WARP * V, dweight[p]);
		store(own + COLUMNS + p * WARP * V, dbias[p]);
	}
	__syncthreads();
	for (int column = thread; column < width; column += THREADS) {
		float weight = 0, bias = 0;
#pragma unroll
		for (int warp = 0; warp < WARPS; warp++) {
			weight += sums[2 * warp * COLUMNS + column];
			bias += sums[(2 * warp + 1) * COLUMNS + column];
		}
		part[column] = weight;
		part[width + column] = bias;
	}
}

/* Two blocks a multiprocessor where registers allow it: one warp reads while another adds up. */
template <typename T, int P, int SHARERS, bool RMS>
__global__ void __launch_bounds__(THREADS, P <= 3 ? 2 : 1)
        backward_registers(norm_task t, const T *dy, const T *x, const float *statistics, const T *weight, T *dx,
                           bool accumulate, float *parts)
{
	constexpr int V = lanes_of<T>();
	constexpr int ROWS = THREADS / SHARERS; /* of a block, at once */
	float *part = parts + static_cast<int64_t>(blockIdx.x) * 2 * t.width;
	int lane = static_cast<int>(threadIdx.x) % SHARERS, packs = t.width / V;
	float dweight[P][V] = {}, dbias[P][V] = {};
	int64_t step = static_cast<int64_t>(gridDim.x) * ROWS;
	for (int64_t row = static_cast<int64_t>(blockIdx.x) * ROWS + threadIdx.x / SHARERS; row < t.rows; row += step) {
		pack<T, V> d[P], v[P], w[P], before[P];
		const auto [mean, inverse] = numbers_load<RMS>(statistics, row);
		float sums[2] = {};
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * SHARERS < packs) {
				int64_t at = row * t.width + (lane + p * SHARERS) * V;
				pack_load(dy + at, d[p]);
				pack_load(x + at, v[p]);
				pack_load(weight + (lane + p * SHARERS) * V, w[p]);
				if (accumulate)
					pack_load(dx + at, before[p]);
			}
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * SHARERS < packs)
#pragma unroll
				for (int i = 0; i < V; i++) {
					float one = widen(d[p].at[i]), g = one * widen(w[p].at[i]);
					float centred = widen(v[p].at[i]) - mean;
					sums[0] += g;
					sums[1] += g * centred;
					dweight[p][i] += one * inverse * centred;
					dbias[p][i] += one;
				}
		row_sums<SHARERS>(sums);
		/* dx = g·inverse + centred·slope + offset */
		float slope = -sums[1] * t.inverse_width * inverse * inverse * inverse;
		float offset = RMS ? 0 : -sums[0] * t.inverse_width * inverse;
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * SHARERS < packs) {
				float out[V];
#pragma unroll
				for (int i = 0; i < V; i++) {
					float g = widen(d[p].at[i]) * widen(w[p].at[i]);
					out[i] = g * inverse + ((widen(v[p].at[i]) - mean) * slope + offset);
					if (accumulate)
						out[i] += widen(before[p].at[i]);
				}
				store(dx + row * t.width + (lane + p * SHARERS) * V, out);
			}
	}
	if constexpr (SHARERS == WARP) {
		warps_add<T, P>(dweight, dbias, t.width, part);
	} else {
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * SHARERS < packs) {
				store(part + (lane + p * SHARERS) * V, dweight[p]);
				store(part + t.width + (lane + p * SHARERS) * V, dbias[p]);
			}
	}
}

template <typename T, bool RMS>
__global__ void __launch_bounds__(THREADS) backward_any(norm_task t, const T *dy, const T *x, const float *statistics,
                                                        const T *weight, T *dx, bool accumulate)
{
	int lane = static_cast<int>(threadIdx.x) % WARP;
	int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	for (; row < t.rows; row += static_cast<int64_t>(gridDim.x) * WARPS) {
		int64_t at = row * t.width;
		const auto [mean, inverse] = numbers_load<RMS>(statistics, row);
		float sum = 0, product = 0;
		for (int i = lane; i < t.width; i += WARP) {
			float g = widen(dy[at + i]) * widen(weight[i]);
			sum += g;
			product += g * ((widen(x[at + i]) - mean) * inverse);
		}
		float mean_g = RMS ? 0 : warp_reduce(sum, sum_of()) * t.inverse_width;
		float mean_product = warp_reduce(product, sum_of()) * t.inverse_width;
		for (int i = lane; i < t.width; i += WARP) {
			float g = widen(dy[at + i]) * widen(weight[i]);
			float normal = (widen(x[at + i]) - mean) * inverse;
			float out = (g - mean_g - normal * mean_product) * inverse;
			narrow(accumulate ? widen(dx[at + i]) + out : out, dx[at + i]);
		}
	}
}

/* Adds a row to the sums of a column, for columns.cuh. */
template <typename T, bool RMS> struct weight_columns {
	int width;
	const T *dy, *x;
	const float *statistics;
	__device__ void operator()(int64_t row, int column, float *sum) const
	{
		float d = widen(dy[row * width + column]);
		const auto [mean, inverse] = numbers_load<RMS>(statistics, row);
		sum[0] += d * ((widen(x[row * width + column]) - mean) * inverse);
		sum[1] += d;
	}
};

/* ---- choosing ---- */

/* Packs of a thread; more would not leave registers for enough warps, and backward for anything else. */
enum { MOST_PACKS = 8, MOST_PACKS_BACKWARD = 6 };

/* f(P, SHARERS) for rows in packs, P being no more than MOST; any() where no block's registers take one. */
template <int MOST, typename F, typename G> int with_packs(int64_t packs, F f, G any)
{
	auto with_sharers = [&](auto sharers) {
		int64_t each = (packs + sharers - 1) / sharers;
		/* what a warp does not take may be more than one pack for each thread of a block */
		if constexpr (sharers == WARP || MOST * WARP < THREADS)
			if (each <= 1)
				return f(std::integral_constant<int, 1>(), sharers);
		return each <= 2   ? f(std::integral_constant<int, 2>(), sharers)
		       : each <= 3 ? f(std::integral_constant<int, 3>(), sharers)
		       : each <= 4 ? f(std::integral_constant<int, 4>(), sharers)
		       : each <= 6 ? f(std::integral_constant<int, 6>(), sharers)
		                   : f(std::integral_constant<int, MOST>(), sharers);
	};
	if (packs <= MOST * WARP)
		return with_sharers(std::integral_constant<int, WARP>());
	return packs <= MOST * THREADS ? with_sharers(std::integral_constant<int, THREADS>()) : any();
}

template <bool RMS>
int forward_run(struct kernel_context *c, kernel_stream s, enum element type, const norm_task &t, const void *x,
                const void *weight, const void *bias, void *y, float *statistics)
{
	int64_t most = static_cast<int64_t>(c->multiprocessors) * 8;
	return with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		const T *in = static_cast<const T *>(x), *w = static_cast<const T *>(weight);
		const T *b = static_cast<const T *>(bias);
		T *out = static_cast<T *>(y);
		auto any = [&] {
			return launch(forward_any<T, RMS>, blocks_for(t.rows, WARPS, most), THREADS, 0, s, t, in, w, b,
			              out, statistics);
		};
		if (!in_packs(t.width, lanes_of<T>(), {x, weight, bias, y}))
			return any();
		return with_packs<MOST_PACKS>(
		        t.width / lanes_of<T>(),
		        [&](auto packs, auto sharers) {
			        unsigned blocks = blocks_for(t.rows, THREADS / sharers, INT32_MAX);
			        return launch(forward_registers<T, packs, sharers, RMS>, blocks, THREADS, 0, s, t, in,
			                      w, b, out, statistics);
		        },
		        any);
	});
}

/* The inputs dy, x and their rows' statistics, and the gradients to fill; dbias may be NULL. */
struct backward_task {
	norm_task norm;
	const void *dy, *x, *weight;
	const float *statistics;
	void *dx, *dweight, *dbias;
	bool accumulate_x, accumulate_weight, accumulate_bias;
};

template <bool RMS>
int backward_run(struct kernel_context *c, kernel_stream s, enum element type, const backward_task &b)
{
	const norm_task &t = b.norm;
	int64_t processors = c->multiprocessors, most = columns_most_parts(c, 2, t.width);
	float *parts = static_cast<float *>(c->workspace);
	if (most < 1)
		return CUDA_ERROR_WORKSPACE;
	return with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		const T *d = static_cast<const T *>(b.dy), *in = static_cast<const T *>(b.x);
		const T *w = static_cast<const T *>(b.weight);
		T *out = static_cast<T *>(b.dx);
		T *sums[] = {static_cast<T *>(b.dweight), static_cast<T *>(b.dbias)};
		bool accumulate[] = {b.accumulate_weight, b.accumulate_bias};
		unsigned blocks = 0;
		auto any = [&] {
			int error = launch(backward_any<T, RMS>, blocks_for(t.rows, WARPS, processors * 8), THREADS, 0,
			                   s, t, d, in, b.statistics, w, out, b.accumulate_x);
			weight_columns<T, RMS> add = {t.width, d, in, b.statistics};
			return error ? error
			             : columns_parts<2>(s, add, t.rows, t.width, smaller(most, processors * 2), parts,
			                                &blocks);
		};
		auto registers = [&](auto packs, auto sharers) {
			/* what blocks leave in the workspace is little beside what they read */
			bool whole = sharers == THREADS;
			blocks = blocks_for(t.rows, THREADS / sharers, smaller(most, processors * (whole ? 4 : 2)));
			return launch(backward_registers<T, packs, sharers, RMS>, blocks, THREADS,
			              whole ? 0 : 2 * packs * lanes_of<T>() * THREADS * sizeof(float), s, t, d, in,
			              b.statistics, w, out, b.accumulate_x, parts);
		};
		int error = in_packs(t.width, lanes_of<T>(), {b.dy, b.x, b.weight, b.dx})
		                    ? with_packs<MOST_PACKS_BACKWARD>(t.width / lanes_of<T>(), registers, any)
		                    : any();
		return error ? error : columns_finish<2>(s, t.width, blocks, parts, sums, accumulate);
	});
}

norm_task task_of(int64_t rows, int64_t width, float epsilon)
{
	return {rows, static_cast<int>(width), 1 / static_cast<float>(width), epsilon};
}

} // namespace

CUDA_KERNEL(norm_forward)
{
	return forward_run<false>(c, s, type, task_of(rows, width, EPSILON), x, weight, bias, y, statistics);
}

CUDA_KERNEL(rms_norm_forward)
{
	return forward_run<true>(c, s, type, task_of(rows, width, epsilon), x, weight, nullptr, y, statistics);
}

CUDA_KERNEL(norm_backward)
{
	return backward_run<false>(c, s, type,
	                           {task_of(rows, width, 0), dy, x, weight, statistics, dx, dweight, dbias,
	                            accumulate_x, accumulate_weight, accumulate_bias});
}

CUDA_KERNEL(rms_norm_backward)
{
	return backward_run<true>(c, s, type,
	                          {task_of(rows, width, 0), dy, x, weight, statistics, dx, dweight, nullptr,
	                           accumulate_x, accumulate_weight, false});
}
