/* Trainer's arguments as settings. What the file does not say is Trainer's default. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "strategy/base/keys.h"
#include "strategy/recipe/reader.h"
#include "strategy/recipe/trainer.h"
#include "strategy/settings/software.h"

#define FSDP "fsdp_config."

static bool is_text(const struct tree *v, const char *word)
{
	return v && v->kind == TREE_TEXT && !strcasecmp(v->text, word);
}

static double real(const struct recipe *r, const char *path, double otherwise)
{
	const struct tree *v = recipe_find(r, path);
	double x;
	return v && tree_real(v, &x) ? x : otherwise;
}

static void take_whole(struct recipe *r, enum setting i, const char *path, int64_t otherwise)
{
	const struct tree *v = recipe_find(r, path);
	int64_t n = recipe_whole(r, path, otherwise);
	if (n < 1 || n > SETTING_LARGE)
		recipe_bar(r, v, "%s: %s is not above 0", path, tree_shown(&r->arena, v));
	else
		recipe_set(r, i, v, "%" PRId64, n);
}

/* ---- which arguments do something ---- */

const char *trainer_without(const struct recipe *r, const struct recipe_key *k)
{
	static const char of_version_1[] = "fsdp_config.backward_prefetch|fsdp_config.forward_prefetch|"
	                                   "fsdp_config.limit_all_gathers";
	if (!strncmp(k->path, FSDP, strlen(FSDP)) && !trainer_shards(r))
		return "without fsdp";
	if (word_find(of_version_1, k->path) >= 0 && trainer_fsdp_version(r) == 2)
		return "in version 2";
	if (strstr(k->path, "sync_each_batch") && recipe_find(r, "deepspeed"))
		return "with deepspeed";
	if (!strncmp(k->path, "ddp_", 4) && (trainer_shards(r) || recipe_find(r, "deepspeed")))
		return "without DDP";
	return NULL;
}

/* ---- precision ---- */

static void take_precision(struct recipe *r)
{
	const struct tree *bf16 = recipe_find(r, "bf16"), *fp16 = recipe_find(r, "fp16");
	bool is_bf16 = recipe_flag(r, "bf16", false), is_fp16 = recipe_flag(r, "fp16", false);
	const struct tree *from = is_bf16 ? bf16 : is_fp16 ? fp16 : bf16 ? bf16 : fp16;
	recipe_set(r, SETTING_PRECISION, from, "%s", is_bf16 ? "bf16" : is_fp16 ? "fp16" : "fp32");
	for (int i = 0; i < 2; i++) {
		const struct tree *other = i ? bf16 : fp16;
		if (other && other != from)
			recipe_say(r, other, "not this precision");
	}
	if ((is_bf16 || is_fp16) && !trainer_shards(r) && !recipe_find(r, "deepspeed"))
		recipe_autocast(r, from, is_bf16 ? "bf16" : "fp16", is_bf16 ? TYPE_BF16 : TYPE_FP16);
}

/* ---- what ranks do ---- */

/* Gradients travel with the last micro-batch alone, unless sync_each_batch: "" or ":sync=last" of FSDP. DDP's plan has
 * no other way. */
static const char *take_sync(struct recipe *r, bool whole)
{
	static const char path[] = "accelerator_config.gradient_accumulation_kwargs.sync_each_batch";
	const struct tree *v = recipe_find(r, path);
	bool each = recipe_flag(r, path, false), several = recipe_whole(r, "gradient_accumulation_steps", 1) > 1;
	if (!several)
		recipe_say(r, v, "nothing, with one micro-batch");
	else if (!whole)
		recipe_say(r, v, "sync=%s", each ? "every" : "last");
	else if (each)
		recipe_bar(r, v, "%s: true cannot be said here of DDP, which reduces the last micro-batch; FSDP can",
		           path);
	else
		recipe_say(r, v, "as here");
	return several && !whole && !each ? ":sync=last" : "";
}

/* A given bucket is the first one's size too. Accelerate does not hand on what is its default. */
static void take_ddp(struct recipe *r)
{
	enum { PYTORCH_BUCKET_MB = 25 };
	const struct tree *bucket = recipe_find(r, "ddp_bucket_cap_mb");
	int64_t n = recipe_whole(r, "ddp_bucket_cap_mb", 0);
	recipe_set(r, SETTING_STRATEGY, NULL, r->question.ranks == 1 ? "single" : "ddp");
	take_sync(r, true);
	if (bucket && (n < 1 || n > 1 << 20))
		recipe_bar(r, bucket, "ddp_bucket_cap_mb: %s is no size of a bucket", tree_shown(&r->arena, bucket));
	else if (bucket)
		recipe_set(r, SETTING_BUCKET, bucket, "%" PRId64, n == PYTORCH_BUCKET_MB ? 0 : n << 20);
	if (n == PYTORCH_BUCKET_MB)
		recipe_say(r, bucket, "the default: the first bucket has 1 MiB");
}

