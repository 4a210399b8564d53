/* Token and position embedding. Forward, a gather. Backward, tokens are sorted by their id, and the sorted list is cut
 * into chunks, each added up by one block row: common words are then no slower than rare ones. A run of one id that
 * lies within a chunk goes to the table at once; of a run that crosses chunks, each chunk leaves its part in the
 * workspace, in fp32, and the parts are added in their order. */
#include "kernels/cuda/sort.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum {
	THREADS = 256,
	WARPS = THREADS / WARP,
	CHUNK = 32,
	COLUMN_THREADS = 128,
	UNROLL = 8 /* rows under way at a time */
};

/* ---- forward ---- */

/* A row of y is a token's row, a position's, or both. `stays`: it is added to. */
struct gather_task {
	int64_t rows, tokens, first, count, width;
	const int32_t *ids;
	const void *token, *position;
	void *y;
	bool stays;
};

/* A warp a row. */
template <typename T, int V> __global__ void __launch_bounds__(THREADS) gather(gather_task t)
{
	const T *tokens = static_cast<const T *>(t.token), *positions = static_cast<const T *>(t.position);
	int lane = static_cast<int>(threadIdx.x) % WARP, width = static_cast<int>(t.width);
	int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	for (; row < t.rows; row += static_cast<int64_t>(gridDim.x) * WARPS) {
		int64_t id = tokens ? t.ids[row] - t.first : -1;
		const T *token = id >= 0 && id < t.count ? tokens + id * width : nullptr;
		const T *position = positions ? positions + row % t.tokens * width : nullptr;
		T *y = static_cast<T *>(t.y) + row * width;
		for (int column = lane * V; column < width; column += WARP * V) {
			float sum[V] = {}, x[V] = {};
			if (t.stays)
				load(y + column, sum);
			if (token)
				load(token + column, sum);
			if (position)
				load(position + column, x);
#pragma unroll
			for (int v = 0; v < V; v++)
				sum[v] += x[v];
			store(y + column, sum);
		}
	}
}

/* ---- backward: positions ---- */

template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
        position_rows(int64_t samples, int64_t tokens, int64_t context, int64_t first, int width, const T *dy, T *table,
                      bool accumulate)
{
	int64_t packs = width / V, i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
	int64_t row = i / packs, token = row - first, column = i % packs * V, stride = tokens * width;
	if (row >= context)
		return;
	float sum[V] = {};
	T *to = table + row * width + column;
	if (accumulate)
		load(to, sum);
	if (token >= 0 && token < tokens) {
		const T *from = dy + token * width + column;
#pragma unroll 4
		for (int64_t sample = 0; sample < samples; sample++) {
			float x[V];
			load(from + sample * stride, x);
#pragma unroll
			for (int v = 0; v < V; v++)
				sum[v] += x[v];
		}
	}
	store(to, sum);
}

/* ---- backward: tokens ---- */

template <typename T> struct runs_task {
	int n, width;
	int32_t count; /* keys from here on are of no row */
	const int32_t *keys, *tokens;
	const T *dy;
	T *table;
	bool accumulate;
	float *parts; /* [chunks][2][V][width/V]: of the run that came from the chunk before, and of the one that goes
	                 on */
};

/* `old`: what is there, where it is added to. */
template <typename T, int V>
__device__ __forceinline__ void row_store(const runs_task<T> &t, T *to, const pack<T, V> &old, const float (&sum)[V])
{
	float all[V];
#pragma unroll
	for (int v = 0; v < V; v++)
		all[v] = t.accumulate ? widen(old.at[v]) + sum[v] : sum[v];
	store(to, all);
}

