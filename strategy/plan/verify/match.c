/* Rule 2, for communication: each operation fits its members, and those that meet (strategy/plan/rendezvous.h) are the
 * same on every role. */

#include "strategy/base/number.h"
#include "strategy/plan/verify/verify.h"

/* What it may be counted under; the second: a scatter's, a batch norm's, or the model's buffers. */
static const struct {
	enum traffic_kind traffic, or_traffic;
} forms[OP_KIND_COUNT] = {
        [OP_ALL_REDUCE] = {TRAFFIC_ALL_REDUCE, TRAFFIC_REDUCE_STATISTICS},
        [OP_ALL_REDUCE_MAXIMUM] = {TRAFFIC_ALL_REDUCE, TRAFFIC_ALL_REDUCE},
        [OP_REDUCE_SCATTER] = {TRAFFIC_REDUCE_SCATTER, TRAFFIC_REDUCE_SCATTER},
        [OP_ALL_GATHER] = {TRAFFIC_ALL_GATHER, TRAFFIC_GATHER_STATISTICS},
        [OP_BROADCAST] = {TRAFFIC_BROADCAST, TRAFFIC_BROADCAST_BUFFERS},
        [OP_REDUCE] = {TRAFFIC_REDUCE, TRAFFIC_REDUCE},
        [OP_SCATTER] = {TRAFFIC_SCATTER_INPUTS, TRAFFIC_SCATTER_OUTPUT_GRADIENTS},
        [OP_GATHER] = {TRAFFIC_GATHER_OUTPUTS, TRAFFIC_GATHER_OUTPUTS},
        [OP_SUM] = {TRAFFIC_CONTROL, TRAFFIC_CONTROL},
        [OP_SEND] = {TRAFFIC_ACTIVATIONS, TRAFFIC_ACTIVATION_GRADIENTS},
        [OP_RECEIVE] = {TRAFFIC_ACTIVATIONS, TRAFFIC_ACTIVATION_GRADIENTS},
};

enum { MOST_CONTROL_VALUES = 4 };

static bool is_collective(enum op_kind k)
{
	return op_class(k) == OP_CLASS_C;
}

static enum type element_type(const struct role *r, const struct op *op)
{
	return r->buffers[op_buffer(op)].type;
}

/* ---- one collective ---- */

static enum status check_operands(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	int64_t members = op_members(v->p, op);
	int w = op_find(op->kind, PART_WHOLE), k = op_find(op->kind, PART_SHARE);
	const struct region *whole = &op->operand[w];
	bool only_root = r->ranks == 1 && r->first_rank == op->root;
	bool has_root = op->root >= r->first_rank && op->root < r->first_rank + r->ranks;
	bool at_root_only = op->kind == OP_SCATTER || op->kind == OP_GATHER;
	if (at_root_only && op->axes)
		return refuse(v, 2, r, number, -1, "runs over all axes, or not at all");
	if (at_root_only && has_root && !only_root)
		return refuse(v, 2, r, number, -1, "rank %d is the root and needs a role of its own", op->root);
	if (at_root_only && (whole->buffer >= 0) != only_root)
		return refuse(v, 2, r, number, whole->buffer, "operand %s is for the root, rank %d, alone",
		              op_operand_name(op->kind, w), op->root);
	bool divides = op->kind != OP_SUM && !op_is_message(op->kind); /* a sum and a message travel whole */
	if (whole->buffer >= 0 && (whole->slice || (divides && whole->count % members)))
		return refuse(v, 2, r, number, whole->buffer,
		              "operand %s: %lld elements must be whole and divide into %lld slices",
		              op_operand_name(op->kind, w), (long long)whole->count, (long long)members);
	if (k < 0)
		return STATUS_OK;
	const struct region *part = &op->operand[k];
	int64_t n = region_elements(v->p, part);
	if (part->buffer < 0)
		return refuse(v, 2, r, number, -1, "operand %s is missing", op_operand_name(op->kind, k));
	if (part->slice && part->slice != op_axes(v->p, op))
		return refuse(v, 2, r, number, part->buffer, "operand %s is a slice along other axes than it runs over",
		              op_operand_name(op->kind, k));
	if (n > INT64_MAX / members)
		return refuse(v, 2, r, number, part->buffer,
		              "operand %s: %lld elements on each of %lld ranks are too many",
		              op_operand_name(op->kind, k), (long long)n, (long long)members);
	if (whole->buffer >= 0 && n != whole->count / members)
		return refuse(v, 2, r, number, part->buffer, "operand %s is %lld elements; %s ÷ %lld ranks is %lld",
		              op_operand_name(op->kind, k), (long long)n, op_operand_name(op->kind, w),
		              (long long)members, (long long)(whole->count / members));
	if (whole->buffer >= 0 && r->buffers[whole->buffer].type != r->buffers[part->buffer].type)
		return refuse(v, 2, r, number, part->buffer, "its operands are of different types");
	return STATUS_OK;
}

