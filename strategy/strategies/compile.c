/* From model and settings to a plan: checks the sizes, packs the tensors, compiles each role's program. */
#include <stdlib.h>

#include "strategy/base/work.h"
#include "strategy/step/activations.h"
#include "strategy/step/groups.h"
#include "strategy/step/offload.h"
#include "strategy/step/stage.h"
#include "strategy/strategies/strategy.h"

static void alloc_rows(struct step *s)
{
	struct arena *a = s->scratch;
	const struct model *m = s->model;
	s->value = arena_alloc(a, (size_t)m->value_count * sizeof *s->value);
	for (int i = 0; i < m->value_count; i++)
		s->value[i].data = s->value[i].gradient = not_held();
	s->kept = step_numbers(s, m->kernel_count);
	s->tensor = arena_alloc(a, (size_t)m->tensor_count * sizeof *s->tensor);
	for (int i = 0; i < m->tensor_count; i++)
		s->tensor[i] = (struct tensor_state){.weight = region_none(), .gradient = region_none(), .piece = -1};
	s->reductions = (struct reductions){.capacity = 2 * s->plan->group_count + 1};
	s->reductions.list = arena_alloc(a, (size_t)s->reductions.capacity * sizeof *s->reductions.list);
	s->bucket = (struct open_bucket){.buffer = -1, .own = -1};
	s->bucket.groups = arena_alloc(a, (size_t)s->plan->group_count * sizeof *s->bucket.groups);
	s->group = arena_alloc(a, (size_t)s->plan->group_count * sizeof *s->group);
	for (int i = 0; i < s->plan->group_count; i++)
		s->group[i] = (struct group_state){.gathered = -1,
		                                   .gather_op = -1,
		                                   .secondary = -1,
		                                   .fetched = -1,
		                                   .gradients = -1,
		                                   .shard = -1,
		                                   .reduced = -1,
		                                   .updated = -1,
		                                   .parameters16 = -1,
		                                   .leaf = -1};
}

static void prepare(struct step *s)
{
	struct arena *a = s->scratch;
	checkpoints_make(&s->checkpoints, a, s->model, &s->checkpointing, s->kernel_begin, s->kernel_end);
	gather_units_make(s);
	execution_make(&s->execution, a, s->model, &s->checkpoints, &s->units, s->kernel_begin, s->kernel_end);
}

/* torch.nn.functional.batch_norm refuses this too: the variance of one value is no statistic. */
static enum status too_few_to_normalize(const struct model *m, const struct settings *t)
{
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		if (k->kind != KERNEL_BATCH_NORM || t->micro_batch * (k->synchronised ? strategy_data_ranks(t) : 1) > 1)
			continue;
		return status_fail(STATUS_INPUT,
		                   "{micro_batch}: batch normalization needs more than 1 sample %s; use a larger "
		                   "{batch}%s",
		                   k->synchronised ? "over all ranks" : "on each rank",
		                   k->synchronised ? "" : status_words(", or {model} mlp:norm=sync-batch"));
	}
	return STATUS_OK;
}

static enum status make_mesh(struct plan *p, const struct strategy *g, const struct choices *c)
{
	char key[64];
	if (g->mesh || !g->group_key)
		return g->mesh ? g->mesh(p, c) : STATUS_OK;
	snprintf(key, sizeof key, "%s: %s", g->name, g->group_key);
	return plan_group_axes(p, key, "replica", "shard", c->shard);
}

/* How the software carries the strategy out. Only ZeRO's stages 1 and 2 keep slices of the optimizer's state. In stage
 * 1 without overlap DeepSpeed reduces once the backward pass has ended (stage_1_and_2.py, process_gradients and
 * reduce_gradients). */
