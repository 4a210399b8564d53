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

/* What the loss is multiplied by, and whether an update happens, belong to the rules of gradients and of versions. */
static int rule_of(const struct op *op, enum part part)
{
	bool update = op_class(op->kind) == OP_CLASS_V;
	return update && part == PART_SCALER ? 5 : update && part == PART_OVERFLOW ? 6 : 2;
}

static enum status check_operand(const struct verify *v, const struct role *r, int number, int operand,
                                 const struct op_sizes *sizes)
{
	const struct op *op = &r->ops[number];
	const struct region *g = &op->operand[operand];
	const char *name = op_operand_name(op->kind, operand);
	enum part part = op_part(op->kind, operand);
	enum presence presence = operand_presence(op->kind, operand, sizes);
	int64_t elements = region_elements(v->p, g), wanted = operand_elements(op->kind, operand, sizes);
	if (presence != PRESENT_MAYBE && (presence == PRESENT_ALWAYS) != (g->buffer >= 0))
		return refuse(v, rule_of(op, part), r, number, g->buffer, "operand %s %s: %s", name,
		              presence == PRESENT_NOT ? "has no place" : "is missing",
		              op->kernel >= 0 ? "see the model's kernel" : "see the plan's precision and clip");
	if (g->buffer < 0)
		return STATUS_OK;
	if (g->slice && !may_be_slice(part))
		return refuse(v, 2, r, number, g->buffer, "operand %s is a slice; it is used whole", name);
	if (wanted >= 0 && elements != wanted)
		return refuse(v, 2, r, number, g->buffer, "operand %s is %lld elements; it must be %lld", name,
		              (long long)elements, (long long)wanted);
	enum type type = r->buffers[g->buffer].type, must = op_operand_type(v->p, r, op, operand);
	if (type != must)
		return refuse(v, 2, r, number, g->buffer, "operand %s is %s; it must be %s", name, type_name(type),
		              type_name(must));
	return STATUS_OK;
}

static enum status check_operands(const struct verify *v, const struct role *r, int number,
                                  const struct op_sizes *sizes)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < op_operand_count(r->ops[number].kind) && !s; i++)
		s = check_operand(v, r, number, i, sizes);
	return s;
}

/* ---- vector operations ---- */

static enum status check_load(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	if (op->micro < 0)
		return refuse(v, 2, r, number, op_buffer(op), "needs a micro-batch");
	if (op->operand[LOAD_INPUTS].buffer < 0 && op->operand[LOAD_TARGETS].buffer < 0)
		return refuse(v, 2, r, number, -1, "loads neither inputs nor targets");
	return STATUS_OK;
}

static enum status must_have_group(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	return op->group >= 0 ? STATUS_OK : refuse(v, 2, r, number, op_buffer(op), "names no group");
}

/* The parameters of its group, or this rank's shard of them. */
static enum status check_group_operand(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	const struct region *g = &op->operand[op_find(op->kind, PART_PARAMETERS)];
	enum status s = must_have_group(v, r, number);
	if (s)
		return s;
	int64_t padded = v->p->groups[op->group].padded, shards = plan_along(v->p, op_shard_axes(v->p, op));
	if (padded % shards || g->count != padded / shards)
		return refuse(v, 2, r, number, g->buffer, "%lld elements; the group has %lld, and a slice of it %lld",
		              (long long)g->count, (long long)padded, (long long)(padded / shards));
	if (g->slice & op_shard_axes(v->p, op))
		return refuse(v, 2, r, number, g->buffer, "is a slice of a shard along the same axes");
	return STATUS_OK;
}

static enum status check_optimizer(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	const struct settings *t = &v->p->settings;
	if ((op->kind == OP_ADAMW) != (t->optimizer == OPTIMIZER_ADAMW))
		return refuse(v, 2, r, number, op_buffer(op), "the plan's optimizer is %s",
		              optimizer_name(t->optimizer));
	if (op->stochastic != t->stochastic_rounding || (op->stochastic && t->precision == TYPE_FP32))
		return refuse(v, 2, r, number, op_buffer(op),
		              "%s stochastically; the plan has stochastic_rounding %s, and precision %s",
		              op->stochastic ? "rounds" : "does not round", t->stochastic_rounding ? "yes" : "no",
		              type_name(t->precision));
	/* Elements are numbered by where they stand in their group. */
	return op->stochastic ? check_group_operand(v, r, number) : must_have_group(v, r, number);
}

