/* The place where the optimizer works on a group's state. On the device the state simply stays. With --offload
 * optimizer, Adam or SGD runs on the host, group by group, while copies of the groups before and after are under way:
 *
 *     device-to-host   gradients 2 │ gradients 1 │ …                (reduce.c, during backward)
 *     disk                         read 2 │ read 1 │ write 2 │ …    (with to=disk: two groups are in host memory)
 *     host                                │ adamw 2 │ adamw 1 │ …
 *     host-to-device                                │ parameters 2 │ parameters 1 │ …
 *
 * The host updates fp32 weights of its own (`master`), and writes beside them the parameters that kernels read: 16-bit
 * ones to staging or to the host's shard; in fp32 they are the master weights themselves. Where parameters are
 * offloaded in fp32, the host's shard is what is updated, and there is no master.
 */
#include "strategy/step/groups.h"
#include "strategy/step/offload.h"

static enum state_kind kind_of(const struct step *s, int part)
{
	return part == UPDATE_FIRST                      ? STATE_FIRST_MOMENT
	       : part == UPDATE_SECOND                   ? STATE_SECOND_MOMENT
	       : s->state.home[STATE_MASTER].buffer >= 0 ? STATE_MASTER
	                                                 : STATE_PARAMETERS;
}

static struct update_part read_from_disk(struct step *s, int group, struct region home)
{
	const char *name = arena_print(&s->b->plan->arena, "update.%s.%s", s->b->role->buffers[home.buffer].name,
	                               s->plan->groups[group].name);
	int staging = home_staging(s, name, &home);
	struct update_part part = {home, region_whole(s->b, staging), staging, -1};
	/* The staging of the group before last has been written back, and its place may be taken. */
	build_wait(s->b, QUEUE_DISK, s->staging_uses.written_back[1]);
	part.read = build_copy(s->b, home, part.at);
	return part;
}

void update_fetch(struct step *s, int group, struct update_part *parts)
{
	for (int i = 0; i < UPDATE_PARTS; i++) {
		enum state_kind kind = kind_of(s, i);
		struct region home = state_own(s, kind, group);
		bool on_disk = home.buffer >= 0 && s->state.home[kind].space == SPACE_DISK;
		parts[i] = on_disk ? read_from_disk(s, group, home) : (struct update_part){home, home, -1, -1};
	}
}

struct region update_parameters16(struct step *s, int group)
{
	if (s->state.home[STATE_PARAMETERS].space == s->state.update_space)
		return state_own(s, STATE_PARAMETERS, group);
	struct region own = state_own(s, STATE_MASTER, group);
	const char *name = arena_print(&s->b->plan->arena, "rounded.%s", s->plan->groups[group].name);
	int staging = build_alloc_in(s->b, SPACE_HOST, name, CATEGORY_BUFFERS, s->settings->precision,
	                             region_elements(s->plan, &own));
	s->group[group].parameters16 = staging;
	build_wait(s->b, QUEUE_HOST_COMPUTE, s->staging_uses.written_back[0]);
	return region_whole(s->b, staging);
}

static int copy_updated(struct step *s, int group, enum queue queue, struct region from, struct region to)
{
	build_wait(s->b, queue, s->group[group].updated);
	return step_copy(s, group, PASS_UPDATE, from, to);
}

/* Sends the new parameters to whoever reads them. Returns the last copy, or -1. */
static int return_parameters(struct step *s, int group, struct region weights)
{
	const struct home *home = &s->state.home[STATE_PARAMETERS];
	struct region kept = state_own(s, STATE_PARAMETERS, group);
	int staging = s->group[group].parameters16, copy = -1;
	struct region new = staging >= 0 ? region_whole(s->b, staging) : weights;
	if (home->space == SPACE_DISK && staging >= 0)
		copy = copy_updated(s, group, QUEUE_DISK, new, kept);
	if (s->state.own_weights) {
		/* Without a delay, all kernels have read the old parameters: the update follows their gradients. */
		if (s->state.delayed)
			build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE);
		copy = copy_updated(s, group, QUEUE_HOST_TO_DEVICE, new, kept);
	}
	gather_updated(s, group, s->state.elsewhere ? QUEUE_HOST_TO_DEVICE : QUEUE_COMPUTE);
	return copy;
}

void update_return(struct step *s, int group, const struct update_part *parts)
{
	int *parameters16 = &s->group[group].parameters16, last = -1;
	for (int i = 0; i < UPDATE_PARTS; i++)
		if (parts[i].staging >= 0)
			last = copy_updated(s, group, QUEUE_DISK, parts[i].at, parts[i].home);
	int copy = return_parameters(s, group, parts[UPDATE_WEIGHTS].at);
	for (int i = 0; i < UPDATE_PARTS; i++)
		if (parts[i].staging >= 0)
			build_free(s->b, parts[i].staging);
	if (*parameters16 >= 0)
		build_free(s->b, *parameters16);
	*parameters16 = -1;
	staging_read_by(s->staging_uses.written_back, copy >= 0 ? copy : last);
}
