/* Rule 2, for communication: each operation fits its members, and those that meet (strategy/plan/rendezvous.h) are the
 * same on every role. */

#include "strategy/base/number.h"
#include "strategy/collective/check.h"
#include "strategy/plan/verify/verify.h"

enum { MOST_CONTROL_VALUES = SCALAR_DIGITS };

static enum type element_type(const struct role *r, const struct op *op)
{
	return r->buffers[op_buffer(op)].type;
}

/* ---- one collective ---- */

/* Scatter and gather: the root alone has the whole, in a role of its own. */
static enum status check_root(const struct at *a, int whole)
{
	int root = a->op->root;
	bool only_root = a->r->ranks == 1 && a->r->first_rank == root;
	if (a->op->axes)
		return refuse_op(a, 2, "runs over all axes, or not at all");
	if (root >= a->r->first_rank && root < a->r->first_rank + a->r->ranks && !only_root)
		return refuse_op(a, 2, "rank %d is the root and needs a role of its own", root);
	if ((a->op->operand[whole].buffer >= 0) != only_root)
		return refuse_at(a, 2, whole, " is for the root, rank %d, alone", root);
	return STATUS_OK;
}

/* A share is 1/members of the whole, of its type. */
static enum status check_share(const struct at *a, int share, const struct region *whole, int64_t members)
{
	const struct region *g = &a->op->operand[share];
	int64_t n = region_elements(a->p, g);
	if (g->slice && g->slice != op_axes(a->p, a->op))
		return refuse_at(a, 2, share, " is a slice along other axes than it runs over");
	if (n > INT64_MAX / members)
		return refuse_at(a, 2, share, ": %lld elements on each of %lld ranks are too many", (long long)n,
		                 (long long)members);
	if (whole->buffer >= 0 && n != whole->count / members)
		return refuse_at(a, 2, share, " is %lld elements; %lld ÷ %lld ranks is %lld", (long long)n,
		                 (long long)whole->count, (long long)members, (long long)(whole->count / members));
	if (whole->buffer >= 0 && a->r->buffers[whole->buffer].type != a->r->buffers[g->buffer].type)
		return refuse_at(a, 2, share, " is of another type than the whole");
	return STATUS_OK;
}

static enum status check_operands(const struct at *a)
{
	int64_t members = op_members(a->p, a->op);
	int w = op_find(a->op->kind, PART_WHOLE), share = op_find(a->op->kind, PART_SHARE);
	const struct region *whole = &a->op->operand[w];
	enum operation o = op_operation(a->op->kind);
	bool at_root_only = operation_has_root(o) && operation_has_slices(o);
	TRY(at_root_only ? check_root(a, w) : STATUS_OK);
	bool divides = a->op->kind != OP_SUM && !op_is_message(a->op->kind); /* a sum and a message travel whole */
	if (whole->buffer >= 0 && (whole->slice || (divides && whole->count % members)))
		return refuse_at(a, 2, w, ": %lld elements must be whole and divide into %lld slices",
		                 (long long)whole->count, (long long)members);
	return share < 0 ? STATUS_OK : check_share(a, share, whole, members);
}

static enum status check_staging(const struct at *a)
{
	int k = op_find(a->op->kind, PART_STAGING);
	const struct region *g = &a->op->operand[k < 0 ? 0 : k];
	if (k < 0 || (g->buffer < 0 && a->p->settings.library_collectives))
		return STATUS_OK;
	if (g->buffer < 0 || g->slice || g->count * type_bytes(a->r->buffers[g->buffer].type) < SCHEDULE_STAGING_BYTES)
		return refuse_at(a, 2, k, " must be a buffer of %d bytes at least", SCHEDULE_STAGING_BYTES);
	return STATUS_OK;
}

/* A collective of a batch norm, or of the model's buffers: its sizes follow from the model. */
static enum status check_norm(const struct at *a)
{
	const struct model *m = a->p->model;
	const struct kernel *k = a->op->kernel < 0 ? NULL : &m->kernels[a->op->kernel];
	bool buffers = a->op->traffic == TRAFFIC_BROADCAST_BUFFERS,
	     gather = a->op->traffic == TRAFFIC_GATHER_STATISTICS;
	if (!is_norm_collective(a->op))
		return a->op->kernel < 0 ? STATUS_OK : refuse_op(a, 2, "belongs to no kernel");
	if (a->op->group >= 0)
		return refuse_op(a, 2, "moves no group of parameters, and names one");
	if (op_axes(a->p, a->op) != plan_all_axes(a->p))
		return refuse_op(a, 2, "is among all ranks, whose samples a batch norm takes together");
	if (buffers ? k || !m->buffer_count : !k || !kernel_synchronises(a->p, k))
		return refuse_op(a, 2, "is for %s",
		                 buffers ? "the buffers of a model, and this one has none"
		                         : "a batch norm that is synchronised");
	if (k && (a->op->micro < 0 || a->op->unit != k->unit || a->op->pass != (gather ? PASS_FORWARD : PASS_BACKWARD)))
		return refuse_op(a, 2, "its pass, unit or micro-batch is not that of the kernel");
	if (buffers && a->op->root)
		return refuse_op(a, 2, "root %d: the model's buffers are rank 0's", a->op->root);
	int64_t payload = buffers ? m->buffer_elements : gather ? a->p->ranks * (2 * k->out + 1) : 2 * k->out;
	if (a->op->payload != payload || op_whole_elements(a->p, a->op) != round_up(payload, a->p->ranks))
		return refuse_op(a, 2, "moves %lld elements, payload %lld; it must be %lld, payload %lld",
		                 (long long)op_whole_elements(a->p, a->op), (long long)a->op->payload,
		                 (long long)round_up(payload, a->p->ranks), (long long)payload);
	if (element_type(a->r, a->op) != TYPE_FP32)
		return refuse_op(a, 2, "is %s; statistics are fp32", type_name(element_type(a->r, a->op)));
	return STATUS_OK;
}

