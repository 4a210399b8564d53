/* Rules 5, 6 and 7: the program is carried out in issue order on what buffers stand for, all roles together:
 *
 *     prologue → step 1 → step 2 → evaluate → (save → prologue → restore →) epilogue
 *
 * Step 2 must leave what step 1 left, one version later: then every further step is right too. Results that the run
 * shows (losses, evaluation figures, weights) must come out whole, each part once.
 */
#include "strategy/plan/verify/meaning.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the model says about consumers and uses ---- */

static int next_number(int *counts, int i)
{
	return i < 0 ? 0 : counts[i]++;
}

static enum status count_uses(struct interpreter *ip)
{
	const struct model *m = ip->v->p->model;
	int *readers = array_make((size_t)m->value_count, sizeof *readers);
	int *uses = array_make((size_t)m->tensor_count, sizeof *uses);
	bool fits = true;
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		ip->uses[i] = (struct kernel_uses){.x = next_number(readers, k->x),
		                                   .residual = next_number(readers, k->residual),
		                                   .second = next_number(readers, k->second),
		                                   .weight = next_number(uses, k->weight),
		                                   .bias = next_number(uses, k->bias)};
	}
	for (int t = 0; t < m->tensor_count; t++)
		fits &= uses[t] <= MOST_USES && uses[t] == m->tensors[t].uses;
	for (int i = 0; i < m->value_count; i++) {
		fits &= readers[i] <= MOST_USES;
		ip->consumers[i] = (UINT64_C(1) << (readers[i] & MOST_USES)) - 1;
	}
	free(readers);
	free(uses);
	if (!fits)
		return refuse(ip->v, 5, NULL, -1, -1, "a tensor or a value of the model is used more than %d times",
		              MOST_USES);
	return STATUS_OK;
}

static void interpreter_init(struct interpreter *ip, const struct verify *v)
{
	const struct model *m = v->p->model;
	*ip = (struct interpreter){.v = v};
	memory_init(&ip->memory, v);
	ip->uses = array_make((size_t)m->kernel_count, sizeof *ip->uses);
	ip->consumers = array_make((size_t)m->value_count, sizeof *ip->consumers);
	for (int i = 0; i < v->p->role_count; i++) {
		ip->shown_own[i] = array_make((size_t)v->p->group_count, sizeof *ip->shown_own[i]);
		ip->shown_whole[i] = array_make((size_t)v->p->group_count, sizeof *ip->shown_whole[i]);
	}
}

static void interpreter_release(struct interpreter *ip)
{
	for (int i = 0; i < ip->v->p->role_count; i++) {
		free(ip->shown_own[i]);
		free(ip->shown_whole[i]);
	}
	free(ip->consumers);
	free(ip->uses);
	memory_release(&ip->memory);
}

/* ---- carrying out ---- */

static enum status mean_op(const struct at *a)
{
	switch (op_class(a->op->kind)) {
	case OP_CLASS_M:
		(a->op->kind == OP_ALLOC ? memory_clear : memory_forget)(a->memory, a->role, op_buffer(a->op));
		return STATUS_OK;
	case OP_CLASS_K:
		return mean_kernel(a);
	default:
		return mean_vector(a);
	}
}

/* Plans are larger than caches: what operations to come will ask for is fetched while those before them are at work:
 * their operands, where those stand, and what they stand for. gcc takes out calls of a function that does nothing else,
 * so it has to be inlined. */
