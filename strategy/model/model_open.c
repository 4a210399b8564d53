/* Opening a model by its specification: its family is found by name, makes the kernels, and the rest follows from them.
 */
#include <stdio.h>
#include <string.h>

#include "strategy/base/near.h"
#include "strategy/base/number.h"
#include "strategy/model/family.h"
#include "strategy/model/model.h"

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

void model_list(void (*line)(void *context, const char *name, const char *what), void *context)
{
	for (int f = 0; f < FAMILIES; f++)
		for (int i = 0; i < families[f]->count; i++)
			line(context, families[f]->names[i].name, families[f]->names[i].what);
}
