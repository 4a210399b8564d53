/* Models and strategies by their numbers, every one worked out by hand or taken from a paper: how many parameters, what
 * is kept, what is sent, what is gathered when. Ψ of `gpt` in fp32 is 4 · 4,837,376 = 19,349,504 bytes; its units are
 * six blocks of 789,760 elements and a root of 98,816; all divide by 8, so nothing is padded unless a test says so. */
#include <stdio.h>
#include <string.h>

#include "strategy/plan/order.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

#define PSI INT64_C(19349504)
enum { BLOCK = 789760, ROOT = 98816 };

/* ---- models ---- */

static const struct {
	const char *specification;
	int64_t parameters;
	int units;
} models[] = {
        {"mlp", 1863690, 3},
        {"mlp:sizes=784-32-10", 784 * 32 + 32 + 32 * 10 + 10, 2},
        {"gpt", 4837376, 7},
        {"gpt:layers=2,width=32,heads=2,context=16", 256 * 32 + 16 * 32 + 2 * (12 * 32 * 32 + 13 * 32) + 64, 3},
        {"gpt2-124m", 124439808, 13},
        {"gpt2-355m", 354823168, 25},
        {"gpt2-774m", 774030080, 37},
        {"gpt2-1558m", 1557611200, 49},
        /* 96 · (12·12288² + 13·12288) + (50257 + 2048 + 2) · 12288 */
        {"gpt3-175b", 174604259328, 97},
        {"gpt2", 124439808, 13},
        {"gpt2-xl", 1557611200, 49},
        /* OPT-1.3B (Zhang et al. 2022), whose positions begin at 2 */
        {"gpt:layers=24,width=2048,heads=32,context=2050,vocabulary=50272", 1315758080, 25},
        {"params=7.5e9", 7500000000, 1},
        {"params=10:units=3", 10, 3},
};

START_LOOP_TEST(models_have_their_parameters, 0, (int)(sizeof models / sizeof *models))
{
	struct model m;
	int64_t tensors = 0, units = 0;
	ck_assert_int_eq(model_open(&m, models[_i].specification, 0), STATUS_OK);
	ck_assert_int_eq(m.parameters, models[_i].parameters);
	ck_assert_int_eq(m.unit_count, models[_i].units);
	for (int t = 0; t < m.tensor_count; t++)
		tensors += m.tensors[t].elements;
	for (int u = 0; u < m.unit_count; u++)
		units += m.units[u].elements;
	ck_assert_int_eq(tensors, m.parameters);
	ck_assert_int_eq(units, m.parameters);
	model_release(&m);
}

START_TEST(tied_head_is_used_twice)
{
	struct model m;
	ck_assert_int_eq(model_open(&m, "gpt", 0), STATUS_OK);
	ck_assert_str_eq(m.tensors[0].name, "wte.weight");
	for (int t = 0; t < m.tensor_count; t++)
		ck_assert_int_eq(m.tensors[t].uses, t ? 1 : 2);
	ck_assert_int_eq(m.units[0].elements, ROOT);
	ck_assert_int_eq(m.units[6].elements, BLOCK);
	model_release(&m);
}

/* ---- memory: the table of the ZeRO paper ---- */

