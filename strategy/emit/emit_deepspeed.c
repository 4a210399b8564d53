/* The keys that say settings to DeepSpeed; also of the section that Trainer hands on. */
#include "strategy/emit/emit_rows.h"

#include <math.h>

#include "strategy/model/model.h"
#include "strategy/settings/software.h"

/* The power of two that is nearest from below. */
static const char *scale_power(struct emission *e)
{
	return emit_if_fp16(e) ? emit_whole(e, ilogb(e->settings->loss_scale)) : NULL;
}

static const char *scale_window(struct emission *e)
{
	return emit_if_fp16(e) ? emit_whole(e, e->settings->loss_scale_window) : NULL;
}

/* Trainer multiplies it itself, by the ranks that there are. */
static const char *step_batch(struct emission *e)
{
	return e->target == EMIT_TRAINER ? NULL : emit_batch(e);
}

static const char *overlap(struct emission *e)
{
	return emit_stage_of(e) ? emit_flag(!emit_choices(e).waits) : NULL;
}

/* The first bucket is smaller by default here; DeepSpeed's are all alike. In stage 3, where a unit's gradients travel
 * together whatever the default is, it is DeepSpeed's own unless one was given: there it is a buffer for good. */
static const char *bucket(struct emission *e)
{
	enum { USUAL = 25 << 20 };
	int64_t given = e->settings->bucket, bytes = given || emit_stage_of(e) == 3 ? given : USUAL;
	return bytes ? emit_whole(e, bytes / type_bytes(e->settings->precision)) : NULL;
}

/* The elements of a block, and of the largest tensor beside the blocks. */
struct sizes {
	int64_t block, table;
};

static struct sizes sizes_of(const struct emission *e)
{
	struct model m;
	struct sizes z = {0, 0};
	if (model_open(&m, e->settings->model, e->settings->sequence))
		return z;
	for (int i = 0; i < m.unit_count; i++) {
		bool block = m.units[i].block || !model_blocks(&m);
		int64_t *most = block ? &z.block : &z.table,
		        n = block ? m.units[i].elements : model_largest_tensor(&m, i);
		*most = n > *most ? n : *most;
	}
	model_release(&m);
	return z;
}

static const char *prefetch(struct emission *e)
{
	int64_t n = emit_choices(e).prefetch;
	return emit_stage_of(e) == 3 ? emit_whole(e, n == CHOICE_WORD ? sizes_of(e).block : n) : NULL;
}

/* There each module fetches ahead, and the live elements alone end it: the blocks ahead, and what is at work. */
static int64_t live_of(const struct sizes *z, int64_t ahead)
{
	int64_t blocks = ahead == CHOICE_WORD || !z->block ? 1 : (ahead + z->block - 1) / z->block;
	return blocks * z->block + (z->table && z->table < z->block ? z->table : z->block);
}

static const char *live(struct emission *e)
{
	struct choices c = emit_choices(e);
	struct sizes z = sizes_of(e);
	return emit_stage_of(e) == 3 ? emit_whole(e, c.live == CHOICE_WORD ? live_of(&z, c.prefetch) : c.live) : NULL;
}

static const char *reuse(struct emission *e)
{
	return emit_stage_of(e) == 3 ? emit_whole(e, emit_choices(e).reuse) : NULL;
}

static const char *pieces(struct emission *e)
{
	int64_t n = emit_choices(e).pieces, usual = 1000000000;
	return emit_stage_of(e) == 3 && n != usual ? emit_whole(e, n) : NULL;
}

static const char *secondary(struct emission *e)
{
	int64_t k = emit_choices(e).secondary;
	return emit_stage_of(e) == 3 && k > 1 ? emit_whole(e, k) : NULL;
}

/* No tensor stays whole here, however small. */
static const char *nothing_persists(struct emission *e)
{
	return emit_stage_of(e) == 3 ? "0" : NULL;
}

static const char *gathers(struct emission *e)
{
	return emit_stage_of(e) == 3 ? emit_if_saved(e, SAVE_16BIT, "true") : NULL;
}

/* SGD is not among the optimizers that ZeRO knows. */
static const char *untested(struct emission *e)
{
	return e->settings->optimizer == OPTIMIZER_SGD && emit_stage_of(e) ? "true" : NULL;
}

static const char *no_own_adam(struct emission *e)
{
	return untested(e) && e->settings->offload.optimizer ? "false" : NULL;
}

/* Trainer has arguments for it, and under Accelerate the training script makes optimizer and scheduler. */
static const char *scheduler(struct emission *e)
{
	return e->target != EMIT_DEEPSPEED ? NULL
	       : e->settings->decay        ? "\"WarmupDecayLR\""
	       : e->settings->warmup       ? "\"WarmupLR\""
	                                   : NULL;
}

