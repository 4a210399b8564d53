/* Training in 16 bits under every strategy on all ranks of this job; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_precision
 *
 * Measured bytes are those of the plan, by our schedules and by the library's collectives; the same
 * run twice gives the same bits, with and without guarded memory; strategies give the losses of one rank within what 16
 * bits round. An overflow anywhere skips the step everywhere: whatever the strategy, the weights are then those it
 * began with, and the scale is what the rule says. Rounded stochastically, on two ranks, where a sum has one order, all
 * strategies have the same bits. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/loss_scale.h"
#include "tests/support/measured.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 20, FEW = 3, MICRO_BATCH = 2, SEARCH = 60 };

static double worst[2];

static const char *const models[] = {"mlp:sizes=48-33-17-10", "gpt:layers=1,width=32,heads=2,context=8"};

/* Losses may differ by this, relatively: bf16 keeps 8 digits, fp16 11; sums of gradients are rounded once a rank. */
static double limit_of(enum type t)
{
	return t == TYPE_BF16 ? 1e-2 : 2e-3;
}

static struct settings asked(int model, const char *strategy, enum type precision, int accumulate)
{
	return settings_of("%s %s ranks=%d micro_batch=%d accumulate=%d precision=%s bucket=2048", models[model],
	                   strategy, ranks_count, MICRO_BATCH, accumulate, type_name(precision));
}

static struct train_options options_of(const struct settings *q, const char *communicator, int64_t steps)
{
	return runs_options(q, &(struct runs_how){.steps = steps, .communicator = communicator, .no_evaluation = true});
}

/* ---- the same losses, the same bits, the planned bytes ---- */

static void train_single(const struct settings *like, double losses[STEPS])
{
	struct settings q = settings_with(like, "strategy=single ranks=1 accumulate=1");
	q.micro_batch = MICRO_BATCH * ranks_count * like->accumulate;
	runs_single(&q, STEPS, false, losses, NULL);
}

static void compare_losses(const char *what, enum type precision, const struct report *r, const double *single)
{
	double *most = &worst[precision == TYPE_FP16];
	*most = fmax(*most, runs_compare_losses(what, r, single, limit_of(precision)));
}

static void try_strategy(const struct settings *q)
{
	double single[STEPS] = {0};
	const char *what = runs_name(q);
	struct train_options o = options_of(q, "ring", STEPS);
	train_single(q, single);
	const struct report *ring = runs_run(q, &o);
	o.guard = true;
	const struct report *twice = ring ? runs_run(q, &o) : NULL;
	if (!twice)
		return;
	compare_losses(what, q->precision, ring, single);
	compare_with_plan(q, ring, COUNTED_ALL);
	compare_with_plan(q, twice, COUNTED_ALL);
	runs_same_weights(what, ring, twice);
	ranks_check(rank_number || (ring->loss_scale > 0) == (q->precision == TYPE_FP16), "%s: loss scale %g", what,
	            ring->loss_scale);
	o = options_of(q, "mpi", FEW);
	const struct report *mpi = runs_run(q, &o);
	if (!mpi)
		return;
	compare_losses(what, q->precision, mpi, single);
	compare_with_plan(q, mpi, ranks_count == 1 ? COUNTED_ALL : COUNTED_CONTROL);
}

/* ---- overflow ---- */

struct seen {
	int count;
	bool skipped[SEARCH];
	double scale[SEARCH];
};

static void see(void *context, const struct train_step *s)
{
	struct seen *all = context;
	all->skipped[all->count] = s->skipped;
	all->scale[all->count++] = s->next_loss_scale;
}

static void check_rule(const char *what, const struct settings *q, const struct seen *seen)
{
	struct loss_scale s = loss_scale_begin(q->loss_scaler, q->loss_scale);
	for (int i = 0; i < seen->count; i++) {
		bool goes_on = loss_scale_update(q->loss_scaler, 1000, seen->skipped[i], &s);
		ranks_check(goes_on && (double)s.scale == seen->scale[i], "%s: step %d: scale %g, the rule says %g",
		            what, i + 1, seen->scale[i], (double)s.scale);
	}
}

static int first_good(const struct seen *seen)
{
	int k = 0;
	while (k < seen->count && seen->skipped[k])
		k++;
	return k;
}

/* From a scale that is far too high. At the last step that is skipped only the largest gradients overflow, on one
 * rank's slice or in one rank's bucket; then all ranks still have the weights that they began with. One step more, and
 * they have not. */
static void try_overflow(int model, const char *strategy, const char *offload, enum loss_scaler rule,
                         const char *initial)
{
	struct seen seen = {0};
	struct settings q = asked(model, strategy, TYPE_FP16, 2);
	q = settings_with(&q, "offload=%s loss_scaler=%s loss_scale=%d loss_scale_window=1000", offload,
	                  loss_scaler_name(rule), 1 << 30);
	const char *what = runs_name(&q);
	struct train_options o = options_of(&q, "ring", SEARCH);
	o.on_step = see;
	o.context = &seen;
	const struct report *r = runs_run(&q, &o);
	if (!r)
		return;
	int good = first_good(&seen);
	if (!rank_number) {
		check_rule(what, &q, &seen);
		ranks_check(good > 2 && good < SEARCH && r->skipped_steps >= good, "%s: %d steps skipped", what, good);
		compare_with_plan(&q, r, COUNTED_ALL);
	}
	MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
	o.on_step = NULL;
	for (int more = 0; more < 2; more++) {
		o.steps = good + more;
		if (!(r = runs_run(&q, &o)))
			return;
		ranks_check(rank_number || !strcmp(r->weights_checksum, initial) == !more,
		            "%s: after %d skipped steps and %d good ones the checksum is %s; in the beginning %s", what,
		            good, more, r->weights_checksum, initial);
	}
}

