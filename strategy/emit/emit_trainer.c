/* Trainer's arguments, as HfArgumentParser reads them from a file. */
#include "strategy/emit/emit_rows.h"

/* In version 1 a word says what is sharded. */
static const char *sharding(struct emission *e)
{
	return emit_if_sharded(e, !emit_is_first_version(e) ? "true"
	                          : emit_choices(e).keep    ? "\"shard_grad_op\""
	                                                    : "\"full_shard\"");
}

static const char *limits(struct emission *e)
{
	return emit_is_first_version(e) && emit_choices(e).prefetch == CHOICE_ALL ? "false" : NULL;
}

static const char *trainer_optimizer(struct emission *e)
{
	return e->settings->optimizer != OPTIMIZER_ADAMW ? "\"sgd\""
	       : !emit_is_zero(e) && emit_is_foreach(e)  ? "\"adamw_torch\""
	                                                 : "\"adamw_torch_fused\"";
}

static const char *schedule(struct emission *e)
{
	return e->settings->decay ? "\"linear\"" : e->settings->warmup ? "\"constant_with_warmup\"" : "\"constant\"";
}

static const char *trainer_warmup(struct emission *e)
{
	return e->settings->warmup ? emit_whole(e, e->settings->warmup) : NULL;
}

/* Under FSDP its own switch does it. */
static const char *trainer_checkpoints(struct emission *e)
{
	return emit_is_sharded(e) ? NULL : emit_flag(emit_checkpoints(e, "full"));
}

static const char *bucket_mb(struct emission *e)
{
	int64_t n = e->settings->bucket >> 20;
	return emit_is(e, "ddp") && e->settings->bucket ? emit_whole(e, n ? n : 1) : NULL;
}

/* By default gradients travel with the last micro-batch alone. */
static const char *syncs_each(struct emission *e)
{
	return e->settings->accumulate > 1 && emit_choices(e).sync == SYNC_EVERY ? emit_if_sharded(e, "true") : NULL;
}

const struct emit_row emit_trainer_rows[] = {
        {"per_device_train_batch_size", SETTING_MICRO_BATCH, NULL},
        {"gradient_accumulation_steps", SETTING_ACCUMULATE, NULL},
        {"accelerator_config.gradient_accumulation_kwargs.sync_each_batch", SETTING_STRATEGY, syncs_each},
        {"max_grad_norm", SETTING_CLIP, emit_clip},
        {"bf16", SETTING_PRECISION, emit_if_bf16},
        {"fp16", SETTING_PRECISION, emit_if_fp16},
        {"optim", SETTING_OPTIMIZER, trainer_optimizer},
        {"learning_rate", SETTING_LEARNING_RATE, emit_rate},
        {"weight_decay", SETTING_WEIGHT_DECAY, emit_weight_decay},
        {"lr_scheduler_type", SETTING_WARMUP, schedule},
        {"warmup_steps", SETTING_WARMUP, trainer_warmup},
        {"max_steps", SETTING_DECAY, emit_last_step},
        {"seed", SETTING_SEED, emit_seed},
        {"ddp_bucket_cap_mb", SETTING_BUCKET, bucket_mb},
        {"activation_checkpointing", SETTING_CHECKPOINTING, trainer_checkpoints},
        {"fsdp", SETTING_STRATEGY, sharding},
        {"fsdp_config.version", SETTING_STRATEGY, emit_version},
        {"fsdp_config.backward_prefetch", SETTING_STRATEGY, emit_backward},
        {"fsdp_config.forward_prefetch", SETTING_STRATEGY, emit_forward},
        {"fsdp_config.limit_all_gathers", SETTING_STRATEGY, limits},
        {"fsdp_config.reshard_after_forward", SETTING_STRATEGY, emit_reshard},
        {"fsdp_config.auto_wrap_policy", SETTING_STRATEGY, emit_blocks},
        {"fsdp_config.state_dict_type", SETTING_STRATEGY, emit_full_state},
        {"fsdp_config.cpu_offload", SETTING_OFFLOAD, emit_offload_all},
        {"fsdp_config.activation_checkpointing", SETTING_CHECKPOINTING, emit_checkpoint_blocks},
        {.path = ""},
};
