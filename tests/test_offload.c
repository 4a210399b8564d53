/* Offload: what stays on the device and what is copied is what ZeRO-Offload's section 3 says; a delayed update is one
 * that is applied a step late, and nothing else; the verifier holds plans to the lag that they declare; files are gone
 * as soon as they are made. (tests/mpi_offload.c runs it on several ranks, tests/test_mutation.c breaks its plans.) */
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "real/disk.h"
#include "strategy/base/number.h"
#include "strategy/trace/report.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

#define GPT "gpt:layers=3,width=32,heads=2,context=16"

static struct report_role reported(const struct request *r)
{
	struct made m;
	struct report report;
	must_open_verified(&m, r);
	report_from_plan(&report, &m.plan);
	struct report_role role = report.roles[0];
	report_release(&report);
	made_release(&m);
	return role;
}

static int64_t states(const struct report_memory *m)
{
	return m->steady[CATEGORY_PARAMETERS] + m->steady[CATEGORY_GRADIENTS] + m->steady[CATEGORY_OPTIMIZER];
}

/* ---- bytes a parameter ---- */

static const struct {
	const char *strategy;
	bool parameters_sharded, state_sharded;
} strategies[] = {{"single", false, false}, {"ddp", false, false}, {"zero1", false, true},
                  {"zero2", false, true},   {"zero3", true, true}, {"fsdp", true, true}};
enum { STRATEGIES = sizeof strategies / sizeof strategies[0] };

/* Padded elements of all groups, which divide by the ranks. */
static int64_t elements_of(const struct request *r)
{
	struct made m;
	must_open_verified(&m, r);
	int64_t n = m.plan.group_elements;
	made_release(&m);
	return n;
}

START_TEST(device_keeps_two_bytes_a_parameter)
{
	bool alone = !strcmp(strategies[_i].strategy, "single");
	for (int64_t ranks = alone ? 1 : 2; ranks <= (alone ? 1 : 8); ranks += ranks) {
		struct request r = {.model = GPT,
		                    .strategy = strategies[_i].strategy,
		                    .ranks = ranks,
		                    .bucket = 1 << 14,
		                    .precision = TYPE_BF16,
		                    .offload = "optimizer"};
		int64_t n = elements_of(&r), own = strategies[_i].state_sharded ? n / ranks : n;
		struct report_role role = reported(&r);
		const struct report_memory *device = &role.memory[SPACE_DEVICE], *host = &role.memory[SPACE_HOST];
		/* ZeRO-Offload, section 3: 2 on the device, 2 of gradients and 12 of optimizer state on the host. */
		ck_assert_int_eq(states(device), 2 * (strategies[_i].parameters_sharded ? n / ranks : n));
		ck_assert_int_eq(host->steady[CATEGORY_GRADIENTS], 2 * own);
		ck_assert_int_eq(host->steady[CATEGORY_OPTIMIZER], 12 * own);
		/* … and the least traffic: 2 bytes a parameter each way, over those who share the update. */
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, 2 * own);
		ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes, 2 * own);
		/* The update is delayed: the same. */
		r.offload = "optimizer:delayed=yes";
		role = reported(&r);
		ck_assert_int_eq(states(&role.memory[SPACE_DEVICE]), states(device));
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, 2 * own);
		ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes, 2 * own);
		/* fp16 brings the loss scale back besides. */
		r.offload = "optimizer";
		r.precision = TYPE_FP16;
		role = reported(&r);
		ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes,
		                 2 * own + LOSS_SCALE_ELEMENTS * (int64_t)sizeof(float));
		/* fp32: gradients and parameters of 4 bytes; the host has weights of its own. */
		r.precision = TYPE_FP32;
		role = reported(&r);
		ck_assert_int_eq(states(&role.memory[SPACE_DEVICE]),
		                 4 * (strategies[_i].parameters_sharded ? n / ranks : n));
		ck_assert_int_eq(states(&role.memory[SPACE_HOST]), 16 * own);
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, 4 * own);
	}
}
END_TEST

/* Whole gradients are on the device a bucket at a time. */
START_TEST(gradients_leave_as_they_are_ready)
{
	struct made m;
	struct request r = {
	        .model = GPT, .strategy = strategies[_i].strategy, .bucket = 1 << 14, .offload = "optimizer"};
	if (strcmp(r.strategy, "single") != 0)
		r.ranks = 4;
	must_open_verified(&m, &r);
	int64_t largest = 0;
	for (int g = 0; g < m.plan.group_count; g++)
		largest = m.plan.groups[g].padded > largest ? m.plan.groups[g].padded : largest;
	/* One that fills, and two on their way. */
	ck_assert_int_le(plan_most_live(&m.plan.roles[0], "gathered.gradients.", NULL), 3 * largest);
	ck_assert_int_lt(3 * largest, m.plan.group_elements);
	made_release(&m);
}
END_TEST

