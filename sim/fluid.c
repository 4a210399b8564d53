#include "sim/fluid.h"

#include <stdlib.h>

#include "strategy/base/arena.h"

#define APPEND(array, count, capacity, value)                                                                          \
	do {                                                                                                           \
		(array) = array_reserve((array), (count), &(capacity), sizeof *(array));                               \
		(array)[(count)++] = (value);                                                                          \
	} while (0)

void fluid_release(struct fluid *f)
{
	for (size_t i = 0; i < f->activity_count; i++) {
		free(f->activities[i].uses);
		free(f->activities[i].used);
	}
	for (size_t i = 0; i < f->resource_count; i++)
		free(f->resources[i].users);
	free(f->activities);
	free(f->unused);
	free(f->resources);
	free(f->dirty);
	free(f->fresh);
	free(f->near_resources);
	free(f->near_activities);
	heap_release(&f->heap);
	*f = (struct fluid){0};
}

int fluid_add_resource(struct fluid *f, fixed capacity)
{
	struct resource r = {.capacity = capacity};
	APPEND(f->resources, f->resource_count, f->resource_capacity, r);
	return (int)f->resource_count - 1;
}

static void touch(struct fluid *f, int resource)
{
	struct resource *r = &f->resources[resource];
	if (r->dirty)
		return;
	r->dirty = true;
	APPEND(f->dirty, f->dirty_count, f->dirty_capacity, resource);
}

/* ---- beginning and ending ---- */

static int take_place(struct fluid *f)
{
	if (f->unused_count)
		return f->unused[--f->unused_count];
	struct activity fresh = {.alive = false};
	APPEND(f->activities, f->activity_count, f->activity_capacity, fresh);
	return (int)f->activity_count - 1;
}

static void set_uses(struct fluid *f, int id, const struct use *uses, int count)
{
	struct activity *a = &f->activities[id];
	if (count > a->use_capacity) {
		free(a->uses);
		free(a->used);
		a->uses = array_make((size_t)count, sizeof *a->uses);
		a->used = array_make((size_t)count, sizeof *a->used);
		a->use_capacity = count;
	}
	a->use_count = 0;
	for (int i = 0; i < count; i++) {
		if (!uses[i].amount)
			continue;
		struct resource *r = &f->resources[uses[i].resource];
		struct user user = {id, a->use_count};
		fixed demand = fixed_times(a->weight, uses[i].amount);
		a->used[a->use_count] = (struct used){(int)r->user_count, demand ? demand : 1};
		r->demanded += a->used[a->use_count].demand;
		a->uses[a->use_count++] = uses[i];
		APPEND(r->users, r->user_count, r->user_capacity, user);
		touch(f, uses[i].resource);
	}
	if (a->use_count)
		APPEND(f->fresh, f->fresh_count, f->fresh_capacity, id);
}

/* Whole nanoseconds until `left` is gone at `rate`, rounded up. */
static int64_t end_of(const struct activity *a, int64_t now)
{
	wide ns = (a->left + a->rate - 1) / a->rate;
	return time_clamp((wide)now + ns);
}

int fluid_begin(struct fluid *f, struct activity_tag tag, int64_t work, fixed limit, fixed weight,
                const struct use *uses, int use_count)
{
	int id = take_place(f);
	struct activity *a = &f->activities[id];
	a->tag = tag;
	a->alive = true;
	a->without_end = work == FLUID_WITHOUT_END;
	a->left = a->without_end ? 0 : (wide)work << 32;
	a->limit = limit ? limit : 1;
	a->weight = weight ? weight : 1;
	a->ceiling = fixed_over(a->limit, a->weight);
	a->rate = 0;
	a->updated = f->now;
	set_uses(f, id, uses, use_count);
	if (!a->use_count) { /* shares nothing: runs at its limit to the end */
		a->rate = a->limit;
		if (!a->without_end)
			heap_set(&f->heap, id, end_of(a, f->now));
	}
	return id;
}

