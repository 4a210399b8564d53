/* Checkpoints of a run: written after steps, and gone on from. The plan's sections save and restore say what goes
 * where; here are the files, and that all ranks agree.
 *
 *     rank 0                      the others
 *     makes step-….partial  ───►  hear its name
 *     each rank: section save into its file; sync; checksum
 *     tell each other size, checksums, failures
 *     checkpoint.json; its name; latest
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/checkpoint/folder.h"
#include "real/rank/checksum.h"
#include "real/train/internal.h"
#include "strategy/base/clock.h"
#include "strategy/base/path.h"

static const struct exchange exchanging = {"the checkpoint", .others_write = true};

/* ---- what goes together ---- */

enum { PROBES = 16 };

/* The first samples of the run stand for its data. */
static uint64_t data_checksum(const struct training *t)
{
	const struct dataset *d = &t->data;
	uint64_t sum = 0;
	int32_t *targets = array_make((size_t)d->targets_per_sample + 1, sizeof *targets);
	float *inputs = array_make((size_t)d->inputs_per_sample + 1, sizeof *inputs);
	for (int64_t i = 0; i < PROBES; i++) {
		dataset_fill(d, (uint64_t)t->plan.settings.seed, i, 1, inputs, targets);
		sum += weights_checksum(i * d->inputs_per_sample, d->inputs_per_sample, inputs);
		sum += (uint64_t)targets[0];
	}
	free(inputs);
	free(targets);
	return sum;
}

/* What may be another after a resume: who holds what, who sends what when, and where. */
static bool may_differ(enum setting i)
{
	switch (i) {
	case SETTING_MODEL: /* its specification is looked at */
	case SETTING_STRATEGY:
	case SETTING_RANKS:
	case SETTING_MICRO_BATCH:
	case SETTING_ACCUMULATE:
	case SETTING_BUCKET:
	case SETTING_CHECKPOINTING:
	case SETTING_OFFLOAD:
	case SETTING_COLLECTIVES:
	case SETTING_CHECKPOINTS:
		return true;
	default:
		return false;
	}
}

static struct settings settings_of(const struct training *t)
{
	struct settings s = t->plan.settings;
	s.sequence = t->model.tokens;
	return s;
}

static enum status refuse(const struct training *t, const char *what, const char *saved, const char *now)
{
	return status_fail(STATUS_INPUT,
	                   "{resume} %.200s: it was saved with %s %.100s, and this run has %.100s; strategy, ranks, "
	                   "micro-batch, bucket, offload, communicator and device may differ, nothing else",
	                   t->resume_path, what, saved, now);
}

/* A gradient that waits for its update is there, or it is not. */
static enum status check_delayed(const struct training *t)
{
	struct offload saved;
	const char *text = t->resumed.settings[SETTING_OFFLOAD];
	bool now = t->plan.settings.offload.delayed;
	enum status s = text ? offload_parse(text, &saved) : STATUS_INPUT;
	if (s)
		return status_fail(STATUS_INPUT, "{resume} %.200s: its setting 'offload' is wrong", t->resume_path);
	return saved.delayed == now ? STATUS_OK
	                            : refuse(t, status_words("{offload} optimizer:delayed="),
	                                     saved.delayed ? "yes" : "no", now ? "yes" : "no");
}

static enum status check_settings(const struct training *t)
{
	struct settings s = settings_of(t);
	char now[SETTING_TEXT], name[64];
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *saved = t->resumed.settings[i];
		setting_print((enum setting)i, &s, now, sizeof now);
		snprintf(name, sizeof name, "{%s}", setting_rows[i].name);
		if (!may_differ((enum setting)i) && strcmp(saved ? saved : "", now) != 0)
			return refuse(t, status_words(name), saved ? saved : "none", now);
	}
	return check_delayed(t);
}

static enum status check_resumed(const struct training *t)
{
	const struct manifest *m = &t->resumed;
	char saved[32], now[32];
	if (strcmp(m->model, t->model.specification) != 0)
		return refuse(t, status_words("{model}"), m->model, t->model.specification);
	enum status s = check_settings(t);
	if (s)
		return s;
	snprintf(saved, sizeof saved, "%" PRId64 " samples", m->data_samples);
	snprintf(now, sizeof now, "%" PRId64, t->data.training_samples);
	if (m->data_samples != t->data.training_samples)
		return refuse(t, status_words("{data}"), saved, now);
	if (m->data_checksum != data_checksum(t))
		return refuse(t, status_words("{data}"), "of other content", "as many samples");
	if (m->step >= t->options->steps)
		return status_fail(STATUS_INPUT,
		                   "{steps} %" PRId64 ": the checkpoint %.200s is of step %" PRId64
		                   " already; {steps} is the whole, so give more",
		                   t->options->steps, t->resume_path, m->step);
	return STATUS_OK;
}