/* Shards of 1/K, and the gradient's of a step cross to the other groups before they leave. */
START_TEST(hybrid_leaves_a_shard_of_its_group)
{
	static const char *const offloads[] = {"optimizer", "optimizer,parameters"};
	const int64_t ranks = 4, shards = _i / 2 ? 2 : 4;
	char strategy[32];
	snprintf(strategy, sizeof strategy, "hybrid:shard=%d", (int)shards);
	struct request r = {.model = GPT,
	                    .strategy = strategy,
	                    .ranks = ranks,
	                    .precision = TYPE_BF16,
	                    .accumulate = 2,
	                    .offload = offloads[_i % 2]};
	int64_t own = elements_of(&r) / shards, kept = _i % 2 ? 0 : 2 * own;
	struct report_role role = reported(&r);
	ck_assert_int_eq(states(&role.memory[SPACE_DEVICE]), kept);
	ck_assert_int_eq(states(&role.memory[SPACE_HOST]), 16 * own - kept);
	/* Without replicas each micro-batch's shard leaves at once; with them, once a step. */
	ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, (shards == ranks ? 2 : 1) * 2 * own);
	ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes, (_i % 2 ? 2 * 2 : 1) * 2 * own);
	r.offload = NULL;
	struct report_role without = reported(&r);
	for (int t = 0; t < TRAFFIC_COUNT; t++)
		ck_assert_int_eq(role.by_kind[t].sent_bytes, without.by_kind[t].sent_bytes);
}
END_TEST

/* A stage's host has what the stage has, of the tied table both; each stage's own goes each way once a step. */
START_TEST(stages_leave_their_own)
{
	static const char *const names[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
	struct made m;
	struct report report;
	int64_t all = 0;
	open_plan(&m, &(struct request){.model = GPT,
	                                .strategy = names[_i],
	                                .ranks = 3,
	                                .precision = TYPE_BF16,
	                                .accumulate = 4,
	                                .offload = "optimizer"});
	report_from_plan(&report, &m.plan);
	ck_assert_int_eq(report.role_count, 3);
	for (int i = 0; i < report.role_count; i++) {
		const struct report_role *role = &report.roles[i];
		int64_t own = role->memory[SPACE_DEVICE].steady[CATEGORY_PARAMETERS] / 2;
		ck_assert_int_eq(states(&role->memory[SPACE_DEVICE]), 2 * own);
		ck_assert_int_eq(states(&role->memory[SPACE_HOST]), 14 * own);
		ck_assert_int_eq(role->transfer[TRANSFER_DEVICE_TO_HOST].bytes, 2 * own);
		ck_assert_int_eq(role->transfer[TRANSFER_HOST_TO_DEVICE].bytes, 2 * own);
		all += own;
	}
	int64_t tied = m.plan.groups[m.plan.group_count - 1].padded;
	ck_assert_str_eq(m.plan.groups[m.plan.group_count - 1].name, "tied");
	ck_assert_int_eq(all, m.plan.group_elements + tied);
	report_release(&report);
	made_release(&m);
}
END_TEST

/* A pipeline's stage keeps the activations of one unit of each micro-batch under way, however many units it has. */
START_TEST(pipelines_send_activations_away)
{
	static const char *const models[] = {"gpt:layers=8,width=32,heads=2,context=16",
	                                     "gpt:layers=16,width=32,heads=2,context=16"};
	int64_t kept[2];
	for (int i = 0; i < 2; i++) {
		struct request r = {.model = models[i],
		                    .strategy = _i ? "pipeline:schedule=gpipe" : "pipeline",
		                    .ranks = 2,
		                    .micro_batch = 2,
		                    .accumulate = 4,
		                    .offload = "activations"};
		struct report_role role = reported(&r);
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes,
		                 role.transfer[TRANSFER_HOST_TO_DEVICE].bytes);
		kept[i] = role.memory[SPACE_DEVICE].at_peak[CATEGORY_ACTIVATIONS];
	}
	ck_assert_int_eq(kept[0], kept[1]);
}
END_TEST