/* Does one of the model's buffers end with this element? */
static bool ends_a_buffer(const struct model *m, int64_t end)
{
	bool ends = false;
	for (int i = 0; i < m->buffer_count; i++)
		ends |= m->buffers[i].offset + m->buffers[i].elements == end;
	return ends;
}

/* All buffers of the model, which collectives want padded to whole slices; a stage's, its own. */
static enum status check_buffers(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	const struct region *g = &op->operand[op_find(op->kind, PART_RUNNING)];
	int64_t n = v->p->model->buffer_elements;
	int64_t all = op->kind == OP_INITIALIZE_BUFFERS ? round_up(n, v->p->ranks) : n;
	bool of_stage = plan_axis(v->p, "stage") && r->ranks == 1;
	if (of_stage ? ends_a_buffer(v->p->model, role_first_buffer(v->p, r) + g->count) : n && g->count == all)
		return STATUS_OK;
	return refuse(v, 2, r, number, g->buffer, "%lld elements are not the model's buffers, of %lld",
	              (long long)g->count, (long long)all);
}

static enum status check_scaler(const struct verify *v, const struct role *r, int number)
{
	const struct settings *t = &v->p->settings;
	const struct loss_scale_rule *rule = loss_scale_rule(t->loss_scaler);
	int buffer = op_buffer(&r->ops[number]);
	if (t->loss_scaler == LOSS_SCALER_NONE)
		return refuse(v, 2, r, number, buffer, "the plan has no loss scaler");
	/* In the plan's text they may be anything. */
	if (!((float)t->loss_scale > 0) || !isfinite((float)t->loss_scale) || t->loss_scale < rule->minimum ||
	    t->loss_scale_window < 1 || t->loss_scale_window > LOSS_SCALE_MOST_WINDOW)
		return refuse(v, 2, r, number, buffer, "loss_scale %g or loss_scale_window %lld is out of range",
		              t->loss_scale, (long long)t->loss_scale_window);
	return STATUS_OK;
}

static enum status check_vector(const struct verify *v, const struct role *r, int number)
{
	switch (r->ops[number].kind) {
	case OP_INITIALIZE:
	case OP_WEIGHTS:
		return check_group_operand(v, r, number);
	case OP_INITIALIZE_BUFFERS:
	case OP_SHOW_BUFFERS:
		return check_buffers(v, r, number);
	case OP_LOAD:
		return check_load(v, r, number);
	case OP_ADAMW:
	case OP_SGD:
		return check_optimizer(v, r, number);
	case OP_SCALER_BEGIN:
	case OP_SCALER_UPDATE:
		return check_scaler(v, r, number);
	case OP_SQUARES:
	case OP_OVERFLOW:
		return must_have_group(v, r, number);
	default:
		return STATUS_OK;
	}
}

/* ---- kernels of the model ---- */

/* In training, what is kept makes up for what is dropped; evaluation drops nothing. */
static enum status check_scale(const struct verify *v, const struct role *r, int number, enum section_kind section)
{
	const struct op *op = &r->ops[number];
	double rows = (double)v->p->settings.batch * (double)v->p->model->tokens;
	double kept = section == SECTION_EVALUATE ? 1 : 1 - v->p->model->kernels[op->kernel].dropout;
	double times = op_makes_loss(op->kind) ? rows : kept;
	if (!op_has_scale(op->kind) || fabs(op->scale * times - 1) < 1e-12)
		return STATUS_OK;
	if (!op_makes_loss(op->kind))
		return refuse(v, 2, r, number, op_buffer(op), "scale is %.17g; it must be %.17g", op->scale, 1 / kept);
	return refuse(v, 5, r, number, op->operand[op_find(op->kind, PART_LOSS)].buffer,
	              "scale %.17g × %.0f rows of the global batch is not 1; use %.17g", op->scale, rows, 1 / rows);
}