static enum status check_payload(const struct at *a)
{
	int64_t elements = op_whole_elements(a->p, a->op), payload = elements;
	if (a->op->traffic == TRAFFIC_GATHER_OUTPUTS || a->op->traffic == TRAFFIC_SCATTER_OUTPUT_GRADIENTS)
		payload = elements / a->p->model->logits_stride * a->p->model->classes; /* pads are none */
	if (a->op->group >= 0) {
		const struct group *g = &a->p->groups[a->op->group];
		/* If the group is sharded along other axes too, some shards hold padding and others do not. */
		int64_t shards = plan_along(a->p, plan_all_axes(a->p) & ~op_axes(a->p, a->op));
		bool shard = a->op->axes && elements < g->padded;
		payload = shard ? elements : g->elements;
		if (elements != g->padded &&
		    !(shard && g->padded % elements == 0 && shards % (g->padded / elements) == 0))
			return refuse_op(a, 2, "moves %lld elements; its group has %lld, padded", (long long)elements,
			                 (long long)g->padded);
	}
	/* A value that is summed over a tensor group may be padded; with what is checked with what it means. */
	bool value = a->op->group < 0 && op_operation(a->op->kind) == OPERATION_ALL_REDUCE;
	if (value && a->op->payload > 0 && a->op->payload <= elements &&
	    round_up(a->op->payload, a->p->ranks) == elements)
		return STATUS_OK;
	if (a->op->payload != payload)
		return refuse_op(a, 2, "payload %lld must be %lld", (long long)a->op->payload, (long long)payload);
	return STATUS_OK;
}

static bool algorithm_fits(const struct op *op)
{
	if (op_is_message(op->kind))
		return op->algorithm == 0;
	return (unsigned)op->algorithm < (unsigned)schedule_count() &&
	       schedule_row(op->algorithm)->operation == op_operation(op->kind);
}

static enum status check_own_algorithm(const struct at *a)
{
	struct schedule_fault why;
	if (schedule_check_own(a->op->algorithm, op_members(a->p, a->op), a->op->root, &why))
		return STATUS_OK;
	return refuse_op(a, why.rule, "its algorithm, %s: %s", schedule_row(a->op->algorithm)->name, why.words);
}

static enum status check_collective(const struct at *a)
{
	if (op_class(a->op->kind) != OP_CLASS_C)
		return STATUS_OK;
	enum status s;
	if (a->p->ranks == 1 || op_members(a->p, a->op) == 1)
		return refuse_op(a, 2, "there is one rank and nobody to communicate with; take it out");
	if (a->op->root < 0 || a->op->root >= op_members(a->p, a->op) ||
	    (!operation_has_root(op_operation(a->op->kind)) && a->op->root))
		return refuse_op(a, 2, "root %d is not a rank of its group", a->op->root);
	if (!algorithm_fits(a->op))
		return refuse_op(a, 2, "its algorithm is not one of %s", op_name(a->op->kind));
	TRY(check_own_algorithm(a));
	if (!op_may_count_as(a->op->kind, a->op->traffic))
		return refuse_op(a, 2, "is counted as %s, which is something else",
		                 (int)a->op->traffic < TRAFFIC_COUNT ? traffic_name(a->op->traffic) : "?");
	if ((s = check_operands(a)) || (s = check_staging(a)))
		return s;
	if (a->op->kind == OP_SUM &&
	    (a->op->operand[SUM_X].count > MOST_CONTROL_VALUES || element_type(a->r, a->op) != TYPE_FP32))
		return refuse_op(a, 2, "sums up to %d fp32 numbers", MOST_CONTROL_VALUES);
	if ((s = check_norm(a)) || is_norm_collective(a->op))
		return s;
	return check_payload(a);
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
	enum status s = verify_each(v, check_collective);
	for (int k = 0; k < SECTION_KINDS && !s; k++)
		for (int i = 0; i < v->rendezvous[k].instance_count && !s; i++)
			s = check_instance(v, &v->rendezvous[k], &v->rendezvous[k].instances[i]);
	return s;
}
