#include "sim/nccl.h"

#include <string.h>

enum nccl_algorithm { RING, TREE };

static const struct nccl_row {
	const char *name;
	int64_t launch, nvlink, pcie, network; /* ns */
	int64_t inside, between;               /* millionths of the bandwidth */
	enum nccl_algorithm algorithm;
	bool flags, needs_nvlink;
} rows[] = {
#define X(algorithm, name, launch, nvlink, pcie, network, inside, between, flags, needs_nvlink)                        \
	{name, launch, nvlink, pcie, network, inside, between, algorithm, flags, needs_nvlink},
        NCCL_LIST(X)
#undef X
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct card_row {
	const char *name;
	int64_t most[3];
} cards[] = {
#define X(name, one, two, more) {name, {one, two, more}},
        NCCL_CARDS(X)
#undef X
};

/* A hop of the ring with Simple is nearer to that over PCIe. */
static bool is_pcie(const struct cluster *c)
{
	return 2 * c->link.latency.value > rows->nvlink + rows->pcie;
}

/* Scales a figure of the cluster, which stands for the first row, to another row. */
static wide in_proportion(int64_t here, int64_t value, int64_t of)
{
	return (wide)(uint64_t)here * (uint64_t)value / (uint64_t)of;
}

static int64_t steps_of(const struct nccl_call *k)
{
	return (k->ranks - 1) * (operation_sums_everywhere(k->operation) ? 2 : 1);
}

static int64_t log2_up(int64_t n)
{
	int64_t log = 0;
	while (log < 62 && INT64_C(1) << log < n)
		log++;
	return log;
}

/* Hops inside a node and between nodes, one after the other. */
static void hops_of(const struct nccl_row *r, const struct nccl_call *k, int64_t *inside, int64_t *between)
{
	if (r->algorithm == TREE) {
		*inside = 2 * ((k->ranks + k->nodes - 1) / k->nodes - 1);
		*between = 2 * log2_up(k->nodes);
		return;
	}
	int64_t times = operation_sums_everywhere(k->operation) ? 2 : 1, steps = steps_of(k);
	*between = times * (k->nodes - 1);
	*inside = steps - *between;
}

static bool is_before_ampere(const struct cluster *c)
{
	return !strcmp(c->card, "volta") || !strcmp(c->card, "turing");
}

/* Large messages of a ring over nodes, in tenths. */
enum { PLATEAU_BYTES = 64, PLATEAU = 14, PLATEAU_BEFORE_AMPERE = 19 };

static wide latency_of(const struct cluster *c, const struct nccl_row *r, const struct nccl_call *k)
{
	int64_t inside, between;
	hops_of(r, k, &inside, &between);
	wide ns =
	        (wide)(uint64_t)inside * (is_pcie(c) ? in_proportion(c->link.latency.value, r->pcie, rows->pcie)
	                                             : in_proportion(c->link.latency.value, r->nvlink, rows->nvlink)) +
	        (wide)(uint64_t)between * in_proportion(c->network.latency.value, r->network, rows->network);
	ns += in_proportion(c->collective_launch.value, r->launch, rows->launch);
	if (r != rows || k->nodes == 1 || !operation_sums_everywhere(k->operation) ||
	    k->bytes / k->ranks < PLATEAU_BYTES)
		return ns;
	return ns * (is_before_ampere(c) ? PLATEAU_BEFORE_AMPERE : PLATEAU) / 10;
}

/* LL's bound, bytes a nanosecond. */
static fixed most_of_flags(const struct cluster *c, const struct nccl_call *k)
{
	int i = sizeof cards / sizeof *cards - 1;
	while (i > 0 && strcmp(cards[i].name, c->card) != 0)
		i--;
	return fixed_ratio((uint64_t)cards[i].most[k->nodes < 3 ? k->nodes - 1 : 2], 1000);
}

static wide moving_of(const struct cluster *c, const struct nccl_row *r, const struct nccl_call *k)
{
	fixed rate = fixed_clamp((wide)k->rate * (uint64_t)(k->nodes > 1 ? r->between : r->inside) / MILLION);
	fixed most = r->flags ? most_of_flags(c, k) : rate;
	rate = rate < most ? rate : most;
	wide bytes = r->algorithm == TREE ? 2 * (wide)(uint64_t)k->bytes
	                                  : (wide)(uint64_t)k->bytes * (uint64_t)steps_of(k) / (uint64_t)k->ranks;
	return ((bytes << 32) + rate - 1) / (rate ? rate : 1);
}

static bool can_take(const struct cluster *c, const struct nccl_row *r, const struct nccl_call *k)
{
	return (r->algorithm == RING || operation_sums_everywhere(k->operation)) && (!r->needs_nvlink || !is_pcie(c));
}

int64_t nccl_time(const struct cluster *c, const struct nccl_call *call, const char **name)
{
	wide best = 0;
	for (int i = 0; i < ROWS; i++) {
		if (!can_take(c, &rows[i], call))
			continue;
		wide ns = latency_of(c, &rows[i], call) + moving_of(c, &rows[i], call);
		if (i && ns >= best)
			continue;
		best = ns;
		if (name)
			*name = rows[i].name;
	}
	return time_clamp(best);
}
