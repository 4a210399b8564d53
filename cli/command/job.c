#include "cli/command/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/hosts.h"
#include "sim/fit.h"
#include "strategy/base/number.h"
#include "strategy/cluster/links.h"
#include "strategy/strategies/alone.h"
#include "strategy/strategies/strategy.h"

/* ---- one job ---- */

static enum status compile(struct job *j, const struct settings *settings)
{
	*j = (struct job){.settings = *settings};
	enum status s = model_open(&j->model, settings->model, settings->sequence);
	if (!s)
		s = plan_compile(&j->plan, &j->model, &j->settings);
	if (s)
		job_release(j);
	return s;
}

/* Settings and model come from the plan's text. */
static enum status job_read(struct job *j, const char *path)
{
	*j = (struct job){.from_file = true};
	enum status s = plan_read_file(&j->plan, &j->model, path);
	j->settings = j->plan.settings;
	if (s)
		job_release(j);
	return s;
}

static enum status verify(struct job *j)
{
	enum status s = plan_verify_and_keep(&j->plan);
	j->verified = !s;
	if (s)
		job_release(j);
	return s;
}

enum status job_open(struct job *j, const struct settings *settings)
{
	enum status s = compile(j, settings);
	return s ? s : verify(j);
}

void job_release(struct job *j)
{
	if (!j)
		return;
	plan_release(&j->plan);
	model_release(&j->model);
	*j = (struct job){0};
}

void job_move(struct job *to, struct job *from)
{
	bool sliced = from->plan.model == &from->plan.slice; /* each rank's slice (plan_take_model) */
	*to = *from;
	to->plan.model = sliced ? &to->plan.slice : &to->model;
	*from = (struct job){0};
}

enum status check_file_alone(const struct options *o, enum option file)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (option_given(o, (enum option)i))
			return status_fail(STATUS_INPUT, "--%s FILE says --%s already; leave one of them out",
			                   option_name(file), option_name((enum option)i));
	return STATUS_OK;
}

enum status job_from_options(struct job *j, const struct options *o)
{
	enum status s = job_to_predict(j, o);
	return s ? s : verify(j);
}

enum status job_to_predict(struct job *j, const struct options *o)
{
	struct settings settings;
	const struct strategy *strategy;
	const char *list = option_text(o, OPTION_STRATEGY);
	enum status s;
	*j = (struct job){0};
	if (option_given(o, OPTION_PLAN_FILE)) {
		s = check_file_alone(o, OPTION_PLAN_FILE);
		return s ? s : job_read(j, option_text(o, OPTION_PLAN_FILE));
	}
	if (strchr(list, ',') || !strcmp(list, "all"))
		return status_fail(STATUS_INPUT,
		                   "%s takes one strategy, and --strategy is '%.60s'; compare takes several",
		                   command_name(o->command), list);
	if ((s = options_settings(o, &settings)) || (s = strategy_parse(list, &strategy)))
		return s;
	if (strlen(list) >= sizeof settings.strategy)
		return status_fail(STATUS_INPUT, "--strategy: the value has more than %d characters",
		                   (int)sizeof settings.strategy - 1);
	if ((s = settings_resolve(&settings, strategy_data_ranks(&settings))))
		return s;
	return compile(j, &settings);
}

enum status job_alone(struct job *j, const struct options *o, const char *where, const char *name)
{
	struct alone what;
	int64_t ranks = option_whole(o, (enum option)SETTING_RANKS), bytes = option_whole(o, OPTION_BYTES);
	*j = (struct job){0};
	enum status s = alone_find(where, name, &what);
	bool races = option_of(OPTION_RACE, o->command) && option_given(o, OPTION_RACE);
	if (!option_given(o, OPTION_BYTES))
		bytes = what.operation == OPERATION_SUM ? 4 : races ? 4000000 : 8 * ranks;
	for (int i = 0; !s && i < SETTING_COUNT; i++)
		if (i != SETTING_RANKS && option_given(o, (enum option)i))
			s = status_fail(STATUS_INPUT, "%s %s is one collective alone: leave out --%s", where,
			                races ? option_text(o, OPTION_RACE) : name, option_name((enum option)i));
	if (!s)
		s = alone_open(&j->plan, &j->model, &what, ranks, bytes);
	j->settings = j->plan.settings;
	return s;
}

/* contiguous_memory_optimization: how large the arena of role 0 is without it. A plan's text does not say everything
 * that another plan would be made of. */
static enum status lay_out_without(const struct job *j, struct report *out)
{
	static const char key[] = ":contiguous_memory_optimization=yes";
	struct settings settings = j->settings;
	char *at = strstr(settings.checkpointing, key);
	struct plan p;
	struct memory_use use;
	if (!at || j->from_file)
		return STATUS_OK;
	memmove(at, at + sizeof key - 1, strlen(at + sizeof key - 1) + 1);
	TRY(plan_compile(&p, &j->model, &settings));
	plan_memory(&p, &p.roles[0], SPACE_DEVICE, &use);
	out->checkpointing.arena_bytes_without = use.arena_bytes;
	plan_release(&p);
	return STATUS_OK;
}

