/* State that leaves the ranks and comes back: the weights in the end, and checkpoints.
 *
 *     sections save and restore     what a step reads before it writes, item by item (ITEM_LIST)
 *     epilogue                      the fp32 weights alone
 *
 * Each element leaves once: ranks that keep the same give a slice each. Restored state comes to every rank that
 * keeps it, wherever it keeps it. Both follow from the placements of the strategy and from the spaces of the offload,
 * as allocating does (state.c). So files hold parts of whole tensors, and know nothing of the number of ranks.
 */
#include "strategy/step/activations.h"
#include "strategy/step/groups.h"
#include "strategy/step/offload.h"

/* The kinds of state that make up each item. Parameters are several kinds: the first that is kept in fp32 is saved. */
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

static enum placement shown_place(const struct step *s, enum state_kind kind)
{
	enum placement alike = s->strategy->root_alone ? PLACE_WHOLE : PLACE_SLICE, place = s->state.home[kind].place;
	return place == PLACE_WHOLE ? alike : place;
}

static struct op *show_group(struct step *s, enum op_kind op_kind, const char *name, int group, enum state_kind kind)
{
	const struct home *home = &s->state.home[kind];
	enum placement place = shown_place(s, kind);
	int staging = -1;
	struct region shown = step_place(s, home->buffer, place, group);
	shown = home_read(s, shown, arena_print(&s->b->plan->arena, "%s.%s", name, s->plan->groups[group].name),
	                  &staging);
	struct op *op = build_op(s->b, op_kind, home->queue);
	op->group = group;
	op->operand[FIRST_OPERAND] = shown;
	op->operand[FIRST_OPERAND].slice |= alike_axes(s, group);
	op->axes = step_shard_axes(s, place);
	int number = build_number(s->b, op);
	if (staging >= 0)
		build_free(s->b, staging); /* the operations may have moved */
	return &s->b->role->ops[number];
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

static bool saves_group(const struct step *s, int i, int group)
{
	return is_saved(s, i) && s->group[group].owner && s->group[group].base >= 0;
}

static struct region whole_of(const struct step *s, int buffer)
{
	return buffer < 0 ? region_none() : region_whole(s->b, buffer);
}

/* ---- snapshots: host memory that holds what a save was of, while steps go on ---- */

static void alloc_snapshot(struct step *s, enum item item, enum type type, int64_t elements)
{
	if (elements)
		s->snapshot[item] = (struct snapshot_place){
		        build_state_in(s->b, SPACE_HOST,
		                       arena_print(&s->b->plan->arena, "snapshot.%s", item_name(item)),
		                       CATEGORY_BUFFERS, type, elements),
		        0};
}

static void alloc_whole(struct step *s, enum item item, struct region x)
{
	if (x.buffer >= 0)
		alloc_snapshot(s, item, s->b->role->buffers[x.buffer].type, x.count);
}

static void alloc_kind(struct step *s, int i)
{
	const struct home *home = &s->state.home[kinds[i].kind];
	int64_t elements = 0;
	for (int g = 0; g < s->plan->group_count; g++)
		if (saves_group(s, i, g)) {
			struct region shown = step_place(s, home->buffer, shown_place(s, kinds[i].kind), g);
			shown.slice |= alike_axes(s, g);
			elements += region_elements(s->plan, &shown);
		}
	if (elements)
		alloc_snapshot(s, item_of(s, i), s->b->role->buffers[home->buffer].type, elements);
}

void step_snapshots(struct step *s)
{
	for (int i = 0; i < ITEM_COUNT; i++)
		s->snapshot[i].buffer = -1;
	if (!s->settings->checkpoints || !s->settings->checkpoint_async)
		return;
	for (int i = 0; i < KINDS; i++)
		alloc_kind(s, i);
	if (s->root) {
		alloc_whole(s, ITEM_STEP, whole_of(s, s->state.counter));
		alloc_whole(s, ITEM_SCALER, whole_of(s, s->state.scaler));
	}
	if (step_speaks(s))
		alloc_whole(s, ITEM_RUNNING, buffers_own(s));
}

/* The next place in the snapshot of its item, if there is one. */
static void take_snapshot(struct step *s, struct op *op)
{
	struct snapshot_place *at = &s->snapshot[op->item];
	int64_t n = region_elements(s->plan, &op->operand[SAVE_X]);
	if (at->buffer < 0)
		return;
	op->operand[SAVE_SNAPSHOT] = region_of(at->buffer, at->next, n);
	at->next += n;
}

static void add_whole(struct step *s, enum op_kind kind, enum item item, struct region x)
{
	if (x.buffer < 0)
		return;
	struct op *op = build_op(s->b, kind, space_queue(s->b->role->buffers[x.buffer].space));
	op->item = item;
	op->operand[FIRST_OPERAND] = x;
	if (kind == OP_SAVE)
		take_snapshot(s, op);
}

static void save_group(struct step *s, int i, int group)
{
	enum item item = item_of(s, i);
	struct op *op = show_group(s, OP_SAVE, name_of(s, item), group, kinds[i].kind);
	op->item = item;
	take_snapshot(s, op);
}

void step_save(struct step *s)
{
	for (int i = 0; i < KINDS; i++)
		for (int g = 0; g < s->plan->group_count; g++)
			if (saves_group(s, i, g))
				save_group(s, i, g);
	if (s->root) {
		add_whole(s, OP_SAVE, ITEM_STEP, whole_of(s, s->state.counter));
		add_whole(s, OP_SAVE, ITEM_SCALER, whole_of(s, s->state.scaler));
	}
	if (step_speaks(s))
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
			int op = home_begin_with(s, OP_RESTORE, h, step_shard_axes(s, h->place), g);
			s->b->role->ops[op].item = item_of(s, i);
		}
	}
	restore_twice(s, ITEM_STEP, s->state.counter, s->state.update_counter);
	restore_twice(s, ITEM_SCALER, s->state.scaler, s->state.update_scaler);
	add_whole(s, OP_RESTORE, ITEM_RUNNING, buffers_own(s));
}
