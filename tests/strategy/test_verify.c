/* The verifier lets every strategy pass, in every size and with every setting. What it refuses: test_verify_rules.c,
 * and at random test_mutation.c. */
#include <string.h>

#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

static const char *const models[] = {
        "mlp:sizes=4-5-3",
        "mlp:sizes=7-5-6-3",
        "gpt:layers=2,width=8,heads=2,context=4,vocabulary=9",
        "params=101:units=3",
};
static const char *const strategies[] = {
        "single",
        "dp",
        "dp:broadcast=tree:reduce=tree",
        "dp:broadcast=chain:reduce=chain",
        "ddp",
        "ddp:algorithm=halving-doubling",
        "zero1",
        "zero2",
        "zero3",
        "zero3:prefetch=0",
        "zero3:prefetch=100000",
        "zero3:live=100",
        "zero3:reuse=500",
        "zero3:reuse=100000",
        "fsdp",
        "fsdp:reshard=no",
        "fsdp:sync=last",
        "fsdp:prefetch=0",
        "fsdp:prefetch=two:backward=unit",
        "fsdp:backward=post",
        "fsdp:sync=last:backward=none",
        "fsdp:reshard=no:sync=last",
};
static const int ranks[] = {1, 2, 3, 4, 8};

START_LOOP_TEST(strategies_pass, 0, COUNT(strategies))
{
	for (int m = 0; m < COUNT(models); m++)
		for (int n = 0; n < COUNT(ranks); n++)
			for (int accumulate = 1; accumulate <= 3; accumulate++)
				for (int other = 0; other < 8; other++) {
					if (!strcmp(strategies[_i], "single") && ranks[n] > 1)
						continue;
					right_plan(
					        "%s %s ranks=%d accumulate=%d micro_batch=%d precision=%s optimizer=%s "
					        "clip=%d%s%s",
					        models[m], strategies[_i], ranks[n], accumulate, 1 + n % 2,
					        other & 1 ? "bf16" : "fp32", (other + accumulate) % 3 ? "adamw" : "sgd",
					        other & 2 ? 1 : 0, other & 4 ? " bucket=64" : "",
					        m == 1 ? " collectives=library" : "");
					plans_forget();
				}
}

START_LOOP_TEST(large_plans_pass, 0, 4)
{
	static const char *const large[] = {"gpt3-175b zero3 ranks=16384 precision=bf16",
	                                    "gpt3-175b dp ranks=1000 precision=fp16",
	                                    "gpt2-124m zero2 ranks=64 accumulate=8", "gpt ddp ranks=3 accumulate=300"};
	right_plan("%s", large[_i]);
}

SUITE("verify", 600)
