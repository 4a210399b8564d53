/* The contrasts to data parallelism: layers over ranks (model, pipeline) and hybrid sharding. They train as one
 * rank does; and what hybrid sharding keeps and sends.
 * (test_stages.c: what layers over ranks keep and send; test_contrasts_broken.c: their plans broken on purpose.) */
#include <stdio.h>

#include "tests/strategy/contrasts_check.h"
#include "tests/support/reports.h"
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

/* ---- what hybrid sharding keeps and sends ---- */

/* Model states are 16/K bytes a parameter; a step sends 3Ψ(K−1)/K inside the groups, for every micro-batch, and once
 * 2Ψ/K·(R−1)/R across them. */
START_TEST(hybrid_shards_inside_and_replicates_across)
{
	static const struct {
		int64_t ranks, shard, accumulate;
	} cases[] = {{4, 2, 1}, {8, 2, 2}, {8, 4, 3}, {16, 8, 1}, {4, 4, 2}, {4, 1, 2}};
	for (int i = 0; i < COUNT(cases); i++) {
		char strategy[32];
		int64_t n = cases[i].ranks, k = cases[i].shard, a = cases[i].accumulate, psi = 0;
		snprintf(strategy, sizeof strategy, "hybrid:shard=%d", (int)k);
		const struct plan *p = right_plan("gpt:layers=2 %s ranks=%d accumulate=%d", strategy, (int)n, (int)a);
		for (int g = 0; g < p->group_count; g++)
			psi += 4 * p->groups[g].padded;
		ck_assert_int_eq(p->role_count, 1);
		ck_assert_int_eq(plan_model_states(p, n - 1), 4 * psi / k);
		ck_assert_int_eq(plan_moved(p, n - 1, TRAFFIC_ALL_GATHER).sent, 2 * a * (psi / k) * (k - 1));
		ck_assert_int_eq(plan_moved(p, n - 1, TRAFFIC_REDUCE_SCATTER).sent, a * (psi / k) * (k - 1));
		ck_assert_int_eq(plan_moved(p, n - 1, TRAFFIC_ALL_REDUCE).sent, 2 * (psi / k) / (n / k) * (n / k - 1));
	}
}

/* 16,384 ranks have the plan that 16 have. */
START_TEST(hybrid_plans_do_not_grow)
{
	const struct plan *small = right_plan("gpt:layers=2 hybrid:shard=8 ranks=16");
	const struct plan *large = right_plan("gpt:layers=2 hybrid:shard=8 ranks=16384");
	/* up to zeros for the padding of a group */
	ck_assert_int_le(large->roles[0].op_count, small->roles[0].op_count + large->group_count);
	const struct report *r = report_simulated_on(large, "h100", GRAIN_OPERATION, NULL);
	ck_assert_int_gt(r->time.step, 0);
	ck_assert_int_gt(r->time.communication, 0);
}

SUITE("contrasts", 300)