static void apply_software(const struct software *how, struct strategy *g, struct choices *c)
{
	bool keeps_gradients = g->gradients == PLACE_WHOLE;
	if (g->optimizer != PLACE_SLICE)
		return;
	c->all |= how->does[SOFTWARE_REDUCE] == REDUCE_ALL;
	if (!keeps_gradients || how->does[SOFTWARE_STAGE1] == STAGE1_WHOLE)
		return;
	g->gradients = PLACE_SHARD;
	c->sync = SYNC_LAST;
	c->late = c->waits;
}

static void add_role(struct plan *p, const char *name, int64_t ranks)
{
	const struct role *last = p->role_count ? &p->roles[p->role_count - 1] : NULL;
	p->roles[p->role_count++] =
	        (struct role){.name = name, .first_rank = last ? last->first_rank + last->ranks : 0, .ranks = ranks};
}

static void declare_roles(struct plan *p, const struct strategy *strategy, const struct choices *choices)
{
	if (strategy->stages) {
		for (int i = 0; i < p->ranks; i++)
			add_role(p, arena_print(&p->arena, "stage.%d", i), 1);
	} else if (strategy->root_alone && p->ranks > 1) {
		add_role(p, "root", 1);
		add_role(p, "worker", p->ranks - 1);
	} else if (choices->save && p->ranks > 1) {
		add_role(p, "saver", 1);
		add_role(p, "rank", p->ranks - 1);
	} else if (border_is_kept(p, strategy) && border_elements(p, 0, 1) != border_elements(p, 1, p->ranks - 1)) {
		add_role(p, "first", 1);
		add_role(p, "rest", p->ranks - 1);
	} else {
		add_role(p, "rank", p->ranks);
	}
}

/* Finds the part of the model and of the groups that this role has. */
static void place_role(struct step *s, int role)
{
	const struct plan *p = s->plan;
	bool stages = s->strategy->stages;
	s->stages = stages ? (int)s->ranks : 1;
	s->stage = stages ? role : 0;
	s->kernel_begin = stages && role ? p->stage_end[role - 1] : 0;
	s->kernel_end = stages ? p->stage_end[role] : s->model->kernel_count;
	s->replica_axes = plan_axis(p, "replica");
	s->shard_axes = plan_data_axes(p) & ~s->replica_axes;
	s->shards = plan_along(p, s->shard_axes);
	for (int g = 0; g < p->group_count; g++) {
		struct stage_use use = {.holds = true, .owner = true};
		if (stages)
			use = stage_use(p, g, s->kernel_begin, s->kernel_end);
		s->group[g].base = use.holds ? s->state.held : -1;
		s->group[g].owner = use.owner;
		s->group[g].tied = use.tied;
		s->state.held += use.holds ? p->groups[g].padded : 0;
	}
}

/* All roles are compiled from this. */
struct compilation {
	const struct plan *plan; /* without roles' programs */
	const struct strategy *strategy;
	struct choices choices;
	struct checkpointing checkpointing;
	/* by role, where each is compiled apart */
	struct role *roles;
	struct arena *arenas;
};

/* p: the plan, or a copy that has an arena of its own. */
static void compile_role(struct plan *p, const struct compilation *c, int role)
{
	struct arena scratch = {0};
	struct build b = {.plan = p, .role = &p->roles[role]};
	struct step s = {.b = &b,
	                 .plan = p,
	                 .model = p->model,
	                 .settings = &p->settings,
	                 .strategy = c->strategy,
	                 .choices = c->choices,
	                 .ranks = p->ranks,
	                 .scratch = &scratch,
	                 .checkpointing = c->checkpointing,
	                 .micro = -1,
	                 .root = role == 0};
	alloc_rows(&s);
	place_role(&s, role);
	prepare(&s);
	step_compile_role(&s, b.role);
	arena_release(&scratch);
}

static enum status compile_apart(void *compilation, int role)
{
	const struct compilation *c = compilation;
	struct plan own = *c->plan;
	own.arena = (struct arena){0};
	own.spare_count = 0;
	compile_role(&own, c, role);
	c->roles[role] = own.roles[role];
	c->arenas[role] = own.arena;
	return STATUS_OK;
}

