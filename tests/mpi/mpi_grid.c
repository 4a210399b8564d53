/* Every byte of every strategy is as planned under every technique: precision × checkpointing × offload, and the
 * contrasts, at 2 and 4 ranks. One way of each strategy at 1, 3 and 8:
 *
 *     mpirun --oversubscribe --bind-to none -n 2 build/tests/mpi/mpi_grid
 *
 * `shardlab validate --model gpt` does the same at the model's real size, in ten minutes. */
#include <stdio.h>

#include "tests/support/measured.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"
#include "tests/support/suite.h"

static const char *const contrasts[] = {"model", "pipeline", "tensor", "hybrid:shard=2"};
static const char *const stages[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
static const struct runs_how two_steps = {.steps = 2};

static void check(const char *strategy, const char *others)
{
	struct settings q = settings_of("gpt:layers=4,width=32,heads=4,context=16 %s ranks=%d micro_batch=2 %s",
	                                strategy, ranks_count, others);
	const struct report *r = runs_train(&q, &two_steps);
	if (r)
		compare_with_plan(&q, r, COUNTED_ALL);
}

static void check_all(const char *others)
{
	for (int i = 1; strategy_at(i); i++)
		check(strategy_at(i)->name, others);
}

static void check_contrasts(void)
{
	for (int i = 0; i < COUNT(contrasts); i++)
		check(contrasts[i], "");
	check("hybrid:shard=2", "precision=fp16 offload=optimizer");
	check("hybrid:shard=2", "precision=fp16 offload=optimizer,parameters,activations");
	for (int i = 0; i < COUNT(stages); i++) {
		check(stages[i], "precision=fp16 accumulate=3 offload=optimizer,activations");
		check(stages[i], "precision=fp16 accumulate=3 offload=optimizer:to=disk");
		if (i)
			check(stages[i], "accumulate=3 activation_checkpointing=full:cpu_checkpointing=yes");
	}
}

static void check_techniques(const char *technique)
{
	char offloaded[96];
	check_all(technique);
	snprintf(offloaded, sizeof offloaded, "%s offload=optimizer", technique);
	check_all(offloaded);
	snprintf(offloaded, sizeof offloaded, "%s offload=optimizer,parameters", technique);
	check("zero3", offloaded);
	check("fsdp", offloaded);
}

int main(int argc, char **argv)
{
	runs_begin(&argc, &argv, 200, 20);
	check_all("precision=fp16 activation_checkpointing=full offload=activations");
	if (ranks_count == 2 || ranks_count == 4) {
		check_contrasts();
		check_all("offload=activations");
		check_techniques("precision=bf16");
		check_techniques("precision=fp16 activation_checkpointing=full");
	}
	if (ranks_count == 2) {
		check_techniques("precision=bf16 activation_checkpointing=full");
		check_techniques("precision=fp16");
	}
	return runs_finish("mpi_grid");
}
