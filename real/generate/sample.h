/* The next token, drawn from logits.
 *
 * With temperature 0 it is the one with the largest logit, of equal ones the first. Else logits are divided by the
 * temperature, the top_k largest stay, of these the fewest whose probabilities reach top_p, in the order in which
 * Hugging Face's transformers do it, and one is drawn. The number that decides is a function of the seed and the
 * token's position alone (real/rank/random.h).
 *
 *     struct sampler_rule rule = {.temperature = 0.8, .top_k = 40, .top_p = 1, .seed = 1};
 *     struct sampler_scratch scratch = {0};
 *     int32_t token = sample(&rule, &scratch, logits, 50257, position);
 *     sampler_scratch_release(&scratch);
 */
#ifndef SHARDLAB_GENERATE_SAMPLE_H
#define SHARDLAB_GENERATE_SAMPLE_H

#include <stdint.h>

struct sampler_rule {
	double temperature;
	int64_t top_k; /* 0: all */
	double top_p;  /* 1: all */
	uint64_t seed;
};

/* Memory for the candidates, kept from token to token. A zeroed one is released. */
struct sampler_scratch {
	struct candidate {
		float logit;
		int32_t token;
		double weight;
	} * list;
	int64_t capacity;
};

int32_t sample(const struct sampler_rule *rule, struct sampler_scratch *scratch, const float *logits, int64_t classes,
               int64_t position);
void sampler_scratch_release(struct sampler_scratch *scratch); /* accepts NULL */

#endif