static const char *scheduler_warmup(struct emission *e)
{
	return scheduler(e) ? emit_whole(e, e->settings->warmup) : NULL;
}

static const char *scheduler_total(struct emission *e)
{
	return scheduler(e) && e->settings->decay ? emit_whole(e, e->settings->decay) : NULL;
}

static const char *scheduler_rate(struct emission *e)
{
	return scheduler(e) ? emit_rate(e) : NULL;
}

static const char *scheduler_type(struct emission *e)
{
	return scheduler(e) ? "\"linear\"" : NULL;
}

/* ---- offload: buffers, and what goes on at a time ---- */

static const char *optimizer_buffers(struct emission *e)
{
	const struct offload *o = &e->settings->offload;
	return o->optimizer_on_disk && o->buffers ? emit_whole(e, o->buffers) : NULL;
}

/* Does --as have one of these words of a switch? */
static bool as_does(const struct emission *e, enum software_switch which, int a, int b)
{
	struct software s;
	return !software_parse(e->settings->software, &s) && (s.does[which] == a || s.does[which] == b);
}

static const char *reads_ahead(struct emission *e)
{
	return e->settings->offload.optimizer_on_disk && as_does(e, SOFTWARE_DISK, DISK_BOTH, DISK_READS) ? "true"
	                                                                                                  : NULL;
}

static const char *writes_behind(struct emission *e)
{
	return e->settings->offload.optimizer_on_disk && as_does(e, SOFTWARE_DISK, DISK_BOTH, DISK_WRITES) ? "true"
	                                                                                                   : NULL;
}

static const char *optimizer_pinned(struct emission *e)
{
	return e->settings->offload.optimizer && as_does(e, SOFTWARE_PINNED, PINNED_PARAMETERS, PINNED_NONE) ? "false"
	                                                                                                     : NULL;
}

static const char *parameters_pinned(struct emission *e)
{
	return e->settings->offload.parameters && as_does(e, SOFTWARE_PINNED, PINNED_OPTIMIZER, PINNED_NONE) ? "false"
	                                                                                                     : NULL;
}

/* DeepSpeed's own number of buffers, where they can be as many. */
static int64_t staging_buffers(const struct emission *e)
{
	enum { USUAL = 5 };
	return e->settings->offload.staging % USUAL ? 1 : USUAL;
}

static const char *buffer_count(struct emission *e)
{
	return e->settings->offload.staging ? emit_whole(e, staging_buffers(e)) : NULL;
}

static const char *buffer_size(struct emission *e)
{
	int64_t n = e->settings->offload.staging;
	return n ? emit_whole(e, n / staging_buffers(e)) : NULL;
}

/* All on the disk, or all of any share in host memory. */
static const char *most_in_host(struct emission *e)
{
	const struct offload *o = &e->settings->offload;
	return o->parameters_on_disk ? "0" : o->staging ? emit_whole(e, OFFLOAD_STAGING_MOST / 4) : NULL;
}

/* Requests of a MiB, as many as fill the queue, or one of them all. */
static int64_t requests(const struct emission *e)
{
	enum { USUAL = 1 << 20 };
	return e->settings->offload.queue % USUAL ? 1 : e->settings->offload.queue / USUAL;
}

static const char *block_size(struct emission *e)
{
	int64_t n = e->settings->offload.queue;
	return n ? emit_whole(e, n / requests(e)) : NULL;
}

static const char *queue_depth(struct emission *e)
{
	return e->settings->offload.queue ? emit_whole(e, requests(e)) : NULL;
}

static const char *asks_ahead(struct emission *e)
{
	return e->settings->offload.queue ? emit_flag(as_does(e, SOFTWARE_REQUESTS, REQUESTS_AHEAD, REQUESTS_AHEAD))
	                                  : NULL;
}

static const char *turns(struct emission *e)
{
	int64_t stage = emit_stage_of(e);
	return e->settings->offload.optimizer && (stage == 1 || stage == 2) &&
	                       as_does(e, SOFTWARE_COPIES, COPIES_ALL, COPIES_ALL)
	               ? "true"
	               : NULL;
}

static bool says_gradients(const struct emission *e, int word)
{
	return emit_is_zero(e) && e->settings->precision != TYPE_FP32 && as_does(e, SOFTWARE_GRADIENTS, word, word);
}

static const char *sent_type(struct emission *e)
{
	return says_gradients(e, GRADIENTS_FP32) ? "\"fp32\"" : NULL;
}

static const char *kept_type(struct emission *e)
{
	return says_gradients(e, GRADIENTS_FP32) || says_gradients(e, GRADIENTS_KEPT) ? "\"fp32\"" : NULL;
}

