/* A torchtitan configuration as settings. What the file does not say is torchtitan's default. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "strategy/base/keys.h"
#include "strategy/recipe/reader.h"
#include "strategy/settings/software.h"

#define PARALLELISM "parallelism."
#define TRAINING "training."
#define CHECKPOINTS "activation_checkpoint."

static bool is_text(const struct tree *v, const char *word)
{
	return v && v->kind == TREE_TEXT && !strcasecmp(v->text, word);
}

/* ---- the model ---- */

/* The model by the name that torchtitan has for it. */
static void take_flavor(struct recipe *r, const struct tree *at, const char *name, const char *flavor)
{
	const struct recipe_flavor *f = table_flavor(r->table, name, flavor);
	const char *otherwise = f ? f->otherwise : "", *model = f ? table_model(r->table, f) : "";
	if (*model)
		recipe_set(r, SETTING_MODEL, at, "%s", model);
	else if (f)
		recipe_bar(r, at, "model: %s %s is %s, which cannot be said here; {model} gives one in its place", name,
		           flavor, otherwise);
	else
		recipe_bar(r, at, "model: %.40s %.40s is not known here by this name: give {model}", name, flavor);
	if (*model && *otherwise)
		recipe_note(r, at, "model: there %s; here every token attends to all before it in its sample",
		            otherwise);
}

/* An argument stands for the file's model. */
static void take_model(struct recipe *r)
{
	const struct tree *name = recipe_find(r, "model.name"), *flavor = recipe_find(r, "model.flavor");
	const char *family = name && name->kind == TREE_TEXT ? name->text : "llama3";
	if (word_find(TORCHTITAN_EXPERIMENTS, family) >= 0)
		recipe_bar(r, name,
		           "model.name: %s is one of torchtitan's experiments, which shard in ways of their own",
		           family);
	else if (!r->question.model)
		take_flavor(r, flavor ? flavor : name, family,
		            flavor && flavor->kind == TREE_TEXT ? flavor->text : TORCHTITAN_FLAVOR);
	recipe_say(r, name, r->question.model ? "{model} says it" : "with model.flavor");
	if (r->question.model)
		recipe_say(r, flavor, "{model} says it");
}

/* ---- what ranks do ---- */

/* Ranks that are not counted yet are more than one, or nobody would write such a file. */
static bool is_sharded(const struct torchtitan_mesh *m)
{
	return m->shard != 1;
}

static bool is_resharded(const struct recipe *r, const struct torchtitan_mesh *m)
{
	const struct tree *v = recipe_find(r, PARALLELISM "fsdp_reshard_after_forward");
	return v && !is_text(v, "default") ? is_text(v, "always") : m->stages == 1;
}

static void take_shards(struct recipe *r, const struct torchtitan_mesh *m)
{
	const struct tree *shard = recipe_find(r, PARALLELISM "data_parallel_shard_degree"),
	                  *reshard = recipe_find(r, PARALLELISM "fsdp_reshard_after_forward");
	const struct tree *from = shard ? shard : recipe_find(r, PARALLELISM "data_parallel_replicate_degree");
	bool frees = is_resharded(r, m);
	const char *kept = frees ? "" : ":reshard=no";
	if (m->copies > 1 && m->shard)
		recipe_set(r, SETTING_STRATEGY, from, "hybrid:shard=%" PRId64 "%s", m->shard, kept);
	else if (m->copies > 1)
		recipe_say(r, from, "hybrid, by the number of ranks");
	else
		recipe_set(r, SETTING_STRATEGY, from ? from : reshard, "fsdp%s", kept);
	recipe_note(r, from ? from : reshard,
	            "torchtitan makes the embedding a unit of its own, and final norm with head another; here they are "
	            "one");
	recipe_say(r, reshard, frees ? "freed after the forward pass" : "reshard=no");
}

static void take_pipeline(struct recipe *r)
{
	static const char path[] = PARALLELISM "pipeline_parallel_schedule";
	const struct tree *v = recipe_find(r, path), *stages = recipe_find(r, PARALLELISM "pipeline_parallel_degree");
	if (!v || is_text(v, "1F1B"))
		recipe_set(r, SETTING_STRATEGY, stages, "pipeline");
	else if (is_text(v, "GPipe"))
		recipe_set(r, SETTING_STRATEGY, stages, "pipeline:schedule=gpipe");
	else
		recipe_bar(r, v, "%s: %s cannot be said here; 1F1B and GPipe can", path, tree_shown(&r->arena, v));
	recipe_say(r, v, "schedule");
}

