/* The simulator on plans that offload: copies take the host link, the disk is shared by a node's ranks, the host's
 * update takes the node's memory bandwidth; and host memory and disk decide too whether a plan fits. */
#include "strategy/strategies/strategy.h"
#include "tests/sim/sim_fixture.h"
#include "tests/support/plans.h"
#include "tests/support/suite.h"

enum { LATENCY = 10000, DISK_LATENCY = 100000 };

/* As open_gpus, with a disk that reads 2 bytes/ns and writes 1. */
static void open_with_disk(struct cluster *c)
{
	open_gpus(c, "8", "0", "0", "");
	c->disk.latency = rate_assumed(DISK_LATENCY);
	c->disk.read = rate_assumed(2000000000);
	c->disk.write = rate_assumed(1000000000);
	c->disk.capacity = INT64_C(1000000000000);
}

static void open_plan(struct made *m, const char *strategy, int64_t ranks, const char *offload)
{
	struct request r = {
	        .model = "gpt:layers=2,width=64,heads=2", .strategy = strategy, .ranks = ranks, .offload = offload};
	ck_assert_msg(made_open(m, &r) == STATUS_OK, "%s", status_message());
}

static struct report simulate(const struct made *m, const struct cluster *c, struct trace *t)
{
	struct report r;
	*t = (struct trace){0};
	ck_assert_msg(!sim_run(&m->plan, c, GRAIN_OPERATION, t, &r), "%s", status_message());
	return r;
}

/* Every copy takes what the link needs at least; the first has it for itself. */
static void check_link(const struct made *m, const struct trace *t, enum queue queue)
{
	const struct role *role = &m->plan.roles[0];
	int seen = 0;
	for (size_t i = 0; i < t->span_count; i++) {
		const struct op *op = &role->ops[t->spans[i].op];
		if (op->queue != queue)
			continue;
		int64_t alone = LATENCY + op_transfer_bytes(&m->plan, role, op) / 10, took;
		took = t->spans[i].end - t->spans[i].begin;
		ck_assert_int_ge(took, alone);
		if (!seen++ && queue == QUEUE_DEVICE_TO_HOST)
			ck_assert_int_le(took, alone + 2);
	}
	ck_assert_int_gt(seen, 0);
}

START_TEST(copies_take_the_host_link)
{
	struct cluster c;
	struct made m;
	struct trace t;
	open_gpus(&c, "8", "0", "0", "");
	open_plan(&m, "zero3", 4, "optimizer,parameters,activations");
	simulate(&m, &c, &t);
	check_link(&m, &t, QUEUE_DEVICE_TO_HOST);
	check_link(&m, &t, QUEUE_HOST_TO_DEVICE);
	/* Half the bandwidth: a longer step. */
	struct trace slow;
	c.host_link.bandwidth = rate_assumed(c.host_link.bandwidth.value / 8);
	ck_assert_int_gt(simulate(&m, &c, &slow).time.step, trace_times(&t, 0, 0).step);
	trace_release(&t);
	trace_release(&slow);
	made_release(&m);
	cluster_release(&c);
}
END_TEST

static int64_t first_span(const struct made *m, const struct trace *t, enum op_kind kind, enum queue queue,
                          const struct op **op)
{
	for (size_t i = 0; i < t->span_count; i++) {
		*op = &m->plan.roles[0].ops[t->spans[i].op];
		if ((*op)->queue == queue && (*op)->kind == kind)
			return t->spans[i].end - t->spans[i].begin;
	}
	ck_abort_msg("no such operation");
	return -1;
}

/* The first read of a step is everyone's: n ranks of a node take n times as long. */
START_TEST(ranks_share_the_disk)
{
	struct cluster c;
	open_with_disk(&c);
	for (int64_t ranks = 1; ranks <= 4; ranks *= 2) {
		struct made m;
		struct trace t;
		const struct op *op;
		open_plan(&m, "zero3", ranks, "optimizer:to=disk,parameters:to=disk");
		simulate(&m, &c, &t);
		int64_t took = first_span(&m, &t, OP_COPY, QUEUE_DISK, &op);
		int64_t alone = DISK_LATENCY + op_transfer_bytes(&m.plan, &m.plan.roles[0], op) / 2;
		ck_assert_int_eq(op_transfer(&m.plan.roles[0], op), TRANSFER_DISK_READ);
		/* Latency is no work, but a rank alone does not fill the disk with it either. */
		ck_assert_int_ge(took, alone);
		ck_assert_int_le(took, ranks * alone + 2);
		ck_assert_int_ge(took, ranks * (alone - DISK_LATENCY));
		trace_release(&t);
		made_release(&m);
	}
	cluster_release(&c);
}
END_TEST

