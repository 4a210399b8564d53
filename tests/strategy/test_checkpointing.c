/* Activation checkpointing: what plans keep, to the byte, and how many checkpoints. (test_recompute.c: what they make
 * again; test_checkpointing_switches.c: DeepSpeed's further settings.) */
#include <stdio.h>
#include <string.h>

#include "strategy/trace/report.h"
#include "tests/strategy/checkpointing_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

/* ---- what is kept ---- */

/* The formulas of checkpointing.h. */
START_TEST(a_block_keeps_what_the_formula_says)
{
	static const char *const modes[] = {"none", "selective", "full"};
	static const enum type types[] = {TYPE_FP32, TYPE_BF16};
	int64_t sb = (int64_t)SAMPLES * TOKENS, sbh = sb * WIDTH;
	for (int mode = 0; mode < 3; mode++)
		for (int type = 0; type < 2; type++) {
			int64_t w = type_bytes(types[type]);
			int64_t want = mode == 0   ? w * 16 * sbh + 4 * sb * (HEADS + 4)
			               : mode == 1 ? w * 15 * sbh + 4 * sb * 4
			                           : w * sbh;
			const struct plan *p =
			        right_plan("%s zero3 ranks=2 micro_batch=%d precision=%s activation_checkpointing=%s",
			                   small, SAMPLES, type_name(types[type]), modes[mode]);
			const struct role *r = &p->roles[0];
			for (int unit = 2; unit <= LAYERS; unit++)
				ck_assert_int_eq(alive_after(r, end_of_forward(r, unit)) -
				                         alive_after(r, end_of_forward(r, unit - 1)),
				                 want);
		}
}

/* A Llama's saved values: hidden 44, 4 heads of 8 elements that share 2 heads of keys. */
START_TEST(a_block_of_llama_keeps_what_the_formula_says)
{
	static const char *const modes[] = {"none", "selective", "full"};
	const int64_t sb = (int64_t)SAMPLES * TOKENS, h = 32, q = 32, k = 16, f = 44;
	for (int mode = 0; mode < 3; mode++)
		for (int norm = 0; norm < 2; norm++) {
			int64_t more = norm ? q + 2 * k : 0;
			int64_t want = mode == 0   ? 2 * sb * (4 * h + 2 * q + 2 * k + 3 * f + more) + 4 * sb * (4 + 2)
			               : mode == 1 ? 2 * sb * (4 * h + q + 2 * k + 3 * f + more) + 8 * sb
			                           : 2 * sb * h;
			const struct plan *p =
			        right_plan("llama:layers=4,width=32,heads=4,kv_heads=2,hidden=44,context=16,"
			                   "qk_norm=%s zero3 ranks=2 micro_batch=%d precision=bf16 "
			                   "activation_checkpointing=%s",
			                   norm ? "yes" : "no", SAMPLES, modes[mode]);
			const struct role *r = &p->roles[0];
			for (int unit = 2; unit <= LAYERS; unit++)
				ck_assert_int_eq(alive_after(r, end_of_forward(r, unit)) -
				                         alive_after(r, end_of_forward(r, unit - 1)),
				                 want);
		}
}

/* ---- attention by way of matrices, and dropout ---- */

/* From the plan: what is alive at the end of a block's forward pass, less what was at the end of the one before. */
static int64_t stored_by_a_layer(const struct plan *p)
{
	const struct role *r = &p->roles[0];
	int64_t bytes = alive_after(r, end_of_forward(r, 2)) - alive_after(r, end_of_forward(r, 1));
	ck_assert_int_eq(alive_after(r, end_of_forward(r, 3)) - alive_after(r, end_of_forward(r, 2)), bytes);
	return bytes;
}

START_TEST(activations_match_korthikanti)
{
	char line[512], name[32], mode[32];
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
		int64_t stored = stored_by_a_layer(right_plan(
		        "gpt:layers=3,width=%lld,heads=%lld,context=%lld,vocabulary=512,attention=standard,dropout=0.1 "
		        "%s ranks=%lld micro_batch=%lld precision=%s activation_checkpointing=%s",
		        h, a, s,
		        sequence ? "tensor:sequence=yes"
		        : tensor ? "tensor"
		                 : "single",
		        tensor ? t : 1, b, rows % 2 ? "bf16" : "fp16", checkpointing));
		ck_assert_msg(stored == bytes, "%s, %s: %lld bytes instead of %lld", name, mode, (long long)stored,
		              bytes);
		rows++;
	}
	fclose(f);
	ck_assert_int_eq(read, 24);
	ck_assert_int_eq(rows, 24);
}

/* sbh(34 + 5as/h) in its parts (section 4.1): attention 11sbh + 5as²b, MLP 19sbh, norms 4sbh. */
START_TEST(dropout_masks_are_counted)
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
		int64_t stored =
		        stored_by_a_layer(right_plan("gpt:layers=3,width=%d,heads=%d,context=%d,%s zero3 ranks=2 "
		                                     "micro_batch=%d precision=bf16 activation_checkpointing=%s",
		                                     WIDTH, HEADS, TOKENS, want[i].keys, SAMPLES, want[i].mode));
		ck_assert_msg(stored == want[i].sbh * s * b * h + want[i].ssab * a * s * s * b, "%s, %s: %lld bytes",
		              want[i].keys, want[i].mode, (long long)stored);
	}
}

