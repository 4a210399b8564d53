#include "sim/cost.h"

#include <stdlib.h>

#include "sim/nccl.h"
#include "strategy/base/arena.h"
#include "strategy/cluster/effective.h"
#include "strategy/strategies/alone.h"

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- links ---- */

bool cost_crosses(const struct cluster *c, int64_t from, int64_t to)
{
	return cluster_node_of(c, from) != cluster_node_of(c, to);
}

int64_t cost_latency(const struct cluster *c, bool crosses)
{
	return crosses ? c->network.latency.value : c->link.latency.value;
}

fixed cost_link_rate(const struct cluster *c)
{
	return fixed_rate(c->link.bandwidth.value);
}

fixed cost_network_rate(const struct cluster *c)
{
	fixed one = fixed_rate(c->network.bandwidth.value);
	return fixed_clamp((wide)one * (uint64_t)c->rails);
}

fixed cost_network_sum_rate(const struct cluster *c)
{
	if (!c->network_sum.value)
		return cost_network_rate(c);
	return fixed_clamp((wide)fixed_rate(c->network_sum.value) * (uint64_t)c->rails);
}

static int64_t bytes_at(int64_t bytes, fixed rate)
{
	return time_clamp((((wide)bytes << 32) + rate - 1) / rate);
}

/* crossing: messages that leave or reach the busiest node at the same time; 0: all stay inside. */
static fixed rate_of(const struct cluster *c, int64_t crossing, bool adds)
{
	fixed rate = cost_link_rate(c);
	if (crossing) {
		fixed share = (adds ? cost_network_sum_rate(c) : cost_network_rate(c)) / (uint64_t)crossing;
		rate = share < rate ? share : rate;
	}
	return rate ? rate : 1;
}

static int64_t hop_of(const struct cluster *c, int64_t bytes, int64_t crossing, bool adds)
{
	return cost_latency(c, crossing > 0) + bytes_at(bytes, rate_of(c, crossing, adds));
}

static int64_t hop(const struct cluster *c, int64_t bytes, int64_t crossing)
{
	return hop_of(c, bytes, crossing, false);
}

