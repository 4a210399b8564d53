/* Settings that cannot be told to another program at all. */
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/emit/emit_rows.h"
#include "strategy/strategies/strategy.h"

static const char *const strategies[] = {
#define X(constant, name, form, reader, version, strategies) strategies,
        EMIT_TARGETS(X)
#undef X
};

/* "single|ddp" as a list. */
static const char *listed(struct emission *e, const char *words)
{
	char *text = arena_copy(&e->arena, "");
	for (const char *p = words; *p; p += strcspn(p, "|"), p += *p == '|')
		text = arena_print(&e->arena, "%s%s%.*s", text, *text ? ", " : "", (int)strcspn(p, "|"), p);
	return text;
}

static enum status cannot(const char *option, const char *value, const char *what)
{
	return status_fail(STATUS_INPUT, "%s %.100s cannot be said there; %s", status_words(option), value, what);
}

static enum status check_strategy(struct emission *e)
{
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(e->settings->strategy, ":"), e->settings->strategy);
	if (word_find(strategies[e->target], name) >= 0)
		return STATUS_OK;
	return cannot("{strategy}", name, arena_print(&e->arena, "%s can", listed(e, strategies[e->target])));
}

/* FSDP has everything in host memory, or nothing; DeepSpeed has parts; what is not sharded stays on the device. */
static enum status check_offload(struct emission *e)
{
	char text[OFFLOAD_TEXT];
	const struct offload *o = &e->settings->offload;
	bool any = o->optimizer || o->parameters, zero = emit_is_zero(e),
	     sharded = emit_is(e, "fsdp") || emit_is(e, "hybrid");
	offload_print(o, text, sizeof text);
	if (o->activations)
		return cannot("{offload}", text, "optimizer and parameters can");
	if (o->delayed)
		return cannot("{offload}", text, "without :delayed=yes it can");
	if (any && !zero && !sharded)
		return cannot("{offload}", text, "leave it out, or choose a strategy that shards");
	if (sharded && o->optimizer != o->parameters)
		return cannot("{offload}", text, "optimizer,parameters can");
	if (sharded && (o->optimizer_on_disk || o->parameters_on_disk))
		return cannot("{offload}", text, "without :to=disk it can");
	if (zero && !emit_is(e, "zero3") && (o->optimizer_on_disk || o->parameters_on_disk))
		return cannot("{offload}", text, "a disk goes with zero3 alone");
	return zero && o->parameters && !emit_is(e, "zero3")
	               ? cannot("{offload}", text, "parameters go with zero3 alone")
	               : STATUS_OK;
}

/* For the targets whose file, and not the training script, asks for checkpointing. */
static enum status check_checkpointing(struct emission *e)
{
	const char *what = e->settings->checkpointing;
	bool titan = e->target == EMIT_TORCHTITAN;
	if ((!titan && e->target != EMIT_TRAINER) || !strcmp(what, "none") || !strcmp(what, "full") ||
	    (titan && (emit_one_in(e) || !strcmp(what, "operations"))))
		return STATUS_OK;
	return cannot("{activation_checkpointing}", what,
	              titan ? "none, full, full:one_in=N and operations can" : "none and full can");
}

static enum status check_values(const struct emission *e)
{
	const struct settings *s = e->settings;
	bool titan = e->target == EMIT_TORCHTITAN;
	if (s->stochastic_rounding)
		return cannot("{stochastic_rounding}", "yes", "leave it out");
	if (s->loss_scaler == LOSS_SCALER_PYTORCH && (e->target == EMIT_DEEPSPEED || emit_is_zero(e)))
		return cannot("{loss_scaler}", "pytorch", "deepspeed can");
	if (titan && s->precision == TYPE_FP16)
		return cannot("{precision}", "fp16", "fp32 and bf16 can");
	return titan && s->optimizer == OPTIMIZER_SGD ? cannot("{optimizer}", "sgd", "adamw can") : STATUS_OK;
}

enum status emit_check(struct emission *e)
{
	TRY(check_strategy(e));
	TRY(check_offload(e));
	TRY(check_checkpointing(e));
	return check_values(e);
}
