/* Batch normalization in plans: its collectives, what the verifier refuses, and synchronised training on 2, 3 and 4
 * ranks against one rank with the whole batch.
 *
 * tests/kernels/test_kernels_batch_norm.c tests the arithmetic, tests/real/test_golden_training.c compares it with
 * PyTorch, tests/strategy/test_mutation.c breaks its plans, tests/mpi/mpi_train.c trains with it for real. */
#include <stdio.h>

#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"
#include "tests/support/virtual_ranks.h"

/* ---- plans ---- */

static const char *words_of(const char *norm, const char *strategy, int ranks, int micro_batch, int accumulate)
{
	static char words[2][200];
	static int turn;
	char *out = words[turn++ % 2];
	snprintf(out, sizeof words[0],
	         "mlp:sizes=6-7-5-4,norm=%s %s ranks=%d micro_batch=%d accumulate=%d optimizer=sgd learning_rate=0.1",
	         norm, strategy, ranks, micro_batch, accumulate);
	return out;
}

static const char *const data_parallel[] = {"dp", "ddp", "zero1", "zero2", "zero3", "fsdp"};

/* Two norms of 7 and 5 features on 4 ranks: an all-gather of 4 × (2C + 1) and an all-reduce of 2C each, a micro-batch;
 * by ring each rank sends 3 parts of the first, and 2·3/4 of the second, padded to a multiple of 4. */
START_LOOP_TEST(synchronised_traffic, 0, COUNT(data_parallel))
{
	for (int accumulate = 1; accumulate <= 2; accumulate++) {
		const struct plan *p = right_plan("%s", words_of("sync-batch", data_parallel[_i], 4, 2, accumulate));
		for (int64_t rank = 0; rank < 4; rank++) {
			struct moved gather = plan_moved(p, rank, TRAFFIC_GATHER_STATISTICS);
			struct moved reduce = plan_moved(p, rank, TRAFFIC_REDUCE_STATISTICS);
			ck_assert_int_eq(gather.calls, 2 * accumulate);
			ck_assert_int_eq(gather.payload, accumulate * 4 * (15 + 11) * 4);
			ck_assert_int_eq(gather.sent, accumulate * 3 * (15 + 11) * 4);
			ck_assert_int_eq(gather.received, gather.sent);
			ck_assert_int_eq(reduce.calls, 2 * accumulate);
			ck_assert_int_eq(reduce.payload, accumulate * (14 + 10) * 4);
			ck_assert_int_eq(reduce.sent, accumulate * 2 * 3 * (16 + 12) / 4 * 4);
		}
	}
}

/* Local statistics are nobody else's business; their running ones come from rank 0 once a step, whatever is
 * accumulated, and under dp with each replica. */
START_LOOP_TEST(local_traffic, 0, COUNT(data_parallel))
{
	for (int accumulate = 1; accumulate <= 2; accumulate++) {
		const struct plan *p = right_plan("%s", words_of("batch", data_parallel[_i], 4, 2, accumulate));
		struct moved buffers = plan_moved(p, 3, TRAFFIC_BROADCAST_BUFFERS);
		ck_assert_int_eq(plan_moved(p, 3, TRAFFIC_GATHER_STATISTICS).calls, 0);
		ck_assert_int_eq(plan_moved(p, 3, TRAFFIC_REDUCE_STATISTICS).calls, 0);
		ck_assert_int_eq(buffers.calls, _i ? 1 : accumulate);
		ck_assert_int_eq(buffers.payload, buffers.calls * 2 * (7 + 5) * 4);
	}
}

/* ---- what must not be taken for something else ---- */

/* The first half of the sums in place of the second. */
static void copy_half_of_the_sums(struct plan *p)
{
	struct region operands[OP_OPERANDS];
	struct op *dx = plan_op(p, "batch_norm.backward"), half = {.kind = OP_COPY,
	                                                           .operand = operands,
	                                                           .queue = QUEUE_COMPUTE,
	                                                           .unit = -1,
	                                                           .kernel = -1,
	                                                           .micro = -1,
	                                                           .group = -1,
	                                                           .after = dx->after,
	                                                           .after_count = dx->after_count};
	half.operand[COPY_X] = half.operand[COPY_Y] = dx->operand[BATCH_NORM_BACKWARD_SUMS];
	half.operand[COPY_X].count = half.operand[COPY_Y].count = half.operand[COPY_Y].offset =
	        half.operand[COPY_X].count / 2;
	plan_insert_op(p, 0, (int)(dx - p->roles[0].ops), &half);
}

static void drop_traffic(struct plan *p, enum traffic_kind traffic)
{
	int n = p->roles[0].step.begin;
	while (op_class(p->roles[0].ops[n].kind) != OP_CLASS_C || p->roles[0].ops[n].traffic != traffic)
		n++;
	plan_drop_op(p, 0, n);
}

static void drop_sum(struct plan *p)
{
	drop_traffic(p, TRAFFIC_REDUCE_STATISTICS);
}

static void drop_broadcast(struct plan *p)
{
	drop_traffic(p, TRAFFIC_BROADCAST_BUFFERS);
}

