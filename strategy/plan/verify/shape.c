/* Rule 2, for operations alone: each is where it belongs, and its operands are as many elements of the type that the
 * table of operations (strategy/plan/ops.def) demands of the other operands, the settings and the model's kernel. */
#include <math.h>

#include "strategy/base/number.h"
#include "strategy/plan/verify/verify.h"

/* ---- presence, sizes and types ---- */

/* State and gradients are packed in groups, of which ranks have slices; all else is used whole. */
static bool may_be_slice(enum part part)
{
	return part == PART_NONE || part == PART_GRADIENTS || part == PART_MASTER || part == PART_PARAMETERS ||
	       part == PART_FIRST_MOMENT || part == PART_SECOND_MOMENT;
}

/* The factor of the loss belongs to the rule of gradients, and whether an update happens to that of versions. */
static int rule_of(const struct op *op, enum part part)
{
	bool update = op_class(op->kind) == OP_CLASS_V;
	return update && part == PART_SCALER ? 5 : update && part == PART_OVERFLOW ? 6 : 2;
}

static enum status check_operand(const struct at *a, int operand, const struct op_sizes *sizes)
{
	const struct region *g = &a->op->operand[operand];
	enum part part = op_part(a->op->kind, operand);
	enum presence presence = operand_presence(a->op->kind, operand, sizes);
	int64_t elements = region_elements(a->p, g), wanted = operand_elements(a->op->kind, operand, sizes);
	if (presence != PRESENT_MAYBE && (presence == PRESENT_ALWAYS) != (g->buffer >= 0))
		return refuse_at(a, rule_of(a->op, part), operand, " %s: %s",
		                 presence == PRESENT_NOT ? "has no place" : "is missing",
		                 a->op->kernel >= 0 ? "see the model's kernel" : "see the plan's precision and clip");
	if (g->buffer < 0)
		return STATUS_OK;
	if (g->slice && !may_be_slice(part))
		return refuse_at(a, 2, operand, " is a slice; it is used whole");
	if (wanted >= 0 && elements != wanted)
		return refuse_at(a, 2, operand, " is %lld elements; it must be %lld", (long long)elements,
		                 (long long)wanted);
	enum type type = a->r->buffers[g->buffer].type, must = op_operand_type(a->p, a->r, a->op, operand);
	if (type != must)
		return refuse_at(a, 2, operand, " is %s; it must be %s", type_name(type), type_name(must));
	return STATUS_OK;
}

/* ---- vector operations ---- */

/* True if the first load of the step is "row". All loads must cut the batch alike; evaluation has a batch of its
 * own. */
static bool loads_in_a_row(const struct at *a)
{
	const struct role *r = &a->p->roles[0];
	for (int i = r->step.begin; i < r->step.end && a->section == SECTION_STEP; i++)
		if (r->ops[i].kind == OP_LOAD)
			return r->ops[i].in_a_row;
	return false;
}

static enum status check_load(const struct at *a)
{
	if (a->op->micro < 0)
		return refuse_op(a, 2, "needs a micro-batch");
	if (a->op->operand[LOAD_INPUTS].buffer < 0 && a->op->operand[LOAD_TARGETS].buffer < 0)
		return refuse_op(a, 2, "loads neither inputs nor targets");
	if (a->op->in_a_row != loads_in_a_row(a))
		return refuse_op(a, 5,
		                 a->op->in_a_row ? "is \"row\" and the first load of the step is not"
		                                 : "is not \"row\" as the first load of the step is; some samples "
		                                   "would be taken twice");
	return STATUS_OK;
}

static enum status must_have_group(const struct at *a)
{
	return a->op->group >= 0 ? STATUS_OK : refuse_op(a, 2, "names no group");
}

/* The parameters of its group, or this rank's shard of them. */
static enum status check_group_operand(const struct at *a)
{
	const struct region *g = op_region(a->op, PART_PARAMETERS);
	TRY(must_have_group(a));
	int64_t padded = a->p->groups[a->op->group].padded, shards = plan_along(a->p, op_shard_axes(a->p, a->op));
	if (padded % shards || g->count != padded / shards)
		return refuse_op(a, 2, "%lld elements; the group has %lld, and a slice of it %lld", (long long)g->count,
		                 (long long)padded, (long long)(padded / shards));
	if (g->slice & op_shard_axes(a->p, a->op))
		return refuse_op(a, 2, "is a slice of a shard along the same axes");
	return STATUS_OK;
}

