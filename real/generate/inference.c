#include "real/generate/inference.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/table.h"
#include "real/rank/operand.h"
#include "strategy/base/number.h"

/* ---- what a kernel does with the rows of a pass ---- */

struct new_rows {
	struct inference *e;
	const int32_t *tokens;
	int64_t rows, first; /* first: the position of the first token */
};

static float *value_of(const struct new_rows *p, int value)
{
	return value < 0 ? NULL : p->e->values[value];
}

static float *tensor_of(const struct new_rows *p, int tensor)
{
	return tensor < 0 ? NULL : p->e->tensors[tensor];
}

static void run_embedding(const struct new_rows *p, const struct kernel *k)
{
	const float *positions = tensor_of(p, k->bias);
	cpu_kernels.embedding_forward(NULL, NULL, ELEMENT_FP32, 1, p->rows, k->out, p->tokens, tensor_of(p, k->weight),
	                              positions ? positions + (k->first_position + p->first) * k->out : NULL,
	                              value_of(p, k->y));
}

static void run_norm(const struct new_rows *p, const struct kernel *k)
{
	cpu_kernels.norm_forward(NULL, NULL, ELEMENT_FP32, p->rows, k->out, value_of(p, k->x), tensor_of(p, k->weight),
	                         tensor_of(p, k->bias), value_of(p, k->y), value_of(p, k->saved));
}

static void run_rms_norm(const struct new_rows *p, const struct kernel *k)
{
	cpu_kernels.rms_norm_forward(NULL, NULL, ELEMENT_FP32, p->rows, k->out, k->epsilon, value_of(p, k->x),
	                             tensor_of(p, k->weight), value_of(p, k->y), value_of(p, k->saved));
}

static void run_linear(const struct new_rows *p, const struct kernel *k)
{
	bool head = k->y == p->e->model->logits;
	int64_t rows = head && !p->e->all_logits ? 1 : p->rows;
	const struct linear_shape s = {.rows = rows,
	                               .in = k->in,
	                               .out = k->out,
	                               .weight_in_out = k->weight_in_out,
	                               .activation = activation_of(k),
	                               .stride = head ? p->e->model->logits_stride : 0};
	cpu_kernels.linear_forward(NULL, NULL, &s, value_of(p, k->x) + (p->rows - rows) * k->in,
	                           tensor_of(p, k->weight), tensor_of(p, k->bias), value_of(p, k->residual),
	                           value_of(p, k->y), s.activation ? value_of(p, k->saved) : NULL);
}

static void run_swiglu(const struct new_rows *p, const struct kernel *k)
{
	cpu_kernels.swiglu_forward(NULL, NULL, ELEMENT_FP32, p->rows, k->out, value_of(p, k->x), value_of(p, k->y));
}

static void run_rotary(const struct new_rows *p, const struct kernel *k)
{
	const struct rotary_shape s = {.samples = 1,
	                               .tokens = p->rows,
	                               .heads = k->heads,
	                               .kv_heads = k->kv_heads,
	                               .head_size = k->head_size,
	                               .first = p->first,
	                               .epsilon = k->epsilon,
	                               .amplitude = k->amplitude,
	                               .frequency = k->frequency};
	cpu_kernels.rotary_forward(NULL, NULL, &s, value_of(p, k->x), tensor_of(p, k->weight), tensor_of(p, k->bias),
	                           value_of(p, k->y));
}

static void run_attention(const struct new_rows *p, const struct kernel *k)
{
	int64_t i = k - p->e->model->kernels;
	const struct attention_cached_shape s = {.of = {.samples = 1,
	                                                .tokens = p->rows,
	                                                .heads = k->heads,
	                                                .kv_heads = k->kv_heads,
	                                                .head_size = k->head_size,
	                                                .window = k->window,
	                                                .alibi_heads = k->alibi ? k->heads : 0},
	                                         .first = p->first,
	                                         .capacity = p->e->capacity};
	attention_cached(&s, value_of(p, k->x), p->e->keys[i], p->e->items[i], value_of(p, k->y));
}

/* The loss is nobody's concern here. */
static void run_nothing(const struct new_rows *p, const struct kernel *k)
{
	(void)p;
	(void)k;
}