START_TEST(parameters_leave_nothing_on_the_device)
{
	static const struct {
		const char *offload;
		int64_t host, disk; /* bytes a parameter, over the ranks, in bf16 */
		int64_t read, written;
	} rows[] = {{"optimizer,parameters", 16, 0, 0, 0},
	            {"optimizer:to=disk,parameters", 4, 12, 12, 12},
	            {"optimizer,parameters:to=disk", 14, 2, 4, 2},
	            {"optimizer:to=disk,parameters:to=disk", 2, 14, 16, 14}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct request r = {.model = GPT,
		                    .strategy = _i ? "fsdp" : "zero3",
		                    .ranks = 4,
		                    .precision = TYPE_BF16,
		                    .offload = rows[i].offload};
		int64_t own = elements_of(&r) / 4;
		struct report_role role = reported(&r);
		ck_assert_int_eq(states(&role.memory[SPACE_DEVICE]), 0);
		ck_assert_int_eq(states(&role.memory[SPACE_HOST]), rows[i].host * own);
		ck_assert_int_eq(states(&role.memory[SPACE_DISK]), rows[i].disk * own);
		/* A shard comes once forward and once backward; a gradient goes once. */
		ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes, 2 * 2 * own);
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, 2 * own);
		ck_assert_int_eq(role.transfer[TRANSFER_DISK_READ].bytes, rows[i].read * own);
		ck_assert_int_eq(role.transfer[TRANSFER_DISK_WRITE].bytes, rows[i].written * own);
		/* Host staging of what is on disk: two groups of the update, not all of them. */
		ck_assert_int_lt(role.memory[SPACE_HOST].peak_bytes - states(&role.memory[SPACE_HOST]),
		                 rows[i].disk ? rows[i].disk * own : 64);
	}
}
END_TEST

/* What leaves comes back; the device's peak no longer grows with the layers. */
START_TEST(activations_go_and_come_back)
{
	static const char *const models[] = {"gpt:layers=4,width=32,heads=2,context=16",
	                                     "gpt:layers=12,width=32,heads=2,context=16"};
	int64_t kept[2], away[2];
	for (int i = 0; i < 2; i++) {
		struct request r = {
		        .model = models[i], .strategy = "single", .micro_batch = 4, .offload = "activations"};
		struct report_role role = reported(&r);
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes,
		                 role.transfer[TRANSFER_HOST_TO_DEVICE].bytes);
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, role.memory[SPACE_HOST].peak_bytes);
		ck_assert_int_eq(role.memory[SPACE_HOST].steady[CATEGORY_ACTIVATIONS], 0);
		kept[i] = role.memory[SPACE_DEVICE].at_peak[CATEGORY_ACTIVATIONS];
		away[i] = role.memory[SPACE_HOST].peak_bytes;
	}
	ck_assert_int_eq(kept[0], kept[1]);
	ck_assert_int_gt(away[1], 2 * away[0]);
}
END_TEST

/* ---- the delayed update ---- */

enum { STEPS = 6 };

/* Weights of the whole model, moments, and the gradients of the step before, kept by the test. */
struct reference {
	float *weights, *first, *second, *late;
	int64_t count;
};

static float *make(int64_t n)
{
	float *p = calloc((size_t)n, sizeof *p);
	ck_assert_ptr_nonnull(p);
	return p;
}

/* W(i + 1) = Adam(W(i), g(i - 1)), the first step without one: ZeRO-Offload, section 5.2. The gradients come from a run
 * without offload, whose weights are set before every step. */
static void run_reference(const struct request *r, double losses[STEPS], struct reference *out)
{
	struct made m;
	struct trainer t;
	must_open_verified(&m, r);
	ck_assert_msg(!trainer_open(&t, &m.plan, "tests/golden/text.txt", false), "%s", status_message());
	int64_t n = m.plan.group_elements;
	*out = (struct reference){make(n), make(n), make(n), make(n), n};
	float *weights = cpu_device_buffer(&t.device, role_buffer(t.device.role, "parameters"));
	float *gradients = cpu_device_buffer(&t.device, role_buffer(t.device.role, "gradients"));
	memcpy(out->weights, weights, (size_t)n * sizeof *weights);
	for (int step = 1; step <= STEPS; step++) {
		memcpy(weights, out->weights, (size_t)n * sizeof *weights);
		ck_assert_int_eq(trainer_step(&t, &losses[step - 1]), STATUS_OK);
		struct adamw a = {(float)m.plan.settings.learning_rate, 0.9F, 0.999F, 1e-8F,
		                  (float)m.plan.settings.weight_decay};
		if (step > 1 && r->optimizer == OPTIMIZER_ADAMW)
			adamw_update(ELEMENT_FP32, &a, step - 1, n, out->weights, out->late, 1, out->first, out->second,
			             NULL);
		else if (step > 1)
			sgd_update(ELEMENT_FP32, (float)m.plan.settings.learning_rate, n, out->weights, out->late, 1,
			           NULL);
		memcpy(out->late, gradients, (size_t)n * sizeof *gradients);
	}
	trainer_release(&t);
	made_release(&m);
}

