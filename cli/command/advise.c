/* shardlab advise: what fits, by predicted speed, and what the rest lacks. */
#include "sim/advise_habits.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/advise_chart.h"
#include "cli/command/apart.h"
#include "cli/command/command.h"
#include "cli/command/emit.h"
#include "cli/command/job.h"
#include "cli/command/mend.h"
#include "cli/show/progress.h"
#include "cli/show/show_advice.h"
#include "strategy/strategies/strategy.h"
#include "viz/export/export.h"

/* ---- the request ---- */

static enum status add_strategy(struct advise_request *q, const char *name)
{
	const struct strategy *strategy;
	for (int i = 0; i < q->strategies; i++)
		if (!strcmp(q->strategy[i], name)) /* said twice, or also in `all` */
			return STATUS_OK;
	if (q->strategies == ADVISE_STRATEGIES)
		return status_fail(STATUS_INPUT, "--strategy: more than %d in a list", ADVISE_STRATEGIES);
	q->strategy[q->strategies++] = name;
	return *name ? strategy_parse(name, &strategy)
	             : status_fail(STATUS_INPUT,
	                           "--strategy: an empty name in the list; it looks like ddp,zero2,zero3");
}

/* `single` alone is one rank, and one rank is `single` alone: the others would be the same. */
static enum status add_all(struct advise_request *q)
{
	enum status s = STATUS_OK;
	for (int i = 0; !s && strategy_at(i); i++)
		if (strategy_at(i)->one_rank == (q->given.ranks == 1))
			s = add_strategy(q, strategy_at(i)->name);
	return s;
}

static enum status add_strategies(struct advise_request *q, const char *list, struct arena *a)
{
	for (const char *p = list;; p++) {
		size_t length = strcspn(p, ",");
		const char *name = arena_print(a, "%.*s", (int)length, p);
		enum status s = strcmp(name, "all") != 0 ? add_strategy(q, name) : add_all(q);
		p += length;
		if (s || !*p)
			return s;
	}
}

/* The types that the cluster can compute in: bf16, or else fp16, which takes the same memory; and fp32. */
static enum status add_usual_precisions(struct advise_request *q)
{
	static const enum type usual[] = {TYPE_BF16, TYPE_FP16, TYPE_FP32};
	struct cluster c;
	TRY(cluster_open(&c, q->cluster, q->given.ranks));
	for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
		if (cluster_peak(&c, usual[i]).value > 0 && !(usual[i] == TYPE_FP16 && q->precisions))
			q->precision[q->precisions++] = usual[i];
	cluster_release(&c);
	return STATUS_OK;
}

/* The alternatives of one option, each read as its setting. count: how many were read so far. */
static enum status read_levels(const struct options *o, enum setting i, int most, struct arena *a,
                               struct settings *levels, int *count)
{
	int n = option_alternatives(o, (enum option)i);
	char where[48];
	snprintf(where, sizeof where, "--%s", option_name((enum option)i));
	if (!option_given(o, (enum option)i))
		return STATUS_OK;
	if (n > most)
		return status_fail(STATUS_INPUT, "%s %.60s: more than %d alternatives", where,
		                   option_text(o, (enum option)i), most);
	for (*count = 0; *count < n; ++*count) {
		const char *text;
		enum status s = option_alternative(o, (enum option)i, *count, a, &text);
		if (!s)
			s = setting_read(i, where, text, &levels[*count]);
		if (s)
			return s;
	}
	return STATUS_OK;
}

static enum status read_alternatives(struct advise_request *q, const struct options *o, struct arena *a)
{
	enum { MOST = VARIANT_LEVELS };
	struct settings precision[MOST] = {0}, checkpointing[MOST] = {0}, offload[MOST] = {0};
	enum status s = read_levels(o, SETTING_PRECISION, ADVISE_PRECISIONS, a, precision, &q->precisions);
	if (!s)
		s = read_levels(o, SETTING_CHECKPOINTING, MOST, a, checkpointing, &q->checkpointings);
	if (!s)
		s = read_levels(o, SETTING_OFFLOAD, MOST, a, offload, &q->offloads);
	for (int i = 0; !s && i < q->precisions; i++)
		q->precision[i] = precision[i].precision;
	for (int i = 0; !s && i < q->checkpointings; i++)
		q->checkpointing[i] = arena_copy(a, checkpointing[i].checkpointing);
	for (int i = 0; !s && i < q->offloads; i++)
		q->offload[i] = offload[i].offload;
	return s || q->precisions ? s : add_usual_precisions(q);
}

/* Each strategy runs in the program that the file is for. */
static void take_clusters(struct advise_request *q, const struct options *o, struct arena *a)
{
	for (int i = 0; i < q->strategies; i++)
		q->cluster_of[i] = options_cluster_of(o, q->strategy[i], a);
	if (strcmp(q->cluster_of[0], q->cluster) != 0)
		q->cluster = o->cluster_alone;
}

/* Notes which of the searched settings were asked for, and by whom. */
static void note_fixed(struct advise_request *q, const struct options *o, struct arena *a)
{
	static const enum setting searched[ADVISE_FIXED] = {SETTING_STRATEGY,      SETTING_PRECISION,
	                                                    SETTING_MICRO_BATCH,   SETTING_ACCUMULATE,
	                                                    SETTING_CHECKPOINTING, SETTING_OFFLOAD};
	for (int i = 0; i < ADVISE_FIXED; i++) {
		const struct option_value *v = &o->value[searched[i]];
		if (!v->given || (searched[i] == SETTING_STRATEGY && o->widened))
			continue;
		q->fixed[q->fixed_count++] = (struct advise_fixed){
		        searched[i], v->text,
		        v->by_file ? o->config : arena_print(a, "--%s", option_name((enum option)searched[i]))};
	}
}

