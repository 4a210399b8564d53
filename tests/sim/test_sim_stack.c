/* Steps on paper, and what a stack makes of a step: each figure worked out by hand, to the nanosecond. */
#include "sim/nccl.h"
#include "strategy/cluster/effective.h"
#include "tests/sim/sim_fixture.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

/* Two ranks, two buckets, a link of 10 bytes/ns with 1 us:
 *
 *     compute   k1 10,000  k2 10,000                                       update 500
 *     link                 b1: 2 · (1000 + 200,000/10) = 42,000  b2: 2 · (1000 + 40,000/10) = 10,000
 *               0        10,000     20,000                     52,000                      62,000   62,500
 */
static void open_buckets(void)
{
	open_gpus("2", "0", "0", "");
	open_plan(2);
	add_kernel(10000);
	wait_for(add_collective(SCHEDULE_RING_ALL_REDUCE, 100000), 0);
	add_kernel(10000);
	wait_for(add_collective(SCHEDULE_RING_ALL_REDUCE, 20000), 2);
	wait_for(add_kernel(500), 3);
}

START_LOOP_TEST(two_ranks_two_buckets, GRAIN_OPERATION, GRAIN_MESSAGE + 1)
{
	open_buckets();
	struct report r = run((enum grain)_i);
	ck_assert_int_eq(r.time.step, 62500);
	ck_assert_int_eq(r.time.compute, 20500);
	ck_assert_int_eq(r.time.communication, 52000);
	ck_assert_int_eq(r.time.exposed, 42000);
	ck_assert_int_eq(r.time.bubble, 0);
}

/* A ring over two nodes of two ranks; between nodes 2 rails of 2 bytes/ns with 5 us:
 *
 *     0 ─ 1 ═ 2 ─ 3 ═ 0          a chunk of 100,000 bytes: ─ 1000 + 100,000/10 = 11,000   ═ 5000 + 100,000/4 = 30,000
 *
 * Each rank has a node's end on one side, so that each of the 2 · 3 rounds takes 30,000. */
START_LOOP_TEST(a_ring_over_two_nodes, GRAIN_OPERATION, GRAIN_MESSAGE + 1)
{
	open_gpus("2", "0", "7e-7", "");
	open_plan(4);
	add_kernel(10000);
	wait_for(add_collective(SCHEDULE_RING_ALL_REDUCE, 100000), 0);
	wait_for(add_kernel(500), 1);
	struct report r = run((enum grain)_i);
	int64_t ring = 700 + 6 * 30000;
	ck_assert_int_eq(r.time.compute, 10500);
	ck_assert_int_eq(r.time.communication, ring);
	ck_assert_int_eq(r.time.step, 10000 + ring + 500);
}

/* ---- under a stack ---- */

static const char halves[] = "name: halves\nclass: fused\ncard: ampere\n"
                             "product: {share: 0.5, depth: 100, rows: 300, waves: 0}\n"
                             "attention: {forward: 0.25, backward: 0.2}\n"
                             "memory: {bandwidth: 0.5, unfused: 2}\n"
                             "launch: {issue: 0, gap: 7e-9}\n"
                             "network: {inside: 0.5, between: 0.25}\noverlap: {multiprocessors: 0}\n"
                             "step: {constant: 1e-6, micro_batch: 3e-6}\n"
                             "activations: {factor: 1.5}\nreserved: {share: 0.1}\n"
                             "range: {low: 0.9, high: 1.2}\n"
                             "fit: {rows: 5, ranks_least: 2, ranks_most: 8}\n";

static void take_stack(const char *text)
{
	struct stack s;
	must(stack_read(&s, text, strlen(text), "halves", ""));
	must(cluster_take_stack(&cluster, &s));
}

/* Memory at half: kernels twice as long, 7 ns each; links at half: 2 · (1000 + 40,000) and 2 · (1000 + 8,000). */
START_TEST(a_stack_reaches_shares)
{
	open_buckets();
	fixture.plan.settings.accumulate = 1;
	take_stack(halves);
	struct report r = run(GRAIN_OPERATION);
	int64_t k1 = 20007, b1 = 82000, b2 = 18000, update = 1007, constants = 1000 + 3000;
	ck_assert_int_eq(r.time.compute, 2 * k1 + update);
	ck_assert_int_eq(r.time.communication, b1 + b2);
	ck_assert_int_eq(r.time.bubble, constants);
	ck_assert_int_eq(r.time.step, k1 + b1 + b2 + update + constants);
	int64_t spread = r.time.step + r.time.exposed; /* what waits for the network counts twice */
	ck_assert_int_le(llabs(r.range_low - (r.time.step - spread / 10)), 1);
	ck_assert_int_le(llabs(r.range_high - (r.time.step + spread / 5)), 1);
	ck_assert_str_eq(r.stack, "halves");
	ck_assert_str_eq(r.basis, "stack halves, fitted on 5 runs");
}

