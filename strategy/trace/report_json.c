/* The report as the JSON object of `sim --json`, and the report from it. Each figure has one line, which writes it or
 * reads it. The names are a contract: programs read them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/trace/report.h"

/* Reading keeps the first thing that is missing or of another type, and skips all that follows. */
struct form {
	bool reads;
	json_t *o; /* the object at hand; NULL: it was not there */
	enum status status;
};

/* ---- members of the object at hand ---- */

static bool expect(struct form *f, bool holds, const char *key, const char *what)
{
	if (!holds && !f->status)
		f->status = status_fail(STATUS_RUN, "a report whose '%s' is not %s", key, what);
	return !f->status;
}

static const json_t *take(struct form *f, const char *key)
{
	const json_t *v = json_object_get(f->o, key);
	if (!v && !f->status)
		f->status = status_fail(STATUS_RUN, "a report without '%s'", key);
	return f->status ? NULL : v;
}

static void put(struct form *f, const char *key, json_t *v)
{
	json_object_set_new(f->o, key, v);
}

/* `none` stands for null. */
static void whole_or_null(struct form *f, const char *key, int64_t *v, int64_t none)
{
	if (!f->reads)
		put(f, key, *v == none ? json_null() : json_integer(*v));
	else if (json_is_null(json_object_get(f->o, key)))
		*v = none;
	else if (expect(f, json_is_integer(take(f, key)), key, "a whole number"))
		*v = json_integer_value(json_object_get(f->o, key));
}

static void whole(struct form *f, const char *key, int64_t *v)
{
	if (f->reads)
		expect(f, !json_is_null(json_object_get(f->o, key)), key, "a whole number");
	whole_or_null(f, key, v, INT64_MIN);
}

static void countable(struct form *f, const char *key, int64_t *v)
{
	whole_or_null(f, key, v, -1);
}

