/* The simulator on whole plans: classes of ranks, both grains on every strategy, what fits, what is refused. */
#include "sim/rank_class.h"
#include "tests/sim/sim_fixture.h"
#include "tests/support/mutants.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

/* ---- classes of ranks ---- */

static void check_classes(int64_t ranks, int64_t root_ranks, const char *devices, const char *slow, int expected)
{
	struct plan plan = {.ranks = ranks, .role_count = root_ranks ? 2 : 1};
	struct rank_classes classes;
	int64_t sum = 0;
	open_gpus(devices, "0", "0", slow);
	plan.roles[0] = (struct role){.name = "root", .ranks = root_ranks ? root_ranks : ranks};
	plan.roles[1] = (struct role){.name = "rank", .first_rank = root_ranks, .ranks = ranks - root_ranks};
	rank_classes_make(&classes, &plan, &cluster);
	ck_assert_int_eq(classes.count, expected);
	for (int i = 0; i < classes.count; i++)
		sum += classes.classes[i].copies * classes.classes[i].nodes;
	ck_assert_int_eq(sum, ranks);
	for (int64_t rank = 0; rank<ranks; rank += ranks> 1000 ? 97 : 1) {
		const struct rank_class *a = &classes.classes[rank_class_of(&classes, &plan, &cluster, rank)];
		if (a->factor != cluster_slow_factor(&cluster, rank) ||
		    &plan.roles[a->role] != plan_role_of(&plan, rank))
			ck_abort_msg("rank %ld is not of its class", (long)rank);
	}
	rank_classes_release(&classes);
}

START_TEST(test_rank_classes)
{
	check_classes(1, 0, "8", "", 1);
	check_classes(16384, 0, "8", "", 1);
	check_classes(16384, 0, "8", "9: 2", 3); /* the others; rank 9; the rest of its node */
	check_classes(16384, 0, "8", "9: 2, 10: 2", 4);
	check_classes(16384, 0, "8", "0: 2, 16383: 3", 5); /* the first and the last node are special */
	check_classes(16384, 1, "8", "", 3);               /* root; the rest of its node; all others */
	check_classes(13, 0, "8", "", 2);                  /* a node of 8 and one of 5 */
	check_classes(13, 1, "8", "", 3);
	check_classes(4, 1, "8", "", 2);
	check_classes(8, 8, "8", "", 1);
	check_classes(2, 0, "1", "0: 2, 1: 2", 2);
	check_classes(24, 8, "8", "", 2); /* roles that meet between nodes */
}

/* ---- whole plans ---- */

/* Four samples a micro-batch. */
#define SMALL "gpt:layers=2,width=64,heads=2"
static const struct plan *plan_on(const char *name, const char *model, const char *strategy, int ranks)
{
	const struct plan *p = made_plan("%s %s ranks=%d micro_batch=4", model, strategy, ranks);
	cluster_release(&cluster);
	must(cluster_open(&cluster, name, ranks));
	return p;
}

static char *trace_text(const struct plan *p, enum grain grain)
{
	struct trace t = {0};
	struct report report;
	char *text = NULL;
	size_t size = 0;
	report = simulate(p, grain, &t);
	FILE *out = open_memstream(&text, &size);
	ck_assert(!trace_write(&t, out));
	json_t *o = report_to_json(&report);
	json_dumpf(o, out, JSON_INDENT(1));
	json_decref(o);
	fclose(out);
	trace_release(&t);
	report_release(&report);
	return text;
}

START_TEST(test_same_bytes)
{
	static const char *const strategies[] = {"dp", "ddp", "zero3"};
	for (int i = 0; i < 3; i++)
		for (int g = GRAIN_OPERATION; g <= GRAIN_MESSAGE; g++) {
			const struct plan *p = plan_on("laptop", SMALL, strategies[i], 5);
			char *first = trace_text(p, (enum grain)g), *second = trace_text(p, (enum grain)g);
			ck_assert_str_eq(first, second);
			free(first);
			free(second);
		}
}

