#include "strategy/plan/operation.h"

#include <string.h>

#include "strategy/plan/mesh.h"
#include "strategy/plan/plan.h"

/* ---- operands ---- */

static bool is_there(const struct op *op, int operand)
{
	return op->operand[operand].buffer >= 0;
}

char op_access(const struct op *op, int operand)
{
	int other;
	if (operand >= op_operand_count(op->kind) || !is_there(op, operand))
		return 0;
	char access = op_declared_access(op->kind, operand);
	if (access == 'a')
		return op->accumulate >> operand & 1 ? 'x' : 'w';
	switch (op_access_rule(op->kind, operand, &other)) {
	case ACCESS_CHANGE_WITH:
		return is_there(op, other) ? 'x' : 'r';
	case ACCESS_REMAKE_FROM:
		return op->queue == QUEUE_HOST_COMPUTE && is_there(op, other) ? 'w' : 'x';
	default:
		return access;
	}
}

const struct region *op_region(const struct op *op, enum part part)
{
	int operand = op_find(op->kind, part);
	return operand < 0 ? NULL : &op->operand[operand];
}

int op_buffer(const struct op *op)
{
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (is_there(op, i))
			return op->operand[i].buffer;
	return -1;
}

bool op_uses(const struct op *op, int buffer)
{
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (op->operand[i].buffer == buffer)
			return true;
	return false;
}

bool op_waits_for(const struct op *op, int other)
{
	for (int i = 0; i < op->after_count; i++)
		if (op->after[i] == other)
			return true;
	return false;
}

bool kernel_synchronises(const struct plan *p, const struct kernel *k)
{
	return k->kind == KERNEL_BATCH_NORM && k->synchronised && plan_data_ranks(p) > 1;
}

/* The update has master weights beside the parameters. Of software that keeps fp32 parameters it has them where it says
 * so. */
static bool is_mixed(const struct plan *p, const struct op *op)
{
	int master = op_find(op->kind, PART_MASTER);
	bool half = p->settings.precision != TYPE_FP32;
	if (half && p->software.does[SOFTWARE_WEIGHTS] == WEIGHTS_FP32)
		return master >= 0 && op->operand[master].buffer >= 0;
	return half || (p->software.does[SOFTWARE_MASTER] == MASTER_ALWAYS && op->queue == QUEUE_COMPUTE);
}

struct op_sizes op_sizes_of(const struct plan *p, const struct op *op)
{
	const struct model *m = p->model;
	const struct kernel *k = op->kernel >= 0 ? &m->kernels[op->kernel] : NULL;
	int64_t samples = p->settings.micro_batch * (op->all_ranks ? plan_data_ranks(p) : 1);
	struct op_sizes s = {.contributors = 1};
	if (k)
		s = kernel_sizes(m, k, samples);
	if (k && kernel_synchronises(p, k))
		s.contributors = p->ranks;
	s.mixed = is_mixed(p, op);
	s.fp16 = p->settings.precision == TYPE_FP16;
	s.clips = p->settings.clip > 0;
	s.scalar = scalar_elements(&p->settings);
	s.inputs = value_elements(&m->values[m->input], samples);
	s.targets = value_elements(&m->values[m->target], samples);
	s.n = is_there(op, 0) ? region_elements(p, op->operand) : 0;
	return s;
}

/* Gradients leave the device, for the optimizer; parameters come to it, or what was updated. */
bool op_is_pageable(const struct plan *p, const struct op *op)
{
	const struct offload *o = &p->settings.offload;
	int pinned = p->software.does[SOFTWARE_PINNED];
	bool in = op->queue == QUEUE_HOST_TO_DEVICE, out = op->queue == QUEUE_DEVICE_TO_HOST;
	if (pinned == PINNED_ALL || op->group < 0 || !(in || out) || !(o->optimizer || o->parameters))
		return false;
	return pinned != (in && o->parameters ? PINNED_PARAMETERS : PINNED_OPTIMIZER);
}