/* A stack's share for what kernels fuse is of every fused plan. An eager one has operations for it. */
START_TEST(fused_kernels_of_any_software_move_more)
{
	static const char *const software[] = {"shardlab", "megatron:loss=inplace:allocator=arena:groups=one",
	                                       "pytorch:kernels=fused:loss=inplace:update=inplace"};
	int64_t compute[COUNT(software)];
	for (int i = 0; i < COUNT(software); i++) {
		struct cluster c;
		struct report r;
		must(cluster_open(&c, "a100-80gb:class=megatron", 1));
		const struct plan *p = right_plan("gpt:layers=2,width=64,heads=2,context=64,vocabulary=128 single "
		                                  "ranks=1 micro_batch=4 as=%s",
		                                  software[i]);
		must(sim_run(p, &c, GRAIN_OPERATION, NULL, &r));
		compute[i] = r.time.compute;
		report_release(&r);
		cluster_release(&c);
		plans_forget();
	}
	ck_assert_int_eq(compute[1], compute[0]);
	ck_assert_int_eq(compute[2], compute[0]);
}

/* ---- NCCL's cost model ---- */

/* A ring over two nodes of two ranks at half a link of 10 bytes/ns and a quarter of a network of 4. Of its 2 · 3 hops 2
 * leave a node, once there and once back; Simple pays 1.4 times for all but the bytes:
 *
 *     0 ─ 1 ═ 2 ─ 3      1.4 · (700 + 4 · 1000 + 2 · 5000) + 400,000 · 6/4 at 1 byte/ns
 *
 * 400 bytes go by LL, whose hops are 600 of 3,400 and 2,700 of 14,000, whose launch is 6,600 of 8,400, and whose bytes
 * go at half the rate. */
START_TEST(a_ring_over_two_nodes_by_nccl)
{
	open_gpus("2", "0", "7e-7", "");
	open_plan(4);
	add_collective(SCHEDULE_RING_ALL_REDUCE, 100000);
	fixture.plan.settings.accumulate = 1;
	take_stack(halves);
	int64_t constants = 1000 + 3000;
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 20580 + 600000 + constants);
	fixture.ops[0].payload = fixture.ops[0].operand[0].count = 100;
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 550 + 4 * 176 + 2 * 964 + 1200 + constants);
}

static int64_t by_nccl(enum operation o, int64_t ranks, int64_t nodes, int64_t bytes, const char *name)
{
	const char *which = "";
	int64_t ns = nccl_time(&cluster,
	                       &(struct nccl_call){.operation = o,
	                                           .ranks = ranks,
	                                           .nodes = nodes,
	                                           .bytes = bytes,
	                                           .rate = fixed_rate(200000000000)},
	                       &which);
	ck_assert_str_eq(which, name);
	return ns;
}

/* NCCL's own latencies, on NVLink: 14 hops in one node, of LL 0.6 us each. */
START_TEST(the_best_by_size)
{
	open_gpus("8", "0", "8.4e-6", "");
	cluster.link.latency = rate_assumed(3400);
	cluster.network.latency = rate_assumed(14000);
	ck_assert_int_eq(by_nccl(OPERATION_ALL_REDUCE, 8, 1, 0, "ring, LL"), 15000);
	ck_assert_int_eq(by_nccl(OPERATION_ALL_GATHER, 8, 1, 0, "ring, LL"), 6600 + 7 * 600);
	ck_assert_int_eq(by_nccl(OPERATION_ALL_REDUCE, 8, 1, 1 << 20, "ring, LL"),
	                 15000 + (1 << 20) * 7 / 4 * 10 / 877 + 1);
	by_nccl(OPERATION_ALL_REDUCE, 8, 1, 10 << 20, "ring, LL128");
	by_nccl(OPERATION_ALL_REDUCE, 8, 1, 1 << 30, "ring, Simple");
	/* Over 128 nodes a tree of 7 levels: 2 · 7 hops inside, 2 · 7 between. */
	ck_assert_int_eq(by_nccl(OPERATION_ALL_REDUCE, 1024, 128, 0, "tree, LL"), 6800 + 14 * 600 + 14 * 5000);
	by_nccl(OPERATION_ALL_REDUCE, 1024, 128, 1 << 20, "tree, LL128");
	by_nccl(OPERATION_REDUCE_SCATTER, 1024, 128, 1 << 20, "ring, LL");
	cluster.link.latency = rate_assumed(5700); /* PCIe: no LL128 */
	by_nccl(OPERATION_ALL_REDUCE, 8, 1, 64 << 20, "ring, Simple");
}

/* A schedule asked for by name, a collective shown alone, and bare ceilings all stay schedules. */
START_TEST(schedules_stay)
{
	open_gpus("2", "0", "0", "");
	open_plan(4);
	add_collective(SCHEDULE_HALVING_DOUBLING_ALL_REDUCE, 100000);
	int64_t before = run(GRAIN_OPERATION).time.step;
	cluster_release(&cluster);
	open_gpus("2", "0", "0", "");
	char same[] = "name: same\nclass: fused\ncard: ampere\nnetwork: {inside: 1, between: 1}\n"
	              "overlap: {multiprocessors: 0}\nstep: {constant: 0, micro_batch: 0}\n";
	take_stack(same);
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, before);
}

