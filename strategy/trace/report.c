#include "strategy/trace/report.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/list.h"
#include "strategy/plan/checkpoints.h"
#include "strategy/plan/saved.h"

const char *overhead_name(enum overhead_part part)
{
	static const char *const names[] = {OVERHEAD_LIST(SECOND)};
	return names[part];
}

const char *overhead_what(enum overhead_part part)
{
	static const char *const texts[] = {OVERHEAD_LIST(THIRD)};
	return texts[part];
}

static void report_memory(struct report_memory *m, const struct plan *p, const struct role *r, enum space space)
{
	struct memory_use use;
	if (!role_has_space(r, space))
		return;
	plan_memory(p, r, space, &use);
	m->peak_bytes = use.peak_bytes;
	m->arena_bytes = use.arena_bytes;
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		m->at_peak[c] = use.at_peak[c];
		m->steady[c] = use.steady[c];
	}
	if (use.peak_bytes) /* else it is a space of other sections than the step */
		plan_peak_describe(p, r, use.peak_op, m->peak_at, sizeof m->peak_at);
}

/* ---- communication ---- */

static bool is_collective(const struct op *op)
{
	return op_class(op->kind) == OP_CLASS_C;
}

/* True if all ranks send and receive the same, so that one speaks for all. */
static bool is_symmetric(const struct op *op)
{
	return op_is_message(op->kind) || schedule_row(op->algorithm)->symmetric;
}

/* The rank that sends and receives most of the bytes that count; the lowest of equals. */
static int64_t busiest_rank(const struct plan *p, const struct role *r)
{
	int *uneven = array_make((size_t)(r->step.end - r->step.begin), sizeof *uneven), count = 0;
	int64_t busiest = r->first_rank, most = -1;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (is_collective(&r->ops[i]) && r->ops[i].traffic != TRAFFIC_CONTROL && !is_symmetric(&r->ops[i]))
			uneven[count++] = i;
	for (int64_t rank = r->first_rank; count && rank < r->first_rank + r->ranks; rank++) {
		int64_t bytes = 0;
		for (int i = 0; i < count; i++)
			bytes += op_sent_bytes(p, r, &r->ops[uneven[i]], rank) +
			         op_received_bytes(p, r, &r->ops[uneven[i]], rank);
		if (bytes > most) {
			most = bytes;
			busiest = rank;
		}
	}
	free(uneven);
	return busiest;
}

static void report_traffic(struct report_traffic *by_kind, const struct plan *p, const struct role *r,
                           const struct section *s, int64_t rank)
{
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &r->ops[i];
		if (!is_collective(op))
			continue;
		struct report_traffic *t = &by_kind[op->traffic];
		t->calls += !op->joined;
		t->payload_bytes += op_payload_bytes(r, op);
		t->sent_bytes += op_sent_bytes(p, r, op, rank);
		t->received_bytes += op_received_bytes(p, r, op, rank);
	}
}

static void report_communication(struct report_role *out, const struct plan *p, const struct role *r)
{
	report_traffic(out->by_kind, p, r, &r->step, busiest_rank(p, r));
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		if (k == TRAFFIC_CONTROL)
			continue;
		out->sent_bytes += out->by_kind[k].sent_bytes;
		out->received_bytes += out->by_kind[k].received_bytes;
	}
}

static void report_transfers(struct report_transfer *transfer, const struct plan *p, const struct role *r)
{
	for (int i = r->step.begin; i < r->step.end; i++) {
		enum transfer_kind kind = op_transfer(r, &r->ops[i]);
		if (kind == TRANSFER_COUNT)
			continue;
		transfer[kind].calls++;
		transfer[kind].bytes += op_transfer_bytes(p, r, &r->ops[i]);
	}
}

/* Whatever gathers, gathers alike on all ranks of a role. */
static void report_gathering(struct report_gathering *out, const struct plan *p, const struct role *r)
{
	struct report_traffic by_kind[TRAFFIC_COUNT] = {{0}};
	report_traffic(by_kind, p, r, &r->epilogue, r->first_rank);
	out->sent_bytes = by_kind[TRAFFIC_ALL_GATHER].sent_bytes + by_kind[TRAFFIC_BROADCAST].sent_bytes;
	out->received_bytes = by_kind[TRAFFIC_ALL_GATHER].received_bytes + by_kind[TRAFFIC_BROADCAST].received_bytes;
	for (int space = 0; space < SPACE_COUNT && out->received_bytes; space++) {
		struct memory_use use;
		plan_section_peak(r, &r->epilogue, (enum space)space, &use);
		out->peak_bytes[space] = use.peak_bytes;
	}
}

bool report_gathers(const struct report *r)
{
	return r->role_count && r->roles[0].gathering.received_bytes;
}

/* ---- checkpointing ---- */

/* The kernels that a role carries out are a run of the model's, [begin, end): all of them, or those of a stage. */
static void kernels_of(const struct role *r, int *begin, int *end)
{
	*begin = INT_MAX;
	*end = 0;
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_K || op->pass != PASS_FORWARD)
			continue;
		*begin = op->kernel < *begin ? op->kernel : *begin;
		*end = op->kernel >= *end ? op->kernel + 1 : *end;
	}
}

/* Counts each kernel once: the root of `dp` and its workers carry out the same ones. It looks at operations, because
 * the strategy's name in a plan's text says nothing about who carries out what. */
