#include "strategy/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/base/list.h"
#include "strategy/base/near.h"
#include "strategy/base/number.h"

/* Sizes up to this keep every product of two, times 16 bytes, within 63 bits. */
#define LARGEST_SIZE ((int64_t)1 << 26)
#define MOST_PARAMETERS ((int64_t)1 << 53)

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

struct preset {
	const char *name, *alias, *what; /* alias: Hugging Face's name of it, or "" */
	struct gpt_sizes sizes;
};

static const struct preset presets[] = {
        {"gpt",
         "",
         "GPT-2's architecture, small: 4,837,376 parameters, byte vocabulary",
         {6, 256, 8, 128, 256, false, 0}},
        {"gpt2-124m", "gpt2", "GPT-2 (gpt2): 124,439,808 parameters", {12, 768, 12, 1024, 50257, false, 0}},
        {"gpt2-355m",
         "gpt2-medium",
         "GPT-2 medium (gpt2-medium): 354,823,168 parameters",
         {24, 1024, 16, 1024, 50257, false, 0}},
        {"gpt2-774m",
         "gpt2-large",
         "GPT-2 large (gpt2-large): 774,030,080 parameters",
         {36, 1280, 20, 1024, 50257, false, 0}},
        {"gpt2-1558m",
         "gpt2-xl",
         "GPT-2 XL (gpt2-xl): 1,557,611,200 parameters",
         {48, 1600, 25, 1024, 50257, false, 0}},
        {"gpt3-175b", "", "GPT-3: 175 billion parameters, for simulation", {96, 12288, 96, 2048, 50257, false, 0}},
};

/* 12·L·C² is the bulk; refuse what would not fit the exact integers of JSON. */
static bool gpt_too_large(const struct gpt_sizes *g)
{
	double parameters = 12.0 * (double)g->layers * (double)g->width * (double)g->width +
	                    (double)(g->vocabulary + g->context) * (double)g->width;
	return parameters > (double)MOST_PARAMETERS || g->layers > 100000;
}

/* A model as a user specifies it: NAME[:key=value,…]. */
struct request {
	const char *specification, *pairs; /* pairs: NULL for none */
	int64_t sequence;                  /* 0: not given */
};

static enum status open_gpt(struct model *m, const struct request *q, const struct preset *p)
{
	enum { LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY, ATTENTION, DROPOUT, KEYS };
	static const struct key list[KEYS] = {{"layers", "N", "", ""},     {"width", "N", "", ""},
	                                      {"heads", "N", "", ""},      {"context", "N", "", ""},
	                                      {"vocabulary", "N", "", ""}, {"attention", "flash|standard", "flash", ""},
	                                      {"dropout", "P", "0", ""}};
	const struct keys keys = {"{model}", p->name, list, KEYS, ",", 1, LARGEST_SIZE};
	struct key_value value[KEYS];
	enum status s = keys_read(&keys, q->pairs, value);
	if (s)
		return s;
	const struct gpt_sizes g = {.layers = key_whole(&value[LAYERS], p->sizes.layers),
	                            .width = key_whole(&value[WIDTH], p->sizes.width),
	                            .heads = key_whole(&value[HEADS], p->sizes.heads),
	                            .context = key_whole(&value[CONTEXT], p->sizes.context),
	                            .vocabulary = key_whole(&value[VOCABULARY], p->sizes.vocabulary),
	                            .standard = key_is(&value[ATTENTION], "standard"),
	                            .dropout = key_real(&value[DROPOUT])};
	if (g.width % g.heads)
		return status_fail(STATUS_INPUT, "{model} %s: width %lld is not divisible by %lld heads",
		                   q->specification, (long long)g.width, (long long)g.heads);
	if (gpt_too_large(&g))
		return status_fail(STATUS_INPUT, "{model} %s: too large: at most 100,000 layers and 2^53 parameters",
		                   q->specification);
	if (q->sequence > g.context)
		return status_fail(STATUS_INPUT, "{sequence}: %lld is longer than the context of %s, %lld",
		                   (long long)q->sequence, p->name, (long long)g.context);
	m->name = p->name;
	m->specification =
	        arena_print(&m->arena, "%s:layers=%lld,width=%lld,heads=%lld,context=%lld,vocabulary=%lld%s", p->name,
	                    (long long)g.layers, (long long)g.width, (long long)g.heads, (long long)g.context,
	                    (long long)g.vocabulary, g.standard ? ",attention=standard" : "");
	if (g.dropout > 0)
		m->specification = arena_print(&m->arena, "%s,dropout=%.17g", m->specification, g.dropout);
	model_build_gpt(m, &g, q->sequence ? q->sequence : g.context);
	return STATUS_OK;
}

