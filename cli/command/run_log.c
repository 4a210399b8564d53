#include "cli/command/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command/run.h"
#include "strategy/base/output.h"
#include "strategy/base/path.h"

enum status run_log_check(const char *path)
{
	if (!path_ends_in(path, ".jsonl") && !path_ends_in(path, ".csv") && !output_is_special(path))
		return status_fail(STATUS_INPUT, "{log} %.60s: the name must end in .jsonl or .csv", path);
	return output_check(path, "{log}");
}

struct run_log run_log_named(const char *path, bool resumed)
{
	return (struct run_log){.path = path, .csv = path_ends_in(path, ".csv"), .resumed = resumed};
}

/* ---- the lines of a run that is resumed ---- */

/* The step of a whole line; 0: it has none, or is no line of ours. */
static int64_t step_of(const char *line, bool csv)
{
	static const char begin[] = "{\"step\": ";
	size_t skip = csv ? 0 : sizeof begin - 1;
	bool ours = line[strlen(line) - 1] == '\n' && (csv || !strncmp(line, begin, skip));
	return ours ? strtoll(line + skip, NULL, 10) : 0;
}

static FILE *open_earlier(const struct run_log *log)
{
	struct stat info;
	return log->resumed && !stat(log->path, &info) && S_ISREG(info.st_mode) ? fopen(log->path, "re") : NULL;
}

/* The line of names, and those of the steps before `next`. */
static void copy_earlier(struct run_log *log, FILE *earlier, int64_t next)
{
	char *line = NULL;
	size_t size = 0;
	while (getline(&line, &size, earlier) > 0) {
		bool names = log->csv && !log->begun && !strncmp(line, "step,", 5);
		int64_t step = step_of(line, log->csv);
		if (!names && (step < 1 || step >= next || (log->csv && !log->begun)))
			continue;
		fputs(line, log->file);
		log->begun = true;
	}
	free(line);
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

static void begin(struct run_log *log, int64_t step)
{
	FILE *earlier = open_earlier(log);
	log->file = open_growing(log->path);
	if (earlier && log->file)
		copy_earlier(log, earlier, step);
	if (earlier)
		fclose(earlier);
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
		begin(log, step->step);
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