static void leave_resources(struct fluid *f, int id)
{
	struct activity *a = &f->activities[id];
	for (int i = 0; i < a->use_count; i++) {
		struct resource *r = &f->resources[a->uses[i].resource];
		struct user moved = r->users[--r->user_count];
		r->users[a->used[i].place] = moved;
		f->activities[moved.activity].used[moved.use].place = a->used[i].place;
		r->demanded -= a->used[i].demand;
		touch(f, a->uses[i].resource);
	}
	a->use_count = 0;
}

void fluid_end(struct fluid *f, int id)
{
	leave_resources(f, id);
	heap_remove(&f->heap, id);
	f->activities[id].alive = false;
	APPEND(f->unused, f->unused_count, f->unused_capacity, id);
}

/* ---- copies ---- */

enum { USES_MOST = 8 };

/* The uses of an activity of copy k. */
struct copied {
	struct use use[USES_MOST];
	int ahead[USES_MOST], count, copies, resources;
};

static void set_copied(struct fluid *f, int id, const struct copied *of, int k)
{
	struct use uses[USES_MOST];
	for (int i = 0; i < of->count; i++) {
		uses[i] = of->use[i];
		uses[i].resource += (k + of->ahead[i]) % of->copies * of->resources;
	}
	set_uses(f, id, uses, of->count);
}

static int copy_activity(struct fluid *f, int id, const struct copied *of, int k)
{
	int copy = take_place(f);
	struct activity *to = &f->activities[copy];
	const struct activity *from = &f->activities[id];
	struct use *uses = to->uses;
	struct used *used = to->used;
	int capacity = to->use_capacity;
	*to = *from;
	to->uses = uses;
	to->used = used;
	to->use_capacity = capacity;
	size_t at = (size_t)id < f->heap.place_count ? f->heap.place[id] : 0;
	int64_t time = at ? f->heap.entry[at - 1].time : 0;
	set_copied(f, copy, of, k);
	if (at)
		heap_set(&f->heap, copy, time);
	return copy;
}

static void multiply_activity(struct fluid *f, int id, struct copied *of, int *numbers, size_t count)
{
	bool moves = false;
	of->count = f->activities[id].use_count;
	for (int i = 0; i < of->count; i++) {
		of->use[i] = f->activities[id].uses[i];
		moves |= of->ahead[i] != 0;
	}
	for (int k = 1; k < of->copies; k++)
		numbers[(size_t)k * count + (size_t)id] = copy_activity(f, id, of, k);
	if (!moves)
		return;
	leave_resources(f, id);
	set_copied(f, id, of, 0);
}

int *fluid_multiply(struct fluid *f, int copies, int (*ahead)(const void *context, int id, int resource),
                    const void *context)
{
	size_t count = f->activity_count, resources = f->resource_count;
	int *numbers = array_make((size_t)copies * count, sizeof *numbers);
	for (size_t i = 0; i < (size_t)copies * count; i++)
		numbers[i] = i < count && f->activities[i].alive ? (int)i : -1;
	for (size_t i = resources; i < (size_t)copies * resources; i++)
		fluid_add_resource(f, f->resources[i % resources].capacity);
	for (size_t i = 0; i < count; i++) {
		struct copied of = {.copies = copies, .resources = (int)resources};
		for (int u = 0; numbers[i] >= 0 && u < f->activities[i].use_count; u++)
			of.ahead[u] = ahead(context, (int)i, f->activities[i].uses[u].resource);
		if (numbers[i] >= 0)
			multiply_activity(f, (int)i, &of, numbers, count);
	}
	return numbers;
}

/* ---- sharing ---- */

static void add_near(struct fluid *f, int resource)
{
	f->resources[resource].stamp = f->stamp;
	f->near_resources[f->near_resource_count++] = resource;
}