START_TEST(zero_paper_table_1)
{
	static const struct {
		const char *stage, *strategy;
		double whole, shared; /* bytes a parameter, and those that are divided by N */
	} stages[] = {{"Pos", "zero1", 4, 12}, {"Pos+g", "zero2", 2, 14}, {"Pos+g+p", "zero3", 0, 16}};
	char line[256], name[32], stage[16];
	FILE *f = fopen("tests/golden/zero_paper_table1.csv", "r");
	int rows = 0;
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
	for (; fgets(line, sizeof line, f); rows++) {
		double parameters, printed;
		int ranks, s = 0;
		ck_assert_int_eq(
		        sscanf(line, "%31[^,],%lf,%d,%15[^,],%*[^,],%lf,", name, &parameters, &ranks, stage, &printed),
		        5);
		while (s < 3 && strcmp(stages[s].stage, stage))
			s++;
		ck_assert_int_lt(s, 3);
		s = s < 3 ? s : 0; /* for readers that do not know that the line above ends the test */
		const struct plan *p =
		        made_plan("params=%.0f %s ranks=%d precision=bf16", parameters, stages[s].strategy, ranks);
		double states = (double)plan_model_states(p, 0);
		double formula = parameters * (stages[s].whole + stages[s].shared / (double)ranks);
		ck_assert_msg(states >= formula - 0.5 && states <= formula + 16 * (double)ranks,
		              "%s on %d ranks, %s: %.0f bytes instead of %.0f", name, ranks, stage, states, formula);
		/* the column is rounded to 0.001 GB */
		ck_assert_double_eq_tol(states / 1e9, printed, 0.00051);
	}
	fclose(f);
	ck_assert_int_eq(rows, 54);
}

