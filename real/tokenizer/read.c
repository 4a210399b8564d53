#include "real/tokenizer/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/json_file.h"
#include "strategy/base/keys.h"

/* ---- what all parts need ---- */

/* A message is one line, whatever the file's texts hold. */
static void make_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = ' ';
}

enum status part_fail(const struct part *p, const char *format, ...)
{
	char what[256];
	WITH_ARGS(format, vsnprintf(what, sizeof what, format, args));
	make_line(what);
	return status_fail(STATUS_INPUT, "{tokenizer} %s: %s%s%s", p->reader->path, p->place, *p->place ? ": " : "",
	                   what);
}

static bool is_among(const char *words, const char *key)
{
	size_t n = strchr(key, ' ') ? 0 : strlen(key);
	for (const char *at = words; n && (at = strstr(at, key)); at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

enum status part_check(const struct part *p, const char *keys)
{
	if (!json_is_object(p->object))
		return part_fail(p, "it is not an object");
	json_t *object = (json_t *)(uintptr_t)p->object;
	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
		if (!is_among(keys, json_object_iter_key(at)))
			return part_fail(p, "'%.60s' is not supported", json_object_iter_key(at));
	return STATUS_OK;
}

static enum status wrong_type(const struct part *p, const char *key, const char *want)
{
	return part_fail(p, "%s: %s is needed", key, want);
}

/* True if there is nothing to read. */
static bool is_absent(const struct part *p, const char *key, const json_t **value)
{
	*value = json_object_get(p->object, key);
	return !*value || json_is_null(*value);
}

enum status part_text(const struct part *p, const char *key, const char *otherwise, const char **out)
{
	const json_t *v;
	*out = otherwise;
	if (is_absent(p, key, &v) && otherwise)
		return STATUS_OK;
	if (!json_is_string(v))
		return wrong_type(p, key, "a text");
	*out = arena_copy(&p->reader->parts->arena, json_string_value(v));
	return STATUS_OK;
}

enum status part_flag(const struct part *p, const char *key, bool otherwise, bool *out)
{
	const json_t *v;
	*out = otherwise;
	if (is_absent(p, key, &v))
		return STATUS_OK;
	*out = json_is_true(v);
	return json_is_boolean(v) ? STATUS_OK : wrong_type(p, key, "true or false");
}

enum status part_whole(const struct part *p, const char *key, int64_t otherwise, int64_t *out)
{
	const json_t *v;
	*out = otherwise;
	if (is_absent(p, key, &v) && otherwise >= 0)
		return STATUS_OK;
	*out = json_integer_value(v);
	return json_is_integer(v) && *out >= 0 ? STATUS_OK : wrong_type(p, key, "a whole number");
}

enum status part_word(const struct part *p, const char *key, const char *words, int *out)
{
	const char *text;
	TRY(part_text(p, key, NULL, &text));
	*out = word_find(words, text);
	return *out >= 0 ? STATUS_OK : part_fail(p, "%s '%.40s' is not supported", key, text);
}

struct part part_at(const struct part *p, const char *key)
{
	char *place = arena_print(&p->reader->parts->arena, "%s%s%s", p->place, *p->place ? "." : "", key);
	make_line(place);
	return (struct part){p->reader, json_object_get(p->object, key), place};
}

struct part part_element(const struct part *p, size_t i)
{
	return (struct part){p->reader, json_array_get(p->object, i),
	                     arena_print(&p->reader->parts->arena, "%s[%zu]", p->place, i)};
}

enum status part_read(const struct part *p, const struct part_reader *readers, size_t count)
{
	const char *type = "";
	if (!p->object || json_is_null(p->object))
		return STATUS_OK;
	if (!json_is_object(p->object))
		return part_fail(p, "it is not an object");
	TRY(part_text(p, "type", NULL, &type));
	for (size_t i = 0; i < count; i++)
		if (type && !strcmp(readers[i].type, type))
			return readers[i].read(p);
	char known[256] = "";
	for (size_t i = 0, n = 0; i < count; i++, n = strlen(known))
		snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", readers[i].type);
	return part_fail(p, "type '%.40s' is not supported; known: %s", type, known);
}

enum status part_read_list(const struct part *p, const char *key, enum status (*read)(const struct part *p))
{
	struct part list = part_at(p, key);
	enum status s = STATUS_OK;
	if (!json_is_array(list.object))
		return part_fail(p, "%s: a list is needed", key);
	for (size_t i = 0; i < json_array_size(list.object) && !s; i++) {
		struct part one = part_element(&list, i);
		s = read(&one);
	}
	return s;
}

/* ---- the whole ---- */

/* A setting that would change what comes out, and that HF's own generation turns off. */
static enum status read_absent(const struct part *p)
{
	if (!p->object || json_is_null(p->object))
		return STATUS_OK;
	return part_fail(p, "it is not supported; write null");
}

static enum status read_parts(const struct part *whole)
{
	static const struct {
		const char *key;
		enum status (*read)(const struct part *p);
	} rows[] = {{"truncation", read_absent},
	            {"padding", read_absent},
	            {"normalizer", tokenizer_read_normalizer},
	            {"pre_tokenizer", tokenizer_read_pre_tokenizer},
	            {"model", tokenizer_read_model},
	            {"added_tokens", tokenizer_read_added_tokens},
	            {"post_processor", tokenizer_read_post_processor},
	            {"decoder", tokenizer_read_decoder}};
	enum status s = part_check(whole, "version truncation padding added_tokens normalizer pre_tokenizer "
	                                  "post_processor decoder model");
	for (size_t i = 0; i < sizeof rows / sizeof *rows && !s; i++) {
		struct part p = part_at(whole, rows[i].key);
		s = rows[i].read(&p);
	}
	return s;
}

enum status tokenizer_read(struct tokenizer_parts *parts, const char *path)
{
	struct reader r = {path, parts};
	json_t *object = NULL;
	enum status s = json_file_read("{tokenizer} ", path, &object);
	if (!s)
		s = read_parts(&(struct part){&r, object, ""});
	json_decref(object);
	return s;
}
