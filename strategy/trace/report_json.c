/* The report as the JSON object of `sim --json`, and the report from it. Each figure has one line, which writes it or
 * reads it; SHOWN says where tables have it. The names are a contract: programs read them. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/trace/figure.h"
#include "strategy/trace/report_form.h"

/* ---- what tables show of memory and copies ---- */

#define FIGURE(group_, name_, key_, total_)                                                                            \
	{                                                                                                              \
		.group = GROUP_##group_, .name = (name_), .key = (key_), .total = (total_)                             \
	}
#define SHOWN(f, v, ...) figure_shown(f, v, (struct figure)FIGURE(__VA_ARGS__))

static const struct figure peak_categories[CATEGORY_COUNT] = {
#define X(constant, name) FIGURE(PEAK, name, "peak_" name "_bytes", false),
        CATEGORY_LIST(X)
#undef X
};
static const struct figure peaks[SPACE_COUNT] = {
        [SPACE_DEVICE] = FIGURE(PEAK, "total", "peak_bytes", true),
        [SPACE_HOST] = FIGURE(BESIDE, "host, at the peak", "host_peak_bytes", false),
        [SPACE_DISK] = FIGURE(BESIDE, "disk, at the peak", "disk_peak_bytes", false),
};
static const struct figure arenas[SPACE_COUNT] = {
        [SPACE_DEVICE] = FIGURE(PEAK, "as laid out", "arena_bytes", true),
};
static const struct figure copies[TRANSFER_COUNT] = {
        [TRANSFER_DEVICE_TO_HOST] = FIGURE(BESIDE, "to the host, a step", "device_to_host_bytes", false),
        [TRANSFER_HOST_TO_DEVICE] = FIGURE(BESIDE, "from the host", "host_to_device_bytes", false),
};

static_assert(CATEGORY_PARAMETERS == 0 && CATEGORY_GRADIENTS == 1 && CATEGORY_OPTIMIZER == 2,
              "model states come first");

/* Sums of the categories between steps. */
static void steady_sums(const struct form *f, int64_t *steady)
{
	struct figure states = FIGURE(STEADY, "model states", "steady_model_states_bytes", false);
	struct figure all = FIGURE(STEADY, "total", "steady_bytes", true);
	states.count = CATEGORY_OPTIMIZER + 1;
	all.count = CATEGORY_COUNT;
	figure_shown(f, steady, states);
	figure_shown(f, steady, all);
}

/* ---- what a report has ---- */

static void categories(struct form *f, const char *key, int64_t *bytes, const struct figure *figures)
{
	FORM_INSIDE (f, key, outer) {
		for (int c = 0; c < CATEGORY_COUNT; c++)
			form_whole(f, category_name((enum category)c),
			           figure_shown(f, &bytes[c], figures ? figures[c] : (struct figure){0}));
	}
}

static void memory(struct form *f, enum space space, struct report_memory *m)
{
	bool device = space == SPACE_DEVICE;
	FORM_INSIDE (f, space_name(space), outer) {
		form_whole(f, "peak_bytes", figure_shown(f, &m->peak_bytes, peaks[space]));
		FORM_TEXT(f, "peak_at", m->peak_at);
		form_whole(f, "arena_bytes", figure_shown(f, &m->arena_bytes, arenas[space]));
		if (!form_absent(f, "reserved_bytes", !m->reserved_bytes)) {
			form_whole(f, "allocated_bytes", &m->allocated_bytes);
			form_whole(f, "reserved_bytes", &m->reserved_bytes);
		}
		form_whole(f, "overhead_bytes", &m->overhead_bytes);
		if (!form_absent(f, "workspace_bytes", !m->workspace_bytes))
			form_whole(f, "workspace_bytes", &m->workspace_bytes);
		form_yes_no(f, "overhead_assumed", &m->overhead_assumed);
		categories(f, "at_peak", m->at_peak, device ? peak_categories : NULL);
		categories(f, "steady", m->steady, NULL);
		if (device)
			steady_sums(f, m->steady);
	}
}

