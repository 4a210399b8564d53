/* Shared by the products on tensor cores: how operands come to a block, how its part of C is finished, and which kernel
 * a product's operands ask for.
 *
 * An operand lies along k (a stored row has terms of one sum: A as it is, B transposed) or across it. */
#ifndef SHARDLAB_CUDA_PRODUCT_TILES_CUH
#define SHARDLAB_CUDA_PRODUCT_TILES_CUH

#include <type_traits>

#include "kernels/cuda/product.h"
#include "kernels/cuda/tiles.cuh"

/* Two elements of C that are neighbours, n being even: sums, and what is added to them. */
template <typename T>
static __device__ __forceinline__ void product_pair(const struct product &p, int row, int column, float x, float y)
{
	const int64_t place = row * p.c_stride + column;
	float bias[2] = {}, residual[2] = {};
	if (row >= p.m || column >= p.n)
		return;
	if (p.bias)
		load(static_cast<const T *>(p.bias) + column, bias);
	if (p.residual)
		load(static_cast<const T *>(p.residual) + place, residual);
	store(static_cast<T *>(p.c) + place, {x + bias[0] + residual[0], y + bias[1] + residual[1]});
}

/* Begins to copy terms [k, k + DEPTH) of SIDE rows of A, or columns of B, from `first` on:
 * Copy::begin<columns, rows, THREADS>(tile, from, stride, first row, rows that there are, columns that there are). */
template <typename Copy, bool ALONG, int SIDE, int DEPTH, int THREADS, typename T>
__device__ __forceinline__ void copy_terms(T *tile, const void *from, int64_t stride, int first, int64_t rows, int k,
                                           int64_t terms)
{
	const T *begin = static_cast<const T *>(from);
	const int step = static_cast<int>(stride);
	if constexpr (ALONG)
		Copy::template begin<DEPTH, SIDE, THREADS>(tile, begin + k, step, first, static_cast<int>(rows),
		                                           static_cast<int>(terms) - k);
	else
		Copy::template begin<SIDE, DEPTH, THREADS>(tile, begin + first, step, k, static_cast<int>(terms),
		                                           static_cast<int>(rows) - first);
}

/* Begins to copy a block's tiles of A and B: terms [k, k + DEPTH) of its rows and columns. */
template <typename Copy, bool A_ALONG, bool B_ALONG, int SIDE, int DEPTH, int THREADS, typename T>
__device__ __forceinline__ void copy_tile(const struct product &p, int first_row, int first_column, int k, T *of_a,
                                          T *of_b)
{
	copy_terms<Copy, A_ALONG, SIDE, DEPTH, THREADS>(of_a, p.a, p.a_stride, first_row, p.m, k, p.k);
	copy_terms<Copy, B_ALONG, SIDE, DEPTH, THREADS>(of_b, p.b, p.b_stride, first_column, p.n, k, p.k);
}

/* f(tag of the 16-bit type, whether A lies along k, whether B does). No layer has A across k and B along it. */
template <typename F> int with_operands(const struct product *p, F f)
{
	auto of = [&](auto tag) {
		return p->a_transposed   ? f(tag, std::false_type(), std::false_type())
		       : p->b_transposed ? f(tag, std::true_type(), std::true_type())
		                         : f(tag, std::true_type(), std::false_type());
	};
	return p->type == ELEMENT_BF16 ? of(type_tag<__nv_bfloat16>()) : of(type_tag<__half>());
}

/* A block for each `side` × `side` of C: neighbours share columns of B, which stay in the L2. */
static inline dim3 product_blocks(const struct product *p, int64_t side)
{
	return dim3(static_cast<unsigned>((p->m + side - 1) / side), static_cast<unsigned>((p->n + side - 1) / side));
}

#endif
