/* The keys that say settings to other programs, a table each. Paths are those of the tables that read them. */
#include "strategy/recipe/emit_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/model/model.h"
#include "strategy/strategies/strategy.h"

/* ---- words ---- */

static const char *whole(struct emission *e, int64_t n)
{
	return arena_print(&e->arena, "%" PRId64, n);
}

static const char *word(struct emission *e, const char *text)
{
	return arena_print(&e->arena, "\"%s\"", text);
}

static const char *flag(bool yes)
{
	return yes ? "true" : "false";
}

/* As short as it can be, and read again as the same number. */
static const char *real(struct emission *e, double x)
{
	const char *text = arena_print(&e->arena, "%.15g", x);
	return strpbrk(text, ".en") ? text : arena_print(&e->arena, "%s.0", text);
}

bool emit_is(const struct emission *e, const char *strategy)
{
	size_t n = strcspn(e->settings->strategy, ":");
	return strlen(strategy) == n && !strncmp(e->settings->strategy, strategy, n);
}

bool emit_is_zero(const struct emission *e)
{
	return emit_is(e, "zero1") || emit_is(e, "zero2") || emit_is(e, "zero3");
}

struct choices emit_choices(const struct emission *e)
{
	const struct strategy *g;
	struct choices none = {.prefetch = CHOICE_WORD, .live = CHOICE_WORD};
	return strategy_parse(e->settings->strategy, &g) ? none : strategy_choices(g, e->settings->strategy);
}

/* ---- samples, precision, rates ---- */

static const char *batch(struct emission *e)
{
	return whole(e, e->settings->batch);
}

static const char *clip(struct emission *e)
{
	return real(e, e->settings->clip);
}

static const char *rate(struct emission *e)
{
	return real(e, e->settings->learning_rate);
}

static const char *weight_decay(struct emission *e)
{
	return e->settings->optimizer == OPTIMIZER_ADAMW ? real(e, e->settings->weight_decay) : NULL;
}

static const char *seed(struct emission *e)
{
	return setting_differs(SETTING_SEED, e->settings) ? whole(e, e->settings->seed) : NULL;
}

static const char *true_if_bf16(struct emission *e)
{
	return e->settings->precision == TYPE_BF16 ? "true" : NULL;
}

static const char *true_if_fp16(struct emission *e)
{
	return e->settings->precision == TYPE_FP16 ? "true" : NULL;
}

/* The power of two that is nearest from below. */
static const char *scale_power(struct emission *e)
{
	return true_if_fp16(e) ? whole(e, ilogb(e->settings->loss_scale)) : NULL;
}

static const char *scale_window(struct emission *e)
{
	return true_if_fp16(e) ? whole(e, e->settings->loss_scale_window) : NULL;
}

/* ---- DeepSpeed ---- */

static int64_t stage_of(const struct emission *e)
{
	return emit_is_zero(e) ? e->settings->strategy[4] - '0' : 0;
}

static const char *stage(struct emission *e)
{
	return whole(e, stage_of(e));
}

/* Trainer multiplies it itself, by the ranks that there are. */
static const char *step_batch(struct emission *e)
{
	return e->target == EMIT_TRAINER ? NULL : batch(e);
}

static const char *overlap(struct emission *e)
{
	return stage_of(e) ? flag(!emit_choices(e).waits) : NULL;
}

/* By default the first bucket here is smaller, which DeepSpeed's are not. */
static const char *bucket(struct emission *e)
{
	enum { USUAL = 25 << 20 };
	int64_t bytes = e->settings->bucket ? e->settings->bucket : USUAL;
	return stage_of(e) < 3 ? whole(e, bytes / type_bytes(e->settings->precision)) : NULL;
}

/* The elements of a block: what `unit` fetches ahead. */
static int64_t block_elements(const struct emission *e)
{
	struct model m;
	int64_t most = 0;
	if (model_open(&m, e->settings->model, e->settings->sequence))
		return 0;
	for (int i = 0; i < m.unit_count; i++)
		if (m.units[i].elements > most && (m.units[i].block || !model_blocks(&m)))
			most = m.units[i].elements;
	model_release(&m);
	return most;
}

static const char *prefetch(struct emission *e)
{
	int64_t n = emit_choices(e).prefetch;
	return stage_of(e) == 3 ? whole(e, n == CHOICE_WORD ? block_elements(e) : n) : NULL;
}

static const char *live(struct emission *e)
{
	int64_t n = emit_choices(e).live;
	return stage_of(e) == 3 ? whole(e, n == CHOICE_WORD ? SETTING_LARGE : n) : NULL;
}

