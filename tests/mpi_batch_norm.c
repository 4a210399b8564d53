/* Batch normalization on all ranks of this job, for real; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi_batch_norm
 *
 * Synchronised over the ranks, every strategy has the losses of one rank with the same global batch, and PyTorch's;
 * local or synchronised, what was measured is what the plan says, byte by byte, and a run twice gives the same bits. */
#include <jansson.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "real/train.h"
#include "tests/support/images.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/trainer.h"

enum { STEPS = 12, MICRO_BATCH = 3 };
/* Sums in another order: 1e-7 of a value, which twelve steps of SGD carry on and do not blow up. */
static const double LIMIT = 1e-5;

static char images[256];

static struct request request_of(const char *model, const char *strategy, int64_t accumulate)
{
	return (struct request){.model = model,
	                        .strategy = strategy,
	                        .ranks = ranks_count,
	                        .micro_batch = MICRO_BATCH,
	                        .accumulate = accumulate,
	                        .optimizer = OPTIMIZER_SGD,
	                        .learning_rate = 0.05,
	                        .bucket = 4096};
}

static bool train(const struct request *q, bool guard, struct report *out)
{
	struct train_options o = train_options_default();
	o.settings = request_settings(q);
	o.steps = STEPS;
	o.data = images;
	o.guard = guard;
	enum status s = train_run(&o, out);
	ranks_check(s == STATUS_OK, "%s, %s: %s", q->model, q->strategy, status_message());
	return s == STATUS_OK;
}

/* Every rank computes for itself what one rank would. */
static void train_single(const struct request *q, double *losses)
{
	struct request one = *q;
	struct made m;
	struct trainer t = {0};
	one.strategy = "single";
	one.micro_batch = MICRO_BATCH * ranks_count;
	one.ranks = 1;
	enum status s = made_open(&m, &one);
	if (!s)
		s = trainer_open(&t, &m.plan, images, true);
	for (int i = 0; i < STEPS && !s; i++)
		s = trainer_step(&t, &losses[i]);
	ranks_check(!s, "single: %s", status_message());
	trainer_release(&t);
	made_release(&m);
}

/* What the ranks held and moved, by kind, against the plan. Rank 0 has the report. */
static void check_bytes(const struct request *q, const struct report *r)
{
	struct made m;
	struct report plan;
	if (rank_number)
		return;
	enum status s = made_open(&m, q);
	ranks_check(!s, "%s", status_message());
	if (s)
		return;
	report_from_plan(&plan, &m.plan);
	for (int i = 0; i < plan.role_count; i++) {
		const struct report_role *a = &r->roles[i], *b = &plan.roles[i];
		const struct report_memory *held = &a->memory[SPACE_DEVICE], *want = &b->memory[SPACE_DEVICE];
		ranks_check(held->peak_bytes == want->peak_bytes &&
		                    !memcmp(held->at_peak, want->at_peak, sizeof held->at_peak) &&
		                    !memcmp(held->steady, want->steady, sizeof held->steady),
		            "%s, %s, role %s: held a peak of %lld, planned %lld", q->model, q->strategy, b->role,
		            (long long)held->peak_bytes, (long long)want->peak_bytes);
		for (int t = 0; t < TRAFFIC_COUNT; t++)
			ranks_check(!memcmp(&a->by_kind[t], &b->by_kind[t], sizeof a->by_kind[t]),
			            "%s, %s, role %s, %s: %lld calls that sent %lld bytes; planned %lld and %lld",
			            q->model, q->strategy, b->role, traffic_name((enum traffic_kind)t),
			            (long long)a->by_kind[t].calls, (long long)a->by_kind[t].sent_bytes,
			            (long long)b->by_kind[t].calls, (long long)b->by_kind[t].sent_bytes);
	}
	report_release(&plan);
	made_release(&m);
}

/* PyTorch's BatchNorm1d over the whole batch in one process, which SyncBatchNorm over ranks is defined to be: losses of
 * tests/golden/mlp_norm_tiny.json (see tests/oracle/golden_training.py). */
