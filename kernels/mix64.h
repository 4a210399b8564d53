/* SplitMix64's finalizer (Steele, Lea & Flood 2014): a bijection of 64 bits in which every bit depends on every bit,
 * for the CPU and the GPU. */
#ifndef SHARDLAB_MIX64_H
#define SHARDLAB_MIX64_H

#include <stdint.h>

#ifdef __CUDACC__
#define ON_ANY_DEVICE static __host__ __device__ __forceinline__
#else
#define ON_ANY_DEVICE static inline
#endif

ON_ANY_DEVICE uint64_t mix64(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

#endif