static const char *reuse(struct emission *e)
{
	return stage_of(e) == 3 ? whole(e, emit_choices(e).reuse) : NULL;
}

/* No tensor stays whole here, however small. */
static const char *nothing_persists(struct emission *e)
{
	return stage_of(e) == 3 ? "0" : NULL;
}

static const char *place(struct emission *e, bool offloaded, bool on_disk)
{
	return offloaded ? word(e, on_disk ? "nvme" : "cpu") : NULL;
}

static const char *optimizer_place(struct emission *e)
{
	return place(e, e->settings->offload.optimizer, e->settings->offload.optimizer_on_disk);
}

static const char *parameters_place(struct emission *e)
{
	return place(e, e->settings->offload.parameters, e->settings->offload.parameters_on_disk);
}

static const char *optimizer_folder(struct emission *e)
{
	return e->settings->offload.optimizer_on_disk ? "\"/local_nvme\"" : NULL;
}

static const char *parameters_folder(struct emission *e)
{
	return e->settings->offload.parameters_on_disk ? "\"/local_nvme\"" : NULL;
}

static const char *optimizer_type(struct emission *e)
{
	return e->settings->optimizer == OPTIMIZER_ADAMW ? "\"AdamW\"" : "\"SGD\"";
}

/* SGD is not among the optimizers that ZeRO knows. */
static const char *untested(struct emission *e)
{
	return e->settings->optimizer == OPTIMIZER_SGD && stage_of(e) ? "true" : NULL;
}

static const char *no_own_adam(struct emission *e)
{
	return untested(e) && e->settings->offload.optimizer ? "false" : NULL;
}

/* Trainer has arguments for it. */
static const char *scheduler(struct emission *e)
{
	return e->target == EMIT_TRAINER ? NULL
	       : e->settings->decay      ? "\"WarmupDecayLR\""
	       : e->settings->warmup     ? "\"WarmupLR\""
	                                 : NULL;
}

static const char *scheduler_warmup(struct emission *e)
{
	return scheduler(e) ? whole(e, e->settings->warmup) : NULL;
}

static const char *scheduler_total(struct emission *e)
{
	return scheduler(e) && e->settings->decay ? whole(e, e->settings->decay) : NULL;
}

static const char *scheduler_rate(struct emission *e)
{
	return scheduler(e) ? rate(e) : NULL;
}

static const char *scheduler_type(struct emission *e)
{
	return scheduler(e) ? "\"linear\"" : NULL;
}

#define ZERO(key) "zero_optimization." key
static const struct emit_row deepspeed_rows[] = {
        {"train_batch_size", SETTING_RANKS, step_batch},
        {"train_micro_batch_size_per_gpu", SETTING_MICRO_BATCH, NULL},
        {"gradient_accumulation_steps", SETTING_ACCUMULATE, NULL},
        {"gradient_clipping", SETTING_CLIP, clip},
        {"bf16.enabled", SETTING_PRECISION, true_if_bf16},
        {"fp16.enabled", SETTING_PRECISION, true_if_fp16},
        {"fp16.initial_scale_power", SETTING_LOSS_SCALE, scale_power},
        {"fp16.loss_scale_window", SETTING_LOSS_SCALE_WINDOW, scale_window},
        {ZERO("stage"), SETTING_STRATEGY, stage},
        {ZERO("overlap_comm"), SETTING_STRATEGY, overlap},
        {ZERO("reduce_bucket_size"), SETTING_BUCKET, bucket},
        {ZERO("stage3_prefetch_bucket_size"), SETTING_STRATEGY, prefetch},
        {ZERO("stage3_max_live_parameters"), SETTING_STRATEGY, live},
        {ZERO("stage3_max_reuse_distance"), SETTING_STRATEGY, reuse},
        {ZERO("stage3_param_persistence_threshold"), SETTING_STRATEGY, nothing_persists},
        {ZERO("offload_optimizer.device"), SETTING_OFFLOAD, optimizer_place},
        {ZERO("offload_optimizer.nvme_path"), SETTING_OFFLOAD, optimizer_folder},
        {ZERO("offload_param.device"), SETTING_OFFLOAD, parameters_place},
        {ZERO("offload_param.nvme_path"), SETTING_OFFLOAD, parameters_folder},
        {"optimizer.type", SETTING_OPTIMIZER, optimizer_type},
        {"optimizer.params.lr", SETTING_LEARNING_RATE, rate},
        {"optimizer.params.weight_decay", SETTING_WEIGHT_DECAY, weight_decay},
        {"zero_allow_untested_optimizer", SETTING_OPTIMIZER, untested},
        {"zero_force_ds_cpu_optimizer", SETTING_OPTIMIZER, no_own_adam},
        {"scheduler.type", SETTING_WARMUP, scheduler},
        {"scheduler.params.warmup_max_lr", SETTING_LEARNING_RATE, scheduler_rate},
        {"scheduler.params.warmup_num_steps", SETTING_WARMUP, scheduler_warmup},
        {"scheduler.params.warmup_type", SETTING_WARMUP, scheduler_type},
        {"scheduler.params.total_num_steps", SETTING_DECAY, scheduler_total},
        {.path = ""},
};