/* DDP has buckets of 100 MiB there. */
static void take_copies(struct recipe *r)
{
	enum { TORCHTITAN_BUCKET = 100 << 20 };
	recipe_set(r, SETTING_STRATEGY, recipe_find(r, PARALLELISM "data_parallel_replicate_degree"), "ddp");
	recipe_set(r, SETTING_BUCKET, NULL, "%d", TORCHTITAN_BUCKET);
}

static void take_mesh(struct recipe *r, const struct torchtitan_mesh *m)
{
	const struct tree *tensor = recipe_find(r, PARALLELISM "tensor_parallel_degree");
	if ((m->tensor > 1) + (m->stages > 1) + (m->data > 1) > 1)
		recipe_bar(r, m->tensor > 1 ? tensor : recipe_find(r, PARALLELISM "pipeline_parallel_degree"),
		           "parallelism: data, tensor and pipeline parallelism together cannot be said here; one of "
		           "them can");
	else if (m->tensor > 1)
		recipe_set(r, SETTING_STRATEGY, tensor, "tensor:sequence=yes");
	else if (m->stages > 1)
		take_pipeline(r);
	else if (is_sharded(m))
		take_shards(r, m);
	else if (m->copies > 1)
		take_copies(r);
	else
		recipe_set(r, SETTING_STRATEGY, NULL, "single");
	if (m->copies > 1 && is_sharded(m))
		recipe_say(r, recipe_find(r, PARALLELISM "data_parallel_replicate_degree"), "the other ranks");
}

static void take_ranks(struct recipe *r, const struct torchtitan_mesh *m)
{
	const struct tree *shard = recipe_find(r, PARALLELISM "data_parallel_shard_degree");
	if (r->question.ranks)
		return;
	if (!m->shard) {
		recipe_note(r, shard,
		            PARALLELISM
		            "data_parallel_shard_degree is -1%s: FSDP over all ranks that the other degrees "
		            "leave; {ranks} N says how many there are",
		            shard ? "" : " by default");
		return;
	}
	recipe_set(r, SETTING_RANKS, shard, "%" PRId64, m->ranks);
	r->ranks_from = arena_print(&r->arena, "parallelism: %" PRId64 ", the product of its degrees", m->ranks);
}

/* Degrees of 1, and what others say of them. */
static void say_degrees(struct recipe *r)
{
	static const char *const keys[] = {"data_parallel_replicate_degree", "data_parallel_shard_degree",
	                                   "tensor_parallel_degree",         "pipeline_parallel_degree",
	                                   "pipeline_parallel_schedule",     "pipeline_parallel_microbatch_size",
	                                   "fsdp_reshard_after_forward"};
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const struct tree *v = recipe_find(r, arena_print(&r->arena, PARALLELISM "%s", keys[i]));
		if (v && !recipe_is_said(r, v))
			recipe_say(r, v, strstr(keys[i], "degree") ? "no such axis" : "nothing, without that axis");
	}
}

/* ---- samples ---- */

static void take_samples(struct recipe *r, const struct torchtitan_mesh *m)
{
	const struct tree *local = recipe_find(r, TRAINING "local_batch_size"),
	                  *global = recipe_find(r, TRAINING "global_batch_size"),
	                  *micro = recipe_find(r, PARALLELISM "pipeline_parallel_microbatch_size");
	int64_t samples = recipe_whole(r, TRAINING "local_batch_size", 8),
	        all = recipe_whole(r, TRAINING "global_batch_size", -1), times = 1;
	if (r->refusals.count || samples < 1)
		return;
	r->batch = all > 0 ? global : NULL;
	if (all > 0 && m->data)
		times = all / samples / m->data;
	if (m->stages > 1) {
		int64_t at_once = recipe_whole(r, PARALLELISM "pipeline_parallel_microbatch_size", 1);
		times *= samples / at_once;
		samples = at_once;
	}
	recipe_set(r, SETTING_MICRO_BATCH, m->stages > 1 && micro ? micro : local, "%" PRId64, samples);
	recipe_set(r, SETTING_ACCUMULATE, all > 0 ? global : m->stages > 1 ? local : NULL, "%" PRId64, times);
	recipe_set(r, SETTING_SEQUENCE, recipe_find(r, TRAINING "seq_len"), "%" PRId64,
	           recipe_whole(r, TRAINING "seq_len", 2048));
	if (global && all < 0)
		recipe_say(r, global, "no accumulation");
}