/* A file whose own settings cannot be told its program again, with what was typed beside it, limits nothing. */
static bool tells_itself(const struct options *o, enum emit_target t)
{
	struct emission e;
	if (!o->config_settings || emit_make(&e, t, NULL, o->config_settings, emit_nodes(o, o->config_settings->ranks)))
		return false;
	emit_release(&e);
	return true;
}

/* The lines are those of the program that --emit names, or else of that whose file was read. */
static void take_program(struct advise_request *q, const struct options *o, struct arena *a)
{
	enum emit_target target;
	if (option_given(o, OPTION_EMIT) && emit_target_named(option_text(o, OPTION_EMIT), &target))
		advise_take_habits(q, target, emit_file(o), a);
	else if (o->config && tells_itself(o, emit_target_of(o->config_reader)))
		advise_take_program(q, emit_target_of(o->config_reader), a);
}

static enum status read_request(struct advise_request *q, const struct options *o, struct arena *a)
{
	struct options plain = *o;
	static const enum option searched[] = {OPTION_CHECKPOINTING, OPTION_OFFLOAD};
	*q = (struct advise_request){.cluster = option_text(o, OPTION_CLUSTER),
	                             .margin = o->value[OPTION_MARGIN].real / 100};
	for (size_t i = 0; i < sizeof searched / sizeof searched[0]; i++)
		plain.value[searched[i]] = (struct option_value){0};
	if (option_alternatives(o, OPTION_PRECISION) > 1) /* a loss scale goes with one alone */
		plain.value[OPTION_PRECISION] = (struct option_value){0};
	enum status s = options_settings(&plain, &q->given);
	if (!s)
		s = add_strategies(q, option_text(o, OPTION_STRATEGY), a);
	if (!s)
		take_clusters(q, o, a);
	note_fixed(q, o, a);
	if (!s)
		s = read_alternatives(q, o, a);
	if (!s)
		take_program(q, o, a);
	return s;
}

/* ---- the search ---- */

/* Hundreds of plans come and go: their memory is kept for the next one. */
static void keep_memory(void)
{
	enum { KEPT = 1 << 30 };
	mallopt(M_TRIM_THRESHOLD, KEPT);
	mallopt(M_MMAP_THRESHOLD, KEPT);
}

static void search(struct advice *a)
{
	struct progress p;
	keep_memory();
	progress_begin(&p, a->total);
	while (advise_next(a)) {
		int walk = a->done < a->total ? a->done : a->total - 1;
		progress_show(&p, a->done, a->request.strategy[walk / a->request.precisions]);
	}
	progress_clear(&p);
}

static const char *model_of(const struct options *o)
{
	return o->model_path ? o->model_path : option_text(o, OPTION_MODEL);
}

/* With --config, what the file says stands beside the advice. */
static enum status predict_own(const struct options *o, struct report *own)
{
	const char *cluster = option_text(o, OPTION_CLUSTER);
	if (!o->config_settings)
		return STATUS_OK;
	enum status s = job_simulate(o->config_settings, cluster, GRAIN_OPERATION, own);
	if (!s && !own->fits)
		s = job_find_change(o->config_settings, cluster, &own->change);
	if (!s)
		mend_spell(o, o->config_settings, &own->change);
	return s;
}

static enum status print_advice(const struct options *o, const struct advice *a, json_t *emitted)
{
	struct report own = {0};
	TRY(predict_own(o, &own));
	if (option_given(o, OPTION_JSON)) {
		json_t *json = advice_to_json(a);
		if (o->config_settings)
			json_object_set_new(json, "file", own_to_json(&own));
		emit_add_said(json, json_incref(emitted));
		print_json(json, false);
	} else {
		show_advice(a, model_of(o), option_given(o, OPTION_VERBOSE), stdout);
		if (o->config_settings)
			show_own(a, &own, stdout);
	}
	report_release(&own);
	return STATUS_OK;
}

static enum status check_outputs(const struct options *o)
{
	enum status s = emit_check_option(o);
	if (!s && option_given(o, OPTION_EXPORT))
		s = export_chart_check(option_text(o, OPTION_EXPORT), "{export}");
	return s ? s : outputs_are_apart(o);
}

static enum status emit_best(const struct options *o, const struct advice *a, json_t **said)
{
	const struct advised *best = advise_best(a);
	if (!option_given(o, OPTION_EMIT))
		return STATUS_OK;
	if (!best)
		return status_fail(STATUS_CHECK, "{emit}: nothing fits, so that there is nothing to write");
	return emit_settings(o, &best->settings, said);
}

/* The file first, since what is said of it is in the JSON; the advice is worth printing without one too. */
static enum status output(const struct options *o, const struct advice *a)
{
	char why[512];
	json_t *said = NULL;
	enum status emitted = emit_best(o, a, &said);
	if (emit_is_all(o))
		return emitted;
	snprintf(why, sizeof why, "%s", status_message());
	enum status s = print_advice(o, a, said);
	json_decref(said);
	return s || !emitted ? s : status_fail(emitted, "%s", why);
}

enum status command_advise(const struct options *o)
{
	struct advise_request q;
	struct advice *a = NULL;
	struct arena arena = {0};
	enum status s = check_outputs(o);
	if (!s)
		s = read_request(&q, o, &arena);
	if (!s)
		s = advise_begin(&a, &q);
	if (!s) {
		search(a);
		s = advise_status(a);
	}
	if (!s && option_given(o, OPTION_EXPORT))
		s = advise_chart_write(a, model_of(o), option_text(o, OPTION_EXPORT));
	if (!s)
		s = output(o, a);
	advise_end(a);
	arena_release(&arena);
	return s;
}
