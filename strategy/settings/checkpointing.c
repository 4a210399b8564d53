#include "strategy/settings/checkpointing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"

/* ---- the option ---- */

const struct key checkpointing_keys[CHECKPOINTING_KEYS] = {
        {"number_checkpoints", "0|auto|N", "0", "with full: this many, evenly; 0: one a block; auto: the least peak"},
        {"one_in", "1|N", "1", "with full: of this many blocks the last alone, and the others keep all"},
        {"cpu_checkpointing", "no|yes", "no", "checkpoints go to host memory and come back"},
        {"partition_activations", "no|yes", "no", "each rank keeps a slice of a checkpoint (strategy tensor)"},
        {"contiguous_memory_optimization", "no|yes", "no", "all checkpoints in one block of memory"},
        {"synchronize_checkpoint_boundary", "no|yes", "no", "queues wait for each other at every checkpoint"},
        {"profile", "no|yes", "no", "say how long forward, recomputing and backward take"},
};

static enum status parse_mode(const char *text, struct checkpointing *out)
{
	static const char words[] = "none|full|every=K|selective|operations"; /* in the order of the modes */
	int mode;
	*out = (struct checkpointing){.mode = CHECKPOINTING_EVERY, .every = 1, .one_in = 1};
	if (!strncmp(text, "every=", 6))
		return number_whole(text + 6, status_words("{activation_checkpointing} every"), 1, INT32_MAX,
		                    &out->every);
	enum status s = word_parse(words, status_words("{activation_checkpointing}"), text, &mode);
	out->mode = s ? CHECKPOINTING_NONE : (enum checkpointing_mode)mode;
	return s;
}

static enum status check_keys(const struct checkpointing *c, const char *mode)
{
	const char *of_boundaries = c->cpu           ? "cpu_checkpointing"
	                            : c->partition   ? "partition_activations"
	                            : c->contiguous  ? "contiguous_memory_optimization"
	                            : c->synchronize ? "synchronize_checkpoint_boundary"
	                                             : NULL;
	if (c->mode == CHECKPOINTING_NONE)
		return status_fail(STATUS_INPUT, "{activation_checkpointing} none takes no keys; say full, or leave "
		                                 "them out");
	if (of_boundaries && c->mode == CHECKPOINTING_SELECTIVE)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} selective: %s is about checkpoints between blocks, and "
		                   "selective has none; say full or every=K",
		                   of_boundaries);
	if (of_boundaries && c->mode == CHECKPOINTING_OPERATIONS)
		return status_fail(
		        STATUS_INPUT,
		        "{activation_checkpointing} operations: %s is about a block's input alone, and operations "
		        "keeps more of it; say full or every=K",
		        of_boundaries);
	if ((c->number || c->automatic) && c->mode != CHECKPOINTING_FULL)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} %s: number_checkpoints goes with full, which says "
		                   "nothing else of their number; leave it out or say full",
		                   mode);
	if (c->one_in > 1 && (c->mode != CHECKPOINTING_FULL || c->number || c->automatic))
		return status_fail(
		        STATUS_INPUT,
		        "{activation_checkpointing} %s: one_in goes with full, without number_checkpoints; leave it "
		        "out or say full:one_in=%" PRId64,
		        mode, c->one_in);
	return STATUS_OK;
}

enum status checkpointing_parse(const char *text, struct checkpointing *out)
{
	enum { NUMBER, ONE_IN, CPU, PARTITION, CONTIGUOUS, SYNCHRONIZE, PROFILE };
	char mode[48];
	const char *pairs = strchr(text, ':');
	const struct keys keys = {
	        "{activation_checkpointing}", mode, checkpointing_keys, CHECKPOINTING_KEYS, ":", 0, 0};
	struct key_value value[CHECKPOINTING_KEYS];
	snprintf(mode, sizeof mode, "%.*s", (int)strcspn(text, ":"), text);
	enum status s = parse_mode(mode, out);
	if (s || !pairs || (s = keys_read(&keys, pairs + 1, value)))
		return s;
	out->automatic = key_is(&value[NUMBER], "auto");
	out->number = out->automatic ? 0 : key_whole(&value[NUMBER], 0);
	out->one_in = key_whole(&value[ONE_IN], 1);
	out->cpu = key_is(&value[CPU], "yes");
	out->partition = key_is(&value[PARTITION], "yes");
	out->contiguous = key_is(&value[CONTIGUOUS], "yes");
	out->synchronize = key_is(&value[SYNCHRONIZE], "yes");
	out->profile = key_is(&value[PROFILE], "yes");
	return check_keys(out, mode);
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
		                   "{activation_checkpointing}: %s has model states only, and no blocks to recompute; "
		                   "leave it out",
		                   m->name);
	if (c->mode == CHECKPOINTING_SELECTIVE && !inner)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} selective recomputes attention's inner part, and %s has "
		                   "no attention; say full or every=K",
		                   m->name);
	if (c->mode == CHECKPOINTING_OPERATIONS && !inner)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} operations keeps attention's results and every second "
		                   "product's, and %s has no attention; say full or every=K",
		                   m->name);
	if (c->every > blocks)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} every=%" PRId64
		                   ": %s has %d blocks; say every=%d or less",
		                   c->every, m->name, blocks, blocks);
	if (c->one_in > blocks)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} full:one_in=%" PRId64
		                   ": %s has %d blocks; say %d or less",
		                   c->one_in, m->name, blocks, blocks);
	if (c->number > blocks)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} full: number_checkpoints: %" PRId64
		                   " are more than %s has blocks, %d",
		                   c->number, m->name, blocks);
	return STATUS_OK;
}
