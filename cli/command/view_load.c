#include "cli/command/view_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/view_race.h"
#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "strategy/base/path.h"
#include "strategy/cluster/effective.h"
#include "strategy/cluster/links.h"
#include "strategy/strategies/alone.h"
#include "strategy/strategies/strategy.h"

/* The memory that one rank may use: a GPU's own, or on CPUs its share of the node's. */
static void limits_of(struct limits *out, const struct cluster *c, int64_t ranks)
{
	int64_t there = c->devices && c->devices < ranks ? c->devices : ranks;
	out->device_bytes = c->kind == DEVICE_GPU ? c->device_memory : c->node_memory / (there ? there : 1);
	out->overhead_bytes = effective_overhead(c);
	out->link = c->link.bandwidth.value;
	out->network = c->network.bandwidth.value;
	out->rails = c->rails;
	out->host_link = c->host_link.bandwidth.value;
	out->disk_read = c->disk.read.value;
	out->disk_write = c->disk.write.value;
	out->node_ranks = c->devices;
}

static void with_dashes(char *name)
{
	for (; *name; name++)
		*name = *name == '_' ? '-' : *name;
}

/* The settings that change the picture of a step, where they are not the defaults. */
static void print_techniques(char *out, size_t size, const struct settings *s)
{
	static const enum setting shown[] = {
	        SETTING_CHECKPOINTING,       SETTING_OFFLOAD, SETTING_BUCKET,      SETTING_OPTIMIZER, SETTING_CLIP,
	        SETTING_STOCHASTIC_ROUNDING, SETTING_AS,      SETTING_REPRODUCIBLE};
	static const char *const keys[] = {
	        "activation-checkpointing:", "offload:", "bucket:",       "optimizer:", "clip:",
	        "stochastic-rounding:",      "as:",      "reproducible:", NULL};
	char name[SETTING_TEXT], value[SETTING_TEXT];
	size_t at = 0;
	*out = 0;
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
		if (!setting_differs(shown[i], s) || at >= size)
			continue;
		if (setting_rows[shown[i]].type == TAKES_SIZE)
			number_format_bytes(value, sizeof value, s->bucket);
		else
			setting_print(shown[i], s, value, sizeof value);
		snprintf(name, sizeof name, "%s", setting_rows[shown[i]].name);
		with_dashes(name);
		with_dashes(value);
		at += (size_t)snprintf(out + at, size - at, " · %s %.48s", tr_name(name, keys), value);
	}
}

/* "ring-all-reduce on 5 ranks · 40 B, 10 elements of fp32 · simulated on …" */
static void make_heading_alone(struct trace_view *p, const struct plan *plan, const char *where)
{
	char bytes[32], elements[32];
	number_format_bytes(bytes, sizeof bytes, 4 * plan->model->parameters);
	snprintf(p->label, sizeof p->label, "%.63s", plan->strategy);
	snprintf(p->heading, sizeof p->heading, tr("%.60s on %" PRId64 " ranks · %s, %s element%s of fp32 · %s"),
	         plan->strategy, plan->ranks, bytes, number_format_count(elements, plan->model->parameters),
	         plan->model->parameters == 1 ? "" : "s", where);
}

static void make_heading(struct trace_view *p, const struct plan *plan, const char *where)
{
	const struct settings *s = &plan->settings;
	char parameters[32], batch[32], accumulate[64] = "", sequence[48] = "", techniques[200];
	if (plan_is_alone(plan)) {
		make_heading_alone(p, plan, where);
		return;
	}
	if (s->accumulate > 1)
		snprintf(accumulate, sizeof accumulate, tr(" in %" PRId64 " micro-batches"), s->accumulate);
	if (plan->model->tokens > 1)
		snprintf(sequence, sizeof sequence, tr(" · sequence %" PRId64), plan->model->tokens);
	print_techniques(techniques, sizeof techniques, s);
	snprintf(p->label, sizeof p->label, "%.63s", s->strategy);
	snprintf(p->heading, sizeof p->heading,
	         tr("%.60s on %" PRId64 " rank%s · %.40s, %s parameters · %s · batch %s%s%s%s · %s"), s->strategy,
	         plan->ranks, plan->ranks == 1 ? "" : "s", plan->model->name,
	         number_format_count(parameters, plan->model->parameters), type_name(s->precision),
	         number_format_count(batch, s->micro_batch * s->accumulate * plan_data_ranks(plan)), accumulate,
	         sequence, techniques, where);
}

