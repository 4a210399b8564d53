/* --reproducible: the gradient of a step is one binary tree of sums over the micro-batches of the global batch, the
 * same tree on any number of ranks.
 *
 * The batch has M micro-batches, 0 … M-1; M and the number of ranks n are powers of two, and each rank has a = M/n.
 * Each is a leaf, and the first sums are of leaves that differ in the highest bit of their number. On M = 8:
 *
 *     leaf        0   4   2   6   1   5   3   7
 *                 └─+─┘   └─+─┘   └─+─┘   └─+─┘     highest bit
 *                   └───+───┘       └───+───┘
 *                       └───────+───────┘           lowest bit
 *
 * Collectives by recursive halving add in this order, for the bits of the rank's number
 * (strategy/collective/halving.c). So the samples of a rank's micro-batch m are those of the leaf in which bits that
 * are summed first stand highest:
 *
 *     whole gradients, reduced once a step        leaf m·n + rank      (ddp, zero1: first within the rank)
 *     shards, reduced with every micro-batch      leaf rank·a + m      (zero2, zero3, fsdp: first over the ranks)
 *
 * Within the rank micro-batches are computed from the left to the right of the tree, and a sum is made as soon as both
 * of its sides are there. So no more than log2(a) sums beside the last one wait for their other side:
 *
 *     the nth       0 1 2 3 4 5 6 7
 *     micro-batch   0 4 2 6 1 5 3 7
 *     depth         0 1 1 2 1 2 2 3      of its buffer: bits set in n; sums behind it: ones at the end of n
 *
 * Depth 0 is where the gradients stay. Addition is commutative to the bit, so which side is added to which is nothing.
 */
#include <string.h>

#include "strategy/step/groups.h"
#include "strategy/step/step.h"

_Static_assert(1 << (TREE_DEPTH - 1) == SETTING_MOST_ACCUMULATE, "a rank's micro-batches fit in the tree");

static int depth_at(int nth)
{
	return __builtin_popcount((unsigned)nth);
}

int tree_micro(const struct step *s, int nth)
{
	int micro = 0;
	for (int64_t bit = 1; bit < s->settings->accumulate; bit *= 2, nth >>= 1)
		micro = 2 * micro + (nth & 1);
	return micro;
}

bool tree_in_a_row(const struct step *s)
{
	return s->settings->reproducible && s->strategy->gradients == PLACE_SHARD && !s->evaluating;
}

/* ---- whole gradients ---- */

static struct region whole_home(const struct step *s, int group)
{
	return step_place(s, s->state.home[STATE_GRADIENTS].buffer, PLACE_WHOLE, group);
}

static struct region open_leaf(struct step *s, int group, int depth)
{
	const struct group *g = &s->plan->groups[group];
	if (!depth)
		return whole_home(s, group);
	int buffer = build_alloc(s->b, step_name(s, "partial.gradients.%s", g->name), CATEGORY_GATHERED,
	                         plan_gradient_type(s->plan), g->padded);
	step_zero_padding(s, buffer, g->elements, g->padded);
	s->group[group].partial[depth] = buffer;
	return region_whole(s->b, buffer);
}

void tree_needed(struct step *s, int group)
{
	const struct group *g = &s->plan->groups[group];
	if (!s->settings->reproducible || s->group[group].leaf == s->nth_micro)
		return;
	s->group[group].leaf = s->nth_micro;
	struct region leaf = open_leaf(s, group, depth_at(s->nth_micro));
	for (int i = 0; i < g->tensor_count; i++) {
		int t = g->tensors[i];
		s->tensor[t].gradient =
		        region_of(leaf.buffer, leaf.offset + s->plan->tensor_offset[t], s->model->tensors[t].elements);
		s->tensor[t].written = false;
	}
}

/* ---- sums ---- */

/* Makes the sums whose second side is the leaf at hand. home: the place at depth 0. */
static void sum_up(struct step *s, int group, struct region home)
{
	int depth = depth_at(s->nth_micro);
	int *partial = s->group[group].partial;
	for (int nth = s->nth_micro; nth & 1; nth >>= 1, depth--)
		step_add_gradients(s, group, QUEUE_COMPUTE, partial[depth],
		                   depth > 1 ? region_whole(s->b, partial[depth - 1]) : home);
}

void tree_ready(struct step *s, int group)
{
	if (s->settings->reproducible)
		sum_up(s, group, whole_home(s, group));
}

void tree_add_shard(struct step *s, int group, int shard, struct region home)
{
	s->group[group].partial[depth_at(s->nth_micro)] = shard;
	sum_up(s, group, home);
}

/* ---- what goes with it ---- */

static bool adds_by_itself(const struct strategy *g)
{
	const struct hooks *h = &g->hooks;
	return h->micros || h->load || h->loss || h->gradient_needed || h->gradient_ready || h->end_backward ||
	       g->slices || g->same_samples || g->stages || g->root_alone || g->group_key;
}

static bool normalizes_batches(const struct model *m)
{
	for (int i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].kind == KERNEL_BATCH_NORM)
			return true;
	return false;
}

static enum status refuse(const struct strategy *g, const char *why)
{
	return status_fail(STATUS_INPUT, "{reproducible} with {strategy} %s: %s", g->name, why);
}

/* Refuses settings that would add up in another order. */
static enum status check_sums(const struct strategy *g, const struct settings *t, const struct choices *c)
{
	if (adds_by_itself(g))
		return refuse(
		        g,
		        "sums of this strategy are no binary tree over micro-batches; use single, ddp, zero1, zero2, "
		        "zero3 or fsdp");
	if (strncmp(t->software, "shardlab", strlen("shardlab")) != 0 && t->ranks > 1)
		return refuse(g, status_words("other software leaves sums to a library, which adds up in an order of "
		                              "its own; leave {as} out"));
	if (t->library_collectives && t->ranks > 1)
		return refuse(g, status_words("a library adds up in an order of its own; use {comm} ring"));
	if (c->sync == SYNC_LAST)
		return refuse(
		        g, "sync=last reduces the sum of a rank's micro-batches, and sync=every each of them, which is "
		           "another tree; leave sync=last out");
	if (strstr(t->strategy, "algorithm=ring"))
		return refuse(
		        g,
		        "a ring adds up each slice in another order; use algorithm=halving-doubling, or leave it out");
	return STATUS_OK;
}

enum status tree_check(const struct strategy *g, const struct model *m, const struct settings *t,
                       const struct choices *c)
{
	enum status s = t->reproducible ? check_sums(g, t, c) : STATUS_OK;
	if (s || !t->reproducible)
		return s;
	if (t->ranks > TREE_RANKS)
		return refuse(g, status_words("sums are exact on up to 4096 ranks; give fewer {ranks}"));
	if (normalizes_batches(m))
		return refuse(g,
		              "statistics of batch normalization go from micro-batch to micro-batch; use another norm");
	return STATUS_OK;
}

void tree_choose(struct choices *c, const struct settings *t)
{
	if (!t->reproducible)
		return;
	c->algorithm[OPERATION_ALL_REDUCE] = SCHEDULE_HALVING_DOUBLING_ALL_REDUCE;
	c->algorithm[OPERATION_REDUCE_SCATTER] = SCHEDULE_HALVING_REDUCE_SCATTER;
}
