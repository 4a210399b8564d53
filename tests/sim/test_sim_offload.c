/* The simulator on plans that offload: copies take the host link, the disk is shared by a node's ranks, the host's
 * update takes the node's memory bandwidth; and host memory and disk decide too whether a plan fits. */
#include "tests/sim/sim_fixture.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

enum { LATENCY = 10000 };

#define SMALL "gpt:layers=2,width=64,heads=2 "

/* Every copy takes what the link needs at least; the first has it for itself. */
static void check_link(const struct plan *p, const struct trace *t, enum queue queue)
{
	const struct role *role = &p->roles[0];
	int seen = 0;
	for (size_t i = 0; i < t->span_count; i++) {
		const struct op *op = &role->ops[t->spans[i].op];
		if (op->queue != queue)
			continue;
		int64_t alone = LATENCY + op_transfer_bytes(p, role, op) / 10, took;
		took = t->spans[i].end - t->spans[i].begin;
		ck_assert_int_ge(took, alone);
		if (!seen++ && queue == QUEUE_DEVICE_TO_HOST)
			ck_assert_int_le(took, alone + 2);
	}
	ck_assert_int_gt(seen, 0);
}

START_TEST(copies_take_the_host_link)
{
	struct trace t = {0};
	open_gpus("8", "0", "0", "");
	const struct plan *p = made_plan(SMALL "zero3 ranks=4 offload=optimizer,parameters,activations");
	simulate(p, GRAIN_OPERATION, &t);
	check_link(p, &t, QUEUE_DEVICE_TO_HOST);
	check_link(p, &t, QUEUE_HOST_TO_DEVICE);
	/* An eighth of the bandwidth: a longer step. */
	struct trace slow = {0};
	cluster.host_link.bandwidth = rate_assumed(cluster.host_link.bandwidth.value / 8);
	ck_assert_int_gt(simulate(p, GRAIN_OPERATION, &slow).time.step, trace_times(&t, 0, 0).step);
	trace_release(&t);
	trace_release(&slow);
}

#define STEP(...) simulate(made_plan(SMALL __VA_ARGS__), GRAIN_OPERATION, NULL).time.step

/* Of memory that is not page-locked half of the link's rate is reached, or what the cluster says; and nothing hides
 * such a copy. */
START_TEST(other_memory_than_page_locked_is_slower)
{
	static const char *const pinned[] = {"all", "optimizer", "parameters", "none"};
	int64_t step[COUNT(pinned)];
	open_gpus("8", "0", "0", "");
	cluster.host_link.bandwidth = rate_assumed(cluster.host_link.bandwidth.value / 8);
	for (int i = 0; i < COUNT(pinned); i++)
		step[i] = STEP("zero3 ranks=4 offload=optimizer,parameters as=shardlab:pinned=%s", pinned[i]);
	ck_assert_int_lt(step[0], step[1]);
	ck_assert_int_lt(step[0], step[2]);
	ck_assert_int_lt(step[1], step[3]);
	ck_assert_int_lt(step[2], step[3]);
	cluster.pageable = rate_assumed(cluster.host_link.bandwidth.value / 4);
	ck_assert_int_gt(STEP("zero3 ranks=4 offload=optimizer,parameters as=shardlab:pinned=none"), step[3]);
}

/* Where one rank copies and the others wait, a step takes longer, by as many copies as there are ranks; its bytes are
 * the same, and where one bucket has the whole model all copy at a time in either case. */
START_TEST(copies_of_one_rank_make_the_others_wait)
{
	static const char *const strategies[] = {"zero1", "zero2", "zero2:overlap=no"};
	open_gpus("8", "0", "0", "");
	for (int i = 0; i < 2 * COUNT(strategies); i++) {
		int64_t step[2], moved[2];
		for (int one = 0; one < 2; one++) {
			const struct plan *p =
			        made_plan(SMALL "%s ranks=4 offload=optimizer bucket=%s as=shardlab:copies=%s",
			                  strategies[i / 2], i % 2 ? "1000000000" : "20000", one ? "one" : "all");
			struct report r = simulate(p, GRAIN_OPERATION, NULL);
			step[one] = r.time.step;
			moved[one] = r.roles[0].transfer[TRANSFER_DEVICE_TO_HOST].bytes;
		}
		ck_assert_int_eq(moved[0], moved[1]);
		if (i % 2)
			ck_assert_int_eq(step[0], step[1]);
		else
			ck_assert_int_lt(step[0], step[1]);
	}
}

