/* The plan is the program: `train --plan FILE` carries out a plan's text, and the same text with any one operation
 * taken out is refused or gives another result. Done to every operation of small plans of every strategy.
 *
 * On one rank the run is the command's own; several ranks are run in this process (tests/support/virtual_ranks.h) when
 * the verifier lets a text through. Then, on one rank, without the verifier: nothing but the plan makes the result, so
 * without any kernel, load or update it is another. */
#define _GNU_SOURCE /* memmem */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "real/train/train.h"
#include "tests/support/images.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"
#include "tests/support/virtual_ranks.h"

enum { STEPS = 2 };

static char images[256], path[300];
static struct {
	int unread, refused, changed;
} tally;

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

/* ---- texts ---- */

/* Takes `number` out of the waits of a line, and "after" with the last of them. */
static void copy_without_wait(FILE *out, const char *line, int length, int number)
{
	const char *after = memmem(line, (size_t)length, " after ", 7);
	int kept = 0;
	if (!after) {
		fprintf(out, "%.*s\n", length, line);
		return;
	}
	fprintf(out, "%.*s", (int)(after - line), line);
	for (const char *p = after + 7; p < line + length; p += strcspn(p, " \n") + 1)
		if (atoi(p) != number)
			fprintf(out, "%s %d", kept++ ? "" : " after", atoi(p));
	fputc('\n', out);
}

/* The text without operation `number` of role `role`; with `waits`, those that waited for it do not any more. */
static char *text_without(const char *text, int role, int number, bool waits)
{
	char *result = NULL;
	size_t size;
	FILE *out = open_memstream(&result, &size);
	int at_role = -1, dropped = 0;
	ck_assert_ptr_nonnull(out);
	for (const char *line = text; *line;) {
		int length = (int)strcspn(line, "\n");
		at_role += !strncmp(line, "role ", 5);
		bool is_op = at_role == role && line[0] >= '0' && line[0] <= '9';
		if (is_op && atoi(line) == number)
			dropped++;
		else if (is_op && waits)
			copy_without_wait(out, line, length, number);
		else
			fprintf(out, "%.*s\n", length, line);
		line += length + 1;
	}
	fclose(out);
	ck_assert_int_eq(dropped, 1);
	return result;
}

