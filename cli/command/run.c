#include "cli/command/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/command/pulse.h"

struct train_options run_options(const struct options *o, const struct settings *settings)
{
	const char *evaluate = option_text(o, OPTION_EVALUATE);
	struct train_options t = train_options_default();
	t.settings = *settings;
	t.plan_file = option_text(o, OPTION_PLAN_FILE);
	t.steps = option_whole(o, OPTION_STEPS);
	t.device = option_text(o, OPTION_DEVICE);
	t.communicator = option_text(o, OPTION_COMM);
	t.no_graph = option_given(o, OPTION_NO_GRAPH);
	t.autotune = option_given(o, OPTION_AUTOTUNE);
	t.products = option_text(o, OPTION_PRODUCTS);
	t.attention = option_text(o, OPTION_ATTENTION);
	t.tf32 = option_given(o, OPTION_TF32);
	t.data = option_text(o, OPTION_DATA);
	t.data_type = option_text(o, OPTION_DATA_TYPE);
	t.threads = (int)option_whole(o, OPTION_THREADS);
	t.evaluate = evaluate && !strcmp(evaluate, "yes");
	t.eval_every = option_given(o, OPTION_EVAL_EVERY) ? option_whole(o, OPTION_EVAL_EVERY) : 0;
	t.guard = option_given(o, OPTION_GUARD);
	t.offload_folder = option_text(o, OPTION_OFFLOAD_FOLDER);
	t.init = option_text(o, OPTION_INIT);
	t.save = option_text(o, OPTION_SAVE);
	t.shard_bytes = option_whole(o, OPTION_SAVE_SHARD);
	t.checkpoint = option_text(o, OPTION_CHECKPOINT);
	t.checkpoint_keep = option_whole(o, OPTION_CHECKPOINT_KEEP);
	t.resume = option_text(o, OPTION_RESUME);
	t.trace_file = option_text(o, OPTION_TRACE);
	t.values = option_given(o, OPTION_VALUES);
	t.stop = &launch_stop;
	t.place = &pulse_place;
	return t;
}

enum status run_say_once(enum status s, int rank)
{
	if (s && rank) {
		sleep(1);
		_exit(status_exit_code(s));
	}
	return s;
}

static json_t *real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* 0, for what is unknown, is null. */
static json_t *known_or_null(double v)
{
	return v > 0 ? real_or_null(v) : json_null();
}

static json_t *step_to_json(const struct train_step *step)
{
	json_t *o =
	        json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "step", (json_int_t)step->step, "loss",
	                  real_or_null(step->loss), step->is_text ? "tokens_per_s" : "samples_per_s",
	                  real_or_null(step->units_per_s), "tflops_per_device", known_or_null(step->tflops_per_device),
	                  "mfu", known_or_null(step->mfu), "learning_rate", real_or_null(step->learning_rate));
	if (isfinite(step->validation_loss))
		json_object_update_new(o, json_pack("{s:f, s:o}", "validation_loss", step->validation_loss,
		                                    "validation_accuracy", real_or_null(step->validation_accuracy)));
	if (step->loss_scale > 0)
		json_object_update_new(o, json_pack("{s:f, s:b, s:f}", "loss_scale", step->loss_scale, "skipped",
		                                    step->skipped, "next_loss_scale", step->next_loss_scale));
	return o;
}

void run_write_step(const struct train_step *step, FILE *out)
{
	json_t *o = step_to_json(step);
	json_dumpf(o, out, JSON_REAL_PRECISION(15));
	fputc('\n', out);
	json_decref(o);
}

void run_print_step(const struct train_step *step)
{
	run_write_step(step, stdout);
	fflush(stdout);
}

void run_print_summary(const struct report *r)
{
	print_json(json_pack("{s:o}", "summary", report_to_json(r)), true);
}

struct listener {
	const struct run *run;
	struct report *summary;
	enum status status;
};

static double number_or_nan(const json_t *v)
{
	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static struct train_step step_from_json(const json_t *o)
{
	const json_t *tokens = json_object_get(o, "tokens_per_s");
	return (struct train_step){.step = json_integer_value(json_object_get(o, "step")),
	                           .loss = number_or_nan(json_object_get(o, "loss")),
	                           .units_per_s = number_or_nan(tokens ? tokens : json_object_get(o, "samples_per_s")),
	                           .is_text = tokens != NULL,
	                           .tflops_per_device = json_number_value(json_object_get(o, "tflops_per_device")),
	                           .mfu = json_number_value(json_object_get(o, "mfu")),
	                           .learning_rate = number_or_nan(json_object_get(o, "learning_rate")),
	                           .validation_loss = number_or_nan(json_object_get(o, "validation_loss")),
	                           .validation_accuracy = number_or_nan(json_object_get(o, "validation_accuracy")),
	                           .skipped = json_is_true(json_object_get(o, "skipped")),
	                           .loss_scale = json_number_value(json_object_get(o, "loss_scale")),
	                           .next_loss_scale = json_number_value(json_object_get(o, "next_loss_scale"))};
}

static void on_line(void *context, const char *line)
{
	struct listener *l = context;
	json_t *o = *line == '{' ? json_loads(line, 0, NULL) : NULL;
	const json_t *summary = json_object_get(o, "summary");
	if (o && l->run->pass_on) {
		puts(line);
		fflush(stdout);
	}
	if (summary && !l->status) {
		report_release(l->summary);
		l->status = report_from_json(l->summary, summary);
	} else if (json_object_get(o, "step") && l->run->on_step) {
		struct train_step step = step_from_json(o);
		l->run->on_step(l->run->context, &step);
	}
	json_decref(o);
}

enum status run_start(const struct run *r, struct report *summary)
{
	struct listener l = {.run = r, .summary = summary};
	struct launch launch = {.ranks = r->ranks,
	                        .arguments = r->arguments,
	                        .hosts = r->hosts,
	                        .held = r->held,
	                        .watches_steps = r->watches_steps,
	                        .on_line = on_line,
	                        .context = &l};
	*summary = (struct report){0};
	enum status s = launch_run(&launch);
	if (s == STATUS_RUN && summary->role_count) /* it came so far as to tell the whole */
		s = STATUS_UNSAVED;
	if (!status_has_report(s))
		report_release(summary);
	if (!s)
		s = l.status;
	if (!s && !summary->role_count)
		s = status_fail(STATUS_RUN, "the run ended without a summary");
	return s;
}