enum { FIRST_BUCKET = 2 * 64 + (12 * 64 * 64 + 13 * 64) + (4 * 64 * 64 + 64) };

/* What another micro-batch adds to the step, whose kernels take 6.5 ms. There are two buckets, whose sums are made on
 * the device: the last norm, block 1 and the last layer of block 0; and the rest. */
static int64_t micro_batch_with_sums(const char *overlap, int64_t latency)
{
	int64_t step[2];
	cluster.host_link.latency = rate_assumed(latency);
	for (int i = 0; i < 2; i++) {
		const struct plan *p = made_plan(
		        SMALL "zero2:overlap=%s ranks=1 offload=optimizer batch=%d accumulate=%d bucket=250000 "
		              "as=deepspeed:pinned=all",
		        overlap, 64 * (2 + i), 2 + i);
		ck_assert_int_eq(p->groups[0].elements, FIRST_BUCKET);
		step[i] = simulate(p, GRAIN_OPERATION, NULL).time.step;
	}
	return step[1] - step[0];
}

/* Each bucket's sum comes and goes, at 10 bytes/ns. Of the first bucket both hide behind the kernels that make the
 * second, whose own have nothing behind them:
 *
 *     overlap=no    kernels of bucket 0 | in 0 | add | out 0 | kernels of bucket 1 | in 1 | add | out 1 |
 *     overlap=yes   kernels of bucket 0 | kernels of bucket 1 … add … | in 1 | add | out 1 |
 */
START_TEST(sums_come_and_go_behind_the_backward_pass)
{
	open_gpus("8", "0", "0", "");
	int64_t hidden = micro_batch_with_sums("yes", LATENCY), exposed = micro_batch_with_sums("no", LATENCY);
	ck_assert_int_le(llabs(exposed - hidden - 2 * (LATENCY + 4 * FIRST_BUCKET / 10)), 2);
	ck_assert_int_eq(micro_batch_with_sums("yes", 2 * LATENCY) - hidden, 2 * LATENCY);
	ck_assert_int_eq(micro_batch_with_sums("no", 2 * LATENCY) - exposed, 4 * LATENCY);
}

/* The less goes on while a group is updated, the longer the step. */
START_TEST(a_disk_that_waits_makes_a_longer_step)
{
	static const char *const words[] = {"both", "reads", "writes", "none"};
	int64_t step[COUNT(words)];
	open_gpus_with_disk();
	for (int i = 0; i < COUNT(words); i++)
		step[i] = STEP("zero3 ranks=4 offload=optimizer:to=disk as=shardlab:disk=%s", words[i]);
	ck_assert_int_le(step[0], step[1]);
	ck_assert_int_le(step[0], step[2]);
	ck_assert_int_lt(step[1], step[3]);
	ck_assert_int_lt(step[2], step[3]);
}

/* A few bytes at a time make a disk slow by its latency, the more so where the next are asked for once all are there;
 * as many as a copy has, or a disk of no latency, do not. */
START_TEST(a_short_queue_makes_a_slow_disk)
{
	static const char *const words[] = {"", ":queue=1000000000", ":queue=4096", ":queue=4096"};
	int64_t step[COUNT(words)];
	open_gpus_with_disk();
	cluster.disk.latency = rate_assumed(100000);
	for (int i = 0; i < COUNT(words); i++)
		step[i] = STEP("zero3 ranks=4 offload=optimizer:to=disk%s as=shardlab:requests=%s", words[i],
		               i == 3 ? "waves" : "ahead");
	ck_assert_int_eq(step[0], step[1]);
	ck_assert_int_lt(step[1], step[2]);
	ck_assert_int_lt(step[2], step[3]);
}

/* Host memory that is set aside counts, whatever the step needs of it. */
START_TEST(buffers_that_are_set_aside_are_host_memory)
{
	open_gpus("8", "0", "0", "");
	int64_t bytes[2];
	for (int i = 0; i < 2; i++) {
		const struct plan *p = made_plan(SMALL "zero3 ranks=4 offload=optimizer%s,parameters%s",
		                                 i ? ":buffers=3" : "", i ? ":staging=1000" : "");
		bytes[i] = simulate(p, GRAIN_OPERATION, NULL).roles[0].memory[SPACE_HOST].steady[CATEGORY_BUFFERS];
	}
	ck_assert_int_gt(bytes[1], bytes[0] + 2000);
}