/* Whole and by messages, on every strategy. A root that deals with others in turn lets the first ones go early, which
 * only messages show: up to 3 % there. Under a stack an operation is NCCL's (sim/nccl.h), and messages are not. */
static const struct {
	const char *cluster, *words; /* without a cluster: open_gpus with a disk */
	int per_cent;
} simulated_twice[] = {
        {"laptop", "dp ranks=2", 1},
        {"laptop", "ddp ranks=2", 1},
        {"laptop", "zero1 ranks=2", 1},
        {"laptop", "zero2 ranks=2", 1},
        {"laptop", "zero3 ranks=2", 1},
        {"laptop", "fsdp ranks=2", 1},
        {"a100-80gb:stack=ceiling", "dp ranks=8", 3},
        {"a100-80gb:stack=ceiling", "ddp ranks=8", 1},
        {"a100-80gb:stack=ceiling", "zero2 ranks=24", 1},
        {"h100:stack=ceiling", "zero3 ranks=16", 1},
        {"a100-80gb:stack=ceiling", "model ranks=4 accumulate=2", 1},
        {"a100-80gb:stack=ceiling", "pipeline ranks=4 accumulate=6", 1},
        {"a100-80gb:stack=ceiling", "pipeline:schedule=gpipe ranks=6 accumulate=3", 1},
        {"a100-80gb:stack=ceiling", "hybrid:shard=8 ranks=8", 1},
        {"a100-80gb:stack=ceiling", "hybrid:shard=8 ranks=32 accumulate=2", 1},
        {"a100-80gb:stack=ceiling", "hybrid:shard=4 ranks=16", 1},
        {NULL, "fsdp ranks=4 offload=optimizer", 1},
        {NULL, "fsdp ranks=4 offload=optimizer,parameters,activations", 1},
        {NULL, "fsdp ranks=4 offload=optimizer:to=disk,parameters:to=disk", 1},
};

START_LOOP_TEST(grains_agree, 0, COUNT(simulated_twice))
{
	const char *words = simulated_twice[_i].words, *name = simulated_twice[_i].cluster;
	const struct plan *p = made_plan("gpt:layers=6,width=128,heads=4 %s micro_batch=4", words);
	if (name)
		must(cluster_open(&cluster, name, p->ranks));
	else
		open_gpus_with_disk();
	struct report whole = simulate(p, GRAIN_OPERATION, NULL), messages = simulate(p, GRAIN_MESSAGE, NULL);
	check_near(messages.time.step, whole.time.step, simulated_twice[_i].per_cent, words, p->ranks);
	ck_assert_int_gt(whole.time.communication, 0);
}

/* Every message of the trace is one that the plan accounts for. */
START_TEST(test_messages_are_the_plan)
{
	static const char *const strategies[] = {"dp", "ddp", "zero1", "zero3"};
	for (int i = 0; i < 4; i++) {
		struct trace t = {0};
		int64_t sent[5] = {0}, received[5] = {0};
		const struct plan *p = plan_on("laptop", "mlp:sizes=20-30-10", strategies[i], 5);
		simulate(p, GRAIN_MESSAGE, &t);
		for (size_t m = 0; m < t.message_count; m++) {
			const struct message *x = &t.messages[m];
			if (plan_role_of(p, x->from)->ops[x->op].traffic == TRAFFIC_CONTROL)
				continue;
			ck_assert_int_gt(x->end, x->begin);
			sent[x->from] += x->bytes;
			received[x->to] += x->bytes;
		}
		for (int64_t rank = 0; rank < 5; rank++) {
			const struct role *role = plan_role_of(p, rank);
			for (int op = role->step.begin; op < role->step.end; op++)
				if (role->ops[op].traffic != TRAFFIC_CONTROL) {
					sent[rank] -= op_sent_bytes(p, role, &role->ops[op], rank);
					received[rank] -= op_received_bytes(p, role, &role->ops[op], rank);
				}
			ck_assert_int_eq(sent[rank], 0);
			ck_assert_int_eq(received[rank], 0);
		}
		trace_release(&t);
	}
}

