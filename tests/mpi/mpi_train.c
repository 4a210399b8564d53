/* Training under every strategy on all ranks of this job; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_train
 *
 * Losses of 50 steps are those of one rank with the same global batch; what was measured is what the plan says, byte by
 * byte; the same run twice gives the same bits, with and without guarded memory. Each rank counts what is wrong, and
 * the counts are added at the end: a rank that stopped at its first failure would hang the others.
 *
 * The models are small, with sizes that nothing divides; the images are made here. */
#include <math.h>
#include <stdio.h>

#include "tests/support/measured.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"
#include "tests/support/suite.h"

enum { STEPS = SUITE_CASES(50, 6), FEW = 3, MICRO_BATCH = 2 };
static const double LIMIT = 1e-4;

static double worst;

static const char *const models[] = {"mlp:sizes=48-33-17-10", "gpt:layers=2,width=32,heads=2,context=16",
                                     "gpt:layers=3,width=32,heads=2,context=16"};
static const struct runs_how few = {.steps = FEW}, few_guarded = {.steps = FEW, .guard = true};

/* The same global batch for all: those that serve the same samples on all ranks take larger micro-batches. */
static struct settings asked(int model, const char *strategy, int accumulate)
{
	struct settings s = settings_of("%s %s ranks=%d accumulate=%d bucket=4096", models[model], strategy,
	                                ranks_count, accumulate); /* several buckets */
	s.micro_batch = MICRO_BATCH * ranks_count / strategy_data_ranks(&s);
	return s;
}

/* ---- the same losses ---- */

static struct validation single_validation;

static void train_single(int model, int accumulate, double losses[STEPS])
{
	struct settings q = asked(model, "single", 1);
	double first[FEW];
	q.micro_batch = (int64_t)MICRO_BATCH * ranks_count * accumulate;
	q.ranks = 1;
	runs_single(&q, STEPS, false, losses, NULL);
	runs_single(&q, FEW, false, first, &single_validation);
}

/* ---- what is run ---- */

static void try_strategy(int model, const char *strategy, int accumulate, const double *single)
{
	struct settings q = asked(model, strategy, accumulate);
	worst = fmax(worst, runs_five_ways(&q, STEPS, FEW, single, &single_validation, LIMIT));
}

/* A few steps of what else can be asked for. */
static void try_variant(const char *strategy, const char *others)
{
	struct settings plain = asked(1, strategy, 2), q = settings_with(&plain, "%s", others);
	struct settings one = settings_with(&q, "strategy=single ranks=1 accumulate=1");
	double single[FEW] = {0};
	one.micro_batch = 2 * MICRO_BATCH * ranks_count;
	runs_single(&one, FEW, true, single, NULL);
	const struct report *r = runs_train(&q, &few_guarded);
	if (!r)
		return;
	compare_with_plan(&q, r, COUNTED_ALL);
	runs_compare_losses(runs_name(&q), r, single, LIMIT);
}

static void try_variants(void)
{
	static const char *const strategies[] = {"dp:broadcast=tree:reduce=chain",
	                                         "dp:broadcast=chain:reduce=tree",
	                                         "ddp:algorithm=halving-doubling",
	                                         "zero1",
	                                         "zero2",
	                                         "zero3:prefetch=0",
	                                         "zero3:prefetch=100000",
	                                         "zero3:reuse=20000",
	                                         "fsdp:reshard=no",
	                                         "fsdp:sync=last",
	                                         "fsdp:reshard=no:sync=last:prefetch=0",
	                                         "fsdp:prefetch=two:backward=unit",
	                                         "fsdp:prefetch=all:backward=post",
	                                         "fsdp:backward=none",
	                                         "fsdp:units=model",
	                                         "fsdp:units=model:reshard=no:sync=last"};
	for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
		try_variant(strategies[i], "clip=0.5");
		if (i % 3 == 0)
			try_variant(strategies[i], "optimizer=sgd");
	}
}

/* The bits of another plan, with guarded memory and without. */
static void try_same(const struct settings *q, const struct settings *other)
{
	const struct report *without = runs_train(other, &few), *with = runs_train(q, &few),
	                    *guarded = runs_train(q, &few_guarded);
	if (!without || !with || !guarded)
		return;
	compare_with_plan(q, with, COUNTED_ALL);
	compare_with_plan(q, guarded, COUNTED_ALL);
	runs_same_weights(runs_name(q), with, without);
	runs_same_weights(runs_name(q), guarded, without);
}

/* Checkpointing changes what is kept, and no bit of the result. checkpointing: "full", or "full precision=bf16". */
static void try_checkpointing(int model, const char *strategy, const char *checkpointing)
{
	struct settings plain = asked(model, strategy, 2);
	struct settings q = settings_with(&plain, "activation_checkpointing=%s", checkpointing);
	plain.precision = q.precision;
	try_same(&q, &plain);
}

