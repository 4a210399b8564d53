/* A DeepSpeed configuration as settings. What the file does not say is DeepSpeed's default, not ours. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "strategy/base/number.h"
#include "strategy/model/model.h"
#include "strategy/recipe/reader.h"
#include "strategy/settings/software.h"

static bool is_trainer(const struct recipe *r)
{
	return r->reader == RECIPE_TRANSFORMERS;
}

/* ---- values that Trainer fills in ---- */

/* The width of the model: transformers' hidden_size. 0: the model has none, or is not known. */
static enum status find_width(const struct recipe *r, int64_t *out)
{
	struct model m;
	*out = 0;
	if (!r->question.model)
		return STATUS_OK;
	TRY(model_open(&m, r->question.model, 0));
	for (int k = 0; k < m.kernel_count && !*out; k++)
		if (m.kernels[k].kind == KERNEL_EMBEDDING)
			*out = m.kernels[k].out;
	model_release(&m);
	return STATUS_OK;
}

/* A size that Hugging Face makes of the model's width h. */
struct sized {
	const char *path, *formula;
	double factor; /* of h², or of h */
	bool squared;
	int64_t otherwise; /* DeepSpeed's default */
};

/* -1: it takes a width that is not there, which is said. */
static int64_t sized_value(struct recipe *r, const struct sized *k, int64_t width)
{
	const struct tree *v = recipe_find(r, k->path);
	if (!tree_is_auto(v) || !is_trainer(r))
		return recipe_whole(r, k->path, k->otherwise);
	if (!width) {
		recipe_bar(r, v,
		           r->question.model ? "%s: \"auto\" is %s of the model's width, and this model has none"
		                             : "%s: \"auto\" is %s of the model's width: give {model}",
		           k->path, k->formula);
		recipe_say(r, v, "%s, with {model}", k->formula);
		return -1;
	}
	double h = (double)width;
	int64_t n = (int64_t)(k->factor * h * (k->squared ? h : 1));
	recipe_say(r, v, "%s = %" PRId64, k->formula, n);
	return n;
}

/* A number that the file or an argument says. Those that disagree are a refusal. */
struct argued {
	const char *path, *argument;
	enum setting setting;
	double otherwise; /* the argument's own default */
};

static double argued_value(struct recipe *r, const struct argued *k)
{
	const struct tree *v = recipe_find(r, k->path);
	const char *text = recipe_given(r, k->setting);
	double given = k->otherwise, said = 0;
	bool has = text && !number_real(text, "", 0, 1e30, &given);
	bool automatic = tree_is_auto(v);
	if (v && !automatic && tree_real(v, &said)) {
		if (has && said != given)
			recipe_refuse(r, "Trainer", v, "%s %g disagrees with its argument %s %g", k->path, said,
			              k->argument, given);
		return said;
	}
	if (automatic && !has)
		recipe_note(r, v, "%s is Trainer's default of %s: %g; %s gives another", k->path, k->argument, given,
		            recipe_option(r, k->setting));
	return given;
}

/* ---- strategy ---- */

/* By default stage 3 alone overlaps. Stage 0 reduces behind the backward pass, as one bucket of 5e8 elements does. */
static const char *take_overlap(struct recipe *r, int64_t stage)
{
	static const char path[] = "zero_optimization.overlap_comm";
	const struct tree *v = recipe_find(r, path);
	bool overlap = recipe_flag(r, path, stage == 3);
	if (stage)
		recipe_say(r, v, "overlap=%s", overlap ? "yes" : "no");
	else
		recipe_say(r, v, "nothing, in stage 0");
	return stage && !overlap ? ":overlap=no" : "";
}

/* Stage 2 adds up slices as they come, so there is nothing whole that an all-reduce could be made in. */
static const char *take_reduction(struct recipe *r, int64_t stage)
{
	static const char path[] = "zero_optimization.reduce_scatter";
	const struct tree *v = recipe_find(r, path);
	bool scatters = recipe_flag(r, path, true);
	if (stage == 1 || stage == 2)
		recipe_say(r, v, scatters ? "as here" : stage == 1 ? "reduce=all" : "refused");
	if (stage == 2 && !scatters)
		recipe_bar(r, v, "%s: false cannot be said here of stage 2; stage 1 can all-reduce", path);
	return stage == 1 && !scatters ? ":reduce=all" : "";
}