static enum status check_plan(const struct training *t)
{
	bool wanted = t->options->checkpoint || t->options->resume;
	if (!wanted || t->plan.settings.checkpoints)
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "{plan} %.200s: it has no sections save and restore; print it with {checkpoint} DIR",
	                   t->options->plan_file ? t->options->plan_file : "");
}

enum status training_open_resume(struct training *t)
{
	const struct train_options *o = t->options;
	enum status s = check_plan(t);
	if (s || !o->resume)
		return s;
	if (o->init)
		return status_fail(STATUS_INPUT, "{init}: {resume} has the weights; leave one of them out");
	if ((s = checkpoint_find(o->resume, o->checkpoint, &t->resume_path)) ||
	    (s = manifest_read(&t->resumed, t->resume_path)))
		return s;
	return check_resumed(t);
}

enum status training_checkpoint_check(const struct training *t)
{
	return t->options->checkpoint ? checkpoint_folder_check(t->options->checkpoint) : STATUS_OK;
}

void training_checkpoint_release(struct training *t)
{
	piece_writer_release(&t->pieces);
	manifest_release(&t->resumed);
	free(t->resume_path);
	t->resume_path = NULL;
}

/* ---- writing ---- */

/* What each rank tells the others. */
struct written {
	int64_t failed; /* enum status */
	int64_t bytes;
	uint64_t file_checksum, checksum;
};

static struct manifest describe(const struct training *t, char settings[SETTING_COUNT][SETTING_TEXT])
{
	struct manifest m = {.step = t->steps_done,
	                     .model = t->model.specification,
	                     .data_samples = t->data.training_samples,
	                     .data_checksum = data_checksum(t)};
	struct settings s = settings_of(t);
	for (int i = 0; i < SETTING_COUNT; i++) {
		setting_print((enum setting)i, &s, settings[i], SETTING_TEXT);
		m.settings[i] = settings[i];
	}
	return m;
}

static enum status write_manifest(const struct training *t, const struct written *all, const char *folder)
{
	char settings[SETTING_COUNT][SETTING_TEXT];
	struct manifest m = describe(t, settings);
	m.files = array_make((size_t)t->ranks, sizeof *m.files);
	for (int i = 0; i < t->ranks; i++) {
		struct manifest_file *f = &m.files[m.file_count++];
		checkpoint_file_name(i, f->name);
		f->bytes = all[i].bytes;
		f->checksum = all[i].file_checksum;
		m.state_checksum += all[i].checksum;
	}
	enum status s = manifest_write(&m, folder);
	free(m.files);
	return s;
}

static enum status run_save(struct training *t)
{
	t->device.rank->state = piece_writer_store(&t->pieces);
	return executor_run(t->device.executor, &t->device.rank->role->save);
}

/* The plan does not change, so neither do the pieces. */
static enum status learn_pieces(struct training *t)
{
	if (t->pieces.count)
		return STATUS_OK;
	piece_writer_release(&t->pieces);
	piece_writer_init(&t->pieces, &t->model);
	enum status s = run_save(t);
	piece_writer_learnt(&t->pieces);
	return s;
}

/* This rank's file. A failure of the file is told in `out`, and not returned. */
static enum status write_own(struct training *t, const char *folder, struct written *out)
{
	char name[MANIFEST_FILE_NAME];
	*out = (struct written){0};
	enum status s = learn_pieces(t);
	if (s)
		return s;
	checkpoint_file_name(t->rank, name);
	char *path = path_in_folder(folder, name);
	(void)piece_writer_begin(&t->pieces, path);
	free(path);
	s = run_save(t);
	out->failed = piece_writer_finish(&t->pieces);
	out->bytes = t->pieces.bytes;
	out->file_checksum = t->pieces.file_checksum;
	out->checksum = t->pieces.checksum;
	return s;
}

static enum status tell_all(struct training *t, const void *mine, int64_t bytes, void *all)
{
	if (t->mpi)
		return communicator_tell_all(t->communicator, &exchanging, mine, bytes, all);
	memcpy(all, mine, (size_t)bytes);
	return STATUS_OK;
}

static enum status first_failure(const struct written *all, int ranks, int *rank)
{
	for (*rank = 0; *rank < ranks; ++*rank)
		if (all[*rank].failed)
			return (enum status)all[*rank].failed;
	return STATUS_OK;
}

/* Every rank has the line of the one that failed. */
static enum status hear_failure(struct training *t, int rank, char *line, size_t size)
{
	snprintf(line, size, "%s", status_message());
	return t->mpi ? communicator_hear(t->communicator, &exchanging, line, (int64_t)size, rank) : STATUS_OK;
}

