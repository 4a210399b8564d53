/* Offload: what stays on the device and what is copied is what ZeRO-Offload's section 3 says. (test_offload_update.c:
 * the delayed update, the verifier, memory and files; tests/mpi/mpi_offload.c: on several ranks.)
 */
#include <stdio.h>
#include <string.h>

#include "strategy/plan/order.h"
#include "strategy/trace/report.h"
#include "tests/support/plan_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

#define GPT "gpt:layers=3,width=32,heads=2,context=16"

static struct report_role reported(const struct plan *p)
{
	return report_planned(p)->roles[0];
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

START_LOOP_TEST(device_keeps_two_bytes_a_parameter, 0, STRATEGIES)
{
	bool alone = !strcmp(strategies[_i].strategy, "single");
	for (int ranks = alone ? 1 : 2; ranks <= (alone ? 1 : 8); ranks += ranks) {
		char request[200];
		snprintf(request, sizeof request, GPT " %s ranks=%d bucket=16384", strategies[_i].strategy, ranks);
		const struct plan *p = right_plan("%s precision=bf16 offload=optimizer", request);
		/* padded elements of all groups, which divide by the ranks */
		int64_t n = p->group_elements, own = strategies[_i].state_sharded ? n / ranks : n;
		struct report_role role = reported(p);
		const struct report_memory *device = &role.memory[SPACE_DEVICE], *host = &role.memory[SPACE_HOST];
		/* ZeRO-Offload, section 3: 2 on the device, 2 of gradients and 12 of optimizer state on the host. */
		ck_assert_int_eq(states(device), 2 * (strategies[_i].parameters_sharded ? n / ranks : n));
		ck_assert_int_eq(host->steady[CATEGORY_GRADIENTS], 2 * own);
		ck_assert_int_eq(host->steady[CATEGORY_OPTIMIZER], 12 * own);
		/* The traffic is the least there can be: 2 bytes a parameter each way, over the ranks that share the
		 * update. */
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, 2 * own);
		ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes, 2 * own);
		/* The update is delayed: the same. */
		role = reported(right_plan("%s precision=bf16 offload=optimizer:delayed=yes", request));
		ck_assert_int_eq(states(device), 2 * (strategies[_i].parameters_sharded ? n / ranks : n));
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, 2 * own);
		ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes, 2 * own);
		/* fp16 brings the loss scale back besides. */
		role = reported(right_plan("%s precision=fp16 offload=optimizer", request));
		ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes,
		                 2 * own + LOSS_SCALE_ELEMENTS * (int64_t)sizeof(float));
		/* fp32: gradients and parameters of 4 bytes; the host has weights of its own. */
		role = reported(right_plan("%s precision=fp32 offload=optimizer", request));
		ck_assert_int_eq(states(device), 4 * (strategies[_i].parameters_sharded ? n / ranks : n));
		ck_assert_int_eq(states(host), 16 * own);
		ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, 4 * own);
	}
}

/* Whole gradients are on the device a bucket at a time. */
START_LOOP_TEST(gradients_leave_as_they_are_ready, 0, STRATEGIES - 2)
{
	const struct plan *p = right_plan(GPT " %s ranks=%d bucket=16384 offload=optimizer", strategies[_i].strategy,
	                                  strcmp(strategies[_i].strategy, "single") ? 4 : 1);
	int64_t largest = 0;
	for (int g = 0; g < p->group_count; g++)
		largest = p->groups[g].padded > largest ? p->groups[g].padded : largest;
	/* One that fills, and two on their way. */
	ck_assert_int_le(plan_most_live(&p->roles[0], "gathered.gradients.", NULL), 3 * largest);
	ck_assert_int_lt(3 * largest, p->group_elements);
}

/* Shards of 1/K, and the gradient's of a step cross to the other groups before they leave. */
START_LOOP_TEST(hybrid_leaves_a_shard_of_its_group, 0, 4)
{
	static const char *const offloads[] = {"optimizer", "optimizer,parameters"};
	const int64_t ranks = 4, shards = _i / 2 ? 2 : 4;
	char request[200];
	snprintf(request, sizeof request, GPT " hybrid:shard=%d ranks=4 precision=bf16 accumulate=2", (int)shards);
	const struct plan *p = right_plan("%s offload=%s", request, offloads[_i % 2]);
	int64_t own = p->group_elements / shards, kept = _i % 2 ? 0 : 2 * own;
	struct report_role role = reported(p);
	ck_assert_int_eq(states(&role.memory[SPACE_DEVICE]), kept);
	ck_assert_int_eq(states(&role.memory[SPACE_HOST]), 16 * own - kept);
	/* Without replicas each micro-batch's shard leaves at once; with them, once a step. */
	ck_assert_int_eq(role.transfer[TRANSFER_DEVICE_TO_HOST].bytes, (shards == ranks ? 2 : 1) * 2 * own);
	ck_assert_int_eq(role.transfer[TRANSFER_HOST_TO_DEVICE].bytes, (_i % 2 ? 2 * 2 : 1) * 2 * own);
	struct report_role without = reported(right_plan("%s", request));
	for (int t = 0; t < TRAFFIC_COUNT; t++)
		ck_assert_int_eq(role.by_kind[t].sent_bytes, without.by_kind[t].sent_bytes);
}