static enum status check_optimizer(const struct at *a)
{
	const struct settings *t = &a->p->settings;
	if ((a->op->kind == OP_ADAMW) != (t->optimizer == OPTIMIZER_ADAMW))
		return refuse_op(a, 2, "the plan's optimizer is %s", optimizer_name(t->optimizer));
	if (a->op->stochastic != t->stochastic_rounding || (a->op->stochastic && t->precision == TYPE_FP32))
		return refuse_op(a, 2, "%s stochastically; the plan has stochastic_rounding %s, and precision %s",
		                 a->op->stochastic ? "rounds" : "does not round", t->stochastic_rounding ? "yes" : "no",
		                 type_name(t->precision));
	/* Elements are numbered by where they stand in their group. */
	return a->op->stochastic ? check_group_operand(a) : must_have_group(a);
}

/* True if one of the model's buffers ends with this element. */
static bool ends_a_buffer(const struct model *m, int64_t end)
{
	bool ends = false;
	for (int i = 0; i < m->buffer_count; i++)
		ends |= m->buffers[i].offset + m->buffers[i].elements == end;
	return ends;
}

/* All buffers of the model, which collectives want padded to whole slices; a stage's, its own. */
static enum status check_buffers(const struct at *a)
{
	const struct region *g = op_region(a->op, PART_RUNNING);
	int64_t n = a->p->model->buffer_elements;
	int64_t all = a->op->kind == OP_INITIALIZE_BUFFERS ? round_up(n, a->p->ranks) : n;
	bool of_stage = plan_axis(a->p, "stage") && a->r->ranks == 1;
	if (of_stage ? ends_a_buffer(a->p->model, role_first_buffer(a->p, a->r) + g->count) : n && g->count == all)
		return STATUS_OK;
	return refuse_op(a, 2, "%lld elements are not the model's buffers, of %lld", (long long)g->count,
	                 (long long)all);
}

static enum status check_scaler(const struct at *a)
{
	const struct settings *t = &a->p->settings;
	const struct loss_scale_rule *rule = loss_scale_rule(t->loss_scaler);
	if (t->loss_scaler == LOSS_SCALER_NONE)
		return refuse_op(a, 2, "the plan has no loss scaler");
	/* In the plan's text they may be anything. */
	if (!((float)t->loss_scale > 0) || !isfinite((float)t->loss_scale) || t->loss_scale < rule->minimum ||
	    t->loss_scale_window < 1 || t->loss_scale_window > LOSS_SCALE_MOST_WINDOW)
		return refuse_op(a, 2, "loss_scale %g or loss_scale_window %lld is out of range", t->loss_scale,
		                 (long long)t->loss_scale_window);
	return STATUS_OK;
}

/* The type and the number of elements of an item that is of no group; the model's buffers may be padded. */
static enum status check_whole_item(const struct at *a)
{
	const struct region *g = op_region(a->op, PART_PARAMETERS);
	enum type type = a->r->buffers[g->buffer].type;
	bool right = false;
	if (a->op->item == ITEM_STEP)
		right = type == TYPE_I64 && g->count == 1;
	else if (a->op->item == ITEM_SCALER)
		right = type == TYPE_FP32 && g->count == LOSS_SCALE_ELEMENTS;
	else
		right = type == TYPE_FP32 && g->count <= round_up(a->p->model->buffer_elements, a->p->ranks) &&
		        ends_a_buffer(a->p->model, role_first_buffer(a->p, a->r) + g->count);
	if (right && !g->slice && a->op->group < 0 && !a->op->axes)
		return STATUS_OK;
	return refuse_op(a, 2, "its operand has not the type and the size of item %s", item_name(a->op->item));
}

