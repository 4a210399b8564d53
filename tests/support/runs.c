#include "tests/support/runs.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "tests/support/images.h"
#include "tests/support/measured.h"
#include "tests/support/ranks.h"
#include "tests/support/reports.h"
#include "tests/support/trainer.h"

static char images[256], plan_path[300];

void runs_begin(int *argc, char ***argv, int training, int validation)
{
	ranks_init(argc, argv);
	kernels_set_threads(1);
	if (!rank_number && !images_make(images, sizeof images, 6, 8, training, validation))
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Bcast(images, sizeof images, MPI_CHAR, 0, MPI_COMM_WORLD);
	snprintf(plan_path, sizeof plan_path, "%s/plan", images);
}

int runs_finish(const char *name)
{
	MPI_Barrier(MPI_COMM_WORLD); /* until no rank reads them any more */
	if (!rank_number) {
		unlink(plan_path);
		images_remove(images);
	}
	return ranks_finish(name);
}

const char *runs_data(const char *model)
{
	return strncmp(model, "mlp", 3) ? "tests/golden/text.txt" : images;
}

const char *runs_name(const struct settings *q)
{
	static char name[1024];
	char offload[OFFLOAD_TEXT];
	offload_print(&q->offload, offload, sizeof offload);
	snprintf(name, sizeof name, "%.12s, %s in %s, accumulate %d, clip %g, checkpointing %s, offload %s", q->model,
	         q->strategy, type_name(q->precision), (int)q->accumulate, q->clip, q->checkpointing, offload);
	return name;
}

struct train_options runs_options(const struct settings *q, const struct runs_how *how)
{
	struct train_options o = train_options_default();
	o.settings = settings_resolved(q);
	o.communicator = how->communicator ? how->communicator : "ring";
	o.settings.library_collectives |= !strcmp(o.communicator, "mpi");
	o.steps = how->steps;
	o.data = runs_data(q->model);
	o.guard = how->guard;
	o.plan_file = how->plan;
	o.evaluate = !how->no_evaluation;
	o.offload_folder = support_folder();
	return o;
}

const struct report *runs_run(const struct settings *q, const struct train_options *o)
{
	struct report *r = report_kept();
	enum status s = train_run(o, r);
	ranks_check(s == STATUS_OK, "%s: %s", runs_name(q), status_message());
	return s == STATUS_OK ? r : NULL;
}

const struct report *runs_train(const struct settings *q, const struct runs_how *how)
{
	struct train_options o = runs_options(q, how);
	return runs_run(q, &o);
}

void runs_same_weights(const char *what, const struct report *a, const struct report *b)
{
	ranks_check(rank_number || (*a->weights_checksum && !strcmp(a->weights_checksum, b->weights_checksum)),
	            "%s: checksums %s and %s", what, a->weights_checksum, b->weights_checksum);
}

static void write_plan(const struct plan *p)
{
	FILE *f = fopen(plan_path, "w");
	ranks_check(f != NULL, "%s cannot be written", plan_path);
	if (!f)
		return;
	plan_write(p, NULL, f);
	ranks_check(!fclose(f), "%s cannot be written", plan_path);
}

