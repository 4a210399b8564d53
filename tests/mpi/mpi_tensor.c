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

#include "tests/support/measured.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"
#include "tests/support/suite.h"

enum { STEPS = SUITE_CASES(20, 6), FEW = 3, BATCH = 4 };
static const double LIMIT = 1e-4;

static double worst;

static const struct {
	const char *model, *strategy;
} models[] = {{"mlp:sizes=48-48-17-24-10", "tensor"},
              {"mlp:sizes=48-24-19-10", "tensor"},
              {"gpt:layers=2,width=48,heads=24,context=15,vocabulary=257", "tensor"},
              {"gpt:layers=2,width=48,heads=24,context=24,vocabulary=257", "tensor:sequence=yes"},
              /* Rows of logits have pads, whole and as one of two, three or four slices. */
              {"gpt:layers=1,width=24,heads=24,context=4,vocabulary=8187", "tensor"}};
enum { MODELS = sizeof models / sizeof models[0] };
static const struct runs_how all = {.steps = STEPS}, few_guarded = {.steps = FEW, .guard = true},
                             all_guarded = {.steps = STEPS, .guard = true};

static struct settings asked(int model, int accumulate)
{
	return settings_of("%s %s ranks=%d micro_batch=%d accumulate=%d", models[model].model, models[model].strategy,
	                   ranks_count, BATCH / accumulate, accumulate);
}

/* The same on one rank, which has the model whole, without MPI. */
static void train_single(const struct settings *q, double losses[STEPS])
{
	struct settings one = settings_with(q, "strategy=single ranks=1");
	runs_single(&one, STEPS, false, losses, NULL);
}

static void try_model(int model, int accumulate)
{
	struct settings q = asked(model, accumulate);
	double single[STEPS] = {0};
	train_single(&q, single);
	worst = fmax(worst, runs_five_ways(&q, STEPS, FEW, single, NULL, LIMIT));
}

/* Clipping by the norm of all slices, each counted once: a norm that counts some twice gives other losses. Adam's steps
 * hardly depend on the norm, and SGD's do. */
static void try_clipping(int model, const char *optimizer)
{
	struct settings plain = asked(model, 2), q = settings_with(&plain, "clip=0.1 %s", optimizer);
	double single[STEPS] = {0};
	train_single(&q, single);
	const struct report *r = runs_train(&q, &all_guarded);
	if (!r)
		return;
	worst = fmax(worst, runs_compare_losses(runs_name(&q), r, single, LIMIT));
	compare_with_plan(&q, r, COUNTED_ALL);
}

/* The same without `q`'s checkpointing or offload, from its plan or from a file, has the same bits. */
static void try_same(const struct settings *q, const struct settings *plain, const char *plan)
{
	const struct report *without = runs_train(plain, &(struct runs_how){.steps = FEW, .plan = plan}),
	                    *with = runs_train(q, &few_guarded);
	if (!without || !with)
		return;
	compare_with_plan(q, with, COUNTED_ALL);
	runs_same_weights(runs_name(q), with, without);
}

/* Sums over the group are taken again where a kernel is carried out again, and no bit of the result changes. */
static void try_checkpointing(int model, const char *checkpointing)
{
	struct settings plain = asked(model, 2),
	                q = settings_with(&plain, "activation_checkpointing=%s", checkpointing);
	try_same(&q, &plain, NULL);
}

/* A rank's slices go to the host as they are: there is nobody to reduce them with. */
static void try_offload(int model, const char *offload)
{
	struct settings plain = asked(model, 2);
	plain.clip = 0.5;
	struct settings q = settings_with(&plain, "offload=%s", offload);
	try_same(&q, &plain, runs_write_plan_as(&plain, &q));
}

/* In 16 bits: the plan holds to the byte, the same run gives the same bits, and losses are one rank's within what 16
 * bits can tell apart: sums are rounded at another place. */
static void try_precision(int model, const char *precision)
{
	struct settings plain = asked(model, 2), q = settings_with(&plain, "precision=%s clip=0.5", precision);
	const char *what = runs_name(&q);
	double single[STEPS] = {0};
	train_single(&q, single);
	const struct report *r = runs_train(&q, &all), *twice = runs_train(&q, &all_guarded);
	if (!r || !twice)
		return;
	compare_with_plan(&q, r, COUNTED_ALL);
	compare_with_plan(&q, twice, COUNTED_ALL);
	runs_same_weights(what, r, twice);
	runs_compare_losses(what, r, single, 0.02);
}

int main(int argc, char **argv)
{
	runs_begin(&argc, &argv, 200, 20);
	for (int model = 0; model < MODELS; model++) {
		try_model(model, 1);
		try_model(model, 2);
		try_clipping(model, "optimizer=sgd learning_rate=0.5");
		try_clipping(model, "optimizer=adamw");
		try_checkpointing(model, "full");
		try_offload(model, "optimizer");
		try_precision(model, "bf16");
		try_precision(model, "fp16");
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