/* "784-1024-10" */
static enum status read_layers(const struct key_value *v, struct mlp_sizes *out)
{
	enum { MOST = sizeof out->sizes / sizeof out->sizes[0] - 1 };
	char what[48], text[64];
	const char *p = v->text, *end = v->text + v->length;
	snprintf(what, sizeof what, "%s mlp: sizes", status_words("{model}"));
	for (out->count = 0; p <= end; out->count++) {
		const char *dash = memchr(p, '-', (size_t)(end - p));
		snprintf(text, sizeof text, "%.*s", (int)((dash ? dash : end) - p), p);
		if (out->count == MOST)
			return status_fail(STATUS_INPUT, "%s: more than %d", what, MOST);
		enum status s = number_whole(text, what, 1, LARGEST_SIZE, &out->sizes[out->count]);
		if (s)
			return s;
		p = (dash ? dash : end) + 1;
	}
	if (out->count < 2)
		return status_fail(STATUS_INPUT, "%s: at least an input and an output are needed, as in 784-10", what);
	return STATUS_OK;
}

static enum status open_mlp(struct model *m, const struct request *q)
{
	static const struct key list[] = {{"sizes", "", "784-1024-1024-10", ""},
	                                  {"norm", "none|batch|sync-batch", "none", ""}};
	const struct keys keys = {"{model}", "mlp", list, 2, ",", 0, 0};
	struct key_value value[2];
	struct mlp_sizes z = {0};
	enum status s = keys_read(&keys, q->pairs, value);
	if (s || (s = read_layers(&value[0], &z)))
		return s;
	if (q->sequence > 1)
		return status_fail(STATUS_INPUT, "{sequence}: the MLP has no sequence; leave it out");
	z.norm = key_is(&value[1], "batch")        ? MLP_NORM_BATCH
	         : key_is(&value[1], "sync-batch") ? MLP_NORM_SYNC_BATCH
	                                           : MLP_NORM_NONE;
	m->name = "mlp";
	m->specification = arena_print(&m->arena, "mlp:sizes=%lld", (long long)z.sizes[0]);
	for (int i = 1; i < z.count; i++)
		m->specification = arena_print(&m->arena, "%s-%lld", m->specification, (long long)z.sizes[i]);
	if (z.norm != MLP_NORM_NONE)
		m->specification =
		        arena_print(&m->arena, "%s,norm=%.*s", m->specification, (int)value[1].length, value[1].text);
	model_build_mlp(m, &z);
	return STATUS_OK;
}

/* params=7e9[:units=32]: all of it is pairs. */
static enum status open_abstract(struct model *m, const struct request *q)
{
	enum { MOST_UNITS = 100000 };
	static const struct key list[] = {{"params", "N", "", ""}, {"units", "N", "1", ""}};
	const struct keys keys = {"{model}", "params", list, 2, ":,", 1, MOST_PARAMETERS};
	struct key_value value[2];
	enum status s = keys_read(&keys, q->specification, value);
	if (s)
		return s;
	int64_t parameters = key_whole(&value[0], 0), units = key_whole(&value[1], 1);
	if (q->sequence > 1)
		return status_fail(STATUS_INPUT, "{sequence}: %s has model states only; leave it out",
		                   q->specification);
	if (units > parameters || units > MOST_UNITS)
		return status_fail(STATUS_INPUT, "{model} %s: more units than %s", q->specification,
		                   units > MOST_UNITS ? "100,000" : "parameters");
	m->name = arena_print(&m->arena, "params=%lld", (long long)parameters);
	m->specification = arena_print(&m->arena, "params=%lld:units=%lld", (long long)parameters, (long long)units);
	model_build_abstract(m, parameters, units);
	return STATUS_OK;
}

static enum status unknown_model(const char *name)
{
	struct near near = {.typed = name};
	if (strchr(name, '/') || strstr(name, ".json"))
		return status_fail(
		        STATUS_INPUT,
		        "{model} %.60s: model files are not read; give its sizes as keys of gpt, or its number of "
		        "parameters: see {help} models",
		        name);
	model_list(near_line, &near);
	return status_fail(STATUS_INPUT,
	                   "{model}: unknown model '%.60s'%s; known: %s; others by their sizes: see {help} models",
	                   name, near_words(&near), near.known);
}

static enum status open_named(struct model *m, const struct request *q)
{
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(q->specification, ":"), q->specification);
	if (!strncmp(q->specification, "params=", 7))
		return open_abstract(m, q);
	if (!strcmp(name, "mlp"))
		return open_mlp(m, q);
	for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
		if (!strcmp(name, presets[i].name) || (*presets[i].alias && !strcmp(name, presets[i].alias)))
			return open_gpt(m, q, &presets[i]);
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
	const struct request q = {specification, colon ? colon + 1 : NULL, sequence};
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
	line(context, "mlp", "784-1024-1024-10 with GELU, or sizes=A-B-C: 1,863,690 parameters; norm=batch|sync-batch");
	for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
		line(context, presets[i].name, presets[i].what);
	line(context, "params=7.5e9", "model states only: an abstract model of that many parameters");
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
