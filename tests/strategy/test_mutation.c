/* The verifier against mutants: operations of real plans dropped, doubled, swapped, re-queued, re-sized, given other
 * operands, their waits removed, at random, 500 of each plan. Each is refused; or it is carried out on virtual ranks,
 * in several orders that it allows, and gives the same losses, the same evaluation and the same weights, bit for bit.
 *
 * Only where a mutant may add up in another order (another algorithm, neighbours swapped) is the comparison within
 * rounding. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/mutants.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/virtual_ranks.h"

enum { MUTANTS_OF_A_PLAN = SUITE_CASES(500, 100), STEPS = 3, ORDERS = 4, MOST_KINDS = 64 };

/* Layers and blocks of one size, so that what stands in the wrong place has the right shape. */
#define MLP "mlp:sizes=4-4-4-4"
#define MLP4 MLP "-4"
#define GPT(layers) "gpt:layers=" #layers ",width=4,heads=2,context=3,vocabulary=5"
/* The first steps overflow, and the last does not. */
#define FP16(scale) "precision=fp16 optimizer=sgd loss_scaler=pytorch loss_scale=" #scale
static const char *const requests[] = {
        MLP " single accumulate=2",
        MLP " dp ranks=2 accumulate=2",
        MLP " dp:broadcast=tree:reduce=chain ranks=3",
        MLP " ddp ranks=2 accumulate=2 bucket=64",
        MLP " ddp ranks=3 bucket=64 clip=0.5",
        MLP " ddp:algorithm=halving-doubling ranks=3 bucket=64",
        MLP " zero1 ranks=2 accumulate=2 bucket=64",
        MLP " zero1 ranks=3 bucket=64 clip=0.5",
        MLP " zero2 ranks=2 accumulate=2 bucket=64",
        MLP " zero2 ranks=3 bucket=64 clip=0.5",
        MLP " zero3 ranks=2 accumulate=2",
        MLP " zero3:reuse=1000 ranks=3 clip=0.5",
        MLP " zero3:secondary=2 ranks=4 accumulate=2",
        MLP " fsdp:backward=post ranks=2 accumulate=2",
        MLP " zero3:save=16bit ranks=2 precision=bf16",
        MLP " fsdp:units=model:save=full ranks=3 precision=bf16 offload=optimizer,parameters",
        MLP " fsdp:sync=last ranks=2 accumulate=2",
        MLP " fsdp:reshard=no ranks=3 optimizer=sgd",
        MLP " ddp ranks=2 batch=8 bucket=64 clip=0.5 reproducible=yes",
        MLP " zero2 ranks=2 batch=8 bucket=64 reproducible=yes",
        GPT(1) " fsdp ranks=2 batch=4 clip=0.5 reproducible=yes",
        GPT(2) " single clip=0.5",
        GPT(1) " dp ranks=2",
        GPT(2) " ddp ranks=2 bucket=256",
        GPT(1) " zero2 ranks=2 accumulate=2 bucket=256",
        GPT(2) " zero3 ranks=3",
        GPT(2) " fsdp ranks=2 accumulate=2",
        MLP " zero2 ranks=2 accumulate=2 bucket=64 activation_checkpointing=full",
        MLP4 " zero3 ranks=3 activation_checkpointing=every=2",
        GPT(2) " zero3 ranks=2 activation_checkpointing=full",
        GPT(3) " fsdp ranks=2 "
               "activation_checkpointing=full:number_checkpoints=2:contiguous_memory_optimization=yes:synchronize_"
               "checkpoint_boundary=yes",
        GPT(2) " ddp ranks=2 bucket=256 activation_checkpointing=selective",
        GPT(2) " dp ranks=2 activation_checkpointing=full",
        GPT(3) " zero2 ranks=2 bucket=256 activation_checkpointing=full:cpu_checkpointing=yes",
        MLP " model ranks=2 accumulate=2",
        MLP " pipeline ranks=3 accumulate=4 clip=0.5",
        MLP4 " pipeline:schedule=gpipe ranks=4 accumulate=2 optimizer=sgd",
        GPT(2) " model ranks=3",
        GPT(2) " pipeline ranks=2 accumulate=3 clip=0.5",
        GPT(2) " pipeline:schedule=gpipe ranks=3 accumulate=2 activation_checkpointing=full",
        MLP " hybrid:shard=2 ranks=4 accumulate=2 clip=0.5",
        MLP " hybrid:shard=1 ranks=3 accumulate=2",
        GPT(2) " hybrid:shard=2 ranks=4",
        "gpt:layers=2,width=4,heads=2,context=3,vocabulary=6 tensor ranks=2 "
        "activation_checkpointing=full:partition_activations=yes",
        GPT(3) " pipeline ranks=2 accumulate=2 activation_checkpointing=every=2:contiguous_memory_optimization=yes",
        MLP " single accumulate=2 bucket=64 offload=optimizer",
        MLP " ddp ranks=2 bucket=64 offload=optimizer:to=disk",
        MLP " zero1 ranks=2 bucket=64 clip=0.5 offload=optimizer:delayed=yes",
        MLP " zero2 ranks=3 accumulate=2 bucket=64 offload=optimizer",
        MLP " zero3 ranks=2 accumulate=2 offload=optimizer:to=disk,parameters:to=disk",
        MLP " fsdp ranks=3 clip=0.5 offload=optimizer,parameters",
        MLP " hybrid:shard=2 ranks=4 accumulate=2 clip=0.5 offload=optimizer,parameters",
        MLP " hybrid:shard=2 ranks=4 offload=optimizer:to=disk,parameters:to=disk",
        MLP " hybrid:shard=1 ranks=2 accumulate=2 offload=optimizer:delayed=yes",
        MLP " model ranks=2 accumulate=2 offload=optimizer:to=disk,activations",
        MLP " dp ranks=3 accumulate=2 clip=0.5 offload=optimizer,activations",
        "mlp:sizes=4-4-4 dp ranks=2 offload=optimizer:delayed=yes",
        MLP4 " pipeline ranks=2 accumulate=3 clip=0.5 offload=optimizer,activations",
        GPT(2) " pipeline:schedule=gpipe ranks=3 accumulate=2 clip=0.5 offload=optimizer",
        GPT(2) " pipeline ranks=2 accumulate=2 offload=optimizer:delayed=yes",
        GPT(4) " pipeline ranks=2 accumulate=2 activation_checkpointing=full:cpu_checkpointing=yes",
        MLP ",norm=batch single micro_batch=3 accumulate=2",
        MLP ",norm=batch ddp ranks=3 micro_batch=2 accumulate=2 bucket=64",
        MLP ",norm=sync-batch ddp ranks=3 micro_batch=2 bucket=64",
        MLP ",norm=sync-batch zero3 ranks=2 micro_batch=2 accumulate=2",
        MLP ",norm=batch hybrid:shard=2 ranks=4 micro_batch=2",
        MLP ",norm=batch model ranks=2 micro_batch=3 accumulate=2",
        MLP4 ",norm=batch pipeline:schedule=gpipe ranks=3 micro_batch=3 accumulate=2",
        MLP ",norm=sync-batch hybrid:shard=2 ranks=4 micro_batch=2 accumulate=2",
        MLP ",norm=batch dp ranks=2 micro_batch=2 accumulate=2",
        MLP ",norm=sync-batch dp ranks=3 micro_batch=2",
        MLP4 ",norm=sync-batch fsdp ranks=2 micro_batch=2 activation_checkpointing=every=2",
        MLP4 " zero2 ranks=2 bucket=64 offload=activations",
        MLP4
        ",norm=sync-batch zero2 ranks=2 micro_batch=2 bucket=64 activation_checkpointing=every=2 offload=activations",
        GPT(2) " zero3 ranks=2 accumulate=2 activation_checkpointing=full offload=optimizer,parameters,activations",
        MLP " tensor ranks=2 accumulate=2 clip=0.5",
        MLP4 " tensor ranks=2 micro_batch=2",
        /* a vocabulary and rows that do not divide */
        GPT(2) " tensor ranks=2 clip=0.5",
        GPT(1) " tensor ranks=2 accumulate=2",
        GPT(2) " tensor ranks=2 activation_checkpointing=full",
        MLP4 " tensor ranks=2 activation_checkpointing=full",
        MLP " tensor ranks=2 clip=0.5 offload=optimizer,activations",
        "gpt:layers=2,width=4,heads=2,context=4,vocabulary=5 tensor:sequence=yes ranks=2 clip=0.5",
        "gpt:layers=1,width=4,heads=2,context=4,vocabulary=5 tensor:sequence=yes ranks=2 precision=fp16",
        "gpt:layers=1,width=4,heads=2,context=2,vocabulary=5 tensor:sequence=yes ranks=2 accumulate=2 "
        "offload=optimizer",
        "gpt:layers=2,width=4,heads=2,context=2,vocabulary=6 tensor:sequence=yes ranks=2 activation_checkpointing=full",
        /* In 16 bits. In fp16 the first steps overflow, and the last does not. */
        MLP " zero1 ranks=3 bucket=32 precision=bf16 optimizer=sgd",
        GPT(1) " fsdp ranks=2 accumulate=2 precision=bf16 optimizer=sgd",
        MLP " single accumulate=2 clip=0.5 " FP16(262144),
        MLP " dp ranks=2 clip=0.5 " FP16(262144),
        MLP " ddp ranks=3 bucket=32 " FP16(262144),
        MLP " zero2 ranks=2 accumulate=2 bucket=32 clip=0.5 " FP16(524288),
        GPT(1) " zero3 ranks=2 " FP16(262144),
};
/* With a learning rate at which a wrong gradient shows within three steps. */
static const struct plan *plan_number(int i)
{
	return right_plan("%s learning_rate=0.05", requests[i]);
}

