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
#include "strategy/base/number.h"
#include "strategy/plan/estimator.h"

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

/* The figure of DeepSpeed's own estimator for a plan made as DeepSpeed's. False: it has none. */
static bool estimate(const struct options *o, const struct job *j, struct estimate *out)
{
	struct cluster c;
	if (j->plan.software.name != SOFTWARE_OF_DEEPSPEED ||
	    cluster_open(&c, option_text(o, OPTION_CLUSTER), j->plan.ranks))
		return false;
	bool has = estimate_of_plan(&j->plan, c.devices, out);
	cluster_release(&c);
	return has;
}

static void show_estimate(const struct estimate *e)
{
	char device[32], host[32];
	number_format_bytes(device, sizeof device, (int64_t)e->device_bytes);
	number_format_bytes(host, sizeof host, (int64_t)e->host_bytes);
	printf("DeepSpeed's own estimator: %s a device, %s of a node's memory; it leaves out activations, buckets, "
	       "what is "
	       "gathered ahead, and libraries\n",
	       device, host);
}

static json_t *estimate_to_json(const struct estimate *e)
{
	return json_pack("{s:I, s:I, s:s}", "device_bytes", (json_int_t)e->device_bytes, "host_bytes",
	                 (json_int_t)e->host_bytes, "leaves_out",
	                 "activations, buckets, what is gathered ahead, libraries");
}

static void print_report(const struct options *o, const struct job *j, const struct report *r,
                         const struct interval_figures *f, json_t *emitted)
{
	struct estimate theirs;
	bool has = estimate(o, j, &theirs);
	if (!option_given(o, OPTION_JSON)) {
		show_report(r, stdout);
		if (has)
			show_estimate(&theirs);
		if (interval_is_asked(o))
			interval_show(f, stdout);
		return;
	}
	json_t *json = report_to_json(r);
	if (interval_is_asked(o))
		json_object_set_new(json, "checkpoint", interval_to_json(f));
	if (has)
		json_object_set_new(json, "deepspeed_estimate", estimate_to_json(&theirs));
	emit_add_said(json, json_incref(emitted));
	print_json(json, false);
}

static enum status simulate(struct options *o, struct job *j, enum grain grain)
{
	struct report r = {0};
	struct trace trace = {0};
	struct interval_figures figures = {0};
	bool traced = option_given(o, OPTION_TRACE);
	json_t *emitted = NULL;
	enum status s = emit_settings(o, &j->settings, &emitted);
	if (s || emit_is_all(o))
		return s;
	options_judge(o, j->settings.strategy);
	j->tf32 = option_given(o, OPTION_TF32);
	s = job_predict(j, option_text(o, OPTION_CLUSTER), grain, 0, traced ? &trace : NULL, &r);
	if (!s && !r.fits)
		find_change(j, o, &r.change);
	if (!s && j->tf32)
		s = check_tf32(&r);
	if (!s)
		s = predict_interval(j, o, &r, &figures);
	/* The file comes first: if it cannot be written, nothing has been printed yet. */
	if (!s && traced)
		s = trace_save(&trace, option_text(o, OPTION_TRACE));
	if (!s) {
		print_report(o, j, &r, &figures, emitted);
		if (option_given(o, OPTION_REQUIRE_FIT))
			s = job_require_fit(&r);
	}
	trace_release(&trace);
	report_release(&r);
	json_decref(emitted);
	return s;
}

enum status command_sim(const struct options *given)
{
	struct job j;
	struct options own = *given;
	enum grain grain;
	enum status s = grain_parse(option_text(given, OPTION_GRAIN), &grain);
	own.arena = (struct arena){0};
	if (s || (s = outputs_are_apart(given)) || (s = emit_check_option(given)) ||
	    (s = option_given(given, OPTION_EMIT) ? job_from_options(&j, given) : job_to_predict(&j, given)))
		return s;
	s = simulate(&own, &j, grain);
	job_release(&j);
	arena_release(&own.arena);
	return s;
}
