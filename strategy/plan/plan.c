#include "strategy/plan/plan.h"

#include <assert.h>
#include <string.h>

#include "strategy/model/slice.h"

static const char *const category_names[] = {
#define X(constant, name) name,
        CATEGORY_LIST(X)
#undef X
};
static const char *const space_names[] = {
#define X(constant, name) name,
        SPACE_LIST(X)
#undef X
};
static const char *const queue_names[] = {
#define X(constant, name) name,
        QUEUE_LIST(X)
#undef X
};
static const char *const traffic_names[] = {
#define X(constant, name) name,
        TRAFFIC_LIST(X)
#undef X
};
static const char *const transfer_names[] = {
#define X(constant, name) name,
        TRANSFER_LIST(X)
#undef X
};
static_assert(sizeof category_names / sizeof category_names[0] == CATEGORY_COUNT, "one name a category");
static_assert(sizeof traffic_names / sizeof traffic_names[0] == TRAFFIC_COUNT, "one name a kind");
static_assert(sizeof transfer_names / sizeof transfer_names[0] == TRANSFER_COUNT, "one name a kind");

const char *category_name(enum category c)
{
	return category_names[c];
}

const char *space_name(enum space s)
{
	return space_names[s];
}

const char *queue_name(enum queue q)
{
	return queue_names[q];
}

const char *traffic_name(enum traffic_kind t)
{
	return traffic_names[t];
}

const char *transfer_name(enum transfer_kind t)
{
	return transfer_names[t];
}

const char *pass_name(enum pass p)
{
	static const char *const names[] = {"", "forward", "recompute", "backward", "update"};
	return names[p];
}

/* ---- the table of operations ---- */

struct operand_info {
	const char *name;
	char access;
	bool optional;
};

enum { READ = 'r', WRITE = 'w', CHANGE = 'x', ADD = 'a' };
enum { ALWAYS, OPTIONAL };

/* clang-format off */
static const struct op_info {
	const char *name;
	enum op_class class;
	int operand_count;
	struct operand_info operand[OP_OPERANDS];
} infos[] = {
#define OP(constant, name, class) [OP_##constant] = {name, OP_CLASS_##class, constant##_OPERANDS, {
#define OPERAND(operation, constant, name, access, presence) {name, access, (presence) == OPTIONAL},
#define END(operation) }},
#include "strategy/plan/ops.def"
};
/* clang-format on */

const char *op_name(enum op_kind k)
{
	return infos[k].name;
}

enum op_class op_class(enum op_kind k)
{
	return infos[k].class;
}

bool op_kind_parse(const char *name, enum op_kind *out)
{
	for (int k = 0; k < OP_KIND_COUNT; k++)
		if (!strcmp(name, infos[k].name)) {
			*out = (enum op_kind)k;
			return true;
		}
	return false;
}

int op_operand_count(enum op_kind k)
{
	return infos[k].operand_count;
}

const char *op_operand_name(enum op_kind k, int operand)
{
	return infos[k].operand[operand].name;
}

bool op_operand_optional(enum op_kind k, int operand)
{
	return infos[k].operand[operand].optional;
}

bool op_makes_loss(enum op_kind k)
{
	return k == OP_CLASSIFIER || k == OP_CLASSIFIER_GRADIENT;
}
bool op_has_scale(enum op_kind k)
{
	return op_makes_loss(k) || k == OP_DROPOUT_FORWARD || k == OP_DROPOUT_BACKWARD;
}

char op_declared_access(enum op_kind k, int operand)
{
	return infos[k].operand[operand].access;
}

char op_access(const struct op *op, int operand)
{
	char access = infos[op->kind].operand[operand].access;
	if (!access || op->operand[operand].buffer < 0)
		return 0;
	if (access == 'a')
		return op->accumulate >> operand & 1 ? 'x' : 'w';
	/* On the host, 16-bit parameters are made anew from the master weights. */
	if (op->queue == QUEUE_HOST_COMPUTE && operand == 0 &&
	    ((op->kind == OP_ADAMW && op->operand[4].buffer >= 0) ||
	     (op->kind == OP_SGD && op->operand[2].buffer >= 0)))
		return 'w';
	/* A linear layer without GELU only reads its dy. */
	if (op->kind == OP_LINEAR_BACKWARD && operand == 0 && op->operand[3].buffer < 0)
		return 'r';
	return access;
}

