/* An Accelerate configuration as settings. It says what ranks do, and not which samples they take: these are options.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "strategy/base/number.h"
#include "strategy/recipe/reader.h"

#define FSDP "fsdp_config.fsdp_"
#define AXES "parallelism_config.parallelism_config_"

static bool is_text(const struct tree *v, const char *word)
{
	return v && v->kind == TREE_TEXT && !strcasecmp(v->text, word);
}

/* ---- precision ---- */

static enum type take_precision(struct recipe *r)
{
	static const enum type types[] = {TYPE_BF16, TYPE_FP16};
	const struct tree *v = recipe_find(r, "mixed_precision");
	enum type type = TYPE_FP32;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (is_text(v, type_name(types[i])))
			type = types[i];
	if (is_text(v, "fp8"))
		recipe_bar(r, v, "mixed_precision: fp8 cannot be said here; bf16, fp16 and no can");
	recipe_set(r, SETTING_PRECISION, v, "%s", type_name(type));
	return type;
}

/* ---- ranks ---- */

static int64_t take_ranks(struct recipe *r)
{
	const struct tree *v = recipe_find(r, "num_processes"), *machines = recipe_find(r, "num_machines");
	int64_t n = recipe_whole(r, "num_processes", 0);
	if (n < 1)
		return r->question.ranks;
	recipe_set(r, SETTING_RANKS, v, "%" PRId64, n);
	recipe_say(r, machines, "the cluster says it");
	r->ranks_from = arena_print(&r->arena, "num_processes: %" PRId64, n);
	return n;
}

/* ---- FSDP ---- */

/* A word, or the number that it is in PyTorch. */
static bool is_any(const struct tree *v, const char *word, const char *number)
{
	return is_text(v, word) || (v && tree_same(v, number));
}

/* A unit stays gathered from its forward to its backward pass. */
static bool is_zero2(const struct tree *v)
{
	return is_any(v, "SHARD_GRAD_OP", "2") || is_any(v, "HYBRID_SHARD_ZERO2", "5") ||
	       is_text(v, "_HYBRID_SHARD_ZERO2");
}

/* The keys of fsdp, or of hybrid, that all versions have. stays: the model is not freed after its forward pass. */
static const char *take_keys(struct recipe *r, bool alone, bool *stays)
{
	struct fsdp_policy policy = {.path = FSDP "auto_wrap_policy",
	                             .usual = "NO_WRAP",
	                             .classes = FSDP "transformer_layer_cls_to_wrap",
	                             .least = FSDP "min_num_params",
	                             .least_usual = 100000000,
	                             .version = recipe_whole(r, FSDP "version", 1)};
	const struct fsdp_order order = {FSDP "forward_prefetch", FSDP "backward_prefetch", NULL};
	const char *units = fsdp_units(r, &policy);
	bool no_shard = is_any(recipe_find(r, FSDP "sharding_strategy"), "NO_SHARD", "3");
	*stays = policy.kept;
	const char *nothing = policy.version == 2 ? "nothing, in version 2"
	                      : *units            ? "nothing: the model is one unit"
	                      : no_shard          ? "nothing: no unit is gathered"
	                                          : NULL;
	return arena_print(&r->arena, "%s%s%s", units, fsdp_order(r, &order, nothing),
	                   fsdp_saving(r, FSDP "state_dict_type", alone));
}

/* Copies of the model inside a group of ranks; 0: it is not said. */
static int64_t hybrid_group(struct recipe *r, int64_t ranks)
{
	int64_t shard = recipe_whole(r, AXES "dp_shard_size", 0), copies = recipe_whole(r, AXES "dp_replicate_size", 1);
	int64_t machines = recipe_whole(r, "num_machines", 1);
	const struct tree *strategy = recipe_find(r, FSDP "sharding_strategy");
	if (copies > 1 && shard > 1)
		return shard;
	if ((is_any(strategy, "HYBRID_SHARD", "4") || is_any(strategy, "HYBRID_SHARD_ZERO2", "5") ||
	     is_text(strategy, "_HYBRID_SHARD_ZERO2")) &&
	    ranks && machines > 0)
		return ranks / machines;
	return 0;
}

