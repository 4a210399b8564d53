#include "real/data/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "real/rank/disk.h"
#include "strategy/base/arena.h"
#include "strategy/base/number.h"
#include "strategy/base/output.h"
#include "strategy/base/path.h"

enum { LENGTH_BYTES = 8, ALIGNMENT = 8, ELEMENT_BYTES = sizeof(float) };

static enum status out_of_memory(const char *path)
{
	return status_fail(STATUS_MEMORY, "%s: no memory to write it", path);
}

static int descriptor_of(const struct safetensors_writer *w)
{
	return w->output ? output_descriptor(w->output) : w->descriptor;
}

enum status safetensors_writer_rest(struct safetensors_writer *w)
{
	if (!w->is_open)
		return STATUS_OK;
	w->is_open = false;
	w->rests = true;
	return close(w->descriptor) ? status_fail(STATUS_RUN, "%s: cannot be written: %s", w->path, strerror(errno))
	                            : STATUS_OK;
}

static enum status wake(struct safetensors_writer *w)
{
	if (!w->rests)
		return STATUS_OK;
	w->descriptor = open(w->temporary, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	w->is_open = w->descriptor >= 0;
	w->rests = !w->is_open;
	return w->is_open ? STATUS_OK : status_fail(STATUS_RUN, "%s: cannot be written: %s", w->path, strerror(errno));
}

static enum status write_bytes(const struct safetensors_writer *w, int64_t at, int64_t count, const void *bytes)
{
	int error = file_move(descriptor_of(w), true, at, (void *)(uintptr_t)bytes, count);
	return error ? status_fail(STATUS_RUN, "%s: cannot be written: %s", w->path, strerror(error)) : STATUS_OK;
}

/* Ranks write where their elements belong, in any order, which a stream does not take: they write a file that is passed
 * through in the end. It is beside a FIFO, which may be in a folder that the ranks share. */
static char *staging_path(const char *path)
{
	static const char name[] = "shardlab-weights.safetensors";
	const char *temporary = getenv("TMPDIR");
	struct stat info;
	bool fifo = !lstat(path, &info) && S_ISFIFO(info.st_mode);
	return fifo ? path_beside(path, name) : path_in_folder(temporary && *temporary ? temporary : "/tmp", name);
}

static enum status open_staging(struct safetensors_writer *w)
{
	TRY(output_check(w->path, "{save}"));
	char *path = staging_path(w->path);
	w->is_stream = true;
	enum status s = output_open(&w->output, path, "{save}");
	free(path);
	return s;
}

static enum status open_output(struct safetensors_writer *w)
{
	TRY(output_is_special(w->path) ? open_staging(w) : output_open(&w->output, w->path, "{save}"));
	if (!output_temporary(w->output))
		return status_fail(STATUS_INPUT, "{save}: '%s' is where this program prints; choose another name",
		                   w->path);
	w->temporary = strdup(output_temporary(w->output));
	return w->temporary ? STATUS_OK : out_of_memory(w->path);
}

enum status safetensors_create(struct safetensors_writer *w, const char *path)
{
	*w = (struct safetensors_writer){.path = strdup(path), .descriptor = -1};
	enum status s = w->path ? open_output(w) : out_of_memory(path);
	w->is_first = true;
	if (s)
		safetensors_writer_release(w);
	return s;
}

enum status safetensors_create_at(struct safetensors_writer *w, const char *path)
{
	*w = (struct safetensors_writer){.path = strdup(path), .temporary = strdup(path), .descriptor = -1};
	enum status s = STATUS_OK;
	if (!w->path || !w->temporary)
		s = out_of_memory(path);
	if (!s) {
		w->descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		w->is_open = w->is_first = w->descriptor >= 0;
		if (!w->is_open)
			s = status_fail(STATUS_RUN, "%s: cannot be written: %s", path, strerror(errno));
	}
	if (s)
		safetensors_writer_release(w);
	return s;
}

enum status safetensors_join(struct safetensors_writer *w, const char *temporary)
{
	*w = (struct safetensors_writer){.path = strdup(temporary), .temporary = strdup(temporary), .descriptor = -1};
	enum status s = STATUS_OK;
	if (!w->path || !w->temporary)
		s = out_of_memory(temporary);
	if (!s) {
		w->descriptor = open(temporary, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		w->is_open = w->descriptor >= 0;
		if (!w->is_open)
			s = status_fail(STATUS_RUN,
			                "%s: cannot be opened: %s; it must be on a file system that all ranks "
			                "share",
			                temporary, strerror(errno));
	}
	if (s)
		safetensors_writer_release(w);
	return s;
}

enum status safetensors_declare(struct safetensors_writer *w, const char *name, int rank, const int64_t *shape)
{
	if (rank < 0 || rank > SAFETENSORS_RANK_LIMIT || w->data_at)
		abort();
	w->tensors = array_reserve(w->tensors, (size_t)w->count, &w->capacity, sizeof *w->tensors);
	struct safetensors_tensor t = {.dtype = SAFETENSORS_F32, .rank = rank, .elements = 1, .begin = w->data_bytes};
	int64_t bytes = 0;
	bool overflow = false;
	for (int i = 0; i < rank; i++) {
		if (shape[i] < 0)
			abort();
		t.shape[i] = shape[i];
		overflow |= __builtin_mul_overflow(t.elements, shape[i], &t.elements);
	}
	overflow |= __builtin_mul_overflow(t.elements, (int64_t)ELEMENT_BYTES, &bytes);
	overflow |= __builtin_add_overflow(t.begin, bytes, &t.end);
	if (overflow)
		return status_fail(STATUS_INPUT, "%s: tensor %s: more bytes than a file can have", w->path, name);
	t.name = strdup(name);
	if (!t.name)
		return out_of_memory(w->path);
	w->data_bytes = t.end;
	w->tensors[w->count++] = t;
	return STATUS_OK;
}

static enum status add_to_header(const struct safetensors_writer *w, json_t *header, const struct safetensors_tensor *t)
{
	if (json_object_get(header, t->name))
		return status_fail(STATUS_INPUT, "%s: tensor %s: declared twice", w->path, t->name);
	json_t *shape = json_array();
	for (int i = 0; i < t->rank; i++)
		json_array_append_new(shape, json_integer(t->shape[i]));
	json_t *entry = json_pack("{s:s, s:o, s:[I,I]}", "dtype", "F32", "shape", shape, "data_offsets",
	                          (json_int_t)t->begin, (json_int_t)t->end);
	if (json_object_set_new(header, t->name, entry) != 0)
		return status_fail(STATUS_INPUT, "%s: tensor %s: its name is not UTF-8, or there is no memory", w->path,
		                   t->name);
	return STATUS_OK;
}

/* The header as it stands in the file, with its length before it and spaces behind, so that the data is aligned. */
static enum status build_header(const struct safetensors_writer *w, char **out, int64_t *out_bytes)
{
	json_t *header = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
	enum status s = header ? STATUS_OK : out_of_memory(w->path);
	for (int i = 0; i < w->count && !s; i++)
		s = add_to_header(w, header, &w->tensors[i]);
	char *text = s ? NULL : json_dumps(header, JSON_COMPACT);
	json_decref(header);
	if (s)
		return s;
	size_t length = text ? strlen(text) : 0;
	size_t padded = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	char *bytes = text ? malloc(LENGTH_BYTES + padded) : NULL;
	if (bytes) {
		for (int i = 0; i < LENGTH_BYTES; i++)
			bytes[i] = (char)(padded >> (8 * i) & 0xff);
		memset(bytes + LENGTH_BYTES, ' ', padded);
		memcpy(bytes + LENGTH_BYTES, text, length);
		*out = bytes;
		*out_bytes = (int64_t)(LENGTH_BYTES + padded);
	}
	free(text);
	return bytes ? STATUS_OK : out_of_memory(w->path);
}

enum status safetensors_begin(struct safetensors_writer *w)
{
	char *header = NULL;
	int64_t bytes = 0;
	TRY(wake(w));
	if ((!w->is_open && !w->output) || w->data_at)
		abort();
	enum status s = build_header(w, &header, &bytes);
	if (s)
		return s;
	if (w->is_first) {
		/* A full disk is found now, not in the middle of the file. */
		int error = disk_reserve(descriptor_of(w), bytes + w->data_bytes);
		char size[32];
		number_format_bytes(size, sizeof size, bytes + w->data_bytes);
		if (error)
			s = status_fail(STATUS_RUN, "%s: no room for its %s: %s", w->path, size, strerror(error));
		else
			s = write_bytes(w, 0, bytes, header);
	}
	free(header);
	w->data_at = bytes;
	return s;
}

enum status safetensors_write(struct safetensors_writer *w, int tensor, int64_t first, int64_t count,
                              const float *values)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the machine's byte order is written as the file's");
	if (!w->data_at || tensor < 0 || tensor >= w->count)
		abort();
	const struct safetensors_tensor *t = &w->tensors[tensor];
	if (first < 0 || count < 0 || count > t->elements - first)
		abort();
	enum status s = wake(w);
	if (!s)
		s = write_bytes(w, w->data_at + t->begin + first * ELEMENT_BYTES, count * ELEMENT_BYTES, values);
	if (!s)
		w->elements_written += count;
	return s;
}

enum status safetensors_leave(struct safetensors_writer *w)
{
	enum status s = wake(w);
	if (s || !w->is_open)
		return s;
	/* A file system over a network may tell only now that it could not write. */
	int error = fsync(w->descriptor) ? errno : 0;
	w->is_open = false;
	if (close(w->descriptor) && !error)
		error = errno;
	return error ? status_fail(STATUS_RUN, "%s: cannot be written: %s", w->path, strerror(error)) : STATUS_OK;
}

static int copy(int from, int to, int64_t bytes)
{
	enum { AT_ONCE = 1 << 18 };
	char *some = array_make(AT_ONCE, 1);
	int error = 0;
	for (int64_t at = 0; at < bytes && !error; at += AT_ONCE) {
		int64_t n = bytes - at < AT_ONCE ? bytes - at : AT_ONCE;
		error = file_move(from, false, at, some, n);
		if (!error)
			error = file_move(to, true, FILE_STANDS, some, n);
	}
	free(some);
	return error;
}

static enum status pass_through(const struct safetensors_writer *w)
{
	struct output *to;
	enum status s = output_open(&to, w->path, "{save}");
	if (s)
		return s;
	int error = copy(output_descriptor(w->output), output_descriptor(to), w->data_at + w->data_bytes);
	if (error)
		s = status_fail(STATUS_RUN, "{save}: cannot write '%s': %s", w->path,
		                error == EPIPE ? "nobody reads it any more" : strerror(error));
	else
		s = output_finish(to);
	output_close(to);
	return s;
}

enum status safetensors_finish(struct safetensors_writer *w, int64_t elements_written)
{
	if (!w->is_first || !w->data_at)
		abort();
	int64_t declared = w->data_bytes / ELEMENT_BYTES;
	if (elements_written != declared)
		return status_fail(STATUS_RUN, "%s: %lld elements were written, but its tensors have %lld", w->path,
		                   (long long)elements_written, (long long)declared);
	if (w->is_stream)
		return pass_through(w);
	return w->output ? output_finish(w->output) : safetensors_leave(w);
}

void safetensors_writer_release(struct safetensors_writer *w)
{
	if (!w)
		return;
	if (w->is_open)
		close(w->descriptor);
	output_close(w->output);
	for (int i = 0; i < w->count; i++)
		free(w->tensors[i].name);
	free(w->tensors);
	free(w->temporary);
	free(w->path);
	*w = (struct safetensors_writer){0};
}
