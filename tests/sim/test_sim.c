/* The simulator on plans by hand: times that can be worked out, in both grains. */
#include "tests/sim/sim_fixture.h"
#include "tests/support/suite.h"

/* ---- closed forms: alpha = 1 us, beta = 1/10 ns a byte ---- */

static int64_t log2_up(int64_t n)
{
	int64_t log = 0;
	while (INT64_C(1) << log < n)
		log++;
	return log;
}

/* 40 kB a rank, so that everything divides. */
static int64_t by_hand(enum schedule_algorithm a, int64_t n)
{
	int64_t elements = 10000 * n, whole = elements * 4 / 10, slice = whole / n, alpha = 1000;
	int64_t p = INT64_C(1) << log2_up(n) >> (INT64_C(1) << log2_up(n) > n);
	switch (a) {
	case SCHEDULE_RING_ALL_REDUCE:
		return 2 * (n - 1) * (alpha + slice);
	case SCHEDULE_HALVING_REDUCE_SCATTER:
		return p < n ? (n - 1) * (alpha + slice) : log2_up(n) * alpha + whole - slice;
	case SCHEDULE_RING_REDUCE_SCATTER:
	case SCHEDULE_RING_ALL_GATHER:
		return (n - 1) * (alpha + slice);
	case SCHEDULE_HALVING_DOUBLING_ALL_REDUCE:
		return 2 * log2_up(p) * alpha + 2 * (whole - whole / p) + (p < n ? 2 * (alpha + whole) : 0);
	case SCHEDULE_TREE_BROADCAST:
	case SCHEDULE_TREE_REDUCE:
		return log2_up(n) * (alpha + whole);
	case SCHEDULE_TREE_SUM:
		return 2 * log2_up(n) * (alpha + whole);
	case SCHEDULE_STAR_BROADCAST:
	case SCHEDULE_STAR_REDUCE:
		return (n - 1) * (alpha + whole);
	case SCHEDULE_CHAIN_BROADCAST: /* n pieces */
	case SCHEDULE_CHAIN_REDUCE:
		return (n + n - 2) * (alpha + slice);
	case SCHEDULE_STAR_SCATTER:
	case SCHEDULE_STAR_GATHER:
		return (n - 1) * (alpha + slice);
	case SCHEDULE_COUNT:
		break;
	}
	return -1;
}

/* The time at the grain of operations, which the grain of messages comes to within 1 %. */
static int64_t agreed_time(enum schedule_algorithm a, int64_t ranks, int64_t root, int64_t elements)
{
	int64_t whole = collective_time(a, ranks, root, elements, GRAIN_OPERATION);
	check_near(collective_time(a, ranks, root, elements, GRAIN_MESSAGE), whole, 1, schedule_row(a)->description,
	           ranks);
	return whole;
}

START_LOOP_TEST(test_closed_forms, 0, SCHEDULE_COUNT)
{
	enum schedule_algorithm a = (enum schedule_algorithm)_i;
	bool rooted = operation_has_root(schedule_row(a)->operation);
	open_gpus("64", "0", "0", "");
	for (int64_t n = 2; n <= 17; n++)
		for (int64_t root = 0; root < (rooted ? n : 1); root += n - 1) {
			int64_t whole = agreed_time(a, n, root, 10000 * n);
			/* each round is rounded up to a nanosecond */
			int64_t off = whole - by_hand(a, n);
			if (off < 0 || off > 4 * n)
				ck_abort_msg("%s, %ld ranks: %ld instead of %ld", schedule_row(a)->description, (long)n,
				             (long)whole, (long)by_hand(a, n));
		}
	/* one rank has nobody to talk to */
	ck_assert_int_eq(collective_time(a, 1, 0, 1000, GRAIN_OPERATION), 0);
	ck_assert_int_eq(collective_time(a, 1, 0, 1000, GRAIN_MESSAGE), 0);
}