/* ---- precision ---- */

/* mixed_precision_reduce is float32, and nothing else. */
static void take_fp32_shards(struct recipe *r, const struct tree *v)
{
	const struct tree *reduce = recipe_find(r, TRAINING "mixed_precision_reduce");
	recipe_switch(r, reduce, SOFTWARE_GRADIENTS, "fp32");
	recipe_switch(r, v, SOFTWARE_WEIGHTS, "fp32");
}

static void take_precision(struct recipe *r, const struct torchtitan_mesh *m)
{
	const struct tree *v = recipe_find(r, TRAINING "mixed_precision_param");
	bool is_bf16 = !v || is_text(v, "bfloat16"), sharded = is_sharded(m);
	if (v && is_text(v, "float16"))
		recipe_bar(r, v,
		           TRAINING "mixed_precision_param: \"float16\" without a loss scale cannot be said "
		                    "here; bfloat16 and float32 can");
	recipe_set(r, SETTING_PRECISION, v, is_bf16 ? "bf16" : "fp32");
	if (is_bf16 && sharded)
		take_fp32_shards(r, v);
	else if (is_bf16)
		recipe_autocast(r, v, "mixed_precision_param without FSDP", TYPE_BF16);
}

/* ---- memory ---- */

static void take_cpu_offload(struct recipe *r, const struct torchtitan_mesh *m)
{
	static const char path[] = TRAINING "enable_cpu_offload";
	const struct tree *v = recipe_find(r, path);
	bool offload = recipe_flag(r, path, false);
	if (offload && !is_sharded(m))
		recipe_say(r, v, "nothing, without FSDP");
	else
		recipe_set(r, SETTING_OFFLOAD, v, offload ? "optimizer,parameters" : "none");
}

/* Layers of a mode that cannot be said: the user's own option says what is nearest. */
static void take_unsaid(struct recipe *r, const struct tree *from, const char *what)
{
	if (recipe_given(r, SETTING_CHECKPOINTING)) {
		recipe_say(r, from, "{activation_checkpointing} stands for it");
		recipe_note(r, from, "%s cannot be said here; {activation_checkpointing} %s stands for it", what,
		            recipe_given(r, SETTING_CHECKPOINTING));
		return;
	}
	recipe_say(r, from, "refused");
	recipe_bar(r, from,
	           "%s cannot be said here: give {activation_checkpointing} full, selective or none, whichever is "
	           "nearest",
	           what);
	r->barriers.list[r->barriers.count - 1].of_checkpointing = true;
}

/* Products that are made again by the shape of their weights. By default those of a router, which these models have
 * not. */
static void bar_shapes(struct recipe *r)
{
	static const char path[] = CHECKPOINTS "per_op_sac_force_recompute_mm_shapes_by_fqns";
	const struct tree *v = recipe_find(r, path);
	for (const struct tree *i = v && v->kind == TREE_LIST ? v->first : NULL; i; i = i->next)
		if (i->kind == TREE_TEXT && !is_text(i, "moe.router.gate")) {
			recipe_bar(r, v, "%s: which products are made again cannot be said here, but for every second",
			           path);
			return;
		}
}

/* By default every second block, counted from the first: blocks 2, 4, … are made again. */
static void take_selective(struct recipe *r, const struct tree *mode)
{
	const struct tree *v = recipe_find(r, CHECKPOINTS "selective_ac_option");
	int64_t every = 2;
	if (v && mode)
		recipe_say(r, mode, "by selective_ac_option");
	if (v && is_text(v, "op")) {
		recipe_set(r, SETTING_CHECKPOINTING, v, "operations");
		bar_shapes(r);
		return;
	}
	if (v && !tree_whole(v, &every))
		return;
	if (every <= 1)
		recipe_set(r, SETTING_CHECKPOINTING, v, "full");
	else
		recipe_set(r, SETTING_CHECKPOINTING, v ? v : mode, "full:one_in=%" PRId64, every);
}

