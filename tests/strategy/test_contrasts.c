/* What data parallelism is compared with: layers over ranks (model, pipeline) and hybrid sharding. They train as one
 * rank does, and both grains of the simulator give them the same time. (test_stages.c and test_hybrid.c: what they keep
 * and send; test_contrasts_broken.c: their plans broken on purpose.) */
#include "tests/strategy/contrasts_check.h"
#include "tests/support/suite.h"

static const char *const contrasts[] = {
        "model ranks=2",
        "model ranks=3",
        "pipeline ranks=2",
        "pipeline ranks=3",
        "pipeline ranks=4",
        "pipeline:schedule=gpipe ranks=2",
        "pipeline:schedule=gpipe ranks=4",
        "hybrid:shard=2 ranks=2",
        "hybrid:shard=2 ranks=4",
        "hybrid:shard=1 ranks=3",
        "hybrid:shard=4 ranks=4",
        "hybrid:shard=3 ranks=6",
};

static void train_as_single(const char *model, const char *contrast, int accumulate, const char *settings)
{
	enum { BATCH = 12, STEPS = 3 };
	must_train_alike(right_plan("%s %s batch=%d accumulate=%d learning_rate=0.01 %s", model, contrast,
	                            BATCH * accumulate, accumulate, settings),
	                 right_plan("%s single batch=%d accumulate=%d learning_rate=0.01 %s", model, BATCH * accumulate,
	                            accumulate, settings),
	                 STEPS, 1e-4);
}

START_LOOP_TEST(contrasts_train_as_single, 0, COUNT(contrasts))
{
	for (int accumulate = 1; accumulate <= 4; accumulate++) {
		train_as_single(GPT, contrasts[_i], accumulate, "optimizer=sgd");
		train_as_single(MLP, contrasts[_i], accumulate, "optimizer=sgd clip=0.1");
	}
	train_as_single(GPT, contrasts[_i], 2, "clip=0.1");
	train_as_single(MLP, contrasts[_i], 3, "");
}

/* Whole operations and messages over links come to the same where nothing competes for a link. */
START_TEST(both_grains_agree)
{
	static const char *const cases[] = {"model ranks=4 accumulate=2",
	                                    "pipeline ranks=4 accumulate=6",
	                                    "pipeline:schedule=gpipe ranks=6 accumulate=3",
	                                    "hybrid:shard=8 ranks=8",
	                                    "hybrid:shard=8 ranks=32 accumulate=2",
	                                    "hybrid:shard=4 ranks=16"};
	for (int i = 0; i < COUNT(cases); i++) {
		struct report whole = {0}, messages = {0};
		const struct plan *p = right_plan("gpt:layers=6 %s micro_batch=4", cases[i]);
		simulate(p, "a100-80gb", GRAIN_OPERATION, &whole);
		simulate(p, "a100-80gb", GRAIN_MESSAGE, &messages);
		double a = (double)whole.time.step, b = (double)messages.time.step;
		ck_assert_msg(a > 0.99 * b && a < 1.01 * b, "%s: %.0f ns by operation, %.0f by message", cases[i], a,
		              b);
		report_release(&whole);
		report_release(&messages);
	}
}

SUITE("contrasts", 300)
