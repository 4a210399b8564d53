/* Tensor parallelism on all ranks of this job; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_tensor
 *
 * All ranks work on the same samples with a slice of the model each: losses are those of one rank that has it whole,
 * what was measured is what the plan says to the byte, and the same run twice gives the same bits.
 *
 * With sequence=yes each rank has its own rows of what lies between: norms and the residual stream.
 *
 * Widths and heads divide by every number of ranks; the vocabulary, rows and some widths do not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "real/train/train.h"
#include "tests/support/measured.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 20, FEW = 3, BATCH = 4 };
static const double LIMIT = 1e-4;

static double worst;

static const struct {
	const char *model, *strategy;
	bool is_text;
} models[] = {{"mlp:sizes=48-48-17-24-10", "tensor", false},
              {"mlp:sizes=48-24-19-10", "tensor", false},
              {"gpt:layers=2,width=48,heads=24,context=15,vocabulary=257", "tensor", true},
              {"gpt:layers=2,width=48,heads=24,context=24,vocabulary=257", "tensor:sequence=yes", true},
              /* Rows of logits have pads, whole and as one of two, three or four slices. */
              {"gpt:layers=1,width=24,heads=24,context=4,vocabulary=8187", "tensor", true}};
enum { MODELS = sizeof models / sizeof models[0] };

static const char *data_of(int model)
{
	return runs_data(models[model].is_text);
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
	one.strategy = "single";
	one.ranks = 1;
	one.library_collectives = false;
	runs_single(&one, data_of(model), STEPS, false, losses);
}

static void try_model(int model, int64_t accumulate)
{
	char what[128];
	struct request q = request_of(model, accumulate), library = q;
	struct runs r;
	double single[STEPS] = {0};
	snprintf(what, sizeof what, "%.12s, %s, accumulate %d", q.model, q.strategy, (int)accumulate);
	library.library_collectives = true;
	train_single(model, &q, single);
	if (train(model, &q, STEPS, false, NULL, &r.all) && train(model, &q, FEW, false, NULL, &r.few) &&
	    train(model, &library, FEW, false, NULL, &r.library) && train(model, &q, FEW, true, NULL, &r.guarded) &&
	    train(model, &q, FEW, false, runs_write_plan(&q), &r.text))
		worst = fmax(worst, runs_compare(what, &q, &r, single, LIMIT));
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
	worst = fmax(worst, runs_compare_losses("clipped", &r, single, LIMIT));
	compare_with_plan("clipped", &q, &r, COUNTED_ALL);
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
	compare_with_plan(checkpointing, &q, &with, COUNTED_ALL);
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
	if (!train(model, &plain, FEW, false, runs_write_plan_as(&plain, &q), &without) ||
	    !train(model, &q, FEW, true, NULL, &with))
		return;
	compare_with_plan(offload, &q, &with, COUNTED_ALL);
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
	compare_with_plan(type_name(precision), &q, &r, COUNTED_ALL);
	compare_with_plan(type_name(precision), &q, &twice, COUNTED_ALL);
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
	runs_begin(&argc, &argv, 200, 20);
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
	if (!rank_number)
		printf("mpi_tensor: %d ranks: losses within %.1e of one rank's\n", ranks_count, worst);
	return runs_finish("mpi_tensor");
}