START_TEST(model_states_on_64_ranks_are_exact)
{
	static const struct {
		const char *strategy;
		int64_t bytes;
	} want[] = {{"ddp", 120000000000},
	            {"zero1", 31406250000},
	            {"zero2", 16640625000},
	            {"zero3", 1875000000},
	            {"fsdp", 1875000000}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		for (int units = 1; units <= 2; units++) {
			const struct plan *p =
			        made_plan("%s %s ranks=64 precision=bf16",
			                  units == 1 ? "params=7.5e9" : "params=7.5e9:units=2", want[i].strategy);
			ck_assert_int_eq(plan_model_states(p, 63), want[i].bytes);
		}
}

/* fp32: no master weights; SGD: no moments. Bytes a parameter of `gpt` on 4 ranks. */
START_TEST(model_states_by_precision_and_optimizer)
{
	static const struct {
		const char *strategy;
		double adamw, sgd, mixed, mixed_sgd;
	} want[] = {{"ddp", 16, 8, 16, 8},
	            {"zero1", 8 + 2, 8, 4 + 3, 4 + 1},
	            {"zero2", 4 + 3, 5, 5.5, 3.5},
	            {"zero3", 4, 2, 4, 2}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		for (int k = 0; k < 4; k++) {
			double bytes = k == 0   ? want[i].adamw
			               : k == 1 ? want[i].sgd
			               : k == 2 ? want[i].mixed
			                        : want[i].mixed_sgd;
			const struct plan *p = made_plan("gpt %s ranks=4 precision=%s optimizer=%s", want[i].strategy,
			                                 k < 2 ? "fp32" : "fp16", k % 2 ? "sgd" : "adamw");
			ck_assert_int_eq(plan_model_states(p, 0), (int64_t)(bytes * 4837376));
		}
}

START_TEST(root_of_dp_has_it_all)
{
	const struct plan *p = made_plan("gpt dp ranks=4");
	ck_assert_int_eq(p->role_count, 2);
	ck_assert_int_eq(plan_model_states(p, 0), 4 * PSI);
	for (int rank = 1; rank < 4; rank++)
		ck_assert_int_eq(plan_model_states(p, rank), 0);
	/* a worker's replica, and its gradients */
	ck_assert_int_eq(plan_most_live(&p->roles[1], "replica", "replica.g"), 4837376);
	ck_assert_int_eq(plan_most_live(&p->roles[1], "replica.gradients", NULL), 4837376);
}

/* With buckets that are small beside the model: ZeRO-2 holds whole ones for a while. */
START_TEST(peaks_fall_from_stage_to_stage)
{
	static const char *const strategies[] = {"ddp", "zero1", "zero2", "zero3"};
	static const char *const names[] = {"gpt", "mlp:sizes=784-512-512-512-512-512-512-10"};
	for (int model = 0; model < 2; model++)
		for (int64_t ranks = 2; ranks <= 8; ranks *= 2) {
			int64_t before = INT64_MAX;
			for (int i = 0; i < 4; i++) {
				struct memory_use use;
				const struct plan *p = made_plan("%s %s ranks=%d bucket=1048576", names[model],
				                                 strategies[i], (int)ranks);
				plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
				ck_assert_msg(use.peak_bytes < before, "%s %s on %d ranks: %lld bytes", names[model],
				              strategies[i], (int)ranks, (long long)use.peak_bytes);
				before = use.peak_bytes;
			}
		}
}

/* ---- buckets ---- */

START_TEST(buckets_of_gpt2_are_pytorchs)
{
	/* From the end: ln_f (768 twice), h.11.mlp.c_proj (768 + 2,359,296): 9.4 MB is past the first limit of 1 MiB.
	 * Then 25 MiB, 6,553,600 elements: from c_fc of a block to mlp.c_proj of the one before, 7,087,872 elements in
	 * twelve tensors. What is left: h.0 up to c_fc, wpe, wte. */
	const struct plan *p = made_plan("gpt2-124m ddp ranks=4");
	ck_assert_int_eq(p->group_count, 13);
	for (int g = 0; g < 13; g++) {
		int64_t want = g == 0 ? 2361600 : g < 12 ? 7087872 : 44111616;
		ck_assert_int_eq(p->groups[g].elements, want);
		ck_assert_int_eq(p->groups[g].tensor_count, g ? 12 : 4);
	}
	int next = p->model->tensor_count - 1;
	for (int g = 0; g < 13; g++)
		for (int t = 0; t < p->groups[g].tensor_count; t++)
			ck_assert_int_eq(p->groups[g].tensors[t], next--);
	ck_assert_int_eq(next, -1);
}

START_TEST(buckets_close_at_their_limit)
{
	/* mlp 784-32-10, from the end: 10, 320, 32, 25088 elements: 40, 1280, 128, 100352 bytes */
	static const struct {
		const char *settings;
		int count;
		int64_t elements[4];
	} want[] = {{"bucket=40", 4, {10, 320, 32, 25088}},
	            {"bucket=41", 3, {330, 32, 25088}},
	            {"bucket=1320", 2, {330, 25120}},
	            {"bucket=1321", 2, {362, 25088}},
	            {"bucket=1448", 2, {362, 25088}},
	            {"bucket=1449", 1, {25450}},
	            {"bucket=660 precision=bf16", 2, {330, 25120}},
	            {"bucket=661 precision=bf16", 2, {362, 25088}},
	            {"", 1, {25450}},
	            {"bucket=1", 4, {10, 320, 32, 25088}}};
	for (int i = 0; i < COUNT(want); i++) {
		const struct plan *p = made_plan("mlp:sizes=784-32-10 zero1 ranks=2 %s", want[i].settings);
		ck_assert_int_eq(p->group_count, want[i].count);
		for (int g = 0; g < want[i].count; g++)
			ck_assert_int_eq(p->groups[g].elements, want[i].elements[g]);
	}
}

/* The first bucket is 1 MiB, 262,144 elements, and not a million bytes, 250,000. */
START_TEST(the_first_bucket_is_a_mebibyte)
{
	static const struct {
		const char *model;
		int count;
		int64_t first;
	} want[] = {{"mlp:sizes=784-500-500-10", 1, 648010},  /* 10 + 5,000 + 500 + 250,000 do not fill it */
	            {"mlp:sizes=784-510-510-10", 2, 265720}}; /* 10 + 5,100 + 510 + 260,100 do */
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const struct plan *p = made_plan("%s ddp ranks=2", want[i].model);
		ck_assert_int_eq(p->group_count, want[i].count);
		ck_assert_int_eq(p->groups[0].elements, want[i].first);
	}
}

/* ---- what is gathered, and when ---- */

static int find_op(const struct role *r, enum op_kind kind, int unit, enum pass pass)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == kind && r->ops[i].unit == unit && r->ops[i].pass == pass)
			return i;
	ck_abort_msg("no such operation");
	return -1;
}

