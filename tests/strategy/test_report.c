/* Reports: what a plan says of itself, and the way to JSON and back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/trace/report.h"
#include "tests/support/json.h"
#include "tests/support/plan_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

START_TEST(test_from_plan)
{
	struct report r;
	struct memory_use use;
	const struct plan *p = made_plan("mlp:sizes=20-30-10 ddp ranks=4 micro_batch=4");
	report_from_plan(&r, p);
	int64_t parameters = 20 * 30 + 30 + 30 * 10 + 10;
	ck_assert_str_eq(r.model, "mlp");
	ck_assert_str_eq(r.strategy, "ddp");
	ck_assert_int_eq(r.parameters, parameters);
	ck_assert_int_eq(r.batch, 16);
	ck_assert_int_eq(r.micro_batch, 4);
	ck_assert_int_eq(r.role_count, 1);
	ck_assert_int_eq(r.roles[0].ranks, 4);
	const struct report_traffic *t = r.roles[0].by_kind;
	ck_assert_int_eq(t[TRAFFIC_ALL_REDUCE].payload_bytes, parameters * 4);
	ck_assert_int_eq(t[TRAFFIC_ALL_REDUCE].calls, p->group_count);
	ck_assert_int_eq(t[TRAFFIC_ALL_REDUCE].sent_bytes, p->group_elements * 4 / 4 * 3 * 2);
	ck_assert_int_eq(r.roles[0].sent_bytes, t[TRAFFIC_ALL_REDUCE].sent_bytes);
	ck_assert_int_eq(r.roles[0].received_bytes, t[TRAFFIC_ALL_REDUCE].sent_bytes);
	ck_assert_int_eq(t[TRAFFIC_ALL_GATHER].calls, 0);
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	ck_assert_int_eq(r.roles[0].memory[SPACE_DEVICE].peak_bytes, use.peak_bytes);
	ck_assert_int_eq(r.roles[0].memory[SPACE_DEVICE].arena_bytes, use.arena_bytes);
	ck_assert_uint_gt(strlen(r.roles[0].memory[SPACE_DEVICE].peak_at), 0);
	ck_assert_ptr_null(strstr(r.roles[0].memory[SPACE_DEVICE].peak_at, "alloc"));
	ck_assert_int_eq(r.roles[0].memory[SPACE_HOST].peak_bytes, 0);
	report_release(&r);
	report_release(NULL);
}

/* The settings that tell two runs apart whose figures have the same names. */
START_TEST(what_was_asked_for_is_said)
{
	struct report r;
	report_from_plan(&r,
	                 made_plan("mlp:sizes=20-30-10 fsdp:reshard=no ranks=2 clip=0.5 learning_rate=3e-4 seed=7"));
	ck_assert_str_eq(r.strategy, "fsdp:reshard=no");
	ck_assert_str_eq(r.asked.model_keys, "sizes=20-30-10");
	ck_assert_str_eq(r.asked.others, "learning rate 0.0003 · clip 0.5 · seed 7");
	ck_assert_int_eq(r.asked.seed, 7);
	report_release(&r);
	/* A plan's text has all keys: the defaults are not asked for. */
	report_from_plan(&r, made_plan("gpt:layers=2,width=32,heads=2,context=128,vocabulary=256 ddp ranks=2"));
	ck_assert_str_eq(r.asked.model_keys, "layers=2,width=32,heads=2");
	report_release(&r);
	/* One with the name's own value is, where another key would change it: kv_heads, where heads are others. */
	report_from_plan(&r, made_plan("llama:layers=2,heads=8,width=64,kv_heads=4,head_size=32 ddp ranks=2"));
	ck_assert_str_eq(r.asked.model_keys, "layers=2,heads=8,width=64,kv_heads=4,head_size=32");
	report_release(&r);
	report_from_plan(&r, made_plan("llama:layers=2,heads=8,kv_heads=4 ddp ranks=2"));
	ck_assert_str_eq(r.asked.model_keys, "layers=2");
	report_release(&r);
	/* The settings that fp16's rule fills in were not asked for. */
	report_from_plan(&r, made_plan("mlp ddp ranks=2 precision=fp16"));
	ck_assert_str_eq(r.asked.model_keys, "");
	ck_assert_str_eq(r.asked.others, "");
	report_release(&r);
	report_from_plan(&r, made_plan("mlp ddp ranks=2 precision=fp16 loss_scale=8 loss_scaler=pytorch bucket=1000"));
	ck_assert_str_eq(r.asked.others, "loss scaler pytorch · loss scale 8 · bucket 1kB");
	report_release(&r);
}