/* Over several nodes, whole and by messages. */
START_LOOP_TEST(test_nodes_agree, 0, SCHEDULE_COUNT)
{
	static const struct {
		const char *devices;
		int64_t ranks;
	} shapes[] = {{"4", 8}, {"4", 16}, {"8", 32}, {"1", 5}, {"2", 6}};
	enum schedule_algorithm a = (enum schedule_algorithm)_i;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		open_gpus(shapes[i].devices, "0", "0", "");
		agreed_time(a, shapes[i].ranks, 0, 10000 * shapes[i].ranks);
	}
}

/* Nodes that are not full, with the root in one; and more messages that leave a node than reach any. */
START_TEST(test_uneven_nodes)
{
	static const enum schedule_algorithm uneven[] = {
	        SCHEDULE_RING_ALL_REDUCE, SCHEDULE_STAR_BROADCAST, SCHEDULE_STAR_REDUCE,    SCHEDULE_STAR_SCATTER,
	        SCHEDULE_STAR_GATHER,     SCHEDULE_CHAIN_REDUCE,   SCHEDULE_CHAIN_BROADCAST};
	open_gpus("4", "0", "0", "");
	for (size_t i = 0; i < sizeof uneven / sizeof *uneven; i++)
		for (int64_t root = 0; root < 6; root++)
			agreed_time(uneven[i], 6, root, 60000);

	/* round 0: 0 to 1, inside; round 1: 1 to 3 crosses alone; round 2: 0, 1, 2 leave the first node for 4, 5 on the
	 * second and 6 on the third, each at a third of 4 bytes/ns (cut off at 2^-32: a nanosecond more) */
	open_gpus("3", "0", "0", "");
	int64_t bytes = 8000000;
	int64_t expected = 1000 + bytes / 10 + 5000 + bytes / 4 + 5000 + bytes * 3 / 4 + 1;
	ck_assert_int_eq(agreed_time(SCHEDULE_TREE_BROADCAST, 8, 0, bytes / 4), expected);
}

/* A ring over two nodes goes at the pace of the hop between them: 5 us and 2 rails of 2 bytes/ns. Each rail more is
 * worth its bandwidth, up to that of the device's own link. */
START_TEST(test_ring_between_nodes)
{
	open_gpus("4", "0", "0", "");
	int64_t n = 8, slice = 4000000;
	static const int rails[] = {1, 2, 100}, bandwidths[] = {2, 4, 10};
	for (int i = 0; i < COUNT(rails); i++) {
		cluster.rails = rails[i];
		ck_assert_int_eq(collective_time(SCHEDULE_RING_ALL_REDUCE, n, 0, n * slice / 4, GRAIN_OPERATION),
		                 2 * (n - 1) * (5000 + slice / bandwidths[i]));
	}
}

/* Halving-doubling sends its largest halves between nodes, four at a time over the same rails. */
START_TEST(test_rails_are_shared)
{
	open_gpus("4", "0", "0", "");
	int64_t S = 8000000; /* bytes; n = 8: halves of S/2 cross first, S/4 and S/8 stay */
	int64_t expected = 2 * (5000 + S / 2 * 4 / 4 + 1000 + S / 4 / 10 + 1000 + S / 8 / 10);
	ck_assert_int_eq(agreed_time(SCHEDULE_HALVING_DOUBLING_ALL_REDUCE, 8, 0, S / 4), expected);
}

/* Two rings over the same links take twice the time of one. */
START_TEST(test_two_rings)
{
	int64_t n = 4, elements = 40000000, slice_ns = elements / n * 4 / 10;
	open_gpus("4", "0", "0", "");
	cluster.link.latency = rate_assumed(0);
	open_plan(n);
	add_collective(SCHEDULE_RING_ALL_REDUCE, elements);
	int64_t one = run(GRAIN_MESSAGE).time.step;
	ck_assert_int_eq(one, 2 * (n - 1) * slice_ns);
	add_collective(SCHEDULE_RING_ALL_REDUCE, elements)->queue = QUEUE_DEVICE_TO_HOST; /* beside the first */
	ck_assert_int_eq(run(GRAIN_MESSAGE).time.step, 2 * one);
}

