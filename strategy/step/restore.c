/* State that leaves the ranks and comes back: the weights in the end, and checkpoints.
 *
 *     sections save and restore     what a step reads before it writes, item by item (ITEM_LIST)
 *     epilogue                      the fp32 weights alone
 *
 * What leaves, leaves once: of ranks that keep the same, each gives a slice. Restored state comes to every rank that
 * keeps it, wherever it keeps it. Both follow from the placements of the strategy and from the spaces of the offload,
 * as allocating does (state.c). So files hold parts of whole tensors, and know nothing of the number of ranks.
 */
#include "strategy/step/step.h"

/* Which kinds of state are parts of which item. Parameters are several kinds: what is saved is the first that is kept
 * in fp32. */
static const struct {
	enum state_kind kind;
	enum item item;
} kinds[] = {{STATE_PARAMETERS, ITEM_PARAMETERS},
             {STATE_MASTER, ITEM_PARAMETERS},
             {STATE_FIRST_MOMENT, ITEM_FIRST_MOMENT},
             {STATE_SECOND_MOMENT, ITEM_SECOND_MOMENT},
             {STATE_GRADIENTS, ITEM_GRADIENTS}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool is_kept(const struct step *s, enum state_kind kind)
{
	return s->state.home[kind].buffer >= 0 && (kind != STATE_GRADIENTS || s->state.delayed);
}

/* Parameters that chance rounded do not follow from the master weights. */
static enum item item_of(const struct step *s, int i)
{
	bool rounded = kinds[i].kind == STATE_PARAMETERS && s->settings->stochastic_rounding;
	return rounded ? ITEM_ROUNDED : kinds[i].item;
}

static enum state_kind weights_kind(const struct step *s)
{
	return step_mixed(s) ? STATE_MASTER : STATE_PARAMETERS;
}

/* ---- what leaves ---- */

/* The axes, other than those of shards, along which the ranks of this role keep the same state of a group. */
static unsigned alike_axes(const struct step *s, int group)
{
	unsigned others = s->shard_axes | group_slice_axes(s->plan, group) | plan_axis(s->plan, "stage");
	return s->strategy->root_alone ? 0 : plan_all_axes(s->plan) & ~others;
}

static struct op *show_group(struct step *s, enum op_kind op_kind, const char *name, int group, enum state_kind kind)
{
	const struct home *home = &s->state.home[kind];
	enum placement alike = s->strategy->root_alone ? PLACE_WHOLE : PLACE_SLICE;
	enum placement place = home->place == PLACE_WHOLE ? alike : home->place;
	int staging = -1;
	struct region shown = step_place(s, home->buffer, place, group);
	shown = offload_read(s, shown, arena_print(&s->b->plan->arena, "%s.%s", name, s->plan->groups[group].name),
	                     &staging);
	struct op *op = build_op(s->b, op_kind, home->space == SPACE_DEVICE ? QUEUE_COMPUTE : QUEUE_HOST_COMPUTE);
	op->group = group;
	op->operand[0] = shown;
	op->operand[0].slice |= alike_axes(s, group);
	op->axes = step_shard_axes(s, place);
	if (staging >= 0)
		build_free(s->b, staging);
	return &s->b->role->ops[build_number(s->b, op)];
}

/* Shows each fp32 weight exactly once over all ranks. Ranks that keep the same weights show a slice each; ranks of a
 * sliced model show all that they have. */
void step_show_weights(struct step *s)
{
	enum state_kind kind = weights_kind(s);
	for (int i = 0; i < s->plan->group_count && s->state.home[kind].buffer >= 0; i++)
		if (s->group[i].owner)
			show_group(s, OP_WEIGHTS, "shown", i, kind);
}

/* The fp32 copy that the weights are shown from stands for all others. */
static bool is_saved(const struct step *s, int i)
{
	bool weights = kinds[i].item == ITEM_PARAMETERS;
	return is_kept(s, kinds[i].kind) &&
	       (!weights || kinds[i].kind == weights_kind(s) || item_of(s, i) == ITEM_ROUNDED);
}

static const char *name_of(struct step *s, enum item item)
{
	return arena_print(&s->b->plan->arena, "saved.%s", item_name(item));
}

static void add_whole(struct step *s, enum op_kind kind, enum item item, struct region x)
{
	if (x.buffer < 0)
		return;
	bool on_host = s->b->role->buffers[x.buffer].space == SPACE_HOST;
	struct op *op = build_op(s->b, kind, on_host ? QUEUE_HOST_COMPUTE : QUEUE_COMPUTE);
	op->item = item;
	op->operand[0] = x;
}

static struct region whole_of(const struct step *s, int buffer)
{
	return buffer < 0 ? region_none() : region_whole(s->b, buffer);
}

void step_save(struct step *s)
{
	for (int i = 0; i < KINDS; i++)
		for (int g = 0; g < s->plan->group_count && is_saved(s, i); g++)
			if (s->group[g].owner && s->group[g].base >= 0)
				show_group(s, OP_SAVE, name_of(s, item_of(s, i)), g, kinds[i].kind)->item =
				        item_of(s, i);
	if (s->root) {
		add_whole(s, OP_SAVE, ITEM_STEP, whole_of(s, s->state.counter));
		add_whole(s, OP_SAVE, ITEM_SCALER, whole_of(s, s->state.scaler));
	}
	add_whole(s, OP_SAVE, ITEM_RUNNING, buffers_own(s));
}

/* ---- what comes back ---- */

static void restore_twice(struct step *s, enum item item, int device, int other)
{
	add_whole(s, OP_RESTORE, item, whole_of(s, device));
	if (other != device)
		add_whole(s, OP_RESTORE, item, whole_of(s, other));
}

void step_restore(struct step *s)
{
	for (int i = 0; i < KINDS; i++) {
		const struct home *h = &s->state.home[kinds[i].kind];
		for (int g = 0; g < s->plan->group_count && is_kept(s, kinds[i].kind); g++) {
			if (s->group[g].base < 0)
				continue;
			int op = offload_begin_with(s, OP_RESTORE, h, step_shard_axes(s, h->place), g);
			s->b->role->ops[op].item = item_of(s, i);
		}
	}
	restore_twice(s, ITEM_STEP, s->state.counter, s->state.update_counter);
	restore_twice(s, ITEM_SCALER, s->state.scaler, s->state.update_scaler);
	add_whole(s, OP_RESTORE, ITEM_RUNNING, buffers_own(s));
}
