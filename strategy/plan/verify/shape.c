/* Rule 2, for operations alone: each is where it belongs, and its operands are as many elements of the type that the
 * other operands, the settings, or the model's kernel (shape_kernel.c) demand. */
#include <math.h>

#include "strategy/base/number.h"
#include "strategy/plan/verify/verify.h"

/* ---- where an operation may stand ---- */

#define IN(section) (1u << SECTION_##section)

static unsigned sections_for(enum op_kind k)
{
	switch (k) {
	case OP_INITIALIZE:
	case OP_SCALER_BEGIN:
	case OP_INITIALIZE_BUFFERS:
		return IN(PROLOGUE);
	case OP_WEIGHTS:
	case OP_SHOW_BUFFERS:
		return IN(EPILOGUE);
	case OP_EVALUATE:
	case OP_BATCH_NORM_RUNNING:
	case OP_EVALUATE_SUMS:
	case OP_EVALUATE_COUNT:
		return IN(EVALUATE);
	case OP_LOAD:
	case OP_CLASSIFIER_MAXIMA:
	case OP_EMBEDDING_FINISH:
	case OP_LINEAR_FINISH:
	case OP_ALL_REDUCE_MAXIMUM:
	case OP_EMBEDDING_FORWARD:
	case OP_NORM_FORWARD:
	case OP_LINEAR_FORWARD:
	case OP_ATTENTION_FORWARD:
	case OP_SCORES_FORWARD:
	case OP_SOFTMAX_FORWARD:
	case OP_CONTEXT_FORWARD:
	case OP_DROPOUT_FORWARD:
	case OP_BATCH_NORM_FORWARD:
	case OP_ABSTRACT_FORWARD:
		return IN(STEP) | IN(EVALUATE);
	case OP_BATCH_NORM_STATISTICS:
	case OP_BATCH_NORM_MERGE:
	case OP_BATCH_NORM_SUMS:
	case OP_BATCH_NORM_BACKWARD:
	case OP_EMBEDDING_BACKWARD:
	case OP_NORM_BACKWARD:
	case OP_LINEAR_BACKWARD:
	case OP_ATTENTION_BACKWARD:
	case OP_SCORES_BACKWARD:
	case OP_SOFTMAX_BACKWARD:
	case OP_CONTEXT_BACKWARD:
	case OP_DROPOUT_BACKWARD:
	case OP_ABSTRACT_BACKWARD:
	case OP_CLASSIFIER:
	case OP_CLASSIFIER_SUMS:
	case OP_CLASSIFIER_GRADIENT:
	case OP_ADAMW:
	case OP_SGD:
	case OP_SQUARES:
	case OP_OVERFLOW:
	case OP_SCALER_UPDATE:
	case OP_ADVANCE:
	case OP_SUM:
		return IN(STEP);
	default:
		return ~0u;
	}
}

/* ---- sizes and types ---- */

static int64_t resolved(const struct verify *v, const struct region *g)
{
	return region_elements(v->p, g);
}

enum status expect_operand(const struct verify *v, const struct role *r, int number, int operand, int64_t count,
                           enum type type)
{
	const struct op *op = &r->ops[number];
	const struct region *g = &op->operand[operand];
	const char *name = op_operand_name(op->kind, operand);
	if (resolved(v, g) != count)
		return refuse(v, 2, r, number, g->buffer, "operand %s is %lld elements; it must be %lld", name,
		              (long long)resolved(v, g), (long long)count);
	if (r->buffers[g->buffer].type != type)
		return refuse(v, 2, r, number, g->buffer, "operand %s is %s; it must be %s", name,
		              type_name(r->buffers[g->buffer].type), type_name(type));
	return STATUS_OK;
}

static enum status check_load(const struct verify *v, const struct role *r, int number)
{
	const struct model *m = v->p->model;
	const struct op *op = &r->ops[number];
	int64_t samples = v->p->settings.micro_batch * (op->wide ? plan_data_ranks(v->p) : 1);
	enum status s;
	if (op->micro < 0 || op->operand[0].slice || op->operand[1].slice)
		return refuse(v, 2, r, number, op->operand[0].buffer,
		              "needs a micro-batch, and operands that are no slices");
	if (op->operand[0].buffer < 0 && op->operand[1].buffer < 0)
		return refuse(v, 2, r, number, -1, "loads neither inputs nor targets");
	if ((op->operand[0].buffer >= 0 && (s = expect_operand(v, r, number, 0, m->values[m->input].elements * samples,
	                                                       plan_value_type(v->p, m->input)))) ||
	    (op->operand[1].buffer >= 0 &&
	     (s = expect_operand(v, r, number, 1, m->values[m->target].elements * samples, TYPE_I32))))
		return s;
	return expect_operand(v, r, number, 2, 1, TYPE_I64);
}

