#include "strategy/cluster/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/memory.h"
#include "strategy/base/near.h"
#include "strategy/base/number.h"

#define FILE_MOST ((size_t)1 << 20)
#define DEPTH_MOST 16

void reader_place(struct reader *r, const yaml_node_t *node, const char *what)
{
	snprintf(r->where, sizeof r->where, "%.200s:%zu:%zu%s%.120s", r->file, node->start_mark.line + 1,
	         node->start_mark.column + 1, *what ? ": " : "", what);
}

enum status reader_fail(struct reader *r, const char *format, ...)
{
	char text[600];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	return status_fail(STATUS_INPUT, "%s: %s", r->where, text);
}

yaml_node_t *reader_node(struct reader *r, int index)
{
	return yaml_document_get_node(&r->document, index);
}

const char *reader_scalar(const yaml_node_t *node)
{
	if (node->type != YAML_SCALAR_NODE || node->data.scalar.length >= READER_TEXT)
		return NULL;
	const char *text = (const char *)node->data.scalar.value;
	return strlen(text) == node->data.scalar.length ? text : NULL;
}

enum status reader_mapping(struct reader *r, const yaml_node_t *node, const char *what)
{
	if (node->type != YAML_MAPPING_NODE)
		return FAIL(r, node, "%s must be a list of `key: value`", what);
	const yaml_node_pair_t *first = node->data.mapping.pairs.start, *end = node->data.mapping.pairs.top;
	if (end - first > READER_KEYS)
		return FAIL(r, node, "%s has more than %d keys", what, READER_KEYS);
	for (const yaml_node_pair_t *p = first; p < end; p++) {
		const char *key = reader_scalar(reader_node(r, p->key));
		if (!key)
			return FAIL(r, reader_node(r, p->key), "a key of %s must be a word", what);
	}
	return STATUS_OK;
}

static enum status unknown_key(struct reader *r, const yaml_node_t *key, const char *what,
                               const struct reader_keys *keys)
{
	struct near near = {.typed = reader_scalar(key)};
	for (int i = 0; i < keys->count; i++)
		if (keys->name[i])
			near_consider(&near, keys->name[i]);
	return FAIL(r, key, "unknown key '%s'%s%s%s; known keys: %s", near.typed, *what ? " in " : "", what,
	            near_words(&near), keys->known ? keys->known : near.known);
}

enum status reader_values(struct reader *r, const yaml_node_t *node, const char *what, const struct reader_keys *keys,
                          const yaml_node_t **value)
{
	char file[32];
	snprintf(file, sizeof file, "a %.20s file", r->what);
	enum status s = reader_mapping(r, node, *what ? what : file);
	for (int i = 0; i < keys->count; i++)
		value[i] = NULL;
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; !s && p < node->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = reader_node(r, p->key);
		int i = 0;
		while (i < keys->count && (!keys->name[i] || strcmp(reader_scalar(key), keys->name[i]) != 0))
			i++;
		if (i == keys->count)
			return unknown_key(r, key, what, keys);
		if (value[i])
			return FAIL(r, key, "'%s' is there twice", keys->name[i]);
		value[i] = reader_node(r, p->value);
	}
	return s;
}

/* ---- the document ---- */

static enum status not_yaml(const yaml_parser_t *p, const char *file)
{
	/* A parser error without a message means that the library had no memory. */
	if (p->error == YAML_MEMORY_ERROR || !p->problem)
		memory_exhausted();
	return status_fail(STATUS_INPUT, "%s:%zu:%zu: not YAML: %s", file, p->problem_mark.line + 1,
	                   p->problem_mark.column + 1, p->problem);
}

static int deeper(yaml_event_type_t type)
{
	return (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT) -
	       (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT);
}