static const char *optimizer_type(struct emission *e)
{
	return e->target == EMIT_ACCELERATE ? NULL : emit_optimizer_type(e);
}

static const char *optimizer_rate(struct emission *e)
{
	return e->target == EMIT_ACCELERATE ? NULL : emit_rate(e);
}

static const char *optimizer_decay(struct emission *e)
{
	return e->target == EMIT_ACCELERATE ? NULL : emit_weight_decay(e);
}

#define ZERO(key) "zero_optimization." key
const struct emit_row emit_deepspeed_rows[] = {
        {"train_batch_size", SETTING_RANKS, step_batch},
        {"train_micro_batch_size_per_gpu", SETTING_MICRO_BATCH, NULL},
        {"gradient_accumulation_steps", SETTING_ACCUMULATE, NULL},
        {"gradient_clipping", SETTING_CLIP, emit_clip},
        {"bf16.enabled", SETTING_PRECISION, emit_if_bf16},
        {"fp16.enabled", SETTING_PRECISION, emit_if_fp16},
        {"fp16.initial_scale_power", SETTING_LOSS_SCALE, scale_power},
        {"fp16.loss_scale_window", SETTING_LOSS_SCALE_WINDOW, scale_window},
        {"communication_data_type", SETTING_AS, sent_type},
        {"data_types.grad_accum_dtype", SETTING_AS, kept_type},
        {ZERO("stage"), SETTING_STRATEGY, emit_stage},
        {ZERO("round_robin_gradients"), SETTING_AS, turns},
        {ZERO("overlap_comm"), SETTING_STRATEGY, overlap},
        {ZERO("reduce_bucket_size"), SETTING_BUCKET, bucket},
        {ZERO("stage3_prefetch_bucket_size"), SETTING_STRATEGY, prefetch},
        {ZERO("stage3_max_live_parameters"), SETTING_STRATEGY, live},
        {ZERO("sub_group_size"), SETTING_STRATEGY, pieces},
        {ZERO("stage3_max_reuse_distance"), SETTING_STRATEGY, reuse},
        {ZERO("stage3_param_persistence_threshold"), SETTING_STRATEGY, nothing_persists},
        {ZERO("zero_hpz_partition_size"), SETTING_STRATEGY, secondary},
        {ZERO("stage3_gather_16bit_weights_on_model_save"), SETTING_STRATEGY, gathers},
        {ZERO("offload_optimizer.device"), SETTING_OFFLOAD, emit_optimizer_place},
        {ZERO("offload_optimizer.nvme_path"), SETTING_OFFLOAD, emit_optimizer_folder},
        {ZERO("offload_optimizer.pin_memory"), SETTING_AS, optimizer_pinned},
        {ZERO("offload_optimizer.buffer_count"), SETTING_OFFLOAD, optimizer_buffers},
        {ZERO("offload_optimizer.pipeline_read"), SETTING_AS, reads_ahead},
        {ZERO("offload_optimizer.pipeline_write"), SETTING_AS, writes_behind},
        {ZERO("offload_param.device"), SETTING_OFFLOAD, emit_parameters_place},
        {ZERO("offload_param.nvme_path"), SETTING_OFFLOAD, emit_parameters_folder},
        {ZERO("offload_param.pin_memory"), SETTING_AS, parameters_pinned},
        {ZERO("offload_param.buffer_count"), SETTING_OFFLOAD, buffer_count},
        {ZERO("offload_param.buffer_size"), SETTING_OFFLOAD, buffer_size},
        {ZERO("offload_param.max_in_cpu"), SETTING_OFFLOAD, most_in_host},
        {"aio.block_size", SETTING_OFFLOAD, block_size},
        {"aio.queue_depth", SETTING_OFFLOAD, queue_depth},
        {"aio.overlap_events", SETTING_AS, asks_ahead},
        {"optimizer.type", SETTING_OPTIMIZER, optimizer_type},
        {"optimizer.params.lr", SETTING_LEARNING_RATE, optimizer_rate},
        {"optimizer.params.weight_decay", SETTING_WEIGHT_DECAY, optimizer_decay},
        {"zero_allow_untested_optimizer", SETTING_OPTIMIZER, untested},
        {"zero_force_ds_cpu_optimizer", SETTING_OPTIMIZER, no_own_adam},
        {"scheduler.type", SETTING_WARMUP, scheduler},
        {"scheduler.params.warmup_max_lr", SETTING_LEARNING_RATE, scheduler_rate},
        {"scheduler.params.warmup_num_steps", SETTING_WARMUP, scheduler_warmup},
        {"scheduler.params.warmup_type", SETTING_WARMUP, scheduler_type},
        {"scheduler.params.total_num_steps", SETTING_DECAY, scheduler_total},
        {.path = ""},
};