/* A collective alone is simulated message by message, as far as messages are shown. */
static enum status grain_of(const struct plan *plan, const struct options *o, enum grain *out)
{
	enum status s = grain_parse(option_text(o, OPTION_GRAIN), out);
	if (!option_given(o, OPTION_GRAIN) && plan_is_alone(plan) && plan->ranks <= TIMELINE_ROUND_RANKS)
		*out = GRAIN_MESSAGE;
	return s;
}

/* The figures as the cluster's file gives them, not as its stack reaches them. */
static struct links links_of(const struct cluster *c)
{
	return cluster_has_stack(c) ? (struct links){c->unscaled.link, c->unscaled.network}
	                            : (struct links){c->link.bandwidth.value, c->network.bandwidth.value};
}

/* At the grain of `sim`, so that both say the same times. Where it is operations, the schedules give the messages. */
static enum status simulate_on(const struct plan *plan, const struct options *o, const char *cluster,
                               struct trace *trace, struct limits *limits, struct report *out, struct links *links)
{
	struct cluster c;
	enum grain grain;
	enum status s = grain_of(plan, o, &grain);
	if (s || (s = cluster_open(&c, cluster, plan->ranks)))
		return s;
	s = sim_run(plan, &c, grain, trace, out);
	limits_of(limits, &c, plan->ranks);
	limits->measured_rates = out->rates_measured;
	limits->overflows = !s && !out->fits;
	limits->tightest = out->tightest;
	*links = links_of(&c);
	cluster_release(&c);
	return s;
}

static enum status simulate(struct loaded *l, const struct plan *plan, const struct options *o, const char *cluster,
                            struct limits *limits)
{
	snprintf(l->cluster, sizeof l->cluster, "%s", cluster);
	return simulate_on(plan, o, cluster, &l->trace, limits, &l->report, &l->links);
}

/* The example that opens when nothing is asked for is the same everywhere. */
const char *load_cluster(const struct options *o)
{
	bool example = !option_given(o, OPTION_MODEL) && !option_given(o, OPTION_PLAN_FILE);
	return example && !option_given(o, OPTION_CLUSTER) ? "v100-16gb" : option_text(o, OPTION_CLUSTER);
}

enum status load_simulate(const struct plan *plan, const struct options *o, const char *cluster, struct trace *trace,
                          struct limits *limits, struct report *out)
{
	struct links links;
	return simulate_on(plan, o, cluster, trace, limits, out, &links);
}

enum status load_job(struct loaded *l, const struct options *o, const char *cluster, struct job *job)
{
	struct limits limits = {0};
	char where[192], on[160];
	*l = (struct loaded){0};
	job_move(&l->job, job);
	enum status s = simulate(l, &l->job.plan, o, cluster, &limits);
	if (!s && limits.overflows)
		limits.searching = (l->search = fit_begin(&l->job.plan, cluster)) != NULL;
	enum grain grain;
	if (!s)
		s = trace_view_open(&l->shown, &l->trace, &limits, NULL);
	if (s || (s = grain_of(&l->job.plan, o, &grain))) {
		load_release(l);
		return s;
	}
	snprintf(on, sizeof on, *l->report.stack ? tr("%.60s, stack %.60s") : "%s", l->trace.cluster, l->report.stack);
	snprintf(where, sizeof where, tr("simulated on %s, grain %s%s"), on, tr(grain_name(grain)),
	         limits.measured_rates ? "" : tr(", assumed rates"));
	make_heading(&l->shown, &l->job.plan, where);
	return STATUS_OK;
}

