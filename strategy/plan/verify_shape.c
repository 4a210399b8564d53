/* Rule 2, for operations alone: each is where it belongs, and its operands are as many elements of the type that the
 * model's kernel, or the other operands, demand. */
#include <math.h>

#include "strategy/base/number.h"
#include "strategy/model/slice.h"
#include "strategy/plan/verify.h"

/* What each operand of a model kernel is, in the order of OP_LIST. */
static const enum part kernel_parts[OP_KIND_COUNT][OP_OPERANDS] = {
        [OP_EMBEDDING_FORWARD] = {PART_X, PART_WEIGHT, PART_BIAS, PART_Y},
        [OP_EMBEDDING_FINISH] = {PART_BIAS, PART_SUM},
        [OP_EMBEDDING_BACKWARD] = {PART_DY, PART_X, PART_DWEIGHT, PART_DBIAS},
        [OP_NORM_FORWARD] = {PART_X, PART_WEIGHT, PART_BIAS, PART_Y, PART_SAVED},
        [OP_NORM_BACKWARD] = {PART_DY, PART_X, PART_SAVED, PART_WEIGHT, PART_DX, PART_DWEIGHT, PART_DBIAS},
        [OP_LINEAR_FORWARD] = {PART_X, PART_WEIGHT, PART_BIAS, PART_RESIDUAL, PART_Y, PART_SAVED},
        [OP_LINEAR_FINISH] = {PART_BIAS, PART_RESIDUAL, PART_SUM, PART_Y},
        [OP_LINEAR_BACKWARD] = {PART_DY, PART_X, PART_WEIGHT, PART_SAVED, PART_DX, PART_DWEIGHT, PART_DBIAS},
        [OP_ATTENTION_FORWARD] = {PART_X, PART_Y, PART_SAVED},
        [OP_ATTENTION_BACKWARD] = {PART_DY, PART_X, PART_Y, PART_SAVED, PART_DX},
        [OP_SCORES_FORWARD] = {PART_X, PART_Y},
        [OP_SCORES_BACKWARD] = {PART_DY, PART_X, PART_DX},
        [OP_SOFTMAX_FORWARD] = {PART_X, PART_Y},
        [OP_SOFTMAX_BACKWARD] = {PART_DY, PART_Y, PART_DX},
        [OP_CONTEXT_FORWARD] = {PART_X, PART_SECOND, PART_Y},
        [OP_CONTEXT_BACKWARD] = {PART_DY, PART_X, PART_SECOND, PART_DX, PART_DSECOND},
        [OP_DROPOUT_FORWARD] = {PART_X, PART_RESIDUAL, PART_Y, PART_SAVED},
        [OP_DROPOUT_BACKWARD] = {PART_DY, PART_SAVED, PART_DX},
        [OP_CLASSIFIER] = {PART_X, PART_TARGET, PART_LOSS, PART_SCALER},
        [OP_EVALUATE] = {PART_X, PART_TARGET},
        [OP_BATCH_NORM_STATISTICS] = {PART_X, PART_LOCAL},
        [OP_BATCH_NORM_MERGE] = {PART_PARTS, PART_RUNNING, PART_SAVED},
        [OP_BATCH_NORM_RUNNING] = {PART_RUNNING, PART_SAVED},
        [OP_BATCH_NORM_FORWARD] = {PART_X, PART_SAVED, PART_WEIGHT, PART_BIAS, PART_Y},
        [OP_BATCH_NORM_SUMS] = {PART_DY, PART_X, PART_SAVED, PART_WEIGHT, PART_BIAS, PART_SUMS, PART_DWEIGHT,
                                PART_DBIAS},
        [OP_BATCH_NORM_BACKWARD] = {PART_INNER, PART_X, PART_SAVED, PART_SUMS, PART_WEIGHT, PART_DX},
        [OP_CLASSIFIER_MAXIMA] = {PART_X, PART_MAXIMA},
        [OP_CLASSIFIER_SUMS] = {PART_X, PART_TARGET, PART_MAXIMA, PART_CLASS_SUMS},
        [OP_CLASSIFIER_GRADIENT] = {PART_X, PART_TARGET, PART_MAXIMA, PART_CLASS_SUMS, PART_LOSS, PART_SCALER},
        [OP_EVALUATE_SUMS] = {PART_X, PART_TARGET, PART_MAXIMA, PART_CLASS_SUMS},
        [OP_EVALUATE_COUNT] = {PART_MAXIMA, PART_CLASS_SUMS},
        [OP_ABSTRACT_FORWARD] = {PART_X, PART_WEIGHT, PART_Y},
        [OP_ABSTRACT_BACKWARD] = {PART_DY, PART_X, PART_WEIGHT, PART_DX, PART_DWEIGHT},
};