START_TEST(test_collective_launch)
{
	open_gpus("8", "0", "7e-6", "");
	for (int g = GRAIN_OPERATION; g <= GRAIN_MESSAGE; g++)
		ck_assert_int_eq(collective_time(SCHEDULE_RING_ALL_GATHER, 2, 0, 20000, (enum grain)g),
		                 7000 + 1000 + 4000);
}

/* Control values go up a tree and down again. */
START_TEST(test_sum)
{
	open_gpus("8", "0", "0", "");
	open_plan(8);
	struct op *sum = add_op(OP_SUM, QUEUE_COMMUNICATION, 10); /* 80 bytes */
	sum->algorithm = SCHEDULE_TREE_SUM;
	sum->traffic = TRAFFIC_CONTROL;
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 2 * 3 * 1008);
	ck_assert_int_eq(run(GRAIN_MESSAGE).time.step, 2 * 3 * 1008);
}

/* ---- overlap: a result of the waits ---- */

/* 1 ms of compute, and a ring of two rounds that takes 0.5 ms on two ranks. */
static int64_t overlap(const char *share, bool wait, enum grain grain, struct times *times)
{
	open_gpus("2", share, "0", "");
	open_plan(2);
	add_kernel(1000000);
	struct op *ring = add_collective(SCHEDULE_RING_ALL_REDUCE, 2 * 2490000 / 4);
	if (wait)
		wait_for(ring, 0);
	struct report r = run(grain);
	*times = r.time;
	ck_assert_int_eq(r.time.compute + r.time.exposed + r.time.bubble, r.time.step);
	return r.time.step;
}

START_LOOP_TEST(test_overlap, GRAIN_OPERATION, GRAIN_MESSAGE + 1)
{
	enum grain grain = (enum grain)_i;
	struct times t;
	/* nothing shared: hidden */
	ck_assert_int_eq(overlap("0", false, grain, &t), 1000000);
	ck_assert_int_eq(t.communication, 500000);
	ck_assert_int_eq(t.exposed, 0);
	/* the collective takes a quarter of the device: 375 of 1000 us are done in its 500 */
	ck_assert_int_eq(overlap("0.25", false, grain, &t), 500000 + 625000);
	ck_assert_int_eq(t.compute, 1125000);
	ck_assert_int_eq(t.exposed, 0);
	/* it waits: one after the other, and nothing is slowed */
	ck_assert_int_eq(overlap("0.25", true, grain, &t), 1500000);
	ck_assert_int_eq(t.compute, 1000000);
	ck_assert_int_eq(t.exposed, 500000);
	ck_assert_int_eq(t.bubble, 0);
}

/* compute ─ waits for ─► ring ─ waits for ─► compute: the second kernel begins when the ring is done. */
START_TEST(test_chain_of_waits)
{
	open_gpus("2", "0", "0", "");
	open_plan(2);
	add_kernel(1000);
	wait_for(add_collective(SCHEDULE_RING_ALL_GATHER, 20000), 0); /* 1000 + 4000 ns */
	wait_for(add_kernel(200), 1);
	add_op(OP_COPY, QUEUE_HOST_TO_DEVICE, 0)->operand[COPY_Y] = (struct region){0, false, 0, 0};
	struct report r = run(GRAIN_OPERATION);
	ck_assert_int_eq(r.time.step, 10000); /* the copy: 10 us of latency, and the compute queue has nothing to do */
	ck_assert_int_eq(r.time.compute, 1200);
	ck_assert_int_eq(r.time.exposed, 5000);
	ck_assert_int_eq(r.time.bubble, 3800);
}

/* ---- kernels: the slower of FLOPs and bytes, and the launch ---- */

