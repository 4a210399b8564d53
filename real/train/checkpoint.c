/* Checkpoints of a run, written after steps. The plan's section save says what goes where; here are the files, and that
 * all ranks agree.
 *
 *     rank 0                      the others
 *     makes step-….partial  ───►  hear its name
 *     each rank: section save into its file; sync; checksum            (files)
 *     tell each other size, checksums, failures
 *     checkpoint.json; its name; latest                                (names: rank 0)
 *     hear whether that was done
 *
 * With a snapshot in the plan (--checkpoint-async) section save fills it, and a thread does what is named on the right
 * while steps go on. MPI is the main thread's alone: the sum that ends each step says when all have done so, and they
 * go on together. The next checkpoint waits for the one before.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/checkpoint/folder.h"
#include "real/rank/restore.h"
#include "real/train/internal.h"
#include "strategy/base/clock.h"
#include "strategy/base/path.h"

static const struct exchange exchanging = {"the checkpoint", .others_write = true};

static bool is_async(const struct training *t)
{
	return t->plan.settings.checkpoint_async;
}

/* ---- the files ---- */

static struct manifest describe(const struct training *t, char settings[SETTING_COUNT][SETTING_TEXT])
{
	struct manifest m = {.step = t->saving.step,
	                     .model = t->model.specification,
	                     .data_samples = t->data.training_samples,
	                     .data_checksum = t->saving.data_checksum,
	                     .data_whole = t->saving.data_whole};
	struct settings s = training_settings(t);
	for (int i = 0; i < SETTING_COUNT; i++) {
		setting_print((enum setting)i, &s, settings[i], SETTING_TEXT);
		m.settings[i] = settings[i];
	}
	return m;
}

static enum status write_manifest(const struct training *t)
{
	char settings[SETTING_COUNT][SETTING_TEXT];
	struct manifest m = describe(t, settings);
	m.files = array_make((size_t)t->ranks, sizeof *m.files);
	for (int i = 0; i < t->ranks; i++) {
		const struct written *w = &t->saving.all[i];
		struct manifest_file *f = &m.files[m.file_count++];
		checkpoint_file_name(i, f->name);
		f->bytes = w->bytes;
		f->checksum = w->file_checksum;
		m.state_checksum += w->checksum;
	}
	enum status s = manifest_write(&m, t->saving.folder);
	free(m.files);
	return s;
}

/* Writes the snapshot to the store, like section save where there is no snapshot. */
static enum status save_snapshot(struct training *t)
{
	const struct role *r = t->device.rank->role;
	enum status s = STATUS_OK;
	for (int i = r->save.begin; i < r->save.end && !s; i++)
		if (r->ops[i].kind == OP_SAVE)
			s = rank_save_snapshot(t->device.rank, &r->ops[i]);
	return s;
}

static enum status run_section(struct training *t)
{
	t->device.rank->state = piece_writer_store(&t->pieces);
	return executor_run(t->device.executor, &t->device.rank->role->save);
}

enum status training_save_state(struct training *t)
{
	enum status s = run_section(t);
	return s || !is_async(t) ? s : save_snapshot(t);
}

/* The plan does not change, so neither do the pieces. */
enum status training_learn_pieces(struct training *t)
{
	if (t->pieces.count)
		return STATUS_OK;
	piece_writer_release(&t->pieces);
	piece_writer_init(&t->pieces, &t->model);
	t->pieces.fp16 = t->plan.settings.precision == TYPE_FP16;
	enum status s = training_save_state(t);
	piece_writer_learnt(&t->pieces);
	return s;
}

static char *own_path(const struct training *t)
{
	char name[MANIFEST_FILE_NAME];
	checkpoint_file_name(t->rank, name);
	return path_in_folder(t->saving.folder, name);
}

/* This rank's failure, for all ranks to hear. */
static void note_failure(struct saving *v, enum status s)
{
	v->mine.failed = s;
	if (s)
		snprintf(v->line, sizeof v->line, "%s", status_message());
}

/* This rank's file. A failure of the file is no failure of the run. */
static enum status write_own(struct training *t)
{
	struct saving *v = &t->saving;
	int64_t begun = clock_ns();
	char *path = own_path(t);
	(void)piece_writer_begin(&t->pieces, path);
	free(path);
	enum status s = is_async(t) ? save_snapshot(t) : run_section(t);
	note_failure(v, piece_writer_finish(&t->pieces));
	v->mine.bytes = t->pieces.bytes;
	v->mine.state_bytes = t->pieces.state_bytes;
	v->mine.file_checksum = t->pieces.file_checksum;
	v->mine.checksum = t->pieces.checksum;
	v->mine.ns = clock_ns() - begun;
	v->mine.ruined = t->pieces.ruined;
	if (v->mine.ruined)
		snprintf(v->line, sizeof v->line, "%s", t->pieces.ruined);
	return s;
}