static void say_failed(const struct training *t, const char *line)
{
	if (!t->rank)
		fprintf(stderr, "warning: no checkpoint of step %" PRId64 ": %s; the run goes on\n", t->steps_done,
		        line);
}

/* `made`: at rank 0. */
static enum status write_all(struct training *t, struct new_folder *made, const char *folder)
{
	struct written mine, *all = array_make((size_t)t->ranks, sizeof *all);
	char line[512];
	int rank = 0;
	enum status s = write_own(t, folder, &mine);
	if (!s)
		s = tell_all(t, &mine, sizeof mine, all);
	if (!s && !first_failure(all, t->ranks, &rank)) {
		rank = 0;
		if (!t->rank && !(mine.failed = write_manifest(t, all, folder)))
			mine.failed = checkpoint_folder_finish(made, t->options->checkpoint, t->steps_done,
			                                       t->options->checkpoint_keep);
		s = tell_all(t, &mine, sizeof mine, all);
	}
	t->unsaved = s || first_failure(all, t->ranks, &rank);
	if (!s && t->unsaved && !(s = hear_failure(t, rank, line, sizeof line)))
		say_failed(t, line);
	free(all);
	return s;
}

enum status training_checkpoint(struct training *t)
{
	struct new_folder made = {0};
	char folder[4096] = "";
	enum status s = STATUS_OK;
	t->unsaved = true;
	if (!t->rank) {
		if (checkpoint_folder_make(&made, t->options->checkpoint, t->steps_done))
			say_failed(t, status_message());
		else
			snprintf(folder, sizeof folder, "%s", made.temporary);
	}
	if (t->mpi)
		s = communicator_hear(t->communicator, &exchanging, folder, sizeof folder, 0);
	if (!s && *folder)
		s = write_all(t, &made, folder);
	if (!t->rank)
		new_folder_release(&made);
	t->saved_step = t->steps_done;
	t->saved_ns = clock_ns();
	return s;
}

bool training_checkpoint_time(const struct training *t)
{
	double since = (double)(clock_ns() - t->saved_ns) / 1e9;
	return !t->rank && t->options->checkpoint_seconds > 0 && since >= t->options->checkpoint_seconds;
}

bool training_checkpoint_is_due(const struct training *t, bool last, bool time)
{
	const struct train_options *o = t->options;
	if (!o->checkpoint || t->saved_step == t->steps_done)
		return false;
	return last || time || (o->checkpoint_every && t->steps_done % o->checkpoint_every == 0);
}

/* ---- going on ---- */

/* Each rank looks at some of the files, so that all are looked at once. */
static enum status check_files(const struct training *t)
{
	const struct manifest *m = &t->resumed;
	enum status s = STATUS_OK;
	for (int i = t->rank; i < m->file_count && !s; i += t->ranks)
		s = manifest_check_file(m, t->resume_path, i);
	return s;
}

static enum status restore(struct training *t)
{
	struct piece_reader reader = {0};
	enum status s = piece_reader_open(&reader, &t->model, t->resume_path, t->resumed.file_count);
	if (!s) {
		t->device.rank->state = piece_reader_store(&reader);
		s = executor_run(t->device.executor, &t->device.rank->role->restore);
	}
	t->device.rank->state = (struct state_store){0};
	piece_reader_release(&reader);
	return s;
}

/* What the ranks now hold adds up to what was saved, whoever held it then. */
static enum status check_state(struct training *t)
{
	uint64_t *all = array_make((size_t)t->ranks, sizeof *all), sum = 0;
	piece_writer_sum(&t->pieces);
	enum status s = run_save(t);
	if (!s)
		s = tell_all(t, &t->pieces.checksum, sizeof *all, all);
	for (int i = 0; i < t->ranks; i++)
		sum += all[i];
	free(all);
	if (s || sum == t->resumed.state_checksum)
		return s;
	return status_fail(STATUS_RUN,
	                   "{resume} %.200s: the state adds up to %016" PRIx64 ", and %016" PRIx64
	                   " was saved; this is a bug of shardlab",
	                   t->resume_path, sum, t->resumed.state_checksum);
}

enum status training_resume(struct training *t)
{
	t->saved_ns = clock_ns();
	t->saved_step = -1;
	if (!t->options->resume)
		return STATUS_OK;
	enum status s = training_agree(t, check_files(t));
	if (!s)
		s = training_agree(t, restore(t));
	if (!s)
		s = learn_pieces(t);
	if (!s)
		s = check_state(t);
	t->steps_done = t->steps_before = t->saved_step = t->resumed.step;
	return s;
}