void op_describe(const struct plan *p, const struct op *op, char *out, int size)
{
	char micro[32] = "";
	if (op->micro >= 0 && p->settings.accumulate > 1)
		snprintf(micro, sizeof micro, ", micro-batch %d", op->micro);
	const char *step_of_norm = strncmp(op_name(op->kind), "batch_norm.", 11) ? NULL : op_name(op->kind) + 11;
	if (step_of_norm || (op->kernel >= 0 && op_class(op->kind) == OP_CLASS_C))
		snprintf(out, (size_t)size, "%s %s%s", step_of_norm ? step_of_norm : op_name(op->kind),
		         op->kernel >= 0 ? p->model->kernels[op->kernel].name : "?", micro);
	else if (op->kernel >= 0)
		snprintf(out, (size_t)size, "%s %s%s", pass_name(op->pass), p->model->kernels[op->kernel].name, micro);
	else if (op->kind == OP_COPY && (op->group >= 0 || op->unit >= 0)) /* "copy device-to-host block.3" */
		snprintf(out, (size_t)size, "%s %s %s%s", op_name(op->kind), queue_name(op->queue),
		         op->group >= 0 ? p->groups[op->group].name : p->model->units[op->unit].name, micro);
	else if (op->group >= 0)
		snprintf(out, (size_t)size, "%s %s%s", op_name(op->kind), p->groups[op->group].name, micro);
	else
		snprintf(out, (size_t)size, "%s%s", op_name(op->kind), micro);
}

const char *section_name(enum section_kind k)
{
	static const char *const names[] = {"prologue", "step", "evaluate", "epilogue"};
	return names[k];
}

const struct section *section_of(const struct role *r, enum section_kind k)
{
	const struct section *const sections[] = {&r->prologue, &r->step, &r->evaluate, &r->epilogue};
	return sections[k];
}

const struct role *plan_role_of(const struct plan *p, int64_t rank)
{
	for (int i = 0; i < p->role_count; i++)
		if (rank >= p->roles[i].first_rank && rank < p->roles[i].first_rank + p->roles[i].ranks)
			return &p->roles[i];
	return NULL;
}

static const struct axis *axis_of(const struct plan *p, const char *name)
{
	return &p->axes[__builtin_ctz(plan_axis(p, name))];
}

enum status plan_take_model(struct plan *p, const struct model *model)
{
	int64_t slices = plan_along(p, plan_axis(p, "tensor"));
	p->model = model;
	if (slices == 1)
		return STATUS_OK;
	p->model = &p->slice;
	return model_slice(&p->slice, model, slices, axis_of(p, "tensor")->sequence, &p->arena);
}

int64_t plan_slice_of(const struct plan *p, int64_t rank)
{
	return plan_place(p, plan_axis(p, "tensor"), rank);
}

bool group_is_sliced(const struct plan *p, int group)
{
	return p->model->tensors[p->groups[group].tensors[0]].cut != CUT_NONE;
}

unsigned group_sum_axes(const struct plan *p, int group)
{
	bool rows = group >= 0 && p->model->tensors[p->groups[group].tensors[0]].spread;
	return plan_data_axes(p) | (rows ? plan_axis(p, "tensor") : 0);
}

unsigned group_slice_axes(const struct plan *p, int group)
{
	return group_is_sliced(p, group) ? plan_axis(p, "tensor") : 0;
}

enum type plan_value_type(const struct plan *p, int value)
{
	switch (p->model->values[value].type) {
	case VALUE_INDEX:
		return TYPE_I32;
	case VALUE_FP32:
		return TYPE_FP32;
	case VALUE_MASK:
		return TYPE_U8;
	case VALUE_ACTIVATION:
		break;
	}
	return p->settings.precision;
}

void plan_release(struct plan *p)
{
	if (!p)
		return;
	arena_release(&p->arena);
	*p = (struct plan){0};
}

int64_t buffer_bytes(const struct buffer *b)
{
	return b->elements * type_bytes(b->type);
}

/* ---- what an operation costs ---- */

/* Elements of the whole buffer of a collective: reduce-scatter and scatter name it x, all-gather and gather y. A rank
 * that has only its part knows the whole from it. */
static int64_t whole_elements(const struct plan *p, const struct op *op)
{
	const struct region *x = &op->operand[0], *y = &op->operand[1];
	switch (op->kind) {
	case OP_ALL_GATHER:
		return y->count;
	case OP_GATHER:
		return y->buffer >= 0 ? y->count : x->count * op_members(p, op);
	case OP_SCATTER:
		return x->buffer >= 0 ? x->count : y->count * op_members(p, op);
	default:
		return x->count;
	}
}

