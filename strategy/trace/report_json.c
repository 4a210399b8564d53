/* The report as the JSON object of `sim --json`. Names are a contract: programs read them. */
#include "strategy/trace/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	json_t *ranks = json_array();
	for (int64_t i = 0; i < r->ranks && r->by_rank; i++)
		json_array_append_new(ranks, report_rank_to_json(&r->by_rank[i]));
	json_object_set_new(o, "by_rank", ranks);
	json_object_set_new(o, "staging_touched_bytes", json_integer(r->staging_touched_bytes));
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

static json_t *tightest_to_json(const struct report_tightest *t)
{
	if (!t->capacity_bytes && !t->needed_bytes)
		return json_null();
	json_t *o = json_object();
	json_object_set_new(o, "space", json_string(space_name(t->space)));
	json_object_set_new(o, "needed_bytes", json_integer(t->needed_bytes));
	json_object_set_new(o, "capacity_bytes", json_integer(t->capacity_bytes));
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
	json_object_set_new(o, "tightest", tightest_to_json(&r->tightest));
	json_object_set_new(o, "fits", json_boolean(r->fits));
	if (r->measured)
		add_measured(o, r);
	return o;
}
