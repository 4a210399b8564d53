#include "strategy/strategies/alone.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/near.h"
#include "strategy/base/number.h"
#include "strategy/collective/algorithms.h"
#include "strategy/collective/check.h"
#include "strategy/plan/build.h"

/* ---- names ---- */

/* All-reduces of two schedules: a reduce to rank 0 and a broadcast from it. */
static const struct alone composed[] = {
        {"star-all-reduce", OPERATION_ALL_REDUCE, {SCHEDULE_STAR_REDUCE, SCHEDULE_STAR_BROADCAST}, 2},
        {"tree-all-reduce", OPERATION_ALL_REDUCE, {SCHEDULE_TREE_REDUCE, SCHEDULE_TREE_BROADCAST}, 2},
        {"chain-all-reduce", OPERATION_ALL_REDUCE, {SCHEDULE_CHAIN_REDUCE, SCHEDULE_CHAIN_BROADCAST}, 2},
};
enum { COMPOSED = sizeof composed / sizeof composed[0] };

bool alone_at(int i, struct alone *out)
{
	if (i >= schedule_count() + COMPOSED)
		return false;
	if (i >= schedule_count()) {
		*out = composed[i - schedule_count()];
		return true;
	}
	const struct algorithm *a = schedule_row((enum schedule_algorithm)i);
	*out = (struct alone){.operation = a->operation, .part = {(enum schedule_algorithm)i}, .parts = 1};
	snprintf(out->name, sizeof out->name, "%s-%s", a->name, operation_name(a->operation));
	return true;
}

enum status alone_find(const char *where, const char *name, struct alone *out)
{
	struct near near = {.typed = name};
	struct alone all[SCHEDULE_COUNT + COMPOSED + OWN_ALGORITHMS];
	for (int i = 0; alone_at(i, &all[i]); i++) {
		*out = all[i];
		if (!strcmp(out->name, name))
			return STATUS_OK;
		near_consider(&near, all[i].name);
	}
	return status_fail(STATUS_INPUT, "%s: unknown collective '%.40s'%s; known: %s", where, name, near_words(&near),
	                   near.known);
}

bool plan_is_alone(const struct plan *p)
{
	struct alone one;
	for (int i = 0; alone_at(i, &one); i++)
		if (!strcmp(one.name, p->strategy))
			return true;
	return false;
}

/* ---- the plan ---- */

enum { ELEMENT = 4, SUM_MOST = 4 * ELEMENT };

enum status alone_check(int64_t ranks, int64_t bytes)
{
	if (ranks < 2)
		return status_fail(STATUS_INPUT, "{ranks} %lld: a collective needs at least 2 ranks", (long long)ranks);
	if (ranks > ALONE_RANKS)
		return status_fail(STATUS_INPUT, "{ranks} %lld: at most %d", (long long)ranks, ALONE_RANKS);
	if (bytes < ELEMENT || bytes % ELEMENT)
		return status_fail(STATUS_INPUT,
		                   "{bytes} %lld: a message is whole elements of fp32, so a multiple of %d bytes, and "
		                   "not empty",
		                   (long long)bytes, ELEMENT);
	if (bytes > ALONE_BYTES)
		return status_fail(STATUS_INPUT, "{bytes} %lld: at most 1 PB", (long long)bytes);
	return STATUS_OK;
}

/* One group, which has the model's only tensor. */
static void pack_one(struct plan *p, bool slices)
{
	int64_t elements = p->model->parameters;
	struct group *g = p->groups = arena_alloc(&p->arena, sizeof *p->groups);
	p->group_count = 1;
	p->tensor_group = arena_alloc(&p->arena, sizeof *p->tensor_group);
	p->tensor_offset = arena_alloc(&p->arena, sizeof *p->tensor_offset);
	p->tensor_group[0] = 0;
	p->tensor_offset[0] = 0;
	*g = (struct group){
	        .name = "the buffer", .elements = elements, .padded = slices ? round_up(elements, p->ranks) : elements};
	g->tensors = arena_alloc(&p->arena, sizeof *g->tensors);
	g->tensors[0] = 0;
	g->tensor_count = 1;
	p->group_elements = g->padded;
}

static bool has_shares(enum operation o)
{
	return operation_has_root(o) && operation_has_slices(o);
}

static const struct {
	enum op_kind kind;
	enum traffic_kind traffic;
	enum category category; /* of what it works on */
} operations[OPERATION_COUNT] = {
        [OPERATION_ALL_REDUCE] = {OP_ALL_REDUCE, TRAFFIC_ALL_REDUCE, CATEGORY_GRADIENTS},
        [OPERATION_REDUCE_SCATTER] = {OP_REDUCE_SCATTER, TRAFFIC_REDUCE_SCATTER, CATEGORY_GRADIENTS},
        [OPERATION_ALL_GATHER] = {OP_ALL_GATHER, TRAFFIC_ALL_GATHER, CATEGORY_PARAMETERS},
        [OPERATION_BROADCAST] = {OP_BROADCAST, TRAFFIC_BROADCAST, CATEGORY_PARAMETERS},
        [OPERATION_REDUCE] = {OP_REDUCE, TRAFFIC_REDUCE, CATEGORY_GRADIENTS},
        [OPERATION_SCATTER] = {OP_SCATTER, TRAFFIC_SCATTER_INPUTS, CATEGORY_ACTIVATIONS},
        [OPERATION_GATHER] = {OP_GATHER, TRAFFIC_GATHER_OUTPUTS, CATEGORY_ACTIVATIONS},
        [OPERATION_SUM] = {OP_SUM, TRAFFIC_CONTROL, CATEGORY_BUFFERS},
};

