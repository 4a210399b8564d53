/* ALiBi: attention with linear biases in place of positions (Press et al. 2022, arXiv 2108.12409, section 3). The score
 * of a query and a key is less by slope · their distance; each head has its slope. CPU and GPU share this source. */
#ifndef SHARDLAB_ALIBI_H
#define SHARDLAB_ALIBI_H

#include <math.h>
#include <stdint.h>

#include "kernels/mix64.h"

/* The slope of head `head` of `heads`: 2^(−8·(head + 1)/heads) where heads are a power of two. Else the first half of
 * the next power has the slopes of that half, and the rest every other one of those between. The same as MPT's, BLOOM's
 * and the paper's. */
ON_ANY_DEVICE float alibi_slope(int64_t heads, int64_t head)
{
	int64_t power = 1;
	while (power < heads)
		power *= 2;
	int64_t half = power / 2;
	int64_t step = power == heads ? head + 1 : head < half ? 2 * (head + 1) : 2 * (head - half) + 1;
	return exp2f(-8.0F * (float)step / (float)power);
}

#endif