static int64_t slower(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- algorithms ---- */

struct shape {
	const struct cluster *c;
	const struct plan *p;
	const struct op *op;
	struct schedule s;
	int64_t n, per_node, nodes;
	int64_t element_bytes;
};

static bool is_of_all(const struct shape *h)
{
	return h->n == h->p->ranks;
}

/* Finds which hops of all groups' rings leave a node, by looking at every rank once. */
static const struct cost_circle *circle_of(struct cost_cache *cache, const struct shape *h)
{
	unsigned axes = op_axes(h->p, h->op);
	for (size_t i = 0; i < cache->circle_count; i++)
		if (cache->circles[i].axes == axes && cache->circles[i].ends == h->op->ends_only)
			return &cache->circles[i];
	struct cost_circle circle = {.axes = axes, .ends = h->op->ends_only};
	int64_t all_crossing = 0, members = 0;
	int64_t *counts = array_make((size_t)h->nodes * 2, sizeof *counts);
	for (int64_t rank = 0; rank < h->p->ranks; rank++) {
		int64_t member = op_member(h->p, h->op, rank);
		if (member < 0)
			continue;
		int64_t to = op_member_rank(h->p, h->op, rank, (member + 1) % h->n);
		members++;
		if (!cost_crosses(h->c, rank, to)) {
			circle.inside = true;
			continue;
		}
		all_crossing++;
		int64_t out = ++counts[rank / h->per_node], in = ++counts[h->nodes + to / h->per_node];
		int64_t most = out > in ? out : in;
		circle.crossing = most > circle.crossing ? most : circle.crossing;
	}
	free(counts);
	int64_t groups = members / h->n > 1 ? members / h->n : 1;
	circle.nodes = all_crossing > groups ? (all_crossing + groups - 1) / groups : 1;
	cache->circles =
	        array_reserve(cache->circles, cache->circle_count, &cache->circle_capacity, sizeof *cache->circles);
	cache->circles[cache->circle_count++] = circle;
	return &cache->circles[cache->circle_count - 1];
}

/* A ring adds up in its first n - 1 rounds, if it adds at all. */
static int64_t adding_rounds(const struct shape *h)
{
	return operation_row(schedule_row(h->s.algorithm)->operation)->adds ? h->n - 1 : 0;
}

static wide cost_ring(struct cost_cache *cache, const struct shape *h)
{
	const struct cost_circle *circle = circle_of(cache, h);
	int64_t bytes = h->s.elements / h->n * h->element_bytes;
	int64_t inside = circle->inside ? hop(h->c, bytes, 0) : 0;
	int64_t between = circle->crossing ? hop(h->c, bytes, circle->crossing) : 0;
	int64_t sums = circle->crossing ? hop_of(h->c, bytes, circle->crossing, true) : 0;
	int64_t rounds = schedule_rounds(&h->s), adding = smaller(rounds, adding_rounds(h));
	return (wide)adding * (uint64_t)slower(inside, sums) +
	       (wide)(rounds - adding) * (uint64_t)slower(inside, between);
}

/* A chain has one hop from each rank to the next. As many of them leave a node as there are nodes, less one: the hop
 * that would close the ring. */
static wide cost_chain(const struct shape *h)
{
	int64_t pieces = h->s.pieces ? h->s.pieces : h->n, whole = h->s.elements;
	int64_t bytes = (whole + pieces - 1) / pieces * h->element_bytes;
	int64_t closing = (h->s.root + h->n - 1) % h->n;
	int64_t crossing = h->nodes > 1 ? h->nodes - cost_crosses(h->c, closing, h->s.root) : 0;
	int64_t inside = hop(h->c, bytes, 0), between = crossing ? hop(h->c, bytes, 1) : 0;
	int64_t slowest = h->n - 1 > crossing ? slower(inside, between) : between;
	return (wide)(h->n - 1 - crossing) * (uint64_t)inside + (wide)crossing * (uint64_t)between +
	       (wide)(pieces - 1) * (uint64_t)slowest;
}

static wide cost_star(const struct shape *h, bool whole)
{
	int64_t bytes = (whole ? h->s.elements : h->s.elements / h->n) * h->element_bytes;
	int64_t first = h->s.root / h->per_node * h->per_node;
	int64_t inside = smaller(h->per_node, h->n - first) - 1, between = h->n - 1 - inside;
	return (wide)inside * (uint64_t)hop(h->c, bytes, 0) +
	       (between ? (wide)between * (uint64_t)hop(h->c, bytes, 1) : 0);
}

/* ---- algorithms of few rounds: which of them leave a node ---- */

/* Only so many ranks can send in this round, counted from the root. */
static int64_t ranks_sending(const struct shape *h, int64_t number)
{
	const struct algorithm *a = schedule_row(h->s.algorithm);
	return a->senders ? a->senders(&h->s, number) : h->n;
}

static void profile_send(const struct shape *h, struct cost_profile *p, int64_t number, int64_t rank, int64_t *out_of,
                         int64_t *into)
{
	struct round r = schedule_round(&h->s, op_member(h->p, h->op, rank), number);
	if (r.send_to < 0)
		return;
	int64_t to = op_member_rank(h->p, h->op, rank, r.send_to);
	if (!cost_crosses(h->c, rank, to)) {
		p->round[number].inside = true;
		return;
	}
	int64_t out = ++out_of[rank / h->per_node], in = ++into[to / h->per_node];
	p->round[number].crossing = slower(p->round[number].crossing, slower(out, in));
}

static void profile_round(const struct shape *h, struct cost_profile *p, int64_t number, int64_t *out_of, int64_t *into)
{
	for (int64_t i = 0; i < h->nodes; i++)
		out_of[i] = into[i] = 0;
	if (is_of_all(h)) {
		for (int64_t v = 0; v < ranks_sending(h, number); v++)
			profile_send(h, p, number, (h->s.root + v) % h->n, out_of, into);
		return;
	}
	for (int64_t rank = 0; rank < h->p->ranks; rank++) /* of all groups */
		if (op_member(h->p, h->op, rank) >= 0)
			profile_send(h, p, number, rank, out_of, into);
}

static const struct cost_profile *profile_of(struct cost_cache *cache, const struct shape *h)
{
	for (size_t i = 0; i < cache->count; i++)
		if (cache->profiles[i].algorithm == h->s.algorithm && cache->profiles[i].root == h->s.root &&
		    cache->profiles[i].axes == op_axes(h->p, h->op) && cache->profiles[i].ends == h->op->ends_only)
			return &cache->profiles[i];
	cache->profiles = array_reserve(cache->profiles, cache->count, &cache->capacity, sizeof *cache->profiles);
	struct cost_profile *p = &cache->profiles[cache->count++];
	*p = (struct cost_profile){.algorithm = h->s.algorithm,
	                           .root = h->s.root,
	                           .axes = op_axes(h->p, h->op),
	                           .ends = h->op->ends_only,
	                           .rounds = schedule_rounds(&h->s)};
	p->round = array_make((size_t)p->rounds, sizeof *p->round);
	int64_t *counts = array_make((size_t)h->nodes * 2, sizeof *counts);
	struct shape whole = *h;
	whole.s.elements = h->n; /* a message that carries nothing would not show */
	while (whole.s.elements < 2 * h->n * h->n && whole.s.elements < INT64_C(1) << 40)
		whole.s.elements *= 2;
	for (int64_t i = 0; i < p->rounds; i++)
		profile_round(&whole, p, i, counts, counts + h->nodes);
	free(counts);
	return p;
}

/* The root is in every round, and moves as much as any but for rounding. Where there is none, it is rank 0. */
static int64_t bytes_of_round(const struct shape *h, int64_t number)
{
	struct round r = schedule_round(&h->s, h->s.root, number);
	return slower(r.send_count, r.receive_count) * h->element_bytes;
}

static wide cost_by_rounds(struct cost_cache *cache, const struct shape *h)
{
	const struct cost_profile *p = profile_of(cache, h);
	wide ns = 0;
	for (int64_t i = 0; i < p->rounds; i++) {
		int64_t bytes = bytes_of_round(h, i), inside = 0, between = 0;
		if (p->round[i].inside)
			inside = hop(h->c, bytes, 0);
		if (p->round[i].crossing)
			between = hop(h->c, bytes, p->round[i].crossing);
		ns += (uint64_t)slower(inside, between);
	}
	return ns;
}

/* Chains and stars over some of the axes: every hop is as slow as the slowest of a ring. */
static wide cost_of_group(struct cost_cache *cache, const struct shape *h, bool chain, bool whole)
{
	int64_t pieces = !chain ? 1 : h->s.pieces ? h->s.pieces : h->n;
	int64_t elements = whole ? (h->s.elements + pieces - 1) / pieces : h->s.elements / h->n;
	int64_t one = hop(h->c, elements * h->element_bytes, circle_of(cache, h)->crossing);
	return (wide)(uint64_t)(h->n - 1 + pieces - 1) * (uint64_t)one;
}

static wide cost_schedule(struct cost_cache *cache, const struct shape *h)
{
	const struct algorithm *a = schedule_row(h->s.algorithm);
	switch (a->shape) {
	case SHAPE_RING:
		return cost_ring(cache, h);
	case SHAPE_CHAIN:
		return is_of_all(h) ? cost_chain(h) : cost_of_group(cache, h, true, true);
	case SHAPE_STAR:
		return is_of_all(h) ? cost_star(h, !a->slices) : cost_of_group(cache, h, false, !a->slices);
	case SHAPE_TREE:
	case SHAPE_PAIRS:
		break;
	}
	return cost_by_rounds(cache, h);
}

/* ---- a library's collectives ---- */

/* On GPUs a stack's collectives are NCCL's, and NCCL chooses their algorithm. Exceptions: a strategy that asks for a
 * schedule other than its operation's first, and a collective shown alone, round by round. */
static bool is_by_nccl(const struct shape *h)
{
	const struct algorithm *a = schedule_row(h->s.algorithm);
	return cluster_has_stack(h->c) && !plan_is_alone(h->p) && !operation_has_root(a->operation) &&
	       (a->shape == SHAPE_RING || a->operation == OPERATION_SUM);
}

static wide cost_by_nccl(struct cost_cache *cache, const struct shape *h)
{
	const struct cost_circle *circle = circle_of(cache, h);
	const struct nccl_call call = {.operation = schedule_row(h->s.algorithm)->operation,
	                               .ranks = h->n,
	                               .nodes = circle->nodes,
	                               .bytes = h->s.elements * h->element_bytes,
	                               .rate = rate_of(h->c, circle->crossing, false)};
	return (wide)(uint64_t)nccl_time(h->c, &call, NULL);
}

static wide cost_call(struct cost_cache *cache, const struct shape *h)
{
	return is_by_nccl(h) ? cost_by_nccl(cache, h)
	                     : (wide)(uint64_t)h->c->collective_launch.value + cost_schedule(cache, h);
}

/* The cost of a part that joins the call before it, and so pays neither launch nor latency again. */
static wide cost_joined(struct cost_cache *cache, const struct shape *h)
{
	struct shape nothing = *h;
	nothing.s.elements = 0;
	wide all = cost_call(cache, h), latency = cost_call(cache, &nothing);
	return all > latency ? all - latency : 0;
}

/* Elements that all ranks together send. */
static wide sent_by_all(const struct schedule *s)
{
	struct amount a = schedule_amount(s);
	wide senders = schedule_row(s->algorithm)->symmetric ? (wide)s->ranks : 1;
	return senders * (uint64_t)a.times * (uint64_t)a.elements;
}

static bool links_measured(const struct shape *h)
{
	const struct link *in = &h->c->link, *out = &h->c->network;
	return (h->per_node == 1 || (in->latency.measured && in->bandwidth.measured)) &&
	       (h->nodes == 1 || (out->latency.measured && out->bandwidth.measured));
}

enum status cost_collective(struct cost_cache *cache, const struct cluster *c, const struct plan *p,
                            const struct role *r, const struct op *op, struct cost *out)
{
	int64_t n = op_members(p, op), per_node = c->devices ? smaller(c->devices, p->ranks) : p->ranks;
	struct shape h = {c,
	                  p,
	                  op,
	                  op_schedule(p, op),
	                  n,
	                  per_node,
	                  (p->ranks + per_node - 1) / per_node,
	                  op_element_bytes(r, op)};
	*out = (struct cost){.measured = true};
	if (n == 1)
		return STATUS_OK;
	if (h.nodes > 1 && !c->network.bandwidth.value)
		return status_fail(STATUS_INPUT, "{cluster} %s: %lld ranks need several nodes, but it has no 'network'",
		                   c->name, (long long)p->ranks);
	out->ns = time_clamp(op->joined ? cost_joined(cache, &h) : cost_call(cache, &h));
	out->bytes = time_clamp(sent_by_all(&h.s) * (uint64_t)h.element_bytes);
	out->measured = c->collective_launch.measured && links_measured(&h);
	return STATUS_OK;
}

enum status cost_message(const struct cluster *c, const struct plan *p, const struct role *r, const struct op *op,
                         struct cost *out)
{
	int64_t bytes = op_whole_elements(p, op) * op_element_bytes(r, op), peer = op_peer(p, op, r->first_rank);
	bool crosses = cost_crosses(c, r->first_rank, peer);
	const struct link *link = crosses ? &c->network : &c->link;
	if (crosses && !c->network.bandwidth.value)
		return status_fail(STATUS_INPUT, "{cluster} %s: %lld ranks need several nodes, but it has no 'network'",
		                   c->name, (long long)p->ranks);
	*out = (struct cost){
	        time_clamp((wide)(uint64_t)c->collective_launch.value + (wide)(uint64_t)hop(c, bytes, crosses)), bytes,
	        c->collective_launch.measured && link->latency.measured && link->bandwidth.measured};
	return STATUS_OK;
}

void cost_cache_release(struct cost_cache *cache)
{
	for (size_t i = 0; i < cache->count; i++)
		free(cache->profiles[i].round);
	free(cache->profiles);
	free(cache->circles);
	*cache = (struct cost_cache){0};
}