enum part kernel_part(enum op_kind k, int operand)
{
	return kernel_parts[k][operand];
}

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

static enum status expect(const struct verify *v, const struct role *r, int number, int operand, int64_t count,
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

static int part_value(const struct verify *v, const struct kernel *k, enum part part)
{
	switch (part) {
	case PART_X:
		return k->x;
	case PART_DX:
		return k->needs_dx ? k->x : -1;
	case PART_Y:
	case PART_DY:
	case PART_INNER:
		return k->y;
	case PART_SAVED:
		return k->saved;
	case PART_RESIDUAL:
		return k->residual;
	case PART_SECOND:
	case PART_DSECOND:
		return k->second;
	case PART_TARGET:
		return v->p->model->target;
	case PART_SUM:
		return kernel_sum(k);
	case PART_MAXIMA:
		return v->p->model->maxima;
	case PART_CLASS_SUMS:
		return v->p->model->sums;
	default:
		return -1;
	}
}

/* What a batch norm has besides values and tensors; 0 for other parts. */
static int64_t norm_part_elements(const struct verify *v, const struct kernel *k, enum part part)
{
	switch (part) {
	case PART_LOCAL:
		return 2 * k->out + 1;
	case PART_PARTS:
		return (kernel_synchronises(v->p, k) ? v->p->ranks : 1) * (2 * k->out + 1);
	case PART_RUNNING:
	case PART_SUMS:
		return 2 * k->out;
	default:
		return 0;
	}
}

/* What a kernel that makes a part of a sum leaves to the operation that finishes it, and the other way round. */
static enum part sliced_part(const struct verify *v, const struct op *op, enum part part)
{
	const struct kernel *k = &v->p->model->kernels[op->kernel];
	bool forward = op->kind == OP_LINEAR_FORWARD || op->kind == OP_EMBEDDING_FORWARD;
	if (!kernel_sums(v->p->model, k))
		return part;
	if (forward && (part == PART_BIAS || part == PART_RESIDUAL || part == PART_SAVED))
		return PART_NONE;
	if (forward && part == PART_Y)
		return PART_SUM;
	return op->kind == OP_LINEAR_FINISH && part == PART_Y && !k->gelu ? PART_NONE : part;
}

/* A sliced linear layer (or the embedding) works on all rows where its values have a rank's own. */
static int64_t rows_times(const struct verify *v, const struct op *op, enum part part)
{
	const struct model *m = v->p->model;
	const struct kernel *k = &m->kernels[op->kernel];
	bool finish = op->kind == OP_LINEAR_FINISH || op->kind == OP_EMBEDDING_FINISH;
	bool all = (part == PART_X || part == PART_DX)
	                   ? kernel_gathers(m, k)
	                   : (part == PART_SUM || part == PART_DY) && !finish && kernel_scatters(m, k);
	return all ? m->slices : 1;
}

static enum status check_part(const struct verify *v, const struct role *r, int number, int operand, enum part part)
{
	const struct op *op = &r->ops[number];
	const struct model *m = v->p->model;
	const struct kernel *k = &m->kernels[op->kernel];
	part = sliced_part(v, op, part);
	bool is_tensor = part == PART_WEIGHT || part == PART_BIAS || part == PART_DWEIGHT || part == PART_DBIAS;
	int tensor = part == PART_WEIGHT || part == PART_DWEIGHT ? k->weight : k->bias;
	int64_t norm_elements = norm_part_elements(v, k, part);
	int thing = part == PART_LOSS || norm_elements ? 0
	            : part == PART_SCALER              ? (v->p->settings.precision == TYPE_FP16 ? 0 : -1)
	            : is_tensor                        ? tensor
	                                               : part_value(v, k, part);
	const struct region *g = &op->operand[operand];
	if ((thing >= 0) != (g->buffer >= 0))
		return refuse(v, 2, r, number, g->buffer, "operand %s %s in this kernel",
		              op_operand_name(op->kind, operand), thing < 0 ? "has no place" : "is missing");
	if (thing < 0)
		return STATUS_OK;
	if (g->slice)
		return refuse(v, 2, r, number, g->buffer, "operand %s is a slice; kernels work on whole regions",
		              op_operand_name(op->kind, operand));
	if (part == PART_LOSS)
		return expect(v, r, number, operand, 1, TYPE_FP32);
	if (norm_elements)
		return expect(v, r, number, operand, norm_elements, TYPE_FP32);
	if (part == PART_SCALER)
		return expect(v, r, number, operand, LOSS_SCALE_ELEMENTS, TYPE_FP32);
	if (is_tensor)
		return expect(v, r, number, operand, m->tensors[tensor].elements, v->p->settings.precision);
	int64_t samples = v->p->settings.micro_batch * (op->wide ? plan_data_ranks(v->p) : 1);
	int64_t elements = value_elements(&m->values[thing], samples) * rows_times(v, op, part);
	if (part == PART_CLASS_SUMS && (op->kind == OP_EVALUATE_SUMS || op->kind == OP_EVALUATE_COUNT))
		elements = elements / 2 * 3;
	return expect(v, r, number, operand, elements, plan_value_type(v->p, thing));
}

/* Operations beside the forward and the backward one, where the model is sliced. */
static bool is_sliced_step(const struct verify *v, const struct op *op, const struct kernel *k)
{
	bool sums = kernel_sums(v->p->model, k);
	switch (op->kind) {
	case OP_EMBEDDING_FINISH:
		return sums && k->kind == KERNEL_EMBEDDING;
	case OP_LINEAR_FINISH:
		return sums && k->kind == KERNEL_LINEAR;
	case OP_CLASSIFIER_MAXIMA:
	case OP_CLASSIFIER_SUMS:
	case OP_CLASSIFIER_GRADIENT:
	case OP_EVALUATE_SUMS:
	case OP_EVALUATE_COUNT:
		return k->kind == KERNEL_CLASSIFIER && v->p->model->maxima >= 0;
	default:
		return false;
	}
}

static enum status check_kernel(const struct verify *v, const struct role *r, int number)
{
	static const struct {
		enum op_kind forward, backward;
	} kinds[] = {[KERNEL_EMBEDDING] = {OP_EMBEDDING_FORWARD, OP_EMBEDDING_BACKWARD},
	             [KERNEL_NORM] = {OP_NORM_FORWARD, OP_NORM_BACKWARD},
	             [KERNEL_LINEAR] = {OP_LINEAR_FORWARD, OP_LINEAR_BACKWARD},
	             [KERNEL_ATTENTION] = {OP_ATTENTION_FORWARD, OP_ATTENTION_BACKWARD},
	             [KERNEL_SCORES] = {OP_SCORES_FORWARD, OP_SCORES_BACKWARD},
	             [KERNEL_SOFTMAX] = {OP_SOFTMAX_FORWARD, OP_SOFTMAX_BACKWARD},
	             [KERNEL_CONTEXT] = {OP_CONTEXT_FORWARD, OP_CONTEXT_BACKWARD},
	             [KERNEL_DROPOUT] = {OP_DROPOUT_FORWARD, OP_DROPOUT_BACKWARD},
	             [KERNEL_CLASSIFIER] = {OP_CLASSIFIER, OP_EVALUATE},
	             [KERNEL_BATCH_NORM] = {OP_BATCH_NORM_FORWARD, OP_BATCH_NORM_BACKWARD},
	             [KERNEL_ABSTRACT] = {OP_ABSTRACT_FORWARD, OP_ABSTRACT_BACKWARD}};
	const struct op *op = &r->ops[number];
	if (op->kernel < 0)
		return refuse(v, 2, r, number, -1, "names no kernel of the model");
	const struct kernel *k = &v->p->model->kernels[op->kernel];
	bool first = op->kind == kinds[k->kind].forward, second = op->kind == kinds[k->kind].backward;
	if (k->kind == KERNEL_BATCH_NORM) { /* which has several operations in each pass */
		first |= op->kind == OP_BATCH_NORM_STATISTICS || op->kind == OP_BATCH_NORM_MERGE ||
		         op->kind == OP_BATCH_NORM_RUNNING;
		second |= op->kind == OP_BATCH_NORM_SUMS;
	}
	bool backward = second && k->kind != KERNEL_CLASSIFIER;
	bool whole_logits = k->kind != KERNEL_CLASSIFIER || v->p->model->maxima < 0;
	if (!((first || second) && whole_logits) && !is_sliced_step(v, op, k))
		return refuse(v, 2, r, number, -1, "%s cannot carry out a kernel of kind %s", op_name(op->kind),
		              kernel_kind_name(k->kind));
	bool finish = op->kind == OP_LINEAR_FINISH || op->kind == OP_EMBEDDING_FINISH;
	bool again = op->pass == PASS_RECOMPUTE && (first || finish) && k->kind != KERNEL_CLASSIFIER;
	if ((op->pass != (backward ? PASS_BACKWARD : PASS_FORWARD) && !again) || op->unit != k->unit || op->micro < 0)
		return refuse(v, 2, r, number, -1, "its pass, unit or micro-batch is not that of the kernel");
	if (op->wide && k->kind != KERNEL_CLASSIFIER)
		return refuse(v, 2, r, number, -1,
		              "only load, classifier and evaluate work on the samples of all ranks");
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		enum status s = check_part(v, r, number, i, kernel_part(op->kind, i));
		if (s)
			return s;
	}
	if (op_makes_loss(op->kind)) {
		double rows = (double)v->p->settings.batch * (double)v->p->model->tokens;
		if (!(fabs(op->scale * rows - 1) < 1e-12))
			return refuse(v, 5, r, number,
			              op->operand[op_operand_count(op->kind) - 2].buffer, /* the loss */
			              "scale %.17g × %.0f rows of the global batch is not 1; use %.17g", op->scale,
			              rows, 1 / rows);
	}
	return STATUS_OK;
}