/* The disk is left out where the plan does not use it; `device` and `host` are always there. */
static void memories(struct form *f, struct report_memory *m)
{
	FORM_INSIDE (f, "memory", outer) {
		for (int space = 0; space < SPACE_COUNT; space++) {
			const char *name = space_name((enum space)space);
			if (space != SPACE_DISK || !form_absent(f, name, !m[space].peak_bytes && !m[space].arena_bytes))
				memory(f, (enum space)space, &m[space]);
		}
	}
}

static void overhead_parts(struct form *f, struct report_overhead *v)
{
	for (int i = 0; i < OVERHEAD_PARTS; i++)
		form_whole(f, overhead_name((enum overhead_part)i), &v->part[i]);
	form_whole(f, "in_use_bytes", &v->in_use_bytes);
}

static void overhead(struct form *f, struct report_overhead *v)
{
	if (form_null(f, "overhead", !v->measured))
		return;
	FORM_INSIDE (f, "overhead", outer) {
		v->measured = true;
		overhead_parts(f, v);
	}
}

static void traffic(struct form *f, const char *kind, struct report_traffic *t)
{
	FORM_INSIDE (f, kind, outer) {
		form_whole(f, "calls", &t->calls);
		form_whole(f, "payload_bytes", &t->payload_bytes);
		form_countable(f, "sent_bytes", &t->sent_bytes);
		form_countable(f, "received_bytes", &t->received_bytes);
	}
}

static void communication(struct form *f, struct report_role *r)
{
	FORM_INSIDE (f, "communication", outer) {
		form_countable(f, "sent_bytes", SHOWN(f, &r->sent_bytes, TRAFFIC, "sends", "sent_bytes", false));
		form_countable(f, "received_bytes",
		               SHOWN(f, &r->received_bytes, TRAFFIC, "receives", "received_bytes", false));
		FORM_INSIDE (f, "by_kind", inner)
			for (int k = 0; k < TRAFFIC_COUNT; k++)
				traffic(f, traffic_name((enum traffic_kind)k), &r->by_kind[k]);
	}
}

static void transfers(struct form *f, struct report_transfer *t)
{
	FORM_INSIDE (f, "transfers", outer) {
		for (int k = 0; k < TRANSFER_COUNT; k++)
			FORM_INSIDE (f, transfer_name((enum transfer_kind)k), inner) {
				form_whole(f, "calls", &t[k].calls);
				form_whole(f, "bytes", figure_shown(f, &t[k].bytes, copies[k]));
			}
	}
}

static void gathering(struct form *f, struct report_gathering *g)
{
	if (form_absent(f, "gathering", !g->received_bytes))
		return;
	FORM_INSIDE (f, "gathering", outer) {
		form_countable(f, "sent_bytes", &g->sent_bytes);
		form_countable(f, "received_bytes", &g->received_bytes);
		form_whole(f, "device_peak_bytes", &g->peak_bytes[SPACE_DEVICE]);
		form_whole(f, "host_peak_bytes", &g->peak_bytes[SPACE_HOST]);
	}
}

static void roles(struct form *f, struct report *r)
{
	json_t *list = form_list(f, "roles", PLAN_ROLES), *outer = f->o;
	if (f->reads)
		r->role_count = (int)json_array_size(list);
	for (int i = 0; i < r->role_count; i++) {
		struct report_role *role = &r->roles[i];
		f->o = form_element(f, list, i);
		form_expect(f, json_is_object(f->o), "roles", "a list of objects");
		FORM_TEXT(f, "role", role->role);
		form_whole(f, "ranks", &role->ranks);
		memories(f, role->memory);
		overhead(f, &role->overhead);
		communication(f, role);
		transfers(f, role->transfer);
		gathering(f, &role->gathering);
	}
	form_leave(f, outer);
}

static void checkpointing(struct form *f, struct report_checkpointing *c)
{
	FORM_INSIDE (f, "activation_checkpointing", outer) {
		FORM_TEXT(f, "setting", c->setting);
		form_whole(f, "checkpoints", &c->checkpoints);
		form_whole(f, "tried", &c->tried);
		form_whole_or_null(f, "arena_bytes_without", &c->arena_bytes_without, 0);
		form_yes_no(f, "profile", &c->profile);
	}
}