/* With --checkpoint-async, and only then, a save has a place in host memory that outlives it, and no other's. */
static enum status check_snapshot(const struct at *a)
{
	const struct region *to = &a->op->operand[SAVE_SNAPSHOT];
	bool wanted = a->op->kind == OP_SAVE && a->p->settings.checkpoint_async;
	if (a->op->kind != OP_SAVE || (!wanted && to->buffer < 0))
		return STATUS_OK;
	if (wanted != (to->buffer >= 0))
		return refuse_op(a, 9,
		                 wanted ? "has no snapshot, and the plan has set checkpoint_async"
		                        : "has a snapshot, and the plan has not set checkpoint_async");
	const struct buffer *b = &a->r->buffers[to->buffer];
	if (b->space != SPACE_HOST || !b->state)
		return refuse_at(a, 9, SAVE_SNAPSHOT, " must be state in host memory");
	for (int i = a->r->step.begin; i < a->r->step.end; i++)
		if (op_uses(&a->r->ops[i], to->buffer))
			return refuse_at(a, 9, SAVE_SNAPSHOT, " is a buffer that the step uses");
	for (int i = a->r->save.begin; i < a->number; i++) {
		const struct region *other = &a->r->ops[i].operand[SAVE_SNAPSHOT];
		if (a->r->ops[i].kind == OP_SAVE && other->buffer == to->buffer &&
		    regions_overlap(a->p, a->r, other, to))
			return refuse_at(a, 9, SAVE_SNAPSHOT, " has what another operation saves there");
	}
	return STATUS_OK;
}

/* Chance rounds 16-bit parameters, which are then an item of their own; all else is fp32 but gradients that wait. */
static enum status check_item(const struct at *a)
{
	enum status s = check_snapshot(a);
	const struct region *g = op_region(a->op, PART_PARAMETERS);
	enum type type = a->r->buffers[g->buffer].type, precision = a->p->settings.precision;
	bool wide = type == TYPE_FP32, stochastic = a->p->settings.stochastic_rounding, right = wide;
	if (s || !item_is_of_group(a->op->item))
		return s ? s : check_whole_item(a);
	if (a->op->item == ITEM_PARAMETERS && a->op->kind == OP_RESTORE)
		right = wide || (type == precision && !stochastic);
	else if (a->op->item == ITEM_ROUNDED)
		right = type == precision && stochastic && !wide;
	else if (a->op->item == ITEM_GRADIENTS)
		right = type == plan_gradient_type(a->p);
	if (!right)
		return refuse_op(a, 2, "its operand is %s, which item %s is not", type_name(type),
		                 item_name(a->op->item));
	return check_group_operand(a);
}

/* State in 16 bits has master weights in fp32. What was gathered to be saved may have 16 (save=16bit). */
static enum status check_shown(const struct at *a)
{
	const struct buffer *b = &a->r->buffers[a->op->operand[WEIGHTS_WEIGHTS].buffer];
	if (b->state && b->type != TYPE_FP32)
		return refuse_at(a, 2, WEIGHTS_WEIGHTS, " is kept in %s, and the fp32 weights are shown",
		                 type_name(b->type));
	return check_group_operand(a);
}

static enum status check_vector(const struct at *a)
{
	static enum status (*const checks[OP_KIND_COUNT])(const struct at *) = {
	        [OP_INITIALIZE] = check_group_operand,
	        [OP_WEIGHTS] = check_shown,
	        [OP_INITIALIZE_BUFFERS] = check_buffers,
	        [OP_SHOW_BUFFERS] = check_buffers,
	        [OP_SAVE] = check_item,
	        [OP_RESTORE] = check_item,
	        [OP_LOAD] = check_load,
	        [OP_ADAMW] = check_optimizer,
	        [OP_SGD] = check_optimizer,
	        [OP_SCALER_BEGIN] = check_scaler,
	        [OP_SCALER_UPDATE] = check_scaler,
	        [OP_SQUARES] = must_have_group,
	        [OP_OVERFLOW] = must_have_group,
	};
	return checks[a->op->kind] ? checks[a->op->kind](a) : STATUS_OK;
}

/* ---- kernels of the model ---- */

/* In training, what is kept makes up for what is dropped; evaluation drops nothing. */
static enum status check_scale(const struct at *a)
{
	double rows = (double)a->p->settings.batch * (double)a->p->model->tokens;
	double kept = a->section == SECTION_EVALUATE ? 1 : 1 - a->p->model->kernels[a->op->kernel].dropout;
	double times = op_makes_loss(a->op->kind) ? rows : kept;
	if (!op_has_scale(a->op->kind) || fabs(a->op->scale * times - 1) < 1e-12)
		return STATUS_OK;
	if (!op_makes_loss(a->op->kind))
		return refuse_op(a, 2, "scale is %.17g; it must be %.17g", a->op->scale, 1 / kept);
	return refuse_at(a, 5, op_find(a->op->kind, PART_LOSS),
	                 ": scale %.17g × %.0f rows of the global batch is not 1; use %.17g", a->op->scale, rows,
	                 1 / rows);
}

