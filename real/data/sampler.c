#include "real/data/sampler.h"

#include "kernels/mix64.h"
#include "real/rank/random.h"

#include <stdlib.h>

/* Four rounds suffice for large halves (Luby & Rackoff); small domains need more, and they cost next to nothing. */
enum { ROUNDS = 12 };

static uint64_t feistel(const uint64_t keys[ROUNDS], int half_bits, uint64_t x)
{
	uint64_t mask = (UINT64_C(1) << half_bits) - 1;
	uint64_t left = x >> half_bits, right = x & mask;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t next = left ^ (mix64(right + keys[round]) & mask);
		left = right;
		right = next;
	}
	return left << half_bits | right;
}

int64_t sampler_permute(uint64_t seed, int64_t epoch, int64_t n, int64_t i)
{
	if (n < 1 || i < 0 || i >= n || epoch < 0)
		abort();
	int half_bits = 1;
	while (half_bits < 31 && UINT64_C(1) << (2 * half_bits) < (uint64_t)n)
		half_bits++;
	if (UINT64_C(1) << (2 * half_bits) < (uint64_t)n)
		abort();

	uint64_t keys[ROUNDS];
	for (int round = 0; round < ROUNDS; round++)
		keys[round] = random_u64(seed, random_stream(RANDOM_SHUFFLE, (uint64_t)epoch), (uint64_t)round);
	uint64_t x = (uint64_t)i;
	do
		x = feistel(keys, half_bits, x);
	while (x >= (uint64_t)n);
	return (int64_t)x;
}

int64_t sampler_image(uint64_t seed, int64_t n, int64_t i)
{
	return sampler_permute(seed, i / n, n, i % n);
}

int64_t sampler_start(uint64_t seed, int64_t starts, int64_t i)
{
	if (starts < 1 || i < 0)
		abort();
	return (int64_t)(random_u64(seed, random_stream(RANDOM_TEXT, 0), (uint64_t)i) % (uint64_t)starts);
}
