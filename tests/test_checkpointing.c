/* Activation checkpointing: what plans keep, what they make again and when, and that no bit of a result changes. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "strategy/plan/order.h"
#include "strategy/trace/report.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/virtual_ranks.h"

enum { LAYERS = 4, WIDTH = 32, HEADS = 4, TOKENS = 16, SAMPLES = 3 };
static const char small[] = "gpt:layers=4,width=32,heads=4,context=16,vocabulary=50";

/* Bytes of activations alive after operation `at` of the step. */
static int64_t alive_after(const struct role *r, int at)
{
	int64_t bytes = 0;
	for (int i = r->step.begin; i <= at; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_M)
			continue;
		const struct buffer *b = &r->buffers[op->operand[0].buffer];
		if (b->category == CATEGORY_ACTIVATIONS)
			bytes += op->kind == OP_ALLOC ? buffer_bytes(b) : -buffer_bytes(b);
	}
	return bytes;
}

/* The last operation of a block's forward pass, with the frees that follow it. */
static int end_of_forward(const struct role *r, int unit)
{
	int last = -1;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].unit == unit && r->ops[i].pass == PASS_FORWARD && r->ops[i].kernel >= 0)
			last = i;
	ck_assert_int_ge(last, 0);
	while (r->ops[last + 1].kind == OP_FREE)
		last++;
	return last;
}

/* ---- what is kept ---- */

/* The formulas of checkpointing.h. */
START_TEST(a_block_keeps_what_the_formula_says)
{
	static const char *const modes[] = {"none", "selective", "full"};
	static const enum type types[] = {TYPE_FP32, TYPE_BF16};
	int64_t sb = (int64_t)SAMPLES * TOKENS, sbh = sb * WIDTH;
	for (int mode = 0; mode < 3; mode++)
		for (int type = 0; type < 2; type++) {
			struct made m;
			int64_t w = type_bytes(types[type]);
			int64_t want = mode == 0   ? w * 16 * sbh + 4 * sb * (HEADS + 4)
			               : mode == 1 ? w * 15 * sbh + 4 * sb * 4
			                           : w * sbh;
			must_open_verified(&m,
			                   &(struct request){small, "zero3", .ranks = 2, .micro_batch = SAMPLES,
			                                     .precision = types[type], .checkpointing = modes[mode]});
			const struct role *r = &m.plan.roles[0];
			for (int unit = 2; unit <= LAYERS; unit++)
				ck_assert_int_eq(alive_after(r, end_of_forward(r, unit)) -
				                         alive_after(r, end_of_forward(r, unit - 1)),
				                 want);
			made_release(&m);
		}
}
END_TEST

/* ---- attention by way of matrices, and dropout ---- */

/* From the plan: what is alive at the end of a block's forward pass, less what was at the end of the one before. */
static int64_t stored_by_a_layer(const struct request *q)
{
	struct made m;
	must_open_verified(&m, q);
	const struct role *r = &m.plan.roles[0];
	int64_t bytes = alive_after(r, end_of_forward(r, 2)) - alive_after(r, end_of_forward(r, 1));
	ck_assert_int_eq(alive_after(r, end_of_forward(r, 3)) - alive_after(r, end_of_forward(r, 2)), bytes);
	made_release(&m);
	return bytes;
}

START_TEST(korthikantis_vectors)
{
	char line[512], name[32], mode[32], model[128];
	int read = 0, rows = 0;
	FILE *f = fopen("tests/golden/activations.csv", "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f)) {
		long long a, s, h, b, t, bytes;
		if (line[0] == '#' || !strncmp(line, "model,", 6))
			continue;
		read++;
		ck_assert_int_eq(sscanf(line, "%31[^,],%lld,%lld,%lld,%lld,%lld,%31[^,],%lld", name, &a, &s, &h, &b, &t,
		                        mode, &bytes),
		                 8);
		bool tensor = !strncmp(mode, "TP8", 3), sequence = strstr(mode, "+SP") != NULL;
		const char *checkpointing = strstr(mode, "selective") ? "selective" : tensor ? "none" : mode;
		snprintf(
		        model, sizeof model,
		        "gpt:layers=3,width=%lld,heads=%lld,context=%lld,vocabulary=512,attention=standard,dropout=0.1",
		        h, a, s);
		int64_t stored = stored_by_a_layer(&(struct request){model,
		                                                     sequence ? "tensor:sequence=yes"
		                                                     : tensor ? "tensor"
		                                                              : "single",
		                                                     .ranks = tensor ? t : 1, .micro_batch = b,
		                                                     .precision = rows % 2 ? TYPE_BF16 : TYPE_FP16,
		                                                     .checkpointing = checkpointing});
		ck_assert_msg(stored == bytes, "%s, %s: %lld bytes instead of %lld", name, mode, (long long)stored,
		              bytes);
		rows++;
	}
	fclose(f);
	ck_assert_int_eq(read, 24);
	ck_assert_int_eq(rows, 24);
}
END_TEST