/* Kernels that are missing are refused when it is opened. */
static void (*const run[KERNEL_KINDS])(const struct new_rows *p, const struct kernel *k) = {
        [KERNEL_EMBEDDING] = run_embedding, [KERNEL_NORM] = run_norm,          [KERNEL_RMS_NORM] = run_rms_norm,
        [KERNEL_LINEAR] = run_linear,       [KERNEL_SWIGLU] = run_swiglu,      [KERNEL_ROTARY] = run_rotary,
        [KERNEL_ATTENTION] = run_attention, [KERNEL_CLASSIFIER] = run_nothing,
};

/* ---- memory ---- */

/* Elements of a cache line, at whose multiples everything begins. */
static int64_t whole_lines(int64_t elements)
{
	return (elements + 15) / 16 * 16;
}

static int64_t pass_rows(const struct inference_options *o)
{
	return o->capacity < INFERENCE_MOST_ROWS ? o->capacity : INFERENCE_MOST_ROWS;
}

static int64_t value_size(const struct model *m, const struct inference_options *o, int value)
{
	int64_t rows = value == m->logits && !o->all_logits ? 1 : pass_rows(o);
	return whole_lines(m->values[value].elements / m->tokens * rows);
}

/* Memory that values share: one takes the place of another that is no longer read. */
struct slots {
	const struct model *m;
	const struct inference_options *o;
	int *last; /* the last kernel that reads each value */
	struct slot {
		int64_t elements;
		int value; /* -1: it is free */
	} * list;
	size_t count, capacity;
};

static void note_reads(struct slots *s)
{
	const struct model *m = s->m;
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		const int reads[] = {k->x, k->second, k->residual, k->y, k->saved};
		for (size_t r = 0; r < sizeof reads / sizeof *reads; r++)
			if (reads[r] >= 0)
				s->last[reads[r]] = i;
	}
}

static bool is_better(const struct slot *a, const struct slot *b)
{
	return a->value < 0 && (!b || a->elements > b->elements);
}

/* The largest free slot, which grows if it must. */
static int64_t take_slot(struct slots *s, int value)
{
	int64_t elements = value_size(s->m, s->o, value);
	struct slot *best = NULL;
	for (size_t i = 0; i < s->count; i++)
		if (is_better(&s->list[i], best))
			best = &s->list[i];
	if (!best) {
		best = ARRAY_ADD(s->list, s->count, s->capacity);
		best->elements = 0;
	}
	best->value = value;
	best->elements = elements > best->elements ? elements : best->elements;
	return best - s->list;
}

static void free_slots(struct slots *s, int kernel)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].value >= 0 && s->last[s->list[i].value] <= kernel)
			s->list[i].value = -1;
}

/* slot[value], of those that kernels make. Returns the elements of all slots. */
static int64_t place_values(const struct model *m, const struct inference_options *o, int64_t *slot, int64_t *begins)
{
	struct slots s = {.m = m, .o = o, .last = array_make((size_t)m->value_count, sizeof *s.last)};
	int64_t elements = 0;
	note_reads(&s);
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		if (k->y >= 0)
			slot[k->y] = take_slot(&s, k->y);
		if (k->saved >= 0)
			slot[k->saved] = take_slot(&s, k->saved);
		free_slots(&s, i);
	}
	for (size_t i = 0; i < s.count; elements += s.list[i++].elements)
		if (begins)
			begins[i] = elements;
	free(s.last);
	free(s.list);
	return elements;
}

static int64_t cache_elements(const struct kernel *k, int64_t capacity)
{
	return k->kind == KERNEL_ATTENTION ? whole_lines(k->kv_heads * capacity * k->head_size) : 0;
}

struct inference_bytes inference_bytes(const struct model *m, const struct inference_options *o)
{
	int64_t *slot = array_make((size_t)m->value_count, sizeof *slot), weights = 0, cache = 0;
	int64_t values = place_values(m, o, slot, NULL), size = (int64_t)sizeof(float);
	for (int i = 0; i < m->tensor_count; i++)
		weights += whole_lines(m->tensors[i].elements);
	for (int i = 0; i < m->kernel_count; i++)
		cache += 2 * cache_elements(&m->kernels[i], o->capacity);
	free(slot);
	return (struct inference_bytes){weights * size, cache * size, values * size};
}

