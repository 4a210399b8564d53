#include "cli/command/interval.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/pulse.h"
#include "cli/show/table.h"
#include "sim/checkpoint.h"
#include "strategy/base/number.h"

static const struct {
	const char *unit;
	double seconds;
} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}};

enum status interval_read(const char *setting, const char *text, int64_t *steps, double *seconds)
{
	char *end;
	double n = strtod(text, &end);
	bool right = end > text && n >= 1 && n <= 1e8;
	*seconds = 0;
	if (steps)
		*steps = 0;
	if (right && steps && !*end && n == floor(n)) {
		*steps = (int64_t)n;
		return STATUS_OK;
	}
	for (size_t i = 0; right && i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit)) {
			*seconds = n * units[i].seconds;
			return STATUS_OK;
		}
	return status_fail(STATUS_INPUT, "%s '%.40s': give a %stime, as 90s, 10min, 1h", status_words(setting), text,
	                   steps ? "number of steps, as 500, or a " : "");
}

bool interval_is_asked(const struct options *o)
{
	return option_given(o, OPTION_CHECKPOINT_EVERY) || option_given(o, OPTION_MTBF);
}

/* From the end of a run's ranks to the first step of those that are started again, without reading: measured on one
 * machine (docs/benchmarks.md). A batch system that has to find nodes first takes longer. */
static const double START_S = 1;

static int64_t steps_of(double n)
{
	return n < 1 ? 1 : n > 1e15 ? INT64_C(1000000000000000) : (int64_t)n;
}

/* As many as are done when the time is over. */
static int64_t steps_in(double seconds, double step_s)
{
	return steps_of(step_s > 0 ? floor(seconds / step_s) : 1);
}

static int64_t steps_nearest(double seconds, double step_s)
{
	return steps_of(step_s > 0 ? round(seconds / step_s) : 1);
}

enum status interval_predict(const struct job *j, const struct options *o, double step_s, struct interval_figures *out)
{
	struct cluster c;
	struct checkpoint_cost cost = {0};
	double seconds;
	*out = (struct interval_figures){.every = 1};
	enum status s =
	        interval_read("{checkpoint_every}", option_text(o, OPTION_CHECKPOINT_EVERY), &out->every, &seconds);
	if (!s && option_given(o, OPTION_MTBF))
		s = interval_read("{mtbf}", option_text(o, OPTION_MTBF), NULL, &out->mtbf_s);
	if (s || (s = cluster_open(&c, job_cluster(o), j->plan.ranks)))
		return s;
	s = checkpoint_cost(&j->plan, &c, &cost);
	cluster_release(&c);
	if (s)
		return s;
	out->every_s = seconds;
	if (seconds > 0)
		out->every = steps_in(seconds, step_s);
	out->rank_bytes = cost.rank_bytes;
	out->bytes = cost.bytes;
	out->write_s = cost.write_s;
	out->read_s = cost.read_s;
	out->copy_s = cost.copy_s;
	out->measured = cost.measured;
	out->async = j->plan.settings.checkpoint_async;
	out->stall_s = checkpoint_stall(&cost, false, out->every, step_s);
	out->async_stall_s = checkpoint_stall(&cost, true, out->every, step_s);
	if (out->mtbf_s > 0) {
		out->notice_s = cost.notice_s = (double)pulse_limit_ns() / 1e9;
		out->start_s = cost.start_s = START_S;
		struct checkpoint_rhythm r = checkpoint_rhythm(&cost, out->async, out->mtbf_s);
		out->best_s = r.interval_s;
		out->best_every = steps_nearest(r.interval_s, step_s);
		out->goodput = r.goodput;
	}
	return STATUS_OK;
}

static void print_time(FILE *out, const char *before, double seconds)
{
	char text[32];
	number_format_time(text, sizeof text, (int64_t)(seconds * 1e9));
	fprintf(out, "%s%s", before, text);
}

/* Hours of a run, as people give them. */
static void print_span(FILE *out, const char *before, double seconds)
{
	size_t i = sizeof units / sizeof *units - 1;
	while (i && seconds < units[i].seconds)
		i--;
	double n = seconds / units[i].seconds;
	fprintf(out, n < 1e4 ? "%s%.4g %s" : "%s%.0f %s", before, n, units[i].unit);
}

