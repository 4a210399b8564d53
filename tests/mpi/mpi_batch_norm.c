/* Batch normalization on all ranks of this job, for real; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_batch_norm
 *
 * Synchronised over the ranks, every strategy has the losses of one rank with the same global batch, and PyTorch's;
 * local or synchronised, what was measured is what the plan says, byte by byte, and a run twice gives the same bits. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "real/data/data.h"
#include "real/train/train.h"
#include "tests/support/measured.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 12, MICRO_BATCH = 3 };
/* Sums in another order: 1e-7 of a value, which twelve steps of SGD carry on and do not blow up. */
static const double LIMIT = 1e-5;

#define MLP "mlp:sizes=48-33-17-10"

static struct settings asked(const char *model, const char *strategy, int accumulate)
{
	return settings_of("%s %s ranks=%d micro_batch=%d accumulate=%d optimizer=sgd learning_rate=0.05 bucket=4096",
	                   model, strategy, ranks_count, MICRO_BATCH, accumulate);
}

/* On one rank, with the same global batch. */
static void train_single(const struct settings *q, double *losses)
{
	struct settings one = settings_with(q, "strategy=single ranks=1 micro_batch=%d", MICRO_BATCH * ranks_count);
	runs_single(&one, STEPS, true, losses, NULL);
}

/* PyTorch's BatchNorm1d over the whole batch in one process, which SyncBatchNorm over ranks is defined to be: losses of
 * tests/golden/mlp_norm_tiny.json (see tests/oracle/golden_training.py). */
static void compare_with_pytorch(const char *strategy)
{
	enum { BATCH = 16 };
	struct report r = {0};
	struct settings q = settings_of("mlp:sizes=784-32-10,norm=sync-batch %s ranks=%d micro_batch=%d optimizer=sgd "
	                                "learning_rate=0.1 bucket=4096",
	                                strategy, ranks_count, BATCH / ranks_count);
	struct train_options o = train_options_default();
	json_t *golden = json_load_file("tests/golden/mlp_norm_tiny.json", 0, NULL), *losses = NULL;
	losses = json_object_get(golden, "losses");
	o.settings = settings_resolved(&q);
	o.steps = (int64_t)json_array_size(losses);
	enum status s = train_run(&o, &r);
	ranks_check(s == STATUS_OK && o.steps == 20, "%s, %lld steps: %s", strategy, (long long)o.steps,
	            s ? status_message() : "too few");
	for (int64_t i = 0; i < r.loss_count && !rank_number; i++) {
		double want = json_number_value(json_array_get(losses, (size_t)i)),
		       error = fabs(r.losses[i] / want - 1);
		ranks_check(error <= LIMIT, "%s, step %d: loss %.9g, PyTorch has %.9g", strategy, (int)i + 1,
		            r.losses[i], want);
	}
	json_decref(golden);
	report_release(&r);
}

static bool images_there(void)
{
	return !access(DATASET_IMAGES_DEFAULT, R_OK);
}

static void try_run(const struct settings *q, const double *single)
{
	struct report r = {0}, again = {0};
	const char *what = runs_name(q);
	if (runs_train(q, &(struct runs_how){.steps = STEPS, .guard = true}, &r) &&
	    runs_train(q, &(struct runs_how){.steps = STEPS}, &again)) {
		compare_with_plan(q, &again, COUNTED_ALL);
		runs_same_weights(what, &r, &again);
		/* Running statistics stand for a batch's: a trained network does better than chance with them. */
		if (!rank_number)
			ranks_check(again.validation_loss > 0 && again.validation_loss < log(10.0),
			            "%s: validation loss %g", what, again.validation_loss);
		if (single)
			runs_compare_losses(what, &again, single, LIMIT);
	}
	report_release(&r);
	report_release(&again);
}

int main(int argc, char **argv)
{
	static const char *const strategies[] = {"dp", "ddp", "zero1", "zero2", "zero3", "fsdp:sync=last"};
	double single[STEPS] = {0};
	runs_begin(&argc, &argv, 200, 40);
	for (int accumulate = 1; accumulate <= 2; accumulate++)
		for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
			struct settings q = asked(MLP ",norm=sync-batch", strategies[i], accumulate);
			if (!i)
				train_single(&q, single);
			try_run(&q, single);
			q = asked(MLP ",norm=batch", strategies[i], accumulate);
			try_run(&q, ranks_count == 1 ? single : NULL);
		}
	/* Stages serve the same samples, and each has its own norms' statistics: those of one rank with the batch. */
	for (int i = 0; i < 3 && ranks_count <= 3; i++) {
		static const char *const stages[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
		for (int synchronised = 0; synchronised < 2; synchronised++) {
			struct settings q =
			        asked(synchronised ? MLP ",norm=sync-batch" : MLP ",norm=batch", stages[i], 2);
			q.micro_batch = MICRO_BATCH * ranks_count;
			try_run(&q, single);
			q = settings_with(&q, "offload=optimizer,activations");
			try_run(&q, single);
		}
	}
	/* Replicas of shards: the ranks along both axes have samples, and what is synchronised is over all of them. */
	for (int64_t shard = 2; shard <= ranks_count && ranks_count % 2 == 0; shard *= 2) {
		char hybrid[32];
		snprintf(hybrid, sizeof hybrid, "hybrid:shard=%d", (int)shard);
		struct settings q = asked(MLP ",norm=sync-batch", hybrid, 2);
		try_run(&q, single);
		q = asked(MLP ",norm=batch", hybrid, 2);
		try_run(&q, NULL);
	}
	for (size_t i = 1; i < sizeof strategies / sizeof *strategies && 16 % ranks_count == 0 && images_there(); i++)
		compare_with_pytorch(strategies[i]);
	return runs_finish("mpi_batch_norm");
}