#define DDP(norm) "mlp:sizes=6-7-5-4,norm=" norm " ddp ranks=3 micro_batch=2 accumulate=2 optimizer=sgd"
static const struct broken broken[] = {
        /* the model declares all ranks' statistics: the rank's own are too few for the operation */
        {"rule 2", DDP("sync-batch"), "put batch_norm.merge.parts batch_norm.statistics.local", "", NULL},
        {"rule 7", DDP("sync-batch"), NULL, "this rank's samples", drop_sum},
        {"rule 7", DDP("sync-batch"), NULL, "must hold sums for the gradient", copy_half_of_the_sums},
        /* statistics of the other micro-batch */
        {"rule ", DDP("sync-batch"), "put batch_norm.forward#2.statistics batch_norm.forward.statistics", "", NULL},
        /* running statistics that have drifted apart */
        {"rule 6", DDP("batch"), NULL, "the same on all ranks", drop_broadcast},
};

START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	must_be_refused(&broken[_i]);
}

/* With everything that a norm may meet: other precisions, checkpoints, offload, shards of replicas. */
START_TEST(combinations)
{
	static const char *const strategies[] = {"ddp", "zero1", "zero2", "zero3", "fsdp", "hybrid:shard=2"};
	static const char *const precisions[] = {"fp32", "bf16", "fp16"}, *const checkpointing[] = {"none", "full",
	                                                                                            "every=2"};
	for (int i = 0; i < COUNT(strategies); i++)
		for (int k = 0; k < 3 * 3 * 2 * 2; k++)
			right_plan("%s precision=%s activation_checkpointing=%s offload=%s",
			           words_of(k % 2 ? "batch" : "sync-batch", strategies[i], 4, 2, 2),
			           precisions[k / 2 % 3], checkpointing[k / 6 % 3],
			           i < 5 && k / 18 ? "optimizer" : "none");
}

/* One value has no variance, however many micro-batches or stages there are; slices of features have no place. */
START_TEST(impossible)
{
	must_not_open("more than 1 sample on each rank", "%s", words_of("batch", "ddp", 4, 1, 2));
	must_not_open("more than 1 sample over all ranks", "%s", words_of("sync-batch", "single", 1, 1, 1));
	must_not_open("more than 1 sample over all ranks", "%s", words_of("sync-batch", "pipeline", 2, 1, 4));
	must_not_open("layer.0.norm", "%s", words_of("batch", "tensor", 2, 4, 1));
	must_not_open("none, batch, sync-batch", "%s", words_of("instance", "ddp", 2, 4, 1));
	must_not_open("'norm'", "gpt:norm=batch ddp ranks=2 micro_batch=4");
}

/* ---- training ---- */

/* One rank computes the same from the whole batch, except that the sums of more ranks round otherwise. */
START_TEST(synchronised_training_matches_one_rank)
{
	static const char *const strategies[] = {"dp",    "ddp",  "ddp:algorithm=halving-doubling", "zero1", "zero2",
	                                         "zero3", "fsdp", "fsdp:reshard=no:sync=last"};
	for (int ranks = 2; ranks <= 4; ranks++)
		for (int accumulate = 1; accumulate <= 2; accumulate++) {
			const struct plan *one =
			        right_plan("%s", words_of("sync-batch", "single", 1, 2 * ranks, accumulate));
			for (int i = 0; i < COUNT(strategies); i++)
				must_train_alike(
				        right_plan("%s", words_of("sync-batch", strategies[i], ranks, 2, accumulate)),
				        one, 5, 1e-5);
		}
}

/* Each stage keeps the statistics of its own norms, and all of them together the model's. */
START_LOOP_TEST(stages_have_their_own, 0, 6)
{
	static const char *const strategies[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
	const char *norm = _i / 3 ? "sync-batch" : "batch";
	for (int ranks = 2; ranks <= 3; ranks++) {
		const struct plan *p = right_plan("%s", words_of(norm, strategies[_i % 3], ranks, 4, 3));
		must_train_alike(p, right_plan("%s", words_of(norm, "single", 1, 4, 3)), 5, 1e-5);
		int64_t kept = 0;
		for (int i = 0; i < p->role_count; i++) {
			int running = role_buffer(&p->roles[i], "running");
			kept += running < 0 ? 0 : p->roles[i].buffers[running].elements;
		}
		ck_assert_int_eq(kept, p->model->buffer_elements);
	}
}

/* The comparison can fail: statistics of each rank alone give something else. */
START_TEST(local_statistics_differ_from_one_rank)
{
	struct virtual_run want, got;
	virtual_ranks_run(right_plan("%s", words_of("sync-batch", "single", 1, 4, 1)), 5, 0, &want);
	virtual_ranks_run(right_plan("%s", words_of("batch", "ddp", 2, 2, 1)), 5, 0, &got);
	got.evaluate_total = want.evaluate_total;
	got.evaluate_loss = want.evaluate_loss;
	ck_assert(!virtual_runs_equal(&want, &got, 1e-3));
	virtual_run_release(&got);
	virtual_run_release(&want);
}

SUITE("batch norm", 120)