START_TEST(the_host_updates_at_its_memory_bandwidth)
{
	struct cluster c;
	struct made m;
	struct trace t;
	const struct op *op;
	open_gpus(&c, "8", "0", "0", "");
	open_plan(&m, "single", 1, "optimizer:delayed=yes"); /* at the step's beginning nothing else is under way */
	simulate(&m, &c, &t);
	int64_t took = first_span(&m, &t, OP_ADAMW, QUEUE_HOST_COMPUTE, &op);
	int64_t memory = op_bytes(&m.plan, &m.plan.roles[0], op) / 100, compute = op_flops(&m.plan, op) / 10;
	ck_assert_int_ge(took, memory > compute ? memory : compute);
	ck_assert_int_le(took, (memory > compute ? memory : compute) + 2);
	trace_release(&t);
	made_release(&m);
	cluster_release(&c);
}
END_TEST

static bool fits(const struct made *m, const struct cluster *c)
{
	struct trace t;
	struct report r = simulate(m, c, &t);
	trace_release(&t);
	return r.fits;
}

START_TEST(host_and_disk_must_hold_it)
{
	struct cluster c;
	struct made m;
	struct trace t;
	open_with_disk(&c);
	open_plan(&m, "zero3", 4, "optimizer:to=disk,parameters");
	struct report r = simulate(&m, &c, &t);
	trace_release(&t);
	ck_assert(r.fits);
	c.node_memory = 4 * r.roles[0].memory[SPACE_HOST].arena_bytes;
	c.disk.capacity = 4 * r.roles[0].memory[SPACE_DISK].arena_bytes;
	ck_assert(fits(&m, &c));
	c.node_memory--;
	ck_assert(!fits(&m, &c));
	c.node_memory++;
	c.disk.capacity--;
	ck_assert(!fits(&m, &c));
	r = simulate(&m, &c, &t);
	trace_release(&t);
	ck_assert_int_eq(r.tightest.space, SPACE_DISK);
	ck_assert_int_eq(r.tightest.capacity_bytes, c.disk.capacity);
	ck_assert_int_eq(r.tightest.needed_bytes, c.disk.capacity + 1);
	made_release(&m);
	cluster_release(&c);
}
END_TEST

START_TEST(a_cluster_without_a_disk_says_so)
{
	struct cluster c;
	struct made m;
	struct report r;
	open_gpus(&c, "8", "0", "0", "");
	open_plan(&m, "zero2", 2, "optimizer:to=disk");
	ck_assert_int_eq(sim_run(&m.plan, &c, GRAIN_OPERATION, NULL, &r), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "it has no 'disk'"));
	made_release(&m);
	cluster_release(&c);
}
END_TEST

/* Both grains agree where nothing is contended. */
START_LOOP_TEST(grains_agree, 0, 3)
{
	static const char *const offloads[] = {"optimizer", "optimizer,parameters,activations",
	                                       "optimizer:to=disk,parameters:to=disk"};
	struct cluster c;
	struct made m;
	struct report whole, parts;
	open_with_disk(&c);
	open_plan(&m, "fsdp", 4, offloads[_i]);
	ck_assert(!sim_run(&m.plan, &c, GRAIN_OPERATION, NULL, &whole));
	ck_assert(!sim_run(&m.plan, &c, GRAIN_MESSAGE, NULL, &parts));
	double error = (double)(whole.time.step - parts.time.step) / (double)whole.time.step;
	ck_assert_msg(error < 0.01 && error > -0.01, "%s: %g apart", offloads[_i], error);
	made_release(&m);
	cluster_release(&c);
}
END_TEST

SUITE("sim offload", 0)
