/* Parameters that come before use: ZeRO-3 and FSDP keep slice r of every unit on rank r, gather a unit before its
 * kernels run, and free it after.
 *
 *     communication  | gather 0 | gather 1 |          | gather 2 |
 *     compute                   | forward 0           | forward 1           |
 *                                 ▲ frees unit 0 after ┘
 *
 * While one unit is at work the next is on its way: gather 2 is issued when unit 1 begins, and begins when unit 0 is
 * done with, whose bytes it may take. How far ahead is a setting, in elements; by default one unit (FSDP: at most two
 * gathers in flight, the one in use among them). A unit that is used again within `reuse` elements is not freed in
 * between (DeepSpeed's stage3_max_reuse_distance).
 *
 * DeepSpeed looks ahead each time a module begins (partitioned_param_coordinator.py, fetch_sub_module). It fetches
 * parameters until they are stage3_prefetch_bucket_size elements, whatever is on its way already, or until
 * stage3_max_live_parameters are there; the last one may go beyond either. So no bucket is too small for the next
 * parameter, and with each module it comes further ahead, up to the live elements. Here the modules of a unit begin
 * together, and what is fetched is a unit. Of embedding and head the larger table counts as live while they begin, and
 * nothing later: there each is whole only while it is at work, here both for the whole pass.
 *
 * A shard that does not stay on the device is fetched first (offload.c). One rank then has nothing to gather, and
 * fetches the whole unit.
 *
 * Groups are units here (pack_units), so a unit's number is its group's.
 */
#include "strategy/step/step.h"

static int unit_of(const struct step *s, int span)
{
	return s->execution.spans[span].unit;
}

void gather_begin(struct step *s)
{
	s->gather =
	        (struct gather_progress){.count = s->evaluating ? s->execution.forward_spans : s->execution.span_count};
}

/* ---- buffers ---- */

static void point_weights(struct step *s, int group, int buffer, int64_t base)
{
	const struct group *g = &s->plan->groups[group];
	for (int i = 0; i < g->tensor_count; i++) {
		int t = g->tensors[i];
		s->tensor[t].weight =
		        buffer < 0 ? region_none()
		                   : region_of(buffer, base + s->plan->tensor_offset[t], s->model->tensors[t].elements);
	}
}

struct region gather_home(const struct step *s, int group)
{
	return step_place(s, s->state.home[STATE_PARAMETERS].buffer, PLACE_WHOLE, group);
}

int gather_open(struct step *s, int group, const char *name)
{
	int buffer = build_alloc(s->b, step_name(s, "%s", name), CATEGORY_GATHERED, s->settings->precision,
	                         s->plan->groups[group].padded);
	s->group[group].gathered = buffer;
	point_weights(s, group, buffer, 0);
	return buffer;
}

void gather_close(struct step *s, int group)
{
	if (s->group[group].gathered != s->state.home[STATE_PARAMETERS].buffer)
		build_free(s->b, s->group[group].gathered);
	s->group[group].gathered = -1;
	point_weights(s, group, -1, 0);
}

/* ---- gathers ---- */

static int all_gather(struct step *s, int unit, enum pass pass, struct region shard, int buffer)
{
	struct op *op = step_collective(s, OP_ALL_GATHER, TRAFFIC_ALL_GATHER, unit);
	op->unit = unit;
	op->pass = pass;
	op->axes = step_axes(s, s->shard_axes);
	op->operand[ALL_GATHER_X] = shard;
	op->operand[ALL_GATHER_Y] = region_whole(s->b, buffer);
	return build_number(s->b, op);
}

static void issue(struct step *s, int span)
{
	int unit = unit_of(s, span);
	enum pass pass = s->execution.spans[span].pass;
	struct group_state *g = &s->group[unit];
	if (state_stays(s, STATE_PARAMETERS)) {
		g->gathered = s->state.home[STATE_PARAMETERS].buffer;
		point_weights(s, unit, g->gathered, g->base);
		return;
	}
	const char *name = arena_print(&s->b->plan->arena, "%s.%s", s->plan->groups[unit].name, pass_name(pass));
	int buffer = gather_open(s, unit, arena_print(&s->b->plan->arena, "gathered.%s", name));
	g->gather_op = s->shards == 1 ? offload_fetch(s, unit, name, buffer)
	                              : all_gather(s, unit, pass, offload_acquire(s, unit, name), buffer);
	if (s->choices.waits)
		build_wait(s->b, QUEUE_COMPUTE, g->gather_op);
}