/* The checksum of the initial weights: a learning rate of 0 keeps them, in fp32. */
static void initial_checksum(int model, char out[17])
{
	struct settings q = asked(model, "ddp", TYPE_FP32, 1);
	struct train_options o = options_of(&q, "ring", 1);
	o.settings.learning_rate = 0;
	const struct report *r = runs_run(&q, &o);
	snprintf(out, 17, "%s", r ? r->weights_checksum : "");
}

static void try_overflows(void)
{
	static const char *const contrasts[] = {"hybrid:shard=2", "model", "pipeline", "tensor"};
	char initial[17];
	for (int model = 0; model < 2; model++) {
		initial_checksum(model, initial);
		for (int i = ranks_count > 1; strategy_at(i); i++)
			try_overflow(model, strategy_at(i)->name, "none",
			             (i + model) % 2 ? LOSS_SCALER_PYTORCH : LOSS_SCALER_DEEPSPEED, initial);
		/* The host makes the device's parameters anew, those of a skipped step too. */
		try_overflow(model, "ddp", "optimizer", LOSS_SCALER_PYTORCH, initial);
		try_overflow(model, "zero2", "optimizer", LOSS_SCALER_DEEPSPEED, initial);
		try_overflow(model, "zero3", "optimizer,parameters", LOSS_SCALER_PYTORCH, initial);
		/* Each stage, or slice of the model, hears of the others. */
		for (int i = 0; i < 3 + model && ranks_count == 2; i++) /* rows of 33 are no two slices */
			try_overflow(model, contrasts[i], "none", LOSS_SCALER_PYTORCH, initial);
	}
}

/* ---- stochastic rounding ---- */

/* The scale grows until gradients overflow, after some updates: what is made anew then is rounded as it was before. */
static const struct report *train_rounded(int model, enum type precision, const char *strategy, const char *offload,
                                          bool stochastic)
{
	struct settings q = asked(model, strategy, precision, 1);
	q = settings_with(&q, "offload=%s%s%s", offload, stochastic ? " stochastic_rounding=yes" : "",
	                  precision == TYPE_FP16 ? " loss_scaler=pytorch loss_scale=65536 loss_scale_window=1" : "");
	struct train_options o = options_of(&q, "ring", STEPS);
	const struct report *out = runs_run(&q, &o);
	if (!out)
		return NULL;
	compare_with_plan(&q, out, COUNTED_ALL);
	ranks_check(rank_number || precision != TYPE_FP16 || (out->skipped_steps > 0 && out->skipped_steps < STEPS - 2),
	            "%s: %d of %d steps were skipped", strategy, (int)out->skipped_steps, STEPS);
	return out;
}

static void try_rounding(int model, enum type precision)
{
	static const struct {
		const char *strategy, *offload;
	} ways[] = {{"zero1", "none"},          {"zero2", "none"},
	            {"zero3", "none"},          {"fsdp", "none"},
	            {"hybrid:shard=2", "none"}, {"ddp", "optimizer"},
	            {"zero2", "optimizer"},     {"zero3", "optimizer,parameters"}};
	const struct report *want = train_rounded(model, precision, "ddp", "none", true),
	                    *other = train_rounded(model, precision, "ddp", "none", false);
	if (!want || !other)
		return;
	ranks_check(rank_number || strcmp(want->weights_checksum, other->weights_checksum) != 0,
	            "%s: rounded to the nearest the weights are the same", type_name(precision));
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (!(other = train_rounded(model, precision, ways[i].strategy, ways[i].offload, true)))
			return;
		ranks_check(rank_number || !strcmp(want->weights_checksum, other->weights_checksum),
		            "%s in %s, offload %s: checksum %s, ddp's %s", ways[i].strategy, type_name(precision),
		            ways[i].offload, other->weights_checksum, want->weights_checksum);
	}
}

int main(int argc, char **argv)
{
	runs_begin(&argc, &argv, 500, 40);
	for (int t = TYPE_BF16; t <= TYPE_FP16; t++)
		for (int i = ranks_count > 1; strategy_at(i); i++) {
			struct settings q = asked(i % 2, strategy_at(i)->name, (enum type)t, 1 + i % 3 / 2);
			try_strategy(&q);
			q = asked(1 - i % 2, strategy_at(i)->name, (enum type)t, 2);
			q = settings_with(&q, "clip=0.1%s", i % 2 ? " optimizer=sgd learning_rate=0.1" : "");
			try_strategy(&q);
		}
	try_overflows();
	for (int t = TYPE_BF16; t <= TYPE_FP16 && ranks_count == 2; t++)
		for (int model = 0; model < 2; model++)
			try_rounding(model, (enum type)t);
	if (!rank_number)
		printf("losses differ from those of one rank by at most %.2g in bf16, %.2g in fp16\n", worst[0],
		       worst[1]);
	return runs_finish("mpi_precision");
}
