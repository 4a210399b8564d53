/* Checks what all other rules rely on: indices and regions in range, sections in a row, roles that cover the ranks,
 * groups that hold the model's tensors. */
#include <string.h>

#include "strategy/plan/verify/verify.h"

/* All buffers of a role side by side must stay within 63 bits: no sum of offsets can overflow then. */
#define MOST_ELEMENTS ((int64_t)1 << 59)
#define MOST_BYTES ((int64_t)1 << 62)

static enum status check_roles(const struct verify *v)
{
	const struct plan *p = v->p;
	int64_t next = 0, along = 1;
	for (int i = 0; i < p->axis_count && along > 0; i++)
		along = p->axes[i].size < 1 || p->axes[i].size > p->ranks / along ? 0 : along * p->axes[i].size;
	if (p->axis_count < 1 || p->axis_count > PLAN_AXES || along != p->ranks)
		return refuse(v, 2, NULL, -1, -1, "its axes are not those of %lld ranks", (long long)p->ranks);
	for (int i = 0; i < p->axis_count; i++)
		if (p->axes[i].sequence && strcmp(p->axes[i].name, "tensor") != 0)
			return refuse(v, 2, NULL, -1, -1, "axis %s: only ranks along axis tensor share a sequence",
			              p->axes[i].name);
	if (plan_axis(p, "tensor") & plan_data_axes(p))
		return refuse(v, 2, NULL, -1, -1,
		              "axis tensor is a data axis; ranks that share a model work on the same samples");
	if (p->role_count < 1 || p->role_count > ROLES || p->ranks < 1 || p->settings.ranks != p->ranks)
		return refuse(v, 2, NULL, -1, -1, "%d roles, %lld ranks: a plan has 1 to %d roles and a rank at least",
		              p->role_count, (long long)p->ranks, ROLES);
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		if (r->ranks < 1 || r->first_rank != next || r->ranks > p->ranks - next)
			return refuse(v, 2, r, -1, -1,
			              "roles must cover rank 0 to rank %lld once each, in order; the next begins at "
			              "rank %lld",
			              (long long)(p->ranks - 1), (long long)next);
		next += r->ranks;
		if (!roles_follow_axes(p, r))
			return refuse(v, 2, r, -1, -1, "roles divide the first axis, %s, and nothing else",
			              p->axes[0].name);
	}
	if (next != p->ranks)
		return refuse(v, 2, &p->roles[p->role_count - 1], -1, -1, "no role has rank %lld to rank %lld",
		              (long long)next, (long long)(p->ranks - 1));
	return STATUS_OK;
}

static enum status check_sections(const struct verify *v, const struct role *r)
{
	int next = 0;
	int64_t left = MOST_BYTES;
	for (int k = 0; k < SECTION_KINDS; k++) {
		const struct section *s = section_of(r, (enum section_kind)k);
		if (s->begin != next || s->end < s->begin || s->end > r->op_count)
			return refuse(v, 2, r, -1, -1, "its sections do not follow one another without a gap");
		next = s->end;
	}
	if (next != r->op_count)
		return refuse(v, 2, r, -1, -1, "operations %d to %d are in no section", next, r->op_count - 1);
	for (int i = 0; i < r->buffer_count; i++) {
		const struct buffer *b = &r->buffers[i];
		if (b->elements < 1 || b->elements > MOST_ELEMENTS || buffer_bytes(b) > left)
			return refuse(v, 2, r, -1, i, "%lld elements: sizes are from 1 to 2^59, and 2^62 bytes in all",
			              (long long)b->elements);
		left -= buffer_bytes(b);
	}
	return STATUS_OK;
}

/* Each tensor stands in one group, at its place; groups stand one after another, padded to equal slices. */
static enum status check_groups(const struct verify *v)
{
	const struct plan *p = v->p;
	int64_t base = 0;
	int tensors = 0;
	for (int i = 0; i < p->group_count; i++) {
		const struct group *g = &p->groups[i];
		int64_t at = 0;
		for (int k = 0; k < g->tensor_count; k++, tensors++) {
			int t = g->tensors[k];
			if (t < 0 || t >= p->model->tensor_count || p->tensor_group[t] != i ||
			    p->tensor_offset[t] != at)
				return refuse(v, 2, NULL, -1, -1,
				              "group %s: its tensor number %d is not at its place; pack tensors one "
				              "after another",
				              g->name, k);
			at += p->model->tensors[t].elements;
		}
		for (int k = 1; k < g->tensor_count; k++)
			if ((p->model->tensors[g->tensors[k]].partition != PARTITION_NONE) != group_is_sliced(p, i) ||
			    p->model->tensors[g->tensors[k]].sequence_parallel !=
			            p->model->tensors[g->tensors[0]].sequence_parallel)
				return refuse(v, 2, NULL, -1, -1,
				              "group %s holds slices and whole tensors, or those of norms and others; "
				              "each need a group of their own",
				              g->name);
		if (g->elements != at || g->base != base || g->padded < at || g->padded - at >= p->ranks || !at)
			return refuse(v, 2, NULL, -1, -1,
			              "group %s: base %lld, elements %lld, padded %lld must be %lld, %lld, and padded "
			              "to less than a multiple of the ranks more",
			              g->name, (long long)g->base, (long long)g->elements, (long long)g->padded,
			              (long long)base, (long long)at);
		base += g->padded;
	}
	if (tensors != p->model->tensor_count || base != p->group_elements)
		return refuse(v, 2, NULL, -1, -1, "the groups hold %d of %d tensors; each belongs to one group",
		              tensors, p->model->tensor_count);
	return STATUS_OK;
}