static void report_checkpointing(struct report_checkpointing *out, const struct plan *p)
{
	struct checkpointing c;
	struct checkpoints made;
	struct arena arena = {0};
	snprintf(out->setting, sizeof out->setting, "%s", p->settings.checkpointing);
	if (checkpointing_parse(p->settings.checkpointing, &c) || c.mode == CHECKPOINTING_NONE)
		return;
	for (int i = 0, counted = 0; i < p->role_count && c.mode != CHECKPOINTING_SELECTIVE; i++) {
		int begin, end;
		kernels_of(&p->roles[i], &begin, &end);
		begin = begin > counted ? begin : counted;
		if (begin >= end)
			continue;
		checkpoints_make(&made, &arena, p->model, &c, begin, end);
		out->checkpoints += made.segments;
		counted = end;
	}
	out->tried = p->settings.checkpointing_tried;
	out->profile = c.profile;
	arena_release(&arena);
}

/* ---- the whole ---- */

/* ---- checkpoints ---- */

static void report_saved(struct report_saved *out, const struct plan *p)
{
	for (int64_t rank = 0; rank < p->ranks && p->settings.checkpoints; rank++) {
		int64_t bytes = plan_saved_bytes(p, SECTION_SAVE, rank);
		out->bytes += bytes;
		out->rank_bytes = bytes > out->rank_bytes ? bytes : out->rank_bytes;
	}
}

void report_from_plan(struct report *r, const struct plan *p)
{
	const struct settings *s = &p->settings;
	*r = (struct report){.parameters = p->model->parameters,
	                     .units = p->model->unit_count,
	                     .ranks = p->ranks,
	                     .batch = s->batch,
	                     .micro_batch = s->micro_batch,
	                     .accumulate = s->accumulate,
	                     .sequence = p->model->tokens,
	                     .whole_context = p->model->tokens == p->model->context,
	                     .precision = s->precision,
	                     .fp8 = s->fp8,
	                     .stochastic_rounding = s->stochastic_rounding,
	                     .role_count = p->role_count,
	                     .bubble = bubble_of(p),
	                     .speed.model_flops = p->model->training_flops * (double)s->batch,
	                     .validation_loss = __builtin_nan(""),
	                     .validation_accuracy = __builtin_nan("")};
	snprintf(r->model, sizeof r->model, "%s", p->model->name);
	bool asked = !strncmp(s->strategy, p->strategy, strlen(p->strategy));
	snprintf(r->strategy, sizeof r->strategy, "%s", asked ? s->strategy : p->strategy);
	report_asked(&r->asked, s);
	report_checkpointing(&r->checkpointing, p);
	report_saved(&r->saved, p);
	offload_print(&s->offload, r->offload, sizeof r->offload);
	for (int i = 0; i < p->role_count; i++) {
		struct report_role *role = &r->roles[i];
		snprintf(role->role, sizeof role->role, "%s", p->roles[i].name);
		role->ranks = p->roles[i].ranks;
		for (int space = 0; space < SPACE_COUNT; space++)
			report_memory(&role->memory[space], p, &p->roles[i], (enum space)space);
		report_communication(role, p, &p->roles[i]);
		report_transfers(role->transfer, p, &p->roles[i]);
		report_gathering(&role->gathering, p, &p->roles[i]);
	}
}

int64_t report_waiting(int64_t exposed, int64_t step)
{
	return step > 0 ? (int64_t)((double)exposed * 1e6 / (double)step) : 0;
}

void report_set_speed(struct report *r, double peak)
{
	struct report_speed *v = &r->speed;
	double steps = r->time.step > 0 && v->model_flops > 0 ? 1e9 / (double)r->time.step : 0; /* a second */
	double device = v->model_flops / (double)r->ranks * steps;
	v->units_per_s = (double)r->batch * (double)r->sequence * steps;
	v->tflops_per_device = device / 1e12;
	v->mfu = peak > 0 ? device / peak : 0;
}

void report_add_ranks(struct report *r, const struct plan *p)
{
	r->by_rank = array_make((size_t)p->ranks, sizeof *r->by_rank);
	for (int64_t i = 0; i < p->ranks; i++) {
		const struct role *role = plan_role_of(p, i);
		const struct report_role *same = &r->roles[role - p->roles];
		report_traffic(r->by_rank[i].by_kind, p, role, &role->step, i);
		memcpy(r->by_rank[i].transfer, same->transfer, sizeof same->transfer);
		for (int space = 0; space < SPACE_COUNT; space++) {
			r->by_rank[i].peak_bytes[space] = same->memory[space].peak_bytes;
			r->by_rank[i].arena_bytes[space] = same->memory[space].arena_bytes;
		}
	}
}

void report_release(struct report *r)
{
	if (!r)
		return;
	free(r->losses);
	free(r->by_rank);
	*r = (struct report){0};
}

enum report_fit report_fit(const struct report *r)
{
	int64_t apart = r->tightest.needed_bytes - r->tightest.capacity_bytes;
	if (*r->stack && r->tightest.space == SPACE_DEVICE && llabs(apart) <= r->tightest.capacity_bytes / REPORT_CLOSE)
		return FIT_CLOSE;
	return r->fits ? FIT_YES : FIT_NO;
}

const char *report_fit_word(const struct report *r)
{
	static const char *const words[] = {[FIT_YES] = "yes", [FIT_CLOSE] = "close", [FIT_NO] = "no"};
	return words[report_fit(r)];
}