static double tolerance_for(const struct plan *p, const char *mutation)
{
	bool reorders = !strcmp(mutation, "algorithm") || !strcmp(mutation, "swap") || !strcmp(mutation, "move");
	double rounding = p->settings.precision == TYPE_BF16 ? 1e-2 : 1e-3;
	return reorders ? rounding : 0; /* Adam makes much of rounding where a gradient is almost 0 */
}

/* Every order that the plan allows gives what issue order gives. */
START_LOOP_TEST(every_order_gives_the_same, 0, COUNT(requests))
{
	const struct plan *p = plan_number(_i);
	struct virtual_run first, other;
	virtual_ranks_run(p, STEPS, 0, &first);
	ck_assert(isfinite(first.losses[STEPS - 1]) && first.losses[0] != first.losses[STEPS - 1]);
	/* Every rank evaluates, but for stages, of which the last does. */
	int64_t evaluate = plan_axis(p, "stage") ? 1 : p->ranks;
	ck_assert_int_eq(first.evaluate_total, 2 * p->settings.micro_batch * evaluate * p->model->tokens);
	for (int64_t i = 0; i < first.parameters; i++)
		ck_assert_int_eq(first.shown[i], 1);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		virtual_ranks_run(p, STEPS, seed, &other);
		ck_assert_msg(virtual_runs_equal(&first, &other, 0), "%s: order %d gives other results", requests[_i],
		              (int)seed);
		virtual_run_release(&other);
	}
	virtual_run_release(&first);
}

