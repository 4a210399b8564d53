/* For tests of the simulator: a cluster whose rates are round, and a plan put together by hand. Both stay until another
 * one is opened.
 *
 *     open_gpus("4", "0", "0", "");
 *     open_plan(4);
 *     wait_for(add_collective(SCHEDULE_RING_ALL_REDUCE, 40000), 0);
 *     ck_assert_int_eq(run(GRAIN_MESSAGE).time.step, …);
 */
#ifndef SHARDLAB_SIM_FIXTURE_H
#define SHARDLAB_SIM_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"
#include "tests/support/refusal.h"

static struct cluster cluster;

static inline void read_cluster(const char *text)
{
	cluster_release(&cluster);
	must(cluster_read(&cluster, text, strlen(text), "fixture"));
}

/* 1000 bytes/ns of memory, links of 10 bytes/ns with 1 us, a network of 2 rails of 2 bytes/ns with 5 us. */
static inline void open_gpus(const char *devices, const char *share, const char *launch, const char *slow)
{
	char text[1200];
	snprintf(text, sizeof text,
	         "name: fixture\nkind: gpu\n"
	         "node: {devices: %s, cores: 8, memory: 100GB, memory_bandwidth: 1e11, core_compute: 1e10}\n"
	         "device: {memory: 1GB, overhead: 1MB, memory_bandwidth: 1e12, launch: 0, collective_launch: %s,\n"
	         "  collective_share: %s}\n"
	         "compute: {default: {fp32: 1e12}}\n"
	         "link: {latency: 1e-6, bandwidth: 1e10}\n"
	         "network: {latency: 5e-6, bandwidth: 2e9, rails: 2}\n"
	         "host_link: {latency: 1e-5, bandwidth: 1e10}\n"
	         "slow: {%s}\n",
	         devices, launch, share, slow);
	read_cluster(text);
}

enum { DISK_LATENCY = 100000 };

/* Eight of them, with a disk that reads 2 bytes/ns and writes 1. */
static inline void open_gpus_with_disk(void)
{
	open_gpus("8", "0", "0", "");
	cluster.disk.latency = rate_assumed(DISK_LATENCY);
	cluster.disk.read = rate_assumed(2000000000);
	cluster.disk.write = rate_assumed(1000000000);
	cluster.disk.capacity = INT64_C(1000000000000);
}

/* 1 byte/ns a rank and 2 bytes/ns a node: bytes are nanoseconds. */
static inline void open_cpus(const char *devices, const char *cores, const char *bandwidth)
{
	char text[1000];
	snprintf(text, sizeof text,
	         "name: fixture\nkind: cpu\n"
	         "node: {%s cores: %s, memory: 1GB, memory_bandwidth: %s}\n"
	         "device: {overhead: 1MB, memory_bandwidth: 1e9, launch: 0, collective_launch: 0, collective_cores: "
	         "0.5}\n"
	         "compute: {default: {fp32: 1e9}}\n"
	         "link: {latency: 1e-6, bandwidth: 1e9}\n"
	         "network: {latency: 5e-6, bandwidth: 1e9}\n",
	         devices, cores, bandwidth);
	read_cluster(text);
}

enum { OPS = 16 };

static struct fixture {
	struct plan plan;
	struct model model;
	struct buffer buffer;
	struct op ops[OPS];
	struct region operands[OPS][OP_OPERANDS];
	int after[OPS];
} fixture;

static inline void open_plan(int64_t ranks)
{
	struct fixture *f = &fixture;
	model_release(&f->model);
	memset(f, 0, sizeof *f);
	ck_assert(!model_open(&f->model, "params=1e6", 0));
	f->buffer = (struct buffer){.name = "x",
	                            .elements = INT64_C(1) << 40,
	                            .category = CATEGORY_BUFFERS,
	                            .space = SPACE_DEVICE,
	                            .type = TYPE_FP32,
	                            .state = true};
	f->plan = (struct plan){.model = &f->model,
	                        .settings = settings_default(),
	                        .strategy = "fixture",
	                        .ranks = ranks,
	                        .role_count = 1};
	f->plan.settings.ranks = ranks;
	plan_one_axis(&f->plan);
	f->plan.settings.micro_batch = 1;
	f->plan.roles[0] =
	        (struct role){.name = "rank", .ranks = ranks, .buffers = &f->buffer, .buffer_count = 1, .ops = f->ops};
}

static inline struct op *add_op(enum op_kind kind, enum queue queue, int64_t elements)
{
	struct role *r = &fixture.plan.roles[0];
	struct op *op = &fixture.ops[r->op_count++];
	r->step.end = r->op_count;
	*op = (struct op){
	        .kind = kind, .queue = queue, .unit = -1, .kernel = -1, .micro = -1, .group = -1, .payload = elements};
	op->operand = fixture.operands[op - fixture.ops];
	for (int i = 0; i < OP_OPERANDS; i++)
		op->operand[i].buffer = -1;
	*op->operand = (struct region){0, false, 0, elements};
	return op;
}

/* A kernel that takes so many nanoseconds on open_gpus(): it writes 1000 bytes in each. */
static inline struct op *add_kernel(int64_t ns)
{
	return add_op(OP_ZERO, QUEUE_COMPUTE, ns * 250);
}

static inline struct op *add_collective(enum schedule_algorithm a, int64_t elements)
{
	struct op *op = add_op(OP_ALL_REDUCE, QUEUE_COMMUNICATION, elements);
	op->algorithm = a;
	return op;
}

static inline void wait_for(struct op *op, int number)
{
	op->after = &fixture.after[op - fixture.ops];
	*op->after = number;
	op->after_count = 1;
}

static inline struct report simulate(const struct plan *p, enum grain grain, struct trace *t)
{
	struct report r;
	must(sim_run(p, &cluster, grain, t, &r));
	return r;
}

static inline struct report run(enum grain grain)
{
	return simulate(&fixture.plan, grain, NULL);
}

static inline int64_t collective_time(enum schedule_algorithm a, int64_t ranks, int64_t root, int64_t elements,
                                      enum grain grain)
{
	open_plan(ranks);
	add_collective(a, elements)->root = (int)root;
	struct report r = run(grain);
	ck_assert_int_eq(r.time.communication, r.time.step);
	ck_assert_int_eq(r.time.exposed, r.time.step);
	return r.time.step;
}

static inline void check_near(int64_t got, int64_t expected, int64_t per_cent, const char *what, int64_t n)
{
	int64_t off = got > expected ? got - expected : expected - got;
	if (off * 100 > expected * per_cent)
		ck_abort_msg("%s, %ld ranks: %ld ns instead of %ld", what, (long)n, (long)got, (long)expected);
}

#endif
