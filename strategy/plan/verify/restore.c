/* Rule 9: a checkpoint holds each element of each state that a step reads before it writes, once over all ranks; and
 * the section restore brings it to every place that holds it, as it was saved.
 *
 *     step 2 → save, counted → prologue, version 0 → restore, version 2:     state is what step 2 left
 *
 * State that a step reads before it writes is carried from step to step (memory_age). Nothing is left here of other
 * state.
 */
#include <stdlib.h>

#include "strategy/plan/verify/meaning.h"

struct saving {
	/* how often: by each rank of a role its own part, or by the ranks of one role together; of no group: in all */
	int64_t *own[ITEM_COUNT][ROLES], *whole[ITEM_COUNT];
	int64_t once[ITEM_COUNT];
	int64_t buffers;           /* elements of the model's buffers, from the first on */
	struct meaning *gradients; /* by group: those that wait for the next step */
};

/* ---- saving ---- */

static enum meaning_kind kind_of(enum item i)
{
	static const enum meaning_kind kinds[] = {[ITEM_PARAMETERS] = MEANING_WEIGHTS,
	                                          [ITEM_ROUNDED] = MEANING_WEIGHTS,
	                                          [ITEM_FIRST_MOMENT] = MEANING_FIRST_MOMENT,
	                                          [ITEM_SECOND_MOMENT] = MEANING_SECOND_MOMENT,
	                                          [ITEM_GRADIENTS] = MEANING_GRADIENT,
	                                          [ITEM_STEP] = MEANING_COUNTER,
	                                          [ITEM_SCALER] = MEANING_SCALER,
	                                          [ITEM_RUNNING] = MEANING_RUNNING};
	return kinds[i];
}

static enum status save_group(const struct at *a)
{
	struct saving *v = a->ip->saving;
	enum item item = a->op->item;
	struct meaning x;
	TRY(read_group(a, SAVE_X, 9, &x));
	if (x.kind != kind_of(item) || x.version != a->ip->reads)
		return refuse_found(a, 9, SAVE_X, " must be %s as the last step left it", item_name(item));
	if (x.kind == MEANING_GRADIENT) {
		v->gradients[x.index] = x;
		v->gradients[x.index].shard = 0;
	}
	/* The same rule as for the weights that are shown in the end. */
	if (x.shard & 1 && a->p->role_count > 1)
		v->own[item][a->role][x.index]++;
	else
		v->whole[item][x.index] += a->r->ranks / plan_along(a->p, x.shard | group_slice_axes(a->p, x.index));
	return STATUS_OK;
}

static enum status save_running(const struct at *a)
{
	struct saving *v = a->ip->saving;
	enum status s = mean_buffers(a);
	if (!s && role_first_buffer(a->p, a->r) != v->buffers)
		s = refuse_at(a, 9, SAVE_X,
		              ": the model's buffers are saved once, in order; from [%lld] on they are not yet",
		              (long long)v->buffers);
	v->buffers += a->op->operand[SAVE_X].count;
	return s;
}

static bool is_counter_of(const struct meaning *x, int steps)
{
	return (x->kind == MEANING_ZERO && !steps) || (x->kind == MEANING_COUNTER && x->version == steps);
}

enum status mean_save(const struct at *a)
{
	enum item item = a->op->item;
	if (item_is_of_group(item))
		return save_group(a);
	if (item == ITEM_RUNNING)
		return save_running(a);
	a->ip->saving->once[item]++;
	if (item == ITEM_SCALER)
		return read_exactly(a, SAVE_X, 9, loss_scale(a, SAVE_X, a->ip->reads));
	return is_counter_of(meaning_at(a, SAVE_X), a->ip->reads)
	               ? STATUS_OK
	               : refuse_found(a, 9, SAVE_X, " must be the step counter, advanced %d times", a->ip->reads);
}

/* ---- restoring ---- */

static enum status restore_group(const struct at *a)
{
	struct meaning made = {.kind = kind_of(a->op->item), .index = a->op->group, .version = a->ip->reads};
	if (made.kind == MEANING_GRADIENT)
		made = a->ip->saving->gradients[a->op->group];
	made.shard = op_shard_axes(a->p, a->op) | a->op->operand[RESTORE_X].slice;
	if (plan_along(a->p, made.shard) == 1)
		made.shard = 0;
	return write_group(a, RESTORE_X, &made, false);
}