/* Operands that the update reads or has not, by the settings, and under which rule they fall. */
static enum status check_range(const struct verify *v, const struct role *r, int number, int norm)
{
	const struct op *op = &r->ops[number];
	const struct settings *t = &v->p->settings;
	bool fp16 = t->precision == TYPE_FP16;
	const struct {
		bool wanted;
		int64_t elements;
		int rule;
	} operands[] = {{t->clip > 0, 1, 2}, {fp16, LOSS_SCALE_ELEMENTS, 5}, {fp16, 1, 6}};
	for (int i = 0; i < 3; i++) {
		const struct region *g = &op->operand[norm + i];
		enum status s;
		if ((g->buffer >= 0) != operands[i].wanted)
			return refuse(v, operands[i].rule, r, number, g->buffer,
			              "operand %s: with clip %g and precision %s it %s",
			              op_operand_name(op->kind, norm + i), t->clip, type_name(t->precision),
			              operands[i].wanted ? "must be read" : "has no place");
		if (operands[i].wanted && (s = expect_operand(v, r, number, norm + i, operands[i].elements, TYPE_FP32)))
			return s;
	}
	return STATUS_OK;
}

static enum status check_group_operand(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	const struct region *g = &op->operand[0];
	enum type type = r->buffers[g->buffer].type;
	if (op->group < 0)
		return refuse(v, 2, r, number, g->buffer, "names no group");
	int64_t padded = v->p->groups[op->group].padded, shards = plan_along(v->p, op_shard_axes(v->p, op));
	if (padded % shards || g->count != padded / shards)
		return refuse(v, 2, r, number, g->buffer, "%lld elements; the group has %lld, and a slice of it %lld",
		              (long long)g->count, (long long)padded, (long long)(padded / shards));
	if (g->slice & op_shard_axes(v->p, op))
		return refuse(v, 2, r, number, g->buffer, "is a slice of a shard along the same axes");
	if (type != TYPE_FP32 && (type != v->p->settings.precision || op->kind == OP_WEIGHTS))
		return refuse(v, 2, r, number, g->buffer, "is %s; %s", type_name(type),
		              op->kind == OP_WEIGHTS ? "weights are shown in fp32" : "weights are floating-point");
	return STATUS_OK;
}

/* adamw: parameters gradients first second master step norm scaler overflow; sgd: without first and second */
static enum status check_optimizer(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	const struct settings *t = &v->p->settings;
	bool adam = op->kind == OP_ADAMW;
	int master = adam ? 4 : 2;
	int64_t n = resolved(v, &op->operand[0]);
	bool mixed = t->precision != TYPE_FP32;
	enum status s;
	if (adam != (t->optimizer == OPTIMIZER_ADAMW))
		return refuse(v, 2, r, number, op->operand[0].buffer, "the plan's optimizer is %s",
		              optimizer_name(t->optimizer));
	if (op->group < 0)
		return refuse(v, 2, r, number, op->operand[0].buffer, "names no group");
	if ((op->operand[master].buffer >= 0) != mixed)
		return refuse(v, 2, r, number, op->operand[master].buffer, "operand master: precision %s %s",
		              type_name(t->precision), mixed ? "needs fp32 master weights" : "has none");
	if ((s = expect_operand(v, r, number, 0, n, t->precision)) ||
	    (s = expect_operand(v, r, number, 1, n, t->precision)))
		return s;
	for (int i = 2; i < master; i++)
		if ((s = expect_operand(v, r, number, i, n, TYPE_FP32)))
			return s;
	if (mixed && (s = expect_operand(v, r, number, master, n, TYPE_FP32)))
		return s;
	if (op->stochastic != t->stochastic_rounding || (op->stochastic && !mixed))
		return refuse(v, 2, r, number, op->operand[0].buffer,
		              "%s stochastically; the plan has stochastic_rounding %s, and precision %s",
		              op->stochastic ? "rounds" : "does not round", t->stochastic_rounding ? "yes" : "no",
		              type_name(t->precision));
	/* Elements are numbered by where they stand in their group. */
	if (op->stochastic && (s = check_group_operand(v, r, number)))
		return s;
	if ((s = check_range(v, r, number, master + 2)))
		return s;
	return expect_operand(v, r, number, master + 1, 1, TYPE_I64);
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
	int64_t n = v->p->model->buffer_elements;
	if (plan_axis(v->p, "stage") && r->ranks == 1) {
		const struct region *g = &op->operand[0];
		if (g->slice || !ends_a_buffer(v->p->model, role_first_buffer(v->p, r) + g->count))
			return refuse(v, 2, r, number, g->buffer, "%lld elements are no buffers of the model",
			              (long long)g->count);
		return expect_operand(v, r, number, 0, g->count, TYPE_FP32);
	}
	if (op->operand[0].slice || !n)
		return refuse(v, 2, r, number, op->operand[0].buffer,
		              n ? "is a slice; the model's buffers are whole" : "the model has no buffers");
	return expect_operand(v, r, number, 0, op->kind == OP_INITIALIZE_BUFFERS ? round_up(n, v->p->ranks) : n,
	                      TYPE_FP32);
}