/* Rank 0's: from here on it is a checkpoint. */
static enum status give_names(struct training *t)
{
	const struct train_options *o = t->options;
	enum status s = write_manifest(t);
	if (!s)
		s = checkpoint_folder_finish(&t->saving.made, o->checkpoint, t->saving.step, o->checkpoint_keep);
	note_failure(&t->saving, s);
	return STATUS_OK;
}

/* ---- the thread ---- */

static void carry_out(struct training *t)
{
	struct saving *v = &t->saving;
	v->status = v->phase == SAVING_FILES ? write_own(t) : give_names(t);
	atomic_store(&v->done, true);
}

static void *carry_out_in_thread(void *training)
{
	carry_out(training);
	return NULL;
}

/* Signals are for the main thread. Without a thread to be had it is done here. */
static void start(struct training *t)
{
	struct saving *v = &t->saving;
	sigset_t all, before;
	atomic_store(&v->done, false);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	v->in_thread = is_async(t) && !pthread_create(&v->thread, NULL, carry_out_in_thread, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!v->in_thread)
		carry_out(t);
}

static void join(struct saving *v)
{
	if (v->in_thread)
		pthread_join(v->thread, NULL);
	v->in_thread = false;
}

/* ---- all ranks ---- */

enum status training_tell_all(struct training *t, const void *mine, int64_t bytes, void *all)
{
	if (t->mpi)
		return communicator_tell_all(t->communicator, &exchanging, mine, bytes, all);
	memcpy(all, mine, (size_t)bytes);
	return STATUS_OK;
}

/* The first rank that failed; -1: none. */
static int failed_rank(const struct saving *v, int ranks)
{
	for (int i = 0; i < ranks; i++)
		if (v->all[i].failed)
			return i;
	return -1;
}

/* If it was the run's last one, the end of the run says so. */
static void say_failed(struct training *t, const char *line)
{
	int64_t step = t->saving.step;
	if (t->rank)
		return;
	if (t->saving.last)
		snprintf(t->unsaved_why, sizeof t->unsaved_why, "%s", line);
	else
		fprintf(stderr, "warning: no checkpoint of step %" PRId64 ": %s; the run goes on\n", step, line);
}

static void end(struct training *t)
{
	t->saving.phase = SAVING_NONE;
	if (!t->rank)
		new_folder_release(&t->saving.made);
}

enum status training_diverged(const struct training *t, const char *what)
{
	enum type type = t->plan.settings.precision;
	char kept[80] = "";
	if (t->kept_step)
		snprintf(kept, sizeof kept, " after the checkpoint of step %" PRId64, t->kept_step);
	return status_fail(STATUS_RUN,
	                   "%s: the run diverged and saved nothing%s; lower {learning_rate}, give {clip} or {warmup}%s",
	                   what, kept, type == TYPE_FP32 ? "" : status_words(", or use {precision} fp32"));
}

/* An update has ruined the state at a loss that was finite: what was saved before is worth more. It is as good as gone
 * before any rank ends the others. */
static enum status refuse_ruined(struct training *t, int rank)
{
	struct saving *v = &t->saving;
	char what[300];
	enum status s = STATUS_OK;
	end(t);
	if (t->mpi)
		s = communicator_hear(t->communicator, &exchanging, v->line, sizeof v->line, rank);
	if (!s)
		s = training_agree(t, STATUS_OK);
	t->agreed |= !s;
	snprintf(what, sizeof what, "step %" PRId64 ": its update left %.100s that are not finite in %s", v->step,
	         v->line, type_name(t->plan.settings.precision));
	return s ? s : training_diverged(t, what);
}

static int ruined_rank(const struct saving *v, int ranks)
{
	for (int i = 0; i < ranks; i++)
		if (v->all[i].ruined)
			return i;
	return -1;
}

/* Rank 0 hears the line of the one that failed. */
static enum status give_up(struct training *t, int rank)
{
	struct saving *v = &t->saving;
	enum status s = STATUS_OK;
	if (t->mpi)
		s = communicator_hear(t->communicator, &exchanging, v->line, sizeof v->line, rank);
	if (!s)
		say_failed(t, v->line);
	end(t);
	return s;
}

static void note_figures(struct training *t)
{
	struct report_saved *r = &t->saved;
	r->bytes = r->rank_bytes = r->write_ns = 0;
	for (int i = 0; i < t->ranks; i++) {
		const struct written *w = &t->saving.all[i];
		r->bytes += w->state_bytes;
		r->rank_bytes = w->state_bytes > r->rank_bytes ? w->state_bytes : r->rank_bytes;
		r->write_ns = w->ns > r->write_ns ? w->ns : r->write_ns;
	}
}

