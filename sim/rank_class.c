#include "sim/rank_class.h"

#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/compare.h"

static int64_t per_node_of(const struct cluster *c, int64_t ranks)
{
	return c->devices ? c->devices : ranks;
}

static int role_of(const struct plan *plan, int64_t rank)
{
	return (int)(plan_role_of(plan, rank) - plan->roles);
}

static int add_node(struct rank_classes *p, int64_t ranks)
{
	p->node_ranks = array_reserve(p->node_ranks, (size_t)p->node_count, &p->node_capacity, sizeof *p->node_ranks);
	p->node_ranks[p->node_count] = ranks;
	return p->node_count++;
}

static void add_class(struct rank_classes *p, struct rank_class one)
{
	p->classes = array_reserve(p->classes, (size_t)p->count, &p->capacity, sizeof *p->classes);
	p->classes[p->count++] = one;
}

void rank_classes_each(struct rank_classes *p, const struct plan *plan, const struct cluster *c, int64_t count)
{
	*p = (struct rank_classes){
	        .ranks = plan->ranks, .per_node = per_node_of(c, plan->ranks), .together = cluster_machine_nodes(c)};
	for (int64_t rank = 0; rank < count; rank++) {
		int64_t left = plan->ranks - rank;
		int node =
		        rank % p->per_node ? p->node_count - 1 : add_node(p, left < p->per_node ? left : p->per_node);
		add_class(p, (struct rank_class){role_of(plan, rank), rank, 1, 1, node, cluster_slow_factor(c, rank)});
	}
}

/* ---- classes ---- */

/* Returns the special nodes, ascending, each once. The caller frees them. */
static int64_t *special_nodes(const struct rank_classes *p, const struct plan *plan, const struct cluster *c,
                              int *count)
{
	int64_t *node = array_make((size_t)c->slow_count + (size_t)plan->role_count + 1, sizeof *node);
	int n = 0, kept = 0;
	for (int i = 0; i < c->slow_count; i++)
		if (c->slow[i].rank < plan->ranks)
			node[n++] = c->slow[i].rank / p->per_node;
	for (int i = 0; i < plan->role_count; i++)
		if (plan->roles[i].first_rank % p->per_node)
			node[n++] = plan->roles[i].first_rank / p->per_node;
	if (plan->ranks % p->per_node)
		node[n++] = plan->ranks / p->per_node;
	qsort(node, (size_t)n, sizeof *node, compare_elements);
	for (int i = 0; i < n; i++)
		if (!i || node[i] != node[i - 1])
			node[kept++] = node[i];
	*count = kept;
	return node;
}

static bool contains(const int64_t *node, int count, int64_t wanted)
{
	return bsearch(&wanted, node, (size_t)count, sizeof *node, compare_elements) != NULL;
}

/* Ranks [begin, end) of one role on one kind of node: every slow rank is a class, and the others are one together. */
static void add_stretch(struct rank_classes *p, const struct cluster *c, int role, int node, int64_t nodes,
                        int64_t begin, int64_t end)
{
	int64_t others = end - begin, first = -1;
	for (int64_t rank = begin; rank < end && first < 0; rank++) /* stops at the first that is not slow */
		if (cluster_slow_factor(c, rank) == MILLION)
			first = rank;
	for (int i = 0; i < c->slow_count; i++)
		if (c->slow[i].rank >= begin && c->slow[i].rank < end && c->slow[i].factor != MILLION)
			others--;
	if (others > 0)
		add_class(p, (struct rank_class){role, first, others, nodes, node, MILLION});
	for (int i = 0; i < c->slow_count; i++)
		if (c->slow[i].rank >= begin && c->slow[i].rank < end && c->slow[i].factor != MILLION)
			add_class(p, (struct rank_class){role, c->slow[i].rank, 1, nodes, node, c->slow[i].factor});
}

static void add_special(struct rank_classes *p, const struct plan *plan, const struct cluster *c, int64_t number)
{
	int64_t begin = number * p->per_node, end = begin + p->per_node;
	if (end > plan->ranks)
		end = plan->ranks;
	int node = add_node(p, end - begin);
	for (int i = 0; i < plan->role_count; i++) {
		int64_t first = plan->roles[i].first_rank, last = first + plan->roles[i].ranks;
		first = first > begin ? first : begin;
		last = last < end ? last : end;
		if (first < last)
			add_stretch(p, c, i, node, 1, first, last);
	}
}

/* Adds the plain nodes of a role. */
static void add_plain(struct rank_classes *p, const struct plan *plan, int role, const int64_t *special, int count)
{
	const struct role *r = &plan->roles[role];
	int64_t begin = (r->first_rank + p->per_node - 1) / p->per_node;
	int64_t end = (r->first_rank + r->ranks) / p->per_node, nodes = end - begin, first = begin;
	for (int i = 0; i < count; i++)
		if (special[i] >= begin && special[i] < end)
			nodes--;
	if (nodes <= 0)
		return;
	while (contains(special, count, first))
		first++;
	int node = add_node(p, p->per_node);
	add_class(p, (struct rank_class){role, first * p->per_node, p->per_node, nodes, node, MILLION});
}

static int by_rank(const void *a, const void *b)
{
	return compare_elements(&((const struct rank_class *)a)->rank, &((const struct rank_class *)b)->rank);
}

void rank_classes_make(struct rank_classes *p, const struct plan *plan, const struct cluster *c)
{
	int count;
	*p = (struct rank_classes){.ranks = plan->ranks,
	                           .per_node = per_node_of(c, plan->ranks) * cluster_machine_nodes(c),
	                           .together = 1};
	int64_t *special = special_nodes(p, plan, c, &count);
	for (int i = 0; i < plan->role_count; i++)
		add_plain(p, plan, i, special, count);
	for (int i = 0; i < count; i++)
		add_special(p, plan, c, special[i]);
	free(special);
	qsort(p->classes, (size_t)p->count, sizeof *p->classes, by_rank);
}

int rank_class_of(const struct rank_classes *p, const struct plan *plan, const struct cluster *c, int64_t rank)
{
	int role = role_of(plan, rank), best = -1;
	int64_t factor = cluster_slow_factor(c, rank), number = rank / p->per_node;
	for (int i = 0; i < p->count; i++) {
		const struct rank_class *a = &p->classes[i];
		if (a->role != role || a->factor != factor)
			continue;
		if (a->rank / p->per_node == number)
			return i; /* on this very node */
		if (a->nodes > 1 && best < 0)
			best = i;
	}
	return best;
}

void rank_classes_release(struct rank_classes *p)
{
	free(p->classes);
	free(p->node_ranks);
	*p = (struct rank_classes){0};
}
