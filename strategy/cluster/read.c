/* Reads a cluster file. libyaml's documents carry the place of every node, so each message begins with it. */
#include "strategy/cluster/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/number.h"

#define FILE_MOST ((size_t)1 << 20)

/* ---- sections ---- */

static enum status unknown_key(struct reader *r, const yaml_node_t *key, const char *section)
{
	char known[300] = "";
	size_t n = 0;
	if (!*section)
		n = (size_t)snprintf(
		        known, sizeof known,
		        "name, about, kind, node, device, compute, link, network, host_link, disk, slow, ");
	for (int i = 0; i < cluster_field_count && n < sizeof known; i++)
		if (!strcmp(cluster_fields[i].section, section))
			n += (size_t)snprintf(known + n, sizeof known - n, "%s, ", cluster_fields[i].key);
	if (n >= 2 && n < sizeof known)
		known[n - 2] = 0;
	return FAIL(r, key, "unknown key '%s'%s%s; known keys: %s", reader_scalar(key), *section ? " in " : "", section,
	            known);
}

static enum status read_field(struct reader *r, const char *section, const yaml_node_t *key, const yaml_node_t *value)
{
	unsigned here = r->c->kind == DEVICE_GPU ? ON_GPU : ON_CPU;
	char what[64];
	for (int i = 0; i < cluster_field_count; i++) {
		const struct field *f = &cluster_fields[i];
		if (strcmp(f->section, section) || strcmp(f->key, reader_scalar(key)))
			continue;
		if (!(f->flags & here))
			return FAIL(r, key, "'%s' is for kind: %s; this cluster is of kind %s", f->key,
			            here == ON_GPU ? "cpu" : "gpu", here == ON_GPU ? "gpu" : "cpu");
		if (r->seen[i])
			return FAIL(r, key, "'%s' is there twice", f->key);
		r->seen[i] = true;
		snprintf(what, sizeof what, "%s%s%s", section, *section ? "." : "", f->key);
		void *at = (char *)r->c + f->offset;
		if (f->kind == FIELD_WHOLE || f->kind == FIELD_BYTES)
			return reader_number(r, value, what, f, at);
		return reader_rate(r, value, what, f, at);
	}
	return unknown_key(r, key, section);
}

static enum status read_section(struct reader *r, const char *section, const yaml_node_t *node)
{
	enum status s = reader_mapping(r, node, section);
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; !s && p < node->data.mapping.pairs.top; p++)
		s = read_field(r, section, reader_node(r, p->key), reader_node(r, p->value));
	for (int i = 0; !s && i < cluster_field_count; i++) {
		const struct field *f = &cluster_fields[i];
		if (!strcmp(f->section, section) && (f->flags & REQUIRED) && !r->seen[i] &&
		    (f->flags & (r->c->kind == DEVICE_GPU ? ON_GPU : ON_CPU)))
			return FAIL(r, node, "%s: '%s' is missing", section, f->key);
	}
	return s;
}

static enum status read_curve(struct reader *r, const yaml_node_t *node, const char *what, struct curve *curve)
{
	static const struct field rate_field = {.kind = FIELD_PER_SECOND, .low = 1e3, .high = 1e18};
	static const struct field work_field = {.kind = FIELD_WHOLE, .low = 1, .high = 9e18};
	struct rate rate = {0};
	enum status s;