enum operation op_operation(enum op_kind k)
{
	switch (k) {
	case OP_ALL_REDUCE:
	case OP_ALL_REDUCE_MAXIMUM:
		return OPERATION_ALL_REDUCE;
	case OP_REDUCE_SCATTER:
		return OPERATION_REDUCE_SCATTER;
	case OP_ALL_GATHER:
		return OPERATION_ALL_GATHER;
	case OP_BROADCAST:
		return OPERATION_BROADCAST;
	case OP_REDUCE:
		return OPERATION_REDUCE;
	case OP_SCATTER:
		return OPERATION_SCATTER;
	case OP_GATHER:
		return OPERATION_GATHER;
	case OP_SUM:
		return OPERATION_SUM;
	default:
		return OPERATION_COUNT;
	}
}

struct schedule op_schedule(const struct plan *p, const struct op *op)
{
	if (op_is_message(op->kind)) /* one round, in which 0 sends all to 1 */
		return (struct schedule){SCHEDULE_TREE_BROADCAST, 2, 0, op->operand[0].count, 0};
	return (struct schedule){.algorithm = op->algorithm,
	                         .ranks = op_members(p, op),
	                         .root = op->root,
	                         .elements = whole_elements(p, op),
	                         .pieces = 0};
}

int64_t op_element_bytes(const struct role *r, const struct op *op)
{
	if (op->kind == OP_SUM)
		return (int64_t)sizeof(double);
	int b = op->operand[0].buffer >= 0 ? op->operand[0].buffer : op->operand[1].buffer;
	return type_bytes(r->buffers[b].type);
}

int64_t op_sent_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank)
{
	if (op_class(op->kind) != OP_CLASS_C || p->ranks == 1)
		return 0;
	int64_t member = op_member(p, op, rank);
	struct schedule s = op_schedule(p, op);
	return member < 0 ? 0 : schedule_sent(&s, member) * op_element_bytes(r, op);
}

int64_t op_received_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank)
{
	if (op_class(op->kind) != OP_CLASS_C || p->ranks == 1)
		return 0;
	int64_t member = op_member(p, op, rank);
	struct schedule s = op_schedule(p, op);
	return member < 0 ? 0 : schedule_received(&s, member) * op_element_bytes(r, op);
}

int64_t op_payload_bytes(const struct role *r, const struct op *op)
{
	if (op_class(op->kind) != OP_CLASS_C)
		return 0;
	return op->payload * op_element_bytes(r, op);
}

/* ---- spaces ---- */

/* Bit by space: where the operands stand. */
static unsigned spaces_of(const struct role *r, const struct op *op)
{
	unsigned spaces = 0;
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (op->operand[i].buffer >= 0)
			spaces |= 1u << r->buffers[op->operand[i].buffer].space;
	return spaces;
}

static enum queue copy_queue(enum space from, enum space to)
{
	static const enum queue queues[SPACE_COUNT][SPACE_COUNT] = {
	        [SPACE_DEVICE] = {QUEUE_COMPUTE, QUEUE_DEVICE_TO_HOST, QUEUE_COUNT},
	        [SPACE_HOST] = {QUEUE_HOST_TO_DEVICE, QUEUE_HOST_COMPUTE, QUEUE_DISK},
	        [SPACE_DISK] = {QUEUE_COUNT, QUEUE_DISK, QUEUE_COUNT}};
	return queues[from][to];
}

enum queue op_queue_for(const struct role *r, const struct op *op)
{
	const unsigned device = 1u << SPACE_DEVICE, host = 1u << SPACE_HOST;
	unsigned spaces = spaces_of(r, op);
	if (op_class(op->kind) == OP_CLASS_M)
		return QUEUE_COMPUTE;
	if (op_class(op->kind) == OP_CLASS_C)
		return spaces == device || (op->kind == OP_SUM && spaces == host) ? QUEUE_COMMUNICATION : QUEUE_COUNT;
	if (op->kind == OP_COPY)
		return copy_queue(r->buffers[op->operand[0].buffer].space, r->buffers[op->operand[1].buffer].space);
	if (spaces == device)
		return QUEUE_COMPUTE;
	return spaces == host && op_class(op->kind) == OP_CLASS_V && op->kind != OP_LOAD ? QUEUE_HOST_COMPUTE
	                                                                                 : QUEUE_COUNT;
}

