#include "cli/command/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/run.h"
#include "strategy/base/output.h"
#include "strategy/base/path.h"

enum status run_log_check(const char *path)
{
	if (!path_ends_in(path, ".jsonl") && !path_ends_in(path, ".csv"))
		return status_fail(STATUS_INPUT, "{log} %.60s: the name must end in .jsonl or .csv", path);
	return output_check(path, "{log}");
}

struct run_log run_log_named(const char *path)
{
	return (struct run_log){.path = path, .csv = path_ends_in(path, ".csv")};
}

/* The empty file takes the name at once; what is written later goes to the same file by a descriptor of its own. */
static FILE *open_growing(const char *path)
{
	struct output *o;
	if (output_open(&o, path, "{log}"))
		return NULL;
	int copy = fcntl(output_descriptor(o), F_DUPFD_CLOEXEC, 0);
	FILE *file = copy < 0 || output_finish(o) ? NULL : fdopen(copy, "w");
	int error = errno;
	if (!file && copy >= 0)
		close(copy);
	output_close(o);
	errno = error;
	return file;
}

/* ---- lines ---- */

/* An empty field is unknown, or was not asked for. */
static void put_real(FILE *out, double v, bool known)
{
	fputc(',', out);
	if (known && isfinite(v))
		fprintf(out, "%.15g", v);
}

static void put_csv(struct run_log *log, const struct train_step *s)
{
	FILE *out = log->file;
	if (!log->begun)
		fprintf(out,
		        "step,loss,%s,tflops_per_device,mfu,validation_loss,validation_accuracy,learning_rate,"
		        "loss_scale,skipped\n",
		        s->is_text ? "tokens_per_s" : "samples_per_s");
	fprintf(out, "%" PRId64, s->step);
	put_real(out, s->loss, true);
	put_real(out, s->units_per_s, true);
	put_real(out, s->tflops_per_device, s->tflops_per_device > 0);
	put_real(out, s->mfu, s->mfu > 0);
	put_real(out, s->validation_loss, true);
	put_real(out, s->validation_accuracy, true);
	put_real(out, s->learning_rate, true);
	put_real(out, s->loss_scale, s->loss_scale > 0);
	fprintf(out, ",%d\n", s->skipped);
}

static bool write_step(struct run_log *log, const struct train_step *step)
{
	if (log->csv)
		put_csv(log, step);
	else
		run_write_step(step, log->file);
	log->begun = true;
	return fflush(log->file) == 0;
}

static void note_failure(struct run_log *log, int64_t step)
{
	if (log->failed_at)
		return;
	log->failed_at = step;
	log->error = errno;
}

void run_log_step(struct run_log *log, const struct train_step *step)
{
	if (!log->path || (!log->file && log->failed_at))
		return;
	if (!log->file)
		log->file = open_growing(log->path);
	if (!log->file || !write_step(log, step))
		note_failure(log, step->step);
}

enum status run_log_close(struct run_log *log)
{
	bool failed = log->file && fclose(log->file) != 0;
	log->file = NULL;
	if (log->failed_at)
		return status_fail(STATUS_RUN,
		                   "{log}: '%s' lacks lines from step %" PRId64 " on: %s; the run itself is done",
		                   log->path, log->failed_at, strerror(log->error));
	return failed ? status_fail(STATUS_RUN, "{log}: cannot write '%s': %s", log->path, strerror(errno)) : STATUS_OK;
}

void run_log_release(struct run_log *log)
{
	if (log->file)
		fclose(log->file);
	log->file = NULL;
}
