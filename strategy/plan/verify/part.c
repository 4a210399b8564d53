/* Reading and writing what belongs to a group: all of it, or this rank's slice of it. */
#include <stdio.h>

#include "strategy/plan/verify/meaning.h"

enum status refuse_found(const struct at *a, int rule, int operand, const char *format, ...)
{
	char text[600], found[300];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	memory_describe(a->memory, a->role, &a->op->operand[operand], -1, found, sizeof found);
	return refuse_at(a, rule, operand, "%s; %s", text, found);
}

const struct meaning *meaning_in(const struct at *a, const struct region *g)
{
	int number = memory_get(a->memory, a->role, g);
	return meaning_of(a->memory, number < 0 ? 0 : number);
}

const struct meaning *meaning_at(const struct at *a, int operand)
{
	return meaning_in(a, &a->op->operand[operand]);
}

/* ---- groups ---- */

static bool belongs_to_group(enum meaning_kind k)
{
	return k == MEANING_WEIGHTS || k == MEANING_FIRST_MOMENT || k == MEANING_SECOND_MOMENT || k == MEANING_GRADIENT;
}

/* This piece of an operand is no part of a group, or not what stands before it (-1: zeros). */
static enum status refuse_piece(const struct at *a, int operand, int rule, const struct memory_walk *w, bool known,
                                int before)
{
	const struct memory *m = a->memory;
	struct region piece = {a->op->operand[operand].buffer, 0, w->begin, w->end - w->begin};
	char text[300], other[200] = "zeros";
	memory_describe(m, a->role, &piece, -1, text, sizeof text);
	if (!known)
		return refuse_at(a, rule, operand, ": %s; let it be written, or brought together from all ranks, first",
		                 text);
	if (before >= 0)
		meaning_describe(m, before, other, sizeof other);
	return refuse_at(a, rule, operand, " is not the same throughout: %s, and before it stand %s", text, other);
}

/* Everything but zeros is one meaning; where zeros begin. */
static enum status one_meaning(const struct at *a, int operand, int rule, int *meaning, int64_t *zeros_at)
{
	const struct memory *m = a->memory;
	struct memory_walk w;
	*meaning = -1;
	*zeros_at = -1;
	memory_walk_begin(&w, m, a->role, &a->op->operand[operand]);
	while (memory_walk_next(&w)) {
		bool zero = w.meaning >= 0 && meaning_of(m, w.meaning)->kind == MEANING_ZERO;
		if (zero && *zeros_at < 0)
			*zeros_at = w.begin;
		if (zero)
			continue;
		bool known = w.meaning >= 0 && belongs_to_group(meaning_of(m, w.meaning)->kind);
		if (!known || (*meaning >= 0 && *meaning != w.meaning) || *zeros_at >= 0)
			return refuse_piece(a, operand, rule, &w, known, *meaning);
		*meaning = w.meaning;
	}
	return STATUS_OK;
}

enum status read_group(const struct at *a, int operand, int rule, struct meaning *out)
{
	const struct memory *m = a->memory;
	const struct region *g = &a->op->operand[operand];
	int64_t zeros_at;
	int meaning;
	char text[300];
	*out = (struct meaning){.kind = MEANING_ZERO, .index = -1};
	enum status s = one_meaning(a, operand, rule, &meaning, &zeros_at);
	if (s || meaning < 0)
		return s;
	const struct meaning *what = meaning_of(m, meaning);
	const struct group *group = &a->p->groups[what->index];
	unsigned slice = plan_along(a->p, g->slice) > 1 ? g->slice : 0;
	*out = *what;
	out->shard |= slice;
	out->origin = 0;
	int64_t count = group->padded / plan_along(a->p, what->shard);
	if (out->shard & group_slice_axes(a->p, what->index))
		return refuse_at(a, rule, operand,
		                 " is sliced along the axis that the group's tensors are sliced along already");
	meaning_describe(m, meaning, text, sizeof text);
	if (what->origin != g->offset || count != g->count || slice & what->shard)
		return refuse_at(a, rule, operand, " [%lld:%lld] is neither a whole group nor its slice: it holds %s",
		                 (long long)g->offset, (long long)g->count, text);
	if (zeros_at >= 0 && (what->shard || zeros_at - what->origin < group->elements))
		return refuse_at(a, rule, operand, ": zeros from [%lld] stand among %s", (long long)zeros_at, text);
	if (a->op->group >= 0 && a->op->group != what->index)
		return refuse_at(a, rule, operand, " must be of group %s; it holds %s", a->p->groups[a->op->group].name,
		                 text);
	return STATUS_OK;
}