static json_t *real_to_json(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static double real_from_json(struct form *f, const json_t *v, const char *key)
{
	return expect(f, json_is_number(v) || json_is_null(v), key, "a number") && !json_is_null(v)
	               ? json_number_value(v)
	               : (double)NAN;
}

static void real(struct form *f, const char *key, double *v)
{
	if (f->reads)
		*v = real_from_json(f, take(f, key), key);
	else
		put(f, key, real_to_json(*v));
}

/* Kept in nanoseconds. */
static void seconds(struct form *f, const char *key, int64_t *ns)
{
	double s = (double)*ns / 1e9;
	real(f, key, &s);
	if (f->reads && expect(f, s >= 0 && s < 9e9, key, "a time in seconds"))
		*ns = llround(s * 1e9);
}

static void yes_no(struct form *f, const char *key, bool *v)
{
	if (!f->reads)
		put(f, key, json_boolean(*v));
	else if (expect(f, json_is_boolean(take(f, key)), key, "true or false"))
		*v = json_is_true(json_object_get(f->o, key));
}

static void text(struct form *f, const char *key, char *v, size_t size)
{
	if (!f->reads)
		put(f, key, json_string(v));
	else if (expect(f, json_string_length(take(f, key)) < size && json_is_string(json_object_get(f->o, key)), key,
	                "text of that length"))
		snprintf(v, size, "%s", json_string_value(json_object_get(f->o, key)));
}
#define TEXT(f, key, array) text(f, key, array, sizeof(array))

/* One of `words`, which end with NULL, by its place. */
static int word(struct form *f, const char *key, int place, const char *const *words)
{
	char value[16] = "";
	snprintf(value, sizeof value, "%s", words[place]);
	TEXT(f, key, value);
	for (place = 0; words[place] && strcmp(words[place], value) != 0; place++)
		;
	return expect(f, words[place] != NULL, key, "one of its words") ? place : 0;
}

/* True if the member is left out; when written, `out` says so. */
static bool absent(const struct form *f, const char *key, bool out)
{
	return f->reads ? !json_object_get(f->o, key) : out;
}

/* True if the member is null; when written, `none` says so. */
static bool is_null(struct form *f, const char *key, bool none)
{
	if (!f->reads && none)
		put(f, key, json_null());
	return f->reads ? json_is_null(json_object_get(f->o, key)) : none;
}

/* The body acts on a member that is an object. `outer` is a name for the loop's own use. */
#define INSIDE(f, key, outer) for (json_t *outer = enter(f, key); outer; outer = leave(f, outer))

static json_t *enter(struct form *f, const char *key)
{
	json_t *outer = f->o;
	if (!f->reads)
		put(f, key, json_object());
	else if (!expect(f, json_is_object(take(f, key)), key, "an object"))
		return NULL;
	f->o = json_object_get(outer, key);
	return outer;
}

static json_t *leave(struct form *f, json_t *outer)
{
	f->o = outer;
	return NULL;
}

/* The i-th of a list; when written, a new object at its end. */
static json_t *element(const struct form *f, json_t *list, int64_t i)
{
	if (!f->reads)
		json_array_append_new(list, json_object());
	return json_array_get(list, (size_t)i);
}

/* A member that is a list, of at most so many. When written it is empty. */
static json_t *list_of(struct form *f, const char *key, int64_t most)
{
	if (f->reads)
		return expect(f, json_is_array(take(f, key)) && (int64_t)json_array_size(take(f, key)) <= most, key,
		              "a list of that length")
		               ? json_object_get(f->o, key)
		               : NULL;
	json_t *list = json_array();
	put(f, key, list);
	return list;
}

/* ---- what a report has ---- */

static void categories(struct form *f, const char *key, int64_t *bytes)
{
	INSIDE (f, key, outer) {
		for (int c = 0; c < CATEGORY_COUNT; c++)
			whole(f, category_name((enum category)c), &bytes[c]);
	}
}

static void memory(struct form *f, const char *space, struct report_memory *m)
{
	INSIDE (f, space, outer) {
		whole(f, "peak_bytes", &m->peak_bytes);
		TEXT(f, "peak_at", m->peak_at);
		whole(f, "arena_bytes", &m->arena_bytes);
		whole(f, "overhead_bytes", &m->overhead_bytes);
		yes_no(f, "overhead_assumed", &m->overhead_assumed);
		categories(f, "at_peak", m->at_peak);
		categories(f, "steady", m->steady);
	}
}

/* The disk is left out where the plan does not use it; `device` and `host` are always there. */
static void memories(struct form *f, struct report_memory *m)
{
	INSIDE (f, "memory", outer) {
		for (int space = 0; space < SPACE_COUNT; space++) {
			const char *name = space_name((enum space)space);
			if (space != SPACE_DISK || !absent(f, name, !m[space].peak_bytes && !m[space].arena_bytes))
				memory(f, name, &m[space]);
		}
	}
}

static void overhead_parts(struct form *f, struct report_overhead *v)
{
	for (int i = 0; i < OVERHEAD_PARTS; i++)
		whole(f, overhead_name((enum overhead_part)i), &v->part[i]);
	whole(f, "in_use_bytes", &v->in_use_bytes);
}

static void overhead(struct form *f, struct report_overhead *v)
{
	if (is_null(f, "overhead", !v->measured))
		return;
	INSIDE (f, "overhead", outer) {
		v->measured = true;
		overhead_parts(f, v);
	}
}

static void traffic(struct form *f, const char *kind, struct report_traffic *t)
{
	INSIDE (f, kind, outer) {
		whole(f, "calls", &t->calls);
		whole(f, "payload_bytes", &t->payload_bytes);
		countable(f, "sent_bytes", &t->sent_bytes);
		countable(f, "received_bytes", &t->received_bytes);
	}
}

static void communication(struct form *f, struct report_role *r)
{
	INSIDE (f, "communication", outer) {
		countable(f, "sent_bytes", &r->sent_bytes);
		countable(f, "received_bytes", &r->received_bytes);
		INSIDE (f, "by_kind", inner)
			for (int k = 0; k < TRAFFIC_COUNT; k++)
				traffic(f, traffic_name((enum traffic_kind)k), &r->by_kind[k]);
	}
}

static void transfers(struct form *f, struct report_transfer *t)
{
	INSIDE (f, "transfers", outer) {
		for (int k = 0; k < TRANSFER_COUNT; k++)
			INSIDE (f, transfer_name((enum transfer_kind)k), inner) {
				whole(f, "calls", &t[k].calls);
				whole(f, "bytes", &t[k].bytes);
			}
	}
}

static void roles(struct form *f, struct report *r)
{
	json_t *list = list_of(f, "roles", PLAN_ROLES), *outer = f->o;
	if (f->reads)
		r->role_count = (int)json_array_size(list);
	for (int i = 0; i < r->role_count; i++) {
		struct report_role *role = &r->roles[i];
		f->o = element(f, list, i);
		expect(f, json_is_object(f->o), "roles", "a list of objects");
		TEXT(f, "role", role->role);
		whole(f, "ranks", &role->ranks);
		memories(f, role->memory);
		overhead(f, &role->overhead);
		communication(f, role);
		transfers(f, role->transfer);
	}
	leave(f, outer);
}

static void *make(struct form *f, size_t count, size_t size)
{
	void *array = calloc(count + 1, size);
	if (!array)
		f->status = status_fail(STATUS_MEMORY, "out of memory");
	return array;
}

static void losses(struct form *f, struct report *r)
{
	json_t *list = list_of(f, "losses", INT64_MAX);
	if (f->reads && (r->losses = make(f, json_array_size(list), sizeof *r->losses)))
		r->loss_count = (int64_t)json_array_size(list);
	for (int64_t i = 0; i < r->loss_count; i++)
		if (f->reads)
			r->losses[i] = real_from_json(f, json_array_get(list, (size_t)i), "losses");
		else
			json_array_append_new(list, real_to_json(r->losses[i]));
}

static void ranks(struct form *f, struct report *r)
{
	json_t *list = list_of(f, "by_rank", r->ranks), *outer = f->o;
	if (f->reads && expect(f, (int64_t)json_array_size(list) == r->ranks, "by_rank", "a list of all ranks"))
		r->by_rank = make(f, (size_t)r->ranks, sizeof *r->by_rank);
	for (int64_t i = 0; i < r->ranks && r->by_rank && !f->status; i++) {
		char name[64];
		int64_t *figure;
		f->o = element(f, list, i);
		for (int k = 0; (figure = report_rank_figure(&r->by_rank[i], k, name, sizeof name)); k++)
			countable(f, name, figure);
	}
	leave(f, outer);
}

static void run(struct form *f, struct report *r)
{
	losses(f, r);
	ranks(f, r);
	whole(f, "staging_touched_bytes", &r->staging_touched_bytes);
	real(f, "validation_loss", &r->validation_loss);
	real(f, "validation_accuracy", &r->validation_accuracy);
	TEXT(f, "weights_checksum", r->weights_checksum);
	if (!absent(f, "loss_scale", !(r->loss_scale > 0))) {
		real(f, "loss_scale", &r->loss_scale);
		whole(f, "skipped", &r->skipped_steps);
	}
	if (!absent(f, "gelu_passes", !r->gelu_passes))
		whole(f, "gelu_passes", &r->gelu_passes);
	whole_or_null(f, "resident_bytes", &r->resident_bytes, 0);
	real(f, "units_per_s", &r->units_per_s);
}

static void checkpointing(struct form *f, struct report_checkpointing *c)
{
	INSIDE (f, "activation_checkpointing", outer) {
		TEXT(f, "setting", c->setting);
		whole(f, "checkpoints", &c->checkpoints);
		whole(f, "tried", &c->tried);
		whole_or_null(f, "arena_bytes_without", &c->arena_bytes_without, 0);
		yes_no(f, "profile", &c->profile);
	}
}

static void times(struct form *f, struct times *t, bool by_pass)
{
	INSIDE (f, "time", outer) {
		whole(f, "rank", &t->rank);
		seconds(f, "step_s", &t->step);
		seconds(f, "compute_s", &t->compute);
		seconds(f, "communication_s", &t->communication);
		seconds(f, "exposed_s", &t->exposed);
		seconds(f, "bubble_s", &t->bubble);
		if (by_pass) {
			seconds(f, "forward_s", &t->forward);
			seconds(f, "recompute_s", &t->recompute);
			seconds(f, "backward_s", &t->backward);
		}
	}
}

static void pipeline(struct form *f, struct bubble *b)
{
	if (absent(f, "pipeline", !b->stages))
		return;
	INSIDE (f, "pipeline", outer) {
		double share = f->reads ? 0 : bubble_share(b);
		whole(f, "stages", &b->stages);
		whole(f, "micro_batches", &b->micro_batches);
		real(f, "bubble_closed_form", &share);
	}
}

static void tightest(struct form *f, struct report_tightest *t)
{
	const char *spaces[SPACE_COUNT + 1] = {NULL};
	if (is_null(f, "tightest", !t->capacity_bytes && !t->needed_bytes))
		return;
	for (int i = 0; i < SPACE_COUNT; i++)
		spaces[i] = space_name((enum space)i);
	INSIDE (f, "tightest", outer) {
		t->space = (enum space)word(f, "space", (int)t->space, spaces);
		whole(f, "needed_bytes", &t->needed_bytes);
		whole(f, "capacity_bytes", &t->capacity_bytes);
	}
}

static void report(struct form *f, struct report *r)
{
	static const char *const types[] = {"fp32", "bf16", "fp16", NULL}, *const rates[] = {"assumed", "measured",
	                                                                                     NULL};
	INSIDE (f, "model", outer) {
		TEXT(f, "name", r->model);
		whole(f, "parameters", &r->parameters);
		whole(f, "units", &r->units);
	}
	TEXT(f, "strategy", r->strategy);
	whole(f, "ranks", &r->ranks);
	r->precision = (enum type)word(f, "precision", (int)r->precision, types);
	if (!absent(f, "tf32", !r->tf32))
		yes_no(f, "tf32", &r->tf32);
	if (!absent(f, "stochastic_rounding", !r->stochastic_rounding))
		yes_no(f, "stochastic_rounding", &r->stochastic_rounding);
	whole(f, "batch", &r->batch);
	whole(f, "micro_batch", &r->micro_batch);
	whole(f, "accumulate", &r->accumulate);
	whole(f, "sequence", &r->sequence);
	TEXT(f, "offload", r->offload);
	TEXT(f, "cluster", r->cluster);
	r->rates_measured = word(f, "rates", r->rates_measured, rates);
	yes_no(f, "measured", &r->measured);
	checkpointing(f, &r->checkpointing);
	roles(f, r);
	if (!absent(f, "grain", !*r->grain))
		TEXT(f, "grain", r->grain);
	times(f, &r->time, r->checkpointing.profile);
	pipeline(f, &r->bubble);
	tightest(f, &r->tightest);
	yes_no(f, "fits", &r->fits);
	if (!absent(f, "would_fit_with", !*r->change.words))
		INSIDE (f, "would_fit_with", outer) {
			TEXT(f, "options", r->change.words);
			seconds(f, "step_s", &r->change.step);
		}
	if (r->measured)
		run(f, r);
}

/* ---- both ways ---- */

json_t *report_overhead_to_json(const struct report_overhead *v)
{
	struct report_overhead copy = *v;
	struct form f = {.o = v->measured ? json_object() : json_null()};
	if (v->measured)
		overhead_parts(&f, &copy);
	return f.o;
}

json_t *report_to_json(const struct report *r)
{
	struct report copy = *r;
	struct form f = {.o = json_object()};
	report(&f, &copy);
	return f.o;
}

enum status report_from_json(struct report *out, const json_t *o)
{
	struct form f = {.reads = true};
	*out = (struct report){.validation_loss = (double)NAN, .validation_accuracy = (double)NAN};
	if (!json_is_object(o))
		return status_fail(STATUS_RUN, "a report that is not an object");
	f.o = json_deep_copy(o);
	report(&f, out);
	json_decref(f.o);
	if (f.status)
		report_release(out);
	return f.status;
}