static inline __attribute__((always_inline)) void look_ahead(const struct at *a, int end)
{
	enum { OPERANDS = 16, PLACES = 10, CELLS = 6, MEANINGS = 3, PER_LINE = 64 / sizeof(struct region) };
	const struct op *op = a->op;
	struct cells **cells = a->memory->cells[a->role];
	if (end - a->number <= OPERANDS)
		return;
	for (int i = 0; i < op_operand_count(op[OPERANDS].kind); i += PER_LINE)
		__builtin_prefetch(&op[OPERANDS].operand[i]);
	for (int i = 0; i < op_operand_count(op[PLACES].kind); i++)
		if (op[PLACES].operand[i].buffer >= 0)
			__builtin_prefetch(&cells[op[PLACES].operand[i].buffer]);
	for (int i = 0; i < op_operand_count(op[CELLS].kind); i++)
		if (op[CELLS].operand[i].buffer >= 0)
			__builtin_prefetch(cells[op[CELLS].operand[i].buffer]);
	for (int i = 0; i < op_operand_count(op[MEANINGS].kind); i++) {
		const struct cells *c =
		        op[MEANINGS].operand[i].buffer < 0 ? NULL : cells[op[MEANINGS].operand[i].buffer];
		if (c)
			__builtin_prefetch(meaning_of(a->memory, c->blocks->own));
	}
}

/* A role up to its next communication; its op is NULL when the section is at its end. */
static enum status go_on(struct at *a, enum section_kind k)
{
	int end = section_of(a->r, k)->end;
	for (; a->number < end; a->number++) {
		a->op = &a->r->ops[a->number];
		look_ahead(a, end);
		if (op_class(a->op->kind) == OP_CLASS_C)
			return STATUS_OK;
		memory_sweep(a->memory);
		TRY(mean_op(a));
	}
	a->op = NULL;
	return STATUS_OK;
}

/* The participants of what role `first` has come to, if all of them have come to it; returns how many: 0 if not. */
static int gather_participants(const struct at *at, int first, enum section_kind k, struct at *all)
{
	const struct rendezvous *v = &at->ip->v->rendezvous[k];
	const struct instance *x = rendezvous_instance(v, at[first].r, at[first].number);
	for (int i = 0; i < x->participant_count; i++) {
		const struct participant *one = &x->participants[i];
		if (at[one->role].number != one->op)
			return 0;
		all[i] = at[one->role];
		all[i].participants = x->participant_count;
	}
	return x->participant_count;
}

/* Each role up to its next communication, then whatever has all that it needs, and so on. */
static enum status carry_out(struct interpreter *ip, enum section_kind k)
{
	const struct plan *p = ip->v->p;
	struct at at[ROLES], all[ROLES];
	for (int i = 0; i < p->role_count; i++) {
		at[i] = (struct at){.v = ip->v,
		                    .p = p,
		                    .section = k,
		                    .ip = ip,
		                    .memory = &ip->memory,
		                    .role = i,
		                    .r = &p->roles[i]};
		at[i].number = section_of(at[i].r, k)->begin;
		TRY(go_on(&at[i], k));
	}
	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < p->role_count; i++) {
			int n = at[i].op ? gather_participants(at, i, k, all) : 0;
			if (n)
				TRY(mean_collective(all));
			for (int j = 0; j < n; j++) {
				struct at *member = &at[all[j].role];
				member->number++;
				TRY(go_on(member, k));
			}
			moved |= n > 0;
		}
	}
	return STATUS_OK; /* nothing is left: the joint graph came to its end */
}

/* ---- what must have come out ---- */

/* The last operation of a section that touches a buffer: the one to name when what it holds is wrong; -1. */
static int last_use(const struct role *r, const struct section *s, int buffer)
{
	for (int i = s->end - 1; i >= s->begin; i--)
		if (op_class(r->ops[i].kind) != OP_CLASS_M && op_uses(&r->ops[i], buffer))
			return i;
	return -1;
}

static bool is_snapshot(const struct role *r, int buffer)
{
	for (int i = r->save.begin; i < r->save.end; i++)
		if (r->ops[i].kind == OP_SAVE && r->ops[i].operand[SAVE_SNAPSHOT].buffer == buffer)
			return true;
	return false;
}

