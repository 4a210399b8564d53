/* The types of a DeepSpeed configuration: of products, and of gradients on their way and where they stay. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "strategy/recipe/reader.h"
#include "strategy/settings/software.h"

/* ---- precision ---- */

/* Trainer's arguments are fp16 and bf16, flags; ours is {precision}. */
static bool trainer_enables(struct recipe *r, const char *path, const char *name)
{
	const struct tree *v = recipe_find(r, path);
	const char *given = recipe_given(r, SETTING_PRECISION);
	bool asked = given && !strcmp(given, name), said = recipe_flag(r, path, false);
	if (!v)
		return false;
	if (tree_is_auto(v)) {
		recipe_say(r, v, asked ? "true" : "false, without {precision} %s", name);
		return asked;
	}
	if (given && said != asked)
		recipe_refuse(r, "Trainer", v, "%s %s disagrees with its argument: {precision} %s", path,
		              said ? "true" : "false", given);
	return said;
}

static bool enables(struct recipe *r, const char *path, const char *name)
{
	return r->reader == RECIPE_TRANSFORMERS ? trainer_enables(r, path, name) : recipe_flag(r, path, false);
}

static void take_loss_scale(struct recipe *r)
{
	const struct tree *fixed = recipe_find(r, "fp16.loss_scale");
	double scale;
	if (fixed && tree_real(fixed, &scale) && scale > 0) {
		recipe_bar(r, fixed,
		           "fp16.loss_scale %g: a loss scale that does not move cannot be said here; 0 moves it",
		           scale);
		return;
	}
	if (fixed)
		recipe_say(r, fixed, "it moves");
	const struct tree *power = recipe_find(r, "fp16.initial_scale_power");
	int64_t n = recipe_whole(r, "fp16.initial_scale_power", 16);
	if (n < -19 || n > 126)
		recipe_bar(r, power, "fp16.initial_scale_power %" PRId64 ": a loss scale is at most 2^126 here", n);
	else
		recipe_set(r, SETTING_LOSS_SCALE, power, "%.17g", ldexp(1, (int)n));
	recipe_set(r, SETTING_LOSS_SCALE_WINDOW, recipe_find(r, "fp16.loss_scale_window"), "%" PRId64,
	           recipe_whole(r, "fp16.loss_scale_window", 1000));
}

static void drop_loss_scale(struct recipe *r)
{
	static const char *const keys[] = {"fp16.loss_scale", "fp16.initial_scale_power", "fp16.loss_scale_window"};
	if (tree_is_auto(recipe_find(r, "fp16.enabled")))
		for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
			recipe_say(r, recipe_find(r, keys[i]), "nothing, without fp16");
}

/* Left to Trainer, whose arguments say neither. */
static void note_auto(struct recipe *r, const struct tree *fp16, const struct tree *bf16)
{
	const struct tree *v = tree_is_auto(bf16) ? bf16 : fp16;
	if (r->reader == RECIPE_TRANSFORMERS && tree_is_auto(v) && !recipe_given(r, SETTING_PRECISION))
		recipe_note(r, v,
		            "%s is Trainer's argument %s, which is false by default: fp32; {precision} gives another",
		            v == bf16 ? "bf16.enabled" : "fp16.enabled", v == bf16 ? "bf16" : "fp16");
}

static enum type take_precision(struct recipe *r)
{
	const struct tree *fp16 = recipe_find(r, "fp16.enabled"), *bf16 = recipe_find(r, "bf16.enabled");
	bool is_fp16 = enables(r, "fp16.enabled", "fp16"), is_bf16 = enables(r, "bf16.enabled", "bf16");
	const struct tree *from = is_bf16 ? bf16 : is_fp16 ? fp16 : NULL;
	enum type type = is_bf16 ? TYPE_BF16 : is_fp16 ? TYPE_FP16 : TYPE_FP32;
	recipe_set(r, SETTING_PRECISION, from, "%s", type_name(type));
	if (type == TYPE_FP32)
		note_auto(r, fp16, bf16);
	if (is_fp16)
		take_loss_scale(r);
	else
		drop_loss_scale(r);
	for (int i = 0; i < 2; i++) {
		const struct tree *other = i ? bf16 : fp16;
		if (tree_is_auto(other) && r->reader == RECIPE_DEEPSPEED)
			recipe_say(r, other, "false, the default");
		else if (other && other != from && !tree_is_auto(other))
			recipe_say(r, other, "not this precision");
	}
	return type;
}