/* It carries out a kernel, in the kernel's pass; a forward one may be carried out once more. */
static enum status check_kernel(const struct at *a, const struct op_sizes *sizes)
{
	if (a->op->kernel < 0)
		return refuse_op(a, 2, "names no kernel of the model");
	const struct kernel *k = &a->p->model->kernels[a->op->kernel];
	if (!op_carries_out(a->op->kind, k, sizes))
		return refuse_op(a, 2, "%s cannot carry out a kernel of kind %s", op_name(a->op->kind),
		                 kernel_kind_name(k->kind));
	bool again =
	        a->op->pass == PASS_RECOMPUTE && op_pass(a->op->kind) == PASS_FORWARD && k->kind != KERNEL_CLASSIFIER;
	if ((a->op->pass != op_pass(a->op->kind) && !again) || a->op->unit != k->unit || a->op->micro < 0)
		return refuse_op(a, 2, "its pass, unit or micro-batch is not that of the kernel");
	if (a->op->all_ranks && k->kind != KERNEL_CLASSIFIER)
		return refuse_op(a, 2, "only load, classifier and evaluate work on the samples of all ranks");
	return STATUS_OK;
}

/* ---- operands that stand on each other ---- */

/* A collective in place: the part is this rank's own slice of the whole. */
static bool in_place(const struct at *a, int i, int k)
{
	int part = op_find(a->op->kind, PART_SHARE), whole = op_find(a->op->kind, PART_WHOLE);
	if (part < 0 || whole < 0 || i + k != part + whole || (i != part && k != part))
		return false;
	const struct region *x = &a->op->operand[part], *y = &a->op->operand[whole];
	if (x->slice)
		return x->slice == op_axes(a->p, a->op) && x->offset == y->offset && x->count == y->count;
	int64_t n = y->count / op_members(a->p, a->op);
	return a->r->ranks == 1 && x->offset == y->offset + op_member(a->p, a->op, a->r->first_rank) * n &&
	       x->count == n;
}

static enum status check_alias(const struct at *a)
{
	int n = op_operand_count(a->op->kind);
	for (int i = 0; i < n; i++)
		for (int k = i + 1; k < n; k++) {
			const struct region *x = &a->op->operand[i], *y = &a->op->operand[k];
			if (x->buffer < 0 || x->buffer != y->buffer ||
			    (op_access(a->op, i) == 'r' && op_access(a->op, k) == 'r'))
				continue;
			if (regions_overlap(a->p, a->r, x, y) && !in_place(a, i, k))
				return refuse_at(a, 4, i,
				                 " and %s overlap, and one is written; give them memory of their own",
				                 op_operand_name(a->op->kind, k));
		}
	return STATUS_OK;
}

/* ---- one operation ---- */

static enum status check_operands(const struct at *a)
{
	struct op_sizes sizes = op_sizes_of(a->p, a->op);
	enum status s = op_class(a->op->kind) == OP_CLASS_K ? check_kernel(a, &sizes) : STATUS_OK;
	for (int i = 0; !s && i < op_operand_count(a->op->kind); i++)
		s = check_operand(a, i, &sizes);
	return s;
}

static enum status check_op(const struct at *a)
{
	enum op_class class = op_class(a->op->kind);
	enum status s = STATUS_OK;
	if (!(op_sections(a->op->kind) >> a->section & 1))
		return refuse_op(a, 2, "%s has no place in section %s", op_name(a->op->kind), section_name(a->section));
	if (a->section == SECTION_EVALUATE && a->op->micro > 0)
		return refuse_op(a, 2, "there is one micro-batch in evaluate, number 0");
	if (class == OP_CLASS_M || (class != OP_CLASS_C && (s = check_operands(a))))
		return s;
	s = class == OP_CLASS_K ? check_scale(a) : check_vector(a);
	return s ? s : check_alias(a);
}

enum status verify_shapes(const struct verify *v, int role)
{
	return verify_each_of(v, role, check_op);
}
