/* The angles of rotary position embedding (Su et al. 2021, arXiv 2104.09864), and the ways to stretch them over longer
 * texts than a model was first trained on, as Hugging Face's modeling_rope_utils.py computes them.
 *
 *     struct rotary r = {.theta = 500000, .scaling = ROTARY_LLAMA3, .factor = 8, .original = 8192, .low = 1, .high =
 * 4}; float frequency[64], amplitude; rotary_frequencies(&r, 128, 4096, frequency, &amplitude);
 *
 * Pair i of a head is turned by position · theta^(−2i/size). What scaling makes of these frequencies:
 *
 *     linear     all divided by the factor (Chen et al. 2023, arXiv 2306.15595)
 *     dynamic    a larger theta, by how much the sequence exceeds the original context
 *     llama3     waves longer than original/low divided by the factor, those shorter than original/high kept, and the
 *                rest in between (Llama 3.1)
 *     yarn       pairs that turn fewer than `low` times over the original context divided by the factor, those that
 *                turn more than `high` times kept, and a ramp between them; queries and keys multiplied by
 *                0.1·ln(factor) + 1 (Peng et al. 2023, arXiv 2309.00071)
 */
#ifndef SHARDLAB_ROTARY_H
#define SHARDLAB_ROTARY_H

#include <stdint.h>

#define ROTARY_SCALINGS "none|linear|dynamic|llama3|yarn"
enum rotary_scaling { ROTARY_NONE, ROTARY_LINEAR, ROTARY_DYNAMIC, ROTARY_LLAMA3, ROTARY_YARN };

struct rotary {
	double theta;
	enum rotary_scaling scaling;
	double factor, low, high; /* low and high: of llama3 and yarn */
	int64_t original;         /* the context before scaling */
};

/* Fills frequency[size/2]. `tokens`: the length of the sequence in use. */
void rotary_frequencies(const struct rotary *r, int64_t size, int64_t tokens, float *frequency, float *amplitude);

#endif