/* State is of this step's version, on every rank's own slice and on the others'. */
static enum status check_version(struct interpreter *ip, int role, int buffer)
{
	const struct role *r = &ip->v->p->roles[role];
	const struct cells *c = ip->memory.cells[role][buffer];
	bool counter = r->buffers[buffer].type == TYPE_I64 && !is_snapshot(r, buffer);
	char text[300];
	for (int i = 0; i < c->count; i++)
		for (int rest = 0; rest < 2; rest++) {
			int number = rest ? c->blocks[i].rest : c->blocks[i].own;
			const struct meaning *m = meaning_of(&ip->memory, number);
			bool running = m->kind == MEANING_RUNNING;
			bool versioned = counter || meaning_is_versioned(m->kind);
			if (!versioned || m->version == ip->step * (running ? (int)ip->v->p->settings.accumulate : 1))
				continue;
			meaning_describe(&ip->memory, number, text, sizeof text);
			return refuse(ip->v, 6, r, last_use(r, &r->step, buffer), buffer,
			              "is the last to use it; at the end of step %d, from element %lld on%s, it holds "
			              "%s; every step must bring all "
			              "of it to the next version, on every rank (update it, and gather it again)",
			              ip->step, (long long)c->blocks[i].begin,
			              c->blocks[i].own == c->blocks[i].rest ? ""
			              : rest                                ? " on the other ranks' slices"
			                                                    : " on its own slice",
			              text);
		}
	return STATUS_OK;
}

static int find_buffer(const struct role *r, const char *name)
{
	for (int i = 0; i < r->buffer_count; i++)
		if (r->buffers[i].state && !strcmp(r->buffers[i].name, name))
			return i;
	return -1;
}

static enum status check_loss(struct interpreter *ip, int role)
{
	const struct plan *p = ip->v->p;
	const struct role *r = &p->roles[role];
	int loss = find_buffer(r, "loss");
	char text[300];
	if (loss < 0)
		return role ? STATUS_OK
		            : refuse(ip->v, 5, r, r->step.end > r->step.begin ? r->step.begin : -1, -1,
		                     "role has no state buffer 'loss', which rank 0 shows after every step");
	struct region g = {loss, 0, 0, r->buffers[loss].elements};
	int number = memory_get(&ip->memory, role, &g);
	if (number >= 0 && meaning_of(&ip->memory, number)->kind == MEANING_LOSS &&
	    sum_is_complete(&ip->memory.sums, meaning_of(&ip->memory, number)->sum, (int)p->settings.accumulate,
	                    plan_data_axes(p)))
		return STATUS_OK;
	memory_describe(&ip->memory, role, &g, -1, text, sizeof text);
	return refuse(ip->v, 5, r, last_use(r, &r->step, loss), loss,
	              "is the last to use it; after the step it must be the loss over all micro-batches and all ranks' "
	              "samples; %s",
	              text);
}

static enum status run_step(struct interpreter *ip, int step)
{
	const struct plan *p = ip->v->p;
	ip->step = step;
	ip->reads = step - 1;
	enum status s = carry_out(ip, SECTION_STEP);
	for (int i = 0; i < p->role_count && !s; i++) {
		for (int b = 0; b < p->roles[i].buffer_count && !s; b++)
			if (p->roles[i].buffers[b].state)
				s = check_version(ip, i, b);
		if (!s)
			s = check_loss(ip, i);
	}
	memory_age(&ip->memory);
	ip->reads = step;
	return s;
}

static enum status check_same(struct interpreter *ip, const struct snapshot *snapshot, int later,
                              enum section_kind section, const char *what)
{
	int role, buffer;
	if (snapshot_same(snapshot, &ip->memory, later, &role, &buffer))
		return STATUS_OK;
	const struct role *r = &ip->v->p->roles[role];
	return refuse(ip->v, 6, r, last_use(r, section_of(r, section), buffer), buffer, "is the last to use it; %s",
	              what);
}