START_TEST(test_kernel)
{
	open_gpus("1", "0", "0", "");
	cluster.launch = rate_assumed(77);
	open_plan(1);
	struct op *add = add_op(OP_ADD, QUEUE_COMPUTE, 10000); /* 10,000 FLOPs, 120,000 bytes */
	add->operand[ADD_Y] = add->operand[ADD_X];
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 120 + 77);
	cluster.compute[COMPUTE_DEFAULT][TYPE_FP32].point[0].rate = rate_assumed(20000000000);
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 500 + 77);
	/* on the host: 8 cores of 10 FLOPs/ns, 100 bytes/ns */
	add->queue = QUEUE_HOST_COMPUTE;
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 1200 + 77);
	/* over the host link: 60,000 bytes there at 10 bytes/ns after 10 us */
	add->kind = OP_COPY;
	add->queue = QUEUE_HOST_TO_DEVICE;
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 10000 + 4000);
}

/* A copy is one core's work, however many threads a rank's kernels have: two ranks' copies fill two cores. */
START_TEST(test_copies_take_one_core)
{
	open_cpus("devices: 2,", "2", "1e12");
	cluster.threads = 2;
	open_plan(2);
	struct op *copy = add_op(OP_COPY, QUEUE_HOST_TO_DEVICE, 1000);
	copy->operand[COPY_Y] = copy->operand[COPY_X];
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 8000); /* 4000 bytes read and written */
	copy->queue = QUEUE_COMPUTE;                            /* as a kernel it takes both */
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 16000);
}

/* ---- slow devices, and cores that are shared ---- */

START_LOOP_TEST(test_slow, GRAIN_OPERATION, GRAIN_MESSAGE + 1)
{
	enum grain grain = (enum grain)_i;
	struct trace t = {0};
	struct report r;
	open_gpus("4", "0", "0", "2: 3");
	open_plan(4);
	add_kernel(1000);
	wait_for(add_collective(SCHEDULE_RING_REDUCE_SCATTER, 40000), 0); /* 3 · (1000 + 4000) */
	ck_assert(!sim_run(&fixture.plan, &cluster, grain, &t, &r));
	ck_assert_int_eq(r.time.step, 3000 + 15000);
	ck_assert_int_eq(r.time.compute, 3000); /* of the slow rank, for which the others wait */
	struct times other = trace_times(&t, 0, 0);
	ck_assert_int_eq(other.step, 18000);
	ck_assert_int_eq(other.compute, 1000);
	ck_assert_int_eq(other.exposed, 15000); /* and waits 2000 for it */
	ck_assert_int_eq(other.bubble, 2000);
	ck_assert_int_eq(r.time.rank, 2);
	/* The others come at 1000, and the collective begins to move at 3000. */
	for (size_t i = 0; i < t.span_count; i++)
		if (t.spans[i].op == 1) {
			ck_assert_int_eq(t.spans[i].begin, t.spans[i].rank == 2 ? 3000 : 1000);
			ck_assert_int_eq(t.spans[i].came, 3000);
		}
	trace_release(&t);
}

static int64_t kernel_on_cpus(int64_t ranks, const char *devices, const char *cores, const char *bandwidth,
                              enum grain grain)
{
	open_cpus(devices, cores, bandwidth);
	open_plan(ranks);
	add_op(OP_ZERO, QUEUE_COMPUTE, 250000); /* 1 ms alone */
	int64_t step = run(grain).time.step;
	return step;
}

START_LOOP_TEST(test_cores, GRAIN_OPERATION, GRAIN_MESSAGE + 1)
{
	enum grain g = (enum grain)_i;
	ck_assert_int_eq(kernel_on_cpus(1, "", "2", "1e12", g), 1000000);
	ck_assert_int_eq(kernel_on_cpus(2, "", "2", "1e12", g), 1000000);
	ck_assert_int_eq(kernel_on_cpus(4, "", "2", "1e12", g), 2000000);
	ck_assert_int_eq(kernel_on_cpus(3, "", "2", "1e12", g), 1500001); /* at 2/3, cut off at 2^-32, and rounded up */
	ck_assert_int_eq(kernel_on_cpus(4, "devices: 2,", "2", "1e12", g), 1000000); /* on two nodes */
	/* the second node has one rank and is done early; the first decides */
	ck_assert_int_eq(kernel_on_cpus(5, "devices: 4,", "2", "1e12", g), 2000000);
	/* cores enough, but memory for two ranks only */
	ck_assert_int_eq(kernel_on_cpus(4, "", "8", "2e9", g), 2000000);
}

