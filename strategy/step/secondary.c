/* ZeRO++'s hierarchical partitioning, hpZ (Wang et al. 2023, arXiv 2306.10013, section 3.2; DeepSpeed's
 * zero_hpz_partition_size): a second copy of the parameters, sharded over the K ranks of a node.
 *
 *     secondary=2 on 4 ranks       rank 0 │ rank 1 │ rank 2 │ rank 3
 *     gather before forward          a    │   b    │   c    │   d        over all ranks, from the shards that stay
 *     kept after forward            a b   │  c d   │  a b   │  c d       from the gathered unit, 1/K of it
 *     gather before backward         └── ranks ──┘   └── ranks ──┘       over the two ranks of a pair
 *
 * A rank makes its copy of a unit when it frees the gathered unit for the first time in a step, and frees it when the
 * update is done, as DeepSpeed does (_partition_param_sec, invalidate_secondary_tensor). So with accumulation later
 * micro-batches gather from it in the forward pass as well.
 */
#include "strategy/step/groups.h"
#include "strategy/step/step.h"

/* At most all ranks, as in DeepSpeed. */
enum status secondary_mesh(struct plan *p, const struct choices *c)
{
	int64_t k = c->secondary < p->ranks ? c->secondary : p->ranks;
	if (k <= 1)
		return STATUS_OK;
	if (p->settings.offload.parameters)
		return status_fail(
		        STATUS_INPUT,
		        "{strategy} zero3: secondary=%lld cannot be combined with {offload} parameters: the second "
		        "copy stays on the device; leave one of them out",
		        (long long)c->secondary);
	if (c->save && k < p->ranks)
		return status_fail(
		        STATUS_INPUT,
		        "{strategy} zero3: secondary=%lld cannot be combined with save=: gathering to save goes along "
		        "one axis; leave one of them out",
		        (long long)c->secondary);
	return plan_group_axes(p, "zero3: secondary", "group", "secondary", k);
}

static unsigned axes(const struct step *s)
{
	return plan_axis(s->plan, "secondary");
}

static bool is_kept(const struct step *s, int group)
{
	return s->group[group].secondary >= 0;
}

void secondary_keep(struct step *s, int group)
{
	struct group_state *g = &s->group[group];
	int64_t padded = s->plan->groups[group].padded;
	if (!axes(s) || s->evaluating || is_kept(s, group))
		return;
	g->secondary = build_alloc(s->b, arena_print(&s->b->plan->arena, "secondary.%s", s->plan->groups[group].name),
	                           CATEGORY_PARAMETERS, s->settings->precision, padded / plan_along(s->plan, axes(s)));
	step_copy(s, group, PASS_FORWARD, region_slice(g->gathered, axes(s), 0, padded),
	          region_whole(s->b, g->secondary));
}

struct region secondary_shard(const struct step *s, int group, unsigned *along)
{
	if (!is_kept(s, group))
		return region_none();
	*along = axes(s);
	return region_whole(s->b, s->group[group].secondary);
}

void secondary_free(struct step *s)
{
	for (int g = 0; g < s->plan->group_count; g++)
		if (is_kept(s, g)) {
			build_free(s->b, s->group[g].secondary);
			s->group[g].secondary = -1;
		}
}
