/* Offload on all ranks of this job; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_offload
 *
 * Offload changes where things are, and no bit of the result: the weights are those of the run without, which takes the
 * squares for the global norm in the same order. What was
 * measured in the device's memory, the host's and on disk, and what was copied between them, is what the plan says,
 * byte by byte; with guarded memory as well, whose zones are in every arena. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/measured.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 6, FIRST_SCALE = 1 << 21 };

static const char *const models[] = {"mlp:sizes=48-33-17-10", "gpt:layers=2,width=32,heads=2,context=16",
                                     "gpt:layers=5,width=32,heads=2,context=16"};

/* delayed: the weights are others, and tests/strategy/test_offload_update.c says which; here the same twice. */
static void try_offload(const struct settings *plain, const char *offload, const char *expected)
{
	struct settings q = settings_with(plain, "offload=%s", offload);
	const char *what = runs_name(&q);
	const struct report *with = runs_train(&q, &(struct runs_how){.steps = STEPS}),
	                    *guarded = runs_train(&q, &(struct runs_how){.steps = STEPS, .guard = true});
	if (!with || !guarded)
		return;
	compare_with_plan(&q, guarded, COUNTED_ALL);
	runs_same_weights(what, with, guarded);
	compare_with_plan(&q, with, COUNTED_ALL);
	for (int64_t i = 0; i < with->loss_count && !rank_number; i++)
		ranks_check(isfinite(with->losses[i]), "%s: step %d: loss %g", what, (int)i + 1, with->losses[i]);
	ranks_check(rank_number || q.offload.delayed != !strcmp(with->weights_checksum, expected),
	            "%s: checksum %s, without offload %s", what, with->weights_checksum, expected);
}

static const char *const variants[] = {"accumulate=1", "accumulate=2 clip=0.1",
                                       "accumulate=2 optimizer=sgd activation_checkpointing=full",
                                       "accumulate=4 clip=0.1"};

static void try_strategy(int model, const char *strategy, bool shards, int variant, enum type precision)
{
	static const char *const whole[] = {"optimizer", "optimizer:to=disk", "optimizer:delayed=yes",
	                                    "optimizer,activations"};
	static const char *const sharded[] = {"optimizer,parameters", "optimizer:to=disk,parameters:to=disk",
	                                      "optimizer,parameters:to=disk,activations"};
	struct settings q = settings_of("%s %s ranks=%d micro_batch=2 bucket=4096 precision=%s %s", models[model],
	                                strategy, ranks_count, type_name(precision), variants[variant]);
	struct runs_how how = {.steps = STEPS};
	if (precision == TYPE_FP16) /* overflows, and is halved */
		q = settings_with(&q, "loss_scaler=pytorch loss_scale=%d", FIRST_SCALE);
	struct settings offloaded = settings_with(&q, "offload=optimizer");
	if (q.clip > 0)
		how.plan = runs_write_plan_as(&q, &offloaded);
	const struct report *without = runs_train(&q, &how);
	if (!without)
		return;
	ranks_check(rank_number || precision != TYPE_FP16 ||
	                    (without->skipped_steps > 0 && without->skipped_steps < STEPS),
	            "%s: %d of %d steps were skipped", strategy, (int)without->skipped_steps, STEPS);
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (precision != TYPE_FP16 || !strstr(whole[i], "delayed"))
			try_offload(&q, whole[i], without->weights_checksum);
	/* SGD in fp32 has no state that could go to disk beside the parameters. */
	bool stateless = q.optimizer == OPTIMIZER_SGD && precision == TYPE_FP32;
	for (size_t i = 0; shards && i < sizeof sharded / sizeof *sharded; i++)
		if (!stateless || !strstr(sharded[i], "optimizer:to=disk"))
			try_offload(&q, sharded[i], without->weights_checksum);
}

/* Activations need nothing of the strategy. */
static void try_activations(int model, const char *strategy, int accumulate, const char *checkpointing)
{
	struct settings q = settings_of("%s %s ranks=%d micro_batch=2 accumulate=%d activation_checkpointing=%s",
	                                models[model], strategy, ranks_count, accumulate, checkpointing);
	const struct report *without = runs_train(&q, &(struct runs_how){.steps = STEPS});
	if (without)
		try_offload(&q, "activations", without->weights_checksum);
}

/* Each stage updates its own; a stage has several micro-batches' activations away at once. */
static void try_stages(void)
{
	static const char *const strategies[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
	if (ranks_count > 4)
		return;
	for (int i = 0; i < 3; i++) {
		enum type precision = i == 1 ? TYPE_FP16 : i ? TYPE_BF16 : TYPE_FP32;
		try_strategy(2, strategies[i], false, ranks_count == 2 ? 2 : 3, precision);
		if (ranks_count < 4)
			try_strategy(0, strategies[i], false, i, TYPE_FP32);
		try_activations(2, strategies[i], 4, i ? "none" : "every=2");
	}
}

int main(int argc, char **argv)
{
	int tried = 0;
	runs_begin(&argc, &argv, 200, 20);
	for (int i = ranks_count > 1; strategy_at(i); i++) {
		bool shards = strategy_at(i)->parameters == PLACE_SHARD;
		try_strategy(1, strategy_at(i)->name, shards, tried % 3, TYPE_FP32);
		if (ranks_count < 8) /* more ranks than most machines have cores: one variant of each */
			try_strategy(tried % 2, strategy_at(i)->name, shards, (tried + 1) % 3, TYPE_FP32);
		/* In fp16 the first steps overflow, and are skipped: parameters are made anew all the same. */
		try_strategy(1, strategy_at(i)->name, shards, (tried + 2) % 3, tried % 2 ? TYPE_BF16 : TYPE_FP16);
		tried++;
	}
	try_strategy(1, "zero3:reuse=20000", true, 1, TYPE_BF16);
	try_strategy(1, "fsdp:reshard=no:sync=last:prefetch=0", true, 1, TYPE_FP32);
	/* Shards are added up on the device until they cross the groups, with the last micro-batch. */
	if (ranks_count % 2 == 0) {
		try_strategy(1, "hybrid:shard=2", true, 1, TYPE_FP32);
		try_activations(1, "hybrid:shard=2", 2, "every=2");
	}
	if (ranks_count == 4)
		try_strategy(0, "hybrid:shard=2", true, 0, TYPE_FP16);
	if (ranks_count == 3)
		try_strategy(1, "hybrid:shard=1", true, 2, TYPE_BF16);
	try_stages();
	ranks_check(tried >= 6, "only %d strategies offload", tried);
	return runs_finish("mpi_offload");
}