template <typename T, int V> __global__ void __launch_bounds__(COLUMN_THREADS) runs_add(runs_task<T> t)
{
	__shared__ int32_t keys[CHUNK + 1], tokens[CHUNK];
	int begin = static_cast<int>(blockIdx.x) * CHUNK, thread = static_cast<int>(threadIdx.x);
	if (thread <= CHUNK)
		keys[thread] = begin + thread < t.n ? t.keys[begin + thread] : INT32_MAX;
	if (thread < CHUNK && begin + thread < t.n)
		tokens[thread] = t.tokens[begin + thread];
	__syncthreads();
	int32_t before = begin ? t.keys[begin - 1] : -1;
	int column = (static_cast<int>(blockIdx.y) * COLUMN_THREADS + thread) * V;
	const int packs = t.width / V;
	float *parts = t.parts + static_cast<int64_t>(blockIdx.x) * 2 * t.width + column / V, sum[V] = {};
	/* keys are sorted: those of no row, and beyond the last, come last */
	for (int first = 0; column < t.width && first < CHUNK && keys[first] < t.count; first += UNROLL) {
		pack<T, V> x[UNROLL], old[UNROLL];
#pragma unroll
		for (int u = 0; u < UNROLL; u++)
			if (keys[first + u] < t.count) {
				pack_load(t.dy + static_cast<int64_t>(tokens[first + u]) * t.width + column, x[u]);
				if (t.accumulate && keys[first + u] != keys[first + u + 1])
					pack_load(t.table + static_cast<int64_t>(keys[first + u]) * t.width + column,
					          old[u]);
			}
#pragma unroll
		for (int u = 0; u < UNROLL; u++) {
			const int32_t key = keys[first + u];
			if (key >= t.count)
				break;
#pragma unroll
			for (int v = 0; v < V; v++)
				sum[v] += widen(x[u].at[v]);
			bool from_before = key == before && keys[0] == key, ends = keys[first + u + 1] != key;
			if (ends && !from_before) {
				row_store<T, V>(t, t.table + static_cast<int64_t>(key) * t.width + column, old[u], sum);
			} else if (ends || first + u + 1 == CHUNK) {
#pragma unroll
				for (int v = 0; v < V; v++)
					parts[(from_before ? 0 : t.width) + v * packs] = sum[v];
			}
#pragma unroll
			for (int v = 0; v < V; v++)
				sum[v] = ends ? 0 : sum[v];
		}
	}
	__syncthreads();
}

/* The chunk in which a run begins that goes on in others adds up its parts. */
template <typename T, int V> __global__ void __launch_bounds__(COLUMN_THREADS) runs_finish(runs_task<T> t)
{
	int chunk = static_cast<int>(blockIdx.x), end = (chunk + 1) * CHUNK, chunks = static_cast<int>(gridDim.x);
	int column = (static_cast<int>(blockIdx.y) * COLUMN_THREADS + static_cast<int>(threadIdx.x)) * V;
	if (end >= t.n || column >= t.width)
		return;
	int32_t key = t.keys[end - 1];
	if (key >= t.count || t.keys[end] != key || (chunk && t.keys[chunk * CHUNK - 1] == key))
		return;
	/* the last chunk that the run reaches, by halves: keys are sorted */
	int last = chunk + 1, beyond = chunks;
	while (beyond - last > 1) {
		int middle = (last + beyond) / 2;
		if (t.keys[middle * CHUNK] == key)
			last = middle;
		else
			beyond = middle;
	}
	int64_t stride = 2 * static_cast<int64_t>(t.width);
	int packs = t.width / V;
	float sum[V], x[V];
	const float *parts = t.parts + column / V, *own = parts + chunk * stride + t.width;
#pragma unroll
	for (int v = 0; v < V; v++)
		sum[v] = own[v * packs];
#pragma unroll 4
	for (int c = chunk + 1; c <= last; c++) {
#pragma unroll
		for (int v = 0; v < V; v++)
			x[v] = parts[c * stride + v * packs];
#pragma unroll
		for (int v = 0; v < V; v++)
			sum[v] += x[v];
	}
	T *to = t.table + static_cast<int64_t>(key) * t.width + column;
	pack<T, V> old;
	if (t.accumulate)
		pack_load(to, old);
	row_store<T, V>(t, to, old, sum);
}