/* A stage's host has what the stage has, of the tied table both; each stage's own goes each way once a step. */
START_LOOP_TEST(stages_leave_their_own, 0, 3)
{
	static const char *const names[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
	int64_t all = 0;
	const struct plan *p = made_plan(GPT " %s ranks=3 precision=bf16 accumulate=4 offload=optimizer", names[_i]);
	const struct report *report = report_planned(p);
	ck_assert_int_eq(report->role_count, 3);
	for (int i = 0; i < report->role_count; i++) {
		const struct report_role *role = &report->roles[i];
		int64_t own = role->memory[SPACE_DEVICE].steady[CATEGORY_PARAMETERS] / 2;
		ck_assert_int_eq(states(&role->memory[SPACE_DEVICE]), 2 * own);
		ck_assert_int_eq(states(&role->memory[SPACE_HOST]), 14 * own);
		ck_assert_int_eq(role->transfer[TRANSFER_DEVICE_TO_HOST].bytes, 2 * own);
		ck_assert_int_eq(role->transfer[TRANSFER_HOST_TO_DEVICE].bytes, 2 * own);
		all += own;
	}
	int64_t tied = p->groups[p->group_count - 1].padded;
	ck_assert_str_eq(p->groups[p->group_count - 1].name, "tied");
	ck_assert_int_eq(all, p->group_elements + tied);
}

START_LOOP_TEST(parameters_leave_nothing_on_the_device, 0, 2)
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
		const struct plan *p =
		        right_plan(GPT " %s ranks=4 precision=bf16 offload=%s", _i ? "fsdp" : "zero3", rows[i].offload);
		int64_t own = p->group_elements / 4;
		struct report_role role = reported(p);
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

/* Offloaded activations come back, and the device keeps those of one unit for each micro-batch under way, however many
 * units there are. */
START_LOOP_TEST(activations_go_and_come_back, 0, 3)
{
	static const char *const plans[] = {"single", "pipeline ranks=2 accumulate=4",
	                                    "pipeline:schedule=gpipe ranks=2 accumulate=4"};
	struct report_role few, many;
	struct report_role *roles[] = {&few, &many};
	for (int i = 0; i < 2; i++) {
		struct report_role *role = roles[i];
		*role = reported(
		        right_plan("gpt:layers=%d,width=32,heads=2,context=16 %s micro_batch=4 offload=activations",
		                   i ? 16 : 8, plans[_i]));
		int64_t sent = role->transfer[TRANSFER_DEVICE_TO_HOST].bytes;
		ck_assert_int_eq(sent, role->transfer[TRANSFER_HOST_TO_DEVICE].bytes);
		ck_assert(_i || sent == role->memory[SPACE_HOST].peak_bytes);
		ck_assert_int_eq(role->memory[SPACE_HOST].steady[CATEGORY_ACTIVATIONS], 0);
	}
	ck_assert_int_eq(few.memory[SPACE_DEVICE].at_peak[CATEGORY_ACTIVATIONS],
	                 many.memory[SPACE_DEVICE].at_peak[CATEGORY_ACTIVATIONS]);
	ck_assert_int_gt(many.memory[SPACE_HOST].peak_bytes, 19 * few.memory[SPACE_HOST].peak_bytes / 10);
}

static bool begins_with(const struct role *r, const struct region *x, const char *prefix)
{
	return x->buffer >= 0 && !strncmp(r->buffers[x->buffer].name, prefix, strlen(prefix));
}

/* The backward pass of the first stage begins with recomputing its last segment: the checkpoint of that one stays on
 * the device, the other comes back. */
START_TEST(what_the_first_backward_run_reads_stays)
{
	const struct plan *p = right_plan("gpt:layers=8,width=32,heads=2,context=16 pipeline ranks=2 "
	                                  "activation_checkpointing=every=2 offload=activations");
	const struct role *role = &p->roles[0];
	int stayed = 0, back = 0;
	for (int i = role->step.begin; i < role->step.end; i++) {
		const struct op *op = &role->ops[i];
		if (op->kind != OP_NORM_FORWARD || op->pass != PASS_RECOMPUTE ||
		    begins_with(role, &op->operand[NORM_FORWARD_X], "recomputed."))
			continue;
		bool away = begins_with(role, &op->operand[NORM_FORWARD_X], "back.");
		ck_assert_msg(away == (stayed + back > 0), "%s", role->buffers[op_buffer(op)].name);
		stayed += !away;
		back += away;
	}
	ck_assert_int_eq(stayed, 1);
	ck_assert_int_eq(back, 1);
}

static int find_backward(const struct role *r, int unit, bool last)
{
	int found = -1;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].pass == PASS_BACKWARD && r->ops[i].unit == unit &&
		    op_class(r->ops[i].kind) == OP_CLASS_K && (found < 0 || last))
			found = i;
	ck_assert_int_ge(found, 0);
	return found;
}