enum status read_padding(const struct at *a, int operand, int rule, int64_t used)
{
	struct region rest = a->op->operand[operand];
	char text[300];
	rest.offset += used;
	rest.count -= used;
	if (rest.count < 1 || meaning_in(a, &rest)->kind == MEANING_ZERO)
		return STATUS_OK;
	memory_describe(a->memory, a->role, &rest, -1, text, sizeof text);
	return refuse_at(a, rule, operand, " is sent with its padding, which must be zeros from element %lld on; %s",
	                 (long long)used, text);
}

enum status read_exactly(const struct at *a, int operand, int rule, struct meaning want)
{
	return read_exactly_in(a, operand, &a->op->operand[operand], rule, want);
}

enum status read_exactly_in(const struct at *a, int operand, const struct region *g, int rule, struct meaning want)
{
	struct memory *m = a->memory;
	char text[300], wanted[300];
	int found = memory_get(m, a->role, g);
	if (found >= 0 && meanings_equal(meaning_of(m, found), &want))
		return STATUS_OK;
	int number = meaning_number(m, &want);
	memory_describe(m, a->role, g, number, text, sizeof text);
	meaning_describe(m, number, wanted, sizeof wanted);
	return refuse_at(a, rule, operand, " must hold %s; %s; %s", wanted, text,
	                 rule == 6 ? "initialise, update or gather them first, or point the operand at them"
	                           : "compute it before and keep it until here, or point the operand at it");
}

struct meaning loss_scale(const struct at *a, int operand, int version)
{
	return (struct meaning){.kind = MEANING_SCALER, .version = version, .origin = a->op->operand[operand].offset};
}

enum status read_scaler(const struct at *a, int operand)
{
	return read_exactly(a, operand, 5, loss_scale(a, operand, a->ip->reads));
}

/* Before the first delayed update there is no gradient yet: zeros, of the part that the region is as long as. */
static enum status read_no_gradient(const struct at *a, int operand, struct meaning *out)
{
	const struct plan *p = a->p;
	const struct region *g = &a->op->operand[operand];
	int64_t padded = p->groups[a->op->group].padded;
	unsigned shard = g->count == padded ? 0 : plan_data_axes(p) & ~plan_axis(p, "replica");
	unsigned own = shard | g->slice;
	if (out->kind != MEANING_ZERO || g->count * plan_along(p, shard) != padded || shard & g->slice)
		return refuse_at(
		        a, 5, operand,
		        " must be zeros before the first step, of a group or its slice: the update is delayed, "
		        "and there is no gradient yet");
	if (plan_along(p, own) == 1)
		own = 0;
	*out = (struct meaning){.kind = MEANING_GRADIENT, .index = a->op->group, .shard = own};
	return STATUS_OK;
}

enum status read_gradient_complete(const struct at *a, int operand, struct meaning *out)
{
	const struct plan *p = a->p;
	int wanted = a->ip->step - verify_lag(a->ip->v);
	char text[200];
	TRY(read_group(a, operand, 5, out));
	if (!wanted)
		return read_no_gradient(a, operand, out);
	if (out->kind != MEANING_GRADIENT)
		return refuse_at(a, 5, operand,
		                 " holds no gradient; let the backward pass and the collectives write it first");
	if (out->version != wanted)
		return refuse_at(a, 6, operand,
		                 " holds the gradient of step %d; the update of step %d applies that of %d",
		                 out->version, a->ip->step, wanted);
	if (sum_is_complete(&a->memory->sums, out->sum, (int)p->settings.accumulate, group_sum_axes(p, out->index)))
		return STATUS_OK;
	sum_describe(&a->memory->sums, out->sum, text, sizeof text);
	return refuse_at(a, 5, operand,
	                 " must be the gradient of %s over micro-batches 0 to %lld of all ranks, each use once; it "
	                 "holds %s; let every backward kernel add to it, and reduce it over the ranks once",
	                 p->groups[out->index].name, (long long)p->settings.accumulate - 1, text);
}