/* The second step must leave what the first did, one version later. */
static enum status run_steps(struct interpreter *ip)
{
	struct snapshot snapshot;
	enum status s = run_step(ip, 1);
	snapshot_take(&snapshot, &ip->memory);
	if (!s && !(s = run_step(ip, 2)))
		s = check_same(ip, &snapshot, 1, SECTION_STEP,
		               "the second step leaves something else in it than the first, so a third may go wrong");
	snapshot_release(&snapshot, &ip->memory);
	return s;
}

/* Every sample is evaluated once: by each data rank its own, or by one rank all of them. Where roles divide a data
 * axis, every role has samples of its own; else one of them evaluates. */
static enum status check_evaluated(const struct interpreter *ip)
{
	const struct plan *p = ip->v->p;
	int64_t own = 0, all_ranks = 0;
	int bad = 0;
	bool each = true;
	for (int i = 0; i < p->role_count; i++) {
		own += ip->evaluated_own[i] * p->roles[i].ranks;
		all_ranks += ip->evaluated_all[i] * p->roles[i].ranks;
		if (ip->evaluated_own[i] != 1)
			bad = i;
		each &= ip->evaluated_own[i] == 1 || (!p->axes[0].data && !ip->evaluated_own[i]);
	}
	/* Ranks of a tensor group count the same samples. */
	if ((own == plan_data_ranks(p) * p->model->slices && !all_ranks && each) || (all_ranks == 1 && !own))
		return STATUS_OK;
	const struct role *r = &p->roles[bad];
	int last = r->evaluate.end - 1;
	while (last > r->evaluate.begin && op_class(r->ops[last].kind) == OP_CLASS_M)
		last--;
	bool any = last >= r->evaluate.begin;
	return refuse(ip->v, 5, r, any ? last : -1, any ? op_buffer(&r->ops[last]) : -1,
	              "when section evaluate ends, operation evaluate has not counted every rank's samples once");
}

static enum status run_evaluate(struct interpreter *ip)
{
	struct snapshot snapshot;
	snapshot_take(&snapshot, &ip->memory);
	enum status s = carry_out(ip, SECTION_EVALUATE);
	if (!s && !(s = check_evaluated(ip))) {
		memory_age(&ip->memory);
		s = check_same(ip, &snapshot, 0, SECTION_EVALUATE,
		               "section evaluate changes it; it must leave state alone");
	}
	snapshot_release(&snapshot, &ip->memory);
	return s;
}

/* Every element of every group is shown once: by each rank its slice, or by the ranks of one role together. */
static enum status run_epilogue(struct interpreter *ip)
{
	const struct plan *p = ip->v->p;
	const struct role *first = &p->roles[0];
	int op = first->epilogue.begin, buffer = op_buffer(&first->ops[op]);
	enum status s = carry_out(ip, SECTION_EPILOGUE);
	if (!s && ip->shown_buffers != p->model->buffer_elements)
		s = refuse(ip->v, 6, first, op, buffer,
		           "section epilogue must show the model's buffers once: operation show_buffers");
	for (int g = 0; g < p->group_count && !s; g++) {
		int64_t own = 0, whole = 0;
		bool each_once = true;
		for (int i = 0; i < p->role_count; i++) {
			own += ip->shown_own[i][g];
			whole += ip->shown_whole[i][g];
			each_once &= ip->shown_own[i][g] == 1;
		}
		if (!((each_once && !whole) || (!own && whole == 1)))
			s = refuse(ip->v, 6, first, op, buffer,
			           "section epilogue must show every element of %s once, over all ranks: operation "
			           "weights on each rank's slice, or on one rank",
			           p->groups[g].name);
	}
	return s;
}

enum status verify_meaning(const struct verify *v)
{
	struct interpreter ip;
	interpreter_init(&ip, v);
	enum status s = count_uses(&ip);
	if (!s && !(s = carry_out(&ip, SECTION_PROLOGUE))) {
		memory_age(&ip.memory);
		if (!(s = run_steps(&ip)) && !(s = run_evaluate(&ip)) && !(s = verify_restored(&ip, carry_out)))
			s = run_epilogue(&ip);
	}
	interpreter_release(&ip);
	return s;
}