static enum status check_staging(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	int k = op_find(op->kind, PART_STAGING);
	if (k < 0)
		return STATUS_OK;
	const struct region *g = &op->operand[k];
	if (g->buffer < 0)
		return v->p->settings.library_collectives
		               ? STATUS_OK
		               : refuse(v, 2, r, number, -1, "has no staging; give it a buffer of %d bytes",
		                        SCHEDULE_STAGING_BYTES);
	if (g->slice || g->count * type_bytes(r->buffers[g->buffer].type) < SCHEDULE_STAGING_BYTES)
		return refuse(v, 2, r, number, g->buffer, "staging must be %d bytes at least", SCHEDULE_STAGING_BYTES);
	return STATUS_OK;
}

/* A collective of a batch norm, or of the model's buffers: its sizes follow from the model. */
static enum status check_norm(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	const struct model *m = v->p->model;
	const struct kernel *k = op->kernel < 0 ? NULL : &m->kernels[op->kernel];
	bool buffers = op->traffic == TRAFFIC_BROADCAST_BUFFERS, gather = op->traffic == TRAFFIC_GATHER_STATISTICS;
	int buffer = op_buffer(op);
	if (!is_norm_collective(op))
		return op->kernel < 0 ? STATUS_OK : refuse(v, 2, r, number, buffer, "belongs to no kernel");
	if (op->group >= 0)
		return refuse(v, 2, r, number, buffer, "moves no group of parameters, and names one");
	if (op_axes(v->p, op) != plan_all_axes(v->p))
		return refuse(v, 2, r, number, buffer, "is among all ranks, whose samples a batch norm takes together");
	if (buffers ? k || !m->buffer_count : !k || !kernel_synchronises(v->p, k))
		return refuse(v, 2, r, number, buffer, "is for %s",
		              buffers ? "the buffers of a model, and this one has none"
		                      : "a batch norm that is synchronised");
	if (k && (op->micro < 0 || op->unit != k->unit || op->pass != (gather ? PASS_FORWARD : PASS_BACKWARD)))
		return refuse(v, 2, r, number, buffer, "its pass, unit or micro-batch is not that of the kernel");
	if (buffers && op->root)
		return refuse(v, 2, r, number, buffer, "root %d: the model's buffers are rank 0's", op->root);
	int64_t payload = buffers ? m->buffer_elements : gather ? v->p->ranks * (2 * k->out + 1) : 2 * k->out;
	if (op->payload != payload || op_whole_elements(v->p, op) != round_up(payload, v->p->ranks))
		return refuse(v, 2, r, number, buffer,
		              "moves %lld elements, payload %lld; it must be %lld, payload %lld",
		              (long long)op_whole_elements(v->p, op), (long long)op->payload,
		              (long long)round_up(payload, v->p->ranks), (long long)payload);
	if (element_type(r, op) != TYPE_FP32)
		return refuse(v, 2, r, number, buffer, "is %s; statistics are fp32", type_name(element_type(r, op)));
	return STATUS_OK;
}

static enum status check_payload(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	int64_t elements = op_whole_elements(v->p, op), payload = elements;
	int buffer = op_buffer(op);
	if (op->traffic == TRAFFIC_GATHER_OUTPUTS || op->traffic == TRAFFIC_SCATTER_OUTPUT_GRADIENTS)
		payload = elements / v->p->model->logits_stride * v->p->model->classes; /* pads are none */
	if (op->group >= 0) {
		const struct group *g = &v->p->groups[op->group];
		/* Where the group is sharded along other axes, the padding is on some shards and not on others. */
		int64_t shards = plan_along(v->p, plan_all_axes(v->p) & ~op_axes(v->p, op));
		bool shard = op->axes && elements < g->padded;
		payload = shard ? elements : g->elements;
		if (elements != g->padded &&
		    !(shard && g->padded % elements == 0 && shards % (g->padded / elements) == 0))
			return refuse(v, 2, r, number, buffer, "moves %lld elements; its group has %lld, padded",
			              (long long)elements, (long long)g->padded);
	}
	/* A value that is summed over a tensor group may be padded; with what is checked with what it means. */
	bool value = op->group < 0 && (op->kind == OP_ALL_REDUCE || op->kind == OP_ALL_REDUCE_MAXIMUM);
	if (value && op->payload > 0 && op->payload <= elements && round_up(op->payload, v->p->ranks) == elements)
		return STATUS_OK;
	if (op->payload != payload)
		return refuse(v, 2, r, number, buffer, "payload %lld must be %lld", (long long)op->payload,
		              (long long)payload);
	return STATUS_OK;
}