static int64_t first_span(const struct plan *p, const struct trace *t, enum op_kind kind, enum queue queue,
                          const struct op **op)
{
	for (size_t i = 0; i < t->span_count; i++) {
		*op = &p->roles[0].ops[t->spans[i].op];
		if ((*op)->queue == queue && (*op)->kind == kind)
			return t->spans[i].end - t->spans[i].begin;
	}
	ck_abort_msg("no such operation");
	return -1;
}

/* The first read of a step is everyone's: n ranks of a node take n times as long. */
START_TEST(ranks_share_the_disk)
{
	open_gpus_with_disk();
	for (int64_t ranks = 1; ranks <= 4; ranks *= 2) {
		struct trace t = {0};
		const struct op *op;
		const struct plan *p =
		        made_plan(SMALL "zero3 ranks=%d offload=optimizer:to=disk,parameters:to=disk", (int)ranks);
		simulate(p, GRAIN_OPERATION, &t);
		int64_t took = first_span(p, &t, OP_COPY, QUEUE_DISK, &op);
		int64_t alone = DISK_LATENCY + op_transfer_bytes(p, &p->roles[0], op) / 2;
		ck_assert_int_eq(op_transfer(&p->roles[0], op), TRANSFER_DISK_READ);
		/* Latency is no work, but a rank alone does not fill the disk with it either. */
		ck_assert_int_ge(took, alone);
		ck_assert_int_le(took, ranks * alone + 2);
		ck_assert_int_ge(took, ranks * (alone - DISK_LATENCY));
		trace_release(&t);
	}
}

START_TEST(the_host_updates_at_its_memory_bandwidth)
{
	struct trace t = {0};
	const struct op *op;
	open_gpus("8", "0", "0", "");
	/* at the step's beginning nothing else is under way */
	const struct plan *p = made_plan(SMALL "single offload=optimizer:delayed=yes");
	simulate(p, GRAIN_OPERATION, &t);
	int64_t took = first_span(p, &t, OP_ADAMW, QUEUE_HOST_COMPUTE, &op);
	int64_t memory = op_bytes(p, &p->roles[0], op) / 100, compute = op_flops(p, op) / 10;
	ck_assert_int_ge(took, memory > compute ? memory : compute);
	ck_assert_int_le(took, (memory > compute ? memory : compute) + 2);
	trace_release(&t);
}

static bool fits(const struct plan *p)
{
	return simulate(p, GRAIN_OPERATION, NULL).fits;
}

START_TEST(host_and_disk_must_hold_it)
{
	open_gpus_with_disk();
	const struct plan *p = made_plan(SMALL "zero3 ranks=4 offload=optimizer:to=disk,parameters");
	struct report r = simulate(p, GRAIN_OPERATION, NULL);
	ck_assert(r.fits);
	cluster.node_memory = 4 * r.roles[0].memory[SPACE_HOST].arena_bytes;
	cluster.disk.capacity = 4 * r.roles[0].memory[SPACE_DISK].arena_bytes;
	ck_assert(fits(p));
	cluster.node_memory--;
	ck_assert(!fits(p));
	cluster.node_memory++;
	cluster.disk.capacity--;
	ck_assert(!fits(p));
	r = simulate(p, GRAIN_OPERATION, NULL);
	ck_assert_int_eq(r.tightest.space, SPACE_DISK);
	ck_assert_int_eq(r.tightest.capacity_bytes, cluster.disk.capacity);
	ck_assert_int_eq(r.tightest.needed_bytes, cluster.disk.capacity + 1);
}

START_TEST(a_cluster_without_a_disk_says_so)
{
	struct report r;
	open_gpus("8", "0", "0", "");
	const struct plan *p = made_plan(SMALL "zero2 ranks=2 offload=optimizer:to=disk");
	must_fail(sim_run(p, &cluster, GRAIN_OPERATION, NULL, &r), STATUS_INPUT, "it has no 'disk'");
}

SUITE("sim offload", 0)