/* ---- Accelerate ---- */

static bool is_sharded(const struct emission *e)
{
	return emit_is(e, "fsdp") || emit_is(e, "hybrid");
}

static const char *if_sharded(struct emission *e, const char *literal)
{
	return is_sharded(e) ? literal : NULL;
}

static const char *if_zero(struct emission *e, const char *literal)
{
	return emit_is_zero(e) ? literal : NULL;
}

static const char *distributed(struct emission *e)
{
	return is_sharded(e)         ? "\"FSDP\""
	       : emit_is_zero(e)     ? "\"DEEPSPEED\""
	       : emit_is(e, "single") ? "\"NO\""
	                             : "\"MULTI_GPU\"";
}

static const char *mixed(struct emission *e)
{
	return word(e, e->settings->precision == TYPE_FP32 ? "no" : type_name(e->settings->precision));
}

static const char *machines(struct emission *e)
{
	return whole(e, e->nodes);
}

static const char *second_version(struct emission *e)
{
	return if_sharded(e, "2");
}

static const char *reshard(struct emission *e)
{
	return if_sharded(e, flag(!emit_choices(e).keep));
}

static const char *blocks(struct emission *e)
{
	return if_sharded(e, "\"TRANSFORMER_BASED_WRAP\"");
}

static const char *offload_all(struct emission *e)
{
	return if_sharded(e, flag(e->settings->offload.parameters));
}

static bool checkpoints(const struct emission *e, const char *what)
{
	return !strcmp(e->settings->checkpointing, what);
}

/* Every block, or none; what is in between, the training script says. */
static const char *checkpoint_blocks(struct emission *e)
{
	bool full = checkpoints(e, "full");
	return full || checkpoints(e, "none") ? if_sharded(e, flag(full)) : NULL;
}

static int64_t group_of(const struct emission *e)
{
	return emit_is(e, "hybrid") ? emit_choices(e).shard : 0;
}

static const char *group_size(struct emission *e)
{
	return group_of(e) ? whole(e, group_of(e)) : NULL;
}

static const char *groups(struct emission *e)
{
	return group_of(e) ? whole(e, e->settings->ranks / group_of(e)) : NULL;
}

static const char *zero_stage(struct emission *e)
{
	return if_zero(e, stage(e));
}

static const char *zero_accumulate(struct emission *e)
{
	return if_zero(e, whole(e, e->settings->accumulate));
}

static const char *zero_clip(struct emission *e)
{
	return if_zero(e, clip(e));
}

static const char *zero_optimizer_place(struct emission *e)
{
	const char *at = optimizer_place(e);
	return if_zero(e, at ? at : "\"none\"");
}

static const char *zero_parameters_place(struct emission *e)
{
	const char *at = parameters_place(e);
	return if_zero(e, at ? at : "\"none\"");
}

#define FSDP(key) "fsdp_config.fsdp_" key
#define AXES(key) "parallelism_config.parallelism_config_" key
#define FEW(key) "deepspeed_config." key
static const struct emit_row accelerate_rows[] = {
        {"distributed_type", SETTING_STRATEGY, distributed},
        {"mixed_precision", SETTING_PRECISION, mixed},
        {"num_processes", SETTING_RANKS, NULL},
        {"num_machines", SETTING_RANKS, machines},
        {FSDP("version"), SETTING_STRATEGY, second_version},
        {FSDP("reshard_after_forward"), SETTING_STRATEGY, reshard},
        {FSDP("auto_wrap_policy"), SETTING_STRATEGY, blocks},
        {FSDP("offload_params"), SETTING_OFFLOAD, offload_all},
        {FSDP("activation_checkpointing"), SETTING_CHECKPOINTING, checkpoint_blocks},
        {AXES("dp_shard_size"), SETTING_STRATEGY, group_size},
        {AXES("dp_replicate_size"), SETTING_STRATEGY, groups},
        {FEW("zero_stage"), SETTING_STRATEGY, zero_stage},
        {FEW("gradient_accumulation_steps"), SETTING_ACCUMULATE, zero_accumulate},
        {FEW("gradient_clipping"), SETTING_CLIP, zero_clip},
        {FEW("offload_optimizer_device"), SETTING_OFFLOAD, zero_optimizer_place},
        {FEW("offload_optimizer_nvme_path"), SETTING_OFFLOAD, optimizer_folder},
        {FEW("offload_param_device"), SETTING_OFFLOAD, zero_parameters_place},
        {FEW("offload_param_nvme_path"), SETTING_OFFLOAD, parameters_folder},
        {.path = ""},
};

