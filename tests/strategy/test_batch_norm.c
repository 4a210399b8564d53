/* Batch normalization in plans: its collectives, what the verifier refuses, and synchronised training on 2, 3 and 4
 * ranks against one rank with the whole batch.
 *
 * tests/kernels/test_kernels_batch_norm.c tests the arithmetic, tests/real/test_golden_training.c compares it with
 * PyTorch, tests/strategy/test_mutation.c breaks its plans, tests/mpi/mpi_batch_norm.c trains with it for real. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"
#include "tests/support/virtual_ranks.h"

/* ---- plans ---- */

static struct request request_of(const char *norm, const char *strategy, int64_t ranks, int64_t micro_batch,
                                 int64_t accumulate)
{
	static char model[64];
	snprintf(model, sizeof model, "mlp:sizes=6-7-5-4,norm=%s", norm);
	return (struct request){.model = model,
	                        .strategy = strategy,
	                        .ranks = ranks,
	                        .micro_batch = micro_batch,
	                        .accumulate = accumulate,
	                        .optimizer = OPTIMIZER_SGD,
	                        .learning_rate = 0.1};
}

/* Two norms of 7 and 5 features on 4 ranks: an all-gather of 4 × (2C + 1) and an all-reduce of 2C each, a micro-batch;
 * by ring each rank sends 3 parts of the first, and 2·3/4 of the second, padded to a multiple of 4. */
START_TEST(synchronised_traffic)
{
	static const char *const strategies[] = {"dp", "ddp", "zero1", "zero2", "zero3", "fsdp"};
	for (int i = 0; i < (int)(sizeof strategies / sizeof *strategies); i++)
		for (int64_t accumulate = 1; accumulate <= 2; accumulate++) {
			struct made m;
			struct request r = request_of("sync-batch", strategies[i], 4, 2, accumulate);
			must_open_verified(&m, &r);
			for (int64_t rank = 0; rank < 4; rank++) {
				struct moved gather = plan_moved(&m.plan, rank, TRAFFIC_GATHER_STATISTICS);
				struct moved reduce = plan_moved(&m.plan, rank, TRAFFIC_REDUCE_STATISTICS);
				ck_assert_int_eq(gather.calls, 2 * accumulate);
				ck_assert_int_eq(gather.payload, accumulate * 4 * (15 + 11) * 4);
				ck_assert_int_eq(gather.sent, accumulate * 3 * (15 + 11) * 4);
				ck_assert_int_eq(gather.received, gather.sent);
				ck_assert_int_eq(reduce.calls, 2 * accumulate);
				ck_assert_int_eq(reduce.payload, accumulate * (14 + 10) * 4);
				ck_assert_int_eq(reduce.sent, accumulate * 2 * 3 * (16 + 12) / 4 * 4);
			}
			made_release(&m);
		}
}
END_TEST

/* Local statistics are nobody else's business; their running ones come from rank 0 once a step, whatever is
 * accumulated, and under dp with each replica. */
START_TEST(local_traffic)
{
	static const char *const strategies[] = {"dp", "ddp", "zero1", "zero2", "zero3", "fsdp"};
	for (int i = 0; i < (int)(sizeof strategies / sizeof *strategies); i++)
		for (int64_t accumulate = 1; accumulate <= 2; accumulate++) {
			struct made m;
			struct request r = request_of("batch", strategies[i], 4, 2, accumulate);
			must_open_verified(&m, &r);
			struct moved buffers = plan_moved(&m.plan, 3, TRAFFIC_BROADCAST_BUFFERS);
			ck_assert_int_eq(plan_moved(&m.plan, 3, TRAFFIC_GATHER_STATISTICS).calls, 0);
			ck_assert_int_eq(plan_moved(&m.plan, 3, TRAFFIC_REDUCE_STATISTICS).calls, 0);
			ck_assert_int_eq(buffers.calls, i ? 1 : accumulate);
			ck_assert_int_eq(buffers.payload, buffers.calls * 2 * (7 + 5) * 4);
			made_release(&m);
		}
}
END_TEST

static void assert_refused(const struct plan *p, const char *rule)
{
	ck_assert_int_eq(plan_verify(p, NULL), STATUS_REFUSED);
	ck_assert_msg(!strncmp(status_message(), rule, strlen(rule)), "%s instead of %s", status_message(), rule);
}

static void op_drop(struct plan *p, enum op_kind kind, enum traffic_kind traffic)
{
	int n = plan_find_op(p, kind, p->roles[0].step.begin);
	while (op_class(kind) == OP_CLASS_C && p->roles[0].ops[n].traffic != traffic)
		n = plan_find_op(p, kind, n + 1);
	plan_drop_op(p, 0, n);
}

