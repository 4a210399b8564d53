/* Training: prologue, steps, evaluation, epilogue, each a section of the plan. There is no training loop beside it. */
#include "real/train/train.h"

#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

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
	if (t->options->init_file)
		weights->read = training_read_weights;
	if (t->options->save_file)
		weights->show = training_show_weights;
	if (t->mpi) {
		MPI_Comm world = MPI_COMM_WORLD;
		/* NCCL's ranks find each other and send control values through MPI. */
		const char *name = strcmp(t->options->communicator, "nccl") ? t->options->communicator : "mpi";
		s = communicator_open(&t->communicator, name, &world);
		if (s)
			return s;
	}
	s = device_start(&t->device, &choice, t->communicator);
	return s || !t->options->values ? s : executor_note_values(t->device.executor);
}

/* All ranks stop together, or not at all. */
static enum status should_stop(struct training *t, bool *stop)
{
	double wish = t->options->stop && *t->options->stop;
	struct traffic traffic;
	enum status s = STATUS_OK;
	if (t->communicator && t->options->stop)
		s = t->communicator->ops->sum(t->communicator, &wish, 1, &traffic);
	*stop = wish > 0;
	return s;
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

static double read_loss(const struct training *t)
{
	float loss;
	return read_state(t, "loss", &loss, sizeof loss) ? (double)loss : (double)NAN;
}

static struct loss_scale read_scaler(const struct training *t)
{
	struct loss_scale scaler;
	return read_state(t, "scaler", &scaler, sizeof scaler) ? scaler : (struct loss_scale){.scale = 0};
}

/* In fp32 the losses show that a run diverges. In bf16, with eight digits fewer, such a run ends, since its weights are
 * worth nothing. In fp16 the step is skipped. */
static enum status check_loss(const struct training *t, double loss)
{
	float any;
	if (t->plan.settings.precision != TYPE_BF16 || isfinite(loss) || !read_state(t, "loss", &any, sizeof any))
		return STATUS_OK;
	return status_fail(STATUS_RUN,
	                   "step %" PRId64 ": the loss is not finite in bf16; lower {learning_rate}, give {clip} or "
	                   "{warmup}, or use {precision} fp32",
	                   t->steps_done);
}

static enum status run_steps(struct training *t, bool *stopped)
{
	const struct train_options *o = t->options;
	double units = (double)t->plan.settings.batch * (double)t->model.tokens;
	enum status s = STATUS_OK;
	int64_t before = clock_ns();
	*stopped = false;
	while (t->steps_done < o->steps && !*stopped) {
		struct loss_scale scaler = read_scaler(t);
		s = executor_run(t->device.executor, &t->device.rank->role->step);
		if (s)
			return status_prefix(s, "step %" PRId64, t->steps_done + 1);
		if ((s = training_meet(t)))
			return status_prefix(s, "after step %" PRId64, t->steps_done + 1);
		struct loss_scale next = read_scaler(t);
		t->scale =
		        (struct trace_scale){(double)scaler.scale, (double)next.scale, next.skipped > scaler.skipped};
		t->losses[t->steps_done] = read_loss(t);
		t->times[t->steps_done] = executor_times(t->device.executor);
		t->steps_done++;
		if ((s = check_loss(t, t->losses[t->steps_done - 1])))
			return s;
		int64_t after = clock_ns();
		if (o->on_step && !t->rank)
			o->on_step(o->context,
			           &(struct train_step){.step = t->steps_done,
			                                .loss = t->losses[t->steps_done - 1],
			                                .units_per_s = units * 1e9 / (double)(after - before),
			                                .is_text = t->model.is_text,
			                                .skipped = t->scale.skipped,
			                                .loss_scale = t->scale.now,
			                                .next_loss_scale = t->scale.next});
		before = after;
		s = should_stop(t, stopped);
		if (s)
			return s;
	}
	return STATUS_OK;
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
	d->evaluating = true;
	for (d->evaluate_pass = 0; d->evaluate_pass < passes && !s; d->evaluate_pass++)
		s = executor_run(t->device.executor, &d->role->evaluate);
	d->evaluating = false;
	double sums[3] = {d->evaluate_loss, (double)d->evaluate_correct, (double)d->evaluate_total};
	struct traffic traffic;
	if (!s && t->communicator)
		s = t->communicator->ops->sum(t->communicator, sums, 3, &traffic);
	t->validation_loss = sums[0] / sums[2];
	t->validation_accuracy = sums[1] / sums[2];
	return s;
}

static enum status run_epilogue(struct training *t)
{
	enum status s = training_save_begin(t);
	if (!s)
		s = training_save_finish(t, executor_run(t->device.executor, &t->device.rank->role->epilogue));
	uint64_t mine = t->device.rank->checksum;
	t->checksum = mine;
	if (!s && t->mpi)
		MPI_Allreduce(&mine, &t->checksum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	return s;
}

static enum status run_all(struct training *t, struct report *out, bool *stopped)
{
	enum status s = open_rank(t);
	if (!s)
		s = executor_run(t->device.executor, &t->device.rank->role->prologue);
	if (!s)
		s = run_steps(t, stopped);
	/* The traffic of the last step must be read before other sections overwrite it. */
	if (!s)
		s = training_trace(t);
	if (!s)
		s = training_report(t, out);
	if (!s) {
		out->loss_scale = (double)read_scaler(t).scale;
		out->skipped_steps = (int64_t)read_scaler(t).skipped;
	}
	if (!s && t->options->evaluate && !*stopped)
		s = evaluate(t);
	if (!s)
		s = run_epilogue(t);
	out->validation_loss = t->validation_loss;
	out->validation_accuracy = t->validation_accuracy;
	snprintf(out->weights_checksum, sizeof out->weights_checksum, "%016llx", (unsigned long long)t->checksum);
	return s;
}

/* ---- MPI ---- */

static enum status join_world(struct training *t)
{
	int rank, ranks, given = 0;
	if (!train_under_mpi(&rank, &ranks)) {
		if (t->plan.ranks > 1)
			return status_fail(STATUS_INPUT, "%lld ranks need mpirun", (long long)t->plan.ranks);
		return STATUS_OK;
	}
	MPI_Initialized(&given);
	if (!given) {
		MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
		if (given < MPI_THREAD_SERIALIZED)
			return status_fail(STATUS_RUN, "this MPI library does not allow a communication thread");
		t->started_mpi = true;
	}
	t->mpi = true;
	MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &t->ranks);
	MPI_Comm node;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &t->local_rank);
	MPI_Comm_size(node, &t->local_ranks);
	MPI_Comm_free(&node);
	if (t->local_ranks < t->ranks) /* ranks of one machine share a clock */
		t->meeting.clock = clocks_align(&(MPI_Comm){MPI_COMM_WORLD}, clock_ns);
	if (t->ranks != t->plan.ranks)
		return status_fail(STATUS_INPUT, "the plan is for %lld ranks and mpirun started %d; make them equal",
		                   (long long)t->plan.ranks, t->ranks);
	return STATUS_OK;
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
	/* A rank that failed alone would leave the others waiting. */
	if (s && t.mpi && t.ranks > 1) {
		fprintf(stderr, "fatal: rank %d: %s\n", t.rank, status_message());
		MPI_Abort(MPI_COMM_WORLD, status_exit_code(s));
	}
	bool started_mpi = t.started_mpi;
	training_release(&t);
	if (started_mpi)
		MPI_Finalize();
	if (!s && stopped)
		s = status_fail(STATUS_INTERRUPTED, "stopped by the user after step %lld", (long long)out->loss_count);
	return s;
}