void interval_show(const struct interval_figures *f, FILE *out)
{
	char rank[32], all[32];
	number_format_bytes(rank, sizeof rank, f->rank_bytes);
	number_format_bytes(all, sizeof all, f->bytes);
	fprintf(out, "\ncheckpoint of %s, %s of the largest rank", all, rank);
	print_time(out, ", written in ", f->write_s);
	print_time(out, ", read in ", f->read_s);
	fprintf(out, "%s\n", f->measured ? "" : " (assumed rates of the disk)");
	fprintf(out, "every %" PRId64 " steps", f->every);
	print_time(out, " it stalls a step by ", f->stall_s);
	print_time(out, "; with --checkpoint-async by ", f->async_stall_s);
	print_time(out, ", for a copy that takes ", f->copy_s);
	fputc('\n', out);
	if (f->mtbf_s <= 0)
		return;
	print_span(out, "with a failure every ", f->mtbf_s);
	if (f->best_every > 1)
		fprintf(out, ": best every %" PRId64 " steps", f->best_every);
	else
		fputs(": best every step", out);
	print_time(out, ", ", f->best_s);
	fprintf(out, "; %.2f %% of the time makes steps that stay\n", 100 * f->goodput);
	print_time(out, "a restart: ", f->notice_s);
	print_time(out, " until a silent rank is noticed, ", f->start_s);
	print_time(out, " to start, ", f->read_s);
	fputs(" to read\n", out);
}

/* A time is another number of steps for each of several. */
static void print_every(const struct interval_figures *f, FILE *out)
{
	if (f->every_s > 0)
		print_span(out, "every ", f->every_s);
	else
		fprintf(out, "every %" PRId64 " steps", f->every);
}

static int64_t nanoseconds(double seconds)
{
	return (int64_t)(seconds * 1e9);
}

void interval_compare(const char *const *names, const struct interval_figures *f, int count, FILE *out)
{
	struct table t;
	bool fails = count && f->mtbf_s > 0;
	table_init(&t, out, fails ? 9 : 7, 1);
	table_gap(&t);
	table_row(&t, STYLE_HEAD, "checkpoints\tall ranks\ta rank\twritten in\tread in\tstalls a step\tasync%s",
	          fails ? "\tbest every\tgoodput" : "");
	for (int i = 0; i < count; i++) {
		table_row(&t, STYLE_PLAIN, "%s", names[i]);
		table_bytes(&t, 1, f[i].bytes);
		table_bytes(&t, 2, f[i].rank_bytes);
		table_time(&t, 3, nanoseconds(f[i].write_s));
		table_time(&t, 4, nanoseconds(f[i].read_s));
		table_time(&t, 5, nanoseconds(f[i].stall_s));
		table_time(&t, 6, nanoseconds(f[i].async_stall_s));
		if (fails) {
			table_cell(&t, 7, "%" PRId64 " steps", f[i].best_every);
			table_cell(&t, 8, "%.2f %%", 100 * f[i].goodput);
		}
	}
	table_end(&t, 0);
	if (count) {
		fputs("a rank: the one that saves most; ", out);
		print_every(f, out);
		fprintf(out, "; async: with --checkpoint-async%s\n", f->measured ? "" : "; assumed rates of the disk");
	}
	if (!fails)
		return;
	print_span(out, "with a failure every ", f->mtbf_s);
	fputs("; goodput: the share of the time that makes steps that stay\n", out);
}

json_t *interval_to_json(const struct interval_figures *f)
{
	json_t *o = json_pack("{s:I, s:I, s:f, s:f, s:f, s:I, s:f, s:f, s:b}", "rank_bytes", (json_int_t)f->rank_bytes,
	                      "bytes", (json_int_t)f->bytes, "write_s", f->write_s, "read_s", f->read_s, "copy_s",
	                      f->copy_s, "every", (json_int_t)f->every, "stall_s", f->stall_s, "async_stall_s",
	                      f->async_stall_s, "measured", f->measured);
	if (f->mtbf_s > 0)
		json_object_update_new(o, json_pack("{s:f, s:I, s:f, s:f, s:f, s:f}", "mtbf_s", f->mtbf_s, "best_every",
		                                    (json_int_t)f->best_every, "best_s", f->best_s, "goodput",
		                                    f->goodput, "notice_s", f->notice_s, "start_s", f->start_s));
	return o;
}
