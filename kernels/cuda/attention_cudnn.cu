/* Attention by cuDNN: its two graphs, their plans, and how they are run. */
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_cudnn.h"

namespace
{

enum { PLANS = 16, SUMS_ALIGNMENT = 256 };

struct plan {
	struct attention_shape shape; /* samples: of all; compared as bytes */
	bool backward, taken;
	int64_t samples; /* at once */
	struct cudnn_graph graph;
	int64_t which;                /* of those that cuDNN advises it has */
	void *made[CUDNN_MOST_PLANS]; /* by their places */
};

struct plans {
	struct cudnn_place place;
	int used, error;
	struct plan plan[PLANS];
};

/* ---- tensors ---- */

enum cudnn_type type_of(enum element type)
{
	return type == ELEMENT_BF16 ? CUDNN_BFLOAT16 : CUDNN_HALF;
}

/* The parts that the tensors of a pass have in common. */
struct drawing {
	struct cudnn_graph *g;
	int64_t samples, tokens, heads, kv_heads, size, row; /* row: elements of a token's q, k and v */
	enum cudnn_type type;
};

int matrix(const struct drawing *d, enum cudnn_kind kind, enum cudnn_type type, int64_t heads, int64_t rows,
           int64_t columns)
{
	const struct cudnn_shape t = {
	        kind, type, {d->samples, heads, rows, columns}, {heads * rows * columns, rows * columns, columns, 1}};
	return cudnn_tensor(d->g, &t);
}

/* Heads of q, k, v or y in memory, a token `row` elements after the last. */
int heads_of(const struct drawing *d, int64_t heads, int64_t row)
{
	const struct cudnn_shape t = {
	        CUDNN_MEMORY, d->type, {d->samples, heads, d->tokens, d->size}, {d->tokens * row, d->size, row, 1}};
	return cudnn_tensor(d->g, &t);
}

/* The same, each head transposed. */
int transposed(const struct drawing *d, enum cudnn_kind kind, enum cudnn_type type, int64_t heads, int64_t row)
{
	const struct cudnn_shape t = {
	        kind, type, {d->samples, heads, d->size, d->tokens}, {d->tokens * row, d->size, 1, row}};
	return cudnn_tensor(d->g, &t);
}

int value(const struct drawing *d)
{
	const struct cudnn_shape t = {CUDNN_VALUE, CUDNN_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}};
	return cudnn_tensor(d->g, &t);
}

int scores(const struct drawing *d, enum cudnn_type type)
{
	return matrix(d, CUDNN_BETWEEN, type, d->heads, d->tokens, d->tokens);
}

int scores_transposed(const struct drawing *d)
{
	const int64_t n = d->tokens;
	const struct cudnn_shape t = {
	        CUDNN_BETWEEN, d->type, {d->samples, d->heads, n, n}, {d->heads * n * n, n * n, 1, n}};
	return cudnn_tensor(d->g, &t);
}

int rows(const struct drawing *d, enum cudnn_kind kind)
{
	return matrix(d, kind, CUDNN_FLOAT, d->heads, d->tokens, 1);
}

/* ---- steps that both passes have ---- */

int pointwise(const struct drawing *d, enum cudnn_pointwise mode, int x, int b)
{
	int y = scores(d, CUDNN_FLOAT);
	cudnn_pointwise(d->g, mode, x, b, CUDNN_NONE, y);
	return y;
}

int scaled_scores(const struct drawing *d)
{
	int s = scores(d, CUDNN_FLOAT);
	cudnn_product(d->g, CUDNN_Q, CUDNN_K, s);
	return pointwise(d, CUDNN_MUL, s, CUDNN_SCALE);
}

int masked(const struct drawing *d, int s)
{
	int row = scores(d, CUDNN_INT32), column = scores(d, CUDNN_INT32), sees = scores(d, CUDNN_BOOLEAN),
	    y = scores(d, CUDNN_FLOAT);
	cudnn_index(d->g, 2, s, row);
	cudnn_index(d->g, 3, s, column);
	cudnn_pointwise(d->g, CUDNN_GREATER_OR_EQUAL, row, column, CUDNN_NONE, sees);
	cudnn_pointwise(d->g, CUDNN_SELECT, s, CUDNN_MASKED, sees, y);
	return y;
}

/* ---- the passes ---- */