/* Any one operation taken out is refused; and what drops must drop as much as the model says. */
START_LOOP_TEST(standard_attention_is_verified, 0, 3)
{
	static const char *const modes[] = {"none", "full", "selective"};
	struct plan *p = right_plan("gpt:layers=2,width=8,heads=2,context=4,attention=standard,dropout=0.25 zero3 "
	                            "ranks=2 activation_checkpointing=%s",
	                            modes[_i]);
	struct role *r = &p->roles[0];
	must_need_every_op(p);
	for (int i = 0; i < r->op_count; i++) {
		if (!op_has_scale(r->ops[i].kind))
			continue;
		double scale = r->ops[i].scale;
		ck_assert(r->ops[i].kind == OP_CLASSIFIER || scale == (i < r->step.end ? 1 / 0.75 : 1));
		r->ops[i].scale = 1.25;
		ck_assert_int_eq(plan_verify(p, NULL), STATUS_REFUSED);
		r->ops[i].scale = scale;
	}
}

/* torchtitan's Llama keeps of a block, with h the width, f the hidden one, q and k those of all heads: its input, the
 * results of wq and wv, of attention, and of w1; w2's is the next block's input here. Joined layers are kept in as many
 * blocks as those are parts of them. */
START_TEST(selected_operations_keep_every_second_product)
{
	enum { W = 64, F = 176, K = 32, T = 16, BLOCKS = 12, HEADS_ALL = 4 };
	/* Eager, w2's result is a tensor of its own beside the next block's input: of all blocks but the last, which is
	 * still at work, with SwiGLU's result and the residual stream before it. */
	static const char *const kernels[] = {"fused", "eager"};
	for (int eager = 0; eager < 2; eager++) {
		const struct plan *p =
		        right_plan("llama:layers=%d,width=%d,hidden=%d,heads=%d,kv_heads=2,context=%d ddp ranks=2 "
		                   "micro_batch=1 precision=bf16 activation_checkpointing=operations "
		                   "as=shardlab:kernels=%s",
		                   BLOCKS, W, F, HEADS_ALL, T, kernels[eager]);
		const struct role *r = &p->roles[0];
		int64_t kept = alive_after(r, end_of_forward(r, BLOCKS)) - 2 * T * W - (int64_t)T * 8;
		int64_t share = (W + K) * BLOCKS / (W + 2 * K);
		int64_t own = eager ? (BLOCKS - 1) * W + F + W : 0;
		ck_assert_int_eq(kept, (int64_t)T * (BLOCKS * (2 * (W + W + F) + 4 * HEADS_ALL) +
		                                     share * 2 * (W + 2 * K) + 2 * own));
	}
}

/* ---- how many ---- */

/* At the end of the forward pass: as many checkpoints as there are segments, and no more. */
START_TEST(number_of_checkpoints_kept)
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
		const struct plan *p = right_plan("%s ddp ranks=2 micro_batch=%d activation_checkpointing=%s", small,
		                                  SAMPLES, want[i].mode);
		const struct role *r = &p->roles[0];
		int64_t sbh = (int64_t)SAMPLES * TOKENS * WIDTH, kept = 0;
		/* beside them the last block's output, the tokens and the targets */
		kept = alive_after(r, end_of_forward(r, LAYERS)) - 4 * sbh - (int64_t)SAMPLES * TOKENS * 8;
		ck_assert_msg(kept == want[i].checkpoints * 4 * sbh, "%s: %lld bytes are kept", want[i].mode,
		              (long long)kept);
	}
}

/* full:one_in=K: blocks K, 2K, … are made again, and of the others all is kept, as without checkpointing. */
static int64_t kept_with(const char *setting)
{
	const struct plan *p =
	        right_plan("%s ddp ranks=2 micro_batch=%d activation_checkpointing=%s", small, SAMPLES, setting);
	return alive_after(&p->roles[0], end_of_forward(&p->roles[0], LAYERS));
}

START_TEST(one_block_in_so_many)
{
	static const struct {
		const char *setting;
		int checkpointed;
	} want[] = {{"full:one_in=1", 4}, {"full:one_in=2", 2}, {"full:one_in=3", 1}, {"full:one_in=4", 1}};
	int64_t none = kept_with("none"), saves = (none - kept_with("full")) / LAYERS;
	for (int i = 0; i < COUNT(want); i++)
		ck_assert_int_eq(kept_with(want[i].setting), none - want[i].checkpointed * saves);
}

static void assert_reported(const struct plan *p, int checkpoints)
{
	ck_assert_int_eq(report_planned(p)->checkpointing.checkpoints, checkpoints);
}

/* The number reported is that of the roles' distinct checkpoints: each stage has its own, while the root of `dp` and
 * its workers have the same. The strategy's name in a plan's text does not count. */
START_TEST(number_of_checkpoints_reported)
{
	static const struct {
		const char *plan;
		int checkpoints;
	} want[] = {
	        {"single", 4}, {"ddp ranks=2", 4}, {"dp ranks=3", 4}, {"pipeline ranks=4", 4}, {"tensor ranks=2", 4}};
	for (int i = 0; i < COUNT(want); i++) {
		struct plan *p = made_plan("%s %s activation_checkpointing=full", small, want[i].plan);
		assert_reported(p, want[i].checkpoints);
		p->strategy = "pipeline";
		assert_reported(p, want[i].checkpoints);
	}
	/* more ranks than the model has layers */
	struct plan *p = made_plan("mlp:sizes=4-5-3 ddp ranks=8 activation_checkpointing=full");
	p->strategy = "pipeline";
	assert_reported(p, 2);
}

SUITE("checkpointing", 0)