/* sbh(34 + 5as/h) in its parts (section 4.1): attention 11sbh + 5as²b, MLP 19sbh, norms 4sbh. */
START_TEST(dropout_has_its_part)
{
	static const struct {
		const char *keys, *mode;
		int sbh, ssab; /* bytes, of 16-bit activations */
	} want[] = {{"attention=standard,dropout=0.1", "none", 34, 5},
	            {"attention=standard,dropout=0.5", "none", 34, 5},
	            {"attention=standard", "none", 32, 2},
	            {"attention=standard,dropout=0.1", "selective", 34, 0},
	            {"attention=standard", "selective", 32, 0},
	            {"attention=standard,dropout=0.1", "full", 2, 0},
	            {"attention=standard,dropout=0.1", "every=3", 0, 0}};
	int64_t s = TOKENS, b = SAMPLES, a = HEADS, h = WIDTH;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		char model[128];
		snprintf(model, sizeof model, "gpt:layers=3,width=%d,heads=%d,context=%d,%s", WIDTH, HEADS, TOKENS,
		         want[i].keys);
		int64_t stored =
		        stored_by_a_layer(&(struct request){model, "zero3", .ranks = 2, .micro_batch = SAMPLES,
		                                            .precision = TYPE_BF16, .checkpointing = want[i].mode});
		ck_assert_msg(stored == want[i].sbh * s * b * h + want[i].ssab * a * s * s * b, "%s, %s: %lld bytes",
		              want[i].keys, want[i].mode, (long long)stored);
	}
}
END_TEST

/* Any one operation taken out is refused; and what drops must drop as much as the model says. */
START_TEST(standard_attention_is_verified)
{
	static const char *const modes[] = {"none", "full", "selective"};
	struct made m;
	must_open_verified(&m,
	                   &(struct request){"gpt:layers=2,width=8,heads=2,context=4,attention=standard,dropout=0.25",
	                                     "zero3", .ranks = 2, .checkpointing = modes[_i]});
	struct role *r = &m.plan.roles[0];
	for (int i = 0; i < r->op_count; i++) {
		struct plan mutant;
		plan_copy(&mutant, &m.plan);
		plan_drop_op(&mutant, 0, i);
		ck_assert_msg(plan_verify(&mutant, NULL) == STATUS_REFUSED, "%s: operation %d, %s, can be taken out",
		              modes[_i], i, op_name(r->ops[i].kind));
		plan_release(&mutant);
		if (!op_has_scale(r->ops[i].kind))
			continue;
		double scale = r->ops[i].scale;
		ck_assert(r->ops[i].kind == OP_CLASSIFIER || scale == (i < r->step.end ? 1 / 0.75 : 1));
		r->ops[i].scale = 1.25;
		ck_assert_int_eq(plan_verify(&m.plan, NULL), STATUS_REFUSED);
		r->ops[i].scale = scale;
	}
	made_release(&m);
}
END_TEST

/* ---- how many ---- */

/* At the end of the forward pass: as many checkpoints as there are segments, and no more. */
START_TEST(so_many_checkpoints_are_kept)
{
	static const struct {
		const char *mode;
		int checkpoints;
	} want[] = {{"full", 4},
	            {"every=1", 4},
	            {"every=2", 2},
	            {"every=3", 2},
	            {"every=4", 1},
	            {"full:number_checkpoints=4", 4},
	            {"full:number_checkpoints=3", 3},
	            {"full:number_checkpoints=2", 2},
	            {"full:number_checkpoints=1", 1}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct made m;
		must_open_verified(&m, &(struct request){small, "ddp", .ranks = 2, .micro_batch = SAMPLES,
		                                         .checkpointing = want[i].mode});
		const struct role *r = &m.plan.roles[0];
		int64_t sbh = (int64_t)SAMPLES * TOKENS * WIDTH, kept = 0;
		/* beside them the last block's output, the tokens and the targets */
		kept = alive_after(r, end_of_forward(r, LAYERS)) - 4 * sbh - (int64_t)SAMPLES * TOKENS * 8;
		ck_assert_msg(kept == want[i].checkpoints * 4 * sbh, "%s: %lld bytes are kept", want[i].mode,
		              (long long)kept);
		made_release(&m);
	}
}
END_TEST