/* In its old spelling too, which DeepSpeed still reads. */
static const char *take_saving(struct recipe *r)
{
	static const char path[] = "zero_optimization.stage3_gather_16bit_weights_on_model_save",
	                  old[] = "zero_optimization.stage3_gather_fp16_weights_on_model_save";
	const struct tree *v = recipe_find(r, path), *old_one = recipe_find(r, old);
	bool gathers = recipe_flag(r, v ? path : old, false);
	if (gathers && recipe_whole(r, "zero_optimization.zero_hpz_partition_size", 1) > 1) {
		recipe_say(r, v ? v : old_one, "not in the figures");
		recipe_note(r, v ? v : old_one,
		            "%s: the weights that are gathered to be saved are not in the figures of secondary=K",
		            path);
		return "";
	}
	recipe_say(r, v ? v : old_one, "save=%s", gathers ? "16bit" : "shards");
	return gathers ? ":save=16bit" : "";
}

/* Above this share of the model, in %, figures without what stays whole would mislead. */
enum { PERSISTENT_MOST = 1 };

/* The share of the model that stands in tensors with fewer elements, in %; 0 without a model. */
static double persistent_share(const struct recipe *r, int64_t threshold)
{
	struct model m;
	int64_t n = 0;
	if (!r->question.model || model_open(&m, r->question.model, 0))
		return 0;
	for (int i = 0; i < m.tensor_count; i++)
		n += m.tensors[i].elements < threshold ? m.tensors[i].elements : 0;
	double share = 100 * (double)n / (double)m.parameters;
	model_release(&m);
	return share;
}

/* Whether the file says so or not: by default there are such tensors there. */
static void note_persistence(struct recipe *r, int64_t width)
{
	static const struct sized persistence = {"zero_optimization.stage3_param_persistence_threshold", "10 h", 10,
	                                         false, 100000};
	const struct tree *v = recipe_find(r, persistence.path);
	int64_t n = sized_value(r, &persistence, width);
	double share = persistent_share(r, n);
	if (n < 0 || recipe_is_wrong(r, v))
		return;
	recipe_say(r, v, n > 0 ? "not in the figures" : "as here");
	if (share >= PERSISTENT_MOST)
		recipe_bar(r, v,
		           "%s %" PRId64 ": %.0f %% of the model would stay whole on every rank, which cannot be said "
		           "here; a lower threshold can",
		           persistence.path, n, share);
	if (n <= 0 || share >= PERSISTENT_MOST)
		return;
	recipe_note(r, v,
	            "%s %" PRId64 "%s: tensors with fewer elements stay whole on every rank there%s; here they are "
	            "gathered with their unit",
	            persistence.path, n,
	            v && !tree_is_auto(v) ? ""
	            : v                   ? ", by \"auto\""
	                                  : ", the default",
	            share > 0 ? arena_print(&r->arena, ", %.2g %% of the model", share) : "");
}

static bool is_offloaded(const struct recipe *r, const char *device)
{
	const struct tree *v = recipe_find(r, device);
	return v && v->kind == TREE_TEXT && strcmp(v->text, "none") != 0;
}

/* ZeRO++'s second copy. It stays where the parameters stay there, and on the device here. */
static const char *take_secondary(struct recipe *r)
{
	const char *path = "zero_optimization.zero_hpz_partition_size";
	const struct tree *v = recipe_find(r, path);
	int64_t k = recipe_whole(r, path, 1);
	recipe_say(r, v, k > 1 ? "secondary=%" PRId64 : "as here: there is none", k);
	if (k > 1 && (is_offloaded(r, "zero_optimization.offload_param.device") ||
	              recipe_flag(r, "zero_optimization.cpu_offload_param", false)))
		recipe_bar(r, v, "%s: a second copy of offloaded parameters cannot be said here", path);
	return k > 1 ? arena_print(&r->arena, ":secondary=%" PRId64, k) : "";
}

/* With 0, each tensor is a piece. */
static const char *take_pieces(struct recipe *r)
{
	enum { DEEPSPEED_PIECE = 1000000000 };
	int64_t n = recipe_whole(r, "zero_optimization.sub_group_size", DEEPSPEED_PIECE);
	n = n ? n : 1;
	recipe_say(r, recipe_find(r, "zero_optimization.sub_group_size"), "pieces=%" PRId64, n);
	return n == DEEPSPEED_PIECE ? "" : arena_print(&r->arena, ":pieces=%" PRId64, n);
}