/* Finds all that is connected with the resources that changed: only there can rates have changed. */
static void gather_near(struct fluid *f)
{
	f->stamp++;
	f->near_resource_count = f->near_activity_count = 0;
	f->near_resources = array_reserve(f->near_resources, f->resource_count, &f->near_resource_capacity,
	                                  sizeof *f->near_resources);
	f->near_activities = array_reserve(f->near_activities, f->activity_count, &f->near_activity_capacity,
	                                   sizeof *f->near_activities);
	for (size_t i = 0; i < f->dirty_count; i++) {
		f->resources[f->dirty[i]].dirty = false;
		add_near(f, f->dirty[i]);
	}
	f->dirty_count = 0;
	for (size_t i = 0; i < f->near_resource_count; i++) {
		const struct resource *r = &f->resources[f->near_resources[i]];
		for (size_t u = 0; u < r->user_count; u++) {
			struct activity *a = &f->activities[r->users[u].activity];
			if (a->stamp == f->stamp)
				continue;
			a->stamp = f->stamp;
			f->near_activities[f->near_activity_count++] = r->users[u].activity;
			for (int k = 0; k < a->use_count; k++)
				if (f->resources[a->uses[k].resource].stamp != f->stamp)
					add_near(f, a->uses[k].resource);
		}
	}
}

static void get_on(struct activity *a, int64_t now)
{
	wide done = (wide)a->rate * (wide)(now - a->updated);
	a->left = done < a->left ? a->left - done : 0;
	a->updated = now;
}

static void set_rate(struct fluid *f, int id, fixed rate)
{
	struct activity *a = &f->activities[id];
	if (rate == a->rate && !a->without_end)
		return; /* its end stays where it is */
	get_on(a, f->now);
	a->rate = rate;
	if (!a->without_end)
		heap_set(&f->heap, id, end_of(a, f->now));
}

/* Leaves the rest of its resources to the others. */
static void take_from_resources(struct fluid *f, const struct activity *a, fixed rate)
{
	for (int k = 0; k < a->use_count; k++) {
		struct resource *r = &f->resources[a->uses[k].resource];
		fixed taken = fixed_times(rate, a->uses[k].amount);
		r->free = r->free > taken ? r->free - taken : 0;
		r->demand -= a->used[k].demand;
	}
}

static fixed full_at(const struct resource *r)
{
	return r->demand ? fixed_over(r->free, r->demand) : FIXED_MOST;
}

/* The lowest level at which a resource is full, and which; -1: none ever is. */
static int find_full(const struct fluid *f, fixed *level)
{
	int full = -1;
	*level = FIXED_MOST;
	for (size_t i = 0; i < f->near_resource_count; i++) {
		fixed at = full_at(&f->resources[f->near_resources[i]]);
		if (at < *level) {
			*level = at;
			full = f->near_resources[i];
		}
	}
	return full;
}

/* It uses the resource; -1: it reaches its limit by this level. */
static bool is_concerned(const struct activity *a, int full, fixed level)
{
	if (full < 0)
		return a->ceiling <= level;
	for (int k = 0; k < a->use_count; k++)
		if (a->uses[k].resource == full)
			return true;
	return false;
}

static size_t count_concerned(const struct fluid *f, int full, fixed level)
{
	size_t n = 0;
	for (size_t i = 0; i < f->near_activity_count; i++)
		n += is_concerned(&f->activities[f->near_activities[i]], full, level);
	return n;
}

/* Settles the rates of those concerned, all of them in the last pass. */
static void freeze(struct fluid *f, int full, fixed level, bool last)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->near_activity_count; i++) {
		int id = f->near_activities[i];
		const struct activity *a = &f->activities[id];
		if (!last && !is_concerned(a, full, level)) {
			f->near_activities[kept++] = id;
			continue;
		}
		fixed rate = full < 0 ? a->limit : fixed_times(level, a->weight);
		rate = rate ? rate : 1;
		if (!last)
			take_from_resources(f, a, rate);
		set_rate(f, id, rate);
	}
	f->near_activity_count = kept;
}