/* Under ZeRO-3 and FSDP the root stays for a whole pass, and beside it there is the block at work and the next. */
START_TEST(gathers_obey_their_settings)
{
	static const struct {
		const char *strategy;
		int64_t live; /* most parameters gathered at once */
		int gathers;  /* of 14, one a unit in each pass */
	} want[] = {
	        {"zero3", ROOT + 2 * BLOCK, 14},
	        {"fsdp", ROOT + 2 * BLOCK, 14},
	        {"zero3:prefetch=0", ROOT + BLOCK, 14},
	        {"fsdp:prefetch=0", ROOT + BLOCK, 14},
	        {"zero3:prefetch=1", ROOT + 2 * BLOCK, 14}, /* no bucket is too small for the next unit */
	        {"fsdp:prefetch=1", ROOT + 2 * BLOCK, 14},
	        {"zero3:prefetch=789760", ROOT + 2 * BLOCK, 14},
	        {"zero3:prefetch=789761", ROOT + 3 * BLOCK, 14},
	        {"zero3:prefetch=2369280", ROOT + 4 * BLOCK, 14},
	        {"zero3:prefetch=2369280:live=1579520", ROOT + 2 * BLOCK,
	         14}, /* two blocks; the root counts as it begins */
	        {"zero3:prefetch=2369280:live=1579521", ROOT + 3 * BLOCK, 14},
	        {"zero3:prefetch=0:live=1579521", ROOT + BLOCK, 14},
	        /* Each of a block's 6 modules fetches so much, whatever is on its way: a block, or at last more than
	           one. */
	        {"zero3:prefetch=131626:live=3000000", ROOT + 2 * BLOCK, 14},
	        {"zero3:prefetch=131627:live=3000000", ROOT + 4 * BLOCK, 14},
	        {"zero3:live=0", ROOT + BLOCK, 14},
	        {"zero3:reuse=1", ROOT + 2 * BLOCK, 13},     /* the root is used again at once */
	        {"zero3:reuse=98816", ROOT + 2 * BLOCK, 13}, /* block 5 after the root's 98,816 */
	        {"zero3:reuse=98817", ROOT + 2 * BLOCK, 12},
	        {"zero3:reuse=1678336", ROOT + 2 * BLOCK, 12}, /* block 4 after block 5 twice and the root */
	        {"zero3:reuse=1678337", ROOT + 2 * BLOCK, 11},
	        {"zero3:reuse=7996416", ROOT + 5 * BLOCK, 8}, /* block 0 after the other five twice and the root */
	        {"zero3:reuse=7996417", ROOT + 6 * BLOCK, 7},
	        {"fsdp:reshard=no", ROOT + 6 * BLOCK, 7},
	        {"zero3:secondary=2", ROOT + 2 * BLOCK, 14},
	        {"fsdp:prefetch=two", ROOT + 3 * BLOCK, 14},
	        {"fsdp:prefetch=two:backward=unit", ROOT + 3 * BLOCK, 14},
	        {"fsdp:prefetch=all:backward=none", ROOT + 6 * BLOCK, 14},
	        {"fsdp:prefetch=0:backward=unit", ROOT + 2 * BLOCK, 14},
	        {"fsdp:prefetch=0:backward=post", ROOT + BLOCK, 14},
	};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const struct plan *p = made_plan("gpt %s ranks=4", want[i].strategy);
		const struct role *r = &p->roles[0];
		ck_assert_msg(plan_moved(p, 0, TRAFFIC_ALL_GATHER).calls == want[i].gathers, "%s: %d gathers",
		              want[i].strategy, (int)plan_moved(p, 0, TRAFFIC_ALL_GATHER).calls);
		int64_t live = plan_most_live(r, "gathered.", "gathered.gradients");
		ck_assert_msg(live == want[i].live, "%s: %lld gathered elements instead of %lld", want[i].strategy,
		              (long long)live, (long long)want[i].live);
		/* gradients: the root's from head to embedding, the block's at work, and the two on their way */
		live = plan_most_live(r, "gathered.gradients", NULL);
		ck_assert_msg(live <= ROOT + 3 * BLOCK && live >= ROOT + 2 * BLOCK, "%s: %lld gathered gradients",
		              want[i].strategy, (long long)live);
	}
}

