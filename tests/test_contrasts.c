/* What data parallelism is compared with: layers over ranks (model, pipeline) and hybrid sharding. They train as one
 * rank does; keep, send and wait as the papers say; and broken messages and groups are refused by the rule that they
 * break. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"
#include "strategy/stage.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/virtual_ranks.h"

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))
#define GPT "gpt:layers=4,width=8,heads=2,context=4,vocabulary=9"
#define MLP "mlp:sizes=6-8-8-8-4"

/* ---- they train as one rank does ---- */

static const struct {
	const char *strategy;
	int64_t ranks;
} contrasts[] = {{"model", 2},
                 {"model", 3},
                 {"pipeline", 2},
                 {"pipeline", 3},
                 {"pipeline", 4},
                 {"pipeline:schedule=gpipe", 2},
                 {"pipeline:schedule=gpipe", 4},
                 {"hybrid:shard=2", 2},
                 {"hybrid:shard=2", 4},
                 {"hybrid:shard=1", 3},
                 {"hybrid:shard=4", 4},
                 {"hybrid:shard=3", 6}};

static void train_as_single(const char *model, int contrast, int64_t accumulate, enum optimizer optimizer, double clip)
{
	enum { BATCH = 12, STEPS = 3 };
	const char *strategy = contrasts[contrast].strategy;
	int64_t ranks = contrasts[contrast].ranks, data = strncmp(strategy, "hybrid", 6) ? 1 : ranks;
	int64_t batch = BATCH * accumulate;
	struct request r = {.model = model,
	                    .strategy = strategy,
	                    .ranks = ranks,
	                    .micro_batch = batch / accumulate / data,
	                    .accumulate = accumulate,
	                    .optimizer = optimizer,
	                    .clip = clip,
	                    .learning_rate = 0.01};
	struct request one = r;
	struct made m, single;
	struct virtual_run run, right;
	one.strategy = "single";
	one.ranks = 1;
	one.micro_batch = batch / accumulate;
	must_open_verified(&m, &r);
	must_open_verified(&single, &one);
	ck_assert_int_eq(m.plan.settings.batch, single.plan.settings.batch);
	virtual_ranks_run(&m.plan, STEPS, 0, &run);
	virtual_ranks_run(&single.plan, STEPS, 0, &right);
	/* The samples that are evaluated are as many as there are ranks to evaluate them. */
	run.evaluate_loss = right.evaluate_loss = 0;
	run.evaluate_correct = right.evaluate_correct = run.evaluate_total = right.evaluate_total = 0;
	ck_assert_msg(virtual_runs_equal(&run, &right, 1e-4), "%s, %s on %d ranks, accumulate %d: not as single", model,
	              strategy, (int)ranks, (int)accumulate);
	virtual_run_release(&run);
	virtual_run_release(&right);
	made_release(&m);
	made_release(&single);
}

START_TEST(contrasts_train_as_single)
{
	for (int64_t accumulate = 1; accumulate <= 4; accumulate++) {
		train_as_single(GPT, _i, accumulate, OPTIMIZER_SGD, 0);
		train_as_single(MLP, _i, accumulate, OPTIMIZER_SGD, 0.1);
	}
	train_as_single(GPT, _i, 2, OPTIMIZER_ADAMW, 0.1);
	train_as_single(MLP, _i, 3, OPTIMIZER_ADAMW, 0);
}
END_TEST

/* ---- what stages keep and send ---- */

/* The most micro-batches whose input of a stage is alive at once. */
static int64_t in_flight(const struct plan *p, int stage, const char *value, int64_t elements)
{
	return plan_most_live(&p->roles[stage], value, NULL) / elements;
}

START_TEST(stages_keep_what_is_in_flight)
{
	enum { RANKS = 4, MICROS = 6 };
	static const struct {
		const char *strategy;
		int64_t first, second, last;
	} want[] = {{"pipeline", 4, 3, 1}, {"pipeline:schedule=gpipe", 6, 6, 6}, {"model", 1, 1, 1}};
	for (int i = 0; i < COUNT(want); i++) {
		struct made m;
		must_open_verified(
		        &m, &(struct request){
		                    .model = GPT, .strategy = want[i].strategy, .ranks = RANKS, .accumulate = MICROS});
		const struct plan *p = &m.plan;
		int64_t x = 4 * 8;
		ck_assert_int_eq(in_flight(p, 0, "embedding.y", x), want[i].first);
		ck_assert_int_eq(in_flight(p, 1, "block.1.ln_1.y", x), want[i].second);
		ck_assert_int_eq(in_flight(p, RANKS - 1, "ln_f.y", x), want[i].last);
		made_release(&m);
	}
}
END_TEST