static bool copies_in_turn(const struct plan *p, const struct op *op)
{
	return p->software.does[SOFTWARE_COPIES] == COPIES_ONE && op->queue == QUEUE_DEVICE_TO_HOST && op->group >= 0 &&
	       op->pass == PASS_BACKWARD && p->settings.offload.optimizer &&
	       (!strcmp(p->strategy, "zero1") || !strcmp(p->strategy, "zero2"));
}

/* The ranks' pieces follow one another through the model, and buckets come from its end (DeepSpeed's
 * stage_1_and_2.py, copy_grads_in_partition). Of a bucket a rank has a whole piece, or one of two that it begins or
 * ends in:
 *
 *     pieces    │  rank 0  │  rank 1  │  rank 2  │  rank 3  │
 *     buckets   │       2       │       1       │     0     │
 */
static int64_t most_of_bucket(const struct plan *p, int group)
{
	int64_t all = 0, behind = 0;
	for (int g = 0; g < p->group_count; g++) {
		behind += g < group ? p->groups[g].elements : 0;
		all += p->groups[g].elements;
	}
	int64_t piece = (all + p->ranks - 1) / p->ranks, begin = all - behind - p->groups[group].elements;
	int64_t end = all - behind, first = piece - begin % piece;
	first = first < end - begin ? first : end - begin;
	int64_t rest = end - begin - first;
	rest = rest < piece ? rest : piece;
	return first > rest ? first : rest;
}

int64_t op_bytes_in_turn(const struct plan *p, const struct role *r, const struct op *op)
{
	if (!copies_in_turn(p, op))
		return 0;
	return most_of_bucket(p, op->group) * type_bytes(r->buffers[op->operand[COPY_X].buffer].type);
}

static enum type buffer_type(const struct role *r, const struct op *op, int operand)
{
	return r->buffers[op->operand[operand].buffer].type;
}

static bool keeps_fp32(const struct plan *p)
{
	return p->software.does[SOFTWARE_WEIGHTS] == WEIGHTS_FP32;
}

/* A copy of floating-point numbers may round them where it is not shardlab's own trainer that makes it, and a sum may
 * be of another type than what is added. */
static bool may_cast(const struct plan *p, const struct op *op)
{
	return (op->kind == OP_COPY || op->kind == OP_ADD) && !software_is_own(&p->software);
}

enum type plan_gradient_type(const struct plan *p)
{
	return p->software.does[SOFTWARE_GRADIENTS] == GRADIENTS_FP32 ? TYPE_FP32 : p->settings.precision;
}

enum type plan_shard_type(const struct plan *p)
{
	return p->software.does[SOFTWARE_GRADIENTS] == GRADIENTS_16BIT ? p->settings.precision : TYPE_FP32;
}

enum type op_operand_type(const struct plan *p, const struct role *r, const struct op *op, int operand)
{
	static const enum type fixed[] = {[OPERAND_FP32] = TYPE_FP32,
	                                  [OPERAND_I32] = TYPE_I32,
	                                  [OPERAND_I64] = TYPE_I64,
	                                  [OPERAND_U8] = TYPE_U8,
	                                  [OPERAND_FP8] = TYPE_FP8};
	enum type own = buffer_type(r, op, operand);
	enum operand_type rule = op_type_rule(op->kind, operand);
	switch (rule) {
	case OPERAND_ANY:
		return own;
	case OPERAND_ALIKE:
		if (may_cast(p, op) && (own == TYPE_FP32 || own == p->settings.precision))
			return own;
		return buffer_type(r, op, 0);
	case OPERAND_FLOAT:
		return own == TYPE_FP32 ? own : p->settings.precision;
	case OPERAND_INPUT:
		return plan_value_type(p, p->model->input);
	case OPERAND_GRADIENT:
		if (own != TYPE_FP32)
			return p->settings.precision;
		return op_class(op->kind) == OP_CLASS_K ? plan_gradient_type(p) : plan_shard_type(p);
	case OPERAND_PLAN:
		return own == TYPE_FP32 && op_part(op->kind, operand) == PART_PARAMETERS && keeps_fp32(p)
		               ? own
		               : p->settings.precision;
	default:
		return fixed[rule];
	}
}

