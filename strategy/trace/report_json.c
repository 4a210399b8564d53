/* The report as the JSON object of `sim --json`, and back. Names are a contract: programs read them. */
#include "strategy/trace/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static json_t *seconds(int64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *countable(int64_t bytes)
{
	return bytes < 0 ? json_null() : json_integer(bytes);
}

static json_t *real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *categories_to_json(const int64_t *bytes)
{
	json_t *o = json_object();
	for (int c = 0; c < CATEGORY_COUNT; c++)
		json_object_set_new(o, category_name((enum category)c), json_integer(bytes[c]));
	return o;
}

static json_t *memory_to_json(const struct report_memory *m)
{
	json_t *o = json_object();
	json_object_set_new(o, "peak_bytes", json_integer(m->peak_bytes));
	json_object_set_new(o, "peak_at", json_string(m->peak_at));
	json_object_set_new(o, "arena_bytes", json_integer(m->arena_bytes));
	json_object_set_new(o, "overhead_bytes", json_integer(m->overhead_bytes));
	json_object_set_new(o, "overhead_assumed", json_boolean(m->overhead_assumed));
	json_object_set_new(o, "at_peak", categories_to_json(m->at_peak));
	json_object_set_new(o, "steady", categories_to_json(m->steady));
	return o;
}

static json_t *communication_to_json(const struct report_role *r)
{
	json_t *o = json_object(), *kinds = json_object();
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		const struct report_traffic *t = &r->by_kind[k];
		json_t *kind = json_object();
		json_object_set_new(kind, "calls", json_integer(t->calls));
		json_object_set_new(kind, "payload_bytes", json_integer(t->payload_bytes));
		json_object_set_new(kind, "sent_bytes", countable(t->sent_bytes));
		json_object_set_new(kind, "received_bytes", countable(t->received_bytes));
		json_object_set_new(kinds, traffic_name((enum traffic_kind)k), kind);
	}
	json_object_set_new(o, "sent_bytes", countable(r->sent_bytes));
	json_object_set_new(o, "received_bytes", countable(r->received_bytes));
	json_object_set_new(o, "by_kind", kinds);
	return o;
}

static json_t *transfers_to_json(const struct report_role *r)
{
	json_t *o = json_object();
	for (int k = 0; k < TRANSFER_COUNT; k++) {
		json_t *kind = json_object();
		json_object_set_new(kind, "calls", json_integer(r->transfer[k].calls));
		json_object_set_new(kind, "bytes", json_integer(r->transfer[k].bytes));
		json_object_set_new(o, transfer_name((enum transfer_kind)k), kind);
	}
	return o;
}

/* The disk is left out where the plan does not use it; `device` and `host` are always there. */
static bool shows_space(const struct report_memory *m, int space)
{
	return space != SPACE_DISK || m->peak_bytes || m->arena_bytes;
}

json_t *report_overhead_to_json(const struct report_overhead *v)
{
	if (!v->measured)
		return json_null();
	json_t *o = json_object();
	for (int i = 0; i < OVERHEAD_PARTS; i++)
		json_object_set_new(o, overhead_name((enum overhead_part)i), json_integer(v->part[i]));
	json_object_set_new(o, "in_use_bytes", json_integer(v->in_use_bytes));
	return o;
}

static json_t *role_to_json(const struct report_role *r)
{
	json_t *o = json_object(), *memory = json_object();
	for (int space = 0; space < SPACE_COUNT; space++)
		if (shows_space(&r->memory[space], space))
			json_object_set_new(memory, space_name((enum space)space), memory_to_json(&r->memory[space]));
	json_object_set_new(o, "role", json_string(r->role));
	json_object_set_new(o, "ranks", json_integer(r->ranks));
	json_object_set_new(o, "memory", memory);
	json_object_set_new(o, "overhead", report_overhead_to_json(&r->overhead));
	json_object_set_new(o, "communication", communication_to_json(r));
	json_object_set_new(o, "transfers", transfers_to_json(r));
	return o;
}

static void add_measured(json_t *o, const struct report *r)
{
	json_t *losses = json_array();
	for (int64_t i = 0; i < r->loss_count; i++)
		json_array_append_new(losses, real_or_null(r->losses[i]));
	json_object_set_new(o, "losses", losses);
	json_object_set_new(o, "validation_loss", real_or_null(r->validation_loss));
	json_object_set_new(o, "validation_accuracy", real_or_null(r->validation_accuracy));
	json_object_set_new(o, "weights_checksum", json_string(r->weights_checksum));
	if (r->loss_scale > 0) {
		json_object_set_new(o, "loss_scale", json_real(r->loss_scale));
		json_object_set_new(o, "skipped", json_integer(r->skipped_steps));
	}
	if (r->gelu_passes > 0)
		json_object_set_new(o, "gelu_passes", json_integer(r->gelu_passes));
	json_object_set_new(o, "resident_bytes", r->resident_bytes ? json_integer(r->resident_bytes) : json_null());
	json_object_set_new(o, "units_per_s", real_or_null(r->units_per_s));
}