enum status mean_restore(const struct at *a)
{
	if (item_is_of_group(a->op->item))
		return restore_group(a);
	if (a->op->item == ITEM_RUNNING)
		return mean_buffers(a);
	write_meaning(a, RESTORE_X,
	              a->op->item == ITEM_SCALER ? loss_scale(a, RESTORE_X, a->ip->reads)
	                                         : (struct meaning){.kind = MEANING_COUNTER, .version = a->ip->reads});
	return STATUS_OK;
}

/* ---- what must have come out ---- */

/* The first operation that saves this state (group -1: of no group), for a refusal to name; -1: none does. */
static int op_that_saves(const struct role *r, enum item item, int group)
{
	const struct section *s = section_of(r, SECTION_SAVE);
	for (int i = s->begin; i < s->end; i++)
		if (r->ops[i].kind == OP_SAVE && r->ops[i].item == item && (group < 0 || r->ops[i].group == group))
			return i;
	return -1;
}

/* A place where state is. */
struct place {
	int role, buffer; /* -1: nowhere */
};

static bool carries(const struct interpreter *ip, const struct cells *c, enum item item, int group)
{
	for (int k = 0; c && k < c->count; k++) {
		const struct meaning *x = meaning_of(&ip->memory, c->blocks[k].own);
		if (x->kind == kind_of(item) && (group < 0 || x->index == group) &&
		    (item != ITEM_ROUNDED || ip->v->p->settings.stochastic_rounding))
			return true;
	}
	return false;
}

/* Where a step leaves the item for the next one: of a group, or (-1) at all. */
static struct place carrier(const struct interpreter *ip, const struct snapshot *left, enum item item, int group)
{
	const struct plan *p = ip->v->p;
	for (int i = 0; i < p->role_count; i++)
		for (int b = 0; b < p->roles[i].buffer_count; b++)
			if (carries(ip, left->cells[i][b], item, group))
				return (struct place){i, b};
	return (struct place){-1, -1};
}

/* at: what carries the state, which is named where no operation saves it. */
static enum status refuse_saved(const struct interpreter *ip, struct place at, enum item item, int group, int64_t times)
{
	const struct plan *p = ip->v->p;
	const struct role *r = &p->roles[at.role < 0 ? 0 : at.role];
	int op = op_that_saves(r, item, group);
	return refuse(ip->v, 9, r, op, op < 0 ? at.buffer : op_buffer(&r->ops[op]),
	              "section save must save each element of item %s%s%s once over all ranks, and saves it %lld times",
	              item_name(item), group < 0 ? "" : " of ", group < 0 ? "" : p->groups[group].name,
	              (long long)times);
}

static enum status check_group(const struct interpreter *ip, const struct snapshot *left, enum item item, int group)
{
	const struct saving *v = ip->saving;
	const struct plan *p = ip->v->p;
	int64_t own = 0, whole = v->whole[item][group];
	bool each_once = true;
	for (int i = 0; i < p->role_count; i++) {
		own += v->own[item][i][group];
		each_once &= v->own[item][i][group] == 1;
	}
	bool once = (each_once && !whole) || (!own && whole == 1), never = !own && !whole;
	struct place at = carrier(ip, left, item, group);
	return (at.buffer < 0 ? never : once) ? STATUS_OK : refuse_saved(ip, at, item, group, own + whole);
}

static enum status check_saved(const struct interpreter *ip, const struct snapshot *left)
{
	const struct plan *p = ip->v->p;
	enum status s = STATUS_OK;
	for (int i = 0; i < ITEM_COUNT && !s; i++) {
		enum item item = (enum item)i;
		for (int g = 0; g < p->group_count && item_is_of_group(item) && !s; g++)
			s = check_group(ip, left, item, g);
		if (s || item_is_of_group(item))
			continue;
		int64_t times = item == ITEM_RUNNING ? ip->saving->buffers == p->model->buffer_elements
		                                     : ip->saving->once[item];
		struct place at = carrier(ip, left, item, -1);
		if (times != (at.buffer >= 0) && (item != ITEM_RUNNING || p->model->buffer_elements))
			s = refuse_saved(ip, at, item, -1, times);
	}
	return s;
}

static bool is_state(enum meaning_kind k)
{
	return meaning_is_versioned(k) || k == MEANING_GRADIENT;
}

/* Running statistics of one rank are brought to all. */
static bool same_meaning(const struct interpreter *ip, int left, int now)
{
	struct meaning a = *meaning_of(&ip->memory, left), b = *meaning_of(&ip->memory, now);
	if (a.kind == MEANING_RUNNING)
		a.all_ranks = b.all_ranks = false;
	return left == now || meanings_equal(&a, &b);
}