static void point_at_values(struct inference *e, const struct inference_options *o, float *at)
{
	const struct model *m = e->model;
	size_t n = (size_t)m->value_count;
	int64_t *slot = array_make(n, sizeof *slot), *begins = array_make(n, sizeof *begins);
	for (size_t i = 0; i < n; i++)
		slot[i] = -1;
	place_values(m, o, slot, begins);
	for (size_t i = 0; i < n; i++)
		e->values[i] = slot[i] < 0 ? NULL : at + begins[slot[i]];
	free(slot);
	free(begins);
}

static void point_at_cache(struct inference *e)
{
	float *at = e->cache;
	for (int i = 0; i < e->model->kernel_count; i++) {
		int64_t n = cache_elements(&e->model->kernels[i], e->capacity);
		e->keys[i] = at;
		e->items[i] = at + n;
		at += 2 * n;
	}
}

static float *point_at_tensors(struct inference *e)
{
	float *at = e->memory;
	for (int i = 0; i < e->model->tensor_count; i++) {
		e->tensors[i] = at;
		at += whole_lines(e->model->tensors[i].elements);
	}
	return at;
}

static enum status take_memory(struct inference *e, const struct inference_options *o)
{
	struct inference_bytes b = inference_bytes(e->model, o);
	e->tensors = array_make((size_t)e->model->tensor_count, sizeof *e->tensors);
	e->values = array_make((size_t)e->model->value_count, sizeof *e->values);
	e->keys = array_make((size_t)e->model->kernel_count, sizeof *e->keys);
	e->items = array_make((size_t)e->model->kernel_count, sizeof *e->items);
	e->memory = aligned_alloc(64, (size_t)(b.weights + b.values));
	e->cache = aligned_alloc(64, (size_t)b.cache + 64);
	if (!e->memory || !e->cache) {
		char size[32];
		number_format_bytes(size, sizeof size, b.weights + b.values + b.cache);
		return status_fail(STATUS_MEMORY, "no memory for the model: %s; take a smaller one", size);
	}
	point_at_values(e, o, point_at_tensors(e));
	point_at_cache(e);
	return STATUS_OK;
}

/* ---- opening ---- */

static enum status check(const struct model *m)
{
	if (!m->is_text)
		return status_fail(STATUS_INPUT, "{model} %s writes no text; {generate} takes gpt and llama", m->name);
	for (int i = 0; i < m->kernel_count; i++)
		if (!run[m->kernels[i].kind])
			return status_fail(STATUS_INPUT,
			                   "{model} %s: {generate} cannot compute '%s', of kind %s; leave out the key "
			                   "that asks for it",
			                   m->name, m->kernels[i].name, kernel_kind_name(m->kernels[i].kind));
	return STATUS_OK;
}

static enum status read_weights(struct inference *e, const struct inference_options *o)
{
	for (int i = 0; i < e->model->tensor_count; i++)
		TRY(o->read(o->context, i, 0, e->model->tensors[i].elements, e->tensors[i]));
	return STATUS_OK;
}

enum status inference_open(struct inference *e, const struct model *m, const struct inference_options *o)
{
	*e = (struct inference){.model = m, .capacity = o->capacity, .rows = pass_rows(o), .all_logits = o->all_logits};
	enum status s = check(m);
	if (!s)
		s = take_memory(e, o);
	if (!s)
		s = read_weights(e, o);
	if (s)
		inference_release(e);
	return s;
}

void inference_release(struct inference *e)
{
	if (!e)
		return;
	free(e->memory);
	free(e->cache);
	free(e->tensors);
	free(e->values);
	free(e->keys);
	free(e->items);
	*e = (struct inference){0};
}

/* ---- running ---- */

static void forward(struct inference *e, const int32_t *tokens, int64_t rows)
{
	const struct model *m = e->model;
	struct new_rows p = {e, tokens, rows, e->length};
	for (int i = 0; i < m->kernel_count; i++)
		run[m->kernels[i].kind](&p, &m->kernels[i]);
	e->length += rows;
}

void inference_forward(struct inference *e, const int32_t *tokens, int64_t n, const float **logits)
{
	if (n < 1 || n > e->capacity - e->length)
		abort();
	for (int64_t done = 0, rows; done < n; done += rows) {
		rows = n - done < e->rows ? n - done : e->rows;
		forward(e, tokens + done, rows);
	}
	*logits = e->values[e->model->logits];
}
