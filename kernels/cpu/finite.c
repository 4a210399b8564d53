/* An infinity or a NaN has all bits of its exponent set. */
#include "kernels/kernels.h"

/* Blocks are left early, so that the loop over one stays plain enough for the compiler to vectorize. */
enum { FINITE_BLOCK = 4096 };

static bool finite_16(int64_t n, const uint16_t *x, uint16_t exponent)
{
	uint16_t found = 0;
	for (int64_t i = 0; i < n; i++)
		found |= (x[i] & exponent) == exponent ? 1 : 0;
	return !found;
}

static bool finite_32(int64_t n, const float *x)
{
	unsigned found = 0;
	for (int64_t i = 0; i < n; i++)
		found |= !(x[i] - x[i] == 0);
	return !found;
}

bool vector_is_finite(enum element type, int64_t n, const void *x)
{
	bool finite = true;
	for (int64_t begin = 0; begin < n && finite; begin += FINITE_BLOCK) {
		int64_t count = n - begin < FINITE_BLOCK ? n - begin : FINITE_BLOCK;
		if (type == ELEMENT_FP32)
			finite = finite_32(count, (const float *)x + begin);
		else
			finite = finite_16(count, (const uint16_t *)x + begin, type == ELEMENT_BF16 ? 0x7f80 : 0x7c00);
	}
	return finite;
}