	if (curve->count)
		return FAIL(r, node, "%s is there twice", what);
	if (node->type != YAML_SEQUENCE_NODE) {
		if ((s = reader_rate(r, node, what, &rate_field, &rate)))
			return s;
		return curve_add(curve, 1, rate);
	}
	for (const yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
		const yaml_node_t *point = reader_node(r, *i);
		bool given[2] = {false};
		int64_t work = 0;
		if ((s = reader_mapping(r, point, what)))
			return s;
		for (const yaml_node_pair_t *p = point->data.mapping.pairs.start; p < point->data.mapping.pairs.top;
		     p++) {
			const yaml_node_t *key = reader_node(r, p->key);
			bool is_work = !strcmp(reader_scalar(key), "work");
			if (!is_work && strcmp(reader_scalar(key), "rate"))
				return FAIL(r, key, "%s: unknown key '%s'; known keys: work, rate", what,
				            reader_scalar(key));
			if (given[is_work])
				return FAIL(r, key, "%s: '%s' is there twice", what, reader_scalar(key));
			given[is_work] = true;
			s = is_work ? reader_number(r, reader_node(r, p->value), what, &work_field, &work)
			            : reader_rate(r, reader_node(r, p->value), what, &rate_field, &rate);
			if (s)
				return s;
		}
		if (!given[0] || !given[1])
			return FAIL(r, point, "%s: a point is {work: FLOPs, rate: FLOP/s}", what);
		if (curve_add(curve, work, rate)) {
			reader_place(r, point, what);
			return status_prefix(STATUS_INPUT, "%s", r->where);
		}
	}
	return curve->count ? STATUS_OK : FAIL(r, node, "%s: an empty list", what);
}

static enum status read_compute(struct reader *r, const yaml_node_t *node)
{
	enum status s = reader_mapping(r, node, "compute");
	if (s)
		return s;
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = reader_node(r, p->key), *types = reader_node(r, p->value);
		int k = compute_key_parse(reader_scalar(key));
		if (k < 0)
			return FAIL(
			        r, key,
			        "unknown key '%s' in compute; known keys: default, vector, a kernel (linear), or an "
			        "operation (linear.forward, adamw)",
			        reader_scalar(key));
		char what[160];
		snprintf(what, sizeof what, "compute.%s", compute_key_name(k));
		if ((s = reader_mapping(r, types, what)))
			return s;
		for (const yaml_node_pair_t *q = types->data.mapping.pairs.start; q < types->data.mapping.pairs.top;
		     q++) {
			const yaml_node_t *name = reader_node(r, q->key);
			int column = 0;
			while (column < CLUSTER_COLUMNS && strcmp(reader_scalar(name), cluster_column_name(column)))
				column++;
			if (column == CLUSTER_COLUMNS)
				return FAIL(r, name, "%s: unknown type '%s'; known: fp32, bf16, fp16, tf32", what,
				            reader_scalar(name));
			snprintf(what, sizeof what, "compute.%s.%s", compute_key_name(k), cluster_column_name(column));
			if ((s = read_curve(r, reader_node(r, q->value), what, &r->c->compute[k][column])))
				return s;
		}
	}
	return STATUS_OK;
}

static int slow_order(const void *a, const void *b)
{
	int64_t x = ((const struct slow *)a)->rank, y = ((const struct slow *)b)->rank;
	return (x > y) - (x < y);
}