/* 300 + 30 products of an MLP, times 3 passes and 2 FLOPs, of 16 samples: 4 ranks in 2 ms. */
START_TEST(test_speed)
{
	struct report r;
	report_from_plan(&r, made_plan("mlp:sizes=30-10-3 ddp ranks=4 micro_batch=4"));
	ck_assert(r.speed.model_flops == 6.0 * (300 + 30) * 16);
	ck_assert(r.speed.tflops_per_device == 0 && r.speed.mfu == 0);
	r.time.step = 2000000;
	report_set_speed(&r, 0);
	ck_assert_double_eq_tol(r.speed.tflops_per_device, 31680.0 / 4 / 2e-3 / 1e12, 1e-18);
	ck_assert(r.speed.mfu == 0);
	ck_assert_double_eq_tol(r.speed.units_per_s, 16 / 2e-3, 1e-9);
	report_set_speed(&r, 31680 / 2e-3);
	ck_assert_double_eq_tol(r.speed.mfu, 0.25, 1e-12);
	report_release(&r);
}

/* DP over a tree: rank 1 … pass parameters on, the last does not; the report shows the busiest. */
START_TEST(test_busiest)
{
	static const char *const strategies[] = {"dp", "dp:broadcast=tree"};
	for (int k = 0; k < 2; k++) {
		const struct plan *p = made_plan("mlp:sizes=20-30-10 %s ranks=8", strategies[k]);
		const struct report *r = report_planned(p);
		for (int i = 0; i < r->role_count; i++) {
			const struct role *role = &p->roles[i];
			int64_t most = 0;
			for (int64_t rank = role->first_rank; rank < role->first_rank + role->ranks; rank++) {
				int64_t sum = 0;
				for (int op = role->step.begin; op < role->step.end; op++)
					if (role->ops[op].traffic != TRAFFIC_CONTROL)
						sum += op_sent_bytes(p, role, &role->ops[op], rank) +
						       op_received_bytes(p, role, &role->ops[op], rank);
				most = sum > most ? sum : most;
			}
			ck_assert_int_gt(most, 0);
			ck_assert_int_eq(r->roles[i].sent_bytes + r->roles[i].received_bytes, most);
		}
	}
}