static void compare_with_pytorch(const char *strategy)
{
	enum { BATCH = 16 };
	struct report r = {0};
	struct request q = {.model = "mlp:sizes=784-32-10,norm=sync-batch",
	                    .strategy = strategy,
	                    .ranks = ranks_count,
	                    .micro_batch = BATCH / ranks_count,
	                    .optimizer = OPTIMIZER_SGD,
	                    .learning_rate = 0.1,
	                    .bucket = 4096};
	struct train_options o = train_options_default();
	json_t *golden = json_load_file("tests/golden/mlp_norm_tiny.json", 0, NULL), *losses = NULL;
	losses = json_object_get(golden, "losses");
	o.settings = request_settings(&q);
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

static void try_run(const struct request *q, const double *single)
{
	struct report r = {0}, again = {0};
	if (train(q, true, &r) && train(q, false, &again)) {
		check_bytes(q, &again);
		ranks_check(strlen(r.weights_checksum) == 16 && !strcmp(r.weights_checksum, again.weights_checksum),
		            "%s, %s: %s, and %s the second time", q->model, q->strategy, r.weights_checksum,
		            again.weights_checksum);
		/* Running statistics stand for a batch's: a trained network does better than chance with them. */
		if (!rank_number)
			ranks_check(again.validation_loss > 0 && again.validation_loss < log(10.0),
			            "%s, %s: validation loss %g", q->model, q->strategy, again.validation_loss);
		for (int i = 0; i < STEPS && single && !rank_number; i++) {
			double error = fabs(again.losses[i] - single[i]) / single[i];
			ranks_check(error <= LIMIT, "%s, %s, step %d: loss %.9g, one rank has %.9g", q->model,
			            q->strategy, i + 1, again.losses[i], single[i]);
		}
	}
	report_release(&r);
	report_release(&again);
}

int main(int argc, char **argv)
{
	static const char *const strategies[] = {"dp", "ddp", "zero1", "zero2", "zero3", "fsdp:sync=last"};
	double single[STEPS] = {0};
	ranks_init(&argc, &argv);
	kernels_set_threads(1);
	if (!rank_number && !images_make(images, sizeof images, 6, 8, 200, 40))
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Bcast(images, sizeof images, MPI_CHAR, 0, MPI_COMM_WORLD);
	for (int64_t accumulate = 1; accumulate <= 2; accumulate++)
		for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
			struct request q =
			        request_of("mlp:sizes=48-33-17-10,norm=sync-batch", strategies[i], accumulate);
			if (!i)
				train_single(&q, single);
			try_run(&q, single);
			q.model = "mlp:sizes=48-33-17-10,norm=batch";
			try_run(&q, ranks_count == 1 ? single : NULL);
		}
	/* Stages serve the same samples, and each has its own norms' statistics: those of one rank with the batch. */
	for (int i = 0; i < 3 && ranks_count <= 3; i++) {
		static const char *const stages[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
		for (int synchronised = 0; synchronised < 2; synchronised++) {
			struct request q = request_of(synchronised ? "mlp:sizes=48-33-17-10,norm=sync-batch"
			                                           : "mlp:sizes=48-33-17-10,norm=batch",
			                              stages[i], 2);
			q.micro_batch = MICRO_BATCH * ranks_count;
			try_run(&q, single);
			q.offload = "optimizer,activations";
			try_run(&q, single);
		}
	}
	/* Replicas of shards: the ranks along both axes have samples, and what is synchronised is over all of them. */
	for (int64_t shard = 2; shard <= ranks_count && ranks_count % 2 == 0; shard *= 2) {
		char hybrid[32];
		snprintf(hybrid, sizeof hybrid, "hybrid:shard=%d", (int)shard);
		struct request q = request_of("mlp:sizes=48-33-17-10,norm=sync-batch", hybrid, 2);
		try_run(&q, single);
		q.model = "mlp:sizes=48-33-17-10,norm=batch";
		try_run(&q, NULL);
	}
	for (size_t i = 1; i < sizeof strategies / sizeof *strategies && 16 % ranks_count == 0 && images_there(); i++)
		compare_with_pytorch(strategies[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank_number)
		images_remove(images);
	return ranks_finish("mpi_batch_norm");
}
