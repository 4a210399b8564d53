#include "cli/command/train_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command/run.h"
#include "cli/command/run_plot.h"
#include "cli/show/show.h"
#include "cli/show/text.h"
#include "strategy/base/clock.h"
#include "strategy/base/number.h"

static const double SILENCE_S = 60;

static int step_width(const struct train_view *v)
{
	return v->steps >= 10000 ? 8 : 5;
}

/* A step that was skipped, or that raised the loss scale. */
static void view_loss_scale(struct train_view *v, const struct train_step *step)
{
	progress_clear(&v->progress);
	printf("step %*" PRId64 "   ", step_width(v), step->step);
	if (!step->skipped)
		printf("loss scale %.10g, from now on %.10g\n", step->loss_scale, step->next_loss_scale);
	else if (step->next_loss_scale < step->loss_scale)
		printf("skipped: gradients overflowed at loss scale %.10g, from now on %.10g\n", step->loss_scale,
		       step->next_loss_scale);
	else
		printf("skipped: gradients overflowed at loss scale %.10g, which stays for this time\n",
		       step->loss_scale);
	fflush(stdout);
}

static const char *units_of(const struct train_step *step)
{
	return step->is_text ? "tokens" : "samples";
}

static void print_speed(const struct train_step *step)
{
	char flops[32];
	printf("   %.0f %s/s", step->units_per_s, units_of(step));
	if (step->tflops_per_device > 0) {
		number_format_flops(flops, sizeof flops, 1e12 * step->tflops_per_device);
		printf("   %s", flops);
	}
	if (step->mfu > 0)
		printf("   MFU %.1f %%", 100 * step->mfu);
}

static void view_line(struct train_view *v, const struct train_step *step)
{
	progress_clear(&v->progress);
	printf("step %*" PRId64 "   loss %.6f", step_width(v), step->step, step->loss);
	print_speed(step);
	putchar('\n');
	fflush(stdout);
	v->said = clock_seconds();
}

static void view_validation(struct train_view *v, const struct train_step *step)
{
	progress_clear(&v->progress);
	printf("step %*" PRId64 "   validation loss %.6f", step_width(v), step->step, step->validation_loss);
	if (isfinite(step->validation_accuracy))
		printf("   accuracy %.2f %%", 100 * step->validation_accuracy);
	putchar('\n');
	fflush(stdout);
}

/* A narrow terminal leaves out the last parts first. */
static void view_progress(struct train_view *v, const struct train_step *step)
{
	char label[200], flops[32];
	number_format_flops(flops, sizeof flops, 1e12 * step->tflops_per_device);
	int n = snprintf(label, sizeof label, "step %" PRId64 "/%" PRId64 " · loss %.4f · %.0f %s/s", step->step,
	                 v->steps, step->loss, step->units_per_s, units_of(step));
	if (step->mfu > 0)
		n += snprintf(label + n, sizeof label - (size_t)n, " · MFU %.1f %%", 100 * step->mfu);
	if (step->tflops_per_device > 0)
		snprintf(label + n, sizeof label - (size_t)n, " · %s", flops);
	progress_show(&v->progress, step->step, label);
}

/* The first, the last, each tenth of them; of a long run one a minute. */
static bool has_line(const struct train_view *v, const struct train_step *step)
{
	int64_t every = (v->steps + 9) / 10;
	return step->step == v->first || step->step % every == 0 || step->step == v->steps ||
	       clock_seconds() - v->said >= v->silence;
}

static void note_step(struct train_view *v, const struct train_step *step)
{
	v->made++;
	if (step->step <= v->noted)
		return;
	v->noted = step->step;
	run_log_step(&v->lines, step);
	curves_add(&v->curves, step->step, step->loss, step->validation_loss);
}

void train_view_step(void *context, const struct train_step *step)
{
	struct train_view *v = context;
	bool goes_on = !v->first && step->step > 1;
	v->first = v->first ? v->first : step->step;
	note_step(v, step);
	if (v->json && !v->passes_on)
		run_print_step(step);
	if (v->json)
		return;
	if (goes_on)
		printf("goes on after step %" PRId64 "\n", step->step - 1);
	if (step->skipped || step->next_loss_scale > step->loss_scale)
		view_loss_scale(v, step);
	if (has_line(v, step))
		view_line(v, step);
	if (v->validates && isfinite(step->validation_loss))
		view_validation(v, step);
	view_progress(v, step);
}

static void view_summary(const struct report *predicted, const struct report *measured)
{
	struct column columns[] = {{"predicted", predicted}, {"measured", measured}};
	fputc('\n', stdout);
	show_columns(columns, 2, stdout);
	show_checkpointing(columns, 2, stdout);
	show_overhead(&columns[1], 1, stdout);
	fputc('\n', stdout);
	show_run(measured, stdout);
}

void train_view_end(const struct train_view *v, const struct report *predicted, const struct report *measured)
{
	view_summary(predicted, measured);
	if (!v->draws)
		return;
	fputc('\n', stdout);
	show_curve(&v->curves, text_columns(stdout, 80), text_is_utf8(), stdout);
}

void train_view_begin(struct train_view *v, const struct options *o, const struct train_options *t)
{
	*v = (struct train_view){.json = option_given(o, OPTION_JSON),
	                         .draws = option_given(o, OPTION_CURVE) || isatty(STDOUT_FILENO),
	                         .validates = t->eval_every > 0,
	                         .resumes = t->resume != NULL,
	                         .silence = SILENCE_S,
	                         .steps = t->steps,
	                         .log = option_text(o, OPTION_LOG),
	                         .plot = option_text(o, OPTION_PLOT)};
	curves_begin(&v->curves);
	progress_begin(&v->progress, t->steps);
}

/* ---- files ---- */

/* The picture of a run that was stopped shows what was done. */
static enum status write_plot(const struct train_view *v, const struct report *measured)
{
	return v->plot && measured->role_count ? run_plot_write(v->plot, &v->curves, measured) : STATUS_OK;
}

enum status train_view_close(struct train_view *v, const struct report *measured, enum status s)
{
	if (!status_has_report(s)) {
		run_log_release(&v->lines);
		return s;
	}
	enum status plotted = write_plot(v, measured), logged = run_log_close(&v->lines);
	return s ? s : logged ? logged : plotted;
}

void train_view_log(struct train_view *v)
{
	if (v->log)
		v->lines = run_log_named(v->log, v->resumes);
}

void train_view_release(struct train_view *v)
{
	run_log_release(&v->lines);
	curves_release(&v->curves);
}