/* The comparison can fail: plans that the verifier refuses, and what they do when they are run all the same. */

static const char *const losses[][2] = {
        {MLP " ddp ranks=2 accumulate=2 bucket=64", "unwait adamw"},
        {MLP " zero1 ranks=2 accumulate=2 bucket=64", "drop all_gather"},
        {MLP " zero2 ranks=2 accumulate=2 bucket=64", "drop reduce_scatter"},
        {MLP " zero3 ranks=2 accumulate=2", "drop reduce_scatter"},
        {MLP " ddp ranks=2 accumulate=2 bucket=64", "drop prologue/zero#1"},
        {MLP " ddp ranks=3 bucket=64 clip=0.5", "set classifier scale *2"},
        {MLP " fsdp:sync=last ranks=2 accumulate=2", "drop evaluate/evaluate"},
        {MLP " fsdp:reshard=no ranks=3 optimizer=sgd", "drop epilogue/weights"},
        {MLP " dp ranks=2 clip=0.5 " FP16(262144), "drop overflow"},
        {MLP " ddp ranks=3 bucket=32 " FP16(262144), "put sgd.overflow none"},
        {MLP " zero2 ranks=2 accumulate=2 bucket=32 clip=0.5 " FP16(524288), "put sgd.scaler none"},
        {GPT(1) " zero3 ranks=2 " FP16(262144), "drop scaler.update"},
};

