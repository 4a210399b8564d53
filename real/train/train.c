/* Training: prologue, steps, evaluation, epilogue, each a section of the plan. There is no training loop beside it. */
#include "real/train/train.h"

#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/exact.h"
#include "kernels/update.h"
#include "real/communicator/kind.h"
#include "real/rank/kernel_threads.h"
#include "real/train/internal.h"
#include "strategy/base/clock.h"

/* ---- data ---- */

static void training_samples(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	struct training *t = context;
	dataset_fill(&t->data, (uint64_t)t->plan.settings.seed, first, count, inputs, targets);
}

static void validation_samples(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	struct training *t = context;
	dataset_fill_validation(&t->data, first, count, inputs, targets);
}

/* ---- the sections ---- */

static enum status open_rank(struct training *t)
{
	struct input_source input = {.context = t,
	                             .training = training_samples,
	                             .validation = validation_samples,
	                             .validation_samples = t->validation_samples};
	struct device_choice choice = training_device(t);
	enum status s = device_open(&t->device, &t->plan, t->rank, &input, &choice);
	if (s)
		return s;
	struct weight_source *weights = &t->device.rank->weights;
	weights->context = t;
	if (t->options->init)
		weights->read = training_read_weights;
	else if (t->resume_path)
		weights->read = training_no_weights;
	if (t->options->save)
		weights->show = training_show_weights;
	if (t->mpi) {
		MPI_Comm world = MPI_COMM_WORLD;
		const char *name = communicator_kind(t->options->communicator)->host;
		if ((s = communicator_open(&t->communicator, name, &world)))
			return s;
	}
	t->peak = t->rank ? 0 : training_peak(t);
	s = device_start(&t->device, &choice, t->communicator);
	return s || !t->options->values ? s : executor_note_values(t->device.executor);
}

/* Reads state that the plan carries from step to step. False on ranks that hold none; rank 0 always does. */
static bool read_state(const struct training *t, const char *name, void *out, int64_t bytes)
{
	const struct role *r = t->device.rank->role;
	for (int i = 0; i < r->buffer_count; i++)
		if (r->buffers[i].state && !strcmp(r->buffers[i].name, name))
			return !executor_read(t->device.executor, i, out, bytes);
	return false;
}

static double read_loss(struct training *t)
{
	float loss[EXACT_DIGITS];
	int64_t n = scalar_elements(&t->plan.settings);
	t->holds_loss = read_state(t, "loss", loss, n * (int64_t)sizeof *loss);
	if (!t->holds_loss)
		return (double)NAN;
	return t->plan.settings.reproducible ? exact_value(loss) : (double)*loss;
}

static struct loss_scale read_scaler(const struct training *t)
{
	struct loss_scale scaler;
	return read_state(t, "scaler", &scaler, sizeof scaler) ? scaler : (struct loss_scale){.scale = 0};
}

/* The run has diverged: its weights are worth nothing. All ranks hear it, those that hold no loss too. In fp16
 * gradients may overflow, and their step is skipped; the loss is computed before it is scaled, so no smaller scale
 * mends it. A checkpoint that is under way is of a step before: it is finished, or it has the ruin that is heard of
 * here, and says so. */
static enum status check_loss(struct training *t, const struct wishes *w)
{
	char what[80];
	if (!w->nan && !w->inf)
		return STATUS_OK;
	TRY(training_checkpoint_settle(t));
	t->agreed = true;
	snprintf(what, sizeof what, "step %" PRId64 ": the loss is not finite in %s (%s)", t->steps_done,
	         type_name(t->plan.settings.precision), w->nan ? "nan" : "inf");
	return training_diverged(t, what);
}