START_TEST(next_unit_is_fetched_meanwhile)
{
	struct order o;
	const struct plan *p = made_plan("gpt zero3 ranks=4");
	const struct role *r = &p->roles[0];
	order_make(&o, r, &r->step);
	for (int block = 1; block < 6; block++) {
		int gather = find_op(r, OP_ALL_GATHER, block + 1, PASS_FORWARD);
		int before = find_op(r, OP_LINEAR_FORWARD, block, PASS_FORWARD);
		int at_work = find_op(r, OP_LINEAR_FORWARD, block + 1, PASS_FORWARD);
		ck_assert(!order_before(&o, gather, before) && !order_before(&o, before, gather));
		ck_assert(order_before(&o, gather, at_work));
		/* its bytes may be those of the unit before last, which must be done with */
		if (block > 1)
			ck_assert(order_before(&o, find_op(r, OP_LINEAR_FORWARD, block - 1, PASS_FORWARD), gather));
	}
	order_release(&o);
}

static int find_reduction(const struct role *r, int group)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == OP_REDUCE_SCATTER && r->ops[i].group == group)
			return i;
	ck_abort_msg("no such reduction");
	return -1;
}

/* `backward`: the gather of the next unit stands before a unit's reduction or behind it, and waits for its kernels or
 * not. */
START_TEST(backward_gathers_stand_where_they_are_asked_for)
{
	static const struct {
		const char *strategy;
		bool before_reduction, before_kernels;
	} want[] = {{"fsdp", true, true},
	            {"fsdp:prefetch=0:backward=unit", true, true},
	            {"hybrid:shard=2:backward=post", true, false},
	            {"fsdp:backward=post", true, false},
	            {"fsdp:backward=none", false, false}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct order o;
		const struct plan *p = made_plan("gpt %s ranks=4", want[i].strategy);
		const struct role *r = &p->roles[0];
		order_make(&o, r, &r->step);
		for (int unit = 1; unit < 6; unit++) { /* the unit after it in the backward pass; 0 is the root */
			int gather = find_op(r, OP_ALL_GATHER, unit, PASS_BACKWARD);
			int kernels = find_op(r, OP_LINEAR_BACKWARD, unit + 1, PASS_BACKWARD);
			ck_assert_msg((gather < find_reduction(r, unit + 1)) == want[i].before_reduction, "%s, unit %d",
			              want[i].strategy, unit);
			ck_assert_msg(order_before(&o, kernels, gather) != want[i].before_kernels, "%s, unit %d",
			              want[i].strategy, unit);
		}
		order_release(&o);
	}
}

START_LOOP_TEST(buckets_leave_during_backward, 0, 3)
{
	static const enum op_kind kinds[] = {OP_ALL_REDUCE, OP_REDUCE_SCATTER, OP_REDUCE_SCATTER};
	static const char *const strategies[] = {"ddp", "zero1", "zero2"};
	struct order o;
	const struct plan *p = made_plan("gpt %s ranks=4 bucket=1048576", strategies[_i]);
	const struct role *r = &p->roles[0];
	order_make(&o, r, &r->step);
	int first = r->step.begin, last_backward = find_op(r, OP_EMBEDDING_BACKWARD, 0, PASS_BACKWARD);
	while (r->ops[first].kind != kinds[_i])
		first++;
	ck_assert_int_lt(first, last_backward);
	/* neither waits for the other, but the update does */
	ck_assert(!order_before(&o, first, last_backward) || _i == 2);
	ck_assert(!order_before(&o, last_backward, first));
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == OP_ADAMW && r->ops[i].group == 0)
			ck_assert(order_before(&o, first, i));
	order_release(&o);
}

SUITE("strategies", 0)
