/* shardlab sim: one step of one strategy, without hardware. */
#include "sim/sim.h"

#include <stdio.h>

#include "cli/command/apart.h"
#include "cli/command/command.h"
#include "cli/command/emit.h"
#include "cli/command/interval.h"
#include "cli/command/job.h"
#include "cli/command/mend.h"
#include "cli/show/show.h"
#include "sim/fit.h"

/* The user asked for tf32: a time without it would mislead. */
static enum status check_tf32(const struct report *r)
{
	if (r->precision != TYPE_FP32)
		return status_fail(STATUS_INPUT,
		                   "--tf32 is how products of fp32 are computed, and --precision is %s; leave one of "
		                   "them out",
		                   type_name(r->precision));
	return r->tf32 ? STATUS_OK
	               : status_fail(STATUS_INPUT,
	                             "--tf32: cluster %s has no rate of it; leave it out, choose another "
	                             "--cluster, or give this one a compute.linear.tf32",
	                             r->cluster);
}

/* A plan that was read may have no sections to save and restore. */
static enum status predict_interval(const struct job *j, const struct options *o, const struct report *r,
                                    struct interval_figures *out)
{
	if (!interval_is_asked(o))
		return STATUS_OK;
	if (!j->plan.settings.checkpoints)
		return status_fail(STATUS_INPUT, "{plan}: it has no sections save and restore; print it with "
		                                 "{checkpoint} DIR");
	return interval_predict(j, o, (double)r->time.step / 1e9, out);
}

static void find_change(const struct job *j, const struct options *o, struct report_change *out)
{
	fit_find_change(&j->plan, option_text(o, OPTION_CLUSTER), out);
	mend_spell(o, &j->settings, out);
}

static void print_report(const struct options *o, const struct report *r, const struct interval_figures *f)
{
	if (!option_given(o, OPTION_JSON)) {
		show_report(r, stdout);
		if (interval_is_asked(o))
			interval_show(f, stdout);
		return;
	}
	json_t *json = report_to_json(r);
	if (interval_is_asked(o))
		json_object_set_new(json, "checkpoint", interval_to_json(f));
	print_json(json, false);
}

enum status command_sim(const struct options *o)
{
	struct job j;
	struct report r = {0};
	struct trace trace = {0};
	struct interval_figures figures = {0};
	enum grain grain;
	bool traced = option_given(o, OPTION_TRACE);
	enum status s = grain_parse(option_text(o, OPTION_GRAIN), &grain);
	if (s || (s = outputs_are_apart(o)) || (s = emit_check_option(o)) || (s = job_from_options(&j, o)))
		return s;
	if ((s = emit_settings(o, &j.settings)) || emit_is_all(o)) {
		job_release(&j);
		return s;
	}
	j.tf32 = option_given(o, OPTION_TF32);
	s = job_predict(&j, option_text(o, OPTION_CLUSTER), grain, 0, traced ? &trace : NULL, &r);
	if (!s && !r.fits)
		find_change(&j, o, &r.change);
	if (!s && j.tf32)
		s = check_tf32(&r);
	if (!s)
		s = predict_interval(&j, o, &r, &figures);
	/* The file comes first: if it cannot be written, nothing has been printed yet. */
	if (!s && traced)
		s = trace_save(&trace, option_text(o, OPTION_TRACE));
	if (!s) {
		print_report(o, &r, &figures);
		if (option_given(o, OPTION_REQUIRE_FIT))
			s = job_require_fit(&r);
	}
	trace_release(&trace);
	report_release(&r);
	job_release(&j);
	return s;
}