/* What must not be taken for something else. */
START_TEST(refusals)
{
	struct made m;
	struct plan p;
	struct request r = request_of("sync-batch", "ddp", 3, 2, 2);
	must_open_verified(&m, &r);

	plan_copy(&p,
	          &m.plan); /* the model declares all ranks' statistics: the rank's own are too few for the operation */
	struct op *merge = &p.roles[0].ops[plan_find_op(&p, OP_BATCH_NORM_MERGE, 0)];
	const struct op *own = &p.roles[0].ops[plan_find_op(&p, OP_BATCH_NORM_STATISTICS, 0)];
	merge->operand[BATCH_NORM_MERGE_PARTS] = own->operand[BATCH_NORM_STATISTICS_LOCAL];
	assert_refused(&p, "rule 2");
	plan_release(&p);

	plan_copy(&p, &m.plan); /* a sum over this rank's samples */
	op_drop(&p, OP_ALL_REDUCE, TRAFFIC_REDUCE_STATISTICS);
	assert_refused(&p, "rule 7");
	ck_assert(strstr(status_message(), "this rank's samples"));
	plan_release(&p);

	plan_copy(&p, &m.plan); /* the first half of the sums in place of the second */
	int dx = plan_find_op(&p, OP_BATCH_NORM_BACKWARD, 0);
	struct op half = {.kind = OP_COPY,
	                  .queue = QUEUE_COMPUTE,
	                  .unit = -1,
	                  .kernel = -1,
	                  .micro = -1,
	                  .group = -1,
	                  .after = p.roles[0].ops[dx].after,
	                  .after_count = p.roles[0].ops[dx].after_count};
	half.operand[COPY_X] = half.operand[COPY_Y] = p.roles[0].ops[dx].operand[BATCH_NORM_BACKWARD_SUMS];
	half.operand[COPY_X].count = half.operand[COPY_Y].count = half.operand[COPY_Y].offset =
	        half.operand[COPY_X].count / 2;
	plan_insert_op(&p, 0, dx, &half);
	assert_refused(&p, "rule 7");
	ck_assert(strstr(status_message(), "must hold sums for the gradient"));
	plan_release(&p);

	plan_copy(&p, &m.plan); /* statistics of the other micro-batch */
	int first = plan_find_op(&p, OP_BATCH_NORM_FORWARD, 0),
	    second = plan_find_op(&p, OP_BATCH_NORM_FORWARD, first + 1);
	second = plan_find_op(&p, OP_BATCH_NORM_FORWARD, second + 1);
	ck_assert_int_eq(p.roles[0].ops[second].micro, 1);
	ck_assert_int_eq(p.roles[0].ops[second].kernel, p.roles[0].ops[first].kernel);
	p.roles[0].ops[second].operand[BATCH_NORM_FORWARD_STATISTICS] =
	        p.roles[0].ops[first].operand[BATCH_NORM_FORWARD_STATISTICS];
	ck_assert_int_eq(plan_verify(&p, NULL), STATUS_REFUSED);
	plan_release(&p);
	made_release(&m);

	r = request_of("batch", "ddp", 3, 2, 2);
	must_open_verified(&m, &r);
	plan_copy(&p, &m.plan); /* running statistics that have drifted apart */
	op_drop(&p, OP_BROADCAST, TRAFFIC_BROADCAST_BUFFERS);
	assert_refused(&p, "rule 6");
	ck_assert(strstr(status_message(), "the same on all ranks"));
	plan_release(&p);
	made_release(&m);
}
END_TEST

/* With everything that a norm may meet: other precisions, checkpoints, offload, shards of replicas. */
START_TEST(combinations)
{
	static const char *const strategies[] = {"ddp", "zero1", "zero2", "zero3", "fsdp", "hybrid:shard=2"};
	static const char *const checkpointing[] = {NULL, "full", "every=2"};
	static const char *const offload[] = {NULL, "optimizer"};
	for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
		for (int k = 0; k < 3 * 3 * 2 * 2; k++) {
			struct made m;
			struct request r = request_of(k % 2 ? "batch" : "sync-batch", strategies[i], 4, 2, 2);
			r.precision = (enum type)(TYPE_FP32 + k / 2 % 3);
			r.checkpointing = checkpointing[k / 6 % 3];
			r.offload = i < 5 ? offload[k / 18] : NULL;
			must_open_verified(&m, &r);
			made_release(&m);
		}
}
END_TEST

static void assert_impossible(const struct request *r, const char *what)
{
	struct made m;
	ck_assert_msg(made_open(&m, r) == STATUS_INPUT, "%s: makes a plan", r->strategy);
	ck_assert_msg(strstr(status_message(), what) != NULL, "%s, without '%s'", status_message(), what);
}