static void saved(struct form *f, struct report *r)
{
	struct report_saved *v = &r->saved;
	if (form_absent(f, "saved", !v->bytes))
		return;
	FORM_INSIDE (f, "saved", outer) {
		form_whole(f, "bytes", &v->bytes);
		form_whole(f, "rank_bytes", &v->rank_bytes);
		if (r->measured) {
			form_whole(f, "saves", &v->saves);
			form_seconds(f, "write_s", &v->write_ns);
			form_seconds(f, "stall_s", &v->stall_ns);
		}
	}
}

/* 0, for what is unknown, is written as null. */
static void known(struct form *f, const char *key, double *v)
{
	double written = *v > 0 ? *v : (double)NAN;
	form_real(f, key, &written);
	*v = isnan(written) ? 0 : written;
}

static void range(struct form *f, struct report *r)
{
	int64_t *const ends[] = {&r->range_low, &r->range_high};
	if (form_absent(f, "basis", !*r->basis))
		return;
	FORM_TEXT(f, "basis", r->basis);
	json_t *list = form_list(f, "range_s", 2);
	for (size_t i = 0; i < 2; i++) {
		double s = f->reads ? form_real_from_json(f, json_array_get(list, i), "range_s") : 0;
		if (!f->reads)
			json_array_append_new(list, form_real_to_json((double)*ends[i] / 1e9));
		else if (form_expect(f, s >= 0 && s < 9e9, "range_s", "two times in seconds"))
			*ends[i] = llround(s * 1e9);
	}
}

static void times(struct form *f, struct report *r)
{
	struct times *t = &r->time;
	struct report_speed *speed = &r->speed;
	bool by_pass = r->checkpointing.profile;
	FORM_INSIDE (f, "time", outer) {
		form_whole(f, "rank", &t->rank);
		form_seconds(f, "step_s", SHOWN(f, &t->step, TIME, "step", "step_ns", true));
		range(f, r);
		form_seconds(f, "compute_s", SHOWN(f, &t->compute, TIME, "computing", "compute_ns", false));
		form_seconds(f, "communication_s", &t->communication);
		form_seconds(f, "exposed_s", SHOWN(f, &t->exposed, TIME, "exposed comm.", "exposed_ns", false));
		form_seconds(f, "bubble_s", SHOWN(f, &t->bubble, TIME, "bubble", "bubble_ns", false));
		if (by_pass) {
			form_seconds(f, "forward_s", &t->forward);
			form_seconds(f, "recompute_s", &t->recompute);
			form_seconds(f, "backward_s", &t->backward);
		}
		known(f, "model_flops", &speed->model_flops);
		known(f, "tokens_per_s", &speed->units_per_s);
		known(f, "tflops_per_device", &speed->tflops_per_device);
		known(f, "mfu", &speed->mfu);
	}
}

static void pipeline(struct form *f, struct bubble *b)
{
	if (form_absent(f, "pipeline", !b->stages))
		return;
	FORM_INSIDE (f, "pipeline", outer) {
		double share = f->reads ? 0 : bubble_share(b);
		form_whole(f, "stages", &b->stages);
		form_whole(f, "micro_batches", &b->micro_batches);
		form_real(f, "bubble_closed_form", &share);
	}
}

static void tightest(struct form *f, struct report_tightest *t)
{
	const char *spaces[SPACE_COUNT + 1] = {NULL};
	if (form_null(f, "tightest", !t->capacity_bytes && !t->needed_bytes))
		return;
	for (int i = 0; i < SPACE_COUNT; i++)
		spaces[i] = space_name((enum space)i);
	FORM_INSIDE (f, "tightest", outer) {
		t->space = (enum space)form_word(f, "space", (int)t->space, spaces);
		form_whole(f, "needed_bytes", SHOWN(f, &t->needed_bytes, TIGHTEST, "needed", "needed_bytes", false));
		form_whole(f, "capacity_bytes",
		           SHOWN(f, &t->capacity_bytes, TIGHTEST, "there", "capacity_bytes", false));
	}
}

