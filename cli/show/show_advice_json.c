/* Advice as JSON. */
#include "cli/show/show_advice.h"

#include <inttypes.h>
#include <string.h>

#include "strategy/base/version.h"
#include "strategy/trace/ratio.h"

json_t *own_to_json(const struct report *own)
{
	int64_t missing = own->tightest.needed_bytes - own->tightest.capacity_bytes;
	json_t *change = *own->change.words ? json_pack("{s:s, s:s, s:s, s:f}", "options", own->change.words, "command",
	                                                own->change.command, "fit", own->change.close ? "close" : "yes",
	                                                "step_s", 1e-9 * (double)own->change.step)
	                                    : json_null();
	return json_pack("{s:s, s:f, s:b, s:I, s:o}", "strategy", own->strategy, "step_s",
	                 1e-9 * (double)own->time.step, "fits", own->fits, "missing_bytes",
	                 (json_int_t)(own->fits ? 0 : missing), "would_fit_with", change);
}

static json_t *settings_to_json(const struct settings *s)
{
	char offload[OFFLOAD_TEXT], options[ADVISE_OPTIONS];
	offload_print(&s->offload, offload, sizeof offload);
	advise_options(s, options);
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s}", "strategy", s->strategy, "precision",
	                 type_name(s->precision), "activation_checkpointing", s->checkpointing, "offload", offload,
	                 "micro_batch", (json_int_t)s->micro_batch, "accumulate", (json_int_t)s->accumulate, "options",
	                 options);
}

static void add_memory(json_t *object, const struct report_tightest *t)
{
	json_object_set_new(object, "space", json_string(space_name(t->space)));
	json_object_set_new(object, "needed_bytes", json_integer(t->needed_bytes));
	json_object_set_new(object, "capacity_bytes", json_integer(t->capacity_bytes));
}

static double seconds(int64_t ns)
{
	return 1e-9 * (double)ns;
}

static json_t *range_to_json(bool there, double low, double high)
{
	return there ? json_pack("[f, f]", low, high) : json_null();
}

/* The time of a step as a multiple of the first line's. */
static void add_ratio(json_t *object, const struct advice *a, const struct advised *x)
{
	const struct ratio ratio = ratio_of(x->step, a->fit[0].step, a->has_ranges);
	json_object_set_new(object, "range_s",
	                    range_to_json(a->has_ranges, seconds(x->range_low), seconds(x->range_high)));
	ratio_to_json(object, &ratio, a->has_ranges);
}

static json_t *fit_to_json(const struct advice *a, const struct advised *x)
{
	json_t *object = settings_to_json(&x->settings);
	add_ratio(object, a, x);
	add_memory(object, &x->tightest);
	json_object_update_new(object,
	                       json_pack("{s:i, s:b, s:b, s:f, s:f, s:f, s:o}", "place", x->place, "tied", x->tied,
	                                 "frontier", x->frontier, "step_s", seconds(x->step), "tokens_per_s",
	                                 x->tokens_per_s, "tflops_per_device", x->speed.tflops_per_device, "mfu",
	                                 x->speed.mfu > 0 ? json_real(x->speed.mfu) : json_null()));
	return object;
}

static json_t *lack_to_json(const struct advise_lack *x)
{
	json_t *object = settings_to_json(&x->settings);
	add_memory(object, &x->tightest);
	json_object_update_new(object, json_pack("{s:I, s:s, s:I, s:s}", "missing_bytes",
	                                         (json_int_t)(x->tightest.needed_bytes - x->tightest.capacity_bytes),
	                                         "category", category_name(x->category), "category_bytes",
	                                         (json_int_t)x->category_bytes, "peak_at", x->peak_at));
	json_object_set_new(object, "would_fit_with",
	                    *x->mend ? json_pack("{s:s, s:s, s:f}", "options", x->mend, "change", x->change, "step_s",
	                                         seconds(x->mend_step))
	                             : json_null());
	return object;
}

static json_t *fixed_to_json(const struct advise_request *q)
{
	json_t *list = json_array();
	for (int i = 0; i < q->fixed_count; i++)
		json_array_append_new(list,
		                      json_pack("{s:s, s:s, s:s}", "setting", setting_rows[q->fixed[i].setting].name,
		                                "value", q->fixed[i].value, "by", q->fixed[i].by));
	return list;
}

/* Adds what else was asked for, as a report has it. */
static void add_asked(json_t *object, const struct settings *given)
{
	struct report_asked asked;
	report_asked(&asked, given);
	json_object_update_new(object, json_pack("{s:I, s:s, s:s}", "seed", (json_int_t)given->seed, "settings",
	                                         asked.others, "version", SHARDLAB_VERSION));
}

json_t *advice_to_json(const struct advice *a)
{
	json_t *fits = json_array(), *lacks = json_array(), *next = json_array(), *skipped = json_array();
	for (int i = 0; i < a->fit_count; i++)
		json_array_append_new(fits, fit_to_json(a, &a->fit[i]));
	for (int i = 0; i < a->lack_count; i++)
		json_array_append_new(lacks, lack_to_json(&a->lack[i]));
	for (int i = 0; i < a->next_count; i++)
		json_array_append_new(next, json_pack("{s:s, s:f, s:I}", "with", a->next[i].what, "step_s",
		                                      seconds(a->next[i].step), "missing_bytes",
		                                      (json_int_t)a->next[i].missing_bytes));
	for (int i = 0; i < a->skipped_count; i++)
		json_array_append_new(skipped, json_pack("{s:s, s:s}", "strategy", a->skipped[i].strategy, "skipped",
		                                         a->skipped[i].why));
	json_t *o = json_pack("{s:s, s:I, s:s, s:I, s:I, s:f, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "model", a->model,
	                      "ranks", (json_int_t)a->request.given.ranks, "cluster", a->request.cluster, "batch",
	                      (json_int_t)a->request.given.batch, "sequence", (json_int_t)a->tokens, "margin",
	                      a->request.margin, "candidates", (json_int_t)a->candidates, "search_cut", a->cut, "fits",
	                      fits, "does_not_fit", lacks, "next", next, "skipped", skipped, "fixed",
	                      fixed_to_json(&a->request));
	if (a->held_micro)
		json_object_update_new(o, json_pack("{s:I, s:I}", "memory_holds_micro_batch", (json_int_t)a->held_micro,
		                                    "memory_holds_batch", (json_int_t)a->held_batch));
	add_asked(o, &a->request.given);
	return o;
}