static void take_stage3(struct recipe *r, const struct tree *stage, int64_t width, const char *overlap)
{
	static const struct sized prefetch = {"zero_optimization.stage3_prefetch_bucket_size", "0.9 h²", 0.9, true,
	                                      50000000};
	const char *live_key = "zero_optimization.stage3_max_live_parameters",
	           *reuse_key = "zero_optimization.stage3_max_reuse_distance";
	int64_t ahead = sized_value(r, &prefetch, width), live = recipe_whole(r, live_key, 1000000000),
	        reuse = recipe_whole(r, reuse_key, 1000000000);
	const char *fetched = ahead < 0 ? "" : arena_print(&r->arena, "prefetch=%" PRId64, ahead);
	recipe_set(r, SETTING_STRATEGY, stage, "zero3%s%s:live=%" PRId64 ":reuse=%" PRId64 "%s%s%s%s",
	           *fetched ? ":" : "", fetched, live, reuse, take_pieces(r), take_secondary(r), overlap,
	           take_saving(r));
	if (*fetched)
		recipe_say(r, recipe_find(r, prefetch.path), "%s", fetched);
	recipe_say(r, recipe_find(r, live_key), "live=%" PRId64, live);
	recipe_say(r, recipe_find(r, reuse_key), "reuse=%" PRId64, reuse);
}

/* In stage 3 the bucket is a buffer that is there from the start (stage3.py, _setup_for_real_optimizer). Where a unit
 * is a block its gradients travel together, in memory of their own. */
void deepspeed_note_bucket(struct recipe *r, const struct tree *v, int64_t bytes)
{
	char size[32];
	struct software s;
	const char *as = recipe_given(r, SETTING_AS);
	bool has = as && !software_parse(as, &s) && s.does[SOFTWARE_UNIT] == UNIT_MODULE &&
	           s.does[SOFTWARE_BUCKET] == BUCKET_FIXED;
	number_format_bytes(size, sizeof size, bytes);
	if (!has)
		recipe_note(r, v,
		            "reduce_bucket_size: there a buffer of %s is on the device for good, which is in the "
		            "figures of "
		            "{as} deepspeed alone; here a unit's gradients travel together",
		            size);
}

static void take_bucket(struct recipe *r, enum type type, int64_t width)
{
	static const struct sized bucket = {"zero_optimization.reduce_bucket_size", "h²", 1, true, 500000000};
	const struct tree *v = recipe_find(r, bucket.path);
	int64_t elements = sized_value(r, &bucket, width), bytes;
	if (elements < 0 || recipe_is_wrong(r, v))
		return;
	if (!multiply(elements, type_bytes(type), &bytes) || bytes > SETTING_LARGE) {
		recipe_bar(r, v, "%s %" PRId64 ": too large", bucket.path, elements);
		return;
	}
	recipe_set(r, SETTING_BUCKET, v, "%" PRId64, bytes);
	if (recipe_stage(r) == 3)
		deepspeed_note_bucket(r, v, bytes);
}

static void take_strategy(struct recipe *r, enum type type, int64_t width)
{
	static const char *const names[] = {"ddp", "zero1", "zero2"};
	const struct tree *stage = recipe_find(r, "zero_optimization.stage"),
	                  *flag = recipe_find(r, "zero_optimization");
	int64_t n = recipe_stage(r);
	stage = stage || !flag || flag->kind == TREE_OBJECT ? stage : flag;
	if (n == 3)
		take_stage3(r, stage, width, take_overlap(r, n));
	else if (n >= 0 && n < 3)
		recipe_set(r, SETTING_STRATEGY, stage, "%s%s%s", names[n], take_reduction(r, n), take_overlap(r, n));
	if (n == 3)
		note_persistence(r, width);
	take_bucket(r, type, width);
}

/* ---- offload: take_offload.c ---- */

static void take_devices(struct recipe *r)
{
	const struct offload_devices d = {.stage = recipe_stage(r),
	                                  .optimizer = recipe_find(r, "zero_optimization.offload_optimizer.device"),
	                                  .parameters = recipe_find(r, "zero_optimization.offload_param.device"),
	                                  .old_optimizer = recipe_flag(r, "zero_optimization.cpu_offload", false),
	                                  .old_parameters =
	                                          recipe_flag(r, "zero_optimization.cpu_offload_param", false)};
	take_offload(r, &d);
}

/* ---- optimizer ---- */

static bool is_one_of(const struct tree *v, const char *a, const char *b)
{
	return v->kind == TREE_TEXT && (!strcasecmp(v->text, a) || !strcasecmp(v->text, b));
}

static void take_optimizer(struct recipe *r)
{
	static const struct argued rate = {"optimizer.params.lr", "learning_rate", SETTING_LEARNING_RATE, 5e-5},
	                           weight = {"optimizer.params.weight_decay", "weight_decay", SETTING_WEIGHT_DECAY, 0};
	const struct tree *type = recipe_find(r, "optimizer.type");
	const struct tree *lr = recipe_find(r, rate.path), *decay = recipe_find(r, weight.path);
	if (!type)
		return;
	if (is_one_of(type, "Adam", "AdamW"))
		recipe_set(r, SETTING_OPTIMIZER, type, "adamw");
	else if (is_one_of(type, "SGD", "sgd"))
		recipe_set(r, SETTING_OPTIMIZER, type, "sgd");
	else
		recipe_bar(r, type, "optimizer.type: %s cannot be said here; Adam, AdamW and SGD can",
		           tree_shown(&r->arena, type));
	recipe_set_real(r, SETTING_LEARNING_RATE, lr, lr ? argued_value(r, &rate) : 1e-3);
	recipe_take_decay(r, decay, decay ? argued_value(r, &weight) : 0);
}

