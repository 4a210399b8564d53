/* The cost of checkpoints: all ranks together save every element of every item once, whatever the strategy, and the
 * disk of a node is shared; the best interval and the goodput are Daly's. */
#include <math.h>

#include "sim/checkpoint.h"
#include "strategy/model/slice.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

#define GPT "gpt:layers=2,width=4,heads=2,context=4,vocabulary=5"
static const struct {
	const char *words;
	int copies;       /* of the parameters, in fp32 */
	int more;         /* elements besides */
	int64_t restored; /* by the rank that restores most; 0: not looked at */
} cases[] = {
        {"single", 3, 2, 3},
        {"dp ranks=3", 3, 2, 3},
        {"ddp ranks=3", 3, 2, 3},
        {"zero1 ranks=2 optimizer=sgd", 1, 2, 1},
        {"zero2 ranks=4 precision=fp16", 3, 6, 0},
        {"zero3 ranks=3 precision=bf16 stochastic_rounding=yes", 4, 2, 0},
        {"hybrid:shard=2 ranks=4", 3, 2, 0},
        {"zero1 ranks=2 offload=optimizer:delayed=yes", 4, 2, 0},
        {"tensor ranks=2", 3, 2, 0},
        {"pipeline ranks=2 accumulate=2", 3, 2, 0},
};

static struct cluster laptop(int64_t ranks)
{
	struct cluster c;
	must(cluster_open(&c, "laptop", ranks));
	return c;
}

START_LOOP_TEST(everything_is_saved_once, 0, COUNT(cases))
{
	const struct plan *p = right_plan(GPT " %s checkpoints=yes", cases[_i].words);
	struct cluster c = laptop(p->ranks);
	struct checkpoint_cost cost;
	int64_t parameters = 0;
	must(checkpoint_cost(p, &c, &cost));
	for (int t = 0; t < p->model->tensor_count; t++)
		parameters += tensor_whole_elements(&p->model->tensors[t]);
	ck_assert_int_eq(cost.bytes, 4 * (cases[_i].copies * parameters + cases[_i].more));
	ck_assert(cost.rank_bytes <= cost.bytes && cost.rank_bytes * p->ranks >= cost.bytes);
	if (cases[_i].restored)
		ck_assert_int_eq(cost.read_bytes, 4 * (cases[_i].restored * parameters + 2));
	double latency = (double)c.disk.latency.value / 1e9;
	ck_assert_double_eq_tol(cost.write_s, latency + (double)cost.bytes / (double)c.disk.write.value, 1e-12);
	ck_assert(!cost.measured);
	cluster_release(&c);
}

START_TEST(a_cluster_without_a_disk_is_refused)
{
	const struct plan *p = right_plan(GPT " single checkpoints=yes");
	struct cluster c = laptop(1);
	struct checkpoint_cost cost;
	c.disk.write.value = 0;
	must_fail(checkpoint_cost(p, &c, &cost), STATUS_INPUT, "it has no 'disk'");
	cluster_release(&c);
}

START_TEST(the_best_interval_is_dalys)
{
	struct checkpoint_rhythm r = checkpoint_rhythm(&(struct checkpoint_cost){.write_s = 10}, false, 10000);
	ck_assert_double_eq_tol(r.interval_s, 440.572, 1e-3);
	ck_assert_double_eq_tol(r.goodput, 440.572 / (10000 * expm1(0.0450572)), 1e-6);
	/* A restart costs, and no other interval is better. */
	double at_best = r.goodput;
	ck_assert(checkpoint_rhythm(&(struct checkpoint_cost){.write_s = 10, .read_s = 100}, false, 10000).goodput <
	          at_best);
	struct checkpoint_cost late = {.write_s = 10, .notice_s = 60, .start_s = 30, .read_s = 10},
	                       read = {.write_s = 10, .read_s = 100};
	ck_assert_double_eq_tol(checkpoint_rhythm(&late, false, 10000).goodput,
	                        checkpoint_rhythm(&read, false, 10000).goodput, 1e-12);
	for (int t = 300; t < 700; t += 50)
		ck_assert(t / (10000 * expm1((t + 10) / 10000.0)) <= at_best + 1e-6);
	ck_assert_double_eq(checkpoint_rhythm(&(struct checkpoint_cost){.write_s = 100}, false, 20).interval_s, 20);
}

/* Steps wait for the copy alone, and for what is left of writing when the next one is due. */
START_TEST(a_snapshot_is_cheaper)
{
	const struct plan *p = right_plan(GPT " ddp ranks=2 checkpoints=yes checkpoint_async=yes");
	struct cluster c = laptop(p->ranks);
	struct checkpoint_cost cost;
	must(checkpoint_cost(p, &c, &cost));
	double copied = 2.0 * (double)(p->group_elements * 6 + 8), one = copied / (double)c.device_bandwidth.value;
	ck_assert(cost.copy_s >= one && cost.copy_s <= 2 * one && cost.copy_s < cost.write_s);
	ck_assert_double_eq(checkpoint_stall(&cost, false, 10, 1), cost.write_s / 10);
	ck_assert_double_eq(checkpoint_stall(&cost, true, 10, 1), cost.copy_s / 10);
	cost.write_s = 25;
	ck_assert_double_eq_tol(checkpoint_stall(&cost, true, 10, 1), (15 + cost.copy_s) / 10, 1e-12);
	ck_assert_double_eq(checkpoint_rhythm(&cost, true, 1000).interval_s, 25);
	cluster_release(&c);
}

SUITE("sim checkpoint", 30)