/* It carries out a kernel, in the kernel's pass; a forward one may be carried out once more. */
static enum status check_kernel(const struct verify *v, const struct role *r, int number, const struct op_sizes *sizes)
{
	const struct op *op = &r->ops[number];
	if (op->kernel < 0)
		return refuse(v, 2, r, number, -1, "names no kernel of the model");
	const struct kernel *k = &v->p->model->kernels[op->kernel];
	if (!op_carries_out(op->kind, k, sizes))
		return refuse(v, 2, r, number, -1, "%s cannot carry out a kernel of kind %s", op_name(op->kind),
		              kernel_kind_name(k->kind));
	bool again = op->pass == PASS_RECOMPUTE && op_pass(op->kind) == PASS_FORWARD && k->kind != KERNEL_CLASSIFIER;
	if ((op->pass != op_pass(op->kind) && !again) || op->unit != k->unit || op->micro < 0)
		return refuse(v, 2, r, number, -1, "its pass, unit or micro-batch is not that of the kernel");
	if (op->wide && k->kind != KERNEL_CLASSIFIER)
		return refuse(v, 2, r, number, -1,
		              "only load, classifier and evaluate work on the samples of all ranks");
	return STATUS_OK;
}

/* ---- operands that stand on each other ---- */

bool regions_overlap(const struct plan *p, const struct role *r, const struct region *a, const struct region *b)
{
	int64_t begin_a = a->offset, count_a = a->count, begin_b = b->offset, count_b = b->count;
	if (r->ranks == 1) {
		region_resolve(p, a, r->first_rank, &begin_a, &count_a);
		region_resolve(p, b, r->first_rank, &begin_b, &count_b);
	}
	return begin_a < begin_b + count_b && begin_b < begin_a + count_a;
}

/* A collective in place: the part is this rank's own slice of the whole. */
static bool in_place(const struct verify *v, const struct role *r, const struct op *op, int a, int b)
{
	int part = op_find(op->kind, PART_SHARE), whole = op_find(op->kind, PART_WHOLE);
	if (part < 0 || whole < 0 || a + b != part + whole || (a != part && b != part))
		return false;
	const struct region *x = &op->operand[part], *y = &op->operand[whole];
	if (x->slice)
		return x->slice == op_axes(v->p, op) && x->offset == y->offset && x->count == y->count;
	int64_t n = y->count / op_members(v->p, op);
	return r->ranks == 1 && x->offset == y->offset + op_member(v->p, op, r->first_rank) * n && x->count == n;
}

static enum status check_alias(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	int n = op_operand_count(op->kind);
	for (int i = 0; i < n; i++)
		for (int k = i + 1; k < n; k++) {
			const struct region *a = &op->operand[i], *b = &op->operand[k];
			if (a->buffer < 0 || a->buffer != b->buffer ||
			    (op_access(op, i) == 'r' && op_access(op, k) == 'r'))
				continue;
			if (regions_overlap(v->p, r, a, b) && !in_place(v, r, op, i, k))
				return refuse(
				        v, 4, r, number, a->buffer,
				        "operands %s and %s overlap, and one is written; give them memory of their own",
				        op_operand_name(op->kind, i), op_operand_name(op->kind, k));
		}
	return STATUS_OK;
}

/* ---- one operation ---- */

static enum status check_op(const struct verify *v, const struct role *r, int number, enum section_kind section)
{
	const struct op *op = &r->ops[number];
	struct op_sizes sizes = op_sizes_of(v->p, op);
	bool kernel = op_class(op->kind) == OP_CLASS_K;
	enum status s;
	if (!(op_sections(op->kind) >> section & 1))
		return refuse(v, 2, r, number, op_buffer(op), "%s has no place in section %s", op_name(op->kind),
		              section_name(section));
	if (section == SECTION_EVALUATE && op->micro > 0)
		return refuse(v, 2, r, number, op_buffer(op), "there is one micro-batch in evaluate, number 0");
	if (op_class(op->kind) == OP_CLASS_M)
		return STATUS_OK;
	if ((kernel && (s = check_kernel(v, r, number, &sizes))) ||
	    (op_class(op->kind) != OP_CLASS_C && (s = check_operands(v, r, number, &sizes))) ||
	    (s = kernel ? check_scale(v, r, number, section) : check_vector(v, r, number)))
		return s;
	return check_alias(v, r, number);
}

enum status verify_shapes(const struct verify *v)
{
	for (int i = 0; i < v->p->role_count; i++)
		for (int k = 0; k < SECTION_KINDS; k++) {
			const struct section *section = section_of(&v->p->roles[i], (enum section_kind)k);
			for (int n = section->begin; n < section->end; n++) {
				enum status s = check_op(v, &v->p->roles[i], n, (enum section_kind)k);
				if (s)
					return s;
			}
		}
	return STATUS_OK;
}