static void write_file(const char *text)
{
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
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

static void describe(const struct plan *p, int role, int number, char out[400])
{
	char what[160];
	const struct op *op = &p->roles[role].ops[number];
	op_describe(p, op, what, sizeof what);
	snprintf(out, 400, "%.100s without %d: %s %.100s", p->settings.strategy, number, what,
	         op_class(op->kind) == OP_CLASS_M ? p->roles[role].buffers[op_buffer(op)].name : "");
}

/* What was refused says where: a place in the file, or a rule. */
static void count_refusal(enum status s, const char *what)
{
	ck_assert_msg(s == STATUS_INPUT || s == STATUS_REFUSED, "%s: %s", what, status_name(s));
	ck_assert_msg(strstr(status_message(), s == STATUS_INPUT ? path : "rule "), "%s: %s", what, status_message());
	tally.unread += s == STATUS_INPUT;
	tally.refused += s == STATUS_REFUSED;
}

static void try_without(const struct plan *p, const char *text, int number, bool waits, const struct result *whole)
{
	char what[400], *less = text_without(text, 0, number, waits);
	struct result r;
	describe(p, 0, number, what);
	write_file(less);
	enum status s = run_file(p->model->is_text, &r);
	if (s) {
		count_refusal(s, what);
	} else {
		ck_assert_msg(!equal(&r, whole), "%s: accepted, and the result is the same", what);
		tally.changed++;
	}
	free(less);
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

START_LOOP_TEST(without_any_operation, 0, COUNT(one_rank))
{
	const struct plan *p = made_plan("%s", one_rank[_i]);
	struct result whole, again;
	char *text = plan_to_text(p, NULL);
	write_file(text);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(run_file(p->model->is_text, i ? &again : &whole) == STATUS_OK, "%s", status_message());
	ck_assert(equal(&whole, &again));
	for (int i = 0; i < p->roles[0].op_count; i++)
		for (int waits = 0; waits < 2; waits++)
			try_without(p, text, i, waits, &whole);
	printf("%s: %d operations, twice: %d not read, %d refused, %d gave another result\n", one_rank[_i],
	       p->roles[0].op_count, tally.unread, tally.refused, tally.changed);
	free(text);
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
	char *text = plan_to_text(p, NULL);
	ck_assert_int_eq(run_unverified(p, &whole), STATUS_OK);
	for (int i = 0; i < p->roles[0].op_count; i++) {
		struct plan less;
		struct model model;
		const struct op *op = &p->roles[0].ops[i];
		char what[400], *reduced;
		/* Memory has its place by the layout, not by alloc and free; and a step that was never set is no place
		 * in the data, nor are tokens that were never loaded one in a table. */
		if (op_class(op->kind) == OP_CLASS_M || (op->kind == OP_LOAD && p->model->is_text) ||
		    (op->kind == OP_ZERO && !strcmp(p->roles[0].buffers[op->operand[ZERO_X].buffer].name, "step")))
			continue;
		describe(p, 0, i, what);
		reduced = text_without(text, 0, i, true);
		ck_assert_msg(plan_read(&less, &model, reduced, strlen(reduced), "text") == STATUS_OK, "%s: %s", what,
		              status_message());
		ck_assert_msg(run_unverified(&less, &r) || !equal(&r, &whole), "%s: the result is the same", what);
		plan_release(&less);
		model_release(&model);
		free(reduced);
	}
	free(text);
}

/* ---- on several ranks ---- */

static const char *const strategies[] = {"dp", "ddp", "zero1", "zero2", "zero3", "fsdp", "fsdp:reshard=no:sync=last"};

static void try_on_ranks(const struct plan *p, const char *text, int role, int number, bool waits,
                         const struct virtual_run *whole)
{
	struct plan less;
	struct model model;
	char what[400], *reduced = text_without(text, role, number, waits);
	struct virtual_run r = {0};
	describe(p, role, number, what);
	enum status s = plan_read(&less, &model, reduced, strlen(reduced), path);
	if (!s)
		s = plan_verify(&less, NULL);
	if (s) {
		count_refusal(s, what);
	} else {
		virtual_ranks_run(&less, STEPS, 1, &r);
		ck_assert_msg(!virtual_runs_equal(&r, whole, 0), "%s: accepted, and the result is the same", what);
		virtual_run_release(&r);
		tally.changed++;
	}
	plan_release(&less);
	model_release(&model);
	free(reduced);
}

START_LOOP_TEST(on_several_ranks, 0, COUNT(strategies))
{
	for (int ranks = 2; ranks <= 3; ranks++) {
		const struct plan *p =
		        made_plan("mlp:sizes=7-5-4 %s ranks=%d micro_batch=2 accumulate=2 bucket=64 clip=%d",
		                  strategies[_i], ranks, ranks == 3);
		struct virtual_run whole = {0};
		char *text = plan_to_text(p, NULL);
		virtual_ranks_run(p, STEPS, 1, &whole);
		memset(&tally, 0, sizeof tally);
		for (int role = 0; role < p->role_count; role++)
			for (int i = 0; i < p->roles[role].op_count; i++)
				for (int waits = 0; waits < 2; waits++)
					try_on_ranks(p, text, role, i, waits, &whole);
		printf("%s on %d ranks: %d not read, %d refused, %d gave another result\n", strategies[_i], ranks,
		       tally.unread, tally.refused, tally.changed);
		free(text);
		virtual_run_release(&whole);
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
	enum status s = train_check(&o);
	ck_assert_msg(s == STATUS_INPUT && strstr(status_message(), word), "%s instead of \"%s\": %s", status_name(s),
	              word, status_message());
}

START_TEST(no_plan_for_this_run)
{
	assert_refused("ring", "cannot open");
	write_file("");
	assert_refused("ring", "plan:1:1: ");
	write_file("shardlab plan 99\n");
	assert_refused("ring", "plan:1:");
	unlink(path);
	ck_assert_int_eq(symlink(images, path), 0);
	assert_refused("ring", "cannot read");
	unlink(path);
	/* without staging, which the ring needs */
	char *text = plan_to_text(made_plan("mlp:sizes=48-8-10 ddp ranks=2 collectives=library"), NULL);
	write_file(text);
	assert_refused("ring", "use comm mpi");
	free(text);
}

SUITE_WITH("plan file", 120, setup, teardown)