/* Roles are compiled on several cores if there is enough to do for them. */
static void compile_roles(struct plan *p, struct compilation *c)
{
	int64_t size = p->settings.accumulate * p->model->kernel_count;
	if (p->role_count == 1 || size < WORK_LEAST) {
		for (int i = 0; i < p->role_count; i++)
			compile_role(p, c, i);
		return;
	}
	c->roles = array_make((size_t)p->role_count, sizeof *c->roles);
	c->arenas = array_make((size_t)p->role_count, sizeof *c->arenas);
	work_run(compile_apart, c, p->role_count, size);
	for (int i = 0; i < p->role_count; i++) {
		p->roles[i] = c->roles[i];
		arena_join(&p->arena, &c->arenas[i]);
	}
	free(c->roles);
	free(c->arenas);
}

/* Checks that the settings go together, before there is a plan, and chooses what they leave open. */
static enum status check(struct plan *p, const struct model *model, const struct strategy *strategy,
                         struct checkpointing *c)
{
	struct settings *t = &p->settings;
	enum status s;
	if ((s = checkpointing_parse(t->checkpointing, c)) || (s = checkpointing_check(c, model)) ||
	    (s = plan_check_sizes(model, t, strategy_data_ranks(t))) || (s = too_few_to_normalize(model, t)) ||
	    (s = unfused_attention_check(p, model)))
		return s;
	if (strategy->one_rank && t->ranks > 1)
		return status_fail(STATUS_INPUT,
		                   "{strategy} %s runs on one rank, and {ranks} is %lld; leave {ranks} out or "
		                   "choose another strategy",
		                   strategy->name, (long long)t->ranks);
	const struct choices choices = strategy_choices(strategy, t->strategy);
	if ((s = tree_check(strategy, model, t, &choices)) || (s = offload_check(strategy, t, c)) ||
	    (s = checkpointing_choose(model, t)))
		return s;
	return checkpointing_parse(t->checkpointing, c);
}

static enum status compile(struct plan *p, const struct model *model, const struct settings *settings)
{
	const struct strategy *named;
	struct checkpointing checkpointing;
	enum status status = strategy_parse(settings->strategy, &named);
	p->settings = *settings;
	if (status || (status = software_parse(settings->software, &p->software)))
		return status;
	if (settings->stochastic_rounding && p->software.does[SOFTWARE_WEIGHTS] == WEIGHTS_FP32)
		return status_fail(STATUS_INPUT,
		                   "{stochastic_rounding}: with {as} %s:weights=fp32 the update rounds "
		                   "nothing; leave one of them out",
		                   software_name(p->software.name));
	/* Other software leaves collectives to a library, whose own memory is part of the overhead. */
	p->settings.library_collectives |= p->software.name != SOFTWARE_OF_SHARDLAB;
	struct strategy *strategy = arena_alloc(&p->arena, sizeof *strategy);
	struct choices choices = strategy_choices(named, settings->strategy);
	*strategy = *named;
	apply_software(&p->software, strategy, &choices);
	if ((status = check(p, model, strategy, &checkpointing)))
		return status;
	tree_choose(&choices, settings);
	p->strategy = strategy->name;
	p->ranks = settings->ranks;
	plan_one_axis(p);
	p->model = model;
	if ((status = make_mesh(p, strategy, &choices)) || (status = plan_take_model(p, model)) ||
	    (status = checkpoint_slices_check(strategy, p->model, &checkpointing, settings)))
		return status;
	(choices.whole ? pack_all : gather_by_module(p, strategy) ? pack_modules : strategy->pack)(p);
	declare_roles(p, strategy, &choices);
	compile_roles(p, &(struct compilation){
	                         .plan = p, .strategy = strategy, .choices = choices, .checkpointing = checkpointing});
	return STATUS_OK;
}

enum status plan_compile(struct plan *p, const struct model *model, const struct settings *settings)
{
	*p = (struct plan){0};
	enum status s = compile(p, model, settings);
	if (s)
		plan_release(p);
	return s;
}