enum { MOST_OPERATIONS = 1 << 21 };

/* A step that no picture could show is refused before it is simulated. */
static enum status check_size(const struct plan *p)
{
	int64_t ranks = p->ranks < SIM_TRACE_RANKS ? p->ranks : SIM_TRACE_RANKS, ops = 0;
	for (int i = 0; i < p->role_count; i++)
		ops = p->roles[i].step.end - p->roles[i].step.begin > ops
		              ? p->roles[i].step.end - p->roles[i].step.begin
		              : ops;
	if (ops * ranks <= MOST_OPERATIONS)
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "a step of %" PRId64 " operations on %" PRId64
	                   " ranks is too large to be shown: take fewer micro-batches, ranks or layers",
	                   ops, p->ranks);
}

enum status load_settings(struct loaded *l, const struct options *o, const struct settings *settings,
                          const char *cluster)
{
	struct job job;
	*l = (struct loaded){0};
	enum status s = job_open(&job, settings);
	if (!s && (s = check_size(&job.plan)))
		job_release(&job);
	return s ? s : load_job(l, o, cluster, &job);
}

bool load_search(struct loaded *l)
{
	struct limits *limits = &l->shown.timeline.limits;
	if (!l->search || fit_next(l->search, &limits->change))
		return l->search != NULL;
	fit_end(l->search);
	l->search = NULL;
	limits->searching = false;
	return false;
}

/* ---- a trace ---- */

static enum status check_trace_alone(const struct options *o)
{
	static const enum option in_trace[] = {OPTION_PLAN_FILE, OPTION_COMM};
	for (size_t i = 0; i < sizeof in_trace / sizeof in_trace[0]; i++)
		if (option_given(o, in_trace[i]))
			return status_fail(STATUS_INPUT, "--trace FILE says --%s already; leave one of them out",
			                   option_name(in_trace[i]));
	return check_file_alone(o, OPTION_TRACE);
}

/* Finds the memory that ranks had where the trace is from, if its name says where; and for a run that was measured, its
 * simulation there. --cluster stands for another place. */
static enum status load_place(struct loaded *l, const struct options *o, struct limits *limits, bool *simulated)
{
	const struct trace *t = &l->file.trace;
	bool asked = option_given(o, OPTION_CLUSTER), known = links_known(t->cluster);
	const char *name = asked || !known ? option_text(o, OPTION_CLUSTER) : t->cluster;
	struct cluster c;
	enum status s = STATUS_OK;
	*simulated = false;
	if (!t->measured && option_given(o, OPTION_GRAIN))
		return status_fail(STATUS_INPUT, "--grain: '%.100s' was simulated already; leave one of them out",
		                   option_text(o, OPTION_TRACE));
	if (t->measured) {
		s = simulate(l, t->plan, o, name, limits);
		*simulated = !s;
		if (limits->overflows)
			fit_find_change(t->plan, name, &limits->change);
	} else if ((asked || known) && !(s = cluster_open(&c, name, t->plan->ranks))) {
		limits_of(limits, &c, t->plan->ranks);
		cluster_release(&c);
	}
	if (!asked && !known)
		*limits = (struct limits){0};
	return asked || option_given(o, OPTION_PREDICT) ? s : STATUS_OK;
}

