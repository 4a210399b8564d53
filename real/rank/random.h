/* Random numbers by their place, not by their history.
 *
 * A counter-based generator is a function: (seed, stream, index) -> bits. There is no state, so any rank makes elements
 * [a, b) of any tensor without the ones before, at any number of ranks, and gets the bits that a single process would:
 *
 *     float shard[1000];
 *     weights_fill(seed, 7, 123000, 1000, WEIGHTS_NORMAL, 0.02, shard);    (elements 123000 … 123999 of tensor 7)
 *
 * Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 4.3; the
 * generator of cuRAND, TensorFlow and PyTorch's GPUs. tests/oracle/counter_random.py is the same in numpy.
 *
 * How the numbers are made, exactly, for whoever writes it a second time:
 *
 *     key      = low, high half of the seed
 *     counter  = low, high half of the block index, then low, high half of the stream
 *     block    = four 32-bit words; element i is word i % 4 of block i / 4
 *     uniform  = (word + 0.5) / 2^32, in (0, 1), in double
 *     normal   = Box-Muller in double, words by pairs: elements 0, 1 of a block are r·cos(t), r·sin(t) with
 *                r = sqrt(-2 ln(uniform of word 0)), t = 2π · (uniform of word 1); elements 2, 3 from words 2, 3
 *     64 bits  = words 0 (low) and 1 (high) of the block with that index
 *
 * Products with `scale` are in double and rounded to float once. |normal| stays under 6.77.
 */
#ifndef SHARDLAB_RANDOM_H
#define SHARDLAB_RANDOM_H

#include <stdint.h>

/* The purpose of a stream, in its top byte, so that weights and data never share numbers. */
enum random_purpose { RANDOM_WEIGHTS = 1, RANDOM_SHUFFLE = 2, RANDOM_TEXT = 3, RANDOM_GENERATE = 4 };

/* `which` below 2^56: the tensor, the epoch, … */
static inline uint64_t random_stream(enum random_purpose purpose, uint64_t which)
{
	return (uint64_t)purpose << 56 | which;
}

/* The four words of one block. */
void random_block(uint64_t seed, uint64_t stream, uint64_t block, uint32_t words[4]);
uint64_t random_u64(uint64_t seed, uint64_t stream, uint64_t index);

/* Elements: 0; 1; normal, mean 0, standard deviation `scale`; uniform between -scale and +scale. */
enum weights_init { WEIGHTS_ZEROS, WEIGHTS_ONES, WEIGHTS_NORMAL, WEIGHTS_UNIFORM };

/* Initial values of elements [first, first + count) of the tensor that stands at place `tensor_index` in the model's
 * order. `scale` is not looked at for zeros and ones. first and count are not negative. */
void weights_fill(uint64_t seed, uint64_t tensor_index, int64_t first, int64_t count, enum weights_init init,
                  double scale, float *out);

#endif
