#include "tests/support/virtual_ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/exact.h"
#include "kernels/mix64.h"
#include "real/rank/bind.h"
#include "real/rank/memory.h"
#include "strategy/collective/schedule.h"
#include "strategy/model/slice.h"
#include "strategy/plan/rendezvous.h"
#include "strategy/plan/walk.h"
#include "tests/support/elements.h"
#include "tests/support/plans.h"

enum { POISON_BYTE = 0xff, VALIDATION_SAMPLES = 21 };

struct rank {
	struct rank_memory device;
	const struct role *role;
	struct walk walk;      /* through the section at hand */
	int *uses_left, *uses; /* by buffer, in this section */
};

struct world {
	const struct plan *p;
	struct rank *rank;
	int ranks;
	struct rendezvous rendezvous; /* of the section at hand */
	uint64_t random;
	struct virtual_run *out;
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "virtual ranks: %s\n", what);
	abort();
}

static void *make(size_t count, size_t bytes)
{
	void *p = calloc(count + 1, bytes);
	if (!p)
		fail("no memory");
	return p;
}

static uint64_t next_random(struct world *w)
{
	return mix64(w->random += UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- samples and weights ---- */

static void fill_samples(const struct plan *p, uint64_t stream, int64_t first, int64_t count, void *inputs,
                         int32_t *targets)
{
	const struct model *m = p->model;
	for (int64_t i = 0; inputs && i < count * m->input_elements; i++) {
		uint64_t bits = mix64(stream + (uint64_t)(first * m->input_elements + i));
		if (m->is_text)
			((int32_t *)inputs)[i] = (int32_t)(bits % (uint64_t)m->classes);
		else
			((float *)inputs)[i] = (float)(bits % 2001) / 1000.0F - 1.0F;
	}
	for (int64_t i = 0; targets && i < count * m->tokens; i++)
		targets[i] = (int32_t)(mix64(stream + 77 + (uint64_t)(first * m->tokens + i)) % (uint64_t)m->classes);
}

static void training(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	fill_samples(((const struct world *)context)->p, UINT64_C(1) << 40, first, count, inputs, targets);
}

static void validation(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	fill_samples(((const struct world *)context)->p, UINT64_C(2) << 40, first, count, inputs, targets);
}

static enum status show(void *context, int tensor, int64_t first, int64_t count, const float *values)
{
	struct world *w = context;
	int64_t place = first;
	const struct model *m = w->p->model;
	for (int t = 0; t < tensor && t < m->tensor_count; t++)
		place += tensor_whole_elements(&m->tensors[t]);
	if (tensor >= m->tensor_count)
		place += m->buffers[tensor - m->tensor_count].offset;
	for (int64_t i = 0; i < count; i++) {
		w->out->weights[place + i] = values[i];
		w->out->shown[place + i]++;
	}
	return STATUS_OK;
}

/* ---- memory ---- */

static void poison(struct rank *r, int buffer)
{
	int64_t bytes = buffer_bytes(&r->role->buffers[buffer]);
	/* Staging is large and only ever a communicator's: a little of it will do. */
	if (bytes > 65536)
		bytes = 65536;
	if (rank_memory_fill(&r->device, buffer, POISON_BYTE, bytes))
		fail(status_message());
}

/* before: the operation is about to run; else it has run. */
static void poison_around(struct rank *r, const struct op *op, bool before)
{
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		int b = op->operand[i].buffer;
		if (b < 0 || r->role->buffers[b].state)
			continue;
		if (before && r->uses_left[b] == r->uses[b]) {
			poison(r, b);
			r->uses[b] = -1; /* not a second time */
		}
		if (!before && --r->uses_left[b] == 0)
			poison(r, b);
	}
}

/* ---- collectives ---- */

/* One rank's part in a collective. */
struct member {
	struct rank *rank;
	const struct op *op;
	enum type type;
	char *whole, *sent; /* sent: what is on its way to it in this round */
};

static char *operand(const struct member *m, int i)
{
	int64_t n;
	return rank_memory_region(&m->rank->device, &m->op->operand[i], &n);
}

static enum type type_of(const struct member *m)
{
	return m->rank->role->buffers[op_buffer(m->op)].type;
}

static void move(char *to, const char *from, int64_t bytes)
{
	if (!to || !from)
		fail("a collective lacks an operand");
	memmove(to, from, (size_t)bytes);
}

static void receive(const struct member *m, const struct round *r)
{
	if (!m->whole || !m->sent)
		fail("a collective lacks an operand");
	bool maximum = m->op->kind == OP_ALL_REDUCE_MAXIMUM;
	for (int64_t k = 0; k < r->receive_count; k++) {
		int64_t to = r->receive_offset + k;
		float there = r->add ? element_get(m->type, m->whole, to) : 0, comes = element_get(m->type, m->sent, k);
		float sum = maximum ? fmaxf(there, comes) : there + comes;
		element_set(m->type, m->whole, to, r->add ? sum : comes);
	}
}

/* Round by round over every rank's whole buffer. */
static void run_schedule(const struct schedule *s, struct member *members)
{
	int64_t bytes = type_bytes(members->type);
	for (int i = 0; i < s->ranks; i++)
		members[i].sent = make((size_t)s->elements, (size_t)bytes);
	for (int64_t round = 0; round < schedule_rounds(s); round++) {
		for (int i = 0; i < s->ranks; i++) {
			struct round r = schedule_round(s, i, round);
			if (r.send_to >= 0)
				move(members[r.send_to].sent, members[i].whole + r.send_offset * bytes,
				     r.send_count * bytes);
		}
		for (int i = 0; i < s->ranks; i++) {
			struct round r = schedule_round(s, i, round);
			if (r.receive_from >= 0)
				receive(&members[i], &r);
		}
	}
	for (int i = 0; i < s->ranks; i++)
		free(members[i].sent);
}

static void sum(int ranks, const struct member *members)
{
	for (int64_t k = 0; k < members->op->operand[SUM_X].count; k++) {
		double total = 0;
		for (int i = 0; i < ranks; i++)
			total += ((const float *)(const void *)members[i].whole)[k];
		for (int i = 0; i < ranks; i++)
			((float *)(void *)members[i].whole)[k] = (float)total;
	}
}

static void scatter_or_gather(const struct schedule *s, const struct member *members)
{
	bool scatter = members->op->kind == OP_SCATTER;
	int64_t bytes = s->elements / s->ranks * type_bytes(members->type);
	char *whole = operand(&members[s->root], scatter ? SCATTER_X : GATHER_Y);
	for (int i = 0; i < s->ranks; i++) {
		char *part = operand(&members[i], scatter ? SCATTER_Y : GATHER_X), *slice = whole + i * bytes;
		move(scatter ? part : slice, scatter ? slice : part, bytes);
	}
}

static void run_message(const struct member *members)
{
	const struct member *from = &members[0], *to = &members[1];
	if (from->op->kind != OP_SEND || to->op->kind != OP_RECEIVE ||
	    from->op->operand[SEND_X].count != to->op->operand[RECEIVE_Y].count)
		fail("a message without a partner");
	move(operand(to, RECEIVE_Y), operand(from, SEND_X), from->op->operand[SEND_X].count * type_bytes(from->type));
}

static void run_collective(const struct plan *p, int n, struct member *members)
{
	enum op_kind kind = members->op->kind;
	struct schedule s = op_schedule(p, members->op);
	for (int i = 0; i < n; i++)
		members[i].whole = operand(&members[i], members[i].op->kind == OP_ALL_GATHER ? 1 : 0);
	int64_t bytes = kind == OP_SUM ? 0 : s.elements / n * type_bytes(members->type);
	for (int i = 0; i < n && kind == OP_ALL_GATHER; i++)
		move(members[i].whole + i * bytes, operand(&members[i], 0), bytes);
	if (kind == OP_SUM)
		sum(n, members);
	else if (kind == OP_SCATTER || kind == OP_GATHER)
		scatter_or_gather(&s, members);
	else
		run_schedule(&s, members);
	for (int i = 0; i < n && kind == OP_REDUCE_SCATTER; i++)
		move(operand(&members[i], 1), members[i].whole + i * bytes, bytes);
}

/* ---- the order ---- */

static const struct op *op_at_head(const struct rank *r, int queue)
{
	return &r->role->ops[r->walk.head[queue]];
}

static void finish(struct rank *r, int queue)
{
	poison_around(r, op_at_head(r, queue), false);
	walk_finish(&r->walk, queue);
}

static bool is_communication(const struct rank *r, int queue)
{
	return r->walk.head[queue] < r->walk.end && op_class(op_at_head(r, queue)->kind) == OP_CLASS_C;
}

/* The members of the group in which `rank` carries out an instance; false: one of them is not ready for it. */
static bool gather_members(const struct world *w, const struct instance *x, int rank, int n, struct member *members)
{
	for (int i = 0; i < n; i++) {
		int there = (int)instance_rank(&w->rendezvous, x, rank, i);
		struct rank *r = &w->rank[there];
		const struct participant *own = instance_participant(&w->rendezvous, x, there);
		if (r->walk.head[QUEUE_COMMUNICATION] != own->op || !walk_is_ready(&r->walk, QUEUE_COMMUNICATION))
			return false;
		members[i] = (struct member){.rank = r, .op = &r->role->ops[own->op]};
		members[i].type = type_of(&members[i]);
	}
	return true;
}

/* Carries out the collective that this rank has come to, if every member is ready for it. */
static bool try_collective_of(struct world *w, int rank)
{
	const struct rank *own = &w->rank[rank];
	if (!is_communication(own, QUEUE_COMMUNICATION))
		return false;
	const struct instance *x = rendezvous_instance(&w->rendezvous, own->role, own->walk.head[QUEUE_COMMUNICATION]);
	if (x->missing)
		fail("a collective that a role does not issue");
	int n = (int)instance_members(&w->rendezvous, x);
	if (n < 2)
		fail("communication with nobody");
	struct member *members = make((size_t)n, sizeof *members);
	bool ready = gather_members(w, x, rank, n, members);
	for (int i = 0; ready && i < n; i++)
		poison_around(members[i].rank, members[i].op, true);
	if (ready && op_is_message(own->role->ops[own->walk.head[QUEUE_COMMUNICATION]].kind))
		run_message(members);
	else if (ready)
		run_collective(w->p, n, members);
	for (int i = 0; ready && i < n; i++)
		finish(members[i].rank, QUEUE_COMMUNICATION);
	free(members);
	return ready;
}

static bool try_collective(struct world *w)
{
	int first = w->random ? (int)(next_random(w) % (uint64_t)w->ranks) : 0;
	bool moved = false;
	for (int i = 0; i < w->ranks && !moved; i++)
		moved = try_collective_of(w, (first + i) % w->ranks);
	return moved;
}

static bool try_local(struct world *w, int rank, int queue)
{
	struct rank *r = &w->rank[rank];
	if (!walk_is_ready(&r->walk, queue) || is_communication(r, queue))
		return false;
	const struct op *op = op_at_head(r, queue);
	poison_around(r, op, true);
	/* Weights that are refused in the end (16 bits that overflowed) stay unshown: no result equals that. */
	if (rank_execute(&r->device, r->walk.head[queue]) && op->kind != OP_WEIGHTS)
		fail(status_message());
	finish(r, queue);
	return true;
}

static bool section_is_done(const struct world *w)
{
	bool done = true;
	for (int i = 0; i < w->ranks; i++)
		done &= walk_is_done(&w->rank[i].walk);
	return done;
}

static void begin_section(struct rank *r, enum section_kind k)
{
	walk_begin(&r->walk, r->role, k);
	memset(r->uses, 0, (size_t)r->role->buffer_count * sizeof *r->uses);
	for (int i = r->walk.begin; i < r->walk.end; i++) {
		const struct op *op = &r->role->ops[i];
		for (int o = 0; op_class(op->kind) != OP_CLASS_M && o < op_operand_count(op->kind); o++)
			if (op->operand[o].buffer >= 0)
				r->uses[op->operand[o].buffer]++;
	}
	memcpy(r->uses_left, r->uses, (size_t)r->role->buffer_count * sizeof *r->uses);
}

/* Each turn tries a place at random first, then all others after it; collectives are the place past the last. In issue
 * order compute goes first, which is issue order as far as the results go. Some seeds favour one queue, so that a queue
 * runs far ahead of the other. */
static void run_section(struct world *w, enum section_kind k)
{
	int places = w->ranks * QUEUE_COUNT + 1;
	rendezvous_init(&w->rendezvous, w->p, k);
	for (int i = 0; i < w->ranks; i++)
		begin_section(&w->rank[i], k);
	while (!section_is_done(w)) {
		int first = w->random ? (int)(next_random(w) % (uint64_t)places) : 0;
		bool collective_first = w->random && next_random(w) % 3 == 0;
		bool moved = collective_first && try_collective(w);
		for (int i = 0; i < places && !moved; i++) {
			int place = (first + i) % places;
			moved = place == places - 1 ? try_collective(w)
			                            : try_local(w, place / QUEUE_COUNT, place % QUEUE_COUNT);
		}
		if (!moved)
			fail("nothing can go on");
	}
	for (int i = 0; i < w->ranks; i++)
		walk_release(&w->rank[i].walk);
	rendezvous_release(&w->rendezvous);
}

/* ---- the run ---- */

static double read_loss(const struct plan *p, const struct rank *r)
{
	for (int i = 0; r->role && i < r->role->buffer_count; i++)
		if (r->role->buffers[i].state && !strcmp(r->role->buffers[i].name, "loss")) {
			const float *loss = rank_memory_buffer(&r->device, i);
			return p->settings.reproducible ? exact_value(loss) : (double)*loss;
		}
	fail("rank 0 has no loss");
}

static void open_ranks(struct world *w)
{
	w->rank = make((size_t)w->ranks, sizeof *w->rank);
	for (int i = 0; i < w->ranks; i++) {
		struct rank *r = &w->rank[i];
		struct input_source input = {w, training, validation, VALIDATION_SAMPLES};
		r->role = plan_role_of(w->p, i);
		if (!r->role)
			fail("no role has this rank");
		if (rank_memory_open(&r->device, w->p, i, &input, false, support_folder(), NULL))
			fail(status_message());
		r->device.weights = (struct weight_source){.context = w, .show = show};
		r->uses = make((size_t)r->role->buffer_count, sizeof *r->uses);
		r->uses_left = make((size_t)r->role->buffer_count, sizeof *r->uses_left);
		for (int b = 0; b < r->role->buffer_count; b++)
			poison(r, b);
	}
}

static void close_ranks(struct world *w)
{
	for (int i = 0; i < w->ranks; i++) {
		rank_memory_release(&w->rank[i].device);
		free(w->rank[i].uses);
		free(w->rank[i].uses_left);
	}
	free(w->rank);
}

void virtual_ranks_run(const struct plan *p, int steps, uint64_t seed, struct virtual_run *out)
{
	struct world w = {.p = p, .ranks = (int)p->ranks, .random = seed, .out = out};
	*out = (struct virtual_run){.steps = steps, .parameters = p->model->parameters + p->model->buffer_elements};
	out->weights = make((size_t)out->parameters, sizeof *out->weights);
	out->shown = make((size_t)out->parameters, sizeof *out->shown);
	open_ranks(&w);
	run_section(&w, SECTION_PROLOGUE);
	for (int i = 0; i < steps; i++) {
		run_section(&w, SECTION_STEP);
		out->losses[i] = read_loss(p, &w.rank[0]);
	}
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < w.ranks; i++) {
			w.rank[i].device.evaluating = true;
			w.rank[i].device.evaluate_pass = pass;
		}
		run_section(&w, SECTION_EVALUATE);
	}
	for (int i = 0; i < w.ranks; i++) {
		out->evaluate_loss += w.rank[i].device.evaluate_loss;
		out->evaluate_correct += w.rank[i].device.evaluate_correct;
		out->evaluate_total += w.rank[i].device.evaluate_total;
	}
	run_section(&w, SECTION_EPILOGUE);
	close_ranks(&w);
}

