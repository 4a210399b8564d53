/* Checkpoints on all ranks of this job; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_checkpoint
 *
 * A run that is resumed ends with the bits of one that was not: losses and weights. What one strategy has saved,
 * another restores: the checksum of the state is that of the checkpoint, which train_run itself makes sure of. (Other
 * numbers of ranks: tests/cli/cli_checkpoint.sh.) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "real/checkpoint/folder.h"
#include "real/checkpoint/manifest.h"
#include "strategy/base/path.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 5, SAVED = 2 };

static char folder[256];
static bool async; /* written while steps go on */

static const char *const models[] = {"mlp:sizes=48-33-17-10", "gpt:layers=2,width=32,heads=2,context=16",
                                     "mlp:sizes=48-33-17-10,norm=batch"};

static void forget(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	for (int step = 1; step <= STEPS && !rank_number; step++) {
		char *path = checkpoint_path(folder, step);
		folder_remove(path, MANIFEST_NAME);
		free(path);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The weights after so many steps; the losses of those that were made here. */
static const struct report *train(const struct settings *q, int steps, const char *resume)
{
	struct runs_how how = {.steps = steps, .no_evaluation = true};
	struct train_options o = runs_options(q, &how);
	o.settings.checkpoints = true;
	o.settings.checkpoint_async = async;
	o.checkpoint = folder;
	o.checkpoint_keep = 1;
	o.resume = resume;
	return runs_run(q, &o);
}

static void compare(const struct settings *q, const struct report *whole, const struct report *resumed)
{
	const char *what = runs_name(q);
	runs_same_weights(what, whole, resumed);
	ranks_check(rank_number || resumed->loss_count == STEPS - SAVED, "%s: %d losses", what,
	            (int)resumed->loss_count);
	for (int i = SAVED; i < STEPS && !rank_number && resumed->loss_count == STEPS - SAVED; i++)
		ranks_check(whole->losses[i] == resumed->losses[i - SAVED], "%s: step %d: loss %.17g, not %.17g", what,
		            i + 1, resumed->losses[i - SAVED], whole->losses[i]);
}

/* other: settings of a run that goes on from this one's state; NULL: none. */
static void try_run(const char *words, const char *other)
{
	struct settings q = settings_of("%s ranks=%d learning_rate=0.01", words, ranks_count);
	struct runs_how how = {.steps = STEPS, .no_evaluation = true};
	const struct report *whole = runs_train(&q, &how);
	if (!whole || !train(&q, SAVED, NULL))
		return;
	if (other) {
		struct settings another = settings_with(&q, "%s", other);
		struct train_options o = runs_options(&another, &how);
		o.settings.checkpoints = true;
		o.resume = folder;
		(void)runs_run(&another, &o);
	}
	const struct report *resumed = train(&q, STEPS, "latest");
	if (resumed)
		compare(&q, whole, resumed);
	forget();
}

static void try_strategies(void)
{
	static const struct {
		int model;
		const char *strategy, *settings, *other;
	} cases[] = {
	        {0, "dp", "micro_batch=2 clip=0.5", "strategy=zero3"},
	        {1, "ddp", "micro_batch=2 accumulate=2 bucket=4096 warmup=4", "strategy=zero1"},
	        {1, "zero1", "micro_batch=2 precision=bf16 stochastic_rounding=yes", "strategy=fsdp"},
	        {0, "zero2", "micro_batch=2 offload=optimizer:delayed=yes", "strategy=zero1"},
	        {1, "zero2", "micro_batch=2 precision=fp16 loss_scaler=pytorch loss_scale=2097152",
	         "strategy=zero3 offload=optimizer,parameters"},
	        {1, "zero3", "micro_batch=2 precision=bf16 offload=optimizer:to=disk,parameters:to=disk",
	         "strategy=ddp offload=none"},
	        {0, "fsdp", "micro_batch=2 optimizer=sgd", "strategy=dp"},
	        {1, "hybrid:shard=1", "micro_batch=2 offload=optimizer:delayed=yes", "strategy=zero2"},
	        {2, "ddp", "micro_batch=2 accumulate=2", "strategy=zero2"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char words[400];
		snprintf(words, sizeof words, "%s %s %s", models[cases[i].model], cases[i].strategy, cases[i].settings);
		async = i % 2;
		try_run(words, cases[i].other);
	}
}

/* Layers, and slices of layers, over ranks; the batch of the others is `ranks` micro-batches. */
static void try_models(void)
{
	if (ranks_count > 2)
		return;
	try_run("gpt:layers=3,width=32,heads=2,context=16 pipeline micro_batch=2 accumulate=2 precision=fp16", NULL);
	try_run("gpt:layers=2,width=32,heads=2,context=16,vocabulary=257 tensor micro_batch=4", "strategy=model");
	try_run("mlp:sizes=48-33-17-10,norm=batch model micro_batch=4", "strategy=pipeline");
}

int main(int argc, char **argv)
{
	runs_begin(&argc, &argv, 200, 20);
	snprintf(folder, sizeof folder, "%s/mpi_checkpoint.XXXXXX", support_folder());
	ranks_check(rank_number || mkdtemp(folder), "%s cannot be made", folder);
	MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
	try_strategies();
	try_models();
	forget();
	if (!rank_number) {
		char *latest = path_in_folder(folder, "latest");
		unlink(latest);
		free(latest);
		ranks_check(!rmdir(folder), "something is left in %s", folder);
	}
	return runs_finish("mpi_checkpoint");
}
