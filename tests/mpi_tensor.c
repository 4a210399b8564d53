/* Tensor parallelism on all ranks of this job; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi_tensor
 *
 * All ranks work on the same samples with a slice of the model each: losses are those of one rank that has it whole,
 * what was measured is what the plan says to the byte, and the same run twice gives the same bits.
 *
 * With sequence=yes each rank has its own rows of what lies between: norms and the residual stream.
 *
 * Widths and heads divide by every number of ranks; the vocabulary, rows and some widths do not. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "real/train.h"
#include "tests/support/images.h"
#include "tests/support/measured.h"
#include "tests/support/ranks.h"
#include "tests/support/trainer.h"

enum { STEPS = 20, FEW = 3, BATCH = 4 };
static const double LIMIT = 1e-4;

static char images[256];
static double worst;

static const struct {
	const char *model, *strategy;
	bool is_text;
} models[] = {{"mlp:sizes=48-48-17-24-10", "tensor", false},
              {"mlp:sizes=48-24-19-10", "tensor", false},
              {"gpt:layers=2,width=48,heads=24,context=15,vocabulary=257", "tensor", true},
              {"gpt:layers=2,width=48,heads=24,context=24,vocabulary=257", "tensor:sequence=yes", true}};
enum { MODELS = sizeof models / sizeof models[0] };

static const char *data_of(int model)
{
	return models[model].is_text ? "tests/golden/text.txt" : images;
}

static struct request request_of(int model, int64_t accumulate)
{
	return (struct request){.model = models[model].model,
	                        .strategy = models[model].strategy,
	                        .ranks = ranks_count,
	                        .micro_batch = BATCH / accumulate,
	                        .accumulate = accumulate};
}

static bool train(int model, const struct request *q, int64_t steps, bool guard, const char *plan, struct report *out)
{
	struct train_options o = train_options_default();
	o.settings = request_settings(q);
	o.steps = steps;
	o.communicator = q->library_collectives ? "mpi" : "ring";
	o.data = data_of(model);
	o.guard = guard;
	o.plan_file = plan;
	enum status s = train_run(&o, out);
	ranks_check(s == STATUS_OK, "%s: %s", q->model, status_message());
	return s == STATUS_OK;
}

/* The same request on one rank, which has the model whole, without MPI. */
static void train_single(int model, const struct request *q, double losses[STEPS])
{
	struct request one = *q;
	struct made m = {0};
	struct trainer t = {0};
	one.strategy = "single";
	one.ranks = 1;
	one.library_collectives = false;
	if (!rank_number) {
		enum status s = made_open(&m, &one);
		if (!s)
			s = trainer_open(&t, &m.plan, data_of(model), false);
		for (int step = 0; step < STEPS && !s; step++)
			s = trainer_step(&t, &losses[step]);
		ranks_check(!s, "single: %s", status_message());
		trainer_release(&t);
		made_release(&m);
	}
}

static void compare_losses(const char *what, const struct report *r, const double *single)
{
	if (rank_number)
		return;
	ranks_check(r->loss_count > 0, "%s: no losses", what);
	for (int64_t i = 0; i < r->loss_count; i++) {
		double error = fabs(r->losses[i] - single[i]) / single[i];
		worst = fmax(worst, error);
		ranks_check(error <= LIMIT, "%s: step %d: loss %.9g, single has %.9g", what, (int)i + 1, r->losses[i],
		            single[i]);
	}
}