static void take_checkpointing(struct recipe *r)
{
	const struct tree *mode = recipe_find(r, CHECKPOINTS "mode"),
	                  *option = recipe_find(r, CHECKPOINTS "selective_ac_option");
	bool selective = !mode || is_text(mode, "selective");
	if (selective)
		take_selective(r, mode);
	else if (is_text(mode, "memory_budget"))
		take_unsaid(r, mode, CHECKPOINTS "mode \"memory_budget\", what the compiler chooses,");
	else
		recipe_set(r, SETTING_CHECKPOINTING, mode, is_text(mode, "full") ? "full" : "none");
	if (option && !selective)
		recipe_say(r, option, "nothing, in this mode");
}

/* ---- the update ---- */

static double real(const struct recipe *r, const char *path, double otherwise)
{
	const struct tree *v = recipe_find(r, path);
	double x;
	return v && tree_real(v, &x) ? x : otherwise;
}

/* It has no other word for gradients that stay as they are. */
static void take_clip(struct recipe *r)
{
	const struct tree *v = recipe_find(r, TRAINING "max_norm");
	double most = real(r, TRAINING "max_norm", 1);
	recipe_set_real(r, SETTING_CLIP, v, isinf(most) ? 0 : most);
	if (isinf(most))
		recipe_note(r, v, TRAINING "max_norm inf: there the norm is computed all the same");
}

/* Until the last step, unless no part of the steps is for it. */
static void take_decay(struct recipe *r, const struct tree *until, int64_t last)
{
	const struct tree *ratio = recipe_find(r, "lr_scheduler.decay_ratio");
	bool falls = real(r, "lr_scheduler.decay_ratio", 1) > 0;
	recipe_set(r, SETTING_DECAY, falls ? until : ratio, "%" PRId64, falls ? last : 0);
	recipe_say(r, falls ? ratio : until, falls ? "only the learning rate" : "nothing: the rate stays");
}

/* A loop's square roots are of one tensor at a time, and foreach's of all. */
static void take_implementation(struct recipe *r)
{
	const struct tree *v = recipe_find(r, "optimizer.implementation");
	recipe_switch(r, v, SOFTWARE_UPDATE, is_text(v, "foreach") ? "foreach" : "inplace");
	if (v && !is_text(v, "fused"))
		recipe_note(r, v,
		            "optimizer.implementation %s reads and writes state several times there; here an update "
		            "takes the time of \"fused\"",
		            tree_shown(&r->arena, v));
}

static void take_update(struct recipe *r)
{
	const struct tree *name = recipe_find(r, "optimizer.name"), *steps = recipe_find(r, TRAINING "steps"),
	                  *total = recipe_find(r, "lr_scheduler.total_steps");
	int64_t last = recipe_whole(r, "lr_scheduler.total_steps", recipe_whole(r, TRAINING "steps", 10000)),
	        rise = recipe_whole(r, "lr_scheduler.warmup_steps", 200);
	recipe_set(r, SETTING_OPTIMIZER, name, "adamw");
	recipe_set_real(r, SETTING_LEARNING_RATE, recipe_find(r, "optimizer.lr"), real(r, "optimizer.lr", 8e-4));
	recipe_take_decay(r, recipe_find(r, "optimizer.weight_decay"), real(r, "optimizer.weight_decay", 0.1));
	take_clip(r);
	take_implementation(r);
	if (is_text(name, "Adam"))
		recipe_note(r, name, "weight decay is a part of the gradient there, and decoupled here");
	if (last < 0 || rise < 0 || last > SETTING_LARGE || rise > SETTING_LARGE) {
		recipe_bar(r, total ? total : steps, "this is no number of steps");
		return;
	}
	recipe_set(r, SETTING_WARMUP, recipe_find(r, "lr_scheduler.warmup_steps"), "%" PRId64,
	           rise < last ? rise : last);
	take_decay(r, total ? total : steps, last);
	if (total)
		recipe_say(r, steps, "lr_scheduler.total_steps says it");
}

enum status take_torchtitan(struct recipe *r)
{
	struct torchtitan_mesh m = torchtitan_mesh(r);
	take_model(r);
	take_ranks(r, &m);
	take_mesh(r, &m);
	take_samples(r, &m);
	say_degrees(r);
	take_precision(r, &m);
	take_cpu_offload(r, &m);
	take_checkpointing(r);
	take_update(r);
	recipe_take_seed(r, "debug.seed");
	return STATUS_OK;
}
