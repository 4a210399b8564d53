/* Values that several programs have keys for. */
#include "strategy/emit/emit_rows.h"

#include <inttypes.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/model/model.h"
#include "strategy/settings/software.h"
#include "strategy/strategies/strategy.h"

const char *emit_whole(struct emission *e, int64_t n)
{
	return arena_print(&e->arena, "%" PRId64, n);
}

const char *emit_word(struct emission *e, const char *text)
{
	return arena_print(&e->arena, "\"%s\"", text);
}

const char *emit_flag(bool yes)
{
	return yes ? "true" : "false";
}

/* With a point, and digits on both sides of it: 1e-05 is a text to YAML 1.1. */
const char *emit_real(struct emission *e, double x)
{
	char text[NUMBER_REAL];
	number_exact_real(text, x);
	size_t n = strcspn(text, "e");
	return strpbrk(text, ".n") ? arena_copy(&e->arena, text)
	                           : arena_print(&e->arena, "%.*s.0%s", (int)n, text, text + n);
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

bool emit_is_sharded(const struct emission *e)
{
	return emit_is(e, "fsdp") || emit_is(e, "hybrid");
}

const char *emit_if_sharded(struct emission *e, const char *literal)
{
	return emit_is_sharded(e) ? literal : NULL;
}

bool emit_checkpoints(const struct emission *e, const char *what)
{
	return !strcmp(e->settings->checkpointing, what);
}

const char *emit_one_in(const struct emission *e)
{
	static const char key[] = "full:one_in=";
	const char *what = e->settings->checkpointing;
	if (strncmp(what, key, strlen(key)) != 0)
		return NULL;
	what += strlen(key);
	return *what && what[strspn(what, "0123456789")] == '\0' ? what : NULL;
}

int64_t emit_group_of(const struct emission *e)
{
	return emit_is(e, "hybrid") ? emit_choices(e).shard : 0;
}

const char *emit_batch(struct emission *e)
{
	return emit_whole(e, e->settings->batch);
}

const char *emit_sequence(struct emission *e)
{
	struct model m;
	const char *text = NULL;
	if (!model_open(&m, e->settings->model, e->settings->sequence)) {
		text = emit_whole(e, m.tokens);
		model_release(&m);
	}
	return text;
}

const char *emit_clip(struct emission *e)
{
	return emit_real(e, e->settings->clip);
}

const char *emit_rate(struct emission *e)
{
	return emit_real(e, e->settings->learning_rate);
}

const char *emit_weight_decay(struct emission *e)
{
	return e->settings->optimizer == OPTIMIZER_ADAMW ? emit_real(e, e->settings->weight_decay) : NULL;
}

const char *emit_seed(struct emission *e)
{
	return setting_differs(SETTING_SEED, e->settings) ? emit_whole(e, e->settings->seed) : NULL;
}

const char *emit_if_bf16(struct emission *e)
{
	return e->settings->precision == TYPE_BF16 ? "true" : NULL;
}

const char *emit_if_fp16(struct emission *e)
{
	return e->settings->precision == TYPE_FP16 ? "true" : NULL;
}

const char *emit_optimizer_type(struct emission *e)
{
	return e->settings->optimizer == OPTIMIZER_ADAMW ? "\"AdamW\"" : "\"SGD\"";
}

bool emit_is_foreach(const struct emission *e)
{
	struct software s;
	return e->settings->optimizer == OPTIMIZER_ADAMW && !software_parse(e->settings->software, &s) &&
	       s.does[SOFTWARE_UPDATE] == UPDATE_FOREACH;
}

int64_t emit_stage_of(const struct emission *e)
{
	return emit_is_zero(e) ? e->settings->strategy[4] - '0' : 0;
}

const char *emit_stage(struct emission *e)
{
	return emit_whole(e, emit_stage_of(e));
}

static const char *place(struct emission *e, bool offloaded, bool on_disk)
{
	return offloaded ? emit_word(e, on_disk ? "nvme" : "cpu") : NULL;
}

/* Buffers for a disk are there of a disk alone, even if nothing stays on it. */
static bool staged_on_disk(const struct emission *e)
{
	return e->settings->offload.parameters_on_disk || e->settings->offload.staging;
}

const char *emit_optimizer_place(struct emission *e)
{
	return place(e, e->settings->offload.optimizer, e->settings->offload.optimizer_on_disk);
}

const char *emit_parameters_place(struct emission *e)
{
	return place(e, e->settings->offload.parameters, staged_on_disk(e));
}

const char *emit_optimizer_folder(struct emission *e)
{
	return e->settings->offload.optimizer_on_disk ? "\"/local_nvme\"" : NULL;
}

const char *emit_parameters_folder(struct emission *e)
{
	return staged_on_disk(e) ? "\"/local_nvme\"" : NULL;
}

bool emit_is_first_version(const struct emission *e)
{
	struct choices c = emit_choices(e);
	return emit_is_sharded(e) && !c.whole &&
	       (c.backward != BACKWARD_AHEAD || c.prefetch == CHOICE_TWO || c.prefetch == CHOICE_ALL);
}

const char *emit_version(struct emission *e)
{
	return emit_if_sharded(e, emit_is_first_version(e) ? "1" : "2");
}

const char *emit_backward(struct emission *e)
{
	static const char *const words[] = {[BACKWARD_AHEAD] = "\"BACKWARD_PRE\"",
	                                    [BACKWARD_UNIT] = "\"BACKWARD_PRE\"",
	                                    [BACKWARD_POST] = "\"BACKWARD_POST\"",
	                                    [BACKWARD_NONE] = "\"NO_PREFETCH\""};
	return emit_is_first_version(e) ? words[emit_choices(e).backward] : NULL;
}

const char *emit_forward(struct emission *e)
{
	return emit_is_first_version(e) && emit_choices(e).prefetch == CHOICE_TWO ? "true" : NULL;
}

const char *emit_reshard(struct emission *e)
{
	return emit_is_first_version(e) ? NULL : emit_if_sharded(e, emit_flag(!emit_choices(e).keep));
}

const char *emit_if_saved(const struct emission *e, int64_t how, const char *literal)
{
	return emit_choices(e).save == how ? literal : NULL;
}

const char *emit_full_state(struct emission *e)
{
	return emit_if_sharded(e, emit_if_saved(e, SAVE_FULL, "\"FULL_STATE_DICT\""));
}

const char *emit_blocks(struct emission *e)
{
	return emit_if_sharded(e, emit_choices(e).whole ? "\"NO_WRAP\"" : "\"TRANSFORMER_BASED_WRAP\"");
}

const char *emit_offload_all(struct emission *e)
{
	return emit_if_sharded(e, emit_flag(e->settings->offload.parameters));
}

/* Every block, or none; what is in between, the training script says. */
const char *emit_checkpoint_blocks(struct emission *e)
{
	bool full = emit_checkpoints(e, "full");
	return full || emit_checkpoints(e, "none") ? emit_if_sharded(e, emit_flag(full)) : NULL;
}

const char *emit_last_step(struct emission *e)
{
	return e->settings->decay ? emit_whole(e, e->settings->decay) : NULL;
}