static void try_checkpointings(void)
{
	static const char *const modes[] = {
	        "full:contiguous_memory_optimization=yes:synchronize_checkpoint_boundary=yes", "every=2",
	        "full:cpu_checkpointing=yes", "selective"};
	for (int i = ranks_count > 1; strategy_at(i); i++)
		for (int mode = 0; mode < 4; mode++) {
			try_checkpointing(1, strategy_at(i)->name, modes[mode]);
			if (mode < 3)
				try_checkpointing(0, strategy_at(i)->name, modes[mode]);
		}
	if (ranks_count == 2) { /* heads and blocks are two */
		try_checkpointing(1, "tensor", "full:partition_activations=yes");
		try_checkpointing(1, "tensor", "every=2:cpu_checkpointing=yes");
		try_checkpointing(1, "model", "full");
		try_checkpointing(1, "pipeline", "every=2:contiguous_memory_optimization=yes");
		try_checkpointing(2, "pipeline", "full:cpu_checkpointing=yes");
		try_checkpointing(2, "pipeline:schedule=gpipe", "full:cpu_checkpointing=yes");
	}
	try_checkpointing(1, "zero3", "full precision=bf16");
	try_checkpointing(1, "fsdp", "selective precision=fp16");
	try_checkpointing(1, "zero3:reuse=1000000", "every=2");
	try_checkpointing(1, "fsdp:reshard=no", "every=2");
}

/* Layers over ranks, and replicas of shards. With guarded memory operations run one at a time in issue order, which
 * must not lock up either. */
static void try_contrasts(void)
{
	static const struct {
		const char *strategy;
		int most_ranks, multiple; /* stages are units at most; shards divide ranks */
	} contrasts[] = {{"model", 4, 1},
	                 {"pipeline", 4, 1},
	                 {"pipeline:schedule=gpipe", 4, 1},
	                 {"zero3:secondary=2", 4, 2},
	                 {"hybrid:shard=2", 8, 2},
	                 {"hybrid:shard=4", 8, 4},
	                 {"hybrid:shard=1", 3, 1}};
	double single[STEPS] = {0};
	for (int accumulate = 1; accumulate <= 4; accumulate++) {
		int model = accumulate % 2 && ranks_count < 4 ? 0 : 2;
		train_single(model, accumulate, single);
		for (size_t i = 0; i < sizeof contrasts / sizeof *contrasts; i++)
			if (ranks_count <= contrasts[i].most_ranks && ranks_count % contrasts[i].multiple == 0)
				try_strategy(model, contrasts[i].strategy, accumulate, single);
	}
	if (ranks_count > 1 && ranks_count < 4) {
		try_variant("model", "clip=0.5");
		try_variant("pipeline", "clip=0.5 optimizer=sgd");
		try_variant("pipeline:schedule=gpipe", "clip=0.5");
	}
	if (ranks_count % 2 == 0) {
		try_variant("hybrid:shard=2", "clip=0.5");
		try_variant("hybrid:shard=2:backward=post", "clip=0.5");
		try_variant("zero3:secondary=2:reuse=20000", "clip=0.5 precision=bf16");
		try_checkpointing(1, "zero3:secondary=2", "full");
	}
}

/* Batch normalization: synchronised over the ranks, the losses and the running statistics of one rank with the same
 * global batch; local, those of one rank where stages share samples, and the same bits again where they do not. */
static void try_norms(void)
{
	enum { MICRO = 3, NORM_STEPS = 12 };
	/* sums in another order: 1e-7 of a value, which twelve steps of SGD carry on and do not blow up */
	static const double limit = 1e-5;
	static const char *const strategies[] = {"dp",
	                                         "ddp",
	                                         "zero1",
	                                         "zero2",
	                                         "zero3",
	                                         "fsdp:sync=last",
	                                         "model",
	                                         "pipeline",
	                                         "pipeline:schedule=gpipe",
	                                         "hybrid:shard=2"};
	for (int i = 0; i < 4 * COUNT(strategies); i++) {
		const char *strategy = strategies[i / 4];
		bool stages = i / 4 >= 6 && i / 4 < 9, hybrid = i / 4 == 9, local = i % 2;
		if ((stages && ranks_count > 3) || (hybrid && ranks_count % 2))
			continue;
		struct settings q =
		        settings_of("mlp:sizes=48-33-17-10,norm=%s %s ranks=%d micro_batch=%d accumulate=%d "
		                    "optimizer=sgd learning_rate=0.05 bucket=4096",
		                    local ? "batch" : "sync-batch", strategy, ranks_count,
		                    stages ? MICRO * ranks_count : MICRO, 1 + i / 2 % 2);
		struct settings one = settings_with(&q, "strategy=single ranks=1 micro_batch=%d", MICRO * ranks_count);
		struct settings offloaded = settings_with(&q, "offload=optimizer,activations");
		double single[NORM_STEPS] = {0}, first[FEW] = {0};
		struct validation validation = {0};
		runs_single(&one, NORM_STEPS, true, single, NULL);
		runs_single(&one, FEW, true, first, &validation);
		if (!local || stages || ranks_count == 1)
			runs_five_ways(&q, NORM_STEPS, FEW, single, &validation, limit);
		else
			try_same(&q, &q);
		if (stages)
			runs_five_ways(&offloaded, NORM_STEPS, FEW, single, &validation, limit);
	}
}

int main(int argc, char **argv)
{
	double single[STEPS] = {0};
	runs_begin(&argc, &argv, 200, 20);
	for (int model = 0; model < 2; model++)
		for (int accumulate = 1; accumulate <= 2; accumulate++) {
			train_single(model, accumulate, single);
			for (int i = ranks_count > 1; strategy_at(i); i++)
				try_strategy(model, strategy_at(i)->name, accumulate, single);
		}
	try_variants();
	try_checkpointings();
	try_contrasts();
	try_norms();
	if (!rank_number)
		printf("mpi_train: %d ranks: losses within %.1e of one rank's\n", ranks_count, worst);
	return runs_finish("mpi_train");
}
