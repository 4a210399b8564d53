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
 * In the backward pass the communication queue also has reductions, which wait for kernels: what is gathered behind one
 * hides behind no kernel that is before it. `backward` says where the next unit's gather stands, as the
 * backward_prefetch of PyTorch's FSDP does:
 *
 *     ahead, unit (BACKWARD_PRE)    gather 1 | reduce 2 | gather 0 | reduce 1      gather 1 travels during kernels 2
 *     post (BACKWARD_POST)          gather 1 | reduce 2 | gather 0 | reduce 1      gather 1 waits for kernels 2
 *     none                          reduce 2 | gather 1 | reduce 1 | gather 0      and for their reduction
 *
 * A shard that does not stay on the device is fetched first (offload.c). One rank then has nothing to gather, and
 * fetches the whole unit.
 *
 * Groups are units here (pack_units), so a unit's number is its group's. With `units=model` all units are one group:
 * it is there for a whole pass, as FSDP keeps a model of which no part was wrapped (NO_WRAP). Where software gathers
 * module by module, units are kernels and groups their tensors (pack_modules), so that a tied table is gathered for
 * each that uses it.
 */
#include <string.h>

#include "strategy/step/groups.h"
#include "strategy/step/offload.h"

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

/* ---- what is gathered at once ---- */

bool gather_by_module(const struct plan *p, const struct strategy *g)
{
	return p->software.does[SOFTWARE_UNIT] == UNIT_MODULE && g->parameters == PLACE_SHARD;
}

static void add_group(struct gather_units *u, int unit, int group)
{
	int end = u->first[unit + 1];
	if (end == u->first[unit] || u->groups[end - 1] != group)
		u->groups[u->first[unit + 1]++] = group;
}

static void add_module(struct step *s, int kernel)
{
	const struct kernel *k = &s->model->kernels[kernel];
	const int tensors[] = {k->weight, k->bias};
	s->units.of_kernel[kernel] = kernel;
	for (int i = 0; i < 2; i++)
		if (tensors[i] >= 0)
			add_group(&s->units, kernel, s->plan->tensor_group[tensors[i]]);
}

void gather_units_make(struct step *s)
{
	const struct model *m = s->model;
	struct arena *a = s->scratch;
	struct gather_units *u = &s->units;
	u->modules = !s->choices.whole && gather_by_module(s->plan, s->strategy);
	u->count = u->modules ? m->kernel_count : m->unit_count;
	u->of_kernel = arena_alloc(a, (size_t)m->kernel_count * sizeof *u->of_kernel);
	u->first = arena_alloc(a, ((size_t)u->count + 1) * sizeof *u->first);
	u->groups = arena_alloc(a, 2 * (size_t)u->count * sizeof *u->groups);
	for (int i = 0; i < m->kernel_count && !u->modules; i++)
		u->of_kernel[i] = m->kernels[i].unit;
	for (int i = 0; i < u->count; i++) {
		u->first[i + 1] = u->first[i];
		if (u->modules)
			add_module(s, i);
		else
			add_group(u, i, s->choices.whole ? 0 : i);
	}
}

/* for (int i = first; i < past; i++) … s->units.groups[i] … */
#define GROUPS_OF(s, unit, i)                                                                                          \
	int i = (s)->units.first[unit];                                                                                \
	i < (s)->units.first[(unit) + 1];                                                                              \
	i++

static int64_t unit_elements(const struct step *s, int unit)
{
	int64_t n = 0;
	for (GROUPS_OF(s, unit, i))
		n += s->plan->groups[s->units.groups[i]].padded;
	return n;
}

/* Some of it is there, and may go with the unit that it was gathered for. */
static bool is_there(const struct step *s, int unit)
{
	bool some = false;
	for (GROUPS_OF(s, unit, i))
		some |= s->group[s->units.groups[i]].gathered >= 0;
	return some;
}

/* ---- gathers ---- */

/* From the shards that stay, or from a second copy that this step has made. */
static int all_gather(struct step *s, int group, enum pass pass, const char *name, int buffer, bool joined)
{
	unsigned axes = s->shard_axes;
	struct region shard = secondary_shard(s, group, &axes);
	if (shard.buffer < 0)
		shard = home_acquire(s, group, name);
	struct op *op = step_collective(s, OP_ALL_GATHER, TRAFFIC_ALL_GATHER, group);
	op->unit = s->model->tensors[s->plan->groups[group].tensors[0]].unit;
	op->pass = pass;
	op->joined = joined;
	op->axes = step_axes(s, axes);
	op->operand[ALL_GATHER_X] = shard;
	op->operand[ALL_GATHER_Y] = region_whole(s->b, buffer);
	return build_number(s->b, op);
}

/* With modules, a group may be gathered several times in a pass, once for each module that uses it. */
static const char *gather_name(struct step *s, int span, int group)
{
	const struct unit_span *v = &s->execution.spans[span];
	const char *name = s->plan->groups[group].name, *pass = pass_name(v->pass);
	struct arena *a = &s->b->plan->arena;
	if (!s->units.modules || !strcmp(s->model->kernels[v->unit].name, name))
		return arena_print(a, "%s.%s", name, pass);
	return arena_print(a, "%s.%s.%s", name, s->model->kernels[v->unit].name, pass);
}

/* joined: in one call with the gather before it. */
static void issue_group(struct step *s, int span, int group, bool joined)
{
	enum pass pass = s->execution.spans[span].pass;
	struct group_state *g = &s->group[group];
	if (g->gathered >= 0)
		return;
	if (state_stays(s, STATE_PARAMETERS)) {
		g->gathered = s->state.home[STATE_PARAMETERS].buffer;
		point_weights(s, group, g->gathered, g->base);
		return;
	}
	const char *name = gather_name(s, span, group);
	int buffer = gather_open(s, group, arena_print(&s->b->plan->arena, "gathered.%s", name));
	g->gather_op =
	        s->shards == 1 ? home_fetch(s, group, name, buffer) : all_gather(s, group, pass, name, buffer, joined);
	if (s->choices.waits)
		build_wait(s->b, QUEUE_COMPUTE, g->gather_op);
}