/* Rank 0 writes the plan's text where all can read it. */
static void write_plan(const struct request *q, char *path, size_t size)
{
	snprintf(path, size, "%s/plan", images);
	if (!rank_number) {
		struct made m = {0};
		FILE *f = fopen(path, "w");
		enum status s = made_open(&m, q);
		ranks_check(f && !s, "%s: %s", path, status_message());
		if (f && !s)
			plan_write(&m.plan, NULL, f);
		ranks_check(!f || !fclose(f), "%s cannot be written", path);
		made_release(&m);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void try_model(int model, int64_t accumulate)
{
	char what[128], path[300];
	struct request q = request_of(model, accumulate), library = q;
	struct report ring, twice, mpi, guarded, text;
	double single[STEPS] = {0};
	snprintf(what, sizeof what, "%.12s, %s, accumulate %d", q.model, q.strategy, (int)accumulate);
	library.library_collectives = true;
	train_single(model, &q, single);
	write_plan(&q, path, sizeof path);
	if (!train(model, &q, STEPS, false, NULL, &ring) || !train(model, &q, FEW, false, NULL, &twice) ||
	    !train(model, &library, FEW, false, NULL, &mpi) || !train(model, &q, FEW, true, NULL, &guarded) ||
	    !train(model, &q, FEW, false, path, &text))
		return;
	compare_losses(what, &ring, single);
	compare_losses(what, &mpi, single);
	compare_with_plan(what, &q, &ring, true);
	compare_with_plan(what, &library, &mpi, ranks_count == 1);
	compare_with_plan(what, &q, &guarded, true);
	ranks_check(rank_number || (!strcmp(twice.weights_checksum, guarded.weights_checksum) &&
	                            !strcmp(twice.weights_checksum, text.weights_checksum)),
	            "%s: checksums %s, %s and %s", what, twice.weights_checksum, guarded.weights_checksum,
	            text.weights_checksum);
	ranks_check(rank_number || fabs(twice.validation_loss - mpi.validation_loss) <= LIMIT * twice.validation_loss,
	            "%s: validation losses %g and %g", what, twice.validation_loss, mpi.validation_loss);
	for (int i = 0; i < FEW && !rank_number; i++)
		ranks_check(twice.losses[i] == ring.losses[i] && guarded.losses[i] == ring.losses[i],
		            "%s: step %d: not the same loss twice", what, i + 1);
	report_release(&ring);
	report_release(&twice);
	report_release(&mpi);
	report_release(&guarded);
	report_release(&text);
}

/* Clipping by the norm of all slices, each counted once: a norm that counts some twice gives other losses. */
static void try_clipping(int model, enum optimizer optimizer)
{
	struct request q = request_of(model, 2);
	struct report r;
	double single[STEPS] = {0};
	q.clip = 0.1;
	q.optimizer = optimizer;
	q.learning_rate = optimizer == OPTIMIZER_SGD ? 0.5 : 0; /* Adam's steps hardly depend on the norm */
	train_single(model, &q, single);
	if (!train(model, &q, STEPS, true, NULL, &r))
		return;
	compare_losses("clipped", &r, single);
	compare_with_plan("clipped", &q, &r, true);
	report_release(&r);
}

/* Sums over the group are taken again where a kernel is carried out again, and no bit of the result changes. */
static void try_checkpointing(int model, const char *checkpointing)
{
	struct request plain = request_of(model, 2), q = plain;
	struct report without, with;
	q.checkpointing = checkpointing;
	if (!train(model, &plain, FEW, false, NULL, &without) || !train(model, &q, FEW, true, NULL, &with))
		return;
	compare_with_plan(checkpointing, &q, &with, true);
	ranks_check(rank_number || !strcmp(with.weights_checksum, without.weights_checksum),
	            "checkpointing %s: checksums %s and %s", checkpointing, with.weights_checksum,
	            without.weights_checksum);
	report_release(&without);
	report_release(&with);
}

/* A rank's slices go to the host as they are: there is nobody to reduce them with. */
static void try_offload(int model, const char *offload)
{
	struct request plain = request_of(model, 2), q = plain;
	struct report without, with;
	plain.clip = q.clip = 0.5;
	q.offload = offload;
	if (!train(model, &plain, FEW, false, NULL, &without) || !train(model, &q, FEW, true, NULL, &with))
		return;
	compare_with_plan(offload, &q, &with, true);
	ranks_check(rank_number || !strcmp(with.weights_checksum, without.weights_checksum),
	            "offload %s: checksums %s and %s", offload, with.weights_checksum, without.weights_checksum);
	report_release(&without);
	report_release(&with);
}

/* In 16 bits: the plan holds to the byte, the same run gives the same bits, and losses are one rank's within what 16
 * bits can tell apart: sums are rounded at another place. */
static void try_precision(int model, enum type precision)
{
	struct request q = request_of(model, 2);
	struct report r, twice;
	double single[STEPS] = {0};
	q.precision = precision;
	q.clip = 0.5;
	train_single(model, &q, single);
	if (!train(model, &q, STEPS, false, NULL, &r) || !train(model, &q, STEPS, true, NULL, &twice))
		return;
	compare_with_plan(type_name(precision), &q, &r, true);
	compare_with_plan(type_name(precision), &q, &twice, true);
	ranks_check(rank_number || !strcmp(r.weights_checksum, twice.weights_checksum), "%s: checksums %s and %s",
	            type_name(precision), r.weights_checksum, twice.weights_checksum);
	for (int i = 0; i < STEPS && !rank_number; i++)
		ranks_check(fabs(r.losses[i] - single[i]) <= 0.02 * single[i],
		            "%s, %s: step %d: loss %.9g, single has %.9g", q.model, type_name(precision), i + 1,
		            r.losses[i], single[i]);
	report_release(&r);
	report_release(&twice);
}

int main(int argc, char **argv)
{
	ranks_init(&argc, &argv);
	kernels_set_threads(1);
	if (!rank_number && !images_make(images, sizeof images, 6, 8, 200, 20))
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Bcast(images, sizeof images, MPI_CHAR, 0, MPI_COMM_WORLD);
	for (int model = 0; model < MODELS; model++) {
		try_model(model, 1);
		try_model(model, 2);
		try_clipping(model, OPTIMIZER_SGD);
		try_clipping(model, OPTIMIZER_ADAMW);
		try_checkpointing(model, "full");
		try_offload(model, "optimizer");
		try_precision(model, TYPE_BF16);
		try_precision(model, TYPE_FP16);
	}
	try_offload(2, "optimizer,activations");
	try_checkpointing(2, "selective");
	try_checkpointing(3, "selective");
	try_checkpointing(3, "full:contiguous_memory_optimization=yes");
	try_offload(3, "optimizer,activations");
	try_checkpointing(1, "full:contiguous_memory_optimization=yes");
	try_checkpointing(2, "full:contiguous_memory_optimization=yes");
	if (!rank_number) {
		char path[300];
		snprintf(path, sizeof path, "%s/plan", images);
		unlink(path);
		images_remove(images);
		printf("mpi_tensor: %d ranks: losses within %.1e of one rank's\n", ranks_count, worst);
	}
	return ranks_finish("mpi_tensor");
}
