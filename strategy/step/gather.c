/* Parameters that come before use: ZeRO-3 and FSDP keep slice r of every unit on rank r, gather a unit before its
 * kernels run, and free it after.
 *
 *     communication  | gather 0 | gather 1 |          | gather 2 |
 *     compute                   | forward 0           | forward 1           |
 *                                 ▲ frees unit 0 after ┘
 *
 * While one unit is at work the next is on its way: gather 2 is issued when unit 1 begins, and begins when unit 0 is
 * done with, whose bytes it may take. How far ahead is a setting, in elements, as DeepSpeed's prefetch bucket; by
 * default one unit (FSDP: at most two gathers in flight, the one in use among them). A unit that is used again within
 * `reuse` elements is not freed in between (DeepSpeed's stage3_max_reuse_distance).
 *
 * With --offload parameters the shard comes from the host first, into staging (offload.c). One rank then has nothing to
 * gather, and fetches the whole unit.
 *
 * Groups are units here (pack_units), so a unit's number is its group's.
 */
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/step/step.h"

static int visit_unit(const struct step *s, int visit)
{
	return s->turns.visits[visit].unit;
}

void gather_begin(struct step *s)
{
	s->visit_next = s->visit_issued = 0;
	s->visit_count = s->evaluating ? s->turns.forward_visits : s->turns.visit_count;
}

/* A setting in elements; `otherwise` for its word ("unit", "unlimited") and where the strategy has no such setting. */
static int64_t setting_elements(const struct step *s, const char *key, int64_t otherwise)
{
	const char *text = strategy_setting(s, key);
	if (!*text || !strcmp(text, "unit") || !strcmp(text, "unlimited"))
		return otherwise;
	int64_t n = 0;
	/* strategy_parse has checked it */
	(void)number_whole(text, key, 0, INT64_MAX, &n);
	return n;
}

static void point_weights(struct step *s, int group, int buffer)
{
	const struct group *g = &s->plan->groups[group];
	for (int i = 0; i < g->tensor_count; i++) {
		int t = g->tensors[i];
		s->weight[t] = buffer < 0 ? region_none()
		                          : region_of(buffer, s->plan->tensor_offset[t], s->model->tensors[t].elements);
	}
}

/* Are units brought together in a buffer of their own? With one rank the shard is the unit, if it is on the device. */
static bool brings(const struct step *s)
{
	return s->shards > 1 || s->settings->offload.parameters;
}

/* The rank's own part of a unit, where the gather can read it. */
static struct region shard(struct step *s, int unit, const char *name)
{
	if (!s->settings->offload.parameters)
		return step_place(s, s->parameters, PLACE_SHARD, unit);
	build_wait(s->b, QUEUE_COMMUNICATION, offload_fetch(s, unit, name, -1));
	return region_whole(s->b, s->fetched[unit]);
}

static void issue(struct step *s, int unit)
{
	const struct group *g = &s->plan->groups[unit];
	if (!brings(s)) {
		s->gathered[unit] = s->parameters;
		for (int i = 0; i < g->tensor_count; i++)
			s->weight[g->tensors[i]] =
			        region_of(s->parameters, g->base + s->plan->tensor_offset[g->tensors[i]],
			                  s->model->tensors[g->tensors[i]].elements);
		return;
	}
	enum pass pass = s->turns.visits[s->visit_issued].pass;
	const char *name = arena_print(&s->b->plan->arena, "%s.%s", g->name, pass_name(pass));
	int buffer = build_alloc(s->b, step_name(s, "gathered.%s", name), CATEGORY_GATHERED, s->settings->precision,
	                         g->padded);
	s->gathered[unit] = buffer;
	if (s->shards == 1) {
		s->gather_op[unit] = offload_fetch(s, unit, name, buffer);
		point_weights(s, unit, buffer);
		return;
	}
	struct region mine = shard(s, unit, name);
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op = step_collective(s, OP_ALL_GATHER, SCHEDULE_RING_ALL_GATHER, TRAFFIC_ALL_GATHER, unit);
	op->unit = unit;
	op->pass = pass;
	op->axes = step_axes(s, s->shard_axes);
	op->operand[ALL_GATHER_X] = mine;
	op->operand[ALL_GATHER_Y] = region_of(buffer, 0, g->padded);
	s->gather_op[unit] = build_number(s->b, op);
	point_weights(s, unit, buffer);
}

void gather_before(struct step *s, int unit)
{
	const struct plan *p = s->plan;
	int mine = s->visit_next++;
	int next_unit = mine + 1 < s->visit_count ? visit_unit(s, mine + 1) : unit;
	int64_t ahead = setting_elements(s, "prefetch", p->groups[next_unit].padded);
	int64_t live_most = setting_elements(s, "live", INT64_MAX), fetched = 0, live = 0;
	if (s->visit_issued <= mine) {
		s->visit_issued = mine;
		if (s->gathered[unit] < 0)
			issue(s, unit);
		s->visit_issued = mine + 1;
	}
	for (int g = 0; g < p->group_count; g++)
		live += s->gathered[g] >= 0 ? p->groups[g].padded : 0;
	for (int v = mine + 1; v < s->visit_issued; v++)
		fetched += p->groups[visit_unit(s, v)].padded;
	/* Fetch ahead, in order; a unit that is still there from its last visit ends it. */
	while (s->visit_issued < s->visit_count) {
		int group = visit_unit(s, s->visit_issued);
		int64_t size = p->groups[group].padded;
		if (s->gathered[group] >= 0 || fetched + size > ahead || live + size > live_most)
			break;
		issue(s, visit_unit(s, s->visit_issued));
		s->visit_issued++;
		fetched += size;
		live += size;
	}
	if (brings(s))
		build_wait(s->b, QUEUE_COMPUTE, s->gather_op[unit]);
	offload_fetched(s, unit);
}

/* Elements of the units that are visited before `unit` is visited again; -1: never again in this micro-batch. */
static int64_t reuse_distance(const struct step *s, int unit)
{
	int64_t distance = 0;
	for (int v = s->visit_next; v < s->visit_count; v++) {
		if (visit_unit(s, v) == unit)
			return distance;
		distance += s->plan->groups[visit_unit(s, v)].padded;
	}
	return -1;
}

/* Unless it is used again before `reuse` other elements are. */
static void let_go(struct step *s, int unit, int64_t reuse)
{
	int64_t distance = reuse_distance(s, unit);
	if (distance >= 0 && distance < reuse)
		return;
	if (brings(s))
		build_free(s->b, s->gathered[unit]);
	s->gathered[unit] = -1;
	point_weights(s, unit, -1);
}

void gather_after(struct step *s, int unit)
{
	let_go(s, unit, setting_elements(s, "reuse", -1));
}

void gather_keep(struct step *s, int unit)
{
	let_go(s, unit, INT64_MAX);
}