static enum status check_pair(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	enum type type = r->buffers[op->operand[0].buffer].type;
	if (op->kind == OP_ADD && (type == TYPE_I32 || type == TYPE_I64 || type == TYPE_U8))
		return refuse(v, 2, r, number, op->operand[0].buffer, "adds %s; it adds floating-point numbers",
		              type_name(type));
	return expect_operand(v, r, number, 1, resolved(v, &op->operand[0]), type);
}

static enum status check_scaler(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	const struct settings *t = &v->p->settings;
	const struct loss_scale_rule *rule = loss_scale_rule(t->loss_scaler);
	if (t->loss_scaler == LOSS_SCALER_NONE)
		return refuse(v, 2, r, number, op->operand[0].buffer, "the plan has no loss scaler");
	/* In the plan's text they may be anything. */
	if (!((float)t->loss_scale > 0) || !isfinite((float)t->loss_scale) || t->loss_scale < rule->minimum ||
	    t->loss_scale_window < 1 || t->loss_scale_window > LOSS_SCALE_MOST_WINDOW)
		return refuse(v, 2, r, number, op->operand[0].buffer,
		              "loss_scale %g or loss_scale_window %lld is out of range", t->loss_scale,
		              (long long)t->loss_scale_window);
	if (op->operand[0].slice || (op->kind == OP_SCALER_UPDATE && op->operand[1].slice))
		return refuse(v, 2, r, number, op->operand[0].buffer, "its operands are no slices");
	enum status s = expect_operand(v, r, number, 0, LOSS_SCALE_ELEMENTS, TYPE_FP32);
	if (s || op->kind == OP_SCALER_BEGIN)
		return s;
	return expect_operand(v, r, number, 1, 1, TYPE_FP32);
}

static enum status check_vector(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	enum status s;
	switch (op->kind) {
	case OP_INITIALIZE:
	case OP_WEIGHTS:
		return check_group_operand(v, r, number);
	case OP_INITIALIZE_BUFFERS:
	case OP_SHOW_BUFFERS:
		return check_buffers(v, r, number);
	case OP_COPY:
	case OP_ADD:
		return check_pair(v, r, number);
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
		if (op->group < 0)
			return refuse(v, 2, r, number, op->operand[0].buffer, "names no group");
		if ((s = expect_operand(v, r, number, 0, resolved(v, &op->operand[0]), v->p->settings.precision)))
			return s;
		return expect_operand(v, r, number, 1, 1, TYPE_FP32);
	case OP_ADVANCE:
		return expect_operand(v, r, number, 0, 1, TYPE_I64);
	default:
		return STATUS_OK;
	}
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
	int part = collective_part(op->kind), whole = collective_whole(op->kind);
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

static enum status check_op(const struct verify *v, const struct role *r, int number, enum section_kind section)
{
	const struct op *op = &r->ops[number];
	enum status s = STATUS_OK;
	if (!(sections_for(op->kind) >> section & 1))
		return refuse(v, 2, r, number, op->operand[0].buffer, "%s has no place in section %s",
		              op_name(op->kind), section_name(section));
	if (section == SECTION_EVALUATE && op->micro > 0)
		return refuse(v, 2, r, number, op->operand[0].buffer, "there is one micro-batch in evaluate, number 0");
	if (op_class(op->kind) == OP_CLASS_K)
		s = verify_kernel_shape(v, r, number);
	else if (op_class(op->kind) == OP_CLASS_V)
		s = check_vector(v, r, number);
	if (!s && (op->kind == OP_DROPOUT_FORWARD || op->kind == OP_DROPOUT_BACKWARD))
		s = verify_dropout_scale(v, r, number, section);
	if (s || op_class(op->kind) == OP_CLASS_M)
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