static struct report report; /* large */

/* As many are reported as the roles have between them, by what they carry out: a stage has its own, the root of `dp`
 * and its workers the same; what a plan's text calls its strategy does not count. */
START_TEST(so_many_checkpoints_are_reported)
{
	static const struct {
		const char *strategy;
		int64_t ranks, checkpoints;
	} want[] = {{"single", 1, 4}, {"ddp", 2, 4}, {"dp", 3, 4}, {"pipeline", 4, 4}, {"tensor", 2, 4}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct made m;
		open_plan(&m,
		          &(struct request){small, want[i].strategy, .ranks = want[i].ranks, .checkpointing = "full"});
		report_from_plan(&report, &m.plan);
		ck_assert_int_eq(report.checkpointing.checkpoints, want[i].checkpoints);
		m.plan.strategy = "pipeline";
		report_from_plan(&report, &m.plan);
		ck_assert_int_eq(report.checkpointing.checkpoints, want[i].checkpoints);
		report_release(&report);
		made_release(&m);
	}
	/* more ranks than the model has layers */
	struct made m;
	open_plan(&m, &(struct request){"mlp:sizes=4-5-3", "ddp", .ranks = 8, .checkpointing = "full"});
	m.plan.strategy = "pipeline";
	report_from_plan(&report, &m.plan);
	ck_assert_int_eq(report.checkpointing.checkpoints, 2);
	report_release(&report);
	made_release(&m);
}
END_TEST

/* ---- what is made again ---- */

static int count_recomputed(const struct plan *p, int unit)
{
	int n = 0;
	for (int i = 0; i < p->roles[0].op_count; i++) {
		const struct op *op = &p->roles[0].ops[i];
		bool in_step = i >= p->roles[0].step.begin && i < p->roles[0].step.end;
		ck_assert(op->pass != PASS_RECOMPUTE || in_step);
		n += op->pass == PASS_RECOMPUTE && op->kernel >= 0 && (unit < 0 || op->unit == unit);
	}
	return n;
}

START_TEST(nothing_is_made_again_in_vain)
{
	static const struct {
		const char *model, *mode;
		int recomputed; /* kernels */
	} want[] = {{small, "none", 0},
	            {small, "full", 4 * 6}, /* all but a block's last */
	            {small, "every=2", 2 * 13},
	            {small, "every=4", 27},
	            {small, "selective", 4},          /* attention */
	            {"mlp:sizes=8-7-6-5", "full", 2}, /* the last layer has no GELU, so nothing to make again */
	            {"mlp:sizes=8-7-6-5", "every=2", 2},
	            {"mlp:sizes=8-5", "full", 0}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct made m;
		must_open_verified(&m, &(struct request){want[i].model, "ddp", .ranks = 2, .accumulate = 2,
		                                         .checkpointing = want[i].mode});
		ck_assert_int_eq(count_recomputed(&m.plan, -1), 2 * want[i].recomputed);
		made_release(&m);
	}
}
END_TEST

/* Before the first backward kernel of the segment, and after the last of what comes behind it. */
START_TEST(segments_are_made_again_just_before)
{
	struct made m;
	int unit = LAYERS + 1; /* the last that went backward */
	must_open_verified(&m, &(struct request){small, "fsdp", .ranks = 2, .checkpointing = "every=2"});
	const struct role *r = &m.plan.roles[0];
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kernel < 0 || op->unit == 0)
			continue;
		if (op->pass == PASS_RECOMPUTE) {
			ck_assert(unit % 2 == 1 && (op->unit - 1) / 2 == (unit - 3) / 2);
		} else if (op->pass == PASS_BACKWARD) {
			ck_assert(op->unit == unit || op->unit == unit - 1);
			unit = op->unit;
		}
	}
	ck_assert_int_eq(unit, 1);
	made_release(&m);
}
END_TEST

/* What is recomputed and goes backward next is gathered once for both; other units of a segment twice, unless the
 * strategy's own setting keeps them. */
