/* shardlab train: starts the ranks and reads their output; or, started by mpirun, is one of them. */
#include "real/train/train.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command/apart.h"
#include "cli/command/command.h"
#include "cli/command/descriptor.h"
#include "cli/command/elastic.h"
#include "cli/command/emit.h"
#include "cli/command/hosts.h"
#include "cli/command/interval.h"
#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/command/leftovers.h"
#include "cli/command/pulse.h"
#include "cli/command/run.h"
#include "cli/command/run_log.h"
#include "cli/command/run_plot.h"
#include "cli/command/train_view.h"
#include "cli/command/written.h"
#include "cli/show/show.h"
#include "cli/show/text.h"
#include "real/checkpoint/folder.h"
#include "real/checkpoint/lock.h"
#include "real/data/weights_writer.h"
#include "strategy/base/output.h"

/* ---- the three ways to run ---- */

/* In this process: a rank under mpirun, or one rank alone. */
static enum status run_here(const struct train_options *t, struct train_view *v, int rank, struct report *measured)
{
	struct train_options own = *t;
	own.on_step = train_view_step;
	own.context = v;
	if (!rank)
		train_view_log(v);
	enum status s = train_run(&own, measured);
	if (s == STATUS_STOPPED)
		pulse_stopped(status_message());
	if (rank)
		/* One report is enough, and mpirun ends all ranks as soon as one exits with a status other than 0. */
		return status_has_report(s) ? STATUS_OK : s;
	if (v->json && measured->role_count && status_has_report(s))
		run_print_summary(measured);
	return train_view_close(v, measured, s);
}

/* A rank that was killed leaves temporaries. */
static void sweep_outputs(const struct options *o)
{
	const char *trace = option_text(o, OPTION_TRACE), *save = option_text(o, OPTION_SAVE);
	if (option_given(o, OPTION_CHECKPOINT))
		checkpoint_folder_sweep(option_text(o, OPTION_CHECKPOINT));
	if (trace)
		output_sweep(trace);
	if (save && weights_writer_takes_folder(save))
		new_folder_sweep(save);
	else if (save)
		output_sweep(save);
}

/* The run as it was asked for, in one of the three ways. */
struct training_asked {
	struct options options;
	struct elastic elastic;
	struct job job;
	struct train_options train;
	struct train_found found;
	struct report predicted, measured;
	struct checkpoint_lock lock;
	const struct options *given;
	char save[PATH_OF_DESCRIPTOR]; /* the way to stdout, if weights go there */
	bool joined;                   /* it is a rank */
	int rank, ranks;
};

/* Weights that go to stdout have it alone. */
static enum status free_stdout(struct training_asked *a)
{
	struct option_value *save = &a->options.value[OPTION_SAVE];
	enum status s = save->given ? descriptor_free_stdout(save->text, "{save}", a->save) : STATUS_OK;
	if (!s && *a->save)
		save->text = a->save;
	return s;
}

/* The ranks reach a pipe or device by this process. What is printed into a file has its place there, which they do not
 * know. */
static enum status lend_descriptors(struct arguments *a, const struct options *o)
{
	static const enum option files[] = {OPTION_SAVE, OPTION_TRACE, OPTION_LOG};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const char *path = option_given(o, files[i]) ? option_text(o, files[i]) : NULL;
		int fd = path ? path_descriptor(path) : -1;
		char lent[PATH_OF_DESCRIPTOR];
		if (fd < 0)
			continue;
		if (fd <= STDERR_FILENO && !output_is_special(path))
			return status_fail(STATUS_INPUT,
			                   "--%s: '%s' is a file that this process has open already, and a rank cannot "
			                   "write into it; "
			                   "give the file's name",
			                   option_name(files[i]), path);
		arguments_set(a, files[i], "%s", path_of_descriptor(fd, lent));
	}
	return STATUS_OK;
}

/* Under mpirun, which this process starts. Of a run that may be started again this process writes the picture: a
 * rank does not outlive the others. Rank 0 writes the log, each line before the checkpoint of its step. */
