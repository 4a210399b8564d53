#include "real/data/weights_index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/json_stream.h"
#include "strategy/base/path.h"

/* Fails where the text stands that was just read. */
static bool fail_at(struct json_stream *j, const struct stream_text *t, const char *what)
{
	int shown = t->size < 80 ? (int)t->size : 80;
	j->at = t->text;
	for (int i = 0; i < shown; i++)
		if ((unsigned char)t->text[i] < ' ' || t->text[i] == 0x7f)
			shown = i;
	return stream_fail(j, "'%.*s' %s", shown, t->text, what);
}

/* ---- paths ---- */

static bool is_parent(const char *part, size_t length)
{
	return length == 2 && part[0] == '.' && part[1] == '.';
}

static bool stays_inside(const char *path)
{
	if (*path == '/')
		return false;
	for (const char *part = path; *part; part += strspn(part, "/")) {
		size_t length = strcspn(part, "/");
		if (is_parent(part, length))
			return false;
		part += length;
	}
	return true;
}

/* "./a//b" is "a/b": a shard that is spelled in two ways is one. In place. */
static char *simplify(char *path)
{
	char *out = path;
	for (const char *part = path; *part; part += strspn(part, "/")) {
		size_t length = strcspn(part, "/");
		if (length != 1 || *part != '.') {
			if (out > path)
				*out++ = '/';
			memmove(out, part, length);
			out += length;
		}
		part += length;
	}
	*out = '\0';
	return path;
}

/* A shard's number, which it gets when it is first named; neighbours in the list are mostly of one shard. */
static int file_number(struct weights_index *x, const char *path)
{
	for (int i = x->file_count; i-- > 0;)
		if (!strcmp(x->files[i], path))
			return i;
	if (x->file_count == WEIGHTS_SHARDS_MOST)
		return -1;
	x->files = arena_grow(&x->arena, x->files, x->file_count, &x->file_capacity, sizeof *x->files);
	x->files[x->file_count] = path;
	return x->file_count++;
}

/* ---- the two members ---- */

static bool read_entry(struct weights_index *x, struct json_stream *j, const struct stream_text *key)
{
	struct stream_text value;
	if (!stream_string(j, &value))
		return false;
	const char *tensor = stream_copy(&x->arena, key, true, NULL);
	char *path = stream_copy(&x->arena, &value, true, NULL);
	if (!*tensor)
		return fail_at(j, key, "is no name of a tensor");
	if (!path_ends_in(path, ".safetensors"))
		return fail_at(j, &value, "is no .safetensors file");
	if (!stays_inside(path))
		return fail_at(j, &value, "leads out of the folder");
	int file = file_number(x, simplify(path));
	if (file < 0)
		return fail_at(j, &value, "is one shard more than the 4096 that are supported");
	x->tensors = arena_grow(&x->arena, x->tensors, x->count, &x->capacity, sizeof *x->tensors);
	x->tensors[x->count++] = (struct weights_entry){tensor, file};
	return true;
}

static bool read_map(struct weights_index *x, struct json_stream *j)
{
	struct stream_text key;
	bool good = stream_enter(j, '{');
	while (good && stream_key(j, &key))
		good = read_entry(x, j, &key);
	return !j->failed;
}

/* Some releases of transformers wrote it with a fraction: 13476839424.0. */
static bool read_total(struct weights_index *x, struct json_stream *j)
{
	struct stream_text t;
	char copy[40];
	if (!stream_number(j, &t))
		return false;
	snprintf(copy, sizeof copy, "%.*s", t.size < sizeof copy ? (int)t.size : 0, t.text);
	double total = strtod(copy, NULL);
	if (!stream_text_whole(&t, &x->total_bytes))
		x->total_bytes = *copy && total >= 0 && total < 0x1p53 && total == floor(total) ? (int64_t)total : -1;
	return x->total_bytes >= 0 || fail_at(j, &t, "is no number of bytes");
}

static bool read_metadata(struct weights_index *x, struct json_stream *j)
{
	struct stream_text key;
	bool good = stream_enter(j, '{');
	while (good && stream_key(j, &key))
		good = stream_is(&key, "total_size") ? read_total(x, j) : stream_skip(j);
	return !j->failed;
}

static bool read_all(struct weights_index *x, struct json_stream *j)
{
	struct stream_text key;
	bool good = stream_enter(j, '{'), mapped = false;
	while (good && stream_key(j, &key)) {
		bool is_map = stream_is(&key, "weight_map");
		if (is_map && mapped)
			return fail_at(j, &key, "comes twice");
		mapped |= is_map;
		good = is_map ? read_map(x, j) : stream_is(&key, "metadata") ? read_metadata(x, j) : stream_skip(j);
	}
	return stream_finished(j) && (mapped || stream_fail(j, "has no weight_map, so it is no index of weights"));
}

/* ---- the whole ---- */

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct weights_entry *)left)->tensor, ((const struct weights_entry *)right)->tensor);
}

static enum status check_names(struct weights_index *x, const char *name)
{
	if (!x->count)
		return status_fail(STATUS_INPUT, "%s: its weight_map is empty", name);
	qsort(x->tensors, (size_t)x->count, sizeof *x->tensors, by_name);
	for (int i = 1; i < x->count; i++)
		if (!strcmp(x->tensors[i - 1].tensor, x->tensors[i].tensor))
			return status_fail(STATUS_INPUT, "%s: tensor %s: is listed twice", name, x->tensors[i].tensor);
	return STATUS_OK;
}

enum status weights_index_parse(struct weights_index *x, const char *name, const char *text, size_t size)
{
	*x = (struct weights_index){.total_bytes = -1};
	struct json_stream j = {.at = text, .begin = text, .end = text + size, .name = name};
	enum status s = read_all(x, &j) ? check_names(x, name) : j.failed;
	if (s)
		weights_index_release(x);
	return s;
}

void weights_index_release(struct weights_index *x)
{
	if (!x)
		return;
	arena_release(&x->arena);
	*x = (struct weights_index){0};
}