/* In training, what is kept makes up for what is dropped; evaluation drops nothing. */
static enum status check_dropout(const struct verify *v, const struct role *r, int number, enum section_kind section)
{
	const struct op *op = &r->ops[number];
	double kept = section == SECTION_EVALUATE ? 1 : 1 - v->p->model->kernels[op->kernel].dropout;
	if (fabs(op->scale * kept - 1) < 1e-12)
		return STATUS_OK;
	return refuse(v, 2, r, number, op->operand[0].buffer, "scale is %.17g; it must be %.17g", op->scale, 1 / kept);
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
	if ((op->operand[0].buffer >= 0 &&
	     (s = expect(v, r, number, 0, m->values[m->input].elements * samples, plan_value_type(v->p, m->input)))) ||
	    (op->operand[1].buffer >= 0 &&
	     (s = expect(v, r, number, 1, m->values[m->target].elements * samples, TYPE_I32))))
		return s;
	return expect(v, r, number, 2, 1, TYPE_I64);
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
		if (operands[i].wanted && (s = expect(v, r, number, norm + i, operands[i].elements, TYPE_FP32)))
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
	if ((s = expect(v, r, number, 0, n, t->precision)) || (s = expect(v, r, number, 1, n, t->precision)))
		return s;
	for (int i = 2; i < master; i++)
		if ((s = expect(v, r, number, i, n, TYPE_FP32)))
			return s;
	if (mixed && (s = expect(v, r, number, master, n, TYPE_FP32)))
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
	return expect(v, r, number, master + 1, 1, TYPE_I64);
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
		return expect(v, r, number, 0, g->count, TYPE_FP32);
	}
	if (op->operand[0].slice || !n)
		return refuse(v, 2, r, number, op->operand[0].buffer,
		              n ? "is a slice; the model's buffers are whole" : "the model has no buffers");
	return expect(v, r, number, 0, op->kind == OP_INITIALIZE_BUFFERS ? round_up(n, v->p->ranks) : n, TYPE_FP32);
}