/* One value has no variance, however many micro-batches or stages there are; slices of features have no place. */
START_TEST(impossible)
{
	struct request r = request_of("batch", "ddp", 4, 1, 2);
	assert_impossible(&r, "more than 1 sample on each rank");
	r = request_of("sync-batch", "single", 1, 1, 1);
	assert_impossible(&r, "more than 1 sample over all ranks");
	r = request_of("sync-batch", "pipeline", 2, 1, 4);
	assert_impossible(&r, "more than 1 sample over all ranks");
	r = request_of("batch", "tensor", 2, 4, 1);
	assert_impossible(&r, "layer.0.norm");
	r = request_of("instance", "ddp", 2, 4, 1);
	assert_impossible(&r, "none|batch|sync-batch");
	r.model = "gpt:norm=batch";
	assert_impossible(&r, "'norm'");
}
END_TEST

/* ---- training ---- */

/* What one rank computes from the whole batch; the sums of more ranks round otherwise. */
START_TEST(synchronised_is_one_rank)
{
	static const char *const strategies[] = {"dp",    "ddp",  "ddp:algorithm=halving-doubling", "zero1", "zero2",
	                                         "zero3", "fsdp", "fsdp:reshard=no:sync=last"};
	for (int64_t ranks = 2; ranks <= 4; ranks++)
		for (int64_t accumulate = 1; accumulate <= 2; accumulate++) {
			struct made one, m;
			struct virtual_run want, got;
			struct request r = request_of("sync-batch", "single", 1, 2 * ranks, accumulate);
			must_open_verified(&one, &r);
			virtual_ranks_run(&one.plan, 5, 0, &want);
			for (int i = 0; i < (int)(sizeof strategies / sizeof *strategies); i++) {
				r = request_of("sync-batch", strategies[i], ranks, 2, accumulate);
				must_open_verified(&m, &r);
				virtual_ranks_run(&m.plan, 5, 0, &got);
				/* the runs validate another number of samples a pass */
				got.evaluate_total = want.evaluate_total;
				got.evaluate_loss = want.evaluate_loss;
				got.evaluate_correct = want.evaluate_correct;
				ck_assert_msg(virtual_runs_equal(&want, &got, 1e-5),
				              "%s on %d ranks, %d micro-batches: not what one rank computes",
				              strategies[i], (int)ranks, (int)accumulate);
				virtual_run_release(&got);
				made_release(&m);
			}
			virtual_run_release(&want);
			made_release(&one);
		}
}
END_TEST

/* Each stage keeps the statistics of its own norms, and all of them together the model's. */
START_LOOP_TEST(stages_have_their_own, 0, 6)
{
	static const char *const strategies[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
	for (int64_t ranks = 2; ranks <= 3; ranks++) {
		struct made one, m;
		struct virtual_run want, got;
		struct request r = request_of(_i / 3 ? "sync-batch" : "batch", "single", 1, 4, 3);
		must_open_verified(&one, &r);
		virtual_ranks_run(&one.plan, 5, 0, &want);
		r.strategy = strategies[_i % 3];
		r.ranks = ranks;
		must_open_verified(&m, &r);
		virtual_ranks_run(&m.plan, 5, 0, &got);
		ck_assert_msg(virtual_runs_equal(&want, &got, 1e-5), "%s on %d stages: not what one rank computes",
		              r.strategy, (int)ranks);
		int64_t kept = 0;
		for (int i = 0; i < m.plan.role_count; i++) {
			int running = role_buffer(&m.plan.roles[i], "running");
			kept += running < 0 ? 0 : m.plan.roles[i].buffers[running].elements;
		}
		ck_assert_int_eq(kept, m.model.buffer_elements);
		virtual_run_release(&got);
		virtual_run_release(&want);
		made_release(&m);
		made_release(&one);
	}
}
END_TEST

/* The comparison can fail: statistics of each rank alone give something else. */
START_TEST(local_is_not_one_rank)
{
	struct made one, m;
	struct virtual_run want, got;
	struct request r = request_of("sync-batch", "single", 1, 4, 1);
	must_open_verified(&one, &r);
	virtual_ranks_run(&one.plan, 5, 0, &want);
	r = request_of("batch", "ddp", 2, 2, 1);
	must_open_verified(&m, &r);
	virtual_ranks_run(&m.plan, 5, 0, &got);
	got.evaluate_total = want.evaluate_total;
	got.evaluate_loss = want.evaluate_loss;
	ck_assert(!virtual_runs_equal(&want, &got, 1e-3));
	virtual_run_release(&got);
	virtual_run_release(&want);
	made_release(&m);
	made_release(&one);
}
END_TEST

SUITE("batch norm", 120)