START_TEST(delayed_is_one_step_late)
{
	struct request r = {.model = GPT,
	                    .strategy = "single",
	                    .micro_batch = 3,
	                    .accumulate = 1 + _i,
	                    .optimizer = _i ? OPTIMIZER_SGD : OPTIMIZER_ADAMW,
	                    .learning_rate = 0.01,
	                    .bucket = 1 << 14};
	double expected[STEPS], loss, prompt;
	struct reference reference;
	struct made m, plain;
	struct trainer t, u;
	run_reference(&r, expected, &reference);
	must_open_verified(&plain, &r);
	r.offload = "optimizer:delayed=yes";
	must_open_verified(&m, &r);
	ck_assert_msg(!trainer_open(&t, &m.plan, "tests/golden/text.txt", false), "%s", status_message());
	ck_assert(!trainer_open(&u, &plain.plan, "tests/golden/text.txt", false));
	for (int step = 1; step <= STEPS; step++) {
		ck_assert_int_eq(trainer_step(&t, &loss), STATUS_OK);
		ck_assert_int_eq(trainer_step(&u, &prompt), STATUS_OK);
		ck_assert_msg(loss == expected[step - 1], "step %d: loss %.9g, the reference has %.9g", step, loss,
		              expected[step - 1]);
		/* Its effect: the first two steps see the same weights, the prompt update's second does not. */
		ck_assert(step == 1 ? loss == prompt : loss != prompt);
	}
	const float *weights = cpu_device_buffer(&t.device, role_buffer(t.device.role, "parameters"));
	ck_assert_int_eq(memcmp(weights, reference.weights, (size_t)reference.count * sizeof *weights), 0);
	trainer_release(&t);
	trainer_release(&u);
	made_release(&m);
	made_release(&plain);
	free(reference.weights);
	free(reference.first);
	free(reference.second);
	free(reference.late);
}
END_TEST

/* ---- what the verifier holds plans to ---- */

static int find(const struct plan *p, enum op_kind kind, enum queue queue)
{
	const struct role *r = &p->roles[0];
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == kind && r->ops[i].queue == queue)
			return i;
	ck_abort_msg("no such operation");
	return -1;
}

static void declare_delayed(struct plan *p)
{
	p->settings.offload.delayed = true;
}

static void declare_prompt(struct plan *p)
{
	p->settings.offload.delayed = false;
}

static void kernel_on_host(struct plan *p)
{
	struct role *r = &p->roles[0];
	r->buffers[r->ops[find(p, OP_LINEAR_FORWARD, QUEUE_COMPUTE)].operand[0].buffer].space = SPACE_HOST;
}

static void update_on_device(struct plan *p)
{
	p->roles[0].ops[find(p, OP_ADAMW, QUEUE_HOST_COMPUTE)].queue = QUEUE_COMPUTE;
}

static void copy_on_other_queue(struct plan *p)
{
	p->roles[0].ops[find(p, OP_COPY, QUEUE_DEVICE_TO_HOST)].queue = QUEUE_HOST_TO_DEVICE;
}

static void forget_copy(struct plan *p)
{
	plan_drop_op(p, 0, find(p, OP_COPY, QUEUE_HOST_TO_DEVICE));
}

static void forget_wait(struct plan *p)
{
	plan_set_waits(p, 0, find(p, OP_ADAMW, QUEUE_HOST_COMPUTE), NULL, 0);
}

static void forget_write(struct plan *p)
{
	int op = p->roles[0].step.end - 1;
	while (op_transfer(&p->roles[0], &p->roles[0].ops[op]) != TRANSFER_DISK_WRITE)
		op--;
	plan_drop_op(p, 0, op); /* the last: nobody waits for it */
}

