/* Going on from a checkpoint: what must be as it was, and the state, which is made sure of by its checksum. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/checkpoint/folder.h"
#include "real/rank/checksum.h"
#include "real/train/internal.h"
#include "strategy/base/clock.h"

/* ---- what goes together ---- */

enum { PROBES = 16 };

/* The first samples of the run stand for its data. */
uint64_t training_data_checksum(const struct training *t)
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

/* Settings that may change at a resume: who holds what, who sends what when, and where. */
static bool may_differ(enum setting i, bool reproducible)
{
	switch (i) {
	case SETTING_MICRO_BATCH: /* of which a reproducible sum is made */
		return !reproducible;
	case SETTING_MODEL: /* its specification is looked at */
	case SETTING_STRATEGY:
	case SETTING_RANKS:
	case SETTING_ACCUMULATE:
	case SETTING_BUCKET:
	case SETTING_CHECKPOINTING:
	case SETTING_OFFLOAD:
	case SETTING_COLLECTIVES:
	case SETTING_CHECKPOINTS:
	case SETTING_CHECKPOINT_ASYNC:
		return true;
	default:
		return false;
	}
}

struct settings training_settings(const struct training *t)
{
	struct settings s = t->plan.settings;
	s.sequence = t->model.tokens;
	return s;
}

/* A fraction by the fewest digits that mean it; whole numbers and other text as they are. */
static const char *shortest(const char *text, char out[32])
{
	char *end;
	double value = strtod(text, &end);
	if (*end || end == text || !strchr(text, '.'))
		return text;
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(out, 32, "%.*g", digits, value);
		if (strtod(out, NULL) == value)
			break;
	}
	return out;
}

static enum status refuse(const struct training *t, const char *what, const char *saved, const char *now)
{
	char was[32], is[32];
	return status_fail(
	        STATUS_INPUT,
	        "{resume} %.200s: it was saved with %s %.100s, and this run has %.100s; only strategy, ranks, "
	        "%saccumulation, bucket, activation checkpointing, offload but for delayed, communicator, device, "
	        "{threads} and {checkpoint_async} may differ",
	        t->resume_path, what, shortest(saved, was), shortest(now, is),
	        t->plan.settings.reproducible ? "" : "micro-batch, ");
}

/* A gradient that waits for its update is there, or it is not. */
static enum status check_delayed(const struct training *t)
{
	static const char *const delayed[] = {"optimizer:delayed=no", "optimizer:delayed=yes"};
	struct offload saved;
	const char *text = t->resumed.settings[SETTING_OFFLOAD];
	bool now = t->plan.settings.offload.delayed;
	enum status s = text ? offload_parse(text, &saved) : STATUS_INPUT;
	if (s)
		return status_fail(STATUS_INPUT, "{resume} %.200s: its setting 'offload' is wrong", t->resume_path);
	return saved.delayed == now ? STATUS_OK
	                            : refuse(t, status_words("{offload}"), delayed[saved.delayed], delayed[now]);
}

static enum status check_settings(const struct training *t)
{
	struct settings s = training_settings(t), none = settings_default();
	char now[SETTING_TEXT], absent[SETTING_TEXT], name[64];
	/* Whether sums are reproducible decides about others, so it comes first. */
	for (int k = -1; k < SETTING_COUNT; k++) {
		int i = k < 0 ? SETTING_REPRODUCIBLE : k;
		const char *saved = t->resumed.settings[i];
		setting_print((enum setting)i, &none, absent, sizeof absent);
		saved = saved ? saved : absent; /* a setting that is newer than the checkpoint */
		setting_print((enum setting)i, &s, now, sizeof now);
		snprintf(name, sizeof name, "{%s}", setting_rows[i].name);
		if (!may_differ((enum setting)i, s.reproducible) && strcmp(saved, now) != 0)
			return refuse(t, status_words(name), saved, now);
	}
	return check_delayed(t);
}

/* One rank reads all of the data. */
static bool is_first(void)
{
	int rank, ranks;
	return !train_under_mpi(&rank, &ranks) || rank == 0;
}

static enum status check_resumed(const struct training *t)
{
	const struct manifest *m = &t->resumed;
	char saved[32], now[32];
	if (strcmp(m->model, t->model.specification) != 0)
		return refuse(t, status_words("{model}"), m->model, t->model.specification);
	TRY(check_settings(t));
	snprintf(saved, sizeof saved, "%" PRId64 " samples", m->data_samples);
	snprintf(now, sizeof now, "%" PRId64, t->data.training_samples);
	if (m->data_samples != t->data.training_samples)
		return refuse(t, status_words("{data}"), saved, now);
	if (m->data_checksum != training_data_checksum(t) ||
	    (m->has_whole && is_first() && m->data_whole != dataset_checksum(&t->data)))
		return status_fail(STATUS_INPUT, "{resume} %.200s: {data} has other samples than it was saved with",
		                   t->resume_path);
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

/* ---- going on ---- */

/* Each rank looks at some of the files, so that all are looked at once. */
static enum status check_files(const struct training *t)
{
	const struct manifest *m = &t->resumed;
	for (int i = t->rank; i < m->file_count; i += t->ranks)
		TRY(manifest_check_file(m, t->resume_path, i));
	return STATUS_OK;
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

/* Checks that the ranks' state adds up to the saved state, whoever held it then. */
static enum status check_state(struct training *t)
{
	uint64_t *all = array_make((size_t)t->ranks, sizeof *all), sum = 0;
	piece_writer_sum(&t->pieces);
	enum status s = training_save_state(t);
	if (!s)
		s = training_tell_all(t, &t->pieces.checksum, sizeof *all, all);
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
		s = training_learn_pieces(t);
	if (!s)
		s = check_state(t);
	t->steps_done = t->steps_before = t->saved_step = t->kept_step = t->resumed.step;
	return s;
}
