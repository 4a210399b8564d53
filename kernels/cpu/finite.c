#include "kernels/kernels.h"

/* An infinity or a NaN has all bits of its exponent set. Blocks are left early, so that the loop over one stays plain
 * enough for the compiler to vectorize. */
enum { FINITE_BLOCK = 4096 };

bool vector_is_finite_16(int64_t n, const uint16_t *x, uint16_t exponent)
{
	for (int64_t begin = 0; begin < n; begin += FINITE_BLOCK) {
		int64_t end = begin + FINITE_BLOCK < n ? begin + FINITE_BLOCK : n;
		uint16_t found = 0;
		for (int64_t i = begin; i < end; i++)
			found |= (x[i] & exponent) == exponent ? 1 : 0;
		if (found)
			return false;
	}
	return true;
}

bool vector_is_finite(int64_t n, const float *x)
{
	for (int64_t begin = 0; begin < n; begin += FINITE_BLOCK) {
		int64_t end = begin + FINITE_BLOCK < n ? begin + FINITE_BLOCK : n;
		unsigned found = 0;
		for (int64_t i = begin; i < end; i++)
			found |= !(x[i] - x[i] == 0);
		if (found)
			return false;
	}
	return true;
}