static const struct {
	const char *offload;
	void (*spoil)(struct plan *p);
	const char *rule;
} spoilt[] = {{"optimizer", declare_delayed, "rule 5 (gradient)"},
              {"optimizer:delayed=yes", declare_prompt, "rule 5 (gradient)"},
              {"optimizer", kernel_on_host, "rule 2 (matching)"},
              {"optimizer", update_on_device, "rule 2 (matching)"},
              {"optimizer", copy_on_other_queue, "rule 2 (matching)"},
              {"optimizer", forget_copy, "rule 6 (version)"},
              {"optimizer", forget_wait, "rule 4 (race)"},
              {"optimizer:to=disk", forget_write, "rule 6 (version)"}};

START_TEST(spoilt_plans_are_refused)
{
	struct made m;
	struct plan broken;
	struct request r = {.model = GPT, .strategy = "zero2", .ranks = 2, .offload = spoilt[_i].offload};
	must_open_verified(&m, &r);
	plan_copy(&broken, &m.plan);
	spoilt[_i].spoil(&broken);
	ck_assert_int_eq(plan_verify(&broken, NULL), STATUS_REFUSED);
	ck_assert_msg(!strncmp(status_message(), spoilt[_i].rule, strlen(spoilt[_i].rule)), "wanted %s: %s",
	              spoilt[_i].rule, status_message());
	plan_release(&broken);
	made_release(&m);
}
END_TEST

/* A plan's text is the plan. */
START_TEST(text_comes_back)
{
	static const char *const offloads[] = {"optimizer", "optimizer:delayed=yes",
	                                       "optimizer:to=disk,parameters:to=disk",
	                                       "optimizer,parameters,activations", "activations"};
	struct made m;
	struct request r = {
	        .model = GPT, .strategy = "zero3", .ranks = 2, .accumulate = 2, .clip = 1, .offload = offloads[_i]};
	must_open_verified(&m, &r);
	free(must_come_back(&m.plan));
	made_release(&m);
}
END_TEST

/* ---- memory ---- */

/* A stray write beside a buffer on the host, and on disk, is found. */
START_TEST(zones_are_in_every_arena)
{
	static const char *const names[] = {"gradients", "first_moment"};
	struct made m;
	struct trainer t;
	struct request r = {.model = GPT, .strategy = "single", .offload = "optimizer:to=disk"};
	const unsigned char byte = 1;
	must_open_verified(&m, &r);
	ck_assert_msg(!trainer_open(&t, &m.plan, "tests/golden/text.txt", true), "%s", status_message());
	ck_assert_int_eq(cpu_device_check(&t.device), STATUS_OK);
	int buffer = role_buffer(t.device.role, names[_i]);
	const struct buffer *b = &t.device.role->buffers[buffer];
	ck_assert_int_eq(b->space, _i ? SPACE_DISK : SPACE_HOST);
	if (b->space == SPACE_HOST)
		((unsigned char *)cpu_device_buffer(&t.device, buffer))[buffer_bytes(b)] = byte;
	else
		ck_assert(!disk_write(t.device.disk, t.device.layout.offset[buffer] + buffer_bytes(b), &byte, 1));
	ck_assert_int_eq(cpu_device_check(&t.device), STATUS_RUN);
	ck_assert_ptr_nonnull(strstr(status_message(), names[_i]));
	trainer_release(&t);
	made_release(&m);
}
END_TEST

static int entries(const char *folder)
{
	int n = 0;
	DIR *d = opendir(folder);
	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

START_TEST(files_have_no_name)
{
	char folder[256], text[] = "0123456789", back[sizeof text];
	struct disk *disk;
	snprintf(folder, sizeof folder, "%s/offload.XXXXXX", support_folder());
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(disk_open(&disk, folder, 1 << 20), STATUS_OK);
	ck_assert_int_eq(entries(folder), 2); /* . and .. */
	ck_assert_int_eq(disk_write(disk, 12345, text, sizeof text), STATUS_OK);
	ck_assert_int_eq(disk_read(disk, 12345, back, sizeof back), STATUS_OK);
	ck_assert_str_eq(text, back);
	ck_assert_int_eq(disk_read(disk, (1 << 20) - 4, back, 8), STATUS_RUN);
	ck_assert_ptr_nonnull(strstr(status_message(), "the file ends"));
	disk_close(disk);
	/* More than any disk has. */
	ck_assert_int_eq(disk_open(&disk, folder, INT64_C(1) << 60), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "has no room"));
	ck_assert_ptr_null(disk);
	ck_assert_int_eq(entries(folder), 2);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(disk_open(&disk, folder, 1), STATUS_INPUT);
	ck_assert_int_eq(disk_open(&disk, NULL, 1), STATUS_INPUT);
}
END_TEST