static void take_steps(struct recipe *r, enum setting i, const char *path, int64_t otherwise)
{
	const struct tree *v = recipe_find(r, path);
	int64_t n = recipe_whole(r, path, otherwise);
	const char *given = recipe_given(r, i);
	if (tree_is_auto(v) && given)
		recipe_set(r, i, v, "%s", given);
	else if (tree_is_auto(v))
		recipe_say(r, v, "Trainer's own; %s gives it", recipe_option(r, i));
	else if (n >= 0 && n <= SETTING_LARGE)
		recipe_set(r, i, v, "%" PRId64, n);
	else
		recipe_bar(r, v, "%s %" PRId64 " is no number of steps", path, n);
}

static void take_scheduler(struct recipe *r)
{
	const struct tree *type = recipe_find(r, "scheduler.type");
	bool falls = type && is_one_of(type, "WarmupDecayLR", "WarmupDecayLR");
	const struct tree *total = recipe_find(r, "scheduler.params.total_num_steps"),
	                  *peak = recipe_find(r, "scheduler.params.warmup_max_lr");
	if (!type)
		return;
	if (!falls && !is_one_of(type, "WarmupLR", "WarmupLR")) {
		recipe_say(r, type, "not in the figures");
		recipe_note(r, type, "scheduler.type %s: only the learning rate; here it stays as it is",
		            tree_shown(&r->arena, type));
		return;
	}
	recipe_say(r, type, falls ? "{warmup}, {decay}" : "{warmup}");
	take_steps(r, SETTING_WARMUP, "scheduler.params.warmup_num_steps", 1000);
	if (falls && total)
		take_steps(r, SETTING_DECAY, "scheduler.params.total_num_steps", 0);
	if (falls)
		recipe_note(r, type, "WarmupDecayLR falls to 0, and {decay} to a tenth: only the learning rate");
	if (peak)
		recipe_say(r, peak, "{learning_rate} says it");
}

static void take_clip(struct recipe *r)
{
	static const struct argued clip = {"gradient_clipping", "max_grad_norm", SETTING_CLIP, 1};
	const struct tree *v = recipe_find(r, clip.path);
	double norm = 1; /* DeepSpeed's default */
	if (v && (!is_trainer(r) ? !tree_real(v, &norm) : false))
		return;
	if (v && is_trainer(r))
		norm = argued_value(r, &clip);
	recipe_set_real(r, SETTING_CLIP, v, norm);
}

static void take_batch(struct recipe *r)
{
	struct recipe_batch b = judge_batch(r);
	const struct tree *batch = recipe_find(r, "train_batch_size");
	if (b.micro)
		recipe_set(r, SETTING_MICRO_BATCH, recipe_find(r, "train_micro_batch_size_per_gpu"), "%" PRId64,
		           b.micro);
	if (b.accumulate)
		recipe_set(r, SETTING_ACCUMULATE, recipe_find(r, "gradient_accumulation_steps"), "%" PRId64,
		           b.accumulate);
	if (r->ranks_from)
		recipe_set(r, SETTING_RANKS, batch, "%" PRId64, b.ranks);
	else if (b.ranks)
		recipe_say(r, batch, "%" PRId64 " × %" PRId64 " × %" PRId64 " ranks", b.micro, b.accumulate, b.ranks);
	else
		recipe_say(r, batch, "with {ranks}");
}

/* It promises memory that most training scripts do not save. */
static void note_checkpointing(struct recipe *r)
{
	const struct tree *v = recipe_find(r, "activation_checkpointing");
	if (!v)
		return;
	recipe_note(
	        r, v,
	        "activation_checkpointing is read by deepspeed.checkpointing.configure() alone, and saves no memory "
	        "by itself%s; here {activation_checkpointing} does",
	        is_trainer(r) ? ": Trainer's switch is its argument gradient_checkpointing" : "");
}

enum status take_deepspeed(struct recipe *r)
{
	int64_t width;
	TRY(find_width(r, &width));
	take_batch(r);
	enum type type = deepspeed_types(r);
	take_strategy(r, type, width);
	take_devices(r);
	take_optimizer(r);
	take_scheduler(r);
	take_clip(r);
	note_checkpointing(r);
	return STATUS_OK;
}
