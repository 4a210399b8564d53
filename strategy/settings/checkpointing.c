#include "strategy/settings/checkpointing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"

/* ---- the option ---- */

const struct key checkpointing_keys[CHECKPOINTING_KEYS] = {
        {"number_checkpoints", "0|auto|N", "0", "with full: this many, evenly; 0: one a block; auto: the least peak"},
        {"cpu_checkpointing", "no|yes", "no", "checkpoints go to host memory and come back"},
        {"partition_activations", "no|yes", "no", "each rank keeps a slice of a checkpoint (strategy tensor)"},
        {"contiguous_memory_optimization", "no|yes", "no", "all checkpoints in one block of memory"},
        {"synchronize_checkpoint_boundary", "no|yes", "no", "queues wait for each other at every checkpoint"},
        {"profile", "no|yes", "no", "say how long forward, recomputing and backward take"},
};

static enum status parse_mode(const char *text, struct checkpointing *out)
{
	if (!strncmp(text, "every=", 6)) {
		out->mode = CHECKPOINTING_EVERY;
		return number_whole(text + 6, "--activation-checkpointing every", 1, INT32_MAX, &out->every);
	}
	if (!strcmp(text, "none"))
		out->mode = CHECKPOINTING_NONE;
	else if (!strcmp(text, "full"))
		out->mode = CHECKPOINTING_FULL;
	else if (!strcmp(text, "selective"))
		out->mode = CHECKPOINTING_SELECTIVE;
	else
		return status_fail(STATUS_INPUT,
		                   "--activation-checkpointing: '%.40s' is not one of: none, full, every=K, selective",
		                   text);
	return STATUS_OK;
}

enum status checkpointing_parse(const char *text, struct checkpointing *out)
{
	char mode[48], value[64];
	const char *pairs = strchr(text, ':');
	size_t length = pairs ? (size_t)(pairs - text) : strlen(text);
	struct keys keys = {"--activation-checkpointing", mode, checkpointing_keys, CHECKPOINTING_KEYS,
	                    "checkpointing"};
	*out = (struct checkpointing){.every = 1};
	snprintf(mode, sizeof mode, "%.*s", (int)(length < 47 ? length : 47), text);
	enum status s = parse_mode(mode, out);
	if (s || !pairs || (s = keys_check(&keys, pairs + 1)))
		return s;
	if (out->mode == CHECKPOINTING_NONE)
		return status_fail(STATUS_INPUT, "--activation-checkpointing none takes no keys; say full, or leave "
		                                 "them out");
	keys_value(&keys, pairs + 1, "number_checkpoints", value, sizeof value);
	out->automatic = !strcmp(value, "auto");
	if (!out->automatic)
		(void)number_whole(value, "number_checkpoints", 0, INT64_MAX, &out->number); /* keys_check has */
	const struct {
		const char *key;
		bool *yes, boundary;
	} switches[] = {{"cpu_checkpointing", &out->cpu, true},
	                {"partition_activations", &out->partition, true},
	                {"contiguous_memory_optimization", &out->contiguous, true},
	                {"synchronize_checkpoint_boundary", &out->synchronize, true},
	                {"profile", &out->profile, false}};
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
		keys_value(&keys, pairs + 1, switches[i].key, value, sizeof value);
		*switches[i].yes = !strcmp(value, "yes");
		if (*switches[i].yes && switches[i].boundary && out->mode == CHECKPOINTING_SELECTIVE)
			return status_fail(STATUS_INPUT,
			                   "--activation-checkpointing selective: %s is about checkpoints between "
			                   "blocks, and selective has none; say full or every=K",
			                   switches[i].key);
	}
	if ((out->number || out->automatic) && out->mode != CHECKPOINTING_FULL)
		return status_fail(STATUS_INPUT,
		                   "--activation-checkpointing %s: number_checkpoints goes with full, which says "
		                   "nothing else of their number; leave it out or say full",
		                   mode);
	return STATUS_OK;
}

enum status checkpointing_check(const struct checkpointing *c, const struct model *m)
{
	int blocks = model_blocks(m);
	bool inner = false;
	for (int i = 0; i < m->kernel_count; i++)
		inner |= m->kernels[i].inner;
	if (c->mode == CHECKPOINTING_NONE)
		return STATUS_OK;
	if (!blocks)
		return status_fail(STATUS_INPUT,
		                   "--activation-checkpointing: %s has model states only, and no blocks to recompute; "
		                   "leave the option out",
		                   m->name);
	if (c->mode == CHECKPOINTING_SELECTIVE && !inner)
		return status_fail(STATUS_INPUT,
		                   "--activation-checkpointing selective recomputes attention's inner part, and %s has "
		                   "no attention; say full or every=K",
		                   m->name);
	if (c->every > blocks)
		return status_fail(STATUS_INPUT,
		                   "--activation-checkpointing every=%" PRId64
		                   ": %s has %d blocks; say every=%d or less",
		                   c->every, m->name, blocks, blocks);
	if (c->number > blocks)
		return status_fail(STATUS_INPUT,
		                   "--activation-checkpointing full: number_checkpoints: %" PRId64
		                   " are more than %s has blocks, %d",
		                   c->number, m->name, blocks);
	return STATUS_OK;
}