static enum status start_ranks(const struct options *o, int64_t ranks, const struct elastic *e, struct train_view *v,
                               struct report *measured)
{
	static const enum option own[] = {OPTION_CURVE, OPTION_EMIT, OPTION_RESTARTS, OPTION_HOSTS, OPTION_PLOT};
	struct arguments a;
	bool elastic = e->restarts > 0;
	arguments_begin(&a, "train");
	arguments_flag(&a, OPTION_JSON);
	for (int i = 0; i < (elastic ? 5 : 4); i++)
		arguments_drop(&a, own[i]);
	enum status s = lend_descriptors(&a, o);
	arguments_pass(&a, COMMAND_TRAIN, o);
	v->passes_on = v->json;
	v->made = 0;
	struct run run = {.ranks = ranks,
	                  .arguments = a.list,
	                  .hosts = option_text(o, OPTION_HOSTS),
	                  .held = e->held,
	                  .watches_steps = elastic,
	                  .pass_on = v->json,
	                  .on_step = train_view_step,
	                  .context = v};
	if (!s)
		s = run_start(&run, measured);
	arguments_release(&a);
	if (s)
		sweep_outputs(o);
	return s;
}

/* On other ranks it is another plan. */
static enum status predict_again(const struct options *o, struct job *j, struct report *predicted)
{
	job_release(j);
	report_release(predicted);
	enum status s = job_from_options(j, o);
	return s ? s : job_predict_run(j, o, predicted);
}

static enum status run_elastic(struct elastic *e, struct options *o, struct job *j, struct train_view *v,
                               struct report *predicted, struct report *measured)
{
	enum status s = start_ranks(o, j->plan.ranks, e, v, measured);
	while (s == STATUS_LOST && elastic_again(e, o, v->made > 0)) {
		progress_clear(&v->progress);
		s = predict_again(o, j, predicted);
		if (!s)
			s = start_ranks(o, j->plan.ranks, e, v, measured);
	}
	return train_view_close(v, measured, s);
}

static enum status take_checkpoints(const struct options *o, struct train_options *t)
{
	static const enum option needy[] = {OPTION_CHECKPOINT_EVERY, OPTION_CHECKPOINT_KEEP, OPTION_CHECKPOINT_ASYNC};
	for (size_t i = 0; i < sizeof needy / sizeof *needy; i++)
		if (option_given(o, needy[i]) && !t->checkpoint)
			return status_fail(STATUS_INPUT, "--%s: there are no checkpoints; give {checkpoint} DIR too",
			                   option_name(needy[i]));
	return t->checkpoint ? interval_read("{checkpoint_every}", option_text(o, OPTION_CHECKPOINT_EVERY),
	                                     &t->checkpoint_every, &t->checkpoint_seconds)
	                     : STATUS_OK;
}

/* Finds every mistake before anything is printed or started. */
static enum status prepare(struct options *o, bool joined, struct job *j, struct train_options *t,
                           struct report *predicted, struct train_found *found)
{
	enum status s = inputs_are_files(o);
	if (s || (s = emit_check_option(o)) || (s = job_from_options(j, o)))
		return s;
	options_judge(o, j->settings.strategy);
	*t = run_options(o, &j->settings);
	s = take_checkpoints(o, t);
	if (!s)
		s = outputs_are_apart(o);
	if (!s)
		s = train_look(t, found);
	if (!s && t->trace_file)
		s = output_check(t->trace_file, "{trace}");
	if (!s && option_given(o, OPTION_LOG))
		s = run_log_check(option_text(o, OPTION_LOG));
	if (!s && option_given(o, OPTION_PLOT))
		s = run_plot_check(option_text(o, OPTION_PLOT));
	if (!s && !joined && j->plan.ranks > 1)
		s = launch_check(j->plan.ranks, option_text(o, OPTION_HOSTS));
	if (!s)
		s = job_predict_run(j, o, predicted);
	return s || joined ? s : job_check_fits(j, o, predicted);
}

/* Nothing is trained. */
static enum status emit_alone(const struct options *o)
{
	struct job j;
	enum status s = emit_check_option(o);
	if (s || (s = job_from_options(&j, o)))
		return s;
	s = emit_settings(o, &j.settings, NULL);
	job_release(&j);
	return s;
}