const char *job_cluster(const struct options *o)
{
	static char text[512];
	const char *name = option_text(o, OPTION_CLUSTER);
	bool gpus = option_of(OPTION_DEVICE, o->command) && !strcmp(option_text(o, OPTION_DEVICE), "cuda");
	if (!gpus || !links_named(name, CLUSTER_LOCAL))
		return name;
	snprintf(text, sizeof text, "%s%s", CLUSTER_LOCAL_CUDA, links_find(name));
	return text;
}

/* A slow network rather than a fast one: 1 Gbit/s, 50 µs. */
enum { ASSUMED_NETWORK = 125000000, ASSUMED_LATENCY_NS = 50000 };

/* Rates of processors say nothing of how many ranks a host has; how the run is started does. */
static void place_on_hosts(struct cluster *c, int64_t ranks_each)
{
	if (!ranks_each || c->kind != DEVICE_CPU || c->devices)
		return;
	c->devices = ranks_each;
	if (c->network.bandwidth.value)
		return;
	c->network = (struct link){rate_assumed(ASSUMED_LATENCY_NS), rate_assumed(ASSUMED_NETWORK)};
	c->rails = 1;
}

static void say_assumed(const struct job *j, const char *cluster)
{
	static bool said;
	struct cluster c;
	if (!j->ranks_each || said || cluster_open(&c, cluster, j->plan.ranks))
		return;
	if (c.kind == DEVICE_CPU && !c.network.bandwidth.value && !hosts_is_quiet()) {
		fprintf(stderr,
		        "the network between the hosts was not measured, so 1 Gbit/s is assumed for predictions; "
		        "shardlab calibrate --hosts FILE measures it\n");
		said = true;
	}
	cluster_release(&c);
}

struct prediction {
	const struct job *job;
	const struct cluster *cluster;
	enum grain grain;
	struct trace *trace;
	struct simulation *simulation;
};

static enum status simulate(void *prediction)
{
	struct prediction *x = prediction;
	return simulation_run(&x->simulation, &x->job->plan, x->cluster, x->grain, x->trace);
}

static enum status predict(struct job *j, struct prediction *x, struct report *out)
{
	enum status s = j->verified ? simulate(x) : plan_verify_beside(&j->plan, simulate, x);
	j->verified |= !s;
	if (!s)
		simulation_report(x->simulation, out);
	simulation_release(x->simulation);
	out->tf32 = x->cluster->tf32;
	return s ? s : lay_out_without(j, out);
}

enum status job_predict(struct job *j, const char *cluster, enum grain grain, int64_t threads, struct trace *trace,
                        struct report *out)
{
	struct cluster c;
	*out = (struct report){0};
	enum status s = cluster_open(&c, cluster, j->plan.ranks), refused;
	if (s) /* what is wrong with the plan goes first */
		return !j->verified && (refused = plan_verify_and_keep(&j->plan)) ? refused : s;
	if (threads)
		c.threads = threads;
	place_on_hosts(&c, j->ranks_each);
	c.tf32 = j->tf32 && cluster_has_tf32(&c);
	s = predict(j, &(struct prediction){j, &c, grain, trace, NULL}, out);
	cluster_release(&c);
	return s;
}

enum status job_predict_run(struct job *j, const struct options *o, struct report *out)
{
	int64_t threads = option_given(o, OPTION_THREADS) ? option_whole(o, OPTION_THREADS) : 0;
	j->tf32 = option_given(o, OPTION_TF32);
	TRY(hosts_ranks_each(o, j->plan.ranks, &j->ranks_each));
	say_assumed(j, job_cluster(o));
	return job_predict(j, job_cluster(o), GRAIN_OPERATION, threads, NULL, out);
}

enum status job_check_fits(const struct job *j, const struct options *o, const struct report *predicted)
{
	const struct report_tightest *t = &predicted->tightest;
	struct report_change change;
	char needed[32], there[64], missing[32], mend[280] = "";
	if (predicted->fits || option_given(o, OPTION_FORCE) || !links_named(job_cluster(o), CLUSTER_LOCAL))
		return STATUS_OK;
	fit_find_change(&j->plan, job_cluster(o), &change);
	number_format_bytes(needed, sizeof needed, t->needed_bytes);
	number_format_capacity(there, sizeof there, t->capacity_bytes);
	number_format_bytes(missing, sizeof missing, t->needed_bytes - t->capacity_bytes);
	if (*change.words)
		snprintf(mend, sizeof mend, "; would %sfit with%s: %s", change.close ? "just " : "",
		         o->config ? ", in place of what the file of --config says" : "", change.words);
	else if (change.none && !change.cut)
		snprintf(mend, sizeof mend, "; nothing that was tried would fit: take a smaller model");
	return status_fail(
	        STATUS_INPUT,
	        "%s does not fit this machine: its ranks take %s with libraries, and there are %s, so that %s "
	        "are missing%s; --force starts it all the same",
	        predicted->strategy, needed, there, missing, mend);
}