/* The file that this process has open in the folder, though it has no name any more. */
static int nameless_file(const char *folder)
{
	char link[64], target[512];
	for (int file = 0; file < 1024; file++) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", file);
		ssize_t n = readlink(link, target, sizeof target - 1);
		target[n > 0 ? n : 0] = 0;
		if (!strncmp(target, folder, strlen(folder)) && strstr(target, "/shardlab."))
			return file;
	}
	ck_abort_msg("no file is open in %s", folder);
	return -1;
}

/* A queue's thread says so, all queues end, and the threads that waited for it too: else this would not return. */
START_TEST(disk_that_fails_ends_the_section)
{
	static const char *const lines[] = {"cannot read in", "cannot write in"};
	struct made m;
	struct trainer t;
	struct request r = {.model = GPT, .strategy = "single", .offload = "optimizer:to=disk"};
	struct rlimit limit;
	double loss;
	signal(SIGXFSZ, SIG_IGN);
	open_plan(&m, &r);
	ck_assert_msg(!trainer_open(&t, &m.plan, "tests/golden/text.txt", false), "%s", status_message());
	ck_assert_msg(!trainer_step(&t, &loss), "%s", status_message());
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	if (!_i)
		ck_assert_int_eq(ftruncate(nameless_file(support_folder()), 0), 0);
	else
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, limit.rlim_max}), 0);
	for (int again = 0; again < 2; again++) {
		enum status s = trainer_step(&t, &loss);
		ck_assert_int_eq(s, STATUS_RUN);
		ck_assert_msg(strstr(status_message(), lines[_i]) != NULL, "%s", status_message());
	}
	setrlimit(RLIMIT_FSIZE, &limit);
	trainer_release(&t);
	made_release(&m);
}
END_TEST

/* ---- the option ---- */

START_TEST(settings_are_read_and_printed)
{
	static const char *const rows[][2] = {
	        {"none", "none"},
	        {"activations", "activations"},
	        {"optimizer:to=host:delayed=no", "optimizer"},
	        {"activations,parameters:to=disk,optimizer:delayed=yes",
	         "optimizer:delayed=yes,parameters:to=disk,activations"},
	        {"optimizer:delayed=no:to=disk,parameters:to=host", "optimizer:to=disk,parameters"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct offload o, again;
		char text[OFFLOAD_TEXT];
		ck_assert_msg(!offload_parse(rows[i][0], &o), "%s", status_message());
		offload_print(&o, text, sizeof text);
		ck_assert_str_eq(text, rows[i][1]);
		ck_assert(!offload_parse(text, &again));
		offload_print(&again, text, sizeof text);
		ck_assert_str_eq(text, rows[i][1]);
	}
	/* The longest fits. */
	struct offload all = {true, true, true, true, true, true};
	char text[OFFLOAD_TEXT];
	offload_print(&all, text, sizeof text);
	ck_assert_str_eq(text, "optimizer:to=disk:delayed=yes,parameters:to=disk,activations");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("offload");
	TCase *tests = tcase_create("offload");
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, device_keeps_two_bytes_a_parameter, 0, STRATEGIES);
	tcase_add_loop_test(tests, gradients_leave_as_they_are_ready, 0, STRATEGIES - 2);
	tcase_add_loop_test(tests, hybrid_leaves_a_shard_of_its_group, 0, 4);
	tcase_add_loop_test(tests, stages_leave_their_own, 0, 3);
	tcase_add_loop_test(tests, pipelines_send_activations_away, 0, 2);
	tcase_add_loop_test(tests, parameters_leave_nothing_on_the_device, 0, 2);
	tcase_add_test(tests, activations_go_and_come_back);
	tcase_add_loop_test(tests, delayed_is_one_step_late, 0, 2);
	tcase_add_loop_test(tests, spoilt_plans_are_refused, 0, (int)(sizeof spoilt / sizeof spoilt[0]));
	tcase_add_loop_test(tests, text_comes_back, 0, 5);
	tcase_add_loop_test(tests, zones_are_in_every_arena, 0, 2);
	tcase_add_test(tests, files_have_no_name);
	tcase_add_loop_test(tests, disk_that_fails_ends_the_section, 0, 2);
	tcase_add_test(tests, settings_are_read_and_printed);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
