/* Reads a cluster file. libyaml's documents carry the place of every node, so each message begins with it. */
#include "strategy/cluster/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/compare.h"
#include "strategy/base/keys.h"
#include "strategy/base/number.h"

#define RATE_FIELD                                                                                                     \
	{                                                                                                              \
		.kind = FIELD_PER_SECOND, .low = 1e3, .high = 1e18                                                     \
	}

/* ---- kinds ---- */

static enum status read_kind(struct reader *r, const yaml_node_t *node)
{
	const char *text = reader_scalar(node);
	if (text && !strcmp(text, "cpu"))
		r->c->kind = DEVICE_CPU;
	else if (text && !strcmp(text, "gpu"))
		r->c->kind = DEVICE_GPU;
	else
		return FAIL(r, node, "kind must be cpu or gpu");
	return STATUS_OK;
}

static enum status read_card(struct reader *r, const yaml_node_t *node, char *out, size_t size)
{
	enum status s = reader_text(r, node, "card", out, size);
	return s || word_find(STACK_CARDS, out) >= 0
	               ? s
	               : FAIL(r, node, "card '%.20s' is not one of: %s", out, STACK_CARDS);
}

/* ---- compute ---- */

static enum status read_point(struct reader *r, const yaml_node_t *node, const char *what, struct curve *curve)
{
	static const struct field fields[] = {{.kind = FIELD_WHOLE, .low = 1, .high = 9e18}, RATE_FIELD};
	static const char *const names[] = {"work", "rate"};
	static const struct reader_keys keys = {names, 2, NULL};
	const yaml_node_t *value[2];
	struct rate rate = {0};
	int64_t work = 0;
	enum status s = reader_values(r, node, what, &keys, value);
	if (s)
		return s;
	if (!value[0] || !value[1])
		return FAIL(r, node, "%s: a point is {work: FLOPs, rate: FLOP/s}", what);
	if ((s = reader_number(r, value[0], what, &fields[0], &work)) ||
	    (s = reader_rate(r, value[1], what, &fields[1], &rate)))
		return s;
	if (!curve_add(curve, work, rate))
		return STATUS_OK;
	reader_place(r, node, what);
	return status_prefix(STATUS_INPUT, "%s", r->where);
}

static enum status read_curve(struct reader *r, const yaml_node_t *node, const char *what, struct curve *curve)
{
	static const struct field rate_field = RATE_FIELD;
	struct rate rate = {0};
	enum status s = STATUS_OK;
	if (node->type != YAML_SEQUENCE_NODE) {
		s = reader_rate(r, node, what, &rate_field, &rate);
		return s ? s : curve_add(curve, 1, rate);
	}
	for (const yaml_node_item_t *i = node->data.sequence.items.start; !s && i < node->data.sequence.items.top; i++)
		s = read_point(r, reader_node(r, *i), what, curve);
	return s || curve->count ? s : FAIL(r, node, "%s: an empty list", what);
}

static enum status read_columns(struct reader *r, const yaml_node_t *node, int key)
{
	const char *name[CLUSTER_COLUMNS];
	const yaml_node_t *value[CLUSTER_COLUMNS];
	const struct reader_keys columns = {name, CLUSTER_COLUMNS, NULL};
	char what[160];
	for (int i = 0; i < CLUSTER_COLUMNS; i++)
		name[i] = cluster_column_name(i);
	snprintf(what, sizeof what, "compute.%s", compute_key_name(key));
	enum status s = reader_values(r, node, what, &columns, value);
	for (int i = 0; !s && i < CLUSTER_COLUMNS; i++) {
		snprintf(what, sizeof what, "compute.%s.%s", compute_key_name(key), name[i]);
		if (value[i])
			s = read_curve(r, value[i], what, &r->c->compute[key][i]);
	}
	return s;
}

static enum status read_compute(struct reader *r, const yaml_node_t *node)
{
	const char *name[COMPUTE_KEY_COUNT];
	const yaml_node_t *value[COMPUTE_KEY_COUNT];
	const struct reader_keys keys = {name, COMPUTE_KEY_COUNT,
	                                 "default, vector, a kernel (linear), or an operation (linear.forward, adamw)"};
	for (int i = 0; i < COMPUTE_KEY_COUNT; i++) /* an operation that has a kernel's name is written as the kernel */
		name[i] = compute_key_parse(compute_key_name(i)) == i ? compute_key_name(i) : NULL;
	enum status s = reader_values(r, node, "compute", &keys, value);
	for (int i = 0; !s && i < COMPUTE_KEY_COUNT; i++)
		if (value[i])
			s = read_columns(r, value[i], i);
	return s;
}

/* ---- slow ranks ---- */

static int slow_order(const void *a, const void *b)
{
	int64_t x = ((const struct slow *)a)->rank, y = ((const struct slow *)b)->rank;
	return compare(x, y);
}