static void empty_resources(struct fluid *f)
{
	for (size_t i = 0; i < f->near_resource_count; i++) {
		struct resource *r = &f->resources[f->near_resources[i]];
		r->free = r->capacity;
		r->demand = r->demanded;
	}
}

/* Progressive filling. Each pass stops at the lowest level at which an activity reaches its limit or a resource is
 * full, and freezes the activities concerned; so there are at most as many passes as activities. */
static void share_anew(struct fluid *f)
{
	gather_near(f);
	empty_resources(f);
	f->was_even = false;
	for (bool first = true; f->near_activity_count; first = false) {
		fixed level;
		int full = find_full(f, &level);
		size_t limited = count_concerned(f, -1, level);
		size_t n = limited ? limited : count_concerned(f, full, level);
		bool last = n == f->near_activity_count;
		if (first && last && !limited) {
			f->was_even = true;
			f->even = full;
			f->even_level = level;
		}
		freeze(f, limited ? -1 : full, level, last);
	}
}

/* The place of an activity among the users of a resource; -1: it is none. */
static int place_among(const struct activity *a, int resource)
{
	for (int k = 0; k < a->use_count; k++)
		if (a->uses[k].resource == resource)
			return a->used[k].place;
	return -1;
}

/* Puts the fresh ones in the order in which share_anew would come to them, as users of the first resource that changed.
 * False: not all of them are, or not all go at the level at which `even` is full. */
static bool arrange_fresh(struct fluid *f)
{
	size_t count = 0;
	for (size_t i = 0; i < f->fresh_count; i++) {
		int id = f->fresh[i];
		const struct activity *a = &f->activities[id];
		if (!a->alive || !a->use_count)
			continue;
		int place = place_among(a, f->dirty[0]);
		if (place < 0 || a->ceiling <= f->even_level || !is_concerned(a, f->even, f->even_level))
			return false;
		size_t at = count++;
		for (; at && place_among(&f->activities[f->fresh[at - 1]], f->dirty[0]) > place; at--)
			f->fresh[at] = f->fresh[at - 1];
		f->fresh[at] = id;
	}
	f->fresh_count = count;
	return true;
}

/* Nothing but fresh activities and those that the last share() saw can be near, and `even` is full at the same level as
 * then, below all others. */
static bool is_as_before(const struct fluid *f)
{
	for (size_t i = 0; i < f->dirty_count; i++)
		if (f->resources[f->dirty[i]].stamp != f->stamp)
			return false;
	for (size_t i = 0; i < f->near_resource_count; i++) {
		fixed at = full_at(&f->resources[f->near_resources[i]]);
		if (f->near_resources[i] == f->even ? at != f->even_level : at <= f->even_level)
			return false;
	}
	return true;
}

/* Where one kernel follows another the level is often what it was. Then the others keep their rates, and what began has
 * the level too: share_anew would find the same. False: it has to. */
static bool share_as_before(struct fluid *f)
{
	enum { FEW = 8 };
	if (!f->was_even || f->fresh_count > FEW)
		return false;
	empty_resources(f);
	if (!is_as_before(f) || !arrange_fresh(f))
		return false;
	for (size_t i = 0; i < f->fresh_count; i++) {
		fixed rate = fixed_times(f->even_level, f->activities[f->fresh[i]].weight);
		set_rate(f, f->fresh[i], rate ? rate : 1);
	}
	for (size_t i = 0; i < f->dirty_count; i++)
		f->resources[f->dirty[i]].dirty = false;
	f->dirty_count = 0;
	return true;
}

static void share(struct fluid *f)
{
	if (!share_as_before(f))
		share_anew(f);
	f->fresh_count = 0;
}

int fluid_next(struct fluid *f, int64_t *now)
{
	/* Changes at one instant are shared out together, before the clock moves on. */
	if (f->dirty_count && (heap_empty(&f->heap) || f->heap.entry[0].time > f->now))
		share(f);
	int64_t time = f->now;
	int id = heap_pop(&f->heap, &time);
	if (id < 0)
		return -1;
	f->now = *now = time;
	return id;
}
