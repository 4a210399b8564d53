/* The report from its JSON object. The first thing that is missing or of another type is kept, and all that follows is
 * skipped. */
#include "strategy/trace/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void take_ranks(struct reader *r, const json_t *o, struct report *out)
{
	const json_t *ranks = take(r, o, "by_rank");
	if (!expect(r, json_is_array(ranks) && (int64_t)json_array_size(ranks) == out->ranks, "by_rank",
	            "a list of all ranks"))
		return;
	out->by_rank = calloc((size_t)out->ranks + 1, sizeof *out->by_rank);
	if (!out->by_rank)
		r->status = status_fail(STATUS_MEMORY, "out of memory");
	for (int64_t i = 0; i < out->ranks && !r->status; i++)
		r->status = report_rank_from_json(&out->by_rank[i], json_array_get(ranks, (size_t)i));
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
	take_ranks(r, o, out);
	out->staging_touched_bytes = take_whole(r, o, "staging_touched_bytes");
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

static void take_tightest(struct reader *r, const json_t *o, struct report_tightest *out)
{
	char name[16] = "";
	const json_t *v = take(r, o, "tightest");
	if (json_is_null(v) || !expect(r, json_is_object(v), "tightest", "an object or null"))
		return;
	take_text(r, v, "space", name, sizeof name);
	while (out->space + 1 < SPACE_COUNT && strcmp(space_name(out->space), name) != 0)
		out->space++;
	expect(r, !strcmp(space_name(out->space), name), "space", "a space's name");
	out->needed_bytes = take_whole(r, v, "needed_bytes");
	out->capacity_bytes = take_whole(r, v, "capacity_bytes");
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
	take_tightest(&r, o, &out->tightest);
	out->fits = take_boolean(&r, o, "fits");
	if (out->measured)
		take_measured(&r, o, out);
	if (r.status)
		report_release(out);
	return r.status;
}
