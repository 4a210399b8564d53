/* Shared by attention's passes for compute capability 9.0: the two forms of products of which all passes consist. */
#ifndef SHARDLAB_CUDA_ATTENTION_HOPPER_CUH
#define SHARDLAB_CUDA_ATTENTION_HOPPER_CUH

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/tiles_hopper.cuh"

#if defined(SHARDLAB_EMULATE) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* products[64,RIGHT] = 64 rows of a tile of LEFT rows · (RIGHT rows)ᵀ: addresses of the first of each. */
template <typename T, int HEAD, int LEFT, int RIGHT>
static __device__ __forceinline__ void row_products(float (&products)[RIGHT / 8][4], uint32_t left, uint32_t right)
{
#pragma unroll
	for (int column = 0; column < HEAD; column += 16) {
		const uint32_t part = column / ROW * ROW_BYTES, within = column % ROW * 2;
		wgmma_shared<T>(products, wgmma_descriptor(left + part * LEFT + within, 16, 8 * ROW_BYTES),
		                wgmma_descriptor(right + part * RIGHT + within, 16, 8 * ROW_BYTES), column > 0);
	}
	wgmma_commit();
}

/* sums[64,HEAD] += weights[64,ROWS] · a tile of ROWS rows */
template <typename T, int HEAD, int ROWS>
static __device__ __forceinline__ void add_products(float (&sums)[HEAD / 8][4], const uint32_t (&weights)[ROWS / 16][4],
                                                    uint32_t right)
{
#pragma unroll
	for (int step = 0; step < ROWS / 16; step++)
		wgmma_registers<T>(sums, weights[step],
		                   wgmma_descriptor(right + step * 16 * ROW_BYTES, ROWS * ROW_BYTES, 8 * ROW_BYTES));
	wgmma_commit();
}

/* A lane holds the same of a product's result as it must hold of the next one's left operand. */
template <typename T, int STEPS>
static __device__ __forceinline__ void pack_left_operand(uint32_t (&p)[STEPS][4], const float (&s)[2 * STEPS][4])
{
#pragma unroll
	for (int step = 0; step < STEPS; step++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			p[step][i] =
			        pack_pair<T>(s[2 * step + i / 2][2 * (i % 2)], s[2 * step + i / 2][2 * (i % 2) + 1]);
}

#endif
#endif