static void take_version1(struct recipe *r, int64_t ranks)
{
	const struct tree *v = recipe_find(r, FSDP "sharding_strategy");
	int64_t shard = hybrid_group(r, ranks);
	bool stays;
	const char *keys = take_keys(r, shard <= 1, &stays), *kept = is_zero2(v) || stays ? ":reshard=no" : "";
	if (is_any(v, "NO_SHARD", "3"))
		recipe_set(r, SETTING_STRATEGY, v, "ddp");
	else if (shard > 1)
		recipe_set(r, SETTING_STRATEGY, v, "hybrid:shard=%" PRId64 "%s%s", shard, kept, keys);
	else
		recipe_set(r, SETTING_STRATEGY, v, "fsdp%s%s", kept, keys);
}

static void take_version2(struct recipe *r, int64_t ranks)
{
	const struct tree *v = recipe_find(r, FSDP "reshard_after_forward");
	int64_t shard = hybrid_group(r, ranks);
	bool stays;
	const char *keys = take_keys(r, shard <= 1, &stays),
	           *kept = recipe_flag(r, FSDP "reshard_after_forward", true) ? "" : ":reshard=no";
	if (shard > 1)
		recipe_set(r, SETTING_STRATEGY, recipe_find(r, AXES "dp_shard_size"), "hybrid:shard=%" PRId64 "%s%s",
		           shard, kept, keys);
	else
		recipe_set(r, SETTING_STRATEGY, v, "fsdp%s%s", kept, keys);
	if (shard > 1)
		recipe_say(r, v, *kept ? "reshard=no" : "as here");
	recipe_say(r, recipe_find(r, AXES "dp_replicate_size"), "the other ranks");
}

static void take_fsdp(struct recipe *r, int64_t ranks)
{
	const struct tree *offload = recipe_find(r, FSDP "offload_params"),
	                  *checkpointing = recipe_find(r, FSDP "activation_checkpointing");
	int64_t version = recipe_whole(r, FSDP "version", 1);
	if (version == 2) {
		take_version2(r, ranks);
		recipe_say(r, recipe_find(r, FSDP "sharding_strategy"), "nothing, in version 2");
	} else {
		take_version1(r, ranks);
		recipe_say(r, recipe_find(r, FSDP "reshard_after_forward"), "nothing, in version 1");
	}
	recipe_say(r, recipe_find(r, FSDP "version"), version == 2 ? "fully_shard" : "FullyShardedDataParallel");
	recipe_set(r, SETTING_OFFLOAD, offload,
	           recipe_flag(r, FSDP "offload_params", false) ? "optimizer,parameters" : "none");
	recipe_set(r, SETTING_CHECKPOINTING, checkpointing,
	           recipe_flag(r, FSDP "activation_checkpointing", false) ? "full" : "none");
}

/* ---- DeepSpeed, in a few keys ---- */

