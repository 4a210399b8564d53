#include "strategy/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- the specification: NAME[:key=value,…] ---- */

struct model_options {
	const char *specification;
	char text[512];
	char *key[16], *value[16];
	bool used[16];
	int count;
};

static enum status options_parse(struct model_options *o, const char *specification, const char *list)
{
	if (strlen(list) >= sizeof o->text)
		return status_fail(STATUS_INPUT, "--model: '%.40s…' is longer than %zu characters", specification,
		                   sizeof o->text - 1);
	snprintf(o->text, sizeof o->text, "%s", list);
	for (char *p = o->text; p;) {
		char *next = strchr(p, ',');
		if (next)
			*next++ = 0;
		char *equals = strchr(p, '=');
		if (!equals)
			return status_fail(STATUS_INPUT, "--model %s: '%s' is not key=value", specification, p);
		if (o->count == 16)
			return status_fail(STATUS_INPUT, "--model %s: more than 16 keys", specification);
		*equals = 0;
		o->key[o->count] = p;
		o->value[o->count++] = equals + 1;
		p = next;
	}
	return STATUS_OK;
}

static const char *options_take(struct model_options *o, const char *key)
{
	for (int i = 0; i < o->count; i++)
		if (!o->used[i] && !strcmp(o->key[i], key)) {
			o->used[i] = true;
			return o->value[i];
		}
	return NULL;
}

static enum status take_size(struct model_options *o, const char *key, int64_t fallback, int64_t *out)
{
	const char *value = options_take(o, key);
	char what[600];
	*out = fallback;
	if (!value)
		return STATUS_OK;
	snprintf(what, sizeof what, "--model %s: %s", o->specification, key);
	return number_whole(value, what, 1, LARGEST_SIZE, out);
}