/* ---- what an operation costs ---- */

int64_t op_whole_elements(const struct plan *p, const struct op *op)
{
	const struct region *whole = op_region(op, PART_WHOLE);
	if (whole->buffer >= 0)
		return whole->count;
	const struct region *share = op_region(op, PART_SHARE);
	return share->slice ? share->count : share->count * op_members(p, op);
}

static const struct {
	enum operation collective;
	enum traffic_kind traffic, or_traffic;
} communication[OP_KIND_COUNT] = {
#define COMMUNICATION_OP(constant, name, collective, traffic, or_traffic, sections)                                    \
	[OP_##constant] = {OPERATION_##collective, TRAFFIC_##traffic, TRAFFIC_##or_traffic},
#include "strategy/plan/ops.def"
};

enum operation op_operation(enum op_kind k)
{
	return op_class(k) == OP_CLASS_C ? communication[k].collective : OPERATION_COUNT;
}

bool op_may_count_as(enum op_kind k, enum traffic_kind t)
{
	return t == communication[k].traffic || t == communication[k].or_traffic;
}

struct schedule op_schedule(const struct plan *p, const struct op *op)
{
	if (op_is_message(op->kind)) /* one round, in which 0 sends all to 1 */
		return (struct schedule){SCHEDULE_TREE_BROADCAST, 2, 0, op_region(op, PART_WHOLE)->count, 0};
	return (struct schedule){.algorithm = op->algorithm,
	                         .ranks = op_members(p, op),
	                         .root = op->root,
	                         .elements = op_whole_elements(p, op),
	                         .pieces = 0};
}

int64_t op_element_bytes(const struct role *r, const struct op *op)
{
	if (op->kind == OP_SUM)
		return (int64_t)sizeof(double);
	return type_bytes(r->buffers[op_buffer(op)].type);
}

/* elements: schedule_sent or schedule_received */
static int64_t moved_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank,
                           int64_t (*elements)(const struct schedule *s, int64_t rank))
{
	if (op_class(op->kind) != OP_CLASS_C || p->ranks == 1)
		return 0;
	int64_t member = op_member(p, op, rank);
	struct schedule s = op_schedule(p, op);
	return member < 0 ? 0 : elements(&s, member) * op_element_bytes(r, op);
}

int64_t op_sent_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank)
{
	return moved_bytes(p, r, op, rank, schedule_sent);
}

int64_t op_received_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank)
{
	return moved_bytes(p, r, op, rank, schedule_received);
}

int64_t op_payload_bytes(const struct role *r, const struct op *op)
{
	return op_class(op->kind) == OP_CLASS_C ? op->payload * op_element_bytes(r, op) : 0;
}

/* ---- spaces ---- */

/* Bit by space: where the operands stand, but for a snapshot, which the queue of what is saved makes. */
static unsigned spaces_of(const struct role *r, const struct op *op)
{
	unsigned spaces = 0;
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (op->operand[i].buffer >= 0 && (op->kind != OP_SAVE || i != SAVE_SNAPSHOT))
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
		return copy_queue(r->buffers[op->operand[COPY_X].buffer].space,
		                  r->buffers[op->operand[COPY_Y].buffer].space);
	if (spaces == device)
		return QUEUE_COMPUTE;
	return spaces == host && op_class(op->kind) == OP_CLASS_V && op->kind != OP_LOAD ? QUEUE_HOST_COMPUTE
	                                                                                 : QUEUE_COUNT;
}

enum transfer_kind op_transfer(const struct role *r, const struct op *op)
{
	if (op->kind != OP_COPY)
		return TRANSFER_COUNT;
	if (op->queue == QUEUE_DISK)
		return r->buffers[op->operand[COPY_X].buffer].space == SPACE_DISK ? TRANSFER_DISK_READ
		                                                                  : TRANSFER_DISK_WRITE;
	return op->queue == QUEUE_DEVICE_TO_HOST   ? TRANSFER_DEVICE_TO_HOST
	       : op->queue == QUEUE_HOST_TO_DEVICE ? TRANSFER_HOST_TO_DEVICE
	                                           : TRANSFER_COUNT;
}