static enum status check_region(const struct at *a, int operand)
{
	const struct region *g = &a->op->operand[operand];
	if (g->buffer >= a->r->buffer_count || g->buffer < -1)
		return refuse(a->v, 2, a->r, a->number, -1, "operand %s names a buffer that is not there",
		              op_operand_name(a->op->kind, operand));
	if (g->buffer < 0)
		return op_operand_optional(a->op->kind, operand) ? STATUS_OK : refuse_at(a, 2, operand, " is missing");
	int64_t elements = a->r->buffers[g->buffer].elements;
	if (g->offset < 0 || g->count < 1 || g->offset > elements || g->count > elements - g->offset)
		return refuse_at(a, 2, operand, " is [%lld:%lld] of a buffer of %lld elements", (long long)g->offset,
		                 (long long)g->count, (long long)elements);
	if (op_class(a->op->kind) == OP_CLASS_M && (g->slice || g->offset || g->count != elements))
		return refuse_at(a, 3, operand, " is allocated and freed whole, not in parts");
	if (g->slice & ~plan_all_axes(a->p))
		return refuse_at(a, 2, operand, " is a slice along axes that the plan does not have");
	if (g->count % plan_along(a->p, g->slice))
		return refuse_at(a, 2, operand, ": %lld elements do not divide into %lld slices", (long long)g->count,
		                 (long long)plan_along(a->p, g->slice));
	return STATUS_OK;
}

/* A queue reaches one space, or copies between two: an operation whose operands stand elsewhere cannot be carried out.
 */
static enum status check_queue(const struct at *a)
{
	enum queue queue = op_queue_for(a->r, a->op);
	int buffer = op_buffer(a->op);
	if (a->op->queue == queue)
		return STATUS_OK;
	if (queue == QUEUE_COUNT)
		return refuse_op(
		        a, 2,
		        "is in %s memory: no queue carries out this kind with operands where they stand; kernels and "
		        "collectives work on device memory, vector work on device or host memory, copies cross "
		        "between device and host, and host and disk",
		        buffer >= 0 ? space_name(a->r->buffers[buffer].space) : "no");
	return refuse_op(a, 2, "is on queue %s; with operands where they stand it runs on %s",
	                 (int)a->op->queue < QUEUE_COUNT ? queue_name(a->op->queue) : "?", queue_name(queue));
}

static enum status check_op(const struct at *a)
{
	const struct op *op = a->op;
	unsigned may_add = 0;
	if (op->kind >= OP_KIND_COUNT)
		return refuse(a->v, 2, a->r, -1, -1, "operation %d is of no known kind", a->number);
	if (op->kernel < -1 || op->kernel >= a->p->model->kernel_count || op->group < -1 ||
	    op->group >= a->p->group_count || op->unit < -1 || op->unit >= a->p->model->unit_count || op->micro < -1 ||
	    op->micro >= a->p->settings.accumulate || op->pass > PASS_UPDATE)
		return refuse(a->v, 2, a->r, -1, -1,
		              "operation %d, %s: kernel, unit, group, micro-batch or pass is out of range", a->number,
		              op_name(op->kind));
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		TRY(check_region(a, i));
		if (op_declared_access(op->kind, i) == 'a' && op->operand[i].buffer >= 0)
			may_add |= 1u << i;
	}
	TRY(check_queue(a));
	if (op->accumulate & ~may_add)
		return refuse_op(a, 2, "adds to an operand that this kind only overwrites");
	if (op->all_ranks && plan_data_ranks(a->p) == 1)
		return refuse_op(a, 2, "works on the samples of all ranks, and there are no others");
	return verify_group(a);
}

enum status verify_structure(const struct verify *v)
{
	enum status s;
	if ((s = check_roles(v)) || (s = check_groups(v)))
		return s;
	if (v->p->settings.accumulate < 1 || v->p->settings.micro_batch < 1)
		return refuse(v, 2, NULL, -1, -1, "micro_batch and accumulate must be 1 at least");
	for (int i = 0; i < v->p->role_count && !s; i++)
		s = check_sections(v, &v->p->roles[i]);
	return s ? s : verify_each(v, check_op);
}