static void take_zero(struct recipe *r, enum type type)
{
	enum { DEEPSPEED_BUCKET = 500000000 };
	static const char *const names[] = {"ddp", "zero1:overlap=no", "zero2:overlap=no",
	                                    "zero3:prefetch=50000000:live=1000000000:reuse=1000000000"};
	const struct tree *saves = recipe_find(r, "deepspeed_config.zero3_save_16bit_model");
	const struct tree *stage = recipe_find(r, "deepspeed_config.zero_stage"),
	                  *clip = recipe_find(r, "deepspeed_config.gradient_clipping"),
	                  *accumulate = recipe_find(r, "deepspeed_config.gradient_accumulation_steps");
	struct offload_devices d = {.stage = recipe_whole(r, "deepspeed_config.zero_stage", 2),
	                            .optimizer = recipe_find(r, "deepspeed_config.offload_optimizer_device"),
	                            .parameters = recipe_find(r, "deepspeed_config.offload_param_device")};
	double norm = 1;
	if (d.stage < 0 || d.stage > 3)
		return; /* its line says so */
	bool gathers = d.stage == 3 && recipe_flag(r, "deepspeed_config.zero3_save_16bit_model", false);
	recipe_set(r, SETTING_STRATEGY, stage, "%s%s", names[d.stage], gathers ? ":save=16bit" : "");
	recipe_say(r, saves, d.stage < 3 ? "nothing, below stage 3" : gathers ? "save=16bit" : "save=shards");
	/* DeepSpeedPlugin names no bucket in the configuration that it makes, so it is DeepSpeed's own in every stage;
	 * h² is for a file that says "auto" (accelerator.py, hidden_size_based_keys). */
	recipe_set(r, SETTING_BUCKET, NULL, "%" PRId64, DEEPSPEED_BUCKET * type_bytes(type));
	if (d.stage == 3)
		deepspeed_note_bucket(r, stage, DEEPSPEED_BUCKET * type_bytes(type));
	take_offload(r, &d);
	if (!clip || tree_is_auto(clip) || tree_real(clip, &norm))
		recipe_set_real(r, SETTING_CLIP, tree_is_auto(clip) ? NULL : clip, norm);
	if (accumulate && !tree_is_auto(accumulate))
		recipe_set(r, SETTING_ACCUMULATE, accumulate, "%" PRId64,
		           recipe_whole(r, "deepspeed_config.gradient_accumulation_steps", 1));
	if (tree_is_auto(clip))
		recipe_say(r, clip, "1, or {clip}");
	if (tree_is_auto(accumulate))
		recipe_say(r, accumulate, "{accumulate}");
}

/* The file says all of it; Accelerate fills in what is "auto". */
static enum status follow_file(struct recipe *r, const struct tree *file, int64_t ranks)
{
	struct recipe_question q = r->question;
	q.reader = RECIPE_TRANSFORMERS;
	q.ranks = ranks;
	recipe_say(r, file, "read below");
	return recipe_follow(r, file, &q);
}

/* ---- what ranks do ---- */

static void take_alike(struct recipe *r, const struct tree *v, const char *strategy, enum type type)
{
	recipe_set(r, SETTING_STRATEGY, v, "%s", strategy);
	if (type != TYPE_FP32)
		recipe_autocast(r, recipe_find(r, "mixed_precision"), "mixed_precision", type);
}

enum status take_accelerate(struct recipe *r)
{
	const struct tree *v = recipe_find(r, "distributed_type");
	const struct tree *file = recipe_find(r, "deepspeed_config.deepspeed_config_file");
	enum type type = take_precision(r);
	int64_t ranks = take_ranks(r);
	if (is_text(v, "FSDP") || is_text(v, "DEEPSPEED"))
		recipe_say(r, v, is_text(v, "FSDP") ? "by fsdp_config" : "by deepspeed_config");
	if (is_text(v, "FSDP"))
		take_fsdp(r, ranks);
	else if (is_text(v, "DEEPSPEED") && file)
		return follow_file(r, file, ranks);
	else if (is_text(v, "DEEPSPEED"))
		take_zero(r, type);
	else if (is_text(v, "NO") || (v && v->kind == TREE_FLAG))
		take_alike(r, v, ranks > 1 ? "ddp" : "single", type);
	else if (v && v->kind == TREE_TEXT && !strncmp(v->text, "MULTI_", 6))
		take_alike(r, v, "ddp", type);
	else if (v)
		recipe_bar(r, v, "distributed_type: %s cannot be said here; NO, MULTI_GPU, FSDP and DEEPSPEED can",
		           tree_shown(&r->arena, v));
	return STATUS_OK;
}