/* Three products read 4 MiB of weights, at a byte a nanosecond; the first layer's backward pass reads none, as it makes
 * no gradient of the samples. Where no product was measured, its time has them already. */
START_TEST(large_weights_come_beside_measured_products)
{
	const struct plan *p = plan_on("laptop", "mlp:sizes=1024-1024-1024-10", "single", 1);
	int64_t before = simulate(p, GRAIN_OPERATION, NULL).time.step;
	cluster.weight_bandwidth = rate_assumed(1000000000);
	ck_assert_int_eq(simulate(p, GRAIN_OPERATION, NULL).time.step, before);
	static const enum op_kind products[] = {OP_LINEAR_FORWARD, OP_LINEAR_BACKWARD};
	for (int i = 0; i < 2; i++) {
		struct curve *curve = &cluster.compute[products[i]][TYPE_FP32];
		curve->count = 0;
		must(curve_add(curve, 1000000000, rate_measured(5000000000, 5000000000, 5000000000)));
	}
	int64_t with = simulate(p, GRAIN_OPERATION, NULL).time.step;
	cluster.weight_bandwidth = rate_assumed(0);
	ck_assert_int_eq(with - simulate(p, GRAIN_OPERATION, NULL).time.step, 3 * 4 << 20);
}

/* Under ddp the middle layer's parameters follow the 10 250 of the last one, 40 bytes inside a line, and the first
 * one's follow both. The update of the first one's 803 840 goes through their values and moments twice, and once
 * through the gradients. The weights in the middle come once forward and twice backward, where a row of theirs is a
 * page; the first one's come forward alone. At 16 classes all begin at a line. */
static int64_t takes(const char *model, struct rate *bandwidth)
{
	static const enum op_kind kinds[] = {OP_LINEAR_FORWARD, OP_LINEAR_BACKWARD, OP_ADAMW};
	const struct plan *p = plan_on("laptop", model, "ddp", 1);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct curve *curve = &cluster.compute[kinds[i]][TYPE_FP32];
		curve->count = 0;
		must(curve_add(curve, 1000000000, rate_measured(5000000000, 5000000000, 5000000000)));
	}
	*bandwidth = rate_assumed(0);
	int64_t without = simulate(p, GRAIN_OPERATION, NULL).time.step;
	*bandwidth = rate_assumed(1000000000);
	return simulate(p, GRAIN_OPERATION, NULL).time.step - without;
}

START_TEST(what_begins_inside_a_line_takes_longer)
{
	enum { FIRST = 784 * 1024, MIDDLE = 1024 * 1024 };
	struct rate *weights = &cluster.weight_bandwidth, *straddle = &cluster.straddle_bandwidth;
	ck_assert_int_eq(takes("mlp:sizes=784-1024-1024-16", straddle), 0);
	ck_assert_int_eq(takes("mlp:sizes=784-1024-1024-16", weights), 4 * (FIRST + 2 * MIDDLE));
	ck_assert_int_eq(takes("mlp:sizes=784-1024-1024-10", straddle), 4 * 7 * (FIRST + 1024));
	ck_assert_int_eq(takes("mlp:sizes=784-1024-1024-10", weights), 4 * (FIRST + 3 * MIDDLE));
	ck_assert_int_eq(takes("mlp:sizes=784-960-960-10", weights), 4 * (784 * 960 + 2 * 960 * 960));
}

