#include "strategy/cluster/effective.h"

__extension__ typedef __int128 wide;

/* Tiles of a product's result, each of which a multiprocessor computes. */
enum { TILE = 128 };

static int64_t share_of(int64_t value, int64_t millionths)
{
	return (int64_t)((wide)value * millionths / MILLION);
}

static void scale(struct rate *r, int64_t millionths)
{
	r->value = share_of(r->value, millionths);
	if (r->value < 1 && millionths)
		r->value = 1;
	*r = rate_assumed(r->value);
}

enum status cluster_take_stack(struct cluster *c, const struct stack *s)
{
	if (c->kind != DEVICE_GPU)
		return status_fail(
		        STATUS_INPUT,
		        "{stack} %.60s: {cluster} %.60s is of CPUs, and stacks are of GPUs; leave {stack} out", s->name,
		        c->name);
	c->stack = *s;
	c->unscaled.link = c->link.bandwidth.value;
	c->unscaled.network = c->network.bandwidth.value;
	scale(&c->device_bandwidth, s->value[STACK_MEMORY_BANDWIDTH]);
	scale(&c->link.bandwidth, s->value[STACK_NETWORK_INSIDE]);
	if (c->network.bandwidth.value)
		scale(&c->network.bandwidth, s->value[STACK_NETWORK_BETWEEN]);
	scale(&c->host_link.bandwidth, s->value[STACK_HOST_LINK]);
	if (c->pageable.value)
		scale(&c->pageable, s->value[STACK_HOST_LINK]);
	scale(&c->node_bandwidth, s->value[STACK_HOST_MEMORY]);
	c->launch = rate_assumed(s->value[STACK_LAUNCH_GAP]);
	c->collective_share = rate_assumed(s->value[STACK_OVERLAP_SHARE]);
	return STATUS_OK;
}

static bool is_measured(const struct curve *curve)
{
	bool measured = false;
	for (int i = 0; i < curve->count; i++)
		measured |= curve->point[i].rate.measured;
	return measured;
}

/* Data sheets, and the best that others measured. */
static bool has_ceilings(const struct cluster *c)
{
	const struct curve *curves = c->compute[0];
	bool measured = c->launch.measured || c->device_bandwidth.measured || c->link.bandwidth.measured;
	for (size_t i = 0; i < sizeof c->compute / sizeof *curves; i++)
		measured |= is_measured(&curves[i]);
	return c->kind == DEVICE_GPU && *c->card && !measured;
}

enum status cluster_take_class(struct cluster *c, const char *class)
{
	struct stack s;
	if (!has_ceilings(c))
		return STATUS_OK;
	enum status status = stack_open(&s, class, c->card);
	s.by_default = true;
	return status ? status : cluster_take_stack(c, &s);
}

/* ---- products ---- */

/* x/(x + half), in millionths. */
static int64_t saturation(int64_t x, int64_t half)
{
	return x > 0 ? (int64_t)((wide)x * MILLION / (x + half)) : MILLION;
}

static int64_t tiles_along(int64_t n)
{
	return (n + TILE - 1) / TILE;
}

/* The loss to an incomplete last wave, in millionths of the work: (waves · multiprocessors − tiles) / tiles. */
static int64_t lost_to_waves(int64_t multiprocessors, int64_t rows, int64_t columns)
{
	wide tiles = (wide)tiles_along(rows) * tiles_along(columns);
	if (!multiprocessors || tiles < 1)
		return 0;
	wide waves = (tiles + multiprocessors - 1) / multiprocessors;
	wide lost = (waves * multiprocessors - tiles) * MILLION / tiles;
	return lost < 100 * MILLION ? (int64_t)lost : 100 * MILLION;
}

/* A product of [rows, depth] and [depth, columns]. */
static int64_t product_share(const struct cluster *c, int64_t rows, int64_t columns, int64_t depth)
{
	const int64_t *v = c->stack.value;
	int64_t lost = share_of(lost_to_waves(c->multiprocessors, rows, columns), v[STACK_PRODUCT_WAVES]);
	int64_t share = share_of(v[STACK_PRODUCT_SHARE], saturation(depth, v[STACK_PRODUCT_DEPTH]));
	share = share_of(share, saturation(rows, v[STACK_PRODUCT_ROWS]));
	return (int64_t)((wide)share * MILLION / (MILLION + lost));
}

/* The joint rate when half of the work runs at each of two rates. */
static int64_t half_each(int64_t a, int64_t b)
{
	return a + b ? (int64_t)((wide)2 * a * b / (a + b)) : 0;
}

/* x = [rows, in] · w = [in, out]; backward dx = dy · wᵀ and dw = xᵀ · dy, as many FLOPs each. */
static int64_t linear_share(const struct cluster *c, const struct op_sizes *s, bool backward)
{
	if (!backward)
		return product_share(c, s->rows, s->out, s->in);
	return half_each(product_share(c, s->rows, s->in, s->out), product_share(c, s->in, s->out, s->rows));
}