static enum status options_finish(const struct model_options *o, const char *known)
{
	for (int i = 0; i < o->count; i++)
		if (!o->used[i])
			return status_fail(STATUS_INPUT, "--model %s: unknown or repeated key '%s'; known keys: %s",
			                   o->specification, o->key[i], known);
	return STATUS_OK;
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

/* attention=flash|standard, dropout=P */
static enum status take_attention(struct model_options *o, struct gpt_sizes *g)
{
	const char *attention = options_take(o, "attention"), *dropout = options_take(o, "dropout");
	char what[600];
	g->standard = attention && !strcmp(attention, "standard");
	g->dropout = 0;
	if (attention && !g->standard && strcmp(attention, "flash") != 0)
		return status_fail(STATUS_INPUT, "--model %s: attention is '%.40s'; possible: flash, standard",
		                   o->specification, attention);
	if (!dropout)
		return STATUS_OK;
	snprintf(what, sizeof what, "--model %s: dropout", o->specification);
	return number_real(dropout, what, 0, 0.999, &g->dropout);
}

static enum status open_gpt(struct model *m, struct model_options *o, const struct preset *p, int64_t sequence)
{
	struct gpt_sizes g;
	enum status s;
	if ((s = take_size(o, "layers", p->sizes.layers, &g.layers)) ||
	    (s = take_size(o, "width", p->sizes.width, &g.width)) ||
	    (s = take_size(o, "heads", p->sizes.heads, &g.heads)) ||
	    (s = take_size(o, "context", p->sizes.context, &g.context)) ||
	    (s = take_size(o, "vocabulary", p->sizes.vocabulary, &g.vocabulary)) || (s = take_attention(o, &g)) ||
	    (s = options_finish(o, "layers, width, heads, context, vocabulary, attention, dropout")))
		return s;
	if (g.width % g.heads)
		return status_fail(STATUS_INPUT, "--model %s: width %lld is not divisible by %lld heads",
		                   o->specification, (long long)g.width, (long long)g.heads);
	if (gpt_too_large(&g))
		return status_fail(STATUS_INPUT, "--model %s: too large: at most 100,000 layers and 2^53 parameters",
		                   o->specification);
	if (sequence > g.context)
		return status_fail(STATUS_INPUT, "--sequence: %lld is longer than the context of %s, %lld",
		                   (long long)sequence, p->name, (long long)g.context);
	m->name = p->name;
	m->specification = arena_print(&m->arena, "%s:layers=%lld,width=%lld,heads=%lld,context=%lld,vocabulary=%lld",
	                               p->name, (long long)g.layers, (long long)g.width, (long long)g.heads,
	                               (long long)g.context, (long long)g.vocabulary);
	if (g.standard)
		m->specification = arena_print(&m->arena, "%s,attention=standard", m->specification);
	if (g.dropout > 0)
		m->specification = arena_print(&m->arena, "%s,dropout=%.17g", m->specification, g.dropout);
	model_build_gpt(m, &g, sequence ? sequence : g.context);
	return STATUS_OK;
}

static enum status take_norm(struct model_options *o, enum mlp_norm *out)
{
	const char *value = options_take(o, "norm");
	if (!value || !strcmp(value, "none"))
		*out = MLP_NORM_NONE;
	else if (!strcmp(value, "batch"))
		*out = MLP_NORM_BATCH;
	else if (!strcmp(value, "sync-batch"))
		*out = MLP_NORM_SYNC_BATCH;
	else
		return status_fail(STATUS_INPUT, "--model %s: norm is none, batch or sync-batch, not '%.40s'",
		                   o->specification, value);
	return STATUS_OK;
}

static enum status open_mlp(struct model *m, struct model_options *o, int64_t sequence)
{
	static const char *const norms[] = {"", ",norm=batch", ",norm=sync-batch"};
	struct mlp_sizes z = {{784, 1024, 1024, 10}, 4, MLP_NORM_NONE};
	const char *list = options_take(o, "sizes");
	enum status s;
	if ((s = take_norm(o, &z.norm)) || (s = options_finish(o, "sizes (such as sizes=784-1024-1024-10), norm")))
		return s;
	if (sequence > 1)
		return status_fail(STATUS_INPUT, "--sequence: the MLP has no sequence; leave the option out");
	if (list) {
		char text[512];
		snprintf(text, sizeof text, "%s", list);
		z.count = 0;
		for (char *p = text; p;) {
			char *next = strchr(p, '-');
			if (next)
				*next++ = 0;
			char what[600];
			snprintf(what, sizeof what, "--model %s: sizes", o->specification);
			if (z.count == 65)
				return status_fail(STATUS_INPUT, "%s: more than 65 sizes", what);
			if ((s = number_whole(p, what, 1, LARGEST_SIZE, &z.sizes[z.count++])))
				return s;
			p = next;
		}
		if (z.count < 2)
			return status_fail(STATUS_INPUT, "--model %s: sizes needs at least an input and an output",
			                   o->specification);
	}
	m->name = "mlp";
	m->specification = arena_print(&m->arena, "mlp:sizes=%lld", (long long)z.sizes[0]);
	for (int i = 1; i < z.count; i++)
		m->specification = arena_print(&m->arena, "%s-%lld", m->specification, (long long)z.sizes[i]);
	m->specification = arena_print(&m->arena, "%s%s", m->specification, norms[z.norm]);
	model_build_mlp(m, &z);
	return STATUS_OK;
}

static enum status open_abstract(struct model *m, const char *specification, int64_t sequence)
{
	char text[128];
	int64_t parameters, units = 1;
	snprintf(text, sizeof text, "%s", specification + strlen("params="));
	char *keys = strpbrk(text, ":,");
	enum status s;
	if (keys) {
		*keys++ = 0;
		if (strncmp(keys, "units=", 6))
			return status_fail(STATUS_INPUT, "--model %s: unknown key '%s'; known key: units",
			                   specification, keys);
		if ((s = number_whole(keys + 6, "--model params: units", 1, 100000, &units)))
			return s;
	}
	if ((s = number_whole(text, "--model params=", 1, MOST_PARAMETERS, &parameters)))
		return s;
	if (sequence > 1)
		return status_fail(STATUS_INPUT, "--sequence: %s has model states only; leave the option out",
		                   specification);
	if (units > parameters)
		return status_fail(STATUS_INPUT, "--model %s: more units than parameters", specification);
	m->name = arena_print(&m->arena, "params=%lld", (long long)parameters);
	m->specification = arena_print(&m->arena, "params=%lld:units=%lld", (long long)parameters, (long long)units);
	model_build_abstract(m, parameters, units);
	return STATUS_OK;
}

static enum status open_named(struct model *m, struct model_options *o, const char *name, int64_t sequence)
{
	if (!strcmp(name, "mlp"))
		return open_mlp(m, o, sequence);
	for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
		if (!strcmp(name, presets[i].name) || (*presets[i].alias && !strcmp(name, presets[i].alias)))
			return open_gpt(m, o, &presets[i], sequence);
	if (strchr(name, '/') || strstr(name, ".json"))
		return status_fail(
		        STATUS_INPUT,
		        "--model %.60s: model files are not read; give its sizes as keys of gpt, or its number of "
		        "parameters: see shardlab help models",
		        name);
	return status_fail(STATUS_INPUT,
	                   "--model: unknown model '%.60s'; known: mlp, gpt, gpt2-124m, gpt2-355m, gpt2-774m, "
	                   "gpt2-1558m, gpt3-175b, params=NUMBER; others by their sizes: see shardlab help models",
	                   name);
}

/* What can be derived from the kernels, once all are there. */
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
	*m = (struct model){.tokens = 1, .context = 1, .slices = 1, .maxima = -1, .sums = -1};
	enum status s;
	if (!strncmp(specification, "params=", 7)) {
		s = open_abstract(m, specification, sequence);
	} else {
		struct model_options o = {.specification = specification};
		char name[64];
		const char *colon = strchr(specification, ':');
		size_t length = colon ? (size_t)(colon - specification) : strlen(specification);
		snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), specification);
		s = colon ? options_parse(&o, specification, colon + 1) : STATUS_OK;
		if (!s)
			s = open_named(m, &o, name, sequence);
	}
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
	static const char *const names[] = {
#define X(constant, name) name,
	        KERNEL_LIST(X)
#undef X
	};
	return names[kind];
}