static bool is_root(const struct step *s, int unit)
{
	return !s->model->units[unit].block && model_blocks(s->model);
}

/* The elements of all units that are gathered while this one begins. */
static int64_t live_elements(const struct step *s, int at_work)
{
	int64_t n = is_root(s, at_work) ? model_largest_tensor(s->model, at_work) : 0;
	for (int g = 0; g < s->plan->group_count; g++)
		n += s->group[g].gathered >= 0 && !is_root(s, g) ? s->plan->groups[g].padded : 0;
	return n;
}

static int64_t ahead_elements(const struct step *s, int next)
{
	int64_t n = 0;
	for (int v = next; v < s->gather.issued; v++)
		n += s->plan->groups[unit_of(s, v)].padded;
	return n;
}

/* How much is fetched while the span before `next` is at work, and how much of it there is. */
struct ahead {
	int64_t most, now;
};

static struct ahead ahead_of(const struct step *s, int next)
{
	const struct choices *c = &s->choices;
	int last = next < s->gather.count ? next : next - 1;
	if (c->prefetch == CHOICE_WORD)
		return (struct ahead){s->plan->groups[unit_of(s, last)].padded, ahead_elements(s, next)};
	if (c->live == CHOICE_WORD)
		return (struct ahead){c->prefetch, ahead_elements(s, next)};
	return (struct ahead){c->prefetch * model_modules(s->model, unit_of(s, next - 1)), 0};
}

/* Gathers ahead, in order. It stops at a unit that is still there from its last span. */
static void prefetch(struct step *s, int next)
{
	struct ahead ahead = ahead_of(s, next);
	int64_t live_most = s->choices.live == CHOICE_WORD ? INT64_MAX : s->choices.live;
	int64_t live = live_elements(s, unit_of(s, next - 1));
	for (; s->gather.issued < s->gather.count; s->gather.issued++) {
		int unit = unit_of(s, s->gather.issued);
		if (s->group[unit].gathered >= 0 || ahead.now >= ahead.most || live >= live_most)
			break;
		issue(s, s->gather.issued);
		ahead.now += s->plan->groups[unit].padded;
		live += s->plan->groups[unit].padded;
	}
}

void gather_before(struct step *s, int unit)
{
	int span = s->gather.next++;
	if (s->gather.issued <= span) {
		if (s->group[unit].gathered < 0)
			issue(s, span);
		s->gather.issued = span + 1;
	}
	prefetch(s, span + 1);
	build_wait(s->b, QUEUE_COMPUTE, s->group[unit].gather_op);
	offload_release(s, unit);
}

/* Elements of the units that are used before `unit` is used again; -1: never again in this micro-batch. */
static int64_t reuse_distance(const struct step *s, int unit)
{
	int64_t distance = 0;
	for (int v = s->gather.next; v < s->gather.count; v++) {
		if (unit_of(s, v) == unit)
			return distance;
		distance += s->plan->groups[unit_of(s, v)].padded;
	}
	return -1;
}

/* Frees the unit, unless it is used again before `reuse` other elements are. */
static void release(struct step *s, int unit, int64_t reuse)
{
	int64_t distance = reuse_distance(s, unit);
	if (distance < 0 || distance >= reuse)
		gather_close(s, unit);
}

void gather_after(struct step *s, int unit)
{
	release(s, unit, s->choices.reuse);
}

void gather_after_forward(struct step *s, int unit)
{
	bool keep = s->choices.keep || (is_root(s, unit) && s->plan->software.does[SOFTWARE_ROOT] == ROOT_KEPT);
	release(s, unit, keep ? INT64_MAX : s->choices.reuse);
}

/* ---- after the update ---- */

void gather_updated(struct step *s, int group, enum queue changed_by)
{
	if (s->strategy->parameters != PLACE_WHOLE || s->strategy->optimizer != PLACE_SLICE || s->shards == 1)
		return;
	int parameters = s->state.home[STATE_PARAMETERS].buffer;
	struct op *op = step_collective_after(s, changed_by, OP_ALL_GATHER, TRAFFIC_ALL_GATHER, group);
	op->pass = PASS_UPDATE;
	op->operand[ALL_GATHER_X] = step_place(s, parameters, PLACE_SLICE, group);
	op->operand[ALL_GATHER_Y] = step_place(s, parameters, PLACE_WHOLE, group);
}