START_TEST(gathers_serve_recomputing)
{
	static const struct {
		const char *strategy, *mode;
		int gathers; /* of 10 without */
	} want[] = {{"zero3", "none", 10},
	            {"zero3", "full", 10},
	            {"fsdp", "full", 10},
	            {"zero3", "selective", 10},
	            {"zero3", "every=2", 12},
	            {"fsdp", "every=2", 12},
	            {"fsdp", "every=4", 13},
	            {"zero3:prefetch=0", "every=4", 13},
	            {"zero3:reuse=1000000", "every=4", 5},
	            {"fsdp:reshard=no", "full", 5},
	            {"fsdp:reshard=no", "every=2", 5}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct made m;
		must_open_verified(
		        &m, &(struct request){small, want[i].strategy, .ranks = 2, .checkpointing = want[i].mode});
		ck_assert_msg(plan_moved(&m.plan, 0, TRAFFIC_ALL_GATHER).calls == want[i].gathers, "%s, %s: %d gathers",
		              want[i].strategy, want[i].mode, (int)plan_moved(&m.plan, 0, TRAFFIC_ALL_GATHER).calls);
		made_release(&m);
	}
}
END_TEST

/* ---- the switches ---- */

/* All checkpoints are parts of one buffer, apart from each other, and it lives from the first to the last. */
START_TEST(checkpoints_in_one_block)
{
	struct made m;
	int buffer = -1, alloc = -1, freed = -1, parts = 0;
	int64_t n = (int64_t)SAMPLES * TOKENS * WIDTH;
	bool seen[LAYERS] = {false};
	must_open_verified(&m, &(struct request){small, "ddp", .ranks = 2, .micro_batch = SAMPLES,
	                                         .checkpointing = "full:contiguous_memory_optimization=yes"});
	const struct role *r = &m.plan.roles[0];
	for (int i = 0; i < r->buffer_count; i++)
		if (!strcmp(r->buffers[i].name, "checkpoints"))
			buffer = i;
	ck_assert_int_ge(buffer, 0);
	ck_assert_int_eq(r->buffers[buffer].elements, LAYERS * n);
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->operand[0].buffer == buffer && op->kind == OP_ALLOC)
			alloc = i;
		if (op->operand[0].buffer == buffer && op->kind == OP_FREE)
			freed = i;
		for (int k = 0; k < op_operand_count(op->kind) && op_class(op->kind) != OP_CLASS_M; k++) {
			if (op->operand[k].buffer != buffer)
				continue;
			ck_assert(alloc >= 0 && freed < 0);
			ck_assert(op->operand[k].count == n && op->operand[k].offset % n == 0);
			if (op_access(op, k) == 'r')
				continue;
			parts++;
			ck_assert(op->pass == PASS_FORWARD && !seen[op->operand[k].offset / n]);
			seen[op->operand[k].offset / n] = true;
		}
	}
	ck_assert_int_eq(parts, LAYERS);
	ck_assert_int_gt(freed, alloc);
	made_release(&m);
}
END_TEST

/* Segments that begin to be made again when all collectives before them are done, and when not. */
static void count_meetings(const char *mode, int *met, int *not_met)
{
	struct made m;
	must_open_verified(&m, &(struct request){small, "ddp", .ranks = 2, .bucket = 1 << 12, .checkpointing = mode});
	const struct role *r = &m.plan.roles[0];
	int last_collective = -1;
	enum pass before = PASS_NONE;
	struct order o;
	*met = *not_met = 0;
	order_make(&o, r, &r->step);
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) == OP_CLASS_C)
			last_collective = i;
		if (op->kernel < 0)
			continue;
		if (op->pass == PASS_RECOMPUTE && before != PASS_RECOMPUTE && last_collective >= 0) {
			bool ordered = order_before(&o, last_collective, i);
			*met += ordered;
			*not_met += !ordered;
		}
		before = op->pass;
	}
	order_release(&o);
	made_release(&m);
}

START_TEST(queues_meet_at_boundaries)
{
	int met, not_met;
	count_meetings("full:synchronize_checkpoint_boundary=yes", &met, &not_met);
	ck_assert_int_eq(not_met, 0);
	ck_assert_int_ge(met, LAYERS - 1); /* before the last block nothing has been sent yet */
	count_meetings("full", &met, &not_met);
	ck_assert_int_ge(not_met, LAYERS - 1);
}
END_TEST

static int64_t peak_of(const struct plan *p)
{
	int64_t peak = 0;
	for (int i = 0; i < p->role_count; i++) {
		struct memory_use use;
		plan_memory(p, &p->roles[i], SPACE_DEVICE, &use);
		peak = use.peak_bytes > peak ? use.peak_bytes : peak;
	}
	return peak;
}