/* Activations of a block come back while the block after it goes backward, and not before that one begins. */
START_TEST(activations_come_back_a_block_ahead)
{
	struct order o;
	int seen = 0;
	const struct role *role = &right_plan(GPT " single offload=activations")->roles[0];
	order_make(&o, role, &role->step);
	int end_of_after = find_backward(role, 3, true), head = find_backward(role, 0, false);
	for (int i = role->step.begin; i < role->step.end; i++) {
		const struct op *op = &role->ops[i];
		if (op->queue != QUEUE_HOST_TO_DEVICE || !begins_with(role, &op->operand[COPY_Y], "back.block.1.fc."))
			continue;
		seen++;
		ck_assert(!order_before(&o, end_of_after, i) && !order_before(&o, i, end_of_after));
		ck_assert(order_before(&o, head, i));
	}
	ck_assert_int_eq(seen, 2); /* its input and its output */
	order_release(&o);
}

/* With accumulation gradients arrive in staging and are added. There are two stagings: a copy waits until the one of
 * the group before last has been added, and not for the group before. */
START_TEST(gradients_arrive_in_two_stagings)
{
	enum { GROUPS = 32 };
	struct order o;
	int copies[GROUPS], adds[GROUPS], copy_count = 0, add_count = 0;
	const struct plan *p = right_plan(GPT " zero2 ranks=2 accumulate=2 bucket=8192 offload=optimizer");
	const struct role *role = &p->roles[0];
	order_make(&o, role, &role->step);
	for (int i = role->step.begin; i < role->step.end; i++) {
		const struct op *op = &role->ops[i];
		ck_assert_int_lt(copy_count, GROUPS);
		if (op->queue == QUEUE_DEVICE_TO_HOST && begins_with(role, &op->operand[COPY_Y], "staging."))
			copies[copy_count++] = i;
		if (op->queue == QUEUE_HOST_COMPUTE && op->kind == OP_ADD)
			adds[add_count++] = i;
	}
	ck_assert_int_eq(copy_count, p->group_count);
	ck_assert_int_eq(add_count, copy_count);
	ck_assert_int_gt(copy_count, 4);
	for (int i = 2; i < copy_count; i++) {
		ck_assert(order_before(&o, adds[i - 2], copies[i]));
		ck_assert(!order_before(&o, adds[i - 1], copies[i]));
	}
	order_release(&o);
}

/* ---- the option ---- */

/* Every group has a shard on its way to the host at the end of the last backward pass. */
START_TEST(a_model_of_many_layers_goes_to_the_host)
{
	const struct plan *p = right_plan("gpt:layers=70,width=8,heads=2,vocabulary=16,context=4 ddp ranks=2 "
	                                  "accumulate=2 offload=optimizer bucket=1024");
	ck_assert_int_gt(p->group_count, 64);
}

START_TEST(settings_are_read_and_printed)
{
	static const char *const rows[][2] = {
	        {"none", "none"},
	        {"activations", "activations"},
	        {"optimizer:to=host:delayed=no", "optimizer"},
	        {"activations,parameters:to=disk,optimizer:delayed=yes",
	         "optimizer:delayed=yes,parameters:to=disk,activations"},
	        {"optimizer:delayed=no:to=disk,parameters:to=host", "optimizer:to=disk,parameters"},
	        {"parameters:staging=7,optimizer:buffers=2", "optimizer:buffers=2,parameters:staging=7"},
	        {"optimizer:to=disk,parameters:to=disk:queue=4096", "optimizer:to=disk:queue=4096,parameters:to=disk"},
	        {"optimizer,parameters:to=disk:queue=4096", "optimizer,parameters:to=disk:queue=4096"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct offload o, again;
		char text[OFFLOAD_TEXT];
		must(offload_parse(rows[i][0], &o));
		offload_print(&o, text, sizeof text);
		ck_assert_str_eq(text, rows[i][1]);
		ck_assert(!offload_parse(text, &again));
		offload_print(&again, text, sizeof text);
		ck_assert_str_eq(text, rows[i][1]);
	}
	/* The longest fits. */
	struct offload all = {
	        true, true, true, true, true, true, OFFLOAD_BUFFERS_MOST, OFFLOAD_STAGING_MOST, OFFLOAD_STAGING_MOST};
	char text[OFFLOAD_TEXT];
	offload_print(&all, text, sizeof text);
	ck_assert_str_eq(text, "optimizer:to=disk:delayed=yes:buffers=4096:queue=1000000000000,parameters:to=disk:"
	                       "staging=1000000000000,activations");
}

START_TEST(a_queue_is_a_disks)
{
	struct offload o;
	must_fail(offload_parse("optimizer:queue=4096", &o), STATUS_INPUT, "optimizer:queue=4096: it is a disk's");
	must_fail(offload_parse("optimizer:to=disk:queue=1,parameters:to=disk:queue=2", &o), STATUS_INPUT,
	          "queue=1 and queue=2: there is one disk");
	must_fail(offload_parse("optimizer:buffers=4097", &o), STATUS_INPUT, "buffers=4097: at most 4096");
}

SUITE("offload", 120)