/* Passes over the validation data; the figures of all ranks are added up. */
static enum status evaluate(struct training *t)
{
	int64_t per_pass = t->plan.settings.micro_batch * plan_data_ranks(&t->plan);
	int64_t passes = (t->validation_samples + per_pass - 1) / per_pass;
	struct rank_memory *d = t->device.rank;
	enum status s = STATUS_OK;
	if (!passes)
		return STATUS_OK;
	d->evaluate_loss = 0;
	d->evaluate_correct = d->evaluate_total = 0;
	d->evaluating = true;
	for (d->evaluate_pass = 0; d->evaluate_pass < passes && !s; d->evaluate_pass++)
		s = executor_run(t->device.executor, &d->role->evaluate);
	d->evaluating = false;
	if (!s)
		s = dataset_check(&t->data);
	double sums[3] = {d->evaluate_loss, (double)d->evaluate_correct, (double)d->evaluate_total};
	struct traffic traffic;
	if (!s && t->communicator)
		s = t->communicator->ops->sum(t->communicator, sums, 3, &traffic);
	t->validation_loss = sums[0] / sums[2];
	t->validation_accuracy = sums[1] / sums[2];
	return s;
}

static bool is_last(const struct training *t, bool stopped)
{
	return stopped || t->steps_done == t->options->steps;
}

static bool evaluation_is_due(const struct training *t, bool stopped)
{
	const struct train_options *o = t->options;
	if (stopped)
		return false;
	return (o->evaluate && is_last(t, false)) || (o->eval_every && t->steps_done % o->eval_every == 0);
}

/* ns: since the step before was done. */
static struct train_step describe_step(const struct training *t, int64_t ns)
{
	const struct settings *settings = &t->plan.settings;
	const struct update update = {
	        .learning_rate = settings->learning_rate, .warmup = settings->warmup, .decay = settings->decay};
	int64_t skipped_before = (int64_t)read_scaler(t).skipped - t->scale.skipped;
	double seconds = (double)ns / 1e9, flops = t->model.training_flops * (double)settings->batch;
	double device = flops / (double)t->plan.ranks / seconds;
	return (struct train_step){.step = t->steps_done,
	                           .loss = t->loss,
	                           .units_per_s = (double)settings->batch * (double)t->model.tokens / seconds,
	                           .is_text = t->model.is_text,
	                           .tflops_per_device = device / 1e12,
	                           .mfu = t->peak > 0 ? device / t->peak : 0,
	                           .learning_rate = update_rate(&update, t->steps_done - skipped_before),
	                           .skipped = t->scale.skipped,
	                           .loss_scale = t->scale.now,
	                           .next_loss_scale = t->scale.next};
}

static enum status run_step(struct training *t)
{
	struct loss_scale scaler = read_scaler(t);
	enum status s = executor_run(t->device.executor, &t->device.rank->role->step);
	if (!s)
		s = dataset_check(&t->data);
	if (s)
		return status_prefix(s, "step %" PRId64, t->steps_done + 1);
	if ((s = training_meet(t)))
		return status_prefix(s, "after step %" PRId64, t->steps_done + 1);
	struct loss_scale next = read_scaler(t);
	struct times times = executor_times(t->device.executor);
	t->scale = (struct trace_scale){(double)scaler.scale, (double)next.scale, next.skipped > scaler.skipped};
	t->loss = read_loss(t);
	t->validation_loss = t->validation_accuracy = NAN;
	series_add(&t->losses, t->steps_done - t->steps_before, &t->loss);
	series_add(&t->times, t->steps_done - t->steps_before, &times);
	t->steps_done++;
	return STATUS_OK;
}

/* A path was right when the run began; ids of the data that are wrong always were. */
static enum status fail_late(enum status written)
{
	return written == STATUS_INPUT ? STATUS_RUN : written;
}

/* The traffic of the last step must be read before other sections overwrite it. */
static enum status take_figures(struct training *t, struct report *out)
{
	enum status s = fail_late(training_trace(t));
	if (!s)
		s = training_report(t, out);
	out->loss_scale = (double)read_scaler(t).scale;
	out->skipped_steps = (int64_t)read_scaler(t).skipped;
	return s;
}