/* No number of checkpoints has a smaller peak than the one that was found, and numbers differ. */
START_TEST(auto_finds_the_least_peak)
{
	static const char *const strategies[] = {"single", "ddp", "zero3", "dp"};
	static const char *const models[] = {"gpt:layers=9,width=16,heads=4,context=64,vocabulary=50",
	                                     "mlp:sizes=8-40-40-40-40-40-40-40-40-8"};
	for (int model = 0; model < 2; model++) {
		struct made found, other;
		int64_t least = INT64_MAX, most = 0;
		struct request q = {models[model], strategies[_i], .ranks = _i ? 2 : 1, .micro_batch = 16,
		                    .checkpointing = "full:number_checkpoints=auto"};
		must_open_verified(&found, &q);
		for (int number = 1; number <= 9; number++) {
			char text[64];
			snprintf(text, sizeof text, "full:number_checkpoints=%d", number);
			q.checkpointing = text;
			must_open_verified(&other, &q);
			int64_t peak = peak_of(&other.plan);
			least = peak < least ? peak : least;
			most = peak > most ? peak : most;
			if (!strcmp(text, found.plan.settings.checkpointing))
				ck_assert_int_eq(peak, peak_of(&found.plan));
			made_release(&other);
		}
		ck_assert_msg(peak_of(&found.plan) == least && least < most,
		              "%s, %s: %s has a peak of %lld, the least is %lld", models[model], strategies[_i],
		              found.plan.settings.checkpointing, (long long)peak_of(&found.plan), (long long)least);
		ck_assert_ptr_null(strstr(found.plan.settings.checkpointing, "auto"));
		ck_assert_int_eq(found.plan.settings.checkpointing_tried, 9);
		made_release(&found);
	}
}
END_TEST

/* Every checkpoint goes to the host when its block is done, and comes back; nothing else does. */
START_TEST(checkpoints_on_the_host)
{
	struct made m;
	int64_t n = (int64_t)SAMPLES * TOKENS * WIDTH;
	int sent = 0, fetched = 0;
	struct memory_use host;
	must_open_verified(&m,
	                   &(struct request){small, strategy_at(_i)->name, .ranks = _i ? 2 : 1, .micro_batch = SAMPLES,
	                                     .accumulate = 2, .checkpointing = "full:cpu_checkpointing=yes"});
	const struct role *r = &m.plan.roles[m.plan.role_count - 1];
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind != OP_COPY)
			continue;
		sent += op->queue == QUEUE_DEVICE_TO_HOST;
		fetched += op->queue == QUEUE_HOST_TO_DEVICE;
		ck_assert_int_eq(op->operand[0].count, n);
	}
	ck_assert_int_eq(sent, 2 * LAYERS);
	ck_assert_int_eq(fetched, 2 * LAYERS);
	plan_memory(&m.plan, r, SPACE_HOST, &host);
	ck_assert_int_eq(host.peak_bytes, 4 * n * LAYERS);
	ck_assert_int_eq(host.at_peak[CATEGORY_ACTIVATIONS], host.peak_bytes);
	made_release(&m);
}
END_TEST

/* Each rank of a tensor group keeps a slice of every block's input, and has it whole while the block is at work. */
START_TEST(checkpoints_in_parts)
{
	struct made m, whole;
	enum { RANKS = 4 };
	int64_t n = (int64_t)SAMPLES * TOKENS * WIDTH;
	struct request q = {
	        small, "tensor", .ranks = RANKS, .micro_batch = SAMPLES, .accumulate = 2, .checkpointing = "full"};
	must_open_verified(&whole, &q);
	q.checkpointing = "full:partition_activations=yes";
	must_open_verified(&m, &q);
	const struct role *r = &m.plan.roles[0], *w = &whole.plan.roles[0];
	ck_assert_int_eq(plan_moved(&whole.plan, 0, TRAFFIC_ALL_GATHER).calls, 0);
	struct moved gathered = plan_moved(&m.plan, 0, TRAFFIC_ALL_GATHER);
	ck_assert_int_eq(gathered.calls, 2 * LAYERS);
	ck_assert_int_eq(gathered.payload, 2 * LAYERS * n * 4);
	ck_assert_int_eq(gathered.sent, 2 * LAYERS * n * 4 / RANKS * (RANKS - 1));
	/* in the second micro-batch as in the first: what is kept at the end of a forward pass */
	ck_assert_int_eq(alive_after(w, end_of_forward(w, LAYERS)) - alive_after(r, end_of_forward(r, LAYERS)),
	                 LAYERS * (n - n / RANKS) * 4);
	made_release(&m);
	made_release(&whole);
}
END_TEST

