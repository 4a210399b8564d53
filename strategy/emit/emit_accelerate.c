/* The keys that say settings to `accelerate launch`. */
#include "strategy/emit/emit_rows.h"

/* Beside a file of DeepSpeed's Accelerate takes no key of its own that says the same. */
static const char *if_zero(struct emission *e, const char *literal)
{
	return emit_is_zero(e) && !e->beside_where ? literal : NULL;
}

static const char *second_file(struct emission *e)
{
	return e->beside_where ? emit_word(e, e->beside_where) : NULL;
}

static const char *distributed(struct emission *e)
{
	return emit_is_sharded(e)     ? "\"FSDP\""
	       : emit_is_zero(e)      ? "\"DEEPSPEED\""
	       : emit_is(e, "single") ? "\"NO\""
	                              : "\"MULTI_GPU\"";
}

static const char *mixed(struct emission *e)
{
	return e->beside_where
	               ? NULL
	               : emit_word(e, e->settings->precision == TYPE_FP32 ? "no" : type_name(e->settings->precision));
}

static const char *machines(struct emission *e)
{
	return emit_whole(e, e->nodes);
}

static const char *group_size(struct emission *e)
{
	return emit_group_of(e) && !emit_is_first_version(e) ? emit_whole(e, emit_group_of(e)) : NULL;
}

static const char *groups(struct emission *e)
{
	return group_size(e) ? emit_whole(e, e->settings->ranks / emit_group_of(e)) : NULL;
}

/* ---- FSDP 1, where it alone says the plan ---- */

static const char *sharding(struct emission *e)
{
	bool hybrid = emit_group_of(e), keep = emit_choices(e).keep;
	if (!emit_is_first_version(e))
		return NULL;
	return hybrid ? keep ? "\"HYBRID_SHARD_ZERO2\"" : "\"HYBRID_SHARD\""
	       : keep ? "\"SHARD_GRAD_OP\""
	              : "\"FULL_SHARD\"";
}

static const char *zero_stage(struct emission *e)
{
	return if_zero(e, emit_stage(e));
}

static const char *zero_saves(struct emission *e)
{
	return emit_stage_of(e) == 3 ? if_zero(e, emit_if_saved(e, SAVE_16BIT, "true")) : NULL;
}

static const char *zero_optimizer_folder(struct emission *e)
{
	return if_zero(e, emit_optimizer_folder(e));
}

static const char *zero_parameters_folder(struct emission *e)
{
	return if_zero(e, emit_parameters_folder(e));
}

static const char *zero_accumulate(struct emission *e)
{
	return if_zero(e, emit_whole(e, e->settings->accumulate));
}

static const char *zero_clip(struct emission *e)
{
	return if_zero(e, emit_clip(e));
}

static const char *zero_optimizer_place(struct emission *e)
{
	const char *at = emit_optimizer_place(e);
	return if_zero(e, at ? at : "\"none\"");
}

static const char *zero_parameters_place(struct emission *e)
{
	const char *at = emit_parameters_place(e);
	return if_zero(e, at ? at : "\"none\"");
}

#define FSDP(key) "fsdp_config.fsdp_" key
#define AXES(key) "parallelism_config.parallelism_config_" key
#define FEW(key) "deepspeed_config." key
const struct emit_row emit_accelerate_rows[] = {
        {"distributed_type", SETTING_STRATEGY, distributed},
        {"mixed_precision", SETTING_PRECISION, mixed},
        {"num_processes", SETTING_RANKS, NULL},
        {"num_machines", SETTING_RANKS, machines},
        {FSDP("version"), SETTING_STRATEGY, emit_version},
        {FSDP("sharding_strategy"), SETTING_STRATEGY, sharding},
        {FSDP("backward_prefetch"), SETTING_STRATEGY, emit_backward},
        {FSDP("forward_prefetch"), SETTING_STRATEGY, emit_forward},
        {FSDP("reshard_after_forward"), SETTING_STRATEGY, emit_reshard},
        {FSDP("auto_wrap_policy"), SETTING_STRATEGY, emit_blocks},
        {FSDP("offload_params"), SETTING_OFFLOAD, emit_offload_all},
        {FSDP("activation_checkpointing"), SETTING_CHECKPOINTING, emit_checkpoint_blocks},
        {FSDP("state_dict_type"), SETTING_STRATEGY, emit_full_state},
        {AXES("dp_shard_size"), SETTING_STRATEGY, group_size},
        {AXES("dp_replicate_size"), SETTING_STRATEGY, groups},
        {FEW("deepspeed_config_file"), SETTING_STRATEGY, second_file},
        {FEW("zero_stage"), SETTING_STRATEGY, zero_stage},
        {FEW("zero3_save_16bit_model"), SETTING_STRATEGY, zero_saves},
        {FEW("gradient_accumulation_steps"), SETTING_ACCUMULATE, zero_accumulate},
        {FEW("gradient_clipping"), SETTING_CLIP, zero_clip},
        {FEW("offload_optimizer_device"), SETTING_OFFLOAD, zero_optimizer_place},
        {FEW("offload_optimizer_nvme_path"), SETTING_OFFLOAD, zero_optimizer_folder},
        {FEW("offload_param_device"), SETTING_OFFLOAD, zero_parameters_place},
        {FEW("offload_param_nvme_path"), SETTING_OFFLOAD, zero_parameters_folder},
        {.path = ""},
};
