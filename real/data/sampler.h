/* The order of samples.
 *
 * Sample number i of a training run, i = step · global batch + position in the batch, is a function of (seed, i). It
 * does not depend on the ranks, so every strategy at every N sees the same data in the same order, and a rank that
 * joins late or restarts needs only the step.
 *
 * Images: every epoch goes through all n of them in a fresh random order. The order is never stored: a Feistel network
 * is a permutation of 2^b numbers for any round function; the numbers ≥ n are walked over.
 *
 *     x in [0, n) ──► Feistel on 2·h bits ──► y ≥ n ? once more : done        (2^(2h) ≥ n, so four turns on average
 *                                                                              at most)
 *     one round:  (left, right) ──► (right, left ^ (mix64(right + round's key) mod 2^h))
 *
 * Because it permutes the 2^(2h) numbers, following it from x < n comes back below n in the end, and two different x
 * never meet: cycle walking, Black & Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002, section 3.
 *
 * Text: sample i begins at a random byte, drawn anew for every i.
 */
#ifndef SHARDLAB_SAMPLER_H
#define SHARDLAB_SAMPLER_H

#include <stdint.h>

/* The place of element `i` of [0, n) in this epoch's order, a permutation of [0, n). n ≥ 1. */
int64_t sampler_permute(uint64_t seed, int64_t epoch, int64_t n, int64_t i);

/* The image that training sample `i` is, of n: epoch i / n, place i % n. */
int64_t sampler_image(uint64_t seed, int64_t n, int64_t i);

/* The start of training sample `i` in the text, in [0, starts): a remainder of 64 bits, even to 1 in 2^32 for any text
 * that fits in memory. */
int64_t sampler_start(uint64_t seed, int64_t starts, int64_t i);

#endif