void forward(const struct drawing *d)
{
	heads_of(d, d->heads, d->row);
	transposed(d, CUDNN_MEMORY, d->type, d->kv_heads, d->row);
	heads_of(d, d->kv_heads, d->row);
	heads_of(d, d->heads, d->heads * d->size);
	rows(d, CUDNN_MEMORY);
	value(d);
	value(d);

	int s = masked(d, scaled_scores(d)), largest = rows(d, CUDNN_BETWEEN), sum = rows(d, CUDNN_BETWEEN),
	    log = rows(d, CUDNN_BETWEEN), p = scores(d, d->type);
	cudnn_reduce(d->g, CUDNN_LARGEST, s, largest);
	int e = pointwise(d, CUDNN_EXP, pointwise(d, CUDNN_SUB, s, largest), CUDNN_NONE);
	cudnn_reduce(d->g, CUDNN_SUM, e, sum);
	cudnn_pointwise(d->g, CUDNN_LOG, sum, CUDNN_NONE, CUDNN_NONE, log);
	cudnn_pointwise(d->g, CUDNN_ADD, largest, log, CUDNN_NONE, CUDNN_STATISTICS);
	cudnn_pointwise(d->g, CUDNN_DIV, e, sum, CUDNN_NONE, p);
	cudnn_product(d->g, p, CUDNN_V, CUDNN_Y);
}

/* dk or dv: of the product of transposed scores and what heads of queries have. Heads that share keys are added up. */
void gradient_of_keys(const struct drawing *d, int s, int x, int out)
{
	int t = scores_transposed(d);
	cudnn_reshape(d->g, s, t);
	if (d->heads == d->kv_heads) {
		cudnn_product(d->g, t, x, out);
		return;
	}
	int of_queries = matrix(d, CUDNN_BETWEEN, d->type, d->heads, d->tokens, d->size);
	cudnn_product(d->g, t, x, of_queries);
	cudnn_reduce(d->g, CUDNN_SUM, of_queries, out);
}

/* D = Σ dy·y of each row; × 1, which stands where dropout's scale would. */
void row_sums(const struct drawing *d)
{
	int products = matrix(d, CUDNN_BETWEEN, CUDNN_FLOAT, d->heads, d->tokens, d->size),
	    sums = rows(d, CUDNN_BETWEEN);
	cudnn_pointwise(d->g, CUDNN_MUL, CUDNN_DY, CUDNN_Y, CUDNN_NONE, products);
	cudnn_reduce(d->g, CUDNN_SUM, products, sums);
	cudnn_pointwise(d->g, CUDNN_MUL, sums, CUDNN_ONE, CUDNN_NONE, CUDNN_SUMS);
}

void backward(const struct drawing *d)
{
	const int64_t width = d->heads * d->size;
	heads_of(d, d->heads, d->row);
	transposed(d, CUDNN_MEMORY, d->type, d->kv_heads, d->row);
	transposed(d, CUDNN_MEMORY, d->type, d->kv_heads, d->row);
	heads_of(d, d->heads, width);
	rows(d, CUDNN_MEMORY);
	value(d);
	value(d);
	heads_of(d, d->heads, width);
	heads_of(d, d->heads, d->row);
	heads_of(d, d->kv_heads, d->row);
	heads_of(d, d->kv_heads, d->row);
	value(d);
	rows(d, CUDNN_MEMORY);

	row_sums(d);
	int s = pointwise(d, CUDNN_SUB, scaled_scores(d), CUDNN_STATISTICS),
	    p = pointwise(d, CUDNN_EXP, masked(d, s), CUDNN_NONE);
	gradient_of_keys(d, p, CUDNN_DY, CUDNN_DV);
	int dp = scores(d, CUDNN_FLOAT);
	cudnn_product(d->g, CUDNN_DY, CUDNN_V, dp);
	int ds = pointwise(d, CUDNN_MUL, pointwise(d, CUDNN_SUB, dp, CUDNN_SUMS), p);
	ds = pointwise(d, CUDNN_MUL, ds, CUDNN_SCALE);
	gradient_of_keys(d, ds, CUDNN_Q, CUDNN_DK);
	const struct cudnn_shape k = {CUDNN_BETWEEN,
	                              CUDNN_FLOAT,
	                              {d->samples, d->kv_heads, d->tokens, d->size},
	                              {d->tokens * d->row, d->size, d->row, 1}};
	int keys = cudnn_tensor(d->g, &k);
	cudnn_reshape(d->g, CUDNN_K, keys);
	cudnn_product(d->g, ds, keys, CUDNN_DQ);
}

int64_t sums_bytes(const struct attention_shape *s, int64_t samples)
{
	int64_t bytes = samples * s->heads * s->tokens * static_cast<int64_t>(sizeof(float));
	return (bytes + SUMS_ALIGNMENT - 1) / SUMS_ALIGNMENT * SUMS_ALIGNMENT;
}