/* DeepSpeed and PyTorch have several names for a type. */
static bool is_type(const struct tree *v, enum type type)
{
	static const char *const names[][4] = {[TYPE_FP32] = {"fp32", "float32", "float", "torch.float32"},
	                                       [TYPE_BF16] = {"bf16", "bfloat16", "torch.bfloat16", "bf16"},
	                                       [TYPE_FP16] = {"fp16", "float16", "half", "torch.float16"}};
	for (int i = 0; i < 4; i++)
		if (v->kind == TREE_TEXT && !strcasecmp(v->text, names[type][i]))
			return true;
	return false;
}

static bool updates_on_device(const struct recipe *r)
{
	const struct tree *v = recipe_find(r, "zero_optimization.offload_optimizer.device");
	bool elsewhere = v && v->kind == TREE_TEXT && strcmp(v->text, "none") != 0;
	return !elsewhere && !recipe_flag(r, "zero_optimization.cpu_offload", false);
}

/* In stage 3 gradients are written and travel in the precision, and a rank's shard is fp32 (partition_grads). Below it
 * all are fp32 from the moment on which they are made, and rounded for the way. */
static void take_kept(struct recipe *r, const struct tree *kept, enum type type, const char *kept_key)
{
	if (recipe_stage(r) == 3 && updates_on_device(r) && is_type(kept, TYPE_FP32))
		recipe_switch(r, kept, SOFTWARE_GRADIENTS, "kept");
	else
		recipe_bar(r, kept,
		           "%s: gradients that travel in %s and are kept in %.40s cannot be said here%s; with "
		           "communication_data_type fp32 they can",
		           kept_key, type_name(type), tree_shown(&r->arena, kept),
		           is_type(kept, TYPE_FP32) ? " below stage 3, nor with an offloaded optimizer" : "");
}

/* Types in which gradients travel and in which they are kept: here they have one, the precision's, or fp32
 * ({as} …:gradients=fp32). */
static void take_types(struct recipe *r, enum type type)
{
	static const char sent_key[] = "communication_data_type", kept_key[] = "data_types.grad_accum_dtype";
	const struct tree *sent = recipe_find(r, sent_key), *kept = recipe_find(r, kept_key);
	if (sent && !is_type(sent, type) && !is_type(sent, TYPE_FP32)) {
		recipe_bar(r, sent,
		           "%s: gradients travel in the type of {precision} here, %s, or in fp32, and not in %.40s",
		           sent_key, type_name(type), tree_shown(&r->arena, sent));
	} else if (sent && type != TYPE_FP32 && is_type(sent, TYPE_FP32)) {
		recipe_switch(r, sent, SOFTWARE_GRADIENTS, "fp32");
		if (!kept || !is_type(kept, TYPE_FP32))
			recipe_note(r, sent, "%s: gradients that are kept are %s there, and here fp32, as they travel",
			            sent_key, type_name(type));
		else
			recipe_say(r, kept, "as they travel");
		return;
	} else {
		recipe_say(r, sent, "as here");
	}
	if (kept && !is_type(kept, type))
		take_kept(r, kept, type, kept_key);
	else
		recipe_say(r, kept, "as here");
}

enum type deepspeed_types(struct recipe *r)
{
	enum type type = take_precision(r);
	take_types(r, type);
	return type;
}