static void fill_report(struct report *r, const struct plan *p, bool measured)
{
	report_from_plan(r, p);
	snprintf(r->cluster, sizeof r->cluster, "here");
	r->speed = (struct report_speed){1e15, 0.25, 3e4, measured ? 0 : 0.5}; /* 0: the peak is unknown */
	r->time = (struct times){1234567891, 1000000001, 500000003, 200000007, 34567883, 300000001, 0, 600000001, 3};
	snprintf(r->checkpointing.setting, sizeof r->checkpointing.setting, "every=2:profile=yes");
	r->checkpointing.checkpoints = 7;
	r->checkpointing.tried = 3;
	r->checkpointing.profile = true;
	r->tightest = (struct report_tightest){SPACE_DISK, 88, 99};
	r->fits = true;
	r->rates_measured = true;
	r->roles[0].memory[SPACE_DEVICE].overhead_bytes = 77;
	r->roles[0].memory[SPACE_DEVICE].overhead_assumed = true;
	r->roles[1].memory[SPACE_DISK].peak_bytes = 5;
	r->roles[0].by_kind[TRAFFIC_BROADCAST].received_bytes = 11;
	r->roles[0].received_bytes = 13;
	r->roles[0].transfer[TRANSFER_DEVICE_TO_HOST] = (struct report_transfer){17, 19};
	r->measured = measured;
	if (!measured) {
		snprintf(r->grain, sizeof r->grain, "message");
		r->bubble = (struct bubble){4, 8};
		return;
	}
	report_add_ranks(r, p);
	r->by_rank[1].by_kind[TRAFFIC_REDUCE].sent_bytes = -1; /* inside a library */
	r->staging_touched_bytes = 4567;
	r->roles[0].overhead =
	        (struct report_overhead){.measured = true, .part = {1, 2, 3, 4, 5, 6, 56}, .in_use_bytes = 99};
	r->losses = calloc(3, sizeof *r->losses);
	r->losses[0] = 2.302585092994046;
	r->losses[1] = NAN;
	r->losses[2] = 0.1;
	r->loss_count = 3;
	r->losses_every = 4;
	r->steps = 7;
	r->validation_accuracy = 0.97;
	r->resident_bytes = 123456789;
	r->units_per_s = 1000.5;
	r->roles[1].sent_bytes = -1; /* inside a library */
	r->roles[1].by_kind[TRAFFIC_REDUCE].sent_bytes = -1;
	snprintf(r->weights_checksum, sizeof r->weights_checksum, "0123456789abcdef");
}

static void assert_same_report(const struct report *a, const struct report *b)
{
	ck_assert_mem_eq(&a->time, &b->time, sizeof a->time);
	ck_assert_str_eq(a->checkpointing.setting, b->checkpointing.setting);
	ck_assert_int_eq(a->tightest.space, b->tightest.space);
	ck_assert_int_eq(a->tightest.needed_bytes, b->tightest.needed_bytes);
	ck_assert_int_eq(a->tightest.capacity_bytes, b->tightest.capacity_bytes);
	for (int i = 0; i < b->role_count; i++) {
		const struct report_role *x = &a->roles[i], *y = &b->roles[i];
		ck_assert_int_eq(x->sent_bytes, y->sent_bytes);
		ck_assert_mem_eq(x->by_kind, y->by_kind, sizeof x->by_kind);
		ck_assert_mem_eq(x->memory[SPACE_DISK].steady, y->memory[SPACE_DISK].steady, sizeof y->memory->steady);
		ck_assert_int_eq(x->memory[SPACE_DISK].peak_bytes, y->memory[SPACE_DISK].peak_bytes);
		ck_assert(x->overhead.measured == y->overhead.measured);
		ck_assert_mem_eq(x->overhead.part, y->overhead.part, sizeof x->overhead.part);
		ck_assert_int_eq(x->overhead.in_use_bytes, y->overhead.in_use_bytes);
	}
	ck_assert_int_eq(a->staging_touched_bytes, b->staging_touched_bytes);
	ck_assert_mem_eq(&a->speed, &b->speed, sizeof a->speed);
	ck_assert_int_eq(a->loss_count, b->loss_count);
	ck_assert_int_eq(a->losses_every, b->losses_every);
	ck_assert_int_eq(a->steps, b->steps);
	if (b->loss_count) {
		ck_assert(a->losses[0] == b->losses[0] && isnan(a->losses[1]) && isnan(a->validation_loss));
		ck_assert_mem_eq(a->by_rank, b->by_rank, (size_t)b->ranks * sizeof *b->by_rank);
	}
}