/* The strategy that a word of fsdp, or reshard_after_forward in version 1, is here; NULL: none. */
static const char *strategy_of(const char *word)
{
	static const char *const names[][2] = {{"full_shard", "fsdp"},
	                                       {"shard_grad_op", "fsdp:reshard=no"},
	                                       {"no_shard", "ddp"},
	                                       {"hybrid_shard", ""},
	                                       {"hybrid_shard_zero2", ""}};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strcasecmp(word, names[i][0]))
			return names[i][1];
	return NULL;
}

struct fsdp_words {
	const char *strategy; /* here; "": it cannot be said; NULL: no word says it */
	bool offload;
};

static struct fsdp_words read_words(const struct recipe *r)
{
	struct fsdp_words w = {.strategy = NULL};
	char word[64];
	for (int i = 0; trainer_word(recipe_find(r, "fsdp"), i, word, sizeof word); i++) {
		const char *strategy = strategy_of(word);
		w.strategy = strategy ? strategy : w.strategy;
		w.offload |= !strcmp(word, "offload");
	}
	return w;
}

static void take_sharding(struct recipe *r, const struct fsdp_words *words)
{
	const struct tree *v = recipe_find(r, FSDP "reshard_after_forward"), *fsdp = recipe_find(r, "fsdp");
	const char *strategy = words->strategy;
	struct fsdp_policy policy = {.path = FSDP "auto_wrap_policy",
	                             .usual = "TRANSFORMER_BASED_WRAP",
	                             .classes = FSDP "transformer_layer_cls_to_wrap",
	                             .least = FSDP "min_num_params",
	                             .version = trainer_fsdp_version(r)};
	const struct fsdp_order order = {FSDP "forward_prefetch", FSDP "backward_prefetch", FSDP "limit_all_gathers"};
	const char *units = fsdp_units(r, &policy), *saving = fsdp_saving(r, FSDP "state_dict_type", true);
	bool reshard;
	if (v && v->kind == TREE_TEXT && strategy_of(v->text))
		strategy = strategy_of(v->text);
	else if (v && tree_flag(v, &reshard))
		strategy = reshard ? "fsdp" : "fsdp:reshard=no";
	if (policy.kept && (!strategy || !strcmp(strategy, "fsdp")))
		strategy = "fsdp:reshard=no"; /* the root is not freed after its forward pass */
	bool whole = strategy && !strcmp(strategy, "ddp");
	const char *nothing = policy.version == 2 ? "nothing, in version 2"
	                      : *units            ? "nothing: the model is one unit"
	                      : whole             ? "nothing: no unit is gathered"
	                                          : NULL;
	const char *ahead = fsdp_order(r, &order, nothing), *sync = take_sync(r, whole);
	if (strategy && !*strategy)
		recipe_bar(r, v ? v : fsdp,
		           "fsdp: a hybrid strategy shards inside a machine, and these arguments do not say how many "
		           "ranks that has: give {strategy} hybrid:shard=K without the file's");
	else
		recipe_set(r, SETTING_STRATEGY, v ? v : fsdp, "%s%s", strategy ? strategy : "fsdp",
		           whole ? "" : arena_print(&r->arena, "%s%s%s%s", sync, units, ahead, saving));
	if (v)
		recipe_say(r, fsdp, "by fsdp_config");
}

static void take_fsdp(struct recipe *r)
{
	const struct fsdp_words words = read_words(r);
	const struct tree *offload = recipe_find(r, FSDP "cpu_offload"), *fsdp = recipe_find(r, "fsdp");
	bool to_host = recipe_flag(r, FSDP "cpu_offload", words.offload);
	int64_t version = trainer_fsdp_version(r);
	take_sharding(r, &words);
	recipe_set(r, SETTING_OFFLOAD,
	           offload         ? offload
	           : words.offload ? fsdp
	                           : NULL,
	           to_host ? "optimizer,parameters" : "none");
	recipe_say(r, recipe_find(r, FSDP "version"), version == 2 ? "fully_shard" : "FullyShardedDataParallel");
}

/* ---- activations ---- */

static void take_checkpointing(struct recipe *r)
{
	const struct tree *own = recipe_find(r, "activation_checkpointing"),
	                  *old = recipe_find(r, "gradient_checkpointing"),
	                  *fsdp = trainer_shards(r) ? recipe_find(r, FSDP "activation_checkpointing") : NULL;
	bool again = trainer_recomputes(r), by_fsdp = fsdp && recipe_flag(r, FSDP "activation_checkpointing", false);
	const struct tree *from = by_fsdp ? fsdp : own ? own : old ? old : fsdp;
	recipe_set(r, SETTING_CHECKPOINTING, from, again || by_fsdp ? "full" : "none");
	if (old && own)
		recipe_say(r, old, "nothing: activation_checkpointing says it");
	if (by_fsdp)
		recipe_say(r, own ? own : old, "fsdp_config says it");
	else if (from != fsdp)
		recipe_say(r, fsdp, "the argument says it");
	if (again && trainer_shards(r))
		recipe_note(
		        r, own ? own : old,
		        "with FSDP Trainer would rather have fsdp_config.activation_checkpointing: this one gathers "
		        "once more in the backward pass");
}