/* Every boundary carries one activation forward and one gradient back a micro-batch; the two ends of the pipeline add
 * up the gradient of the token table that both have. */
START_TEST(stages_send_activations_and_the_tied_gradient)
{
	enum { RANKS = 4, MICROS = 3, MICRO = 2, VALUE = MICRO * 4 * 8 * 4, TABLE = 9 * 8 * 4 };
	static const char *const strategies[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
	for (int i = 0; i < COUNT(strategies); i++) {
		struct made m;
		must_open_verified(&m, &(struct request){.model = GPT,
		                                         .strategy = strategies[i],
		                                         .ranks = RANKS,
		                                         .micro_batch = MICRO,
		                                         .accumulate = MICROS});
		for (int64_t rank = 0; rank < RANKS; rank++) {
			bool first = !rank, last = rank == RANKS - 1;
			struct moved activations = plan_moved(&m.plan, rank, TRAFFIC_ACTIVATIONS),
			             gradients = plan_moved(&m.plan, rank, TRAFFIC_ACTIVATION_GRADIENTS),
			             tied = plan_moved(&m.plan, rank, TRAFFIC_ALL_REDUCE);
			ck_assert_int_eq(activations.sent, last ? 0 : MICROS * VALUE);
			ck_assert_int_eq(activations.received, first ? 0 : MICROS * VALUE);
			ck_assert_int_eq(gradients.sent, first ? 0 : MICROS * VALUE);
			ck_assert_int_eq(gradients.received, last ? 0 : MICROS * VALUE);
			ck_assert_int_eq(tied.calls, first || last);
			ck_assert_int_eq(tied.sent, first || last ? TABLE : 0);
		}
		made_release(&m);
	}
}
END_TEST

/* Every parameter is on one stage, but for the token table, which is on the first and the last. */
START_TEST(stages_divide_the_model)
{
	struct made m;
	int64_t states = 0;
	must_open_verified(&m, &(struct request){.model = GPT, .strategy = "pipeline", .ranks = 4});
	for (int64_t rank = 0; rank < 4; rank++)
		states += plan_model_states(&m.plan, rank);
	ck_assert_int_eq(states, 16 * (m.model.parameters + 9 * 8));
	made_release(&m);
}
END_TEST

static int64_t cost_of(const struct model *m, int begin, int end)
{
	int64_t cost = 0;
	for (int i = begin; i < end; i++)
		cost += kernel_forward_flops(&m->kernels[i], 1) + kernel_backward_flops(&m->kernels[i], 1);
	return cost;
}

/* The stage that computes longest could not do with less: all other ways to divide are tried. */
static int64_t shortest(const struct model *m, int begin, int stages)
{
	int64_t best = INT64_MAX;
	if (stages == 1)
		return cost_of(m, begin, m->kernel_count);
	for (int end = begin + 1; end < m->kernel_count; end++) {
		if (m->kernels[end].unit == m->kernels[end - 1].unit)
			continue;
		int64_t here = cost_of(m, begin, end), rest = shortest(m, end, stages - 1);
		int64_t longest = here > rest ? here : rest;
		best = longest < best ? longest : best;
	}
	return best;
}

START_TEST(stages_are_balanced)
{
	static const char *const models[] = {GPT, "gpt:layers=6", "mlp:sizes=784-512-256-128-64-32-10", "gpt2-124m"};
	for (int i = 0; i < COUNT(models); i++)
		for (int stages = 1; stages <= 4; stages++) {
			struct model m;
			int end[4], begin = 0;
			int64_t longest = 0;
			ck_assert(!model_open(&m, models[i], 0));
			stage_split(&m, stages, end);
			for (int k = 0; k < stages; k++) {
				int64_t cost = cost_of(&m, begin, end[k]);
				ck_assert_int_gt(end[k], begin);
				longest = cost > longest ? cost : longest;
				begin = end[k];
			}
			ck_assert_int_eq(begin, m.kernel_count);
			ck_assert_int_eq(longest, shortest(&m, 0, stages));
			model_release(&m);
		}
}
END_TEST

/* A thousand layers on as many stages as there can be: a second or so. Where every stage finds out about all layers
 * anew, a minute. */
START_TEST(many_stages_of_many_layers)
{
	struct made m;
	open_plan(&m, &(struct request){.model = "gpt:layers=1000,width=64,heads=2,context=16,vocabulary=64",
	                                .strategy = "pipeline",
	                                .ranks = PLAN_ROLES});
	ck_assert_int_eq(m.plan.role_count, PLAN_ROLES);
	ck_assert_int_eq(m.plan.group_count, PLAN_ROLES + 1);
	made_release(&m);
}
END_TEST

/* ---- hybrid sharding ---- */

/* Model states are 16/K bytes a parameter; a step sends 3Ψ(K−1)/K inside the groups, for every micro-batch, and once
 * 2Ψ/K·(R−1)/R across them. */
START_TEST(hybrid_shards_inside_and_replicates_across)
{
	static const struct {
		int64_t ranks, shard, accumulate;
	} cases[] = {{4, 2, 1}, {8, 2, 2}, {8, 4, 3}, {16, 8, 1}, {4, 4, 2}, {4, 1, 2}};
	for (int i = 0; i < COUNT(cases); i++) {
		struct made m;
		char strategy[32];
		int64_t n = cases[i].ranks, k = cases[i].shard, a = cases[i].accumulate, psi = 0;
		snprintf(strategy, sizeof strategy, "hybrid:shard=%d", (int)k);
		must_open_verified(
		        &m,
		        &(struct request){.model = "gpt:layers=2", .strategy = strategy, .ranks = n, .accumulate = a});
		for (int g = 0; g < m.plan.group_count; g++)
			psi += 4 * m.plan.groups[g].padded;
		ck_assert_int_eq(m.plan.role_count, 1);
		ck_assert_int_eq(plan_model_states(&m.plan, n - 1), 4 * psi / k);
		ck_assert_int_eq(plan_moved(&m.plan, n - 1, TRAFFIC_ALL_GATHER).sent, 2 * a * (psi / k) * (k - 1));
		ck_assert_int_eq(plan_moved(&m.plan, n - 1, TRAFFIC_REDUCE_SCATTER).sent, a * (psi / k) * (k - 1));
		ck_assert_int_eq(plan_moved(&m.plan, n - 1, TRAFFIC_ALL_REDUCE).sent,
		                 2 * (psi / k) / (n / k) * (n / k - 1));
		made_release(&m);
	}
}
END_TEST

static void simulate(const struct made *m, const char *cluster, enum grain grain, struct report *out)
{
	struct cluster c;
	ck_assert_msg(!cluster_open(&c, cluster, m->plan.ranks), "%s", status_message());
	ck_assert_msg(!sim_run(&m->plan, &c, grain, NULL, out), "%s", status_message());
	cluster_release(&c);
}

/* 16,384 ranks have the plan that 16 have. */
START_TEST(hybrid_plans_do_not_grow)
{
	struct made small, large;
	struct report r = {0};
	struct request request = {.model = "gpt:layers=2", .strategy = "hybrid:shard=8", .ranks = 16};
	must_open_verified(&small, &request);
	request.ranks = 16384;
	must_open_verified(&large, &request);
	/* up to zeros for the padding of a group */
	ck_assert_int_le(large.plan.roles[0].op_count, small.plan.roles[0].op_count + large.plan.group_count);
	simulate(&large, "h100", GRAIN_OPERATION, &r);
	ck_assert_int_gt(r.time.step, 0);
	ck_assert_int_gt(r.time.communication, 0);
	report_release(&r);
	made_release(&small);
	made_release(&large);
}
END_TEST

/* ---- time ---- */

/* No time for anything but computing; kernels of the model's units all take the same. */
static const char ideal[] = "name: ideal\n"
                            "kind: gpu\n"
                            "node: {devices: 8, cores: 8, memory: 1TB, memory_bandwidth: 1e15, core_compute: 1e12}\n"
                            "device: {memory: 1TB, overhead: 0, memory_bandwidth: 1e15, launch: 0, "
                            "collective_launch: 0, collective_share: 0}\n"
                            "compute:\n  default: {fp32: 1e12}\n"
                            "link: {latency: 0, bandwidth: 1e15}\n"
                            "host_link: {latency: 0, bandwidth: 1e15}\n";

/* Begin of the first model kernel and end of the last, and what all of them take, of one rank. */
struct busy {
	int64_t begin, end, sum;
};

static struct busy busy_of(const struct trace *t, const struct plan *p, int64_t rank)
{
	struct busy b = {INT64_MAX, 0, 0};
	const struct role *r = plan_role_of(p, rank);
	for (int64_t i = 0; i < (int64_t)t->span_count; i++) {
		const struct span *s = &t->spans[i];
		if (s->rank != rank || op_class(r->ops[s->op].kind) != OP_CLASS_K)
			continue;
		b.begin = s->begin < b.begin ? s->begin : b.begin;
		b.end = s->end > b.end ? s->end : b.end;
		b.sum += s->end - s->begin;
	}
	return b;
}

/* Of stages that take the same time, f+b a micro-batch, each is idle for (p-1)(f+b): (p-1)/(m+p-1) of the time from the
 * first forward to the last backward. The first stage alone has less to do, since its first layer needs no gradient of
 * its input: its last backward ends the step that much earlier. One stage at a time: all of them one after another. */
START_TEST(bubble_is_that_of_the_formula)
{
	enum { P = 4 };
	static const struct {
		const char *strategy;
		int64_t micros;
	} cases[] = {{"pipeline", 4},
	             {"pipeline", 8},
	             {"pipeline", 3},
	             {"pipeline:schedule=gpipe", 4},
	             {"pipeline:schedule=gpipe", 8},
	             {"model", 5}};
	for (int i = 0; i < COUNT(cases); i++) {
		struct made m;
		struct cluster c;
		struct trace t = {0};
		struct report report = {0};
		int64_t n = cases[i].micros, begin = INT64_MAX, end = 0, longest = 0, all = 0, first = 0;
		must_open_verified(&m,
		                   &(struct request){.model = "mlp:sizes=1024-1024-1024-1024-1024-1024-1024-1024-1024",
		                                     .strategy = cases[i].strategy,
		                                     .ranks = P,
		                                     .micro_batch = 64,
		                                     .accumulate = n});
		ck_assert_msg(!cluster_read(&c, ideal, strlen(ideal), "ideal"), "%s", status_message());
		ck_assert_msg(!sim_run(&m.plan, &c, GRAIN_OPERATION, &t, &report), "%s", status_message());
		for (int64_t rank = 0; rank < P; rank++) {
			struct busy b = busy_of(&t, &m.plan, rank);
			begin = b.begin < begin ? b.begin : begin;
			end = b.end > end ? b.end : end;
			longest = b.sum > longest ? b.sum : longest;
			first = rank ? first : b.sum;
			all += b.sum;
		}
		double total = (double)(end - begin), one = (double)longest / (double)n;
		double want = ((double)n + P - 1) * one - (double)(longest - first) / (double)n;
		if (!strcmp(cases[i].strategy, "model"))
			want = (double)all;
		/* The loss makes the last stage 0.2 % longer than those in the middle. */
		ck_assert_msg(total > 0.995 * want && total < 1.001 * want, "%s, %d micro-batches: %.0f ns, not %.0f",
		              cases[i].strategy, (int)n, total, want);
		ck_assert_int_gt(report.time.bubble, 0);
		ck_assert_msg(report.time.exposed * 1000 < report.time.step, "exposed %lld of %lld",
		              (long long)report.time.exposed, (long long)report.time.step);
		trace_release(&t);
		report_release(&report);
		cluster_release(&c);
		made_release(&m);
	}
}
END_TEST

/* Whole operations and messages over links come to the same where nothing competes for a link. */
START_TEST(both_grains_agree)
{
	static const struct {
		const char *strategy, *cluster;
		int64_t ranks, accumulate;
	} cases[] = {{"model", "a100-80gb", 4, 2},
	             {"pipeline", "a100-80gb", 4, 6},
	             {"pipeline:schedule=gpipe", "a100-80gb", 6, 3},
	             {"hybrid:shard=8", "a100-80gb", 8, 1},
	             {"hybrid:shard=8", "a100-80gb", 32, 2},
	             {"hybrid:shard=4", "a100-80gb", 16, 1}};
	for (int i = 0; i < COUNT(cases); i++) {
		struct made m;
		struct report whole = {0}, messages = {0};
		must_open_verified(&m, &(struct request){.model = "gpt:layers=6",
		                                         .strategy = cases[i].strategy,
		                                         .ranks = cases[i].ranks,
		                                         .accumulate = cases[i].accumulate,
		                                         .micro_batch = 4});
		simulate(&m, cases[i].cluster, GRAIN_OPERATION, &whole);
		simulate(&m, cases[i].cluster, GRAIN_MESSAGE, &messages);
		double a = (double)whole.time.step, b = (double)messages.time.step;
		ck_assert_msg(a > 0.99 * b && a < 1.01 * b, "%s on %d ranks: %.0f ns by operation, %.0f by message",
		              cases[i].strategy, (int)cases[i].ranks, a, b);
		report_release(&whole);
		report_release(&messages);
		made_release(&m);
	}
}
END_TEST

/* ---- broken on purpose ---- */

static struct op *find(struct plan *p, int role, enum op_kind kind, int nth)
{
	for (int i = p->roles[role].step.begin; i < p->roles[role].step.end; i++)
		if (p->roles[role].ops[i].kind == kind && !nth--)
			return &p->roles[role].ops[i];
	ck_abort_msg("role %d has no such %s", role, op_name(kind));
}

static int number(const struct plan *p, int role, const struct op *op)
{
	return (int)(op - p->roles[role].ops);
}

/* The first stage awaits a gradient before it has sent anything. */
static void receive_in_another_order(struct plan *p)
{
	int receive = number(p, 0, find(p, 0, OP_RECEIVE, 0)), send = number(p, 0, find(p, 0, OP_SEND, 0));
	plan_move_op(p, 0, receive - 1, send); /* its alloc */
	plan_move_op(p, 0, receive, send + 1);
}

static void drop_receive(struct plan *p)
{
	plan_drop_op(p, 1, number(p, 1, find(p, 1, OP_RECEIVE, 0)));
}

static void send_to_oneself(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->shift = -1;
}

static void send_another_size(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->operand[0].count /= 2;
	find(p, 0, OP_SEND, 0)->payload /= 2;
}

static void send_another_micro_batch(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->micro = 1;
}

static void count_as_gradient(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->traffic = TRAFFIC_ACTIVATION_GRADIENTS;
	find(p, 1, OP_RECEIVE, 0)->traffic = TRAFFIC_ACTIVATION_GRADIENTS;
}

static void send_the_wrong_value(struct plan *p)
{
	find(p, 0, OP_SEND, 0)->operand[0] = find(p, 0, OP_LINEAR_FORWARD, 0)->operand[0];
}

static void send_before_it_is_made(struct plan *p)
{
	plan_set_waits(p, 0, number(p, 0, find(p, 0, OP_SEND, 0)), NULL, 0);
}

static void use_before_it_is_there(struct plan *p)
{
	plan_set_waits(p, 1, number(p, 1, find(p, 1, OP_LOAD, 0)), NULL, 0);
}

static void receive_into_what_is_freed(struct plan *p)
{
	int receive = number(p, 1, find(p, 1, OP_RECEIVE, 0));
	plan_move_op(p, 1, receive - 1, receive); /* its alloc behind it */
}

static void run_ends_in_the_middle(struct plan *p)
{
	find(p, 1, OP_SUM, 0)->ends = true;
}

static void reduce_along_another_axis(struct plan *p)
{
	find(p, 0, OP_REDUCE_SCATTER, 0)->axes = plan_axis(p, "replica");
}

static void reduce_over_all_twice(struct plan *p)
{
	struct op *op = find(p, 0, OP_ALL_REDUCE, 0);
	op->axes = 0;
}

static void forget_replicas(struct plan *p)
{
	struct op *op = find(p, 0, OP_ALL_REDUCE, 0);
	plan_drop_op(p, 0, number(p, 0, op));
}

static void forget_the_other_use(struct plan *p)
{
	for (int role = 0; role < p->role_count; role += p->role_count - 1)
		plan_drop_op(p, role, number(p, role, find(p, role, OP_ALL_REDUCE, 0)));
}

static void make_replicas_by_luck(struct plan *p)
{
	for (int i = p->roles[0].op_count - 1; i >= 0; i--)
		if (p->roles[0].ops[i].kind == OP_BROADCAST) {
			plan_drop_op(p, 0, i);
			return;
		}
}

/* The copy that takes to the host what the operation made takes instead what it would have worked on. */
static void skip_before_copy(struct plan *p, int skipped)
{
	struct role *r = &p->roles[0];
	int buffer = r->ops[skipped].operand[0].buffer, before = skipped, copy = skipped;
	do
		before--;
	while (r->ops[before].operand[1].buffer != buffer);
	do
		copy++;
	while (r->ops[copy].kind != OP_COPY || r->ops[copy].operand[0].buffer != buffer);
	plan_drop_op(p, 0, skipped);
	plan_set_waits(p, 0, copy - 1, &before, 1);
}

static void copy_replicas_by_luck(struct plan *p)
{
	for (int i = p->roles[0].prologue.end - 1; i >= 0; i--)
		if (p->roles[0].ops[i].kind == OP_BROADCAST) {
			skip_before_copy(p, i);
			return;
		}
}

static void copy_one_group(struct plan *p)
{
	skip_before_copy(p, number(p, 0, find(p, 0, OP_ALL_REDUCE, 0)));
}

/* Of what two stages use, both. */
static void copy_own_use(struct plan *p)
{
	for (int role = 0; role < p->role_count; role += p->role_count - 1) {
		struct role *r = &p->roles[role];
		int reduce = number(p, role, find(p, role, OP_ALL_REDUCE, 0)), copy = reduce, last = reduce;
		while (r->ops[copy].kind != OP_COPY)
			copy++;
		while (op_class(r->ops[last].kind) != OP_CLASS_K)
			last--;
		plan_drop_op(p, role, reduce);
		plan_set_waits(p, role, copy - 1, &last, 1);
	}
}

/* The last micro-batch's takes the place of those that were there. */
static void leave_out_micro_batches(struct plan *p)
{
	struct op *op = find(p, 1, OP_LINEAR_BACKWARD, 0);
	while (op->kind != OP_LINEAR_BACKWARD || op->micro != 3)
		op++;
	op->accumulate = 0;
}

/* Each shard visits the device for it. */
static void broadcast_and_keep_the_old(struct plan *p)
{
	struct role *r = &p->roles[0];
	for (int i = r->prologue.end - 1; i >= r->prologue.begin; i--)
		if (r->ops[i].kind == OP_COPY && op_transfer(r, &r->ops[i]) == TRANSFER_DEVICE_TO_HOST) {
			plan_drop_op(p, 0, i);
			return;
		}
}

static void show_another_slice(struct plan *p)
{
	struct role *r = &p->roles[0];
	for (int i = r->epilogue.begin; i < r->epilogue.end; i++)
		if (r->ops[i].kind == OP_WEIGHTS)
			r->ops[i].operand[0].slice = 0;
}

static void add_the_loss_of_all(struct plan *p)
{
	struct op *op = find(p, 0, OP_ZERO, 0);
	while (p->roles[0].buffers[op->operand[0].buffer].type != TYPE_FP32 ||
	       strcmp(p->roles[0].buffers[op->operand[0].buffer].name, "loss"))
		op++;
	plan_drop_op(p, 0, number(p, 0, op));
}

static void count_the_tied_squares_twice(struct plan *p)
{
	int role = p->role_count - 1;
	plan_double_op(p, role, number(p, role, find(p, role, OP_SQUARES, 0)));
	struct op *op = find(p, role, OP_SQUARES, 1), *update = find(p, role, OP_ADAMW, 1);
	int reduced = number(p, role, find(p, role, OP_ALL_REDUCE, 0));
	plan_set_waits(p, role, number(p, role, op), &reduced, 1);
	op->group = update->group;
	op->operand[0] = update->operand[1];
	op->accumulate = 1u << 1;
}

static const struct {
	const char *model, *strategy;
	int64_t ranks, accumulate;
	double clip;
	void (*break_it)(struct plan *p);
	int rule;
	const char *offload;
} broken[] = {
        {MLP, "pipeline", 3, 2, 0, receive_in_another_order, 1, NULL},
        {MLP, "pipeline", 3, 2, 0, drop_receive, 1, NULL},
        {MLP, "pipeline", 3, 2, 0, send_to_oneself, 2, NULL},
        {MLP, "pipeline", 3, 2, 0, send_another_size, 2, NULL},
        {MLP, "pipeline", 3, 2, 0, send_another_micro_batch, 2, NULL},
        {MLP, "pipeline", 3, 2, 0, count_as_gradient, 2, NULL},
        {MLP, "model", 2, 1, 0, send_the_wrong_value, 2, NULL},
        {MLP, "pipeline", 2, 2, 0, send_before_it_is_made, 4, NULL},
        {MLP, "pipeline", 2, 2, 0, use_before_it_is_there, 4, NULL},
        {MLP, "pipeline", 2, 2, 0, receive_into_what_is_freed, 3, NULL},
        {MLP, "pipeline", 3, 2, 0, run_ends_in_the_middle, 2, NULL},
        {MLP, "pipeline", 3, 2, 0, add_the_loss_of_all, 5, NULL},
        {GPT, "pipeline", 3, 2, 0, forget_the_other_use, 5, NULL},
        {GPT, "pipeline", 3, 2, 0.5, count_the_tied_squares_twice, 5, NULL},
        {GPT, "model", 3, 1, 0, make_replicas_by_luck, 1, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, reduce_along_another_axis, 5, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, reduce_over_all_twice, 2, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, forget_replicas, 5, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, make_replicas_by_luck, 6, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, show_another_slice, 6, NULL},
        {MLP, "hybrid:shard=2", 4, 2, 0, copy_replicas_by_luck, 6, "optimizer,parameters"},
        {MLP, "hybrid:shard=2", 4, 2, 0, copy_replicas_by_luck, 6, "optimizer,parameters:to=disk"},
        {MLP, "hybrid:shard=2", 4, 2, 0, broadcast_and_keep_the_old, 6, "optimizer,parameters"},
        {MLP, "hybrid:shard=2", 4, 2, 0, copy_one_group, 5, "optimizer"},
        {GPT, "pipeline", 3, 2, 0, copy_own_use, 5, "optimizer"},
        {MLP, "pipeline", 3, 4, 0, leave_out_micro_batches, 5, "optimizer"},
};

START_TEST(what_is_broken_is_refused)
{
	struct made m;
	struct plan p;
	char rule[16];
	must_open_verified(&m, &(struct request){.model = broken[_i].model,
	                                         .strategy = broken[_i].strategy,
	                                         .ranks = broken[_i].ranks,
	                                         .accumulate = broken[_i].accumulate,
	                                         .offload = broken[_i].offload,
	                                         .clip = broken[_i].clip});
	plan_copy(&p, &m.plan);
	broken[_i].break_it(&p);
	ck_assert_int_eq(plan_verify(&p, NULL), STATUS_REFUSED);
	snprintf(rule, sizeof rule, "rule %d ", broken[_i].rule);
	ck_assert_msg(!strncmp(status_message(), rule, strlen(rule)), "wanted %s: %s", rule, status_message());
	plan_release(&p);
	made_release(&m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("contrasts");
	TCase *tcase = tcase_create("contrasts");
	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, contrasts_train_as_single, 0, COUNT(contrasts));
	tcase_add_test(tcase, stages_keep_what_is_in_flight);
	tcase_add_test(tcase, stages_send_activations_and_the_tied_gradient);
	tcase_add_test(tcase, stages_divide_the_model);
	tcase_add_test(tcase, stages_are_balanced);
	tcase_add_test(tcase, hybrid_shards_inside_and_replicates_across);
	tcase_add_test(tcase, hybrid_plans_do_not_grow);
	tcase_add_test(tcase, bubble_is_that_of_the_formula);
	tcase_add_test(tcase, both_grains_agree);
	tcase_add_loop_test(tcase, what_is_broken_is_refused, 0, COUNT(broken));
	suite_add_tcase(suite, tcase);
	TCase *timed = tcase_create("many stages");
	tcase_set_timeout(timed, 20);
	tcase_add_test(timed, many_stages_of_many_layers);
	suite_add_tcase(suite, timed);
	return suite_run(suite);
}