static json_t *checkpointing_to_json(const struct report_checkpointing *c)
{
	json_t *o = json_object();
	json_object_set_new(o, "setting", json_string(c->setting));
	json_object_set_new(o, "checkpoints", json_integer(c->checkpoints));
	json_object_set_new(o, "tried", json_integer(c->tried));
	json_object_set_new(o, "arena_bytes_without",
	                    c->arena_bytes_without ? json_integer(c->arena_bytes_without) : json_null());
	json_object_set_new(o, "profile", json_boolean(c->profile));
	return o;
}

json_t *report_to_json(const struct report *r)
{
	json_t *o = json_object(), *model = json_object(), *roles = json_array(), *time = json_object();
	json_object_set_new(model, "name", json_string(r->model));
	json_object_set_new(model, "parameters", json_integer(r->parameters));
	json_object_set_new(model, "units", json_integer(r->units));
	json_object_set_new(o, "model", model);
	json_object_set_new(o, "strategy", json_string(r->strategy));
	json_object_set_new(o, "ranks", json_integer(r->ranks));
	json_object_set_new(o, "precision", json_string(type_name(r->precision)));
	if (r->tf32)
		json_object_set_new(o, "tf32", json_true());
	if (r->stochastic_rounding)
		json_object_set_new(o, "stochastic_rounding", json_true());
	json_object_set_new(o, "batch", json_integer(r->batch));
	json_object_set_new(o, "micro_batch", json_integer(r->micro_batch));
	json_object_set_new(o, "accumulate", json_integer(r->accumulate));
	json_object_set_new(o, "sequence", json_integer(r->sequence));
	json_object_set_new(o, "offload", json_string(r->offload));
	json_object_set_new(o, "cluster", json_string(r->cluster));
	json_object_set_new(o, "rates", json_string(r->rates_measured ? "measured" : "assumed"));
	json_object_set_new(o, "measured", json_boolean(r->measured));
	json_object_set_new(o, "activation_checkpointing", checkpointing_to_json(&r->checkpointing));
	for (int i = 0; i < r->role_count; i++)
		json_array_append_new(roles, role_to_json(&r->roles[i]));
	json_object_set_new(o, "roles", roles);
	json_object_set_new(time, "step_s", seconds(r->time.step));
	json_object_set_new(time, "compute_s", seconds(r->time.compute));
	json_object_set_new(time, "communication_s", seconds(r->time.communication));
	json_object_set_new(time, "exposed_s", seconds(r->time.exposed));
	json_object_set_new(time, "bubble_s", seconds(r->time.bubble));
	if (r->checkpointing.profile) {
		json_object_set_new(time, "forward_s", seconds(r->time.forward));
		json_object_set_new(time, "recompute_s", seconds(r->time.recompute));
		json_object_set_new(time, "backward_s", seconds(r->time.backward));
	}
	json_object_set_new(o, "time", time);
	json_object_set_new(o, "fits", json_boolean(r->fits));
	if (r->measured)
		add_measured(o, r);
	return o;
}

/* ---- reading: the first thing that is missing or of another type is kept, and all that follows is skipped ---- */

struct reader {
	enum status status;
};

static const json_t *take(struct reader *r, const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	if (!v && !r->status)
		r->status = status_fail(STATUS_RUN, "a report without '%s'", key);
	return r->status ? NULL : v;
}

static bool expect(struct reader *r, bool holds, const char *key, const char *what)
{
	if (!holds && !r->status)
		r->status = status_fail(STATUS_RUN, "a report whose '%s' is not %s", key, what);
	return !r->status;
}

static int64_t take_whole(struct reader *r, const json_t *o, const char *key)
{
	const json_t *v = take(r, o, key);
	return expect(r, json_is_integer(v), key, "a whole number") ? json_integer_value(v) : 0;
}

static int64_t take_countable(struct reader *r, const json_t *o, const char *key)
{
	const json_t *v = take(r, o, key);
	if (json_is_null(v))
		return -1;
	return expect(r, json_is_integer(v), key, "a whole number or null") ? json_integer_value(v) : 0;
}

