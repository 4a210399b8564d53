/* Weights that are gathered to be saved: DeepSpeed's stage3_gather_16bit_weights_on_model_save (save=16bit), and the
 * full state dict of PyTorch's FSDP with offload_to_cpu and rank0_only (save=full). In the epilogue
 *
 *     communication   | gather 0 |        | gather 1 |        | gather 2 | …       all ranks
 *     device-to-host             | copy 0 |          | copy 1 |                    rank 0 alone: the role `saver`
 *
 * all ranks gather unit by unit, so the device holds one at a time. Rank 0 copies each into host memory, where all of
 * the model stands in the end, and saves it from there: its host memory must have room for that, and no other rank's.
 *
 * DeepSpeed gathers for rank 0 to change what was gathered (GatheredParameters with modifier_rank=0), and so broadcasts
 * it before it is freed, changed or not.
 */
#include "strategy/step/groups.h"
#include "strategy/step/offload.h"

static enum state_kind saved_kind(const struct step *s)
{
	return s->choices.save == SAVE_FULL && step_mixed(s) ? STATE_MASTER : STATE_PARAMETERS;
}

static const char *name_of(struct step *s, const char *what, int group)
{
	return arena_print(&s->b->plan->arena, "%s.%s", what, s->plan->groups[group].name);
}

/* Returns the buffer of the whole group, to be freed by the caller. */
static int gather(struct step *s, const struct home *home, int group)
{
	int fetched = -1, whole;
	struct region shard = home_bring(s, home, group, &fetched);
	whole = build_alloc(s->b, name_of(s, "saved", group), CATEGORY_GATHERED, s->b->role->buffers[home->buffer].type,
	                    s->plan->groups[group].padded);
	struct op *op = step_collective(s, OP_ALL_GATHER, TRAFFIC_ALL_GATHER, group);
	op->axes = step_axes(s, s->shard_axes);
	op->operand[ALL_GATHER_X] = shard;
	op->operand[ALL_GATHER_Y] = region_whole(s->b, whole);
	if (fetched >= 0)
		build_free(s->b, fetched);
	return whole;
}

/* Rank 0's, to all ranks that have gathered it. */
static void send_back(struct step *s, int group, int whole)
{
	if (s->plan->software.does[SOFTWARE_SAVED] != SAVED_BROADCAST)
		return;
	struct op *op = step_collective(s, OP_BROADCAST, TRAFFIC_BROADCAST, group);
	op->axes = step_axes(s, s->shard_axes);
	op->operand[BROADCAST_X] = region_whole(s->b, whole);
}

static void show(struct step *s, int group, struct region from)
{
	struct op *op = build_op(s->b, OP_WEIGHTS, QUEUE_HOST_COMPUTE);
	op->group = group;
	op->operand[WEIGHTS_WEIGHTS] = from;
}

void save_gathered(struct step *s)
{
	const struct home *home = &s->state.home[saved_kind(s)];
	int all = -1;
	s->micro = -1;
	if (s->root)
		all = build_alloc_in(s->b, SPACE_HOST, "saved", CATEGORY_BUFFERS,
		                     s->b->role->buffers[home->buffer].type, s->plan->group_elements);
	for (int g = 0; g < s->plan->group_count; g++) {
		int whole = gather(s, home, g);
		if (s->root) {
			struct region place = step_place(s, all, PLACE_WHOLE, g);
			build_wait_all(s->b, QUEUE_DEVICE_TO_HOST, QUEUE_COMMUNICATION);
			int copy = step_copy(s, g, PASS_NONE, region_whole(s->b, whole), place);
			build_wait(s->b, QUEUE_COMMUNICATION, copy); /* the next unit may take its place */
			build_wait(s->b, QUEUE_HOST_COMPUTE, copy);
			show(s, g, place);
		}
		send_back(s, g, whole);
		build_free(s->b, whole);
	}
	if (s->root)
		build_free(s->b, all);
}
