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
	static const char words[] = "none|full|every=K|selective"; /* in the order of the modes */
	int mode;
	*out = (struct checkpointing){.mode = CHECKPOINTING_EVERY, .every = 1};
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
	if ((c->number || c->automatic) && c->mode != CHECKPOINTING_FULL)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} %s: number_checkpoints goes with full, which says "
		                   "nothing else of their number; leave it out or say full",
		                   mode);
	return STATUS_OK;
}

enum status checkpointing_parse(const char *text, struct checkpointing *out)
{
	enum { NUMBER, CPU, PARTITION, CONTIGUOUS, SYNCHRONIZE, PROFILE };
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
	out->cpu = key_is(&value[CPU], "yes");
	out->partition = key_is(&value[PARTITION], "yes");
	out->contiguous = key_is(&value[CONTIGUOUS], "yes");
	out->synchronize = key_is(&value[SYNCHRONIZE], "yes");
	out->profile = key_is(&value[PROFILE], "yes");
	return check_keys(out, mode);
}

static int count_blocks(const struct model *m)
{
	int n = 0;
	for (int u = 0; u < m->unit_count; u++)
		n += m->units[u].block;
	return n;
}

enum status checkpointing_check(const struct checkpointing *c, const struct model *m)
{
	int blocks = count_blocks(m);
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
	if (c->every > blocks)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} every=%" PRId64
		                   ": %s has %d blocks; say every=%d or less",
		                   c->every, m->name, blocks, blocks);
	if (c->number > blocks)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing} full: number_checkpoints: %" PRId64
		                   " are more than %s has blocks, %d",
		                   c->number, m->name, blocks);
	return STATUS_OK;
}

/* ---- segments ---- */

static void *make(struct arena *a, int n, size_t bytes)
{
	return arena_alloc(a, ((size_t)n + 1) * bytes);
}

/* The segment of the block-th of `blocks` blocks. */
static int segment_of_block(const struct checkpointing *c, int64_t block, int64_t blocks)
{
	return (int)(c->number && blocks ? block * c->number / blocks : block / c->every);
}

static void find_segments(struct checkpoints *c, const struct model *m, const struct checkpointing *setting)
{
	int blocks = count_blocks(m), block = -1, unit = -1, inner = -1;
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		bool in_block = m->units[k->unit].block && k->kind != KERNEL_CLASSIFIER;
		block += in_block && k->unit != unit;
		unit = in_block ? k->unit : unit;
		inner += k->inner && (!i || !m->kernels[i - 1].inner);
		c->segment[i] = -1;
		if (setting->mode == CHECKPOINTING_SELECTIVE)
			c->segment[i] = k->inner ? inner : -1;
		else if (setting->mode != CHECKPOINTING_NONE && in_block)
			c->segment[i] = segment_of_block(setting, block, blocks);
	}
}

/* ---- what is kept, and what is made again ---- */

/* Calls what a kernel reads in its forward pass. */
#define EACH_INPUT(k, v)                                                                                               \
	for (int n_ = 0, v = (k)->x; n_ < 3; n_++, v = n_ == 1 ? (k)->residual : (k)->second)                          \
		if (v >= 0)

/* Kept is what another segment, or a kernel outside, reads: a checkpoint. But the output of a kernel whose own backward
 * pass reads it belongs to what it saves: the shipped attention's, which `selective` is there to make again. */
static void find_kept(const struct checkpoints *c, const struct model *m, bool *kept)
{
	for (int i = 0; i < m->kernel_count; i++)
		EACH_INPUT(&m->kernels[i], v)
		{
			int producer = m->values[v].producer;
			if (producer < 0 || c->segment[producer] == c->segment[i])
				continue;
			bool own = m->kernels[producer].inner && kernel_backward_reads_y(&m->kernels[producer]);
			kept[v] |= !own || c->segment[i] >= 0;
		}
	/* A batch's statistics are few, and making them again would count the batch twice in the running ones. */
	for (int v = 0; v < m->value_count; v++)
		kept[v] |= m->values[v].per_batch;
}

static void want(const struct checkpoints *c, const struct model *m, const bool *kept, int value, int times)
{
	if (value < 0 || !times || m->values[value].producer < 0 || c->segment[m->values[value].producer] < 0 ||
	    kept[value])
		return;
	c->again[value] = true;
	c->reads[value] += times;
}

/* Counts the segments, and marks what each reads that was made outside of it. */
static void find_checkpoints(struct checkpoints *c, const struct model *m)
{
	for (int i = 0; i < m->kernel_count; i++) {
		c->segments += c->segment[i] >= 0 && (!i || c->segment[i - 1] != c->segment[i]);
		if (c->segment[i] < 0)
			continue;
		EACH_INPUT(&m->kernels[i], v)
		{
			int producer = m->values[v].producer;
			c->checkpoint[v] |= producer >= 0 && c->segment[producer] != c->segment[i];
		}
	}
}

void checkpoints_make(struct checkpoints *c, struct arena *a, const struct model *m,
                      const struct checkpointing *setting, int begin, int end)
{
	bool *kept = make(a, m->value_count, sizeof *kept);
	*c = (struct checkpoints){.segment = make(a, m->kernel_count, sizeof *c->segment)};
	c->recomputed = make(a, m->kernel_count, sizeof *c->recomputed);
	c->again = make(a, m->value_count, sizeof *c->again);
	c->reads = make(a, m->value_count, sizeof *c->reads);
	c->checkpoint = make(a, m->value_count, sizeof *c->checkpoint);
	find_segments(c, m, setting);
	for (int i = 0; i < m->kernel_count; i++)
		c->segment[i] = i >= begin && i < end ? c->segment[i] : -1;
	find_kept(c, m, kept);
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		want(c, m, kept, k->x, kernel_backward_reads_x(k));
		want(c, m, kept, k->y, kernel_backward_reads_y(k));
		want(c, m, kept, k->second, 1);
		want(c, m, kept, k->saved, 1);
	}
	/* From the last to the first, so that what a recomputed kernel reads is known before its producer's turn. */
	for (int i = m->kernel_count - 1; i >= 0; i--) {
		const struct kernel *k = &m->kernels[i];
		c->recomputed[i] =
		        c->segment[i] >= 0 && ((k->y >= 0 && c->again[k->y]) || (k->saved >= 0 && c->again[k->saved]));
		if (c->recomputed[i])
			EACH_INPUT(k, v) want(c, m, kept, v, 1);
	}
	find_checkpoints(c, m);
}