/* Queues in order, waits kept, in both grains and for every rank. */
START_TEST(test_order_is_kept)
{
	for (int g = GRAIN_OPERATION; g <= GRAIN_MESSAGE; g++) {
		struct trace t = {0};
		const struct plan *p = plan_on("laptop", SMALL, "fsdp", 4);
		simulate(p, (enum grain)g, &t);
		const struct role *role = &p->roles[0];
		struct span *by_op = calloc((size_t)role->op_count, sizeof *by_op);
		for (int64_t rank = 0; rank < 4; rank++) {
			int64_t last[QUEUE_COUNT] = {0};
			int seen = 0, expected = 0;
			for (size_t i = 0; i < t.span_count; i++)
				if (t.spans[i].rank == rank) {
					by_op[t.spans[i].op] = t.spans[i];
					seen++;
				}
			for (int i = role->step.begin; i < role->step.end; i++) {
				const struct op *op = &role->ops[i];
				if (op_class(op->kind) == OP_CLASS_M)
					continue;
				expected++;
				ck_assert_int_ge(by_op[i].begin, last[op->queue]);
				ck_assert_int_ge(by_op[i].end, by_op[i].begin);
				last[op->queue] = by_op[i].end;
				for (int k = 0; k < op->after_count; k++)
					ck_assert_int_ge(by_op[i].begin, by_op[op->after[k]].end);
			}
			ck_assert_int_eq(seen, expected);
		}
		free(by_op);
		trace_release(&t);
	}
}

/* A trace of all ranks says who came last, as the simulator knows it: so a real run's trace does too. */
START_TEST(test_who_came_last_follows_from_the_trace)
{
	static const char *const strategies[] = {"dp", "ddp", "zero3", "hybrid:shard=2", "tensor", "pipeline"};
	int64_t waited = 0;
	for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
		for (int g = GRAIN_OPERATION; g <= GRAIN_MESSAGE; g++) {
			struct trace t = {0};
			const struct plan *p = plan_on("laptop", "gpt:layers=4,width=64,heads=4", strategies[i], 4);
			open_gpus("2", "0.1", "1e-6", "2: 3");
			simulate(p, (enum grain)g, &t);
			int64_t *came = calloc(t.span_count, sizeof *came);
			for (size_t k = 0; k < t.span_count; k++) {
				came[k] = t.spans[k].came;
				waited += came[k] - t.spans[k].begin;
				t.spans[k].came = t.spans[k].begin;
			}
			trace_meet(&t);
			for (size_t k = 0; k < t.span_count; k++)
				ck_assert_msg(t.spans[k].came == came[k], "%s, grain %s, rank %d, operation %d",
				              strategies[i], grain_name((enum grain)g), (int)t.spans[k].rank,
				              t.spans[k].op);
			free(came);
			trace_release(&t);
		}
	ck_assert_int_gt(waited, 0);
}

/* 16,384 ranks are one class: the trace has one rank. */
START_TEST(test_many_ranks)
{
	struct trace t = {0};
	struct report report;
	const struct plan *p = plan_on("a100-80gb", "gpt3-175b", "zero3 precision=bf16", 16384);
	report = simulate(p, GRAIN_OPERATION, &t);
	ck_assert_int_gt(report.time.step, 0);
	ck_assert_uint_gt(t.span_count, 1000);
	for (size_t i = 0; i < t.span_count; i++)
		if (t.spans[i].rank)
			ck_abort_msg("a span of rank %ld", (long)t.spans[i].rank);
	trace_release(&t);
	p = plan_on("a100-80gb", "gpt3-175b", "zero3 precision=bf16", 16383); /* the last node has room left */
	must_fail(sim_run(p, &cluster, GRAIN_MESSAGE, NULL, &report), STATUS_INPUT, "grain operation");
}

static const struct {
	const char *cluster, *words;
} alike[] = {
        {"a100-80gb", "fsdp ranks=24"},
        {"a100-80gb:node=2", "ddp ranks=8 clip=1"},
        {"h100:node=1", "zero2 ranks=6"},
        {"v100-16gb:node=3:stack=ceiling", "zero1 ranks=9 accumulate=2"},
        {"a100-80gb:node=2", "zero3 ranks=6 offload=optimizer"},
        {"a100-80gb:node=2", "dp ranks=6"},
};