static enum status check_pair(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	enum type type = r->buffers[op->operand[0].buffer].type;
	if (op->kind == OP_ADD && (type == TYPE_I32 || type == TYPE_I64 || type == TYPE_U8))
		return refuse(v, 2, r, number, op->operand[0].buffer, "adds %s; it adds floating-point numbers",
		              type_name(type));
	return expect(v, r, number, 1, resolved(v, &op->operand[0]), type);
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
	enum status s = expect(v, r, number, 0, LOSS_SCALE_ELEMENTS, TYPE_FP32);
	if (s || op->kind == OP_SCALER_BEGIN)
		return s;
	return expect(v, r, number, 1, 1, TYPE_FP32);
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
		if ((s = expect(v, r, number, 0, resolved(v, &op->operand[0]), v->p->settings.precision)))
			return s;
		return expect(v, r, number, 1, 1, TYPE_FP32);
	case OP_ADVANCE:
		return expect(v, r, number, 0, 1, TYPE_I64);
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
	static const char *const names[] = {"prologue", "step", "evaluate", "epilogue"};
	const struct op *op = &r->ops[number];
	enum status s = STATUS_OK;
	if (!(sections_for(op->kind) >> section & 1))
		return refuse(v, 2, r, number, op->operand[0].buffer, "%s has no place in section %s",
		              op_name(op->kind), names[section]);
	if (section == SECTION_EVALUATE && op->micro > 0)
		return refuse(v, 2, r, number, op->operand[0].buffer, "there is one micro-batch in evaluate, number 0");
	if (op_class(op->kind) == OP_CLASS_K)
		s = check_kernel(v, r, number);
	else if (op_class(op->kind) == OP_CLASS_V)
		s = check_vector(v, r, number);
	if (!s && (op->kind == OP_DROPOUT_FORWARD || op->kind == OP_DROPOUT_BACKWARD))
		s = check_dropout(v, r, number, section);
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