int64_t op_transfer_bytes(const struct plan *p, const struct role *r, const struct op *op)
{
	const struct region *x = &op->operand[COPY_X];
	return op_transfer(r, op) == TRANSFER_COUNT ? 0
	                                            : region_elements(p, x) * type_bytes(r->buffers[x->buffer].type);
}

int64_t op_flops(const struct plan *p, const struct op *op)
{
	struct op_sizes s = op_sizes_of(p, op);
	return op_class(op->kind) == OP_CLASS_K && op->kernel < 0 ? 0 : op_flops_of(op->kind, &s);
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

bool op_is_fp8(const struct plan *p, const struct op *op)
{
	return p->settings.fp8 && (op->kind == OP_LINEAR_FORWARD || op->kind == OP_LINEAR_BACKWARD) &&
	       p->model->kernels[op->kernel].y != p->model->logits;
}

enum type op_compute_type(const struct plan *p, const struct role *r, const struct op *op)
{
	if (op_class(op->kind) == OP_CLASS_K)
		return op_is_fp8(p, op) ? TYPE_FP8 : p->settings.precision;
	int buffer = op_buffer(op);
	enum type type = buffer >= 0 ? r->buffers[buffer].type : TYPE_FP32;
	return type == TYPE_BF16 || type == TYPE_FP16 ? type : TYPE_FP32;
}

/* A product in fp8 reads copies of its operands, one byte an element. */
static int64_t bytes_of_element(const struct plan *p, const struct role *r, const struct op *op, int operand)
{
	enum part part = op_part(op->kind, operand);
	bool copied = op_is_fp8(p, op) && (part == PART_X || part == PART_WEIGHT || part == PART_DY);
	return type_bytes(copied ? TYPE_FP8 : r->buffers[op->operand[operand].buffer].type);
}

static bool has_part(const struct op *op, enum part part)
{
	int i = op_find(op->kind, part);
	return i >= 0 && op_access(op, i);
}

enum { LARGE = 1 << 20, CACHE_LINE = 64, PAGE = 4096 };

/* Buffers begin at a line (LAYOUT_ALIGNMENT). */
static bool straddles(const struct op *op, int operand, int64_t element)
{
	return op->operand[operand].offset * element % CACHE_LINE != 0;
}

int64_t op_weight_bytes(const struct plan *p, const struct role *r, const struct op *op)
{
	bool back = op->kind == OP_LINEAR_BACKWARD;
	bool reads = op->kind == OP_LINEAR_FORWARD || (back && has_part(op, PART_DX));
	int i = reads ? op_find(op->kind, PART_WEIGHT) : -1;
	int64_t element = i < 0 ? 0 : bytes_of_element(p, r, op, i);
	int64_t bytes = i < 0 ? 0 : region_elements(p, &op->operand[i]) * element;
	if (bytes < LARGE)
		return 0;
	bool twice = back && straddles(op, i, element) && op_sizes_of(p, op).in * element % PAGE == 0;
	return twice ? 2 * bytes : bytes;
}

int64_t op_straddling_bytes(const struct plan *p, const struct role *r, const struct op *op)
{
	int64_t all = 0;
	for (int i = 0; i < op_operand_count(op->kind) && op_class(op->kind) == OP_CLASS_V; i++) {
		char access = op_access(op, i);
		int64_t element = access ? bytes_of_element(p, r, op, i) : 0;
		int64_t bytes = access ? region_elements(p, &op->operand[i]) * element : 0;
		if (bytes >= LARGE && straddles(op, i, element))
			all += bytes * (access == 'x' ? 2 : 1);
	}
	return all;
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
		int other;
		bool looks_up = op_access_rule(op->kind, i, &other) == ACCESS_LOOK_UP;
		int64_t count = region_elements(p, &op->operand[looks_up ? other : i]);
		bytes += (access == 'x' ? 2 : 1) * count * bytes_of_element(p, r, op, i);
	}
	return bytes;
}
