/* From model and settings to a plan: checks the sizes, packs the tensors, compiles each role's program. */
#include "strategy/base/number.h"
#include "strategy/step/stage.h"
#include "strategy/step/step.h"

static struct region *regions(struct arena *a, int n)
{
	struct region *r = arena_alloc(a, (size_t)n * sizeof *r);
	for (int i = 0; i < n; i++)
		r[i] = region_none();
	return r;
}

static void step_prepare(struct step *s)
{
	struct arena *a = &s->b->plan->arena;
	const struct model *m = s->model;
	int groups = s->plan->group_count;
	s->weight = regions(a, m->tensor_count);
	s->gradient = regions(a, m->tensor_count);
	s->value = regions(a, m->value_count);
	s->value_gradient = regions(a, m->value_count);
	s->uses_left = step_numbers(s, m->tensor_count);
	s->written = arena_alloc(a, (size_t)m->tensor_count * sizeof *s->written);
	s->value_owned = arena_alloc(a, (size_t)m->value_count * sizeof *s->value_owned);
	s->gradient_owned = arena_alloc(a, (size_t)m->value_count * sizeof *s->gradient_owned);
	s->needed = step_numbers(s, m->value_count);
	s->reduced = step_numbers(s, groups);
	s->group_left = step_numbers(s, groups);
	s->group_buffer = step_numbers(s, groups);
	s->gathered = step_numbers(s, groups);
	s->gather_op = step_numbers(s, groups);
	s->updated = step_numbers(s, groups);
	s->rounded = step_numbers(s, groups);
	s->fetched = step_numbers(s, groups);
	s->crossing = step_numbers(s, groups);
	checkpoints_make(&s->checkpoints, a, m, &s->checkpointing, s->kernel_begin, s->kernel_end);
	step_place_checkpoints(s);
	turns_make(&s->turns, a, m, &s->checkpoints, s->kernel_begin, s->kernel_end);
}

/* As torch.nn.functional.batch_norm: the variance of one value is no statistic. */
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

static void add_role(struct plan *p, const char *name, int64_t ranks)
{
	const struct role *last = p->role_count ? &p->roles[p->role_count - 1] : NULL;
	p->roles[p->role_count++] =
	        (struct role){.name = name, .first_rank = last ? last->first_rank + last->ranks : 0, .ranks = ranks};
}

static void declare_roles(struct plan *p, const struct strategy *strategy)
{
	if (strategy->stages) {
		for (int i = 0; i < p->ranks; i++)
			add_role(p, arena_print(&p->arena, "stage.%d", i), 1);
	} else if (strategy->roots && p->ranks > 1) {
		add_role(p, "root", 1);
		add_role(p, "worker", p->ranks - 1);
	} else {
		add_role(p, "rank", p->ranks);
	}
}

/* What of the model and of the groups this role has. */
static void step_place_role(struct step *s, int role)
{
	struct arena *a = &s->b->plan->arena;
	const struct model *m = s->model;
	s->stages = s->strategy->stages ? (int)s->ranks : 1;
	s->stage = s->strategy->stages ? role : 0;
	s->kernel_end = m->kernel_count;
	if (s->stages > 1) {
		s->kernel_begin = s->stage ? s->plan->stage_end[s->stage - 1] : 0;
		s->kernel_end = s->plan->stage_end[s->stage];
	}
	s->replica_axes = plan_axis(s->plan, "replica");
	s->shard_axes = plan_data_axes(s->plan) & ~s->replica_axes;
	s->shards = plan_along(s->plan, s->shard_axes);
	s->base = arena_alloc(a, (size_t)s->plan->group_count * sizeof *s->base);
	s->answers = arena_alloc(a, (size_t)s->plan->group_count * sizeof *s->answers);
	for (int g = 0; g < s->plan->group_count; g++) {
		bool holds = s->stages == 1 || stage_holds(s, g);
		s->base[g] = holds ? s->held : -1;
		s->held += holds ? s->plan->groups[g].padded : 0;
		s->answers[g] = holds && (s->stages == 1 || stage_answers(s, g));
	}
}

static enum status compile(struct plan *p, const struct model *model, const struct settings *settings)
{
	const struct strategy *strategy;
	struct checkpointing checkpointing;
	struct step s = {0};
	enum status status = strategy_parse(settings->strategy, &strategy);
	if (status || (status = checkpointing_parse(settings->checkpointing, &checkpointing)) ||
	    (status = checkpointing_check(&checkpointing, model)) ||
	    (status = plan_check_sizes(model, settings, strategy_data_ranks(settings))) ||
	    (status = too_few_to_normalize(model, settings)))
		return status;
	if (strategy == &strategy_single && settings->ranks > 1)
		return status_fail(STATUS_INPUT,
		                   "{strategy} single runs on one rank, and {ranks} is %lld; leave {ranks} out or "
		                   "choose another strategy",
		                   (long long)settings->ranks);
	if ((status = offload_check(strategy, settings, &checkpointing)))
		return status;
	p->settings = *settings;
	if ((status = checkpointing_choose(model, &p->settings)) ||
	    (status = checkpointing_parse(p->settings.checkpointing, &checkpointing)))
		return status;
	p->strategy = strategy->name;
	p->ranks = settings->ranks;
	plan_one_axis(p);
	p->model = model;
	if ((strategy->mesh && (status = strategy->mesh(p))) || (status = plan_take_model(p, model)) ||
	    (status = checkpoint_parts_check(strategy, p->model, &checkpointing, settings)))
		return status;
	strategy->pack(p);
	declare_roles(p, strategy);
	for (int i = 0; i < p->role_count; i++) {
		struct build b = {.plan = p, .role = &p->roles[i]};
		s = (struct step){.b = &b,
		                  .plan = p,
		                  .model = p->model,
		                  .settings = &p->settings,
		                  .strategy = strategy,
		                  .ranks = p->ranks,
		                  .checkpointing = checkpointing,
		                  .micro = -1,
		                  .root = i == 0};
		step_place_role(&s, i);
		step_prepare(&s);
		step_compile_role(&s, &p->roles[i]);
	}
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
