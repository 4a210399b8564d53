/* Ranks that keep the same parameters begin with those of the first of them. */
#include "strategy/step/offload.h"

/* The axes along which ranks keep the same parameters of a group. The stages' axis is one only if two stages hold the
 * group. */
static unsigned copies_axes(const struct step *s, int group)
{
	unsigned others = group_slice_axes(s->plan, group);
	if (s->strategy->parameters == PLACE_SHARD)
		others |= s->shard_axes;
	if (!s->group[group].tied)
		others |= plan_axis(s->plan, "stage");
	return plan_all_axes(s->plan) & ~others;
}

static void broadcast_group(struct step *s, int group, unsigned axes)
{
	struct region kept = home_acquire_first(s, group);
	struct op *op = step_collective(s, OP_BROADCAST, TRAFFIC_BROADCAST, group);
	op->axes = step_axes(s, axes);
	op->ends_only = s->group[group].tied;
	op->operand[BROADCAST_X] = kept;
	if (kept.count < s->plan->groups[group].padded) /* the padding is on some shards and not on others */
		op->payload = kept.count;
	home_write_back(s, group);
}

void broadcast_parameters(struct step *s)
{
	for (int g = 0; g < s->plan->group_count; g++) {
		unsigned axes = copies_axes(s, g);
		if (s->group[g].base >= 0 && plan_along(s->plan, axes) > 1)
			broadcast_group(s, g, axes);
	}
}
