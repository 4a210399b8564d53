#include "cli/command/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"

enum status check_accuracy(const char *strategy, const struct report *measured)
{
	double reached = 100 * measured->validation_accuracy;
	if (!(reached >= CHECK_ACCURACY))
		return status_fail(STATUS_CHECK, "%s: a test accuracy of %.2f %%; it should be %g %% or more", strategy,
		                   reached, CHECK_ACCURACY);
	return STATUS_OK;
}

double check_error(const struct check *c)
{
	if (c->predicted == c->measured)
		return 0;
	return c->measured ? fabs((double)(c->predicted - c->measured) / (double)c->measured) : 1;
}

bool check_run_is_faster(const struct report *run, const struct report *other)
{
	return run->time.step < other->time.step;
}

static struct check *add(struct checks *c, const char *role, int64_t predicted, int64_t measured)
{
	c->list = array_reserve(c->list, c->count, &c->capacity, sizeof *c->list);
	struct check *one = &c->list[c->count++];
	*one = (struct check){.predicted = predicted, .measured = measured, .limited = true};
	snprintf(one->role, sizeof one->role, "%s", role);
	return one;
}

static void judge(struct checks *c)
{
	c->pass = true;
	for (size_t i = 0; i < c->count; i++) {
		struct check *one = &c->list[i];
		one->pass = !one->limited || check_error(one) <= one->limit;
		c->pass &= one->pass;
	}
}

static void check_memory(struct checks *c, const char *role, const char *space, const struct report_memory *p,
                         const struct report_memory *m)
{
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		const char *name = category_name((enum category)k);
		struct check *at_peak = add(c, role, p->at_peak[k], m->at_peak[k]);
		snprintf(at_peak->quantity, sizeof at_peak->quantity, "%s.at_peak.%s_bytes", space, name);
		struct check *steady = add(c, role, p->steady[k], m->steady[k]);
		snprintf(steady->quantity, sizeof steady->quantity, "%s.steady.%s_bytes", space, name);
	}
	struct check *peak = add(c, role, p->peak_bytes, m->peak_bytes);
	snprintf(peak->quantity, sizeof peak->quantity, "%s.peak_bytes", space);
	struct check *arena = add(c, role, p->arena_bytes, m->arena_bytes);
	snprintf(arena->quantity, sizeof arena->quantity, "%s.arena_bytes", space);
}

static void check_traffic(struct checks *c, const char *role, const char *kind, const struct report_traffic *p,
                          const struct report_traffic *m)
{
	struct check *calls = add(c, role, p->calls, m->calls);
	snprintf(calls->quantity, sizeof calls->quantity, "communication.%s.calls", kind);
	struct check *payload = add(c, role, p->payload_bytes, m->payload_bytes);
	snprintf(payload->quantity, sizeof payload->quantity, "communication.%s.payload_bytes", kind);
	if (m->sent_bytes < 0) /* inside a library */
		return;
	struct check *sent = add(c, role, p->sent_bytes, m->sent_bytes);
	snprintf(sent->quantity, sizeof sent->quantity, "communication.%s.sent_bytes", kind);
	struct check *received = add(c, role, p->received_bytes, m->received_bytes);
	snprintf(received->quantity, sizeof received->quantity, "communication.%s.received_bytes", kind);
}

static void check_transfer(struct checks *c, const char *role, const char *kind, const struct report_transfer *p,
                           const struct report_transfer *m)
{
	struct check *calls = add(c, role, p->calls, m->calls);
	snprintf(calls->quantity, sizeof calls->quantity, "transfers.%s.calls", kind);
	struct check *bytes = add(c, role, p->bytes, m->bytes);
	snprintf(bytes->quantity, sizeof bytes->quantity, "transfers.%s.bytes", kind);
}

static void check_rank(struct checks *c, int64_t rank, struct report_rank *p, struct report_rank *m)
{
	char name[64], role[32];
	const int64_t *predicted;
	snprintf(role, sizeof role, "rank %" PRId64, rank);
	for (int i = 0; (predicted = report_rank_figure(p, i, name, sizeof name)); i++) {
		int64_t measured = *report_rank_figure(m, i, name, sizeof name);
		if (measured >= 0 && (*predicted || measured)) /* below 0: inside a library */
			snprintf(add(c, role, *predicted, measured)->quantity, sizeof name, "%s", name);
	}
}

static void check_time(struct checks *c, const char *name, int64_t predicted, int64_t measured, double limit)
{
	struct check *one = add(c, "all", predicted, measured);
	snprintf(one->quantity, sizeof one->quantity, "time.%s_s", name);
	one->is_time = true;
	one->limited = limit >= 0;
	one->limit = limit;
}

void checks_make(struct checks *c, const struct report *predicted, const struct report *measured, double time_limit)
{
	*c = (struct checks){0};
	const struct times *p = &predicted->time, *m = &measured->time;
	for (int i = 0; i < predicted->role_count; i++) {
		const struct report_role *ours = &predicted->roles[i], *theirs = &measured->roles[i];
		for (int space = 0; space < SPACE_COUNT; space++)
			check_memory(c, ours->role, space_name((enum space)space), &ours->memory[space],
			             &theirs->memory[space]);
		for (int k = 0; k < TRAFFIC_COUNT; k++)
			check_traffic(c, ours->role, traffic_name((enum traffic_kind)k), &ours->by_kind[k],
			              &theirs->by_kind[k]);
		for (int k = 0; k < TRANSFER_COUNT; k++)
			check_transfer(c, ours->role, transfer_name((enum transfer_kind)k), &ours->transfer[k],
			               &theirs->transfer[k]);
	}
	for (int64_t i = 0; i < predicted->ranks && predicted->by_rank && measured->by_rank; i++)
		check_rank(c, i, &predicted->by_rank[i], &measured->by_rank[i]);
	check_time(c, "step", p->step, m->step, time_limit);
	check_time(c, "compute", p->compute, m->compute, -1);
	check_time(c, "communication", p->communication, m->communication, -1);
	check_time(c, "exposed", p->exposed, m->exposed, -1);
	check_time(c, "bubble", p->bubble, m->bubble, -1);
	judge(c);
}

void checks_release(struct checks *c)
{
	free(c->list);
	*c = (struct checks){0};
}

static json_t *value_to_json(const struct check *c, int64_t v)
{
	return c->is_time ? json_real((double)v / 1e9) : json_integer(v);
}

json_t *checks_to_json(const struct checks *c)
{
	json_t *list = json_array();
	for (size_t i = 0; i < c->count; i++) {
		const struct check *one = &c->list[i];
		json_t *o = json_object();
		json_object_set_new(o, "quantity", json_string(one->quantity));
		json_object_set_new(o, "role", json_string(one->role));
		json_object_set_new(o, "predicted", value_to_json(one, one->predicted));
		json_object_set_new(o, "measured", value_to_json(one, one->measured));
		json_object_set_new(o, "error", json_real(check_error(one)));
		json_object_set_new(o, "limit", one->limited ? json_real(one->limit) : json_null());
		json_object_set_new(o, "pass", json_boolean(one->pass));
		json_array_append_new(list, o);
	}
	return list;
}
