#include "real/rank/random.h"

#include <math.h>
#include <stdlib.h>

#include "strategy/base/work.h"

enum { ROUNDS = 10, LANES = 4, PIECE = 1 << 16 /* elements, of one thread */ };

/* The constants are the paper's, table 2 (multipliers) and section 4.3 (Weyl increments of the key). */
static const uint32_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
static const uint32_t increment_0 = 0x9E3779B9, increment_1 = 0xBB67AE85;

void random_block(uint64_t seed, uint64_t stream, uint64_t block, uint32_t words[4])
{
	uint32_t key_0 = (uint32_t)seed, key_1 = (uint32_t)(seed >> 32);
	uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
	uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t product_0 = (uint64_t)multiplier_0 * c0;
		uint64_t product_1 = (uint64_t)multiplier_1 * c2;
		c0 = (uint32_t)(product_1 >> 32) ^ c1 ^ key_0;
		c1 = (uint32_t)product_1;
		c2 = (uint32_t)(product_0 >> 32) ^ c3 ^ key_1;
		c3 = (uint32_t)product_0;
		key_0 += increment_0;
		key_1 += increment_1;
	}
	words[0] = c0;
	words[1] = c1;
	words[2] = c2;
	words[3] = c3;
}

uint64_t random_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint32_t words[LANES];
	random_block(seed, stream, index, words);
	return (uint64_t)words[1] << 32 | words[0];
}

/* Never 0, whose logarithm Box-Muller could not take, and never 1. */
static double uniform_from(uint32_t word)
{
	return (word + 0.5) * 0x1p-32;
}

static void normal_pair(uint32_t first, uint32_t second, double pair[2])
{
	static const double two_pi = 6.283185307179586;
	double radius = sqrt(-2.0 * log(uniform_from(first)));
	double angle = two_pi * uniform_from(second);
	pair[0] = radius * cos(angle);
	pair[1] = radius * sin(angle);
}

static void block_values(uint64_t seed, uint64_t stream, uint64_t block, enum weights_init init, double values[LANES])
{
	uint32_t words[LANES];
	random_block(seed, stream, block, words);
	if (init == WEIGHTS_NORMAL) {
		normal_pair(words[0], words[1], values);
		normal_pair(words[2], words[3], values + 2);
	} else {
		for (int i = 0; i < LANES; i++)
			values[i] = 2.0 * uniform_from(words[i]) - 1.0;
	}
}

/* Elements [first, first + count) of a tensor. */
struct range {
	uint64_t seed, stream;
	int64_t first, count;
	enum weights_init init;
	double scale;
	float *out;
};

/* A range may begin and end inside a block: the lanes outside are made and dropped. */
static void fill(const struct range *r, int64_t from, int64_t to)
{
	for (int64_t i = from; i < to;) {
		double values[LANES];
		int64_t lane = (r->first + i) % LANES;
		block_values(r->seed, r->stream, (uint64_t)(r->first + i) / LANES, r->init, values);
		for (; lane < LANES && i < to; lane++, i++)
			r->out[i] = (float)(values[lane] * r->scale);
	}
}

static enum status fill_piece(void *context, int i)
{
	const struct range *r = context;
	int64_t from = (int64_t)i * PIECE;
	fill(r, from, r->count - from < PIECE ? r->count : from + PIECE);
	return STATUS_OK;
}

void weights_fill(uint64_t seed, uint64_t tensor_index, int64_t first, int64_t count, enum weights_init init,
                  double scale, float *out)
{
	if (first < 0 || count < 0)
		abort();
	if (init == WEIGHTS_ZEROS || init == WEIGHTS_ONES) {
		for (int64_t i = 0; i < count; i++)
			out[i] = init == WEIGHTS_ONES ? 1.0F : 0.0F;
		return;
	}
	struct range r = {seed, random_stream(RANDOM_WEIGHTS, tensor_index), first, count, init, scale, out};
	(void)work_run(fill_piece, &r, (int)((r.count + PIECE - 1) / PIECE), r.count);
}