void virtual_run_release(struct virtual_run *r)
{
	free(r->weights);
	free(r->shown);
	*r = (struct virtual_run){0};
}

static bool near(double a, double b, double tolerance)
{
	return a == b || fabs(a - b) <= tolerance * (fabs(a) > fabs(b) ? fabs(a) : fabs(b));
}

bool virtual_runs_equal(const struct virtual_run *a, const struct virtual_run *b, double tolerance)
{
	double largest = 0;
	if (a->evaluate_total != b->evaluate_total || a->parameters != b->parameters || a->steps != b->steps ||
	    (tolerance <= 0 && a->evaluate_correct != b->evaluate_correct) ||
	    !near(a->evaluate_loss, b->evaluate_loss, tolerance))
		return false;
	for (int i = 0; i < a->steps; i++)
		if (!near(a->losses[i], b->losses[i], tolerance))
			return false;
	for (int64_t i = 0; i < a->parameters; i++)
		largest = fabs((double)a->weights[i]) > largest ? fabs((double)a->weights[i]) : largest;
	for (int64_t i = 0; i < a->parameters; i++)
		if (a->shown[i] != b->shown[i] ||
		    !(fabs((double)a->weights[i] - (double)b->weights[i]) <= tolerance * largest))
			return false;
	return true;
}
