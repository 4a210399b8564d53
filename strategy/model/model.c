#include "strategy/model/model.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/list.h"
#include "strategy/base/near.h"
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

/* ---- the families ---- */

#define X(name) &family_##name,
static const struct family *const families[] = {FAMILY_LIST(X)};
#undef X
enum { FAMILIES = sizeof families / sizeof families[0] };

static bool is_called(const struct model_name *n, const char *specification)
{
	size_t key = strcspn(n->name, "="), length = strcspn(specification, ":");
	if (n->name[key])
		return !strncmp(specification, n->name, key + 1);
	return (strlen(n->name) == length && !strncmp(n->name, specification, length)) ||
	       (n->alias && strlen(n->alias) == length && !strncmp(n->alias, specification, length));
}

static enum status unknown_model(const char *name)
{
	struct near near = {.typed = name};
	if (strchr(name, '/') || strstr(name, ".json"))
		return status_fail(STATUS_INPUT,
		                   "{model} %.60s: model files are not read; give its sizes as keys of gpt or llama, "
		                   "or its number of "
		                   "parameters: see {help} models",
		                   name);
	model_list(near_line, &near);
	return status_fail(STATUS_INPUT,
	                   "{model}: unknown model '%.60s'%s; known: %s; others by their sizes: see {help} models",
	                   name, near_words(&near), near.known);
}

static enum status open_named(struct model *m, const struct model_request *q)
{
	for (int f = 0; f < FAMILIES; f++)
		for (int i = 0; i < families[f]->count; i++)
			if (is_called(&families[f]->names[i], q->specification))
				return families[f]->open(m, q, i);
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(q->specification, ":"), q->specification);
	return unknown_model(name);
}

/* Derives the rest from the kernels, once they are all there. */
static void finish(struct model *m)
{
	if (!m->logits_stride)
		m->logits_stride = m->classes;
	for (int i = 0; i < m->kernel_count; i++) {
		struct kernel *k = &m->kernels[i];
		if (k->y >= 0)
			m->values[k->y].producer = i;
		if (k->saved >= 0)
			m->values[k->saved].producer = i;
		k->needs_dx = k->x >= 0 && m->values[k->x].producer >= 0;
		if (k->weight >= 0)
			m->tensors[k->weight].uses++;
		if (k->bias >= 0)
			m->tensors[k->bias].uses++;
	}
}

enum status model_open(struct model *m, const char *specification, int64_t sequence)
{
	const char *colon = strchr(specification, ':');
	const struct model_request q = {specification, colon ? colon + 1 : NULL, sequence};
	*m = (struct model){.tokens = 1, .context = 1, .slices = 1, .maxima = -1, .sums = -1};
	enum status s = open_named(m, &q);
	if (s) {
		model_release(m);
		return s;
	}
	finish(m);
	return STATUS_OK;
}

void model_release(struct model *m)
{
	if (!m)
		return;
	arena_release(&m->arena);
	*m = (struct model){0};
}

void model_list(void (*line)(void *context, const char *name, const char *what), void *context)
{
	for (int f = 0; f < FAMILIES; f++)
		for (int i = 0; i < families[f]->count; i++)
			line(context, families[f]->names[i].name, families[f]->names[i].what);
}

int model_blocks(const struct model *m)
{
	int n = 0;
	for (int u = 0; u < m->unit_count; u++)
		n += m->units[u].block;
	return n;
}

const char *kernel_kind_name(enum kernel_kind kind)
{
	static const char *const names[] = {KERNEL_LIST(SECOND)};
	return names[kind];
}
