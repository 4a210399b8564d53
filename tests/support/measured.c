#include "tests/support/measured.h"

#include <stdio.h>
#include <string.h>

#include "real/rank/memory.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

static void same(const char *what, const char *role, const char *quantity, int64_t measured, int64_t planned)
{
	ranks_check(measured == planned, "%s: %s, %s: measured %lld, planned %lld", what, role, quantity,
	            (long long)measured, (long long)planned);
}

static void compare_traffic(const char *what, const struct report_role *m, const struct report_role *p,
                            enum counted counted)
{
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		const struct report_traffic *a = &m->by_kind[k], *b = &p->by_kind[k];
		const char *kind = traffic_name((enum traffic_kind)k);
		bool message = k == TRAFFIC_ACTIVATIONS || k == TRAFFIC_ACTIVATION_GRADIENTS;
		bool count = counted == COUNTED_ALL || message || !b->calls ||
		             (k == TRAFFIC_CONTROL && counted == COUNTED_CONTROL);
		same(what, m->role, kind, a->calls, b->calls);
		same(what, m->role, kind, a->payload_bytes, b->payload_bytes);
		same(what, m->role, kind, a->sent_bytes, count ? b->sent_bytes : -1);
		same(what, m->role, kind, a->received_bytes, count ? b->received_bytes : -1);
	}
	if (counted != COUNTED_ALL)
		return;
	same(what, m->role, "sent", m->sent_bytes, p->sent_bytes);
	same(what, m->role, "received", m->received_bytes, p->received_bytes);
}

static void compare_memory(const char *what, const struct report_role *measured, const struct report_role *planned,
                           enum space space)
{
	const struct report_memory *a = &measured->memory[space], *b = &planned->memory[space];
	char role[64];
	snprintf(role, sizeof role, "%s, %s", planned->role, space_name(space));
	same(what, role, "peak", a->peak_bytes, b->peak_bytes);
	ranks_check(!strcmp(a->peak_at, b->peak_at), "%s: %s: peak at '%s', planned '%s'", what, role, a->peak_at,
	            b->peak_at);
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		same(what, role, category_name((enum category)c), a->at_peak[c], b->at_peak[c]);
		same(what, role, category_name((enum category)c), a->steady[c], b->steady[c]);
	}
}

/* With guarded memory an arena has zones around its buffers. */
static bool is_guarded_arena(int64_t bytes, const struct plan *p, int rank, const char *name)
{
	struct layout l;
	layout_make(&l, p, plan_role_of(p, rank), RANK_MEMORY_GUARD);
	int64_t guarded = l.arena_bytes[strstr(name, "host")   ? SPACE_HOST
	                                : strstr(name, "disk") ? SPACE_DISK
	                                                       : SPACE_DEVICE];
	layout_release(&l);
	return bytes == guarded;
}

/* The traffic and memory of every rank. */
static void compare_ranks(const char *what, const struct report *measured, struct report *planned, const struct plan *p)
{
	char name[64], role[32];
	report_add_ranks(planned, p);
	for (int rank = 0; rank < planned->ranks; rank++) {
		const int64_t *a, *b;
		snprintf(role, sizeof role, "rank %d", rank);
		for (int i = 0; (b = report_rank_figure(&planned->by_rank[rank], i, name, sizeof name)); i++) {
			a = report_rank_figure(&measured->by_rank[rank], i, name, sizeof name);
			if (*a < 0) /* a library's */
				continue;
			if (*a == *b || !strstr(name, "arena") || !is_guarded_arena(*a, p, rank, name))
				same(what, role, name, *a, *b);
		}
	}
}

void compare_role(const char *what, const struct report_role *measured, const struct report_role *planned)
{
	for (int space = 0; space < SPACE_COUNT; space++)
		compare_memory(what, measured, planned, (enum space)space);
	for (int k = 0; k < TRANSFER_COUNT; k++) {
		const struct report_transfer *a = &measured->transfer[k], *b = &planned->transfer[k];
		same(what, planned->role, transfer_name((enum transfer_kind)k), a->calls, b->calls);
		same(what, planned->role, transfer_name((enum transfer_kind)k), a->bytes, b->bytes);
	}
}

void compare_with_plan(const struct settings *q, const struct report *measured, enum counted counted)
{
	const char *what = runs_name(q);
	struct made m;
	struct report planned;
	struct settings s = *q;
	if (rank_number)
		return;
	s.library_collectives = counted != COUNTED_ALL;
	if (made_open(&m, &s)) {
		ranks_check(false, "%s", status_message());
		return;
	}
	report_from_plan(&planned, &m.plan);
	same(what, "plan", "roles", measured->role_count, planned.role_count);
	for (int i = 0; i < planned.role_count; i++) {
		compare_role(what, &measured->roles[i], &planned.roles[i]);
		compare_traffic(what, &measured->roles[i], &planned.roles[i], counted);
	}
	compare_ranks(what, measured, &planned, &m.plan);
	report_release(&planned);
	made_release(&m);
}
