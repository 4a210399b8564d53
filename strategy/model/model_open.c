/* Opening a model by its specification: its family is found by name, makes the kernels, and the rest follows from them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/near.h"
#include "strategy/base/number.h"
#include "strategy/model/elsewhere.h"
#include "strategy/model/family.h"
#include "strategy/model/flops.h"
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

/* "7B", "1.5b", "774m": how many parameters, and of no model in particular. */
static bool is_size(const char *name)
{
	size_t digits = strspn(name, "0123456789.");
	return isdigit((unsigned char)*name) && digits <= 12 && strchr("bBmM", name[digits]) && name[digits] &&
	       !name[digits + 1];
}

static enum status unknown_model(const char *name)
{
	struct near near = {.typed = name};
	struct arena a = {0};
	const char *elsewhere = model_elsewhere(&a, name);
	if (!elsewhere && is_size(name))
		elsewhere = arena_print(&a,
		                        "a model of which only the size is known is params=%.*s%c; one with layers has "
		                        "a name, as llama-2-7b",
		                        (int)strlen(name) - 1, name, toupper((unsigned char)name[strlen(name) - 1]));
	model_list(near_line, &near);
	enum status s =
	        elsewhere
	                ? status_fail(STATUS_INPUT, "{model}: unknown model '%.60s': %s", name, status_words(elsewhere))
	                : status_fail(STATUS_INPUT,
	                              "{model}: unknown model '%.60s'%s; of any other give the folder with its "
	                              "config.json, as downloaded; all names: {help} models",
	                              name, near_words(&near));
	arena_release(&a);
	return s;
}

static const struct family *find_family(const char *specification, int *name)
{
	for (int f = 0; f < FAMILIES; f++)
		for (*name = 0; *name < families[f]->count; ++*name)
			if (is_called(&families[f]->names[*name], specification))
				return families[f];
	return NULL;
}

bool model_is_named(const char *specification)
{
	int name;
	return find_family(specification, &name) != NULL;
}

static enum status open_named(struct model *m, const struct model_request *q)
{
	int place;
	const struct family *f = find_family(q->specification, &place);
	if (f)
		return f->open(m, q, place);
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
	m->training_flops = model_training_flops(m);
}

/* ---- what titles call it ---- */

#define NAME_KEY "name="
enum { NAME_MOST = 40 };

/* The key among the pairs; NULL: it is not there. */
static const char *find_name(const char *pairs)
{
	for (const char *p = pairs; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (!strncmp(p, NAME_KEY, strlen(NAME_KEY)))
			return p;
	return NULL;
}

static enum status check_name(const char *name, size_t length)
{
	bool plain = true;
	for (size_t i = 0; i < length; i++)
		plain = plain && (isalnum((unsigned char)name[i]) || strchr("._-", name[i]));
	return plain && length && length <= NAME_MOST
	               ? STATUS_OK
	               : status_fail(STATUS_INPUT,
	                             "{model}: name: '%.*s' is not 1 to %d letters, digits, '.', '_' and '-'",
	                             length < 80 ? (int)length : 80, name, NAME_MOST);
}

/* Every family has the key `name`: here it is taken out of the request, and put back behind the specification. */
static enum status open_called(struct model *m, struct model_request *q, const char *key)
{
	const char *name = key + strlen(NAME_KEY), *end = key + strcspn(key, ",");
	size_t length = (size_t)(end - name);
	TRY(check_name(name, length));
	const char *rest = arena_print(&m->arena, "%.*s%s", (int)(key - q->pairs), q->pairs, *end ? end + 1 : "");
	size_t left = strlen(rest);
	if (left && !*end) /* the comma before the key */
		left--;
	q->pairs = left ? arena_print(&m->arena, "%.*s", (int)left, rest) : NULL;
	TRY(open_named(m, q));
	m->name = arena_print(&m->arena, "%.*s", (int)length, name);
	m->specification = arena_print(&m->arena, "%s%c" NAME_KEY "%s", m->specification,
	                               strchr(m->specification, ':') ? ',' : ':', m->name);
	return STATUS_OK;
}

enum status model_open(struct model *m, const char *specification, int64_t sequence)
{
	const char *colon = strchr(specification, ':');
	struct model_request q = {specification, colon ? colon + 1 : NULL, sequence};
	const char *key = find_name(q.pairs);
	*m = (struct model){.tokens = 1, .context = 1, .slices = 1, .maxima = -1, .sums = -1};
	enum status s = key ? open_called(m, &q, key) : open_named(m, &q);
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