/* The library's time grows with the square of the depth: what is nested deeper than any such file is left there. */
static enum status check_depth(yaml_parser_t *p, const struct reader *r)
{
	yaml_event_t event;
	yaml_event_type_t type = YAML_NO_EVENT;
	for (int depth = 0; type != YAML_STREAM_END_EVENT;) {
		if (!yaml_parser_parse(p, &event))
			return not_yaml(p, r->file);
		type = event.type;
		depth += deeper(type);
		size_t line = event.start_mark.line + 1, column = event.start_mark.column + 1;
		yaml_event_delete(&event);
		if (depth > DEPTH_MOST)
			return status_fail(STATUS_INPUT, "%s:%zu:%zu: nested more than %d deep; a %s file is flat",
			                   r->file, line, column, DEPTH_MOST, r->what);
	}
	return STATUS_OK;
}

static enum status load(struct reader *r, bool checks, const char *text, size_t size)
{
	yaml_parser_t p;
	enum status s = STATUS_OK;
	if (!yaml_parser_initialize(&p))
		memory_exhausted();
	yaml_parser_set_input_string(&p, (const unsigned char *)text, size);
	if (checks)
		s = check_depth(&p, r);
	else if (!yaml_parser_load(&p, &r->document))
		s = not_yaml(&p, r->file);
	yaml_parser_delete(&p);
	return s;
}

enum status reader_open(struct reader *r, const char *text, size_t size, const yaml_node_t **root)
{
	if (size > FILE_MOST)
		return status_fail(STATUS_INPUT, "%s:1:1: larger than 1 MiB; a %s file is a page", r->file, r->what);
	TRY(load(r, true, text, size));
	TRY(load(r, false, text, size));
	*root = yaml_document_get_root_node(&r->document);
	return STATUS_OK;
}

void reader_release(struct reader *r)
{
	yaml_document_delete(&r->document);
}

/* ---- texts ---- */

enum status reader_text(struct reader *r, const yaml_node_t *node, const char *key, char *out, size_t size)
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

/* ---- values ---- */

enum status reader_number(struct reader *r, const yaml_node_t *node, const char *what, const struct field *f,
                          int64_t *out)
{
	const char *text = reader_scalar(node);
	if (!text)
		return FAIL(r, node, "%s must be a number", what);
	reader_place(r, node, what);
	if (f->kind == FIELD_WHOLE)
		return number_whole(text, r->where, (int64_t)f->low, (int64_t)f->high, out);
	if (f->kind == FIELD_BYTES || f->kind == FIELD_RATE_BYTES)
		return number_bytes(text, r->where, (int64_t)f->low, (int64_t)f->high, out);
	double v = 0;
	TRY(number_real(text, r->where, f->low, f->high, &v));
	*out = llround(v * field_scale(f->kind));
	return STATUS_OK;
}

enum status reader_rate(struct reader *r, const yaml_node_t *node, const char *what, const struct field *f,
                        struct rate *out)
{
	enum { MEASURED, MIN, MAX, KEYS };
	static const char *const names[KEYS] = {"measured", "min", "max"};
	static const struct reader_keys keys = {names, KEYS, NULL};
	const yaml_node_t *value[KEYS];
	int64_t number[KEYS] = {0};
	enum status s;

	if (node->type != YAML_MAPPING_NODE) {
		if (!(s = reader_number(r, node, what, f, &number[MEASURED])))
			*out = rate_assumed(number[MEASURED]);
		return s;
	}
	if ((s = reader_values(r, node, what, &keys, value)))
		return s;
	if (!value[MEASURED])
		return FAIL(r, node, "%s: 'measured' is missing: the median of the measurements", what);
	for (int i = 0; i < KEYS; i++) {
		number[i] = number[MEASURED];
		if (value[i] && (s = reader_number(r, value[i], what, f, &number[i])))
			return s;
	}
	*out = rate_measured(number[MEASURED], number[MIN], number[MAX]);
	if (out->low > out->value || out->value > out->high)
		return FAIL(r, node, "%s: needs min <= measured <= max", what);
	return STATUS_OK;
}