/* The buffers that a rank's part of the program works on: the whole, and its share. */
struct hands {
	struct region whole, share;
};

static void issue(struct build *b, enum schedule_algorithm algorithm, const struct hands *h)
{
	enum operation o = schedule_row(algorithm)->operation;
	struct op *op = build_op(b, operations[o].kind, QUEUE_COMMUNICATION);
	op->algorithm = algorithm;
	op->traffic = operations[o].traffic;
	op->payload = b->plan->groups[0].elements;
	op->group = o == OPERATION_SUM ? -1 : 0;
	build_operand(op, PART_WHOLE, h->whole, false);
	build_operand(op, PART_SHARE, h->share, false);
}

static struct hands state_for(struct build *b, const struct alone *what, bool root)
{
	const struct plan *p = b->plan;
	int64_t padded = p->groups[0].padded;
	enum category c = operations[what->operation].category;
	struct hands h = {region_none(), region_none()};
	if (has_shares(what->operation)) {
		h.share = region_whole(b, build_state(b, "the share", c, TYPE_FP32, padded / p->ranks));
		if (root)
			h.whole = region_whole(b, build_state(b, "the buffer", c, TYPE_FP32, padded));
		return h;
	}
	int buffer = build_state(b, "the buffer", c, TYPE_FP32, padded);
	h.whole = region_whole(b, buffer);
	h.share = region_slice(buffer, plan_all_axes(p), 0, padded);
	return h;
}

static void compile_role(struct plan *p, struct role *r, const struct alone *what)
{
	struct build b = {.plan = p, .role = r};
	build_section(&b, &r->prologue);
	struct hands h = state_for(&b, what, r->first_rank == 0);
	build_section(&b, &r->step);
	for (int i = 0; i < what->parts; i++)
		issue(&b, what->part[i], &h);
	build_section(&b, &r->evaluate);
	build_section(&b, &r->save);
	build_section(&b, &r->restore);
	build_section(&b, &r->epilogue);
	build_free_state(&b);
	build_section(&b, NULL);
}

static void compile(struct plan *p, const struct alone *what, int64_t ranks)
{
	plan_one_axis(p);
	pack_one(p, what->operation != OPERATION_SUM);
	bool two = has_shares(what->operation);
	p->role_count = two ? 2 : 1;
	p->roles[0] = (struct role){.name = two ? "root" : "rank", .ranks = two ? 1 : ranks};
	p->roles[1] = (struct role){.name = "worker", .first_rank = 1, .ranks = ranks - 1};
	for (int i = 0; i < p->role_count; i++)
		compile_role(p, &p->roles[i], what);
}

/* The verifier does not see such a plan, so the user's own algorithms are checked here. */
static enum status check_own(const struct alone *what, int64_t ranks)
{
	struct schedule_fault why;
	for (int i = 0; i < what->parts; i++)
		if (!schedule_check_own(what->part[i], ranks, 0, &why))
			return status_fail(STATUS_REFUSED, "rule %d (%s): %s: %s", why.rule, rule_name(why.rule),
			                   what->name, why.words);
	return STATUS_OK;
}

enum status alone_open(struct plan *p, struct model *m, const struct alone *what, int64_t ranks, int64_t bytes)
{
	char words[64];
	*p = (struct plan){0};
	enum status s = alone_check(ranks, bytes);
	if (!s && what->operation == OPERATION_SUM && bytes > SUM_MOST)
		s = status_fail(STATUS_INPUT, "{bytes} %lld: a %s is of up to 4 numbers, %d bytes", (long long)bytes,
		                what->name, SUM_MOST);
	if (s || (s = check_own(what, ranks)))
		return s;
	snprintf(words, sizeof words, "params=%lld:units=1", (long long)(bytes / ELEMENT));
	if ((s = model_open(m, words, 0)))
		return s;
	p->settings = settings_default();
	p->settings.ranks = p->ranks = ranks;
	p->settings.library_collectives = true; /* it is not run here, so that no staging stands beside the buffer */
	snprintf(p->settings.strategy, sizeof p->settings.strategy, "%s", what->name);
	snprintf(p->settings.model, sizeof p->settings.model, "%s", words);
	p->strategy = arena_print(&p->arena, "%s", what->name);
	p->model = m;
	s = settings_resolve(&p->settings, ranks);
	if (s) {
		plan_release(p);
		model_release(m);
		return s;
	}
	compile(p, what, ranks);
	return STATUS_OK;
}