static bool algorithm_fits(const struct op *op)
{
	if (op_is_message(op->kind))
		return op->algorithm == 0;
	return (unsigned)op->algorithm < SCHEDULE_COUNT &&
	       schedule_row(op->algorithm)->operation == op_operation(op->kind);
}

static enum status check_collective(const struct verify *v, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	int buffer = op_buffer(op);
	enum status s;
	if (v->p->ranks == 1 || op_members(v->p, op) == 1)
		return refuse(v, 2, r, number, buffer, "there is one rank and nobody to communicate with; take it out");
	if (op->root < 0 || op->root >= op_members(v->p, op) ||
	    (!operation_has_root(op_operation(op->kind)) && op->root))
		return refuse(v, 2, r, number, buffer, "root %d is not a rank of its group", op->root);
	if (!algorithm_fits(op))
		return refuse(v, 2, r, number, buffer, "its algorithm is not one of %s", op_name(op->kind));
	if (op->traffic != forms[op->kind].traffic && op->traffic != forms[op->kind].or_traffic)
		return refuse(v, 2, r, number, buffer, "is counted as %s; use %s",
		              (int)op->traffic < TRAFFIC_COUNT ? traffic_name(op->traffic) : "?",
		              traffic_name(forms[op->kind].traffic));
	if ((s = check_operands(v, r, number)) || (s = check_staging(v, r, number)))
		return s;
	if (op->kind == OP_SUM && (op->operand[SUM_X].count > MOST_CONTROL_VALUES || element_type(r, op) != TYPE_FP32))
		return refuse(v, 2, r, number, buffer, "sums up to %d fp32 numbers", MOST_CONTROL_VALUES);
	if ((s = check_norm(v, r, number)) || is_norm_collective(op))
		return s;
	return check_payload(v, r, number);
}

/* ---- between roles ---- */

static const char *difference(const struct verify *v, const struct role *ra, const struct op *a, const struct role *rb,
                              const struct op *b)
{
	if (a->kind != b->kind && !op_is_message(a->kind))
		return "the kind";
	if (op_is_message(a->kind) && a->micro != b->micro)
		return "the micro-batch";
	if (a->algorithm != b->algorithm)
		return "the algorithm";
	if (a->root != b->root)
		return "the root";
	if (op_whole_elements(v->p, a) != op_whole_elements(v->p, b))
		return "the number of elements";
	if (element_type(ra, a) != element_type(rb, b))
		return "the type";
	if (a->payload != b->payload)
		return "the payload";
	if (a->traffic != b->traffic)
		return "what it is counted as";
	if (is_norm_collective(a) && (a->kernel != b->kernel || a->micro != b->micro))
		return "the kernel or the micro-batch";
	return NULL;
}

/* Each participant against the one before it. */
static enum status check_instance(const struct verify *v, const struct rendezvous *rv, const struct instance *x)
{
	for (int i = 1; i < x->participant_count; i++) {
		const struct participant *a = &x->participants[i - 1], *b = &x->participants[i];
		const struct role *ra = participant_role(rv, a), *rb = participant_role(rv, b);
		const struct op *op = participant_op(rv, a);
		const char *what = difference(v, ra, op, rb, participant_op(rv, b));
		if (what)
			return refuse(v, 2, ra, a->op, op_buffer(op),
			              "meets operation %s of role %s (rank %lld …), and %s differs; make them the same",
			              op_title(v, rb, b->op), rb->name, (long long)rb->first_rank, what);
	}
	return STATUS_OK;
}

enum status verify_matching(const struct verify *v)
{
	enum status s;
	for (int i = 0; i < v->p->role_count; i++)
		for (int n = 0; n < v->p->roles[i].op_count; n++)
			if (is_collective(v->p->roles[i].ops[n].kind) && (s = check_collective(v, &v->p->roles[i], n)))
				return s;
	for (int k = 0; k < SECTION_KINDS; k++)
		for (int i = 0; i < v->rendezvous[k].instance_count; i++)
			if ((s = check_instance(v, &v->rendezvous[k], &v->rendezvous[k].instances[i])))
				return s;
	return STATUS_OK;
}