static enum status go_on(struct training *t)
{
	struct saving *v = &t->saving;
	join(v);
	enum status s = v->status;
	if (!s)
		s = training_tell_all(t, &v->mine, sizeof v->mine, v->all);
	int failed = s ? -1 : failed_rank(v, t->ranks);
	if (s || failed >= 0)
		return s ? s : give_up(t, failed);
	int ruined = ruined_rank(v, t->ranks);
	if (ruined >= 0)
		return refuse_ruined(t, ruined);
	if (v->phase == SAVING_NAMES) {
		t->unsaved = false;
		t->kept_step = v->step;
		t->saved.saves++;
		end(t);
		return STATUS_OK;
	}
	note_figures(t);
	v->phase = SAVING_NAMES;
	if (!t->rank)
		start(t);
	return STATUS_OK;
}

enum status training_checkpoint_settle(struct training *t)
{
	enum status s = STATUS_OK;
	while (t->saving.phase && !s)
		s = go_on(t);
	return s;
}

bool training_checkpoint_is_under_way(const struct training *t, double *wish)
{
	const struct saving *v = &t->saving;
	bool mine = v->phase == SAVING_FILES || (v->phase == SAVING_NAMES && !t->rank);
	*wish = mine && atomic_load(&v->done);
	return v->phase != SAVING_NONE;
}

enum status training_checkpoint_go_on(struct training *t, double wishes)
{
	const struct saving *v = &t->saving;
	int64_t begun = clock_ns();
	if (!v->phase || wishes < (v->phase == SAVING_FILES ? t->ranks : 1))
		return STATUS_OK;
	enum status s = go_on(t);
	t->saved.stall_ns += clock_ns() - begun;
	return s;
}

/* ---- beginning ---- */

/* Rank 0 makes the folder, and all ranks hear its name; "": there is none. */
static enum status hear_folder(struct training *t, enum status made)
{
	struct saving *v = &t->saving;
	v->folder[0] = '\0';
	if (!t->rank && !made)
		snprintf(v->folder, sizeof v->folder, "%s", v->made.temporary);
	return t->mpi ? communicator_hear(t->communicator, &exchanging, v->folder, sizeof v->folder, 0) : STATUS_OK;
}

static enum status begin(struct training *t)
{
	struct saving *v = &t->saving;
	enum status made = STATUS_OK;
	v->step = t->steps_done;
	v->mine = (struct written){0};
	v->data_checksum = training_data_checksum(t);
	if (!v->all)
		v->all = array_make((size_t)t->ranks, sizeof *v->all);
	if (!t->rank && (made = checkpoint_folder_make(&v->made, t->options->checkpoint, v->step)))
		say_failed(t, status_message());
	enum status s = hear_folder(t, made);
	v->phase = !s && *v->folder ? SAVING_FILES : SAVING_NONE;
	return s;
}

static enum status begin_and_start(struct training *t)
{
	enum status s = begin(t);
	if (!s && t->saving.phase)
		s = training_learn_pieces(t);
	if (!s && t->saving.phase && is_async(t))
		s = run_section(t);
	if (!s && t->saving.phase)
		start(t);
	return s;
}

enum status training_checkpoint(struct training *t, bool last)
{
	int64_t begun = clock_ns();
	enum status s = training_checkpoint_settle(t);
	t->unsaved = true;
	t->saving.last = last;
	if (!s)
		s = begin_and_start(t);
	if (!s && (last || !is_async(t)))
		s = training_checkpoint_settle(t);
	t->saved_step = t->steps_done;
	t->saved_ns = clock_ns();
	t->saved.stall_ns += t->saved_ns - begun;
	return s;
}

/* ---- before the first step ---- */

enum status training_checkpoint_check(const struct training *t)
{
	return t->options->checkpoint ? checkpoint_folder_check(t->options->checkpoint) : STATUS_OK;
}

/* Room for this rank's file, in the folder that rank 0 made. */
static enum status try_own(struct training *t)
{
	char *path = own_path(t);
	enum status s = piece_writer_try(&t->pieces, path);
	free(path);
	return s;
}

enum status training_checkpoint_try(struct training *t)
{
	struct saving *v = &t->saving;
	enum status made = STATUS_OK, s;
	if (!t->options->checkpoint)
		return STATUS_OK;
	if (!t->rank) {
		/* Where it was compared, it is known. */
		v->data_whole = t->resumed.has_whole ? t->resumed.data_whole : dataset_checksum(&t->data);
		made = checkpoint_folder_try(&v->made, t->options->checkpoint);
	}
	if (!(s = training_agree(t, made)) && !(s = hear_folder(t, made)) && !(s = training_learn_pieces(t)))
		s = training_agree(t, try_own(t));
	if (!t->rank)
		new_folder_release(&v->made);
	return s;
}

/* One rank alone ends what is under way, whatever ended the run; of several it is left, as by a death. */
void training_checkpoint_release(struct training *t)
{
	if (!t->mpi)
		(void)training_checkpoint_settle(t);
	join(&t->saving);
	new_folder_release(&t->saving.made);
	free(t->saving.all);
	t->saving.all = NULL;
	piece_writer_release(&t->pieces);
	manifest_release(&t->resumed);
	free(t->resume_path);
	t->resume_path = NULL;
}
