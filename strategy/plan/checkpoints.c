#include "strategy/plan/checkpoints.h"

#include "strategy/plan/ops.h"

/* ---- segments ---- */

static void *make(struct arena *a, int n, size_t bytes)
{
	return arena_alloc(a, ((size_t)n + 1) * bytes);
}

/* The segment of the block-th of `blocks` blocks; -1: it keeps all. */
static int segment_of_block(const struct checkpointing *c, int64_t block, int64_t blocks)
{
	if (c->one_in > 1 && (block + 1) % c->one_in)
		return -1;
	return (int)(c->number && blocks ? block * c->number / blocks : block / c->every);
}

static void find_segments(struct checkpoints *c, const struct model *m, const struct checkpointing *setting)
{
	int blocks = model_blocks(m), block = -1, unit = -1, inner = -1;
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

/* ---- selected operations ---- */

/* The share of each layer's products in a block that is kept: torchtitan counts those of the tensors that the
 * layer has in files, and keeps the first and every second from there (activation_checkpoint.py, _apply_op_sac). */
struct share {
	int64_t kept, all;
};

static struct share share_of(const struct tensor *weight, int *products)
{
	struct share share = {0, 0};
	int parts = weight->piece_count && weight->pieces[0].name ? weight->piece_count : 1;
	for (int i = 0; i < parts; i++) {
		int64_t rows = parts > 1 ? weight->pieces[i].size : 1;
		share.kept += (*products)++ % 2 ? 0 : rows;
		share.all += rows;
	}
	return share;
}

/* A layer is kept or made again as a whole. So of blocks one after another as many keep it as its share says:
 *
 *     gate | up, of which one is kept    block 0   made again    block 1   kept    block 2   made again  … */
static bool is_kept_here(struct share s, int block)
{
	return s.all > 0 && (block + 1) * s.kept / s.all > block * s.kept / s.all;
}

static void keep_selected(struct checkpoints *c, const struct model *m, bool *kept)
{
	int block = -1, products = 0;
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		bool product = k->kind == KERNEL_LINEAR, keeps = k->kind == KERNEL_ATTENTION;
		if (c->segment[i] < 0)
			continue;
		if (c->segment[i] != block)
			products = 0;
		block = c->segment[i];
		if (product)
			keeps = c->selected[i] = is_kept_here(share_of(&m->tensors[k->weight], &products), block);
		if (keeps && k->y >= 0)
			kept[k->y] = true;
		if (keeps && k->saved >= 0)
			kept[k->saved] = true;
	}
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
	c->selected = make(a, m->kernel_count, sizeof *c->selected);
	c->again = make(a, m->value_count, sizeof *c->again);
	c->reads = make(a, m->value_count, sizeof *c->reads);
	c->checkpoint = make(a, m->value_count, sizeof *c->checkpoint);
	find_segments(c, m, setting);
	for (int i = 0; i < m->kernel_count; i++)
		c->segment[i] = i >= begin && i < end ? c->segment[i] : -1;
	find_kept(c, m, kept);
	if (setting->mode == CHECKPOINTING_OPERATIONS)
		keep_selected(c, m, kept);
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