/* ---- Trainer: its arguments, as HfArgumentParser reads them from a file ---- */

static const char *true_if_sharded(struct emission *e)
{
	return if_sharded(e, "true");
}

static const char *trainer_optimizer(struct emission *e)
{
	return e->settings->optimizer == OPTIMIZER_ADAMW ? "\"adamw_torch_fused\"" : "\"sgd\"";
}

static const char *schedule(struct emission *e)
{
	return e->settings->decay    ? "\"linear\""
	       : e->settings->warmup ? "\"constant_with_warmup\""
	                             : "\"constant\"";
}

static const char *trainer_warmup(struct emission *e)
{
	return e->settings->warmup ? whole(e, e->settings->warmup) : NULL;
}

static const char *last_step(struct emission *e)
{
	return e->settings->decay ? whole(e, e->settings->decay) : NULL;
}

/* Under FSDP its own switch does it. */
static const char *trainer_checkpoints(struct emission *e)
{
	return is_sharded(e) ? NULL : flag(checkpoints(e, "full"));
}

static const char *bucket_mb(struct emission *e)
{
	return emit_is(e, "ddp") && e->settings->bucket ? whole(e, e->settings->bucket >> 20) : NULL;
}

static const struct emit_row trainer_rows[] = {
        {"per_device_train_batch_size", SETTING_MICRO_BATCH, NULL},
        {"gradient_accumulation_steps", SETTING_ACCUMULATE, NULL},
        {"max_grad_norm", SETTING_CLIP, clip},
        {"bf16", SETTING_PRECISION, true_if_bf16},
        {"fp16", SETTING_PRECISION, true_if_fp16},
        {"optim", SETTING_OPTIMIZER, trainer_optimizer},
        {"learning_rate", SETTING_LEARNING_RATE, rate},
        {"weight_decay", SETTING_WEIGHT_DECAY, weight_decay},
        {"lr_scheduler_type", SETTING_WARMUP, schedule},
        {"warmup_steps", SETTING_WARMUP, trainer_warmup},
        {"max_steps", SETTING_DECAY, last_step},
        {"seed", SETTING_SEED, seed},
        {"ddp_bucket_cap_mb", SETTING_BUCKET, bucket_mb},
        {"activation_checkpointing", SETTING_CHECKPOINTING, trainer_checkpoints},
        {"fsdp", SETTING_STRATEGY, true_if_sharded},
        {"fsdp_config.version", SETTING_STRATEGY, second_version},
        {"fsdp_config.reshard_after_forward", SETTING_STRATEGY, reshard},
        {"fsdp_config.auto_wrap_policy", SETTING_STRATEGY, blocks},
        {"fsdp_config.cpu_offload", SETTING_OFFLOAD, offload_all},
        {"fsdp_config.activation_checkpointing", SETTING_CHECKPOINTING, checkpoint_blocks},
        {.path = ""},
};

/* ---- torchtitan ---- */

static const char *titan_type(struct emission *e)
{
	return e->settings->precision == TYPE_BF16 ? "\"bfloat16\"" : "\"float32\"";
}

/* A pipeline's micro-batches are parts of the local batch. */
static const char *local_batch(struct emission *e)
{
	int64_t parts = emit_is(e, "pipeline") ? e->settings->accumulate : 1;
	return whole(e, e->settings->micro_batch * parts);
}

static const char *pipeline_part(struct emission *e)
{
	return emit_is(e, "pipeline") ? whole(e, e->settings->micro_batch) : NULL;
}

static const char *sequence(struct emission *e)
{
	struct model m;
	const char *text = NULL;
	if (!model_open(&m, e->settings->model, e->settings->sequence)) {
		text = whole(e, m.tokens);
		model_release(&m);
	}
	return text;
}