enum status load_trace(struct loaded *l, const struct options *o, const char *path)
{
	const char *name = path_name(path);
	struct limits limits = {0};
	char where[160];
	enum status s = check_trace_alone(o);
	*l = (struct loaded){.read = true};
	if (s || (s = trace_file_open(&l->file, path)))
		return s;
	if (l->file.foreign) {
		trace_view_open_foreign(&l->shown, &l->file);
		snprintf(l->shown.label, sizeof l->shown.label, "%.60s", name);
		snprintf(l->shown.heading, sizeof l->shown.heading, tr("%.120s · %d lanes, %zu spans"), name,
		         l->file.lane_count, l->file.span_count);
		return STATUS_OK;
	}
	const struct plan *plan = &l->file.plan;
	bool both;
	if ((s = load_place(l, o, &limits, &both))) {
		load_release(l);
		return s;
	}
	s = trace_view_open(&l->shown, &l->file.trace, &limits, both ? &l->trace : NULL);
	if (s) {
		load_release(l);
		return s;
	}
	const struct trace *t = &l->file.trace;
	snprintf(where, sizeof where, tr(t->measured ? "measured on %s%s, %.60s" : "simulated on %s%s, %.60s"),
	         t->cluster,
	         t->measured             ? ""
	         : t->message_count != 0 ? tr(", grain message")
	                                 : tr(", grain operation"),
	         name);
	make_heading(&l->shown, plan, where);
	return STATUS_OK;
}

/* Otherwise the picture is a race's. */
static bool is_memory_over(const struct options *o)
{
	const char *over = option_text(o, OPTION_OVER);
	return !strcmp(over, "time") || !strcmp(over, "steps");
}

/* Behind a race stands the first of its collectives, alone. */
static enum status load_race(struct loaded *l, const struct options *o)
{
	static const enum option apart[] = {OPTION_TRACE, OPTION_PLAN_FILE, OPTION_COLLECTIVE, OPTION_COMPARE,
	                                    OPTION_PAIR,  OPTION_SCENE,     OPTION_PAGES,      OPTION_AT};
	struct job job;
	for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++)
		if (option_given(o, apart[i]))
			return status_fail(STATUS_INPUT, "--race shows a race alone: leave out --%s",
			                   option_name(apart[i]));
	if (option_given(o, OPTION_OVER) && is_memory_over(o))
		return status_fail(STATUS_INPUT, "--over %s is of memory: a race is over sizes or ranks",
		                   option_text(o, OPTION_OVER));
	struct alone first;
	race_first(race_operation(option_text(o, OPTION_RACE)), &first);
	enum status s = job_alone(&job, o, "--race", first.name);
	return s ? s : load_job(l, o, load_cluster(o), &job);
}

enum status load_from_options(struct loaded *l, const struct options *o)
{
	struct job job;
	*l = (struct loaded){0};
	if (option_given(o, OPTION_BYTES) && !option_given(o, OPTION_COLLECTIVE) && !option_given(o, OPTION_RACE))
		return status_fail(STATUS_INPUT, "--bytes is of one collective: give --collective NAME or --race too");
	if (option_given(o, OPTION_RACE))
		return load_race(l, o);
	if (option_given(o, OPTION_OVER) && !is_memory_over(o))
		return status_fail(STATUS_INPUT, "--over %s is of a race: give --race too, or time or steps",
		                   option_text(o, OPTION_OVER));
	if (option_given(o, OPTION_COLLECTIVE) && (option_given(o, OPTION_TRACE) || option_given(o, OPTION_PLAN_FILE)))
		return status_fail(STATUS_INPUT, "--collective is one collective alone: leave out --%s",
		                   option_name(option_given(o, OPTION_TRACE) ? OPTION_TRACE : OPTION_PLAN_FILE));
	if (option_given(o, OPTION_TRACE))
		return load_trace(l, o, option_text(o, OPTION_TRACE));
	enum status s = option_given(o, OPTION_COLLECTIVE)
	                        ? job_alone(&job, o, "--collective", option_text(o, OPTION_COLLECTIVE))
	                        : job_from_options(&job, o);
	return s ? s : load_job(l, o, load_cluster(o), &job);
}

void load_release(struct loaded *l)
{
	if (!l)
		return;
	trace_view_release(&l->shown);
	fit_end(l->search);
	report_release(&l->report);
	trace_release(&l->trace);
	trace_file_release(&l->file);
	job_release(&l->job);
	*l = (struct loaded){0};
}