const char *runs_write_plan(const struct settings *q)
{
	if (!rank_number) {
		struct made m = {0};
		enum status s = made_open(&m, q);
		ranks_check(!s, "%s: %s", plan_path, status_message());
		if (!s)
			write_plan(&m.plan);
		made_release(&m);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return plan_path;
}

/* The next operation of a step that takes squares; -1: none. */
static int next_squares(const struct role *r, int after)
{
	for (int i = after + 1 > r->step.begin ? after + 1 : r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == OP_SQUARES)
			return i;
	return -1;
}

static struct region squares_of(const struct role *r, int group)
{
	int i = next_squares(r, -1);
	while (i >= 0 && r->ops[i].group != group)
		i = next_squares(r, i);
	static const struct region none = {.buffer = -1};
	return i < 0 ? none : r->ops[i].operand[SQUARES_X];
}

static void order_squares(struct role *r, const struct role *like)
{
	struct {
		int group;
		struct region x;
	} ordered[64];
	int count = 0, i, k;
	for (i = next_squares(like, -1); i >= 0 && count < 64; i = next_squares(like, i)) {
		ordered[count].group = like->ops[i].group;
		ordered[count].x = squares_of(r, like->ops[i].group);
		count++;
	}
	for (i = next_squares(r, -1), k = 0; i >= 0; i = next_squares(r, i), k++) {
		ranks_check(k < count && ordered[k].x.buffer >= 0, "squares of other groups");
		if (k >= count)
			return;
		r->ops[i].group = ordered[k].group;
		r->ops[i].operand[SQUARES_X] = ordered[k].x;
	}
	ranks_check(k == count, "%d squares instead of %d", k, count);
}

const char *runs_write_plan_as(const struct settings *q, const struct settings *offloaded)
{
	if (!rank_number) {
		struct made m = {0}, like = {0};
		enum status s = made_open(&m, q);
		s = s ? s : made_open(&like, offloaded);
		for (int i = 0; !s && i < m.plan.role_count; i++)
			order_squares(&m.plan.roles[i], &like.plan.roles[i]);
		s = s ? s : plan_verify(&m.plan, NULL);
		ranks_check(!s, "squares in another order: %s", status_message());
		write_plan(&m.plan);
		made_release(&m);
		made_release(&like);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return plan_path;
}

static enum status validate_all(struct trainer *t, struct validation *out)
{
	struct rank_memory *d = &t->device;
	enum status s = STATUS_OK;
	d->evaluating = true;
	for (d->evaluate_pass = 0; d->evaluate_total < t->data.validation_samples * t->plan->model->tokens && !s;
	     d->evaluate_pass++)
		s = executor_run(t->executor, &d->role->evaluate);
	d->evaluating = false;
	out->loss = d->evaluate_loss / (double)d->evaluate_total;
	out->accuracy = (double)d->evaluate_correct / (double)d->evaluate_total;
	return s;
}

void runs_single(const struct settings *q, int steps, bool guard, double *losses, struct validation *validation)
{
	struct made m = {0};
	struct trainer t = {0};
	if (rank_number)
		return;
	enum status s = made_open(&m, q);
	if (!s)
		s = trainer_open(&t, &m.plan, runs_data(q->model), guard);
	for (int step = 0; step < steps && !s; step++)
		s = trainer_step(&t, &losses[step]);
	if (validation && !s)
		s = validate_all(&t, validation);
	ranks_check(!s, "single: %s", status_message());
	trainer_release(&t);
	made_release(&m);
}

double runs_compare_losses(const char *what, const struct report *r, const double *single, double limit)
{
	double worst = 0;
	if (rank_number)
		return 0;
	ranks_check(r->loss_count > 0, "%s: no losses", what);
	for (int64_t i = 0; i < r->loss_count; i++) {
		double error = fabs(r->losses[i] - single[i]) / single[i];
		worst = fmax(worst, error);
		ranks_check(error <= limit, "%s: step %d: loss %.9g, single has %.9g", what, (int)i + 1, r->losses[i],
		            single[i]);
	}
	return worst;
}

enum way { ALL, FEW, GUARDED, TEXT, LIBRARY, WAYS };

static void compare_bits(const char *what, const struct report *const *r)
{
	runs_same_weights(what, r[FEW], r[GUARDED]);
	runs_same_weights(what, r[FEW], r[TEXT]);
	ranks_check(r[FEW]->loss_count > 0 && r[FEW]->loss_count == r[GUARDED]->loss_count, "%s: no losses", what);
	for (int64_t i = 0; i < r[FEW]->loss_count; i++)
		ranks_check(r[FEW]->losses[i] == r[ALL]->losses[i] && r[GUARDED]->losses[i] == r[ALL]->losses[i],
		            "%s: step %d: not the same loss twice", what, (int)i + 1);
}

/* All of the validation data counts once, however many ranks share it and whatever is left over. */
static void compare_validation(const char *what, const struct report *const *r, const struct validation *v,
                               double limit)
{
	ranks_check(fabs(r[FEW]->validation_loss - r[LIBRARY]->validation_loss) <= limit * r[FEW]->validation_loss,
	            "%s: validation losses %g and %g", what, r[FEW]->validation_loss, r[LIBRARY]->validation_loss);
	ranks_check(!v || (fabs(r[FEW]->validation_loss - v->loss) <= limit * v->loss &&
	                   fabs(r[FEW]->validation_accuracy - v->accuracy) < 1e-9),
	            "%s: validation loss %.9g and accuracy %.9g, one rank has %.9g and %.9g", what,
	            r[FEW]->validation_loss, r[FEW]->validation_accuracy, v ? v->loss : 0, v ? v->accuracy : 0);
}

double runs_five_ways(const struct settings *q, int steps, int few, const double *single,
                      const struct validation *validation, double limit)
{
	const struct runs_how ways[WAYS] = {[ALL] = {.steps = steps, .no_evaluation = true},
	                                    [FEW] = {.steps = few},
	                                    [GUARDED] = {.steps = few, .guard = true},
	                                    [TEXT] = {.steps = few, .plan = runs_write_plan(q)},
	                                    [LIBRARY] = {.steps = few, .communicator = "mpi"}};
	const struct report *r[WAYS];
	const char *what = runs_name(q);
	for (int i = 0; i < WAYS; i++)
		if (!(r[i] = runs_train(q, &ways[i])))
			return 0;
	double worst = fmax(runs_compare_losses(what, r[ALL], single, limit),
	                    runs_compare_losses(what, r[LIBRARY], single, limit));
	compare_with_plan(q, r[ALL], COUNTED_ALL);
	compare_with_plan(q, r[LIBRARY], ranks_count == 1 ? COUNTED_ALL : COUNTED_CONTROL);
	compare_with_plan(q, r[GUARDED], COUNTED_ALL);
	if (!rank_number) {
		compare_bits(what, r);
		compare_validation(what, r, validation, limit);
	}
	return worst;
}