static bool take_boolean(struct reader *r, const json_t *o, const char *key)
{
	const json_t *v = take(r, o, key);
	return expect(r, json_is_boolean(v), key, "true or false") && json_is_true(v);
}

static double take_real(struct reader *r, const json_t *o, const char *key)
{
	const json_t *v = take(r, o, key);
	if (json_is_null(v))
		return __builtin_nan("");
	return expect(r, json_is_number(v), key, "a number") ? json_number_value(v) : 0;
}

static int64_t take_seconds(struct reader *r, const json_t *o, const char *key)
{
	double s = take_real(r, o, key);
	return expect(r, s >= 0 && s < 9e9, key, "a time in seconds") ? llround(s * 1e9) : 0;
}

static void take_text(struct reader *r, const json_t *o, const char *key, char *out, size_t size)
{
	const json_t *v = take(r, o, key);
	if (expect(r, json_is_string(v) && json_string_length(v) < size, key, "text of that length"))
		snprintf(out, size, "%s", json_string_value(v));
}

static const json_t *take_object(struct reader *r, const json_t *o, const char *key)
{
	const json_t *v = take(r, o, key);
	return expect(r, json_is_object(v), key, "an object") ? v : NULL;
}

static void take_categories(struct reader *r, const json_t *o, const char *key, int64_t *out)
{
	const json_t *v = take_object(r, o, key);
	for (int c = 0; c < CATEGORY_COUNT; c++)
		out[c] = take_whole(r, v, category_name((enum category)c));
}

static void take_memory(struct reader *r, const json_t *o, struct report_memory *m)
{
	m->peak_bytes = take_whole(r, o, "peak_bytes");
	m->arena_bytes = take_whole(r, o, "arena_bytes");
	m->overhead_bytes = take_whole(r, o, "overhead_bytes");
	m->overhead_assumed = take_boolean(r, o, "overhead_assumed");
	take_text(r, o, "peak_at", m->peak_at, sizeof m->peak_at);
	take_categories(r, o, "at_peak", m->at_peak);
	take_categories(r, o, "steady", m->steady);
}

static void take_overhead(struct reader *r, const json_t *o, struct report_overhead *out)
{
	const json_t *v = take(r, o, "overhead");
	if (json_is_null(v) || !expect(r, json_is_object(v), "overhead", "an object or null"))
		return;
	out->measured = true;
	for (int i = 0; i < OVERHEAD_PARTS; i++)
		out->part[i] = take_whole(r, v, overhead_name((enum overhead_part)i));
	out->in_use_bytes = take_whole(r, v, "in_use_bytes");
}

static void take_role(struct reader *r, const json_t *o, struct report_role *role)
{
	expect(r, json_is_object(o), "roles", "a list of objects");
	take_text(r, o, "role", role->role, sizeof role->role);
	role->ranks = take_whole(r, o, "ranks");
	const json_t *memory = take_object(r, o, "memory");
	for (int space = 0; space < SPACE_COUNT; space++) {
		const char *name = space_name((enum space)space);
		if (space != SPACE_DISK || json_object_get(memory, name))
			take_memory(r, take_object(r, memory, name), &role->memory[space]);
	}
	take_overhead(r, o, &role->overhead);
	const json_t *communication = take_object(r, o, "communication");
	role->sent_bytes = take_countable(r, communication, "sent_bytes");
	role->received_bytes = take_countable(r, communication, "received_bytes");
	const json_t *kinds = take_object(r, communication, "by_kind");
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		const json_t *kind = take_object(r, kinds, traffic_name((enum traffic_kind)k));
		role->by_kind[k].calls = take_whole(r, kind, "calls");
		role->by_kind[k].payload_bytes = take_whole(r, kind, "payload_bytes");
		role->by_kind[k].sent_bytes = take_countable(r, kind, "sent_bytes");
		role->by_kind[k].received_bytes = take_countable(r, kind, "received_bytes");
	}
	const json_t *transfers = take_object(r, o, "transfers");
	for (int k = 0; k < TRANSFER_COUNT; k++) {
		const json_t *kind = take_object(r, transfers, transfer_name((enum transfer_kind)k));
		role->transfer[k].calls = take_whole(r, kind, "calls");
		role->transfer[k].bytes = take_whole(r, kind, "bytes");
	}
}