enum status write_group(const struct at *a, int operand, const struct meaning *part, bool keep_padding)
{
	struct memory *m = a->memory;
	const struct region *g = &a->op->operand[operand];
	struct meaning what = {.kind = MEANING_ZERO};
	if (part->kind != MEANING_ZERO) {
		what = *part;
		what.shard &= plan_along(a->p, g->slice) > 1 ? ~g->slice : ~0u;
		what.origin = g->offset;
	}
	if (keep_padding && !what.shard)
		memory_set_but_zeros(m, a->role, g, meaning_number(m, &what));
	else if (!memory_set(m, a->role, g, meaning_number(m, &what)))
		return refuse_at(a, 6, operand, " is a slice of a range that is sliced another way already");
	return STATUS_OK;
}

/* ---- values and sums ---- */

void write_meaning(const struct at *a, int operand, struct meaning what)
{
	(void)memory_set(a->memory, a->role, &a->op->operand[operand], meaning_number(a->memory, &what));
}

enum status write_sum(const struct at *a, int operand, struct meaning now, const char *what, const char *name, int at,
                      int use, int uses, unsigned axes)
{
	if (a->op->accumulate >> operand & 1) {
		struct meaning there = *meaning_at(a, operand);
		bool same = there.kind == now.kind && there.index == now.index && there.origin == now.origin &&
		            there.version == now.version && !there.shard;
		if (!same && there.kind != MEANING_ZERO)
			return refuse_found(a, 5, operand, " is added to, and must hold %s%s so far", what, name);
		if (same && there.scaled != now.scaled)
			return refuse_at(a, 5, operand, " is added to, and %s%s so far carries another loss scale",
			                 what, name);
		now.sum = same ? there.sum : 0;
	}
	now.sum = sum_add(&a->memory->sums, now.sum, at, use, uses, axes);
	if (now.sum < 0)
		return refuse_at(a, 5, operand, ": this contribution to %s%s is in there already", what, name);
	write_meaning(a, operand, now);
	return STATUS_OK;
}

/* ---- collectives ---- */

const struct at *at_root(const struct at *all)
{
	int64_t rank = op_member_rank(all->p, all->op, all->r->first_rank, all->op->root);
	int i = 0;
	while (i + 1 < all->participants && rank >= all[i].r->first_rank + all[i].r->ranks)
		i++;
	return &all[i];
}

struct region without_padding(const struct at *a)
{
	bool gathers = operation_row(op_operation(a->op->kind))->before == EXTENT_SLICE;
	struct region g = *op_region(a->op, gathers ? PART_SHARE : PART_WHOLE);
	if (a->op->payload < g.count)
		g.count = a->op->payload;
	return g;
}

static bool same_but_place(struct meaning a, const struct meaning *b)
{
	a.origin = b->origin;
	return meanings_equal(&a, b);
}

enum status read_all(const struct at *all, int rule, int operand,
                     enum status (*read)(const struct at *a, struct meaning *out), struct meaning *out)
{
	for (int i = 0; i < all->participants; i++) {
		struct meaning x = {0};
		TRY(read(&all[i], &x));
		if (i && !same_but_place(x, out))
			return refuse_at(&all[i], rule, operand, " is not what the other role gives");
		*out = x;
	}
	return STATUS_OK;
}

void write_all(const struct at *all, struct meaning what)
{
	for (int i = 0; i < all->participants; i++) {
		const struct at *a = &all[i];
		bool in_place = op_find(a->op->kind, PART_SHARE) < 0; /* y is the second operand of all others */
		struct region g = in_place ? without_padding(a) : a->op->operand[ALL_GATHER_Y];
		what.origin = g.offset;
		(void)memory_set(a->memory, a->role, &g, meaning_number(a->memory, &what));
	}
}