static bool same_blocks(const struct interpreter *ip, const struct block *a, const struct block *b)
{
	bool framed = a->own != a->rest;
	return same_meaning(ip, a->own, b->own) && same_meaning(ip, a->rest, b->rest) &&
	       (!framed || (a->frame == b->frame && a->frame_count == b->frame_count && a->axes == b->axes));
}

/* True if this block has again what step 2 left in it. */
static bool is_back(const struct interpreter *ip, const struct cells *left, int block, const struct cells *now)
{
	const struct block *b = &left->blocks[block];
	int64_t end = block + 1 < left->count ? left->blocks[block + 1].begin : now->elements;
	for (int i = 0; i < now->count; i++) {
		int64_t to = i + 1 < now->count ? now->blocks[i + 1].begin : now->elements;
		if (to > b->begin && now->blocks[i].begin < end && !same_blocks(ip, b, &now->blocks[i]))
			return false;
	}
	return true;
}

static enum status check_buffer(struct interpreter *ip, const struct snapshot *left, int role, int buffer)
{
	const struct role *r = &ip->v->p->roles[role];
	const struct cells *then = left->cells[role][buffer];
	char text[300];
	for (int k = 0; then && k < then->count; k++) {
		const struct block *b = &then->blocks[k];
		if ((!is_state(meaning_of(&ip->memory, b->own)->kind) &&
		     !is_state(meaning_of(&ip->memory, b->rest)->kind)) ||
		    is_back(ip, then, k, ip->memory.cells[role][buffer]))
			continue;
		meaning_describe(&ip->memory, b->own, text, sizeof text);
		return refuse(
		        ip->v, 9, r, -1, buffer,
		        "after section restore it must hold what the last step left in it: from element %lld on, %s",
		        (long long)b->begin, text);
	}
	return STATUS_OK;
}

static enum status check_restored(struct interpreter *ip, const struct snapshot *left)
{
	const struct plan *p = ip->v->p;
	enum status s = STATUS_OK;
	for (int i = 0; i < p->role_count && !s; i++)
		for (int b = 0; b < p->roles[i].buffer_count && !s; b++)
			if (p->roles[i].buffers[b].state)
				s = check_buffer(ip, left, i, b);
	return s;
}

/* ---- the whole ---- */

static void saving_init(struct saving *v, const struct plan *p)
{
	size_t groups = (size_t)p->group_count;
	*v = (struct saving){.gradients = array_make(groups, sizeof *v->gradients)};
	for (int i = 0; i < ITEM_COUNT; i++) {
		v->whole[i] = array_make(groups, sizeof *v->whole[i]);
		for (int r = 0; r < p->role_count; r++)
			v->own[i][r] = array_make(groups, sizeof *v->own[i][r]);
	}
}

static void saving_release(struct saving *v, const struct plan *p)
{
	for (int i = 0; i < ITEM_COUNT; i++) {
		free(v->whole[i]);
		for (int r = 0; r < p->role_count; r++)
			free(v->own[i][r]);
	}
	free(v->gradients);
}

static enum status save_and_restore(struct interpreter *ip, const struct snapshot *left,
                                    enum status (*carry_out)(struct interpreter *ip, enum section_kind k))
{
	enum status s = carry_out(ip, SECTION_SAVE);
	if (s || (s = check_saved(ip, left)))
		return s;
	int reads = ip->reads, step = ip->step;
	ip->reads = ip->step = 0;
	s = carry_out(ip, SECTION_PROLOGUE);
	ip->reads = reads;
	ip->step = step;
	if (!s)
		s = carry_out(ip, SECTION_RESTORE);
	return s ? s : check_restored(ip, left);
}

enum status verify_restored(struct interpreter *ip,
                            enum status (*carry_out)(struct interpreter *ip, enum section_kind k))
{
	struct snapshot left;
	struct saving saving;
	if (!ip->v->p->settings.checkpoints)
		return STATUS_OK;
	saving_init(&saving, ip->v->p);
	ip->saving = &saving;
	snapshot_take(&left, &ip->memory);
	enum status s = save_and_restore(ip, &left, carry_out);
	snapshot_release(&left, &ip->memory);
	saving_release(&saving, ip->v->p);
	ip->saving = NULL;
	return s;
}