static void take_measured(struct reader *r, const json_t *o, struct report *out)
{
	const json_t *losses = take(r, o, "losses");
	if (!expect(r, json_is_array(losses), "losses", "a list"))
		return;
	size_t count = json_array_size(losses);
	out->losses = calloc(count + 1, sizeof *out->losses);
	if (!out->losses) {
		r->status = status_fail(STATUS_MEMORY, "out of memory");
		return;
	}
	out->loss_count = (int64_t)count;
	for (size_t i = 0; i < count; i++) {
		const json_t *loss = json_array_get(losses, i);
		bool is_number = json_is_number(loss);
		if (expect(r, is_number || json_is_null(loss), "losses", "a list of numbers"))
			out->losses[i] = is_number ? json_number_value(loss) : __builtin_nan("");
	}
	out->validation_loss = take_real(r, o, "validation_loss");
	out->validation_accuracy = take_real(r, o, "validation_accuracy");
	take_text(r, o, "weights_checksum", out->weights_checksum, sizeof out->weights_checksum);
	if (json_object_get(o, "loss_scale")) {
		out->loss_scale = take_real(r, o, "loss_scale");
		out->skipped_steps = take_whole(r, o, "skipped");
	}
	if (json_object_get(o, "gelu_passes"))
		out->gelu_passes = take_whole(r, o, "gelu_passes");
	int64_t resident = take_countable(r, o, "resident_bytes");
	out->resident_bytes = resident < 0 ? 0 : resident;
	out->units_per_s = take_real(r, o, "units_per_s");
}

static void take_checkpointing(struct reader *r, const json_t *o, struct report_checkpointing *out)
{
	take_text(r, o, "setting", out->setting, sizeof out->setting);
	out->checkpoints = take_whole(r, o, "checkpoints");
	out->tried = take_whole(r, o, "tried");
	int64_t without = take_countable(r, o, "arena_bytes_without");
	out->arena_bytes_without = without < 0 ? 0 : without;
	out->profile = take_boolean(r, o, "profile");
}

enum status report_from_json(struct report *out, const json_t *o)
{
	struct reader r = {STATUS_OK};
	char word[16] = "";
	*out = (struct report){.validation_loss = __builtin_nan(""), .validation_accuracy = __builtin_nan("")};
	if (!json_is_object(o))
		return status_fail(STATUS_RUN, "a report that is not an object");
	const json_t *model = take_object(&r, o, "model");
	take_text(&r, model, "name", out->model, sizeof out->model);
	out->parameters = take_whole(&r, model, "parameters");
	out->units = take_whole(&r, model, "units");
	take_text(&r, o, "strategy", out->strategy, sizeof out->strategy);
	out->ranks = take_whole(&r, o, "ranks");
	take_text(&r, o, "precision", word, sizeof word);
	if (!r.status)
		r.status = type_parse(word, &out->precision) ? STATUS_RUN : STATUS_OK;
	out->tf32 = json_is_true(json_object_get(o, "tf32"));
	out->stochastic_rounding = json_is_true(json_object_get(o, "stochastic_rounding"));
	out->batch = take_whole(&r, o, "batch");
	out->micro_batch = take_whole(&r, o, "micro_batch");
	out->accumulate = take_whole(&r, o, "accumulate");
	out->sequence = take_whole(&r, o, "sequence");
	take_text(&r, o, "offload", out->offload, sizeof out->offload);
	take_text(&r, o, "cluster", out->cluster, sizeof out->cluster);
	take_text(&r, o, "rates", word, sizeof word);
	out->rates_measured = !strcmp(word, "measured");
	out->measured = take_boolean(&r, o, "measured");
	const json_t *roles = take(&r, o, "roles");
	if (expect(&r, json_is_array(roles) && json_array_size(roles) <= PLAN_ROLES, "roles", "a list of roles")) {
		out->role_count = (int)json_array_size(roles);
		for (int i = 0; i < out->role_count; i++)
			take_role(&r, json_array_get(roles, (size_t)i), &out->roles[i]);
	}
	const json_t *time = take_object(&r, o, "time");
	out->time.step = take_seconds(&r, time, "step_s");
	out->time.compute = take_seconds(&r, time, "compute_s");
	out->time.communication = take_seconds(&r, time, "communication_s");
	out->time.exposed = take_seconds(&r, time, "exposed_s");
	out->time.bubble = take_seconds(&r, time, "bubble_s");
	take_checkpointing(&r, take_object(&r, o, "activation_checkpointing"), &out->checkpointing);
	if (out->checkpointing.profile) {
		out->time.forward = take_seconds(&r, time, "forward_s");
		out->time.recompute = take_seconds(&r, time, "recompute_s");
		out->time.backward = take_seconds(&r, time, "backward_s");
	}
	out->fits = take_boolean(&r, o, "fits");
	if (out->measured)
		take_measured(&r, o, out);
	if (r.status)
		report_release(out);
	return r.status;
}