/* A trace has every rank's messages, so that every rank is simulated; without one a node stands for all. */
START_LOOP_TEST(nodes_that_are_alike, 0, COUNT(alike))
{
	struct trace t = {0};
	struct plan *p = made_plan("gpt:layers=3,width=64,heads=2 %s micro_batch=2", alike[_i].words);
	must(cluster_open(&cluster, alike[_i].cluster, p->ranks));
	struct report each = simulate(p, GRAIN_MESSAGE, &t), some = simulate(p, GRAIN_MESSAGE, NULL);
	ck_assert_mem_eq(&each.time, &some.time, sizeof each.time);
	ck_assert_uint_gt(t.message_count, 0);
	trace_release(&t);
}

/* ---- fits, what figures rest on, refusals ---- */

START_TEST(test_fits)
{
	const struct plan *p = plan_on("a100-40gb:stack=ceiling", SMALL, "ddp", 4);
	struct report report = simulate(p, GRAIN_OPERATION, NULL);
	ck_assert(report.fits);
	const struct report_memory *m = &report.roles[0].memory[SPACE_DEVICE];
	ck_assert_int_eq(m->overhead_bytes, cluster.overhead.value);
	ck_assert(m->overhead_assumed);
	cluster.device_memory = m->arena_bytes + m->overhead_bytes;
	report = simulate(p, GRAIN_OPERATION, NULL);
	ck_assert(report.fits);
	ck_assert_int_eq(report.tightest.space, SPACE_DEVICE);
	ck_assert_int_eq(report.tightest.needed_bytes, cluster.device_memory);
	ck_assert_int_eq(report.tightest.capacity_bytes, cluster.device_memory);
	cluster.device_memory--;
	report = simulate(p, GRAIN_OPERATION, NULL);
	ck_assert(!report.fits);
	ck_assert_int_eq(report.tightest.needed_bytes - report.tightest.capacity_bytes, 1);

	/* on CPUs, all ranks of the node are in its memory */
	p = plan_on("laptop", SMALL, "dp", 4);
	report = simulate(p, GRAIN_OPERATION, NULL);
	ck_assert(report.fits);
	cluster.node_memory = 4 * cluster.overhead.value + report.roles[0].memory[SPACE_DEVICE].arena_bytes +
	                      3 * report.roles[1].memory[SPACE_DEVICE].arena_bytes;
	report = simulate(p, GRAIN_MESSAGE, NULL);
	ck_assert(report.fits);
	ck_assert_int_eq(report.tightest.space, SPACE_HOST);
	ck_assert_int_eq(report.tightest.needed_bytes, cluster.node_memory);
	cluster.node_memory--;
	for (int g = GRAIN_OPERATION; g <= GRAIN_MESSAGE; g++)
		ck_assert(!simulate(p, (enum grain)g, NULL).fits);
}

START_TEST(test_measured)
{
	open_gpus("4", "0.1", "0", "");
	cluster.launch.measured = cluster.device_bandwidth.measured = cluster.collective_launch.measured = true;
	cluster.link.latency.measured = cluster.link.bandwidth.measured = cluster.collective_share.measured = true;
	open_plan(4);
	add_kernel(1000);
	struct op *add = add_op(OP_ADD, QUEUE_COMPUTE, 1000);
	add->operand[ADD_Y] = add->operand[ADD_X];
	struct rate *compute = &cluster.compute[COMPUTE_DEFAULT][TYPE_FP32].point[0].rate;
	compute->measured = true;
	add_collective(SCHEDULE_RING_ALL_REDUCE, 4000);
	for (int g = GRAIN_OPERATION; g <= GRAIN_MESSAGE; g++) {
		ck_assert(run((enum grain)g).rates_measured); /* the network has no part in it */
		bool *rates[] = {&cluster.launch.measured,
		                 &cluster.device_bandwidth.measured,
		                 &cluster.collective_launch.measured,
		                 &compute->measured,
		                 &cluster.link.latency.measured,
		                 &cluster.link.bandwidth.measured,
		                 &cluster.collective_share.measured};
		for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
			*rates[i] = false;
			ck_assert(!run((enum grain)g).rates_measured);
			*rates[i] = true;
		}
	}
}