static int64_t share_by_kind(const struct cluster *c, enum op_kind kind, const struct op_sizes *s)
{
	switch (kind) {
	case OP_LINEAR_FORWARD:
		return linear_share(c, s, false);
	case OP_LINEAR_BACKWARD:
		return linear_share(c, s, true);
	case OP_ATTENTION_FORWARD:
		return c->stack.value[STACK_ATTENTION_FORWARD];
	case OP_ATTENTION_BACKWARD:
		return c->stack.value[STACK_ATTENTION_BACKWARD];
	case OP_SCORES_FORWARD:
	case OP_SCORES_BACKWARD:
	case OP_CONTEXT_FORWARD:
	case OP_CONTEXT_BACKWARD:
	case OP_ABSTRACT_FORWARD:
	case OP_ABSTRACT_BACKWARD:
		return c->stack.value[STACK_PRODUCT_SHARE];
	default:
		return MILLION; /* bound by memory */
	}
}

int64_t effective_share(const struct cluster *c, enum op_kind kind, const struct op_sizes *sizes)
{
	int64_t share = cluster_has_stack(c) ? share_by_kind(c, kind, sizes) : MILLION;
	return share > 0 ? share : 1;
}

/* ---- times and bytes ---- */

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t effective_kernel(const struct cluster *c, int64_t computing, int64_t moving, bool fuses)
{
	int64_t ns = longer(computing, moving);
	if (!cluster_has_stack(c))
		return ns + c->launch.value;
	if (fuses)
		ns += share_of(moving, c->stack.value[STACK_MEMORY_UNFUSED]);
	return longer(ns, c->stack.value[STACK_LAUNCH_ISSUE]) + c->launch.value;
}

int64_t effective_constant(const struct cluster *c, int64_t micro_batches)
{
	return cluster_has_stack(c)
	               ? c->stack.value[STACK_STEP_CONSTANT] + c->stack.value[STACK_STEP_MICRO_BATCH] * micro_batches
	               : 0;
}

int64_t effective_allocated(const struct cluster *c, int64_t bytes, int64_t activations)
{
	return cluster_has_stack(c)
	               ? bytes - activations + share_of(activations, c->stack.value[STACK_ACTIVATIONS_FACTOR])
	               : bytes;
}

int64_t effective_reserved(const struct cluster *c, int64_t allocated)
{
	return cluster_has_stack(c) ? allocated + share_of(allocated, c->stack.value[STACK_RESERVED_SHARE]) : allocated;
}

int64_t effective_allocated_as(const struct cluster *c, int64_t bytes, int64_t activations)
{
	return cluster_has_stack(c) ? bytes - activations + share_of(activations, c->stack.value[STACK_AS_ACTIVATIONS])
	                            : bytes;
}

int64_t effective_reserved_as(const struct cluster *c, int64_t allocated, int64_t beyond)
{
	int64_t held = allocated + beyond;
	return cluster_has_stack(c) ? longer(allocated, share_of(held, c->stack.value[STACK_AS_HELD])) : held;
}

int64_t effective_overhead(const struct cluster *c)
{
	return c->overhead.value + (cluster_has_stack(c) ? c->stack.value[STACK_LIBRARIES_WORKSPACE] : 0);
}

/* ---- ranges ---- */

/* Outside of what a stack was fitted on its band is half as wide again. */
enum { WIDER_THIRDS = 3, WIDER_HALVES = 2 };

static bool is_outside(const int64_t *value, int least, int most, int64_t x)
{
	return x > 0 && ((value[least] != STACK_MISSING && x < value[least]) ||
	                 (value[most] != STACK_MISSING && x > value[most]));
}

struct effective_range effective_range(const struct stack *s, int64_t width, int64_t ranks, int64_t tokens,
                                       int64_t network)
{
	const int64_t *v = s->value;
	struct effective_range r = {v[STACK_RANGE_LOW], v[STACK_RANGE_HIGH],
	                            is_outside(v, STACK_FIT_WIDTH_LEAST, STACK_FIT_WIDTH_MOST, width) ||
	                                    is_outside(v, STACK_FIT_RANKS_LEAST, STACK_FIT_RANKS_MOST, ranks) ||
	                                    is_outside(v, STACK_FIT_TOKENS_LEAST, STACK_FIT_TOKENS_MOST, tokens)};
	int64_t wider = MILLION + (NETWORK_SPREAD - 1) * network;
	if (r.outside)
		wider = wider * WIDER_THIRDS / WIDER_HALVES;
	r.low = longer(MILLION - share_of(MILLION - r.low, wider), r.low < MILLION / 20 ? r.low : MILLION / 20);
	r.high = MILLION + share_of(r.high - MILLION, wider);
	return r;
}