/* Warns of slow parts after the first steps rather than after the last. */
static void look_for_what_is_slow(struct training *t)
{
	enum { FIRST_STEPS = 4 }; /* two eager ones, and two that are captured */
	struct report_slowed slowed;
	if (t->rank || t->steps_done > t->steps_before + FIRST_STEPS)
		return;
	device_slowed(&t->device, &slowed);
	training_warn(t, &slowed);
}

static enum status run_steps(struct training *t, struct report *out, bool *stopped)
{
	const struct train_options *o = t->options;
	int64_t before = clock_ns();
	struct wishes wishes = {0};
	*stopped = false;
	while (!is_last(t, *stopped)) {
		training_enter_step(t);
		TRY(run_step(t));
		int64_t gap = clock_ns() - before;
		struct train_step step = describe_step(t, gap);
		series_add(&t->gaps, t->steps_done - t->steps_before - 1, &gap);
		look_for_what_is_slow(t);
		enum status s = training_hear_wishes(t, &wishes);
		*stopped = wishes.stop;
		training_leave_step(t);
		if (!s)
			s = check_loss(t, &wishes);
		if (!s)
			s = training_checkpoint_go_on(t, wishes.written);
		if (!s && is_last(t, *stopped))
			s = take_figures(t, out);
		if (!s && evaluation_is_due(t, *stopped))
			s = evaluate(t);
		step.validation_loss = t->validation_loss;
		step.validation_accuracy = t->validation_accuracy;
		/* A step is told before its checkpoint: no run goes on behind a step that nobody heard of. */
		if (!s && o->on_step && !t->rank)
			o->on_step(o->context, &step);
		if (!s && training_checkpoint_is_due(t, is_last(t, *stopped), wishes.time))
			s = training_checkpoint(t, is_last(t, *stopped));
		if (s)
			return s;
		before = clock_ns();
	}
	return STATUS_OK;
}

/* The weights' checksum is the sum of those of the ranks' own. */
static enum status add_checksums(struct training *t)
{
	const struct exchange x = {"the checksum", .others_write = true};
	uint64_t *all = array_make((size_t)t->ranks, sizeof *all), mine = t->device.rank->checksum;
	enum status s = STATUS_OK;
	t->checksum = mine;
	if (t->mpi && !(s = communicator_tell_all(t->communicator, &x, &mine, sizeof mine, all)))
		t->checksum = 0;
	for (int i = 0; t->mpi && !s && i < t->ranks; i++)
		t->checksum += all[i];
	free(all);
	return s;
}

/* A folder without room, or that the ranks do not share, is found before the first step. */
static enum status try_to_save(struct training *t)
{
	enum status s = training_save_begin(t);
	if (s || !t->options->save)
		return s;
	weights_writer_release(&t->save);
	return training_save_agree(t, STATUS_OK); /* none makes it again before all have let go */
}

static enum status run_epilogue(struct training *t)
{
	enum status s = training_save_begin(t);
	if (!s)
		s = training_save_finish(t, executor_run(t->device.executor, &t->device.rank->role->epilogue));
	return s ? fail_late(s) : add_checksums(t);
}

/* The weights, to save them. */
static bool gathers(const struct training *t)
{
	const struct role *r = t->device.rank->role;
	for (int i = r->epilogue.begin; i < r->epilogue.end; i++)
		if (op_class(r->ops[i].kind) == OP_CLASS_C)
			return true;
	return false;
}

static enum status run_all(struct training *t, struct report *out, bool *stopped)
{
	enum status s = open_rank(t);
	if (!s)
		s = try_to_save(t);
	if (!s)
		s = executor_run(t->device.executor, &t->device.rank->role->prologue);
	if (!s)
		s = training_resume(t);
	if (!s)
		s = training_checkpoint_try(t);
	if (!s)
		s = run_steps(t, out, stopped);
	if (!s)
		s = run_epilogue(t);
	if (!s && gathers(t))
		s = training_gathering(t, out);
	out->validation_loss = t->validation_loss;
	out->validation_accuracy = t->validation_accuracy;
	out->saved = t->saved;
	snprintf(out->weights_checksum, sizeof out->weights_checksum, "%016llx", (unsigned long long)t->checksum);
	return s;
}

