#include "strategy/model/model.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/list.h"
#include "strategy/base/number.h"
#include "strategy/model/family.h"

/* ---- building ---- */

/* Arrays of a model live in its arena and grow by doubling when the count reaches a power of two. */
static void *grow(struct arena *a, void *array, int count, size_t element_bytes)
{
	if (count && (count & (count - 1)))
		return array;
	void *grown = arena_alloc(a, (size_t)(count ? 2 * count : 1) * element_bytes);
	if (count)
		memcpy(grown, array, (size_t)count * element_bytes);
	return grown;
}

int model_add_unit(struct model *m, const char *name)
{
	m->units = grow(&m->arena, m->units, m->unit_count, sizeof *m->units);
	m->units[m->unit_count] = (struct unit){.name = name};
	return m->unit_count++;
}

int model_add_tensor(struct model *m, int unit, const char *name, int64_t rows, int64_t columns, enum weight_init init,
                     double scale)
{
	m->tensors = grow(&m->arena, m->tensors, m->tensor_count, sizeof *m->tensors);
	int64_t elements = columns ? rows * columns : rows;
	m->tensors[m->tensor_count] = (struct tensor){.name = name,
	                                              .rows = rows,
	                                              .columns = columns,
	                                              .elements = elements,
	                                              .unit = unit,
	                                              .init = init,
	                                              .init_scale = scale};
	struct unit *u = &m->units[unit];
	u->tensors++;
	u->elements += elements;
	m->parameters += elements;
	return m->tensor_count++;
}

void model_set_pieces(struct model *m, int tensor, int count, const struct tensor_piece *pieces)
{
	m->tensors[tensor].piece_count = count;
	memcpy(m->tensors[tensor].pieces, pieces, (size_t)count * sizeof *pieces);
}

int model_add_value(struct model *m, const char *name, int64_t elements, enum value_type type)
{
	m->values = grow(&m->arena, m->values, m->value_count, sizeof *m->values);
	m->values[m->value_count] = (struct value){.name = name, .elements = elements, .type = type, .producer = -1};
	return m->value_count++;
}

int model_add_buffer(struct model *m, const char *name, int64_t elements, double initial)
{
	m->buffers = grow(&m->arena, m->buffers, m->buffer_count, sizeof *m->buffers);
	m->buffers[m->buffer_count] = (struct model_buffer){
	        .name = name, .elements = elements, .offset = m->buffer_elements, .initial = initial};
	m->buffer_elements += elements;
	return m->buffer_count++;
}

int64_t logits_stride(int64_t classes)
{
	enum { LINE = 64, MOST_PERCENT = 1 };
	int64_t padded = round_up(classes, LINE);
	return (padded - classes) * 100 <= classes * MOST_PERCENT ? padded : classes;
}

int64_t kernel_stride(const struct model *m, const struct kernel *k)
{
	return k->y >= 0 && k->y == m->logits ? m->logits_stride : k->out;
}

int64_t value_elements(const struct value *v, int64_t samples)
{
	return v->per_batch ? v->elements : v->elements * samples;
}

struct kernel *model_add_kernel(struct model *m, enum kernel_kind kind, int unit, const char *name)
{
	m->kernels = grow(&m->arena, m->kernels, m->kernel_count, sizeof *m->kernels);
	struct kernel *k = &m->kernels[m->kernel_count++];
	*k = (struct kernel){.kind = kind,
	                     .name = name,
	                     .unit = unit,
	                     .x = -1,
	                     .second = -1,
	                     .residual = -1,
	                     .y = -1,
	                     .saved = -1,
	                     .weight = -1,
	                     .bias = -1,
	                     .running = -1,
	                     .tokens = m->tokens,
	                     .needs_dx = true};
	return k;
}

enum status model_check_text(const struct model_request *q, const char *name, int64_t layers, int64_t context,
                             double parameters)
{
	if (parameters > (double)MOST_PARAMETERS || layers > MOST_LAYERS)
		return status_fail(STATUS_INPUT, "{model} %s: too large: at most 2,000 layers and 2^53 parameters",
		                   q->specification);
	if (q->sequence > context)
		return status_fail(STATUS_INPUT, "{sequence}: %lld is longer than the context of %s, %lld",
		                   (long long)q->sequence, name, (long long)context);
	return STATUS_OK;
}