static enum status read_slow(struct reader *r, const yaml_node_t *node)
{
	static const struct field factor_field = {.kind = FIELD_SHARE, .low = 0.01, .high = 1000};
	struct cluster *c = r->c;
	enum status s = reader_mapping(r, node, "slow");
	if (s)
		return s;
	ptrdiff_t count = node->data.mapping.pairs.top - node->data.mapping.pairs.start;
	c->slow = array_make((size_t)count, sizeof *c->slow);
	for (ptrdiff_t i = 0; i < count; i++) {
		const yaml_node_pair_t *p = &node->data.mapping.pairs.start[i];
		const yaml_node_t *key = reader_node(r, p->key);
		struct slow *slow = &c->slow[c->slow_count];
		reader_place(r, key, "slow: rank");
		if ((s = number_whole(reader_scalar(key), r->where, 0, INT64_C(1) << 40, &slow->rank)) ||
		    (s = reader_number(r, reader_node(r, p->value), "slow: factor", &factor_field, &slow->factor)))
			return s;
		c->slow_count++;
	}
	qsort(c->slow, (size_t)c->slow_count, sizeof *c->slow, slow_order);
	for (int i = 1; i < c->slow_count; i++)
		if (c->slow[i].rank == c->slow[i - 1].rank)
			return FAIL(r, node, "slow: rank %lld is there twice", (long long)c->slow[i].rank);
	return STATUS_OK;
}

/* ---- sections ---- */

/* Fields stand where the cluster's kind has them, and all that it must have are there. */
static enum status check_fields(struct reader *r, const yaml_node_t *in, const struct field *const *fields, int count,
                                const yaml_node_t *const *value)
{
	bool gpu = r->c->kind == DEVICE_GPU;
	for (int i = 0; i < count; i++)
		if (value[i] && !(fields[i]->flags & (gpu ? ON_GPU : ON_CPU)))
			return FAIL(r, value[i], "'%s' is for kind: %s; this cluster is of kind %s", fields[i]->key,
			            gpu ? "cpu" : "gpu", gpu ? "gpu" : "cpu");
	for (int i = 0; i < count; i++)
		if (!value[i] && (fields[i]->flags & (gpu ? ON_GPU : ON_CPU)) &&
		    (fields[i]->flags & (gpu ? GPU_NEEDS : CPU_NEEDS)))
			return FAIL(r, in, "%s%s'%s' is missing", fields[i]->section, *fields[i]->section ? ": " : "",
			            fields[i]->key);
	return STATUS_OK;
}

static enum status read_section(struct reader *r, const char *section, const yaml_node_t *node);

static enum status read_field(struct reader *r, const struct field *f, const yaml_node_t *value)
{
	char what[64];
	void *at = (char *)r->c + f->offset;
	snprintf(what, sizeof what, "%s%s%s", f->section, *f->section ? "." : "", f->key);
	switch (f->kind) {
	case FIELD_TEXT:
		return reader_text(r, value, what, at, (size_t)f->high);
	case FIELD_CARD:
		return read_card(r, value, at, (size_t)f->high);
	case FIELD_KIND:
		return read_kind(r, value);
	case FIELD_SECTION:
		return read_section(r, f->key, value);
	case FIELD_COMPUTE:
		return read_compute(r, value);
	case FIELD_SLOW:
		return read_slow(r, value);
	case FIELD_WHOLE:
	case FIELD_BYTES:
		return reader_number(r, value, what, f, at);
	default:
		return reader_rate(r, value, what, f, at);
	}
}

static enum status read_section(struct reader *r, const char *section, const yaml_node_t *node)
{
	const struct field *fields[SECTION_FIELDS];
	const char *name[SECTION_FIELDS];
	const yaml_node_t *value[SECTION_FIELDS];
	int count = cluster_section_fields(section, fields);
	for (int i = 0; i < count; i++)
		name[i] = fields[i]->key;
	const struct reader_keys keys = {name, count, NULL};
	enum status s = reader_values(r, node, section, &keys, value);
	for (int i = 0; !s && i < count; i++) /* first of all, since it says which fields there are */
		if (fields[i]->kind == FIELD_KIND && value[i])
			s = read_kind(r, value[i]);
	if (!s)
		s = check_fields(r, node, fields, count, value);
	for (int i = 0; !s && i < count; i++)
		if (value[i])
			s = read_field(r, fields[i], value[i]);
	return s;
}

/* ---- the file ---- */

static enum status read_top(struct reader *r, const yaml_node_t *root)
{
	enum status s = read_section(r, "", root);
	if (!s && r->c->nodes && !r->c->devices)
		return FAIL(r, root, "node: 'nodes' without 'devices': say how many ranks a node takes");
	return s;
}

enum status cluster_read(struct cluster *c, const char *text, size_t size, const char *file)
{
	struct reader r = {.c = c, .file = file, .what = "cluster"};
	const yaml_node_t *root = NULL;
	*c = (struct cluster){.threads = 1, .rails = 1};
	TRY(reader_open(&r, text, size, &root));
	enum status s =
	        root ? read_top(&r, root)
	             : status_fail(STATUS_INPUT, "%s:1:1: empty; a cluster file begins with `name:` and `kind:`", file);
	reader_release(&r);
	if (s)
		cluster_release(c);
	return s;
}