/* dS of a sample, in whole tiles. */
int64_t scores_bytes(const struct attention_shape *s)
{
	int64_t queries = (s->tokens + 63) / 64 * 64, keys = (s->tokens + 127) / 128 * 128;
	return s->heads * queries * keys * 2;
}

/* ---- plans ---- */

/* A plan of the graph's, from the *which-th on. `most`, *bytes: with what our part of the workspace takes. */
int make_plan(struct cudnn_graph *g, const struct attention_shape *s, bool backward, int64_t most, int64_t *which,
              void **plan, int64_t *bytes)
{
	const int64_t own = backward ? sums_bytes(s, s->samples) : 0;
	int error = cudnn_plan(g, which, most - own, plan, bytes);
	*bytes += own;
	return error;
}

struct plans *plans_of(struct kernel_context *c)
{
	if (c->cudnn)
		return static_cast<struct plans *>(c->cudnn);
	struct plans *p = static_cast<struct plans *>(calloc(1, sizeof *p));
	if (p)
		p->error = cudnn_place_open(&p->place);
	c->cudnn = p;
	return p;
}

bool is_same(const struct attention_shape *a, const struct attention_shape *b)
{
	return a->samples == b->samples && a->tokens == b->tokens && a->heads == b->heads &&
	       a->kv_heads == b->kv_heads && a->head_size == b->head_size && a->type == b->type;
}

void plan_release(struct plan *p)
{
	for (void *made : p->made)
		cudnn_plan_release(made);
	cudnn_end(&p->graph);
	*p = {};
}

/* A place for a plan; when all are taken, the first ones are used again. */
struct plan *take_place(struct plans *all)
{
	struct plan *p = &all->plan[all->used++ % PLANS];
	plan_release(p);
	return p;
}

struct plan *find(struct plans *all, const struct attention_shape *s, bool backward)
{
	for (int i = 0; i < PLANS && i < all->used; i++)
		if (all->plan[i].backward == backward && is_same(&all->plan[i].shape, s))
			return &all->plan[i];
	return nullptr;
}

/* The plan at `which`, made if it was not, or the first after it that can be. False: there is none. */
bool have(const struct kernel_context *c, struct plan *p, int64_t which)
{
	struct attention_shape part = p->shape;
	void *made = nullptr;
	int64_t bytes = 0;
	part.samples = p->samples;
	if (which < CUDNN_MOST_PLANS && p->made[which])
		made = p->made[which];
	else if (make_plan(&p->graph, &part, p->backward, static_cast<int64_t>(c->workspace_bytes), &which, &made,
	                   &bytes))
		return false;
	if (p->made[which] != made)
		cudnn_plan_release(p->made[which]);
	p->made[which] = made;
	p->which = which;
	return true;
}

void begin(const struct kernel_context *c, struct plan *p, struct cudnn_place place, const struct attention_shape *s,
           bool backward, int64_t which)
{
	struct attention_shape part = *s;
	p->shape = *s;
	p->backward = backward;
	p->samples = part.samples = cudnn_attention_samples(s, backward, static_cast<int64_t>(c->workspace_bytes));
	if (!p->samples)
		return;
	cudnn_begin(&p->graph, place);
	cudnn_attention_graph(&p->graph, &part, backward);
	p->taken = have(c, p, which);
}

/* cuDNN has none of these, or they are not deterministic. */
bool may_take(const struct kernel_context *c, const struct attention_shape *s)
{
	const bool local = (s->window > 0 && s->window < s->tokens) || s->alibi_heads > 0;
	return c->major == 9 && s->type != ELEMENT_FP32 && !local && s->head_size % 8 == 0 && s->head_size <= 128;
}

/* Numbers and addresses of a pass. */
struct addresses {
	int64_t number[CUDNN_BACKWARD_TENSORS];
	void *where[CUDNN_BACKWARD_TENSORS];
	int count;
};

void put(struct addresses *p, int number, const void *where)
{
	p->number[p->count] = number;
	p->where[p->count++] = const_cast<void *>(where);
}