/* ---- the same result ---- */

static void run(struct request *q, const char *mode, struct virtual_run *out)
{
	struct made m;
	q->checkpointing = mode;
	must_open_verified(&m, q);
	virtual_ranks_run(&m.plan, 3, 0, out);
	made_release(&m);
}

START_TEST(no_bit_changes)
{
	static const char *const modes[] = {
	        "full",
	        "every=2",
	        "full:number_checkpoints=3",
	        "full:contiguous_memory_optimization=yes:synchronize_checkpoint_boundary=yes",
	        "every=2:cpu_checkpointing=yes:synchronize_checkpoint_boundary=yes",
	        "selective"};
	for (int model = 0; model < 2; model++)
		for (int accumulate = 1; accumulate <= 2; accumulate++) {
			struct request q = {model ? "mlp:sizes=5-4-7-3-6"
			                          : "gpt:layers=4,width=8,heads=2,context=5,vocabulary=7",
			                    strategy_at(_i)->name,
			                    .ranks = _i ? 2 : 1,
			                    .micro_batch = 2,
			                    .accumulate = accumulate,
			                    .learning_rate = 0.05};
			struct virtual_run plain, with;
			run(&q, "none", &plain);
			for (int mode = 0; mode < 6 - model; mode++) {
				run(&q, modes[mode], &with);
				ck_assert_msg(virtual_runs_equal(&plain, &with, 0), "%s, %s: another result",
				              q.strategy, modes[mode]);
				virtual_run_release(&with);
			}
			virtual_run_release(&plain);
		}
}
END_TEST

/* ---- the verifier ---- */

static int find_recompute(const struct role *r, enum op_kind kind)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].pass == PASS_RECOMPUTE && r->ops[i].kind == kind)
			return i;
	ck_abort_msg("no such operation");
	return -1;
}

/* Recomputed from another block's weights, or from another micro-batch: refused, with the rule's number. */
START_TEST(recomputing_something_else_is_refused)
{
	struct made m;
	must_open_verified(&m, &(struct request){small, "ddp", .ranks = 2, .accumulate = 2, .checkpointing = "full"});
	struct role *r = &m.plan.roles[0];
	struct op *op = &r->ops[find_recompute(r, OP_LINEAR_FORWARD)], old = *op;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].pass == PASS_FORWARD && r->ops[i].kind == op->kind && r->ops[i].kernel != op->kernel &&
		    r->ops[i].operand[1].count == op->operand[1].count)
			op->operand[1] = r->ops[i].operand[1];
	ck_assert(op->operand[1].offset != old.operand[1].offset);
	ck_assert_int_eq(plan_verify(&m.plan, NULL), STATUS_REFUSED);
	ck_assert_ptr_nonnull(strstr(status_message(), "rule 6 (version)"));
	*op = old;
	ck_assert_int_eq(plan_verify(&m.plan, NULL), STATUS_OK);
	op->micro = 1;
	ck_assert_int_eq(plan_verify(&m.plan, NULL), STATUS_REFUSED);
	ck_assert_ptr_nonnull(strstr(status_message(), "rule 7 (saved)"));
	made_release(&m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("checkpointing");
	TCase *tests = tcase_create("checkpointing");
	int strategies = 0;
	while (strategy_at(strategies))
		strategies++;
	tcase_add_test(tests, a_block_keeps_what_the_formula_says);
	tcase_add_test(tests, korthikantis_vectors);
	tcase_add_test(tests, dropout_has_its_part);
	tcase_add_loop_test(tests, standard_attention_is_verified, 0, 3);
	tcase_add_test(tests, so_many_checkpoints_are_kept);
	tcase_add_test(tests, so_many_checkpoints_are_reported);
	tcase_add_test(tests, nothing_is_made_again_in_vain);
	tcase_add_test(tests, segments_are_made_again_just_before);
	tcase_add_test(tests, gathers_serve_recomputing);
	tcase_add_test(tests, checkpoints_in_one_block);
	tcase_add_loop_test(tests, checkpoints_on_the_host, 0, strategies);
	tcase_add_test(tests, checkpoints_in_parts);
	tcase_add_test(tests, queues_meet_at_boundaries);
	tcase_add_loop_test(tests, auto_finds_the_least_peak, 0, 4);
	tcase_add_loop_test(tests, no_bit_changes, 0, strategies);
	tcase_add_test(tests, recomputing_something_else_is_refused);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