START_LOOP_TEST(virtual_ranks_notice, 0, COUNT(losses))
{
	const struct plan *p = right_plan("%s learning_rate=0.05", losses[_i][0]);
	struct plan broken;
	struct virtual_run right, wrong;
	bool same = true;
	plan_copy(&broken, p);
	plan_edit_words(&broken, losses[_i][1]);
	ck_assert_int_eq(plan_verify(&broken, NULL), STATUS_REFUSED);
	virtual_ranks_run(p, STEPS, 0, &right);
	for (uint64_t seed = 0; seed < ORDERS && same; seed++) {
		virtual_ranks_run(&broken, STEPS, seed, &wrong);
		same = virtual_runs_equal(&right, &wrong, 1e-3);
		virtual_run_release(&wrong);
	}
	ck_assert_msg(!same, "%s, %s: gives the right result", losses[_i][0], losses[_i][1]);
	virtual_run_release(&right);
	plan_release(&broken);
}

/* No plan that the verifier lets through changes the result. */
static bool is_harmless(const struct plan *mutant, const struct virtual_run *right, double tolerance)
{
	bool same = true;
	for (uint64_t seed = 0; seed < ORDERS && same; seed++) {
		struct virtual_run run;
		virtual_ranks_run(mutant, STEPS, seed, &run);
		same = virtual_runs_equal(right, &run, tolerance);
		virtual_run_release(&run);
	}
	return same;
}

START_LOOP_TEST(mutants_are_refused_or_harmless, 0, COUNT(requests))
{
	const struct plan *p = plan_number(_i);
	struct virtual_run right;
	int refused[MOST_KINDS] = {0}, harmless[MOST_KINDS] = {0}, made = 0, by_rule[10] = {0};
	virtual_ranks_run(p, STEPS, 0, &right);
	for (uint64_t seed = (uint64_t)_i << 32; made < MUTANTS_OF_A_PLAN; seed++) {
		struct plan mutant;
		char what[300];
		int kind;
		if (mutant_make(&mutant, p, seed, &kind, what, sizeof what)) {
			made++;
			if (plan_verify(&mutant, NULL)) {
				int rule = status_message()[5] - '0';
				ck_assert_msg(!strncmp(status_message(), "rule ", 5) && rule >= 1 && rule <= 8, "%s",
				              status_message());
				by_rule[rule]++;
				refused[kind]++;
			} else {
				ck_assert_msg(is_harmless(&mutant, &right, tolerance_for(p, mutation_name(kind))),
				              "%s, seed %llu: %s: was let through and changes the result", requests[_i],
				              (unsigned long long)seed, what);
				harmless[kind]++;
			}
		}
		plan_release(&mutant);
	}
	printf("%s:", requests[_i]);
	for (int k = 0; mutation_name(k); k++)
		printf(" %s %d+%d", mutation_name(k), refused[k], harmless[k]);
	printf("; by rule");
	for (int r = 1; r <= 8; r++)
		printf(" %d", by_rule[r]);
	printf("\n");
	virtual_run_release(&right);
}

/* Any one operation taken out of a plan: refused. */
START_LOOP_TEST(every_operation_is_needed, 0, COUNT(requests))
{
	must_need_every_op(plan_number(_i));
}

SUITE("mutation", 600)
