/* The keys that say settings to torchtitan. */
#include <string.h>

#include "strategy/emit/emit_rows.h"
#include "strategy/recipe/reader.h"

/* The first of its own sizes that this model is; NULL: none is. */
static const struct recipe_flavor *flavor_of(const struct emission *e)
{
	const struct recipe_table *t = recipe_tables[RECIPE_TORCHTITAN];
	for (int i = 0; i < t->flavor_count; i++)
		if (!strcmp(t->flavors[i].model, e->settings->model))
			return &t->flavors[i];
	return NULL;
}

static const char *titan_model(struct emission *e)
{
	return flavor_of(e) ? emit_word(e, flavor_of(e)->name) : NULL;
}

static const char *titan_flavor(struct emission *e)
{
	return flavor_of(e) ? emit_word(e, flavor_of(e)->flavor) : NULL;
}

static const char *titan_type(struct emission *e)
{
	return e->settings->precision == TYPE_BF16 ? "\"bfloat16\"" : "\"float32\"";
}

/* A pipeline's micro-batches are parts of the local batch. */
static const char *local_batch(struct emission *e)
{
	int64_t parts = emit_is(e, "pipeline") ? e->settings->accumulate : 1;
	return emit_whole(e, e->settings->micro_batch * parts);
}

static const char *pipeline_part(struct emission *e)
{
	return emit_is(e, "pipeline") ? emit_whole(e, e->settings->micro_batch) : NULL;
}

/* It always clips. */
static const char *titan_clip(struct emission *e)
{
	return e->settings->clip > 0 ? emit_clip(e) : "inf";
}

static const char *titan_offload(struct emission *e)
{
	return e->settings->offload.parameters ? "true" : NULL;
}

static const char *copies(struct emission *e)
{
	return emit_whole(e, emit_is(e, "ddp")  ? e->settings->ranks
	                     : emit_group_of(e) ? e->settings->ranks / emit_group_of(e)
	                                        : 1);
}

static const char *shards(struct emission *e)
{
	return emit_whole(e, emit_is(e, "fsdp") ? e->settings->ranks : emit_group_of(e) ? emit_group_of(e) : 1);
}

static const char *titan_reshard(struct emission *e)
{
	return emit_if_sharded(e, emit_choices(e).keep ? "\"never\"" : "\"always\"");
}

static const char *slices(struct emission *e)
{
	return emit_is(e, "tensor") ? emit_whole(e, e->settings->ranks) : NULL;
}

static const char *stages(struct emission *e)
{
	return emit_is(e, "pipeline") ? emit_whole(e, e->settings->ranks) : NULL;
}

static const char *pipeline_schedule(struct emission *e)
{
	return !stages(e) ? NULL : emit_choices(e).schedule == PIPELINE_GPIPE ? "\"GPipe\"" : "\"1F1B\"";
}

static const char *titan_checkpoints(struct emission *e)
{
	return emit_word(e, emit_one_in(e) || emit_checkpoints(e, "operations") ? "selective"
	                                                                        : e->settings->checkpointing);
}

static const char *titan_one_in(struct emission *e)
{
	return emit_checkpoints(e, "operations") ? emit_word(e, "op")
	       : emit_one_in(e)                  ? emit_word(e, emit_one_in(e))
	                                         : NULL;
}

static const char *implementation(struct emission *e)
{
	return emit_is_foreach(e) ? "\"foreach\"" : NULL;
}

/* Its own default is another one. */
static const char *beta2(struct emission *e)
{
	(void)e;
	return "0.999";
}

static const char *warmup(struct emission *e)
{
	return emit_whole(e, e->settings->warmup);
}

/* The share of the steps that remains for decay after the warmup; 0: the rate stays. */
static const char *decay_ratio(struct emission *e)
{
	const struct settings *s = e->settings;
	return emit_real(e, s->decay > s->warmup ? (double)(s->decay - s->warmup) / (double)s->decay : 0);
}

static const char *tenth(struct emission *e)
{
	return e->settings->decay ? "0.1" : NULL;
}

const struct emit_row emit_torchtitan_rows[] = {
        {"model.name", SETTING_MODEL, titan_model},
        {"model.flavor", SETTING_MODEL, titan_flavor},
        {"training.local_batch_size", SETTING_MICRO_BATCH, local_batch},
        {"training.global_batch_size", SETTING_ACCUMULATE, emit_batch},
        {"training.seq_len", SETTING_SEQUENCE, emit_sequence},
        {"training.max_norm", SETTING_CLIP, titan_clip},
        {"training.steps", SETTING_DECAY, emit_last_step},
        {"training.mixed_precision_param", SETTING_PRECISION, titan_type},
        {"training.enable_cpu_offload", SETTING_OFFLOAD, titan_offload},
        {"optimizer.name", SETTING_OPTIMIZER, emit_optimizer_type},
        {"optimizer.lr", SETTING_LEARNING_RATE, emit_rate},
        {"optimizer.implementation", SETTING_AS, implementation},
        {"optimizer.beta2", SETTING_OPTIMIZER, beta2},
        {"optimizer.weight_decay", SETTING_WEIGHT_DECAY, emit_weight_decay},
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
        {"activation_checkpoint.selective_ac_option", SETTING_CHECKPOINTING, titan_one_in},
        {"debug.seed", SETTING_SEED, emit_seed},
        {.path = ""},
};