enum transfer_kind op_transfer(const struct role *r, const struct op *op)
{
	if (op->kind != OP_COPY)
		return TRANSFER_COUNT;
	switch (op->queue) {
	case QUEUE_DEVICE_TO_HOST:
		return TRANSFER_DEVICE_TO_HOST;
	case QUEUE_HOST_TO_DEVICE:
		return TRANSFER_HOST_TO_DEVICE;
	case QUEUE_DISK:
		return r->buffers[op->operand[0].buffer].space == SPACE_DISK ? TRANSFER_DISK_READ : TRANSFER_DISK_WRITE;
	default:
		return TRANSFER_COUNT;
	}
}

int64_t op_transfer_bytes(const struct plan *p, const struct role *r, const struct op *op)
{
	int64_t offset, count;
	if (op_transfer(r, op) == TRANSFER_COUNT)
		return 0;
	region_resolve(p, &op->operand[0], 0, &offset, &count);
	return count * type_bytes(r->buffers[op->operand[0].buffer].type);
}

int64_t op_flops(const struct plan *p, const struct op *op)
{
	int64_t n = op->operand[0].buffer >= 0 ? region_elements(p, &op->operand[0]) : 0;
	int64_t samples = p->settings.micro_batch * (op->wide ? plan_data_ranks(p) : 1);
	switch (op->kind) {
	case OP_ADAMW:
		return 14 * n;
	case OP_SGD:
	case OP_SQUARES:
		return 2 * n;
	case OP_ADD:
	case OP_OVERFLOW:
		return n;
	default:
		break;
	}
	if (op->kernel < 0 || op_class(op->kind) != OP_CLASS_K)
		return 0;
	const struct kernel *k = &p->model->kernels[op->kernel];
	int64_t rows = samples * k->tokens;
	switch (op->kind) {
	case OP_LINEAR_FINISH:
		return kernel_finish_flops(k) * op->operand[2].count;
	case OP_EMBEDDING_FINISH:
		return op->operand[1].count;
	case OP_CLASSIFIER_MAXIMA:
		return rows * k->out;
	case OP_CLASSIFIER_SUMS:
	case OP_EVALUATE_SUMS:
		return 3 * rows * k->out;
	case OP_CLASSIFIER_GRADIENT:
		return 4 * rows * k->out;
	case OP_EVALUATE_COUNT:
		return 3 * rows;
	default:
		break;
	}
	int64_t flops =
	        op->pass == PASS_BACKWARD ? kernel_backward_flops(k, samples) : kernel_forward_flops(k, samples);
	/* A batch norm's passes go over their values twice, in two operations; between them is work on each feature. */
	if (op->kind == OP_BATCH_NORM_MERGE || op->kind == OP_BATCH_NORM_RUNNING)
		return 4 * op->operand[0].count;
	return k->kind == KERNEL_BATCH_NORM ? flops / 2 : flops;
}

int64_t role_first_buffer(const struct plan *p, const struct role *r)
{
	int64_t first = -1;
	for (int i = r->step.begin; i < r->step.end && plan_axis(p, "stage"); i++) {
		const struct op *op = &r->ops[i];
		if (op->kind != OP_BATCH_NORM_MERGE)
			continue;
		int64_t offset = p->model->buffers[p->model->kernels[op->kernel].running].offset;
		first = first < 0 || offset < first ? offset : first;
	}
	return first < 0 ? 0 : first;
}

enum type op_compute_type(const struct plan *p, const struct role *r, const struct op *op)
{
	if (op_class(op->kind) == OP_CLASS_K)
		return p->settings.precision;
	int buffer = op->operand[0].buffer;
	enum type type = buffer >= 0 ? r->buffers[buffer].type : TYPE_FP32;
	return type == TYPE_BF16 || type == TYPE_FP16 ? type : TYPE_FP32;
}

int64_t op_bytes(const struct plan *p, const struct role *r, const struct op *op)
{
	int64_t bytes = 0;
	if (op_class(op->kind) == OP_CLASS_M)
		return 0;
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		char access = op_access(op, i);
		if (!access)
			continue;
		int64_t offset, count;
		region_resolve(p, &op->operand[i], 0, &offset, &count);
		/* An embedding reads the rows that it uses, not the table. */
		if (op->kind == OP_EMBEDDING_FORWARD && (i == 1 || i == 2))
			count = op->operand[3].count;
		if (op->kind == OP_EMBEDDING_FINISH && i == 0)
			count = op->operand[1].count;
		bytes += (access == 'x' ? 2 : 1) * count * type_bytes(r->buffers[op->operand[i].buffer].type);
	}
	return bytes;
}