static void report(struct form *f, struct report *r)
{
	static const char *const types[] = {"fp32", "bf16", "fp16", NULL},
	                         *const scalings[] = {"none", "dynamic", "delayed", NULL},
	                         *const fit_words[] = {"yes", "close", "no", NULL},
	                         *const rates[] = {"assumed", "measured", NULL};
	FORM_INSIDE (f, "model", outer) {
		FORM_TEXT(f, "name", r->model);
		FORM_TEXT(f, "keys", r->asked.model_keys);
		form_whole(f, "parameters", &r->parameters);
		form_whole(f, "units", &r->units);
	}
	FORM_TEXT(f, "strategy", r->strategy);
	form_whole(f, "ranks", &r->ranks);
	r->precision = (enum type)form_word(f, "precision", (int)r->precision, types);
	if (!form_absent(f, "fp8", !r->fp8))
		r->fp8 = (enum fp8)form_word(f, "fp8", (int)r->fp8, scalings);
	if (!form_absent(f, "tf32", !r->tf32))
		form_yes_no(f, "tf32", &r->tf32);
	if (!form_absent(f, "stochastic_rounding", !r->stochastic_rounding))
		form_yes_no(f, "stochastic_rounding", &r->stochastic_rounding);
	form_whole(f, "batch", &r->batch);
	form_whole(f, "micro_batch", &r->micro_batch);
	form_whole(f, "accumulate", &r->accumulate);
	form_whole(f, "sequence", &r->sequence);
	form_whole(f, "seed", &r->asked.seed);
	FORM_TEXT(f, "settings", r->asked.others);
	FORM_TEXT(f, "version", r->asked.version);
	FORM_TEXT(f, "offload", r->offload);
	FORM_TEXT(f, "cluster", r->cluster);
	if (!form_absent(f, "stack", !*r->stack))
		FORM_TEXT(f, "stack", r->stack);
	r->rates_measured = form_word(f, "rates", r->rates_measured, rates);
	form_yes_no(f, "measured", &r->measured);
	checkpointing(f, &r->checkpointing);
	roles(f, r);
	saved(f, r);
	if (!form_absent(f, "gathering_s", !r->gathering_ns))
		form_seconds(f, "gathering_s", &r->gathering_ns);
	if (!form_absent(f, "grain", !*r->grain))
		FORM_TEXT(f, "grain", r->grain);
	times(f, r);
	pipeline(f, &r->bubble);
	tightest(f, &r->tightest);
	form_yes_no(f, "fits", &r->fits);
	form_word(f, "fit", report_fit(r), fit_words);
	if (!form_absent(f, "would_fit_with", !*r->change.words))
		FORM_INSIDE (f, "would_fit_with", outer) {
			FORM_TEXT(f, "options", r->change.words);
			if (!form_absent(f, "command", !*r->change.command))
				FORM_TEXT(f, "command", r->change.command);
			form_seconds(f, "step_s", &r->change.step);
			form_word(f, "fit", r->change.close, fit_words);
			if (!form_absent(f, "close", !*r->change.near))
				FORM_INSIDE (f, "close", within) {
					FORM_TEXT(f, "options", r->change.near);
					form_seconds(f, "step_s", &r->change.near_step);
				}
		}
	if (!form_absent(f, "would_fit_search_cut", !r->change.cut))
		form_yes_no(f, "would_fit_search_cut", &r->change.cut);
	if (r->measured)
		report_form_run(f, r);
}

/* ---- both ways, and for tables ---- */

/* The figures of one role, including those that are left out when they are zero. */
const struct figure *report_figures(void)
{
	static struct figure_list list;
	static struct report all = {.role_count = 1, .tightest.capacity_bytes = 1};
	struct form f = {.figures = &list};
	if (list.count)
		return list.figure;
	all.roles[0].memory[SPACE_DISK].peak_bytes = 1;
	list.report = &all;
	f.o = json_object();
	report(&f, &all);
	json_decref(f.o);
	return list.figure;
}

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
