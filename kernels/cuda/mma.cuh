/* Tensor cores and the copies that feed them, as functions. Their registers are those of the PTX ISA (9.7.14.5.8,
 * "Matrix Fragments for mma.m16n8k16 with floating point type"); lane = 4·group + place:
 *
 *     A[16,16]  a[0] row group,   columns 2·place, +1      a[2] the same, columns + 8
 *               a[1] row group+8, columns 2·place, +1      a[3] the same, columns + 8
 *     B[16,8]   b[0] rows 2·place, +1, column group        b[1] rows + 8
 *     D[16,8]   d[0], d[1] row group, columns 2·place, +1  d[2], d[3] row group+8
 *
 * Two 16-bit elements stand in one register, the first in its lower half.
 */
#ifndef SHARDLAB_CUDA_MMA_CUH
#define SHARDLAB_CUDA_MMA_CUH

#include "kernels/cuda/device.cuh"

#ifdef SHARDLAB_EMULATE

static inline float mma_element(__nv_bfloat16, uint16_t bits)
{
	return __bfloat162float(__nv_bfloat16{bits});
}
static inline float mma_element(__half, uint16_t bits)
{
	return __half2float(__half{bits});
}

static inline uint32_t shared_address(const void *p)
{
	return emulate_shared_address(p);
}
static inline const void *shared_pointer(uint32_t address)
{
	return emulate_shared_at(address);
}

struct mma_registers {
	uint32_t a[4], b[2];
};

/* The first or second element of a register. */
template <typename T> float mma_half(uint32_t pair, int second)
{
	return mma_element(T{}, static_cast<uint16_t>(pair >> 16 * second));
}

/* Registers of all lanes become their shares of A · B. */
template <typename T> void mma_together(unsigned char *slots)
{
	float a[16][16], b[16][8], d[16][8] = {};
	for (int lane = 0; lane < 32; lane++) {
		mma_registers r;
		const int group = lane / 4, place = lane % 4 * 2;
		memcpy(&r, slots + EMULATE_SLOT * lane, sizeof r);
		for (int i = 0; i < 8; i++)
			a[group + i / 2 % 2 * 8][place + i % 2 + i / 4 * 8] = mma_half<T>(r.a[i / 2], i % 2);
		for (int i = 0; i < 4; i++)
			b[place + i % 2 + i / 2 * 8][group] = mma_half<T>(r.b[i / 2], i % 2);
	}
	for (int row = 0; row < 16; row++)
		for (int k = 0; k < 16; k++)
			for (int column = 0; column < 8; column++)
				d[row][column] += a[row][k] * b[k][column];
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < 4; i++)
			memcpy(slots + EMULATE_SLOT * lane + 4 * i, &d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2],
			       sizeof(float));
}

/* D += A · B, T is __nv_bfloat16 or __half */
template <typename T> void mma_m16n8k16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
	mma_registers mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
	float share[4];
	const unsigned char *slots = emulate_exchange(~0U, &mine, sizeof mine, "mma", mma_together<T>);
	memcpy(share, slots + EMULATE_SLOT * emulate_lane(), sizeof share);
	for (int i = 0; i < 4; i++)
		d[i] += share[i];
}

/* Matrices of 8 × 8 elements from shared memory: lane 8·i + j names row j (16 bytes) of matrix i; then r[i] holds of
 * matrix i row lane / 4, columns 2·(lane % 4), +1, or, transposed, rows and columns exchanged. */
template <int COUNT, bool TRANSPOSED> __forceinline__ void emulate_ldmatrix(uint32_t *r, const void *row)
{
	int lane = emulate_lane();
	uint16_t mine[8] = {};
	if (lane < 8 * COUNT)
		emulate_load(mine, row, sizeof mine, sizeof mine);
	const unsigned char *slots = emulate_exchange(~0U, mine, sizeof mine, "ldmatrix");
	for (int i = 0; i < COUNT; i++) {
		uint16_t pair[2];
		for (int j = 0; j < 2; j++) {
			int line = TRANSPOSED ? lane % 4 * 2 + j : lane / 4,
			    column = TRANSPOSED ? lane / 4 : lane % 4 * 2 + j;
			memcpy(pair + j, slots + EMULATE_SLOT * (8 * i + line) + 2 * column, sizeof *pair);
		}
		r[i] = pair[0] | static_cast<uint32_t>(pair[1]) << 16;
	}
}
static __forceinline__ void ldmatrix_x4(uint32_t r[4], const void *row)
{
	emulate_ldmatrix<4, false>(r, row);
}
static __forceinline__ void ldmatrix_x4_transposed(uint32_t r[4], const void *row)
{
	emulate_ldmatrix<4, true>(r, row);
}
/* 16 bytes from global to shared memory, past the registers; 0s where it is not valid (`from` is then not read). */
static __forceinline__ void cp_async_16(void *to, const void *from, bool valid = true)
{
	emulate_copy(to, from, 16, valid ? 16 : 0);
}
/* The same of 4 bytes. */
static inline void cp_async_4(void *to, const void *from, bool valid)
{
	emulate_copy(to, from, 4, valid ? 4 : 0);
}
static inline void cp_async_commit()
{
	emulate_copy_commit();
}
/* Until at most so many of this thread's groups are under way. What other threads copied needs a barrier after it. */
template <int GROUPS> void cp_async_wait()
{
	emulate_copy_wait(GROUPS);
}

#else

template <typename T>
__device__ __forceinline__ void mma_m16n8k16(float d[4], const uint32_t a[4], const uint32_t b[2]);

template <>
__device__ __forceinline__ void mma_m16n8k16<__nv_bfloat16>(float d[4], const uint32_t a[4], const uint32_t b[2])
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
	             "{%0,%1,%2,%3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <> __device__ __forceinline__ void mma_m16n8k16<__half>(float d[4], const uint32_t a[4], const uint32_t b[2])
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
	             "{%0,%1,%2,%3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
static __device__ __forceinline__ const void *shared_pointer(uint32_t address)
{
	return __cvta_shared_to_generic(address);
}

static __device__ __forceinline__ void ldmatrix_x4(uint32_t r[4], const void *row)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
	             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
	             : "r"(shared_address(row))
	             : "memory");
}
static __device__ __forceinline__ void ldmatrix_x4_transposed(uint32_t r[4], const void *row)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
	             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
	             : "r"(shared_address(row))
	             : "memory");
}
static __device__ __forceinline__ void cp_async_16(void *to, const void *from, bool valid = true)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
	             "l"(__cvta_generic_to_global(from)), "r"(valid ? 16 : 0)
	             : "memory");
}
static __device__ __forceinline__ void cp_async_4(void *to, const void *from, bool valid)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)),
	             "l"(__cvta_generic_to_global(from)), "r"(valid ? 4 : 0)
	             : "memory");
}
static __device__ __forceinline__ void cp_async_commit()
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int GROUPS> static __device__ __forceinline__ void cp_async_wait()
{
	asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

#endif
#endif