/* ---- the update ---- */

/* adamw_torch leaves the kernels to PyTorch, which takes foreach on a GPU: its square roots are memory. Under DeepSpeed
 * the update is what --as says of it. */
static void take_kernels(struct recipe *r, const struct tree *v)
{
	bool foreach = is_text(v, "adamw_torch");
	if (recipe_find(r, "deepspeed"))
		return;
	recipe_switch(r, v, SOFTWARE_UPDATE, foreach ? "foreach" : "inplace");
	if (foreach)
		recipe_note(
		        r, v,
		        "optim adamw_torch is PyTorch's foreach, which reads and writes state several times; here an "
		        "update takes the time of adamw_torch_fused");
}

static void take_optimizer(struct recipe *r)
{
	static const char adamw[] = "adamw_torch|adamw_torch_fused|adamw_torch_xla|adamw_torch_npu_fused";
	const struct tree *v = recipe_find(r, "optim");
	const char *name = v && v->kind == TREE_TEXT ? v->text : "adamw_torch_fused";
	bool is_sgd = !strcmp(name, "sgd");
	if (is_sgd || word_find(adamw, name) >= 0)
		recipe_set(r, SETTING_OPTIMIZER, v, is_sgd ? "sgd" : "adamw");
	else
		recipe_bar(r, v, "optim: %s keeps another state, and cannot be said here; adamw_torch and sgd can",
		           tree_shown(&r->arena, v));
	if (!is_sgd)
		take_kernels(r, v);
	recipe_set_real(r, SETTING_LEARNING_RATE, recipe_find(r, "learning_rate"), real(r, "learning_rate", 5e-5));
	recipe_take_decay(r, recipe_find(r, "weight_decay"), real(r, "weight_decay", 0));
	recipe_set_real(r, SETTING_CLIP, recipe_find(r, "max_grad_norm"), real(r, "max_grad_norm", 1));
}

/* The learning rate rises for warmup_steps, and under all types but constants falls until max_steps. */
static void take_schedule(struct recipe *r)
{
	const struct tree *steps = recipe_find(r, "max_steps"), *type = recipe_find(r, "lr_scheduler_type"),
	                  *warmup = recipe_find(r, "warmup_steps");
	int64_t all = recipe_whole(r, "max_steps", -1);
	double rise = real(r, "warmup_steps", 0);
	bool stays = is_text(type, "constant"), falls = !stays && !is_text(type, "constant_with_warmup");
	bool known = all > 0 && all <= SETTING_LARGE;
	if (rise > 0 && rise < 1 && known)
		rise = ceil((double)all * rise);
	if (stays || rise < 0 || rise > (double)SETTING_LARGE || (rise > 0 && rise < 1))
		recipe_say(r, warmup, stays ? "nothing, with a constant rate" : "with max_steps");
	else
		recipe_set(r, SETTING_WARMUP, warmup, "%" PRId64, (int64_t)rise);
	if (falls && known)
		recipe_set(r, SETTING_DECAY, steps, "%" PRId64, all);
	else
		recipe_say(r, steps, falls ? "by num_train_epochs" : "nothing: the rate stays");
	recipe_say(r, type, falls ? "{warmup}, {decay}" : stays ? "as here without {warmup}" : "{warmup}");
	if (falls && type && !is_text(type, "linear"))
		recipe_note(r, type, "lr_scheduler_type %s: only the learning rate, which falls linearly here",
		            tree_shown(&r->arena, type));
}

enum status take_trainer(struct recipe *r)
{
	take_whole(r, SETTING_MICRO_BATCH, "per_device_train_batch_size", 8);
	take_whole(r, SETTING_ACCUMULATE, "gradient_accumulation_steps", 1);
	take_precision(r);
	if (recipe_find(r, "deepspeed"))
		recipe_say(r, recipe_find(r, "fsdp"), trainer_shards(r) ? "" : "nothing");
	else if (trainer_shards(r))
		take_fsdp(r);
	else
		take_ddp(r);
	if (!trainer_shards(r) && recipe_find(r, "fsdp") && !recipe_find(r, "deepspeed"))
		recipe_say(r, recipe_find(r, "fsdp"), "no FSDP");
	take_checkpointing(r);
	take_optimizer(r);
	take_schedule(r);
	recipe_take_seed(r, "seed");
	return recipe_find(r, "deepspeed") ? trainer_follow(r) : STATUS_OK;
}