/* ---- MPI ---- */

/* It ends when the process has said all that it has to say: mpirun may end it meanwhile. */
static enum status start_mpi(void)
{
	TRY(communicator_start_mpi());
	return atexit(communicator_end_mpi) ? status_fail(STATUS_MEMORY, "out of memory") : STATUS_OK;
}

static void meet_ranks(struct training *t)
{
	MPI_Comm node;
	t->mpi = true;
	MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &t->ranks);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &t->local_rank);
	MPI_Comm_size(node, &t->local_ranks);
	MPI_Comm_free(&node);
	if (t->local_ranks < t->ranks) /* ranks of one machine share a clock */
		t->arrivals.clock = clocks_align(&(MPI_Comm){MPI_COMM_WORLD}, clock_ns);
}

static enum status join_world(struct training *t)
{
	int rank, ranks, given = 0;
	if (!train_under_mpi(&rank, &ranks)) {
		if (t->plan.ranks > 1)
			return status_fail(STATUS_INPUT, "%lld ranks need mpirun", (long long)t->plan.ranks);
		return STATUS_OK;
	}
	MPI_Initialized(&given);
	enum status s = given ? STATUS_OK : start_mpi();
	if (!s && !(s = communicator_deadline("meeting")))
		meet_ranks(t);
	communicator_deadline_end();
	if (s)
		return s;
	if (t->ranks != t->plan.ranks)
		return t->ranks != ranks
		               ? status_fail(STATUS_INPUT,
		                             "the launcher started %d ranks and they did not connect: rank %d is alone "
		                             "with "
		                             "%d; start them with the mpirun of the MPI that shardlab was built with",
		                             ranks, rank, t->ranks)
		               : status_fail(STATUS_INPUT,
		                             "the plan is for %lld ranks and mpirun started %d; make them equal",
		                             (long long)t->plan.ranks, t->ranks);
	return STATUS_OK;
}

/* All steps that were to be made are made. */
static enum status end_whole(const struct training *t, bool stopped)
{
	if (t->unsaved && stopped)
		return status_fail(STATUS_INTERRUPTED,
		                   "stopped by the user after step %" PRId64 ", without a checkpoint of it: %s",
		                   t->steps_done, t->unsaved_why);
	if (t->unsaved)
		return status_fail(STATUS_UNSAVED, "no checkpoint of step %" PRId64 ": %s", t->steps_done,
		                   t->unsaved_why);
	return stopped ? status_fail(STATUS_STOPPED, "stopped by the user after step %" PRId64, t->steps_done)
	               : STATUS_OK;
}

/* A rank that failed alone would leave the others waiting. What all know rank 0 says, and ends them; they give it the
 * time. */
static void end_all(const struct training *t, enum status s)
{
	enum { SAYING_S = 5 };
	bool named = !strncmp(status_message(), "rank ", strlen("rank "));
	if (t->agreed && t->rank)
		sleep(SAYING_S);
	else
		fprintf(stderr, named ? "fatal: %.0d%s\n" : "fatal: rank %d: %s\n", named ? 0 : t->rank,
		        status_message());
	MPI_Abort(MPI_COMM_WORLD, status_exit_code(s));
}

enum status train_run(const struct train_options *o, struct report *out)
{
	struct training t;
	bool stopped = false;
	*out = (struct report){0};
	enum status s = training_prepare(&t, o);
	if (!s)
		s = join_world(&t);
	if (!s)
		s = kernel_threads_start(o->threads);
	if (!s)
		s = run_all(&t, out, &stopped);
	if (s && t.mpi && t.ranks > 1)
		end_all(&t, s);
	if (!s)
		s = end_whole(&t, stopped);
	training_release(&t);
	return s;
}
