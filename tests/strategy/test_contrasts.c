/* What data parallelism is compared with: layers over ranks (model, pipeline) and hybrid sharding. They train as one
 * rank does, and both grains of the simulator give them the same time. (test_stages.c and test_hybrid.c: what they keep
 * and send; test_contrasts_broken.c: their plans broken on purpose.) */
#include <check.h>
#include <string.h>

#include "tests/strategy/contrasts_check.h"
#include "tests/support/suite.h"
#include "tests/support/virtual_ranks.h"

static const struct {
	const char *strategy;
	int64_t ranks;
} contrasts[] = {{"model", 2},
                 {"model", 3},
                 {"pipeline", 2},
                 {"pipeline", 3},
                 {"pipeline", 4},
                 {"pipeline:schedule=gpipe", 2},
                 {"pipeline:schedule=gpipe", 4},
                 {"hybrid:shard=2", 2},
                 {"hybrid:shard=2", 4},
                 {"hybrid:shard=1", 3},
                 {"hybrid:shard=4", 4},
                 {"hybrid:shard=3", 6}};

static void train_as_single(const char *model, int contrast, int64_t accumulate, enum optimizer optimizer, double clip)
{
	enum { BATCH = 12, STEPS = 3 };
	const char *strategy = contrasts[contrast].strategy;
	int64_t ranks = contrasts[contrast].ranks, data = strncmp(strategy, "hybrid", 6) ? 1 : ranks;
	int64_t batch = BATCH * accumulate;
	struct request r = {.model = model,
	                    .strategy = strategy,
	                    .ranks = ranks,
	                    .micro_batch = batch / accumulate / data,
	                    .accumulate = accumulate,
	                    .optimizer = optimizer,
	                    .clip = clip,
	                    .learning_rate = 0.01};
	struct request one = r;
	struct made m, single;
	struct virtual_run run, right;
	one.strategy = "single";
	one.ranks = 1;
	one.micro_batch = batch / accumulate;
	must_open_verified(&m, &r);
	must_open_verified(&single, &one);
	ck_assert_int_eq(m.plan.settings.batch, single.plan.settings.batch);
	virtual_ranks_run(&m.plan, STEPS, 0, &run);
	virtual_ranks_run(&single.plan, STEPS, 0, &right);
	/* The samples that are evaluated are as many as there are ranks to evaluate them. */
	run.evaluate_loss = right.evaluate_loss = 0;
	run.evaluate_correct = right.evaluate_correct = run.evaluate_total = right.evaluate_total = 0;
	ck_assert_msg(virtual_runs_equal(&run, &right, 1e-4), "%s, %s on %d ranks, accumulate %d: not as single", model,
	              strategy, (int)ranks, (int)accumulate);
	virtual_run_release(&run);
	virtual_run_release(&right);
	made_release(&m);
	made_release(&single);
}

START_LOOP_TEST(contrasts_train_as_single, 0, COUNT(contrasts))
{
	for (int64_t accumulate = 1; accumulate <= 4; accumulate++) {
		train_as_single(GPT, _i, accumulate, OPTIMIZER_SGD, 0);
		train_as_single(MLP, _i, accumulate, OPTIMIZER_SGD, 0.1);
	}
	train_as_single(GPT, _i, 2, OPTIMIZER_ADAMW, 0.1);
	train_as_single(MLP, _i, 3, OPTIMIZER_ADAMW, 0);
}
END_TEST

/* Whole operations and messages over links come to the same where nothing competes for a link. */
START_TEST(both_grains_agree)
{
	static const struct {
		const char *strategy, *cluster;
		int64_t ranks, accumulate;
	} cases[] = {{"model", "a100-80gb", 4, 2},
	             {"pipeline", "a100-80gb", 4, 6},
	             {"pipeline:schedule=gpipe", "a100-80gb", 6, 3},
	             {"hybrid:shard=8", "a100-80gb", 8, 1},
	             {"hybrid:shard=8", "a100-80gb", 32, 2},
	             {"hybrid:shard=4", "a100-80gb", 16, 1}};
	for (int i = 0; i < COUNT(cases); i++) {
		struct made m;
		struct report whole = {0}, messages = {0};
		must_open_verified(&m, &(struct request){.model = "gpt:layers=6",
		                                         .strategy = cases[i].strategy,
		                                         .ranks = cases[i].ranks,
		                                         .accumulate = cases[i].accumulate,
		                                         .micro_batch = 4});
		simulate(&m, cases[i].cluster, GRAIN_OPERATION, &whole);
		simulate(&m, cases[i].cluster, GRAIN_MESSAGE, &messages);
		double a = (double)whole.time.step, b = (double)messages.time.step;
		ck_assert_msg(a > 0.99 * b && a < 1.01 * b, "%s on %d ranks: %.0f ns by operation, %.0f by message",
		              cases[i].strategy, (int)cases[i].ranks, a, b);
		report_release(&whole);
		report_release(&messages);
		made_release(&m);
	}
}
END_TEST

SUITE("contrasts", 300)
