/* DeepSpeed's refusals of values that are each fine alone. */
#include <string.h>

#include "strategy/base/near.h"
#include "strategy/recipe/reader.h"

static const char *judge_of(const struct recipe *r)
{
	return recipe_judge(r->reader);
}

static void judge_precision(struct recipe *r)
{
	const struct tree *bf16 = recipe_find(r, "bf16.enabled");
	if (recipe_flag(r, "fp16.enabled", false) && recipe_flag(r, "bf16.enabled", false))
		recipe_refuse(r, judge_of(r), bf16, "fp16 and bf16 are both enabled");
}

static void judge_loss_scale(struct recipe *r)
{
	static const char *const keys[] = {"fp16.loss_scale_window", "fp16.min_loss_scale"};
	const struct tree *fixed = recipe_find(r, "fp16.loss_scale");
	double scale = 0;
	if (!recipe_flag(r, "fp16.enabled", false) || (fixed && tree_real(fixed, &scale) && scale != 0))
		return;
	for (int i = 0; i < 2; i++)
		if (recipe_whole(r, keys[i], 1) <= 0)
			recipe_refuse(r, judge_of(r), recipe_find(r, keys[i]),
			              "%s must be above 0 where the loss scale moves", keys[i]);
}

/* Settings that go with some stages alone. */
static void judge_stage(struct recipe *r)
{
	static const struct {
		const char *path;
		bool value;
		int from, to;
		const char *says;
	} rules[] = {
	        {"zero_optimization.compute_grad_norm", false, 1, 2, "false goes with stages 1 and 2"},
	        {"fp16.fp16_master_weights_and_grads", true, 1, 3, "true goes with stages 1, 2 and 3"},
	        {"bf16.bf16_master_weights_and_grads", true, 1, 3, "true goes with stages 1, 2 and 3"},
	        {"bf16.bf16_optimizer_states", true, 1, 3, "true goes with stages 1, 2 and 3"},
	};
	int64_t stage = recipe_stage(r);
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (recipe_flag(r, rules[i].path, !rules[i].value) == rules[i].value &&
		    (stage < rules[i].from || stage > rules[i].to))
			recipe_refuse(r, judge_of(r), recipe_find(r, rules[i].path), "%s: %s, and this is stage %d",
			              rules[i].path, rules[i].says, (int)stage);
}

static void judge_ratio(struct recipe *r)
{
	const struct tree *v = recipe_find(r, "zero_optimization.offload_optimizer.ratio");
	double ratio;
	if (v && tree_real(v, &ratio) && ratio < 1 && recipe_stage(r) != 3)
		recipe_refuse(r, judge_of(r), v, "zero_optimization.offload_optimizer.ratio below 1 goes with stage 3");
}

static void judge_sum(struct recipe *r)
{
	const struct tree *v = recipe_find(r, "gradient_allreduce_op");
	if (!v || v->kind != TREE_TEXT || strcmp(v->text, "sum") != 0)
		return;
	if (recipe_stage(r) == 3)
		recipe_refuse(r, judge_of(r), v, "gradient_allreduce_op sum does not go with stage 3");
	if (recipe_find(r, "zero_optimization.zenflow"))
		recipe_refuse(r, judge_of(r), v, "gradient_allreduce_op sum does not go with zenflow");
	if (recipe_flag(r, "compile.deepcompile", false))
		recipe_refuse(r, judge_of(r), v, "gradient_allreduce_op sum does not go with compile.deepcompile");
}

static void judge_states(struct recipe *r)
{
	if (recipe_flag(r, "bf16.bf16_optimizer_states", false) &&
	    !recipe_flag(r, "bf16.bf16_master_weights_and_grads", false))
		recipe_refuse(r, judge_of(r), recipe_find(r, "bf16.bf16_optimizer_states"),
		              "bf16.bf16_optimizer_states goes with bf16_master_weights_and_grads");
}

/* The engine looks for the class in its own lr_schedules, then in torch.optim.lr_scheduler (engine.py,
 * _scheduler_from_config). */
static void judge_scheduler(struct recipe *r)
{
	static const char *const known[] = {
	        "LRRangeTest",       "OneCycle",     "WarmupLR",          "WarmupDecayLR",
	        "WarmupCosineLR",    "LambdaLR",     "MultiplicativeLR",  "StepLR",
	        "MultiStepLR",       "ConstantLR",   "LinearLR",          "ExponentialLR",
	        "SequentialLR",      "PolynomialLR", "CosineAnnealingLR", "ChainedScheduler",
	        "ReduceLROnPlateau", "CyclicLR",     "OneCycleLR",        "CosineAnnealingWarmRestarts"};
	const struct tree *v = recipe_find(r, "scheduler.type");
	if (!v || v->kind != TREE_TEXT)
		return;
	struct near near = {.typed = v->text};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (!strcmp(v->text, known[i]))
			return;
		near_consider(&near, known[i]);
	}
	recipe_refuse(r, judge_of(r), v, "scheduler.type: neither DeepSpeed nor torch.optim.lr_scheduler has a %s%s",
	              tree_shown(&r->arena, v), near.name ? near_words(&near) : "");
}

/* Accelerate, which Trainer hands the file to, looks for the stage. */
static void judge_section(struct recipe *r)
{
	const struct tree *v = tree_find(r->file.root, "zero_optimization");
	if (r->reader != RECIPE_TRANSFORMERS)
		return;
	if (!v)
		recipe_refuse(r, "Trainer", NULL, "zero_optimization is missing, and Accelerate asks for it");
	else if (v->kind == TREE_FLAG)
		recipe_refuse(r, "Trainer", v, "zero_optimization: %s is not a section, { … }", v->text);
}

void judge_deepspeed(struct recipe *r)
{
	judge_precision(r);
	judge_loss_scale(r);
	judge_stage(r);
	judge_ratio(r);
	judge_sum(r);
	judge_states(r);
	judge_scheduler(r);
	judge_section(r);
}
