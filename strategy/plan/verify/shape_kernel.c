/* Rule 2, for the operations that carry out a kernel of the model: which kernel that may be, and what each operand must
 * be of it. */
#include <math.h>

#include "strategy/model/slice.h"
#include "strategy/plan/verify/verify.h"

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

/* ---- what an operand must be ---- */

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
		return expect_operand(v, r, number, operand, 1, TYPE_FP32);
	if (norm_elements)
		return expect_operand(v, r, number, operand, norm_elements, TYPE_FP32);
	if (part == PART_SCALER)
		return expect_operand(v, r, number, operand, LOSS_SCALE_ELEMENTS, TYPE_FP32);
	if (is_tensor)
		return expect_operand(v, r, number, operand, m->tensors[tensor].elements, v->p->settings.precision);
	int64_t samples = v->p->settings.micro_batch * (op->wide ? plan_data_ranks(v->p) : 1);
	int64_t elements = value_elements(&m->values[thing], samples) * rows_times(v, op, part);
	if (part == PART_CLASS_SUMS && (op->kind == OP_EVALUATE_SUMS || op->kind == OP_EVALUATE_COUNT))
		elements = elements / 2 * 3;
	return expect_operand(v, r, number, operand, elements, plan_value_type(v->p, thing));
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

enum status verify_kernel_shape(const struct verify *v, const struct role *r, int number)
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
enum status verify_dropout_scale(const struct verify *v, const struct role *r, int number, enum section_kind section)
{
	const struct op *op = &r->ops[number];
	double kept = section == SECTION_EVALUATE ? 1 : 1 - v->p->model->kernels[op->kernel].dropout;
	if (fabs(op->scale * kept - 1) < 1e-12)
		return STATUS_OK;
	return refuse(v, 2, r, number, op->operand[0].buffer, "scale is %.17g; it must be %.17g", op->scale, 1 / kept);
}