/* Outside of what it was fitted on the band is half as wide again. */
START_TEST(ranges_widen)
{
	struct stack s;
	must(stack_read(&s, halves, strlen(halves), "halves", ""));
	struct effective_range inside = effective_range(&s, 4096, 8, 100, 0),
	                       outside = effective_range(&s, 4096, 9, 100, 0),
	                       waits = effective_range(&s, 4096, 8, 100, 250000);
	ck_assert(!inside.outside);
	ck_assert_int_eq(inside.low, 900000);
	ck_assert(outside.outside);
	ck_assert_int_eq(outside.low, 850000);
	ck_assert_int_eq(outside.high, 1300000);
	ck_assert_int_eq(waits.low, 875000); /* 1 - 0.1 · (¾ + 2 · ¼) */
	ck_assert_int_eq(waits.high, 1250000);
}

/* ½ · K/(K+100) · M/(M+300); backward, dx has the depth `out` and the rows of x, dw the depth of the rows and the rows
 * `in`. */
START_TEST(products_by_shape)
{
	open_gpus("2", "0", "0", "");
	take_stack(halves);
	struct op_sizes s = {.rows = 300, .in = 900, .out = 1900};
	ck_assert_int_eq(effective_share(&cluster, OP_LINEAR_FORWARD, &s), 225000); /* 0.5 · 0.9 · 0.5 */
	int64_t dx = 237500, dw = 281250; /* 0.5 · 0.95 · 0.5; 0.5 · 0.75 · 0.75 */
	ck_assert_int_eq(effective_share(&cluster, OP_LINEAR_BACKWARD, &s), 2 * dx * dw / (dx + dw));
	ck_assert_int_eq(effective_share(&cluster, OP_ATTENTION_FORWARD, &s), 250000);
	ck_assert_int_eq(effective_share(&cluster, OP_ATTENTION_BACKWARD, &s), 200000);
	ck_assert_int_eq(effective_share(&cluster, OP_NORM_FORWARD, &s), MILLION);
}

/* 3 tiles of 128 × 128 on 2 multiprocessors are 2 waves, of which a quarter is idle: the work takes 4/3. */
START_TEST(partial_waves)
{
	open_gpus("2", "0", "0", "");
	take_stack(halves);
	cluster.multiprocessors = 2;
	cluster.stack.value[STACK_PRODUCT_WAVES] = MILLION;
	cluster.stack.value[STACK_PRODUCT_DEPTH] = cluster.stack.value[STACK_PRODUCT_ROWS] = 0;
	struct op_sizes s = {.rows = 128, .in = 64, .out = 384};
	ck_assert_int_eq(effective_share(&cluster, OP_LINEAR_FORWARD, &s), 375000);
	s.out = 256; /* 2 tiles fill the wave */
	ck_assert_int_eq(effective_share(&cluster, OP_LINEAR_FORWARD, &s), 500000);
}

START_TEST(kernels_and_memory)
{
	open_gpus("2", "0", "0", "");
	ck_assert_int_eq(effective_kernel(&cluster, 100, 40, true), 100); /* no stack: the ceilings */
	ck_assert_int_eq(effective_constant(&cluster, 4), 0);
	ck_assert_int_eq(effective_reserved(&cluster, 1000), 1000);
	ck_assert_int_eq(effective_reserved_as(&cluster, 1000, 50), 1050);
	take_stack(halves);
	ck_assert_int_eq(effective_kernel(&cluster, 100, 40, true), 100 + 2 * 40 + 7);
	ck_assert_int_eq(effective_kernel(&cluster, 100, 40, false), 100 + 7);
	cluster.stack.value[STACK_LAUNCH_ISSUE] = 500; /* the host is slower than the device */
	ck_assert_int_eq(effective_kernel(&cluster, 100, 40, true), 500 + 7);
	ck_assert_int_eq(effective_constant(&cluster, 4), 1000 + 4 * 3000);
	ck_assert_int_eq(effective_allocated(&cluster, 1000, 400), 600 + 600);
	ck_assert_int_eq(effective_reserved(&cluster, 1200), 1320);
	ck_assert_int_eq(effective_allocated_as(&cluster, 1000, 400), 1000); /* the plan's, as nothing was measured */
	ck_assert_int_eq(effective_reserved_as(&cluster, 1000, 50), 1050);
	cluster.stack.value[STACK_AS_ACTIVATIONS] = MILLION + MILLION / 2;
	cluster.stack.value[STACK_AS_HELD] = MILLION - MILLION / 10;
	ck_assert_int_eq(effective_allocated_as(&cluster, 1000, 400), 1200);
	ck_assert_int_eq(effective_reserved_as(&cluster, 1200, 300), 1350);
	ck_assert_int_eq(effective_reserved_as(&cluster, 1200, 50), 1200); /* no less than is allocated */
}

/* No stack is of CPUs. */
START_TEST(cpus_have_none)
{
	struct stack s;
	open_cpus("devices: 2,", "2", "1e12");
	must(stack_read(&s, halves, strlen(halves), "halves", ""));
	must_fail(cluster_take_stack(&cluster, &s), STATUS_INPUT, "is of CPUs");
}

SUITE("stacks in the simulator", 0)