void model_begin_text(struct model *m, int64_t context, int64_t tokens, int64_t vocabulary)
{
	m->context = context;
	m->tokens = tokens;
	m->input_elements = tokens;
	m->classes = vocabulary;
	m->is_text = true;
	m->input = model_add_value(m, "tokens", tokens, VALUE_INDEX);
	m->target = model_add_value(m, "targets", tokens, VALUE_INDEX);
}

void model_add_text_head(struct model *m, int unit, int x, int64_t width, int weight)
{
	struct kernel *k = model_add_kernel(m, KERNEL_LINEAR, unit, "head");
	k->in = width;
	k->out = m->classes;
	k->x = x;
	k->weight = weight;
	m->logits_stride = logits_stride(m->classes);
	k->y = m->logits = model_add_value(m, "logits", m->tokens * m->logits_stride, VALUE_ACTIVATION);

	k = model_add_kernel(m, KERNEL_CLASSIFIER, unit, "classifier");
	k->in = k->out = m->classes;
	k->x = m->logits;
}

void text_unit_block(struct text_unit *u, int i, const char *blocks)
{
	struct arena *a = &u->m->arena;
	u->unit = model_add_unit(u->m, arena_print(a, "block.%d", i));
	u->m->units[u->unit].block = true;
	u->prefix = arena_print(a, "block.%d.", i);
	u->tensor_prefix = arena_print(a, "%s%d.", blocks, i);
}

const char *text_unit_tensor_name(const struct text_unit *u, const char *name, const char *ending)
{
	return arena_print(&u->m->arena, "%s%s%s", u->tensor_prefix, name, ending);
}

int text_unit_tensor(const struct text_unit *u, const char *name, const char *ending, int64_t rows, int64_t columns,
                     enum weight_init init, double scale)
{
	return model_add_tensor(u->m, u->unit, text_unit_tensor_name(u, name, ending), rows, columns, init, scale);
}

int text_unit_value(const struct text_unit *u, const char *name, const char *ending, int64_t elements,
                    enum value_type type)
{
	return model_add_value(u->m, arena_print(&u->m->arena, "%s%s%s", u->prefix, name, ending), elements, type);
}

struct kernel *text_unit_kernel(const struct text_unit *u, enum kernel_kind kind, const char *name, int x, int64_t in,
                                int64_t out)
{
	struct kernel *k = model_add_kernel(u->m, kind, u->unit, arena_print(&u->m->arena, "%s%s", u->prefix, name));
	k->in = in;
	k->out = out;
	k->x = x;
	k->y = text_unit_value(u, name, ".y", u->m->tokens * out, VALUE_ACTIVATION);
	return k;
}

struct kernel *text_unit_embedding(const struct text_unit *u, const char *tensor, int64_t vocabulary, int64_t width,
                                   double deviation)
{
	struct kernel *k = text_unit_kernel(u, KERNEL_EMBEDDING, "embedding", u->m->input, width, width);
	k->weight = text_unit_tensor(u, tensor, ".weight", vocabulary, width, INIT_NORMAL, deviation);
	return k;
}

void model_release(struct model *m)
{
	if (!m)
		return;
	arena_release(&m->arena);
	*m = (struct model){0};
}

int model_blocks(const struct model *m)
{
	int n = 0;
	for (int u = 0; u < m->unit_count; u++)
		n += m->units[u].block;
	return n;
}

static int modules_of(const struct tensor *t)
{
	return t->piece_count && t->pieces[0].name ? t->piece_count : 1;
}

int model_modules(const struct model *m, int unit)
{
	int n = 0;
	for (const struct kernel *k = m->kernels; k < m->kernels + m->kernel_count; k++)
		n += k->unit == unit && k->weight >= 0 ? modules_of(&m->tensors[k->weight]) : 0;
	return n;
}

int64_t model_width(const struct model *m)
{
	int64_t width = 0;
	for (int i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].heads * m->kernels[i].head_size > width)
			width = m->kernels[i].heads * m->kernels[i].head_size;
	return width;
}

int64_t model_largest_tensor(const struct model *m, int unit)
{
	int64_t most = 0;
	for (int t = 0; t < m->tensor_count; t++)
		if (m->tensors[t].unit == unit && m->tensors[t].elements > most)
			most = m->tensors[t].elements;
	return most;
}

const char *kernel_kind_name(enum kernel_kind kind)
{
	static const char *const names[] = {KERNEL_LIST(SECOND)};
	return names[kind];
}