START_TEST(test_json)
{
	for (int measured = 0; measured < 2; measured++) {
		struct report r, again;
		const struct plan *p = made_plan("mlp:sizes=20-30-10 dp ranks=4 micro_batch=4");
		fill_report(&r, p, measured);
		json_t *o = report_to_json(&r);
		/* names of the contract */
		const json_t *role = json_array_get(json_object_get(o, "roles"), 0);
		const json_t *device = json_object_get(json_object_get(role, "memory"), "device");
		ck_assert_int_eq(whole_of(device, "peak_bytes"), r.roles[0].memory[SPACE_DEVICE].peak_bytes);
		ck_assert_int_eq(whole_of(device, "overhead_bytes"), 77);
		ck_assert_int_eq(whole_of(json_object_get(device, "at_peak"), "parameters"),
		                 r.roles[0].memory[SPACE_DEVICE].at_peak[CATEGORY_PARAMETERS]);
		const json_t *kinds = json_object_get(json_object_get(role, "communication"), "by_kind");
		ck_assert_int_eq(whole_of(json_object_get(kinds, "broadcast"), "sent_bytes"),
		                 r.roles[0].by_kind[TRAFFIC_BROADCAST].sent_bytes);
		ck_assert_int_gt(r.roles[0].by_kind[TRAFFIC_BROADCAST].sent_bytes, 11);
		ck_assert_int_eq(whole_of(json_object_get(kinds, "broadcast"), "received_bytes"), 11);
		ck_assert_int_eq(whole_of(json_object_get(role, "communication"), "received_bytes"), 13);
		const json_t *copies = json_object_get(json_object_get(role, "transfers"), "device_to_host");
		ck_assert_int_eq(whole_of(copies, "calls"), 17);
		ck_assert_int_eq(whole_of(copies, "bytes"), 19);
		ck_assert(json_number_value(json_object_get(json_object_get(o, "time"), "step_s")) == 1.234567891);
		ck_assert(json_is_true(json_object_get(o, "fits")));
		ck_assert_int_eq(whole_of(json_object_get(o, "tightest"), "needed_bytes"), 88);
		ck_assert_str_eq(text_of(o, "precision"), "fp32");

		must(report_from_json(&again, o));
		json_t *second = report_to_json(&again);
		ck_assert(json_equal(o, second));
		assert_same_report(&again, &r);
		json_decref(o);
		json_decref(second);
		report_release(&r);
		report_release(&again);
	}
}

/* Takes out, and then replaces by a list, the n-th member anywhere in the object; false when there is no n-th. */
static bool spoil(json_t *o, int *n, bool take)
{
	void *next;
	const char *key;
	json_t *value;
	json_object_foreach_safe(o, next, key, value)
	{
		if (!(*n)--) {
			if (take)
				json_object_del(o, key);
			else
				json_object_set_new(o, key, json_array());
			return true;
		}
		json_t *below = json_is_array(value) ? json_array_get(value, 0) : value;
		if (json_is_object(below) && spoil(below, n, take))
			return true;
	}
	return false;
}

START_TEST(test_json_spoiled)
{
	struct report r, again;
	int refused = 0;
	const struct plan *p = made_plan("mlp:sizes=20-30-10 dp ranks=4 micro_batch=4");
	fill_report(&r, p, true);
	for (int take = 0; take < 2; take++)
		for (int i = 0;; i++) {
			json_t *o = report_to_json(&r);
			int n = i;
			bool spoiled = spoil(o, &n, take);
			enum status s = spoiled ? report_from_json(&again, o) : STATUS_OK;
			char *text = json_dumps(o, 0);
			json_decref(o);
			/* an empty list is a list: of losses, or of roles */
			bool still_right = !take && (strstr(text, "\"losses\": []") || strstr(text, "\"roles\": []"));
			if (spoiled && s != (still_right ? STATUS_OK : STATUS_RUN))
				ck_abort_msg("%d, status %d: %s", i, s, text);
			free(text);
			report_release(&again);
			if (!spoiled)
				break;
			refused++;
		}
	ck_assert_int_gt(refused, 100);
	report_release(&r);
	ck_assert_int_eq(report_from_json(&again, NULL), STATUS_RUN);
}

SUITE("report", 60)
