/* One number for all weights of a model, however they are sharded.
 *
 * Each element gives a 64-bit hash of its place in the model and its bits; the checksum is the sum, modulo 2^64:
 *
 *     checksum = Σ_i mix64(mix64(i + 0x9e3779b97f4a7c15) ^ bits(w_i))
 *
 * Addition does not care about order, so every rank sums over the elements that it holds and the ranks' sums are added
 * (an all-reduce of uint64, which wraps as it should). The place is inside the hash, so weights that changed places
 * change the sum. It reveals mistakes, not forgeries.
 *
 *     uint64_t mine = weights_checksum(shard_first, shard_count, shard);
 *     snprintf(text, sizeof text, "%016" PRIx64, sum_over_ranks(mine));
 */
#ifndef SHARDLAB_CHECKSUM_H
#define SHARDLAB_CHECKSUM_H

#include <stdint.h>

/* The contribution of elements [first, first + count) of the model. Places count through all tensors in model order,
 * and `values` points at element `first`. Bits are compared, so -0.0 differs from 0.0, and NaNs differ. */
uint64_t weights_checksum(int64_t first, int64_t count, const float *values);

#endif