/* It always clips. */
static const char *titan_clip(struct emission *e)
{
	return e->settings->clip > 0 ? clip(e) : "inf";
}

static const char *titan_offload(struct emission *e)
{
	return e->settings->offload.parameters ? "true" : NULL;
}

static const char *copies(struct emission *e)
{
	return whole(e, emit_is(e, "ddp") ? e->settings->ranks : group_of(e) ? e->settings->ranks / group_of(e) : 1);
}

static const char *shards(struct emission *e)
{
	return whole(e, emit_is(e, "fsdp") ? e->settings->ranks : group_of(e) ? group_of(e) : 1);
}

static const char *titan_reshard(struct emission *e)
{
	return if_sharded(e, emit_choices(e).keep ? "\"never\"" : "\"always\"");
}

static const char *slices(struct emission *e)
{
	return emit_is(e, "tensor") ? whole(e, e->settings->ranks) : NULL;
}

static const char *stages(struct emission *e)
{
	return emit_is(e, "pipeline") ? whole(e, e->settings->ranks) : NULL;
}

static const char *pipeline_schedule(struct emission *e)
{
	return !stages(e) ? NULL : emit_choices(e).schedule == PIPELINE_GPIPE ? "\"GPipe\"" : "\"1F1B\"";
}

static const char *titan_checkpoints(struct emission *e)
{
	return word(e, e->settings->checkpointing);
}

/* Its own default is another one. */
static const char *beta2(struct emission *e)
{
	(void)e;
	return "0.999";
}

static const char *warmup(struct emission *e)
{
	return whole(e, e->settings->warmup);
}

/* What is left of the steps; 0: the rate stays. */
static const char *decay_ratio(struct emission *e)
{
	const struct settings *s = e->settings;
	return real(e, s->decay > s->warmup ? (double)(s->decay - s->warmup) / (double)s->decay : 0);
}

static const char *tenth(struct emission *e)
{
	return e->settings->decay ? "0.1" : NULL;
}

static const struct emit_row torchtitan_rows[] = {
        {"training.local_batch_size", SETTING_MICRO_BATCH, local_batch},
        {"training.global_batch_size", SETTING_ACCUMULATE, batch},
        {"training.seq_len", SETTING_SEQUENCE, sequence},
        {"training.max_norm", SETTING_CLIP, titan_clip},
        {"training.steps", SETTING_DECAY, last_step},
        {"training.mixed_precision_param", SETTING_PRECISION, titan_type},
        {"training.enable_cpu_offload", SETTING_OFFLOAD, titan_offload},
        {"optimizer.name", SETTING_OPTIMIZER, optimizer_type},
        {"optimizer.lr", SETTING_LEARNING_RATE, rate},
        {"optimizer.beta2", SETTING_OPTIMIZER, beta2},
        {"optimizer.weight_decay", SETTING_WEIGHT_DECAY, weight_decay},
        {"lr_scheduler.warmup_steps", SETTING_WARMUP, warmup},
        {"lr_scheduler.decay_ratio", SETTING_DECAY, decay_ratio},
        {"lr_scheduler.min_lr_factor", SETTING_DECAY, tenth},
        {"parallelism.data_parallel_replicate_degree", SETTING_RANKS, copies},
        {"parallelism.data_parallel_shard_degree", SETTING_STRATEGY, shards},
        {"parallelism.fsdp_reshard_after_forward", SETTING_STRATEGY, titan_reshard},
        {"parallelism.tensor_parallel_degree", SETTING_STRATEGY, slices},
        {"parallelism.pipeline_parallel_degree", SETTING_STRATEGY, stages},
        {"parallelism.pipeline_parallel_schedule", SETTING_STRATEGY, pipeline_schedule},
        {"parallelism.pipeline_parallel_microbatch_size", SETTING_MICRO_BATCH, pipeline_part},
        {"activation_checkpoint.mode", SETTING_CHECKPOINTING, titan_checkpoints},
        {"debug.seed", SETTING_SEED, seed},
        {.path = ""},
};

const struct emit_row *emit_rows(enum emit_target t)
{
	static const struct emit_row *const rows[] = {[EMIT_DEEPSPEED] = deepspeed_rows,
	                                              [EMIT_ACCELERATE] = accelerate_rows,
	                                              [EMIT_TRAINER] = trainer_rows,
	                                              [EMIT_TORCHTITAN] = torchtitan_rows};
	return rows[t];
}