/* ---- calling them ---- */

int gather_rows(struct kernel_context *c, kernel_stream s, enum element type, const gather_task &t)
{
	return t.rows * t.width == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(t.width, {t.token, t.position, t.y}, [&](auto lanes) {
			return launch(gather<T, lanes>, blocks_for(t.rows, WARPS, passing_blocks(c)), THREADS, 0, s, t);
		});
	});
}

template <typename T>
int token_rows(struct kernel_context *c, kernel_stream s, int64_t n, int64_t width, const struct class_slice *slice,
               const int32_t *ids, const T *dy, T *table, bool accumulate)
{
	int64_t chunks = (n + CHUNK - 1) / CHUNK, scratch = (sort_scratch(n) + 63) / 64 * 64;
	int32_t *numbers = static_cast<int32_t *>(c->workspace);
	float *parts = reinterpret_cast<float *>(numbers + scratch);
	const int32_t *keys, *order;
	int error = 0;
	if (static_cast<size_t>(scratch + chunks * 2 * width) * sizeof *parts > c->workspace_bytes)
		return CUDA_ERROR_WORKSPACE;
	if (n > INT32_MAX / 2 || slice->stride > INT32_MAX)
		return CUDA_ERROR_SHAPE;
	if (!accumulate)
		error = device_fill(s, table, 0, static_cast<size_t>(slice->stride * width) * sizeof *table);
	if (error || n * width == 0)
		return error;
	error = sort_tokens(s, n, ids, slice->first, slice->count, numbers, &keys, &order);
	if (error)
		return error;
	runs_task<T> t = {static_cast<int>(n),
	                  static_cast<int>(width),
	                  static_cast<int32_t>(slice->count),
	                  keys,
	                  order,
	                  dy,
	                  table,
	                  accumulate,
	                  parts};
	return with_lanes<T>(width, {dy, table}, [&](auto lanes) {
		constexpr int V = decltype(lanes)::value;
		dim3 grid(static_cast<unsigned>(chunks), blocks_for(width, COLUMN_THREADS * V, 65535));
		int failed = launch(runs_add<T, V>, grid, COLUMN_THREADS, 0, s, t);
		return failed ? failed : launch(runs_finish<T, V>, grid, COLUMN_THREADS, 0, s, t);
	});
}

} // namespace

CUDA_KERNEL(embedding_forward)
{
	return gather_rows(c, s, type,
	                   {samples * tokens, tokens, 0, INT32_MAX, width, ids, token_table, position_table, y, false});
}

CUDA_KERNEL(embedding_sliced_forward)
{
	return gather_rows(
	        c, s, type,
	        {samples * tokens, tokens, slice->first, slice->count, width, ids, token_table, nullptr, y, false});
}

CUDA_KERNEL(embedding_finish)
{
	return gather_rows(c, s, type,
	                   {samples * tokens, tokens, 0, 0, width, nullptr, nullptr, position_table, y, true});
}

CUDA_KERNEL(embedding_sliced_backward)
{
	return with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		const T *d = static_cast<const T *>(dy);
		T *position = static_cast<T *>(dposition_table);
		int error = token_rows<T>(c, s, samples * tokens, width, slice, ids, d, static_cast<T *>(dtoken_table),
		                          accumulate_token);
		if (error || context * width == 0)
			return error;
		return with_lanes<T>(width, {d, position}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value;
			return launch(position_rows<T, V>, blocks_for(context * width / V, THREADS, INT32_MAX), THREADS,
			              0, s, samples, tokens, context, first, static_cast<int>(width), d, position,
			              accumulate_position);
		});
	});
}

CUDA_KERNEL(embedding_backward)
{
	struct class_slice all = {0, vocabulary, vocabulary};
	return cuda_embedding_sliced_backward(c, s, type, samples, tokens, width, &all, context, first, ids, dy,
	                                      dtoken_table, accumulate_token, dposition_table, accumulate_position);
}