START_TEST(test_refusals)
{
	struct report report;
	const struct plan *p = plan_on("v100-16gb", "gpt:layers=1,width=32,heads=2", "ddp precision=bf16", 8);
	must_fail(sim_run(p, &cluster, GRAIN_OPERATION, NULL, &report), STATUS_INPUT, "in bf16");

	/* two queues that wait for each other */
	open_gpus("2", "0", "0", "");
	open_plan(2);
	wait_for(add_kernel(1000), 1);
	wait_for(add_collective(SCHEDULE_RING_ALL_REDUCE, 4000), 0);
	must_fail(sim_run(&fixture.plan, &cluster, GRAIN_OPERATION, NULL, &report), STATUS_REFUSED,
	          "deadlocks: rank 0 waits at zero");

	enum grain g;
	ck_assert(!grain_parse("message", &g));
	ck_assert_int_eq(g, GRAIN_MESSAGE);
	ck_assert_int_eq(grain_parse("messages", &g), STATUS_INPUT);
}

/* A clock that would overflow is an error, not a negative time. */
START_TEST(test_endless)
{
	open_cpus("", "1", "1e6");
	cluster.device_bandwidth = rate_assumed(1);
	open_plan(1000);
	struct report report;
	for (int i = 0; i < 4; i++)
		add_op(OP_ZERO, QUEUE_COMPUTE, INT64_C(1) << 55);
	must_fail(sim_run(&fixture.plan, &cluster, GRAIN_OPERATION, NULL, &report), STATUS_INPUT, "73 years");
}

struct beside {
	const struct plan *plan;
	bool called;
};

static enum status simulate_beside(void *context)
{
	struct beside *b = context;
	struct simulation *x;
	enum status s = simulation_run(&x, b->plan, &cluster, GRAIN_OPERATION, NULL);
	b->called = true;
	simulation_release(x);
	return s;
}

/* A plan is simulated while it is verified: one that breaks a rule later than the third too. What is told is the
 * refusal, and nothing is simulated of a plan that breaks an earlier one. */
START_TEST(test_simulated_while_refused)
{
	enum { MUTANTS = 400 };
	struct plan *p = made_plan("gpt:layers=3,width=8,heads=2,context=4,vocabulary=5 pipeline ranks=3 accumulate=4");
	int early = 0, late = 0;
	open_cpus("", "1", "1e9");
	for (uint64_t seed = 0; seed < MUTANTS; seed++) {
		struct plan mutant;
		struct beside b = {.plan = &mutant};
		struct refusal why;
		int kind;
		char what[200], message[1024];
		if (mutant_make(&mutant, p, seed, &kind, what, sizeof what)) {
			enum status s = plan_verify_why(&mutant, NULL, &why);
			snprintf(message, sizeof message, "%s", s ? status_message() : "");
			ck_assert_msg(plan_verify_beside(&mutant, simulate_beside, &b) == s, "%s", what);
			ck_assert_msg(!s || !strcmp(message, status_message()), "%s: %s", what, message);
			ck_assert_msg(s ? why.rule > 3 || !b.called : b.called, "%s", what);
			early += s && why.rule <= 3;
			late += s && why.rule > 3;
			/* Where the rule comes too early for a thread beside, alone. */
			ck_assert_msg(!s || why.rule <= 3 || !simulate_beside(&b), "%s", what);
		}
		plan_release(&mutant);
	}
	ck_assert(early > MUTANTS / 20 && late > MUTANTS / 20);
	struct beside b = {.plan = p};
	must(plan_verify_beside(p, simulate_beside, &b));
	open_gpus("4", "0", "0", "");
	b.plan = p = made_plan("gpt:layers=1,width=32,heads=2 ddp precision=bf16 ranks=4");
	must_fail(plan_verify_beside(p, simulate_beside, &b), STATUS_INPUT, "in bf16");
}

SUITE("sim plans", 120)