/* A file beside the training. With --json what is said of it is the first line. */
static enum status emit_beside(const struct options *o, const struct settings *settings)
{
	json_t *said = NULL;
	enum status s = emit_settings(o, settings, &said);
	if (said)
		print_json(json_pack("{s:o}", "emitted", said), true);
	return s;
}

/* A pipe whose reader ends, as head does, must not end a training: it goes on, and prints for nobody. Ranks print for
 * the process that started them, which is another matter. */
static void outlive_reader(bool joined)
{
	if (!joined && !launch_is_child())
		signal(SIGPIPE, SIG_IGN);
}

/* A reader that closed its pipe is no write error. */
static void forget_reader(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO};
	fflush(stdout);
	if (poll(&output, 1, 0) > 0 && output.revents & (POLLERR | POLLHUP) && !freopen("/dev/null", "w", stdout))
		clearerr(stdout);
}

static enum status run_asked(struct training_asked *a, struct train_view *v)
{
	bool starts = a->job.plan.ranks > 1 || a->elastic.restarts || option_given(&a->options, OPTION_HOSTS);
	if (a->joined || !starts)
		return run_here(&a->train, v, a->rank, &a->measured);
	if (a->elastic.restarts)
		return run_elastic(&a->elastic, &a->options, &a->job, v, &a->predicted, &a->measured);
	return start_ranks(&a->options, a->job.plan.ranks, &a->elastic, v, &a->measured);
}

static void show_begin(const struct training_asked *a)
{
	show_heading(&a->predicted, SHOW_ALL, stdout);
	if (option_given(&a->options, OPTION_DATA) || a->found.bytes_as_ids)
		text_wrapped(stdout, a->found.data, 0, text_columns(stdout, 110));
	fputc('\n', stdout);
	fflush(stdout);
}

static enum status run_and_show(struct training_asked *a)
{
	struct train_view v;
	train_view_begin(&v, &a->options, &a->train);
	bool shows = !v.json && !a->rank;
	if (shows)
		show_begin(a);
	enum status s = run_asked(a, &v);
	progress_clear(&v.progress);
	if (shows && a->measured.role_count && status_has_report(s)) {
		train_view_end(&v, &a->predicted, &a->measured);
		written_show(a->given, stdout);
	}
	train_view_release(&v);
	return s;
}

static enum status choose_ranks(struct training_asked *a)
{
	if (a->joined)
		return elastic_join(&a->elastic, &a->options, a->ranks);
	enum status s = launch_check_alone();
	return s ? s : elastic_begin(&a->elastic, &a->options);
}

/* The folder of checkpoints is this run's until its end. Ranks that shardlab started leave that to it. */
static enum status take_folder(struct training_asked *a)
{
	const char *folder = a->train.checkpoint;
	if (!folder || a->rank || launch_is_child())
		return STATUS_OK;
	enum status s = checkpoint_lock_take(&a->lock, folder, &launch_stop);
	a->elastic.held = a->lock.file;
	return s ? s : checkpoint_folder_check_own(folder, a->train.resume);
}

enum status command_train(const struct options *given)
{
	struct training_asked a = {.options = *given, .given = given, .ranks = 1};
	if (emit_is_all(given))
		return emit_alone(given);
	a.options.arena = (struct arena){0};
	a.joined = train_under_mpi(&a.rank, &a.ranks);
	launch_stop_on_signals();
	if (a.joined && !a.rank && !launch_is_child())
		leftovers_sweep();
	outlive_reader(a.joined);
	enum status s = free_stdout(&a);
	if (!s)
		s = choose_ranks(&a);
	if (!s)
		s = prepare(&a.options, a.joined, &a.job, &a.train, &a.predicted, &a.found);
	if (!s)
		s = take_folder(&a);
	if (!s && !a.rank)
		s = emit_beside(&a.options, &a.job.settings);
	s = run_say_once(s, a.rank);
	if (!s && a.joined)
		hosts_say_joined(a.rank, a.ranks);
	if (!s)
		hosts_say_library(&a.options, a.job.ranks_each);
	if (!s)
		s = run_and_show(&a);
	report_release(&a.predicted);
	report_release(&a.measured);
	job_release(&a.job);
	elastic_release(&a.elastic);
	checkpoint_lock_release(&a.lock);
	arena_release(&a.options.arena);
	forget_reader();
	return s;
}
