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

__attribute__((format(printf, 5, 6))) static struct check *add(struct checks *c, const char *role, int64_t predicted,
                                                               int64_t measured, const char *quantity, ...)
{
	c->list = array_reserve(c->list, c->count, &c->capacity, sizeof *c->list);
	struct check *one = &c->list[c->count++];
	*one = (struct check){.predicted = predicted, .measured = measured, .limited = true};
	snprintf(one->role, sizeof one->role, "%s", role);
	WITH_ARGS(quantity, vsnprintf(one->quantity, sizeof one->quantity, quantity, args));
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

static void check_categories(struct checks *c, const char *role, const char *space, const struct report_memory *p,
                             const struct report_memory *m)
{
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		const char *name = category_name((enum category)k);
		add(c, role, p->at_peak[k], m->at_peak[k], "%s.at_peak.%s_bytes", space, name);
		add(c, role, p->steady[k], m->steady[k], "%s.steady.%s_bytes", space, name);
	}
}

/* zeros: those that are 0 in both as well. Below 0 is what a library does inside, which has no check. */
static void check_figures(struct checks *c, const char *role, struct report_rank *p, struct report_rank *m, bool zeros)
{
	char name[64];
	const int64_t *predicted;
	for (int i = 0; (predicted = report_rank_figure(p, i, name, sizeof name)); i++) {
		int64_t measured = *report_rank_figure(m, i, name, sizeof name);
		if (measured >= 0 && (zeros || *predicted || measured))
			add(c, role, *predicted, measured, "%s", name);
	}
}

static struct report_rank figures_of(const struct report_role *r)
{
	struct report_rank f = {0};
	memcpy(f.by_kind, r->by_kind, sizeof f.by_kind);
	memcpy(f.transfer, r->transfer, sizeof f.transfer);
	for (int space = 0; space < SPACE_COUNT; space++) {
		f.peak_bytes[space] = r->memory[space].peak_bytes;
		f.arena_bytes[space] = r->memory[space].arena_bytes;
	}
	return f;
}

/* Inside a library's collective bytes cannot be counted. */
static void check_gathering(struct checks *c, const char *role, const struct report_gathering *p,
                            const struct report_gathering *m)
{
	if (m->sent_bytes >= 0) {
		add(c, role, p->sent_bytes, m->sent_bytes, "gathering.sent_bytes");
		add(c, role, p->received_bytes, m->received_bytes, "gathering.received_bytes");
	}
	add(c, role, p->peak_bytes[SPACE_DEVICE], m->peak_bytes[SPACE_DEVICE], "gathering.device_peak_bytes");
	add(c, role, p->peak_bytes[SPACE_HOST], m->peak_bytes[SPACE_HOST], "gathering.host_peak_bytes");
}

static void check_role(struct checks *c, const struct report_role *p, const struct report_role *m)
{
	struct report_rank predicted = figures_of(p), measured = figures_of(m);
	for (int space = 0; space < SPACE_COUNT; space++)
		check_categories(c, p->role, space_name((enum space)space), &p->memory[space], &m->memory[space]);
	check_figures(c, p->role, &predicted, &measured, true);
	if (p->gathering.received_bytes || m->gathering.received_bytes)
		check_gathering(c, p->role, &p->gathering, &m->gathering);
}

static void check_time(struct checks *c, const char *name, int64_t predicted, int64_t measured, double limit)
{
	struct check *one = add(c, "all", predicted, measured, "time.%s_s", name);
	one->is_time = true;
	one->limited = limit >= 0;
	one->limit = limit;
}

void checks_make(struct checks *c, const struct report *predicted, const struct report *measured, double time_limit)
{
	*c = (struct checks){0};
	const struct times *p = &predicted->time, *m = &measured->time;
	for (int i = 0; i < predicted->role_count; i++)
		check_role(c, &predicted->roles[i], &measured->roles[i]);
	for (int64_t i = 0; i < predicted->ranks && predicted->by_rank && measured->by_rank; i++) {
		char role[32];
		snprintf(role, sizeof role, "rank %" PRId64, i);
		check_figures(c, role, &predicted->by_rank[i], &measured->by_rank[i], false);
	}
	if (predicted->saved.bytes || measured->saved.bytes) {
		add(c, "all", predicted->saved.bytes, measured->saved.bytes, "saved.bytes");
		add(c, "all", predicted->saved.rank_bytes, measured->saved.rank_bytes, "saved.rank_bytes");
	}
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
		json_array_append_new(
		        list, json_pack("{s:s, s:s, s:o, s:o, s:f, s:o, s:b}", "quantity", one->quantity, "role",
		                        one->role, "predicted", value_to_json(one, one->predicted), "measured",
		                        value_to_json(one, one->measured), "error", check_error(one), "limit",
		                        one->limited ? json_real(one->limit) : json_null(), "pass", one->pass));
	}
	return list;
}
