#include "real/rank/checksum.h"

#include "kernels/mix64.h"

#include <string.h>

uint64_t weights_checksum(int64_t first, int64_t count, const float *values)
{
	/* Without the offset, place 0 would be mix64's fixed point 0, and a zero there would leave no mark. */
	static const uint64_t offset = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t sum = 0;
	for (int64_t i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, &values[i], sizeof bits);
		sum += mix64(mix64((uint64_t)(first + i) + offset) ^ bits);
	}
	return sum;
}
