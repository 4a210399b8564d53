/* Attention in its simplest form: a thread makes one row, and every dot product as often as it is needed. It does heads
 * that no other version is made for. */
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/table.h"

namespace
{

constexpr int THREADS = 128;
constexpr int64_t COLUMNS = 16; /* of a row, summed up at once */

template <typename T> __device__ float dot(const T *x, const T *y, int64_t n)
{
	float sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum = fmaf(widen(x[i]), widen(y[i]), sum);
	return sum;
}

/* The head and token of this thread; false beyond the last. */
template <typename T> struct row_of_thread {
	int64_t index, token;
	bool valid;
	attention_head<T> head;

	__device__ row_of_thread(const attention_arguments &a)
	    : index(static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x), token(index % a.tokens),
	      valid(index < a.samples * a.heads * a.tokens),
	      head(a, index / a.tokens / a.heads, index / a.tokens % a.heads)
	{
	}
};

/* The score of a query and a key that it sees. */
template <typename T>
__device__ float score(const attention_arguments &a, const attention_head<T> &h, int64_t query, int64_t key)
{
	const T *qkv = static_cast<const T *>(a.qkv);
	float product = dot(qkv + h.q + query * h.qkv_row, qkv + h.k + key * h.qkv_row, a.size) * a.scale;
	return fmaf(h.slope, static_cast<float>(key - query), product);
}

template <typename T> __global__ void forward(const attention_arguments a)
{
	row_of_thread<T> r(a);
	if (!r.valid)
		return;
	const attention_head<T> &h = r.head;
	const T *qkv = static_cast<const T *>(a.qkv);
	const T *v = qkv + h.v;
	const int64_t begin = first_tile<int64_t>(r.token, a.window, 1);
	T *y = static_cast<T *>(a.y_out) + h.y + r.token * h.y_row;
	float largest = -INFINITY, sum = 0;

	for (int64_t j = begin; j <= r.token; j++)
		largest = fmaxf(largest, score(a, h, r.token, j));
	for (int64_t j = begin; j <= r.token; j++)
		sum += expf(score(a, h, r.token, j) - largest);
	a.log_sum_exp_out[r.index] = largest + logf(sum);
	for (int64_t d = 0; d < a.size; d += COLUMNS) {
		const int64_t columns = a.size - d < COLUMNS ? a.size - d : COLUMNS;
		float sums[COLUMNS] = {};
		for (int64_t j = begin; j <= r.token; j++) {
			float p = expf(score(a, h, r.token, j) - largest);
			for (int64_t i = 0; i < columns; i++)
				sums[i] = fmaf(p, widen(v[j * h.qkv_row + d + i]), sums[i]);
		}
		for (int64_t i = 0; i < columns; i++)
			narrow(sums[i] / sum, *(y + d + i));
	}
}

/* P and dS of a query and a key that it sees. */
template <typename T> struct pair_of_rows {
	float p, ds;

	__device__ pair_of_rows(const attention_arguments &a, const attention_head<T> &h, int64_t query, int64_t key)
	{
		const T *v = static_cast<const T *>(a.qkv) + h.v + key * h.qkv_row;
		const T *y = static_cast<const T *>(a.y) + h.y + query * h.y_row;
		const T *dy = static_cast<const T *>(a.dy) + h.y + query * h.y_row;
		p = expf(score(a, h, query, key) - a.log_sum_exp[h.row + query]);
		ds = p * (dot(dy, v, a.size) - dot(dy, y, a.size)) * a.scale;
	}
};

/* Computes dQ of a row. */
template <typename T> __device__ void query_row(const attention_arguments &a, const attention_head<T> &h, int64_t token)
{
	const T *k = static_cast<const T *>(a.qkv) + h.k;
	T *out = static_cast<T *>(a.dqkv) + h.q + token * h.qkv_row;
	for (int64_t d = 0; d < a.size; d += COLUMNS) {
		const int64_t columns = a.size - d < COLUMNS ? a.size - d : COLUMNS;
		float dq[COLUMNS] = {};
		for (int64_t j = first_tile<int64_t>(token, a.window, 1); j <= token; j++) {
			pair_of_rows<T> pair(a, h, token, j);
			for (int64_t i = 0; i < columns; i++)
				dq[i] = fmaf(pair.ds, widen(k[j * h.qkv_row + d + i]), dq[i]);
		}
		for (int64_t i = 0; i < columns; i++)
			narrow(dq[i], *(out + d + i));
	}
}

/* Computes dK and dV of a row, over all heads that share it, from `head` on. */
template <typename T> __device__ void key_row(const attention_arguments &a, int64_t sample, int64_t head, int64_t token)
{
	const attention_head<T> first(a, sample, head);
	const int64_t at = token * first.qkv_row;
	T *dqkv = static_cast<T *>(a.dqkv);
	for (int64_t d = 0; d < a.size; d += COLUMNS) {
		const int64_t columns = a.size - d < COLUMNS ? a.size - d : COLUMNS;
		float dk[COLUMNS] = {}, dv[COLUMNS] = {};
		for (int64_t g = 0; g < heads_a_key(a); g++) {
			const attention_head<T> h(a, sample, head + g);
			const T *q = static_cast<const T *>(a.qkv) + h.q, *dy = static_cast<const T *>(a.dy) + h.y;
			for (int64_t j = token; j < a.tokens && j < token + a.window; j++) {
				pair_of_rows<T> pair(a, h, j, token);
				for (int64_t i = 0; i < columns; i++) {
					dk[i] = fmaf(pair.ds, widen(q[j * h.qkv_row + d + i]), dk[i]);
					dv[i] = fmaf(pair.p, widen(dy[j * h.y_row + d + i]), dv[i]);
				}
			}
		}
		for (int64_t i = 0; i < columns; i++) {
			narrow(dk[i], *(dqkv + first.k + at + d + i));
			narrow(dv[i], *(dqkv + first.v + at + d + i));
		}
	}
}

template <typename T> __global__ void backward(const attention_arguments a)
{
	row_of_thread<T> r(a);
	if (!r.valid)
		return;
	const int64_t head = r.index / a.tokens % a.heads;
	query_row(a, r.head, r.token);
	if (head % heads_a_key(a) == 0)
		key_row<T>(a, r.index / a.tokens / a.heads, head, r.token);
}

int run(void (*kernel)(const attention_arguments), kernel_stream s, const attention_arguments &a)
{
	int64_t blocks = (a.samples * a.heads * a.tokens + THREADS - 1) / THREADS;
	return launch(kernel, dim3(static_cast<unsigned>(blocks)), dim3(THREADS), 0, s, a);
}

} // namespace

int attention_forward_plain(kernel_stream s, enum element type, const struct attention_arguments *a)
{
	return type == ELEMENT_FP32   ? run(forward<float>, s, *a)
	       : type == ELEMENT_BF16 ? run(forward<__nv_bfloat16>, s, *a)
	                              : run(forward<__half>, s, *a);
}

int attention_backward_plain(kernel_stream s, enum element type, const struct attention_arguments *a)
{
	return type == ELEMENT_FP32   ? run(backward<float>, s, *a)
	       : type == ELEMENT_BF16 ? run(backward<__nv_bfloat16>, s, *a)
	                              : run(backward<__half>, s, *a);
}