/* The addresses of the samples from `first` on. */
void fill(struct addresses *to, const struct attention_arguments *a, enum element type, int64_t first, bool backward)
{
	const int64_t element = element_bytes(type), width = a->heads * a->size * element,
	              keys = a->kv_heads * a->size * element, row = width + 2 * keys, rows = first * a->tokens;
	const char *qkv = static_cast<const char *>(a->qkv) + rows * row;
	const void *y = backward ? a->y : a->y_out;
	const float *statistics = backward ? a->log_sum_exp : a->log_sum_exp_out;
	static const float least = -INFINITY, one = 1;
	*to = {};
	put(to, CUDNN_Q, qkv);
	put(to, CUDNN_K, qkv + width);
	put(to, CUDNN_V, qkv + width + keys);
	put(to, CUDNN_Y, static_cast<const char *>(y) + rows * width);
	put(to, CUDNN_STATISTICS, statistics + rows * a->heads);
	put(to, CUDNN_SCALE, &a->scale);
	put(to, CUDNN_MASKED, &least);
	if (!backward)
		return;
	const char *dqkv = static_cast<const char *>(a->dqkv) + rows * row;
	put(to, CUDNN_DY, static_cast<const char *>(a->dy) + rows * width);
	put(to, CUDNN_DQ, dqkv);
	put(to, CUDNN_DK, dqkv + width);
	put(to, CUDNN_DV, dqkv + width + keys);
	put(to, CUDNN_ONE, &one);
	put(to, CUDNN_SUMS, a->delta);
}

} // namespace

void cudnn_attention_graph(struct cudnn_graph *g, const struct attention_shape *s, bool backward_too)
{
	const struct drawing d = {g,
	                          s->samples,
	                          s->tokens,
	                          s->heads,
	                          s->kv_heads,
	                          s->head_size,
	                          (s->heads + 2 * s->kv_heads) * s->head_size,
	                          type_of(s->type)};
	(backward_too ? backward : forward)(&d);
}

int64_t cudnn_attention_samples(const struct attention_shape *s, bool backward_too, int64_t workspace_bytes)
{
	int64_t n = s->samples;
	while (backward_too && n && (s->samples % n || n * scores_bytes(s) + 2 * sums_bytes(s, n) > workspace_bytes))
		n--;
	return n;
}

int cudnn_attention_check(const struct attention_shape *s, bool backward_too, const char *card, int64_t *which,
                          int64_t most_bytes, int64_t *workspace_bytes)
{
	struct cudnn_place place;
	struct cudnn_graph g = {};
	void *plan = nullptr;
	struct attention_shape part = *s;
	int error = cudnn_place_describe(&place, card);
	part.samples = cudnn_attention_samples(s, backward_too, most_bytes);
	*workspace_bytes = 0;
	if (!error && !part.samples)
		error = CUDA_ERROR_WORKSPACE;
	if (!error) {
		cudnn_begin(&g, place);
		cudnn_attention_graph(&g, &part, backward_too);
		error = make_plan(&g, &part, backward_too, most_bytes, which, &plan, workspace_bytes);
	}
	cudnn_plan_release(plan);
	cudnn_end(&g);
	cudnn_place_close(&place);
	return error;
}

bool attention_cudnn_takes(struct kernel_context *c, const struct attention_shape *s, bool backward_too, int64_t which)
{
	struct plans *all = may_take(c, s) ? plans_of(c) : nullptr;
	if (!all || all->error)
		return false;
	struct plan *p = find(all, s, backward_too);
	if (!p) {
		p = take_place(all);
		begin(c, p, all->place, s, backward_too, which);
	}
	return p->taken;
}

int64_t attention_cudnn_plan(struct kernel_context *c, const struct attention_shape *s, bool backward_too,
                             int64_t which)
{
	struct plan *p = find(plans_of(c), s, backward_too);
	return have(c, p, which) ? p->which : -1;
}

void attention_cudnn_keep(struct kernel_context *c, const struct attention_shape *s, bool backward_too, int64_t which)
{
	struct plan *p = find(plans_of(c), s, backward_too);
	(void)have(c, p, which);
	for (int64_t i = 0; i < CUDNN_MOST_PLANS; i++)
		if (i != p->which) {
			cudnn_plan_release(p->made[i]);
			p->made[i] = nullptr;
		}
}

/* Row sums lie at the workspace's beginning, cuDNN's part after them. */
int attention_cudnn(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape,
                    const struct attention_arguments *a, bool backward_too)
{
	const struct plan *p = find(plans_of(c), shape, backward_too);
	char *workspace = static_cast<char *>(c->workspace) + (backward_too ? sums_bytes(shape, p->samples) : 0);
	int error = 0;
	for (int64_t i = 0; i < a->samples && !error; i += p->samples) {
		struct addresses at;
		fill(&at, a, shape->type, i, backward_too);
		error = cudnn_run(plans_of(c)->place.handle, s, p->made[p->which], at.count, at.number, at.where,
		                  workspace);
	}
	return error;
}

void attention_cudnn_close(struct kernel_context *c)
{
	struct plans *all = static_cast<struct plans *>(c->cudnn);
	for (int i = 0; all && i < PLANS; i++)
		plan_release(&all->plan[i]);
	if (all)
		cudnn_place_close(&all->place);
	free(all);
	c->cudnn = nullptr;
}