/* Hosts that are one machine share its cores and memory: of 4 hosts two have a core each, or four have two. */
START_LOOP_TEST(test_hosts_of_one_machine, GRAIN_OPERATION, GRAIN_MESSAGE + 1)
{
	enum grain g = (enum grain)_i;
	ck_assert_int_eq(kernel_on_cpus(4, "devices: 1, together: 4,", "2", "1e12", g), 2000000);
	ck_assert_int_eq(kernel_on_cpus(4, "devices: 1, together: 2,", "2", "1e12", g), 1000000);
	ck_assert_int_eq(kernel_on_cpus(5, "devices: 1, together: 4,", "2", "1e12", g), 2000000); /* and one alone */
	ck_assert_int_eq(kernel_on_cpus(4, "devices: 2, together: 2,", "2", "1e12", g), 2000000);
	ck_assert_int_eq(kernel_on_cpus(4, "devices: 1, together: 4,", "8", "2e9", g), 2000000);
	struct report together = run(g);
	ck_assert_int_eq(together.machine_ranks, 4);
	kernel_on_cpus(4, "", "8", "2e9", g);
	struct report node = run(g);
	ck_assert_int_eq(node.machine_ranks, 4);
	ck_assert_int_eq(together.tightest.needed_bytes, node.tightest.needed_bytes);
	kernel_on_cpus(4, "devices: 1,", "8", "2e9", g);
	ck_assert_int_eq(run(g).machine_ranks, 1);
}

/* Two ranks on one core: a collective of 0.5 cores a rank, alone, fits; beside kernels all get their fair part. */
START_TEST(test_collective_takes_cores)
{
	open_cpus("", "1", "1e12");
	open_plan(2);
	add_collective(SCHEDULE_RING_ALL_REDUCE, 500000); /* 2 · (1 us + 1 ms) */
	ck_assert_int_eq(run(GRAIN_OPERATION).time.step, 2002000);
	check_near(run(GRAIN_MESSAGE).time.step, 2002000, 1, "ring", 2);
	add_op(OP_ZERO, QUEUE_COMPUTE, 250000); /* 1 ms on a core of its own; there is one core for both ranks */
	int64_t whole = run(GRAIN_OPERATION).time.step;
	/* work of 2 × 1 ms and 2 × 0.5 cores × 2 ms on one core: 4 ms if no core is ever idle */
	check_near(whole, 4002000, 1, "ring beside kernels", 2);
	check_near(run(GRAIN_MESSAGE).time.step, whole, 2, "ring beside kernels, by messages", 2);
}

/* Two hosts, and 4000 bytes: a half of them in a round. What is added up comes at half the rate of what is copied. A
 * network is a host's own, also where two are one machine. */
static const struct {
	enum schedule_algorithm algorithm;
	int64_t ns;
} between_hosts[] = {
        {SCHEDULE_RING_ALL_GATHER, 5000 + 2000},
        {SCHEDULE_RING_REDUCE_SCATTER, 5000 + 4000},
        {SCHEDULE_RING_ALL_REDUCE, 2 * 5000 + 2000 + 4000},
};
START_LOOP_TEST(test_sums_between_hosts, 0, sizeof between_hosts / sizeof between_hosts[0])
{
	for (int together = 1; together <= 2; together++) {
		open_cpus("devices: 1,", "8", "1e12");
		cluster.together = together;
		cluster.network_sum = rate_assumed(500000000);
		open_plan(2);
		add_collective(between_hosts[_i].algorithm, 1000);
		for (int g = GRAIN_OPERATION; g <= GRAIN_MESSAGE; g++)
			ck_assert_int_eq(simulate(&fixture.plan, (enum grain)g, NULL).time.step, between_hosts[_i].ns);
	}
}

SUITE("sim", 120)
