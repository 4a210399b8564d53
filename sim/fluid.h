/* Activities share resources as fluids share pipes.
 *
 * An activity has an amount of work to do, and a rate at which it does it. It uses resources: at rate r it takes
 * r × amount of each. A resource has a capacity, which is shared out fairly: a *level* rises from 0 for all activities.
 * The rate of an activity is level × its weight, and stops rising when it reaches its limit or when a resource that it
 * uses is full (max-min fairness by progressive filling: Bertsekas and Gallager, Data Networks, section 6.5.2).
 *
 *     4 kernels on 2 cores          work: 1000 ns each, limit 1, use 1 core: each at 1/2, done after 2000 ns
 *     two messages over one link    work: bytes, no limit, use 1 of the link's bytes/ns: each gets half
 *     a kernel beside a collective  the collective holds 0.08 of the device without end, the kernel runs at 0.92
 *
 * One call drives it, as in SimGrid's resource models: it finds what ends next, and advances the clock to it.
 *
 *     while ((id = fluid_next(f, &now)) >= 0)
 *         … fluid_activity(f, id) is done at `now`; fluid_end(f, id); begin others with fluid_begin(f, now, …) …
 *
 * Quantities are in 2^-32 (sim/fixed.h), rates by the nanosecond. Time is whole nanoseconds and ends are rounded up.
 */
#ifndef SHARDLAB_SIM_FLUID_H
#define SHARDLAB_SIM_FLUID_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/fixed.h"
#include "sim/heap.h"

struct use {
	int resource;
	fixed amount; /* taken at rate 1 */
};

#define FLUID_NO_LIMIT FIXED_MOST
#define FLUID_WITHOUT_END (-1)

/* The caller's name for an activity. */
struct activity_tag {
	int kind, process, op;
	int64_t number;
};

struct activity {
	struct activity_tag tag;
	wide left; /* work, in 2^-32 */
	fixed rate, limit, weight;
	fixed ceiling;   /* the level at which it reaches its limit */
	int64_t updated; /* when `left` was right */
	bool alive, without_end;
	struct use *uses;
	int use_count, use_capacity;
	/* by use: its place in the resource's list of users, and how much it takes for each unit of level: at least
	 * 2^-32, so that it is never 0 */
	struct used {
		int place;
		fixed demand;
	} * used;
	/* for share() */
	uint64_t stamp;
};

struct user {
	int activity, use;
};

struct resource {
	fixed capacity;
	struct user *users;
	size_t user_count, user_capacity;
	fixed demanded; /* by all users, for each unit of level */
	bool dirty;
	/* for share() */
	fixed free, demand; /* that are left */
	uint64_t stamp;
};

struct fluid {
	struct activity *activities;
	size_t activity_count, activity_capacity;
	int *unused; /* places of activities that ended */
	size_t unused_count, unused_capacity;
	struct resource *resources;
	size_t resource_count, resource_capacity;
	int *dirty;
	size_t dirty_count, dirty_capacity;
	int *near_resources, *near_activities; /* for share(): the part of the network at hand */
	size_t near_resource_count, near_resource_capacity, near_activity_count, near_activity_capacity;
	uint64_t stamp;
	/* The last share() gave all of its part of the network one level, at which the resource `even` is full; and the
	 * activities that have taken up resources since. */
	bool was_even;
	int even;
	fixed even_level;
	int *fresh;
	size_t fresh_count, fresh_capacity;
	struct heap heap;
	int64_t now;
};

void fluid_release(struct fluid *f);

int fluid_add_resource(struct fluid *f, fixed capacity);

/* Begins an activity and returns its number. work: whole units (ns at full speed, or bytes), or FLUID_WITHOUT_END.
 * limit: its highest rate. weight: rate over level; with weight = 1/amount all users of a resource get equal parts of
 * it, however much a unit of their rate takes. Uses whose amount is 0 are dropped. */
int fluid_begin(struct fluid *f, struct activity_tag tag, int64_t work, fixed limit, fixed weight,
                const struct use *uses, int use_count);
/* Removes an activity, whether it is done or not. */
void fluid_end(struct fluid *f, int id);

/* Makes copies of all resources and of all that uses them, so that there are `copies` of each: copy k of resource i is
 * k · n + i, of n. Copies go on where the originals stand. ahead: on the resource of how many copies on an activity
 * draws; 0: on that of its own. Returns copy k of activity i at [k · activity_count + i], of the count until now, -1
 * where there was none. The caller frees it. */
int *fluid_multiply(struct fluid *f, int copies, int (*ahead)(const void *context, int id, int resource),
                    const void *context);

/* Returns the activity that is done next, and advances the clock to that time. The activity stays until fluid_end().
 * -1: there is none. */
int fluid_next(struct fluid *f, int64_t *now);

static inline const struct activity *fluid_activity(const struct fluid *f, int id)
{
	return &f->activities[id];
}

#endif