static enum status read_slow(struct reader *r, const yaml_node_t *node)
{
	static const struct field factor_field = {.kind = FIELD_SHARE, .low = 0.01, .high = 1000};
	struct cluster *c = r->c;
	enum status s = reader_mapping(r, node, "slow");
	if (s)
		return s;
	ptrdiff_t count = node->data.mapping.pairs.top - node->data.mapping.pairs.start;
	c->slow = calloc((size_t)count + 1, sizeof *c->slow);
	if (!c->slow)
		return status_fail(STATUS_MEMORY, "out of memory");
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

/* ---- the file ---- */

static enum status read_text(struct reader *r, const yaml_node_t *node, const char *key, char *out, size_t size)
{
	const char *text = reader_scalar(node);
	if (!text || strlen(text) >= size)
		return FAIL(r, node, "%s must be text of fewer than %zu characters", key,
		            size < READER_TEXT ? size : (size_t)READER_TEXT);
	if (!*text)
		return FAIL(r, node, "%s is empty", key);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return FAIL(r, node, "%s must be printable text on one line", key);
	snprintf(out, size, "%s", text);
	return STATUS_OK;
}

static const char *const top_keys[] = {"name",    "about",     "kind", "node",    "device", "link",
                                       "network", "host_link", "disk", "compute", "slow"};
enum {
	TOP_NAME,
	TOP_ABOUT,
	TOP_KIND,
	TOP_NODE,
	TOP_DEVICE,
	TOP_LINK,
	TOP_NETWORK,
	TOP_HOST_LINK,
	TOP_DISK,
	TOP_COMPUTE,
	TOP_SLOW,
	TOP_COUNT
};

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

static enum status read_top(struct reader *r, const yaml_node_t *root)
{
	const yaml_node_t *value[TOP_COUNT] = {NULL};
	struct cluster *c = r->c;
	enum status s = reader_mapping(r, root, "a cluster file");
	if (s)
		return s;
	for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = reader_node(r, p->key);
		int t = 0;
		while (t < TOP_COUNT && strcmp(reader_scalar(key), top_keys[t]))
			t++;
		if (t == TOP_COUNT) {
			if ((s = read_field(r, "", key, reader_node(r, p->value))))
				return s;
			continue;
		}
		if (value[t])
			return FAIL(r, key, "'%s' is there twice", top_keys[t]);
		value[t] = reader_node(r, p->value);
	}
	static const int needed[] = {TOP_NAME, TOP_KIND, TOP_NODE, TOP_DEVICE, TOP_COMPUTE, TOP_LINK};
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!value[needed[i]])
			return FAIL(r, root, "'%s' is missing", top_keys[needed[i]]);
	if ((s = read_text(r, value[TOP_NAME], "name", c->name, sizeof c->name)) ||
	    (value[TOP_ABOUT] && (s = read_text(r, value[TOP_ABOUT], "about", c->about, sizeof c->about))) ||
	    (s = read_kind(r, value[TOP_KIND])))
		return s;
	if (value[TOP_HOST_LINK] && c->kind == DEVICE_CPU)
		return FAIL(r, value[TOP_HOST_LINK], "'host_link' is for kind: gpu; this cluster is of kind cpu");
	if (!value[TOP_HOST_LINK] && c->kind == DEVICE_GPU)
		return FAIL(r, root, "'host_link' is missing");
	for (int t = TOP_NODE; t <= TOP_DISK; t++)
		if (value[t] && (s = read_section(r, top_keys[t], value[t])))
			return s;
	if (c->kind == DEVICE_GPU && !c->devices)
		return FAIL(r, value[TOP_NODE], "node: 'devices' is missing: the GPUs of a node");
	if (c->nodes && !c->devices)
		return FAIL(r, value[TOP_NODE], "node: 'nodes' without 'devices': say how many ranks a node takes");
	if ((s = read_compute(r, value[TOP_COMPUTE])))
		return s;
	return value[TOP_SLOW] ? read_slow(r, value[TOP_SLOW]) : STATUS_OK;
}

enum status cluster_read(struct cluster *c, const char *text, size_t size, const char *file)
{
	struct reader r = {.c = c, .file = file};
	yaml_parser_t parser;
	enum status s;

	*c = (struct cluster){.threads = 1, .rails = 1};
	if (size > FILE_MOST)
		return status_fail(STATUS_INPUT, "%s:1:1: larger than 1 MiB; a cluster file is a page", file);
	if (!yaml_parser_initialize(&parser))
		return status_fail(STATUS_MEMORY, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	if (!yaml_parser_load(&parser, &r.document)) {
		s = status_fail(STATUS_INPUT, "%s:%zu:%zu: not YAML: %s", file, parser.problem_mark.line + 1,
		                parser.problem_mark.column + 1, parser.problem ? parser.problem : "out of memory");
		yaml_parser_delete(&parser);
		return s;
	}
	const yaml_node_t *root = yaml_document_get_root_node(&r.document);
	s = root ? read_top(&r, root)
	         : status_fail(STATUS_INPUT, "%s:1:1: empty; a cluster file begins with `name:` and `kind:`", file);
	yaml_document_delete(&r.document);
	yaml_parser_delete(&parser);
	if (s)
		cluster_release(c);
	return s;
}
