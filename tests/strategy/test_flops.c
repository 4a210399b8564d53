/* Model FLOPs of a sample, against what the formula of strategy/model/flops.h gives by hand. */
#include "strategy/model/flops.h"
#include "strategy/model/slice.h"
#include "tests/support/suite.h"

/* A transformer of 2 layers, width 8, 2 heads, on 4 tokens, of 16 words. A layer of GPT-2 has products of 8 × 24, 8 ×
 * 8, 8 × 32, 32 × 8, one of Llama, with one head of keys and hidden 24, 8 × 16, 8 × 8, 8 × 48, 24 × 8; the head 8 × 16.
 */
enum { TOKENS = 4, GPT = 2 * 768 + 128, LLAMA = 2 * 768 + 128, ATTENTION = 2 * 2 * 8 * TOKENS * TOKENS };

static const struct {
	const char *specification;
	double forward;
} rows[] = {
        {"mlp:sizes=20-30-10", 2 * (600 + 300)},
        {"gpt:layers=2,width=8,heads=2,context=4,vocabulary=16", 2 * TOKENS *GPT + ATTENTION},
        {"gpt:layers=2,width=8,heads=2,context=4,vocabulary=16,attention=standard", 2 * TOKENS *GPT + ATTENTION},
        {"gpt:layers=2,width=8,heads=2,context=4,vocabulary=16,dropout=0.1", 2 * TOKENS *GPT + ATTENTION},
        {"llama:layers=2,width=8,heads=2,kv_heads=1,hidden=24,context=4,vocabulary=16", 2 * TOKENS *LLAMA + ATTENTION},
        {"llama:layers=2,width=8,heads=2,kv_heads=1,hidden=24,context=4,vocabulary=16,window=3",
         2 * TOKENS *LLAMA + 2 * 2 * 8 * (2 * 3 * 4 - 3 * 3)},
        {"params=1000:units=2", 0},
};

START_LOOP_TEST(of_a_sample, 0, COUNT(rows))
{
	struct model m;
	ck_assert_int_eq(model_open(&m, rows[_i].specification, 0), STATUS_OK);
	ck_assert_msg(m.training_flops == 3 * rows[_i].forward, "%s: %g, by hand %g", rows[_i].specification,
	              m.training_flops, 3 * rows[_i].forward);
	model_release(&m);
}

/* GPT-2 124M at 1024 tokens: 6 FLOPs for each of the 123,532,032 parameters of its products, and 6·12·768·1024 for the
 * causal half of attention. */
START_TEST(of_gpt2)
{
	struct model m;
	ck_assert_int_eq(model_open(&m, "gpt2-124m", 0), STATUS_OK);
	ck_assert(m.training_flops == 1024.0 * (6.0 * (12 * 12 * 768 * 768 + 768 * 50257) + 6.0 * 12 * 768 * 1024));
	model_release(&m);
}

/* A rank's slice is worth what the whole model is. */
START_TEST(of_a_slice)
{
	struct model whole, slice;
	struct arena arena = {0};
	ck_assert_int_eq(model_open(&whole, rows[1].specification, 0), STATUS_OK);
	ck_assert_int_eq(model_slice(&slice, &whole, 2, false, &arena), STATUS_OK);
	ck_assert(slice.training_flops == whole.training_flops && model_training_flops(&slice) < whole.training_flops);
	arena_release(&arena);
	model_release(&whole);
}

SUITE("flops", 0)