/* With modules, a group gathered ahead travels in one call with the group beside it. */
static bool joins(const struct step *s)
{
	return s->units.modules && s->choices.prefetch > 0;
}

static void issue(struct step *s, int span, bool *joined)
{
	int unit = unit_of(s, span);
	for (GROUPS_OF(s, unit, i)) {
		bool is_new = s->group[s->units.groups[i]].gathered < 0;
		issue_group(s, span, s->units.groups[i], *joined);
		*joined |= is_new && joins(s);
	}
}

static bool is_root(const struct step *s, int unit)
{
	return !s->units.modules && !s->choices.whole && !s->model->units[unit].block && model_blocks(s->model);
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
		n += unit_elements(s, unit_of(s, v));
	return n;
}

static int64_t units_elements(const struct step *s, int first, int units)
{
	int64_t n = 0;
	for (int v = first; v < s->gather.count && v < first + units; v++)
		n += unit_elements(s, unit_of(s, v));
	return n;
}

/* How much is fetched while the span before `next` is at work, and how much of it there is. */
struct ahead {
	int64_t most, now;
};

static struct ahead ahead_of(const struct step *s, int next)
{
	const struct choices *c = &s->choices;
	bool backward = s->execution.spans[next - 1].pass == PASS_BACKWARD && c->backward != BACKWARD_AHEAD;
	int units = backward                    ? c->backward == BACKWARD_UNIT
	            : c->prefetch == CHOICE_ALL ? s->gather.count
	                                        : -c->prefetch;
	int last = next < s->gather.count ? next : next - 1;
	if (c->prefetch < 0 || backward)
		return (struct ahead){units ? units_elements(s, last, units) : 0, ahead_elements(s, next)};
	if (c->live == CHOICE_WORD)
		return (struct ahead){c->prefetch, ahead_elements(s, next)};
	int modules = s->units.modules ? 1 : model_modules(s->model, unit_of(s, next - 1));
	return (struct ahead){c->prefetch * modules, 0};
}

/* Gathers ahead, in order. It stops at a unit that is still there from its last span. */
static void prefetch(struct step *s, int next, bool joined)
{
	struct ahead ahead = ahead_of(s, next);
	int64_t live_most = s->choices.live == CHOICE_WORD ? INT64_MAX : s->choices.live;
	int64_t live = live_elements(s, unit_of(s, next - 1));
	for (; s->gather.issued < s->gather.count; s->gather.issued++) {
		int unit = unit_of(s, s->gather.issued);
		int64_t elements = unit_elements(s, unit);
		if (elements && (is_there(s, unit) || ahead.now >= ahead.most || live >= live_most))
			break;
		issue(s, s->gather.issued, &joined);
		ahead.now += elements;
		live += elements;
	}
}

void gather_before(struct step *s, int unit)
{
	int span = s->gather.next++;
	bool joined = false;
	s->gather.open++;
	if (s->gather.issued <= span) {
		issue(s, span, &joined);
		s->gather.issued = span + 1;
	}
	prefetch(s, span + 1, joined);
	for (GROUPS_OF(s, unit, i)) {
		build_wait(s->b, QUEUE_COMPUTE, s->group[s->units.groups[i]].gather_op);
		home_release(s, s->units.groups[i]);
	}
}

static bool uses_group(const struct step *s, int unit, int group)
{
	bool uses = false;
	for (GROUPS_OF(s, unit, i))
		uses |= s->units.groups[i] == group;
	return uses;
}

/* Elements of the units that are used before `group` is used again; -1: never again in this micro-batch. */
static int64_t reuse_distance(const struct step *s, int group)
{
	int64_t distance = 0;
	for (int v = s->gather.next; v < s->gather.count; v++) {
		if (uses_group(s, unit_of(s, v), group))
			return distance;
		distance += unit_elements(s, unit_of(s, v));
	}
	return -1;
}

/* With the model as one unit: a span of it is still at work, or the next is of the same pass. */
static bool goes_on(const struct step *s)
{
	const struct unit_span *spans = s->execution.spans;
	int next = s->gather.next;
	return s->choices.whole &&
	       (s->gather.open || (next < s->gather.count && spans[next].pass == spans[next - 1].pass));
}

/* backward=post: the kernels of a unit are issued, and its reduction is not. */
static void gather_following(struct step *s)
{
	struct gather_progress *g = &s->gather;
	bool joined = false;
	if (s->choices.backward != BACKWARD_POST || g->issued > g->next || g->issued == g->count ||
	    is_there(s, unit_of(s, g->issued)))
		return;
	issue(s, g->issued++, &joined);
}

/* Frees the unit, unless it is used again before `reuse` other elements are. */
static void release(struct step *s, int unit, int64_t reuse)
{
	s->gather.open--;
	for (GROUPS_OF(s, unit, i)) {
		int64_t distance = reuse_distance(s, s->units.groups[i]);
		if (goes_on(s) || (distance >= 0 && distance < reuse))
			continue;
		secondary_keep(s, s->units.groups[i]);
		gather_close(s, s->units.groups[i]);
	}
}

void gather_after(struct step *s, int unit)
{
	release(s, unit, s->choices.reuse);
	gather_following(s);
	if (s->choices.backward == BACKWARD_POST)
		reduce_pending(s);
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