enum status job_simulate(const struct settings *settings, const char *cluster, enum grain grain, struct report *out)
{
	struct job j;
	TRY(compile(&j, settings));
	enum status s = job_predict(&j, cluster, grain, 0, NULL, out);
	job_release(&j);
	return s;
}

enum status job_find_change(const struct settings *settings, const char *cluster, struct report_change *out)
{
	struct job j;
	TRY(job_open(&j, settings));
	fit_find_change(&j.plan, cluster, out);
	job_release(&j);
	return STATUS_OK;
}

enum status job_require_fit(const struct report *r)
{
	return r->fits ? STATUS_OK
	               : status_fail(STATUS_CHECK, "%s does not fit in the memory of %s", r->strategy, r->cluster);
}

/* ---- lists of strategies ---- */

static enum status add_member(struct members *m, const char *text, size_t length)
{
	const struct strategy *strategy;
	struct settings *one = &m->member[m->count];
	if (m->count == MEMBERS)
		return status_fail(STATUS_INPUT, "--strategy: more than %d in a list", MEMBERS);
	if (length >= sizeof one->strategy)
		return status_fail(STATUS_INPUT, "--strategy: a member of the list has more than %d characters",
		                   (int)sizeof one->strategy - 1);
	if (!length)
		return status_fail(STATUS_INPUT,
		                   "--strategy: an empty name in the list; it looks like ddp,zero2,zero3");
	*one = (struct settings){.ranks = 2};
	memcpy(one->strategy, text, length);
	m->count++;
	return strategy_parse(one->strategy, &strategy);
}

/* All strategies of a list take the same global batch in as many micro-batches: `single` on one rank, and strategies
 * that serve the same samples on all ranks in larger micro-batches, or in more of the size that was given. */
static enum status settle(struct settings *s, bool micro_given)
{
	bool alone = !strcmp(s->strategy, "single");
	if (alone)
		s->ranks = 1;
	if (micro_given && !alone && strategy_data_ranks(s) == 1)
		s->accumulate = 0;
	else
		s->micro_batch = 0;
	return settings_resolve(s, strategy_data_ranks(s));
}

static enum status beside(struct settings *out, const struct settings *base, const char *strategy, bool micro_given)
{
	const struct strategy *known;
	*out = *base;
	snprintf(out->strategy, sizeof out->strategy, "%s", strategy);
	enum status s = strategy_parse(strategy, &known);
	return s ? s : settle(out, micro_given);
}

enum status settings_beside(struct settings *out, const struct settings *base, const char *strategy)
{
	return beside(out, base, strategy, false);
}

/* The global batch follows from the ranks of this member: a data parallel one, if there is any. */
static const char *speaks_for(const struct members *m)
{
	for (int i = 0; i < m->count; i++)
		if (strcmp(m->member[i].strategy, "single") && strategy_data_ranks(&m->member[i]) > 1)
			return m->member[i].strategy;
	return m->member[m->count - 1].strategy;
}

enum status members_from_options(struct members *m, const struct options *o)
{
	struct settings settings;
	enum status s;
	m->count = 0;
	if ((s = options_settings(o, &settings)))
		return s;
	/* The default number of ranks of compare and validate is not for `single`. */
	const char *list = option_text(o, OPTION_STRATEGY);
	if (!strcmp(list, "single") && !option_given(o, OPTION_RANKS))
		settings.ranks = 1;
	for (const char *p = list;; p++) {
		size_t length = strcspn(p, ",");
		if (length == 3 && !strncmp(p, "all", 3)) {
			for (int i = 0; strategy_at(i); i++)
				if ((s = add_member(m, strategy_at(i)->name, strlen(strategy_at(i)->name))))
					return s;
		} else if ((s = add_member(m, p, length))) {
			return s;
		}
		p += length;
		if (!*p)
			break;
	}
	snprintf(settings.strategy, sizeof settings.strategy, "%s", speaks_for(m));
	if ((s = settings_resolve(&settings, strategy_data_ranks(&settings))))
		return s;
	for (int i = 0; i < m->count; i++) {
		char strategy[sizeof settings.strategy];
		snprintf(strategy, sizeof strategy, "%s", m->member[i].strategy);
		m->member[i] = settings;
		/* Alone `single` is an error with more than one rank. */
		if (m->count > 1 &&
		    (s = beside(&m->member[i], &settings, strategy, option_given(o, (enum option)SETTING_MICRO_BATCH))))
			return s;
	}
	return STATUS_OK;
}

/* ---- output ---- */

void print_json(json_t *object, bool one_line)
{
	if (!object)
		abort(); /* there was memory, and the texts are UTF-8 */
	/* A double holds fifteen digits for certain, and 0.1 stays 0.1. */
	json_dumpf(object, stdout, JSON_REAL_PRECISION(15) | (one_line ? 0 : (size_t)JSON_INDENT(2)));
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}
