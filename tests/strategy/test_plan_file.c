/* The plan is the program: `train --plan FILE` carries out a plan's text; and without the verifier, nothing but the
 * plan makes the result, so without any kernel, load or update it is another. */
#include <string.h>
#include <unistd.h>

#include "real/train/train.h"
#include "tests/support/images.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

enum { STEPS = 2 };

static char images[256], path[300];
static void setup(void)
{
	ck_assert(images_make(images, sizeof images, 6, 8, 50, 7));
	snprintf(path, sizeof path, "%s/plan", images);
}

static void teardown(void)
{
	unlink(path);
	images_remove(images);
}

static void write_plan(const struct plan *p)
{
	file_put_text(path, plan_to_text(p, NULL));
}

/* ---- on one rank, as the command does it ---- */

struct result {
	double losses[STEPS], validation;
	char checksum[17];
};

static enum status run_file(bool is_text, struct result *out)
{
	struct train_options o = train_options_default();
	struct report r;
	o.plan_file = path;
	o.steps = STEPS;
	o.data = is_text ? "tests/golden/text.txt" : images;
	o.guard = true;
	enum status s = train_run(&o, &r);
	if (!s) {
		ck_assert_int_eq(r.loss_count, STEPS);
		for (int i = 0; i < STEPS; i++)
			out->losses[i] = r.losses[i];
		out->validation = r.validation_loss;
		snprintf(out->checksum, sizeof out->checksum, "%s", r.weights_checksum);
	}
	report_release(&r);
	return s;
}

static bool equal(const struct result *a, const struct result *b)
{
	return !memcmp(a->losses, b->losses, sizeof a->losses) &&
	       !memcmp(&a->validation, &b->validation, sizeof a->validation) && !strcmp(a->checksum, b->checksum);
}

static const char *const one_rank[] = {
        "mlp:sizes=48-8-10 single micro_batch=2 accumulate=2 clip=0.1",
        "mlp:sizes=48-8-10 zero2 micro_batch=3 optimizer=sgd",
        "gpt:layers=1,width=16,heads=2,context=8 ddp micro_batch=2 accumulate=2",
        "gpt:layers=1,width=16,heads=2,context=8 fsdp micro_batch=2 clip=0.1",
        "gpt:layers=1,width=16,heads=2,context=8 ddp precision=bf16 micro_batch=2 clip=0.1",
        /* the first step overflows, the second does not */
        "mlp:sizes=48-8-10 dp precision=fp16 loss_scaler=pytorch loss_scale=150000 micro_batch=2 optimizer=sgd",
};

/* Twice the same; and refused without any one operation, which the verifier says and train passes on. */
START_LOOP_TEST(a_file_is_carried_out, 0, COUNT(one_rank))
{
	const struct plan *p = made_plan("%s", one_rank[_i]);
	struct plan less;
	struct result whole, again;
	write_plan(p);
	for (int i = 0; i < 2; i++)
		must(run_file(p->model->is_text, i ? &again : &whole));
	ck_assert(equal(&whole, &again));
	must_need_every_op(p);
	plan_copy(&less, p);
	plan_edit_words(&less, "drop linear.forward");
	write_plan(&less);
	must_fail(run_file(p->model->is_text, &again), STATUS_REFUSED, "rule ");
	plan_release(&less);
}

/* ---- the same plan, without the verifier ---- */

static enum status run_unverified(const struct plan *p, struct result *out)
{
	struct trainer t;
	uint64_t sum = 0;
	enum status s = trainer_open(&t, p, p->model->is_text ? "tests/golden/text.txt" : images, true);
	for (int i = 0; i < STEPS && !s; i++)
		s = trainer_step(&t, &out->losses[i]);
	if (!s)
		s = trainer_evaluate(&t, &out->validation);
	if (!s)
		s = trainer_finish(&t, &sum);
	snprintf(out->checksum, sizeof out->checksum, "%016llx", (unsigned long long)sum);
	trainer_release(&t);
	return s;
}

START_LOOP_TEST(nothing_but_the_plan, 0, COUNT(one_rank))
{
	const struct plan *p = made_plan("%s", one_rank[_i]);
	struct result whole, r;
	ck_assert_int_eq(run_unverified(p, &whole), STATUS_OK);
	for (int i = 0; i < p->roles[0].op_count; i++) {
		struct plan less;
		const struct op *op = &p->roles[0].ops[i];
		char what[160];
		/* Memory has its place by the layout, not by alloc and free; and a step that was never set is no place
		 * in the data, nor are tokens that were never loaded one in a table. */
		if (op_class(op->kind) == OP_CLASS_M || (op->kind == OP_LOAD && p->model->is_text) ||
		    (op->kind == OP_ZERO && !strcmp(p->roles[0].buffers[op->operand[ZERO_X].buffer].name, "step")))
			continue;
		op_describe(p, op, what, sizeof what);
		plan_copy(&less, p);
		plan_drop_op(&less, 0, i);
		ck_assert_msg(run_unverified(&less, &r) || !equal(&r, &whole), "without %d, %s, the result is the same",
		              i, what);
		plan_release(&less);
	}
}

/* ---- files that are no plan for this run ---- */

static void assert_refused(const char *communicator, const char *word)
{
	struct train_options o = train_options_default();
	o.plan_file = path;
	o.steps = 1;
	o.data = images;
	o.communicator = communicator;
	must_fail(train_check(&o), STATUS_INPUT, word);
}

START_TEST(no_plan_for_this_run)
{
	assert_refused("ring", "cannot open");
	file_put_text(path, "");
	assert_refused("ring", "plan:1:1: ");
	file_put_text(path, "shardlab plan 99\n");
	assert_refused("ring", "plan:1:");
	unlink(path);
	ck_assert_int_eq(symlink(images, path), 0);
	assert_refused("ring", "cannot read");
	unlink(path);
	/* without staging, which the ring needs */
	write_plan(made_plan("mlp:sizes=48-8-10 ddp ranks=2 collectives=library"));
	assert_refused("ring", "use comm mpi");
}

SUITE_WITH("plan file", 120, setup, teardown)
