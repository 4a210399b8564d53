#include "real/data/weights_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "real/rank/disk.h"
#include "strategy/base/arena.h"
#include "strategy/base/output.h"
#include "strategy/base/path.h"

enum { NAME_BYTES = 64 };

static enum status out_of_memory(const char *path)
{
	return status_fail(STATUS_MEMORY, "%s: no memory to write it", path);
}

static bool is_descriptor(const char *path)
{
	return path_is_descriptor(path) && path_is_there(path) && !path_is_folder(path);
}

bool weights_writer_takes_folder(const char *path)
{
	static const char ending[] = ".safetensors";
	size_t length = strlen(path), tail = sizeof ending - 1;
	bool is_file = length > tail && !strcmp(path + length - tail, ending);
	return !is_file && !output_is_special(path) && !is_descriptor(path);
}

/* ---- names ---- */

static const char *temporary_name(int shard, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "shard-%d", shard);
	return name;
}

/* The file's name by transformers' rule. */
static const char *final_name(int shard, int shards, char name[NAME_BYTES])
{
	if (shards == 1)
		snprintf(name, NAME_BYTES, "model.safetensors");
	else
		snprintf(name, NAME_BYTES, "model-%05d-of-%05d.safetensors", shard + 1, shards);
	return name;
}

/* ---- beginning ---- */

static struct safetensors_writer *add_shard(struct weights_writer *w)
{
	w->shards = array_reserve(w->shards, (size_t)w->shard_count, &w->shard_capacity, sizeof *w->shards);
	w->shards[w->shard_count] = (struct safetensors_writer){0};
	return &w->shards[w->shard_count++];
}

/* Lets a shard have the descriptor. */
static enum status take_turn(struct weights_writer *w, int shard)
{
	int before = w->awake;
	w->awake = shard;
	return before == shard ? STATUS_OK : safetensors_writer_rest(&w->shards[before]);
}

static enum status create_file(struct weights_writer *w)
{
	struct safetensors_writer *file = add_shard(w);
	TRY(safetensors_create(file, w->path));
	w->temporary = strdup(file->temporary);
	return w->temporary ? STATUS_OK : out_of_memory(w->path);
}

static enum status create_folder(struct weights_writer *w)
{
	TRY(new_folder_make(&w->made, w->path));
	w->temporary = strdup(w->made.temporary);
	return w->temporary ? STATUS_OK : out_of_memory(w->path);
}

static enum status open_writer(struct weights_writer *w, const char *path, bool folder, int64_t shard_bytes)
{
	*w = (struct weights_writer){.path = strdup(path), .folder = folder, .shard_bytes = shard_bytes};
	return w->path ? STATUS_OK : out_of_memory(path);
}

/* A folder of such a name would be taken for another program's file. */
static enum status check_ending(const char *path)
{
	static const char *const others[] = {".pt", ".pth", ".bin", ".ckpt", ".gguf", ".onnx", NULL};
	return !path_ends_in_any(path, others) ? STATUS_OK
	                                       : status_fail(STATUS_INPUT,
	                                                     "%s: weights are written as a file.safetensors, or as a "
	                                                     "folder that transformers loads; "
	                                                     "give it such a name",
	                                                     path);
}

enum status weights_writer_create(struct weights_writer *w, const char *path, int64_t shard_bytes)
{
	*w = (struct weights_writer){0};
	enum status s = check_ending(path);
	if (!s)
		s = open_writer(w, path, weights_writer_takes_folder(path), shard_bytes);
	if (!s)
		s = w->folder ? create_folder(w) : create_file(w);
	if (s)
		weights_writer_release(w);
	return s;
}

enum status weights_writer_join(struct weights_writer *w, const char *path, const char *temporary, int64_t shard_bytes)
{
	enum status s = open_writer(w, path, path_is_folder(temporary), shard_bytes);
	if (!s && !(w->temporary = strdup(temporary)))
		s = out_of_memory(path);
	if (!s && !w->folder)
		s = safetensors_join(add_shard(w), temporary);
	if (s)
		weights_writer_release(w);
	return s;
}

/* ---- tensors ---- */

static enum status open_shard(struct weights_writer *w)
{
	char name[NAME_BYTES], *path = path_in_folder(w->temporary, temporary_name(w->shard_count, name));
	struct safetensors_writer *shard = add_shard(w);
	enum status s = take_turn(w, w->shard_count - 1);
	if (!s)
		s = w->made.path ? safetensors_create_at(shard, path) : safetensors_join(shard, path);
	free(path);
	return s;
}

static int64_t bytes_of(int rank, const int64_t *shape)
{
	int64_t bytes = sizeof(float);
	for (int i = 0; i < rank; i++)
		if (__builtin_mul_overflow(bytes, shape[i], &bytes))
			return INT64_MAX;
	return bytes;
}

/* A shard takes tensors as long as they fit; an empty one takes any. */
static bool is_full(const struct weights_writer *w, int64_t bytes)
{
	if (!w->shard_count)
		return true;
	int64_t has = w->shards[w->shard_count - 1].data_bytes;
	return has && bytes > w->shard_bytes - has;
}

enum status weights_writer_declare(struct weights_writer *w, const char *name, int rank, const int64_t *shape)
{
	enum status s = STATUS_OK;
	if (w->folder && is_full(w, bytes_of(rank, shape)))
		s = open_shard(w);
	if (s)
		return s;
	struct safetensors_writer *shard = &w->shards[w->shard_count - 1];
	*ARRAY_ADD(w->places, w->count, w->capacity) = (struct weights_place){w->shard_count - 1, shard->count};
	return safetensors_declare(shard, name, rank, shape);
}

enum status weights_writer_begin(struct weights_writer *w)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < w->shard_count && !s; i++)
		if (!(s = take_turn(w, i)))
			s = safetensors_begin(&w->shards[i]);
	return s;
}

enum status weights_writer_write(struct weights_writer *w, int tensor, int64_t first, int64_t count,
                                 const float *values)
{
	if (tensor < 0 || tensor >= w->count)
		abort();
	const struct weights_place *p = &w->places[tensor];
	enum status s = take_turn(w, p->shard);
	return s ? s : safetensors_write(&w->shards[p->shard], p->number, first, count, values);
}

enum status weights_writer_leave(struct weights_writer *w)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < w->shard_count && !s; i++)
		if (!(s = take_turn(w, i)))
			s = safetensors_leave(&w->shards[i]);
	return s;
}

void weights_writer_counts(const struct weights_writer *w, int64_t *counts)
{
	for (int i = 0; i < w->shard_count; i++)
		counts[i] = w->shards[i].elements_written;
}

/* ---- the end ---- */

enum status weights_writer_add(struct weights_writer *w, const char *name, const void *bytes, int64_t size)
{
	char *path = path_in_folder(w->temporary, name);
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int error = file < 0 ? errno : file_move(file, true, 0, (void *)(uintptr_t)bytes, size);
	if (!error && fsync(file) != 0)
		error = errno;
	if (file >= 0 && close(file) != 0 && !error)
		error = errno;
	enum status s = error ? status_fail(STATUS_RUN, "%s: cannot be written: %s", path, strerror(error)) : STATUS_OK;
	free(path);
	return s;
}

static json_t *index_of(const struct weights_writer *w)
{
	int64_t bytes = 0, elements = 0;
	json_t *map = json_object();
	char name[NAME_BYTES];
	for (int i = 0; i < w->shard_count; i++) {
		bytes += w->shards[i].data_bytes;
		for (int t = 0; t < w->shards[i].count; t++) {
			elements += w->shards[i].tensors[t].elements;
			json_object_set_new(map, w->shards[i].tensors[t].name,
			                    json_string(final_name(i, w->shard_count, name)));
		}
	}
	return json_pack("{s:{s:I, s:I}, s:o}", "metadata", "total_parameters", (json_int_t)elements, "total_size",
	                 (json_int_t)bytes, "weight_map", map);
}

static enum status write_index(struct weights_writer *w)
{
	json_t *index = index_of(w);
	char *text = json_dumps(index, JSON_INDENT(2) | JSON_SORT_KEYS);
	enum status s = text ? weights_writer_add(w, "model.safetensors.index.json", text, (int64_t)strlen(text))
	                     : out_of_memory(w->path);
	free(text);
	json_decref(index);
	return s;
}

static enum status rename_to(const char *from, const char *to)
{
	return rename(from, to) == 0
	               ? STATUS_OK
	               : status_fail(STATUS_RUN, "%s: cannot be renamed to %s: %s", from, to, strerror(errno));
}

static enum status finish_shard(struct weights_writer *w, int shard, int64_t elements)
{
	char name[NAME_BYTES], *from = path_in_folder(w->temporary, temporary_name(shard, name));
	char *to = path_in_folder(w->temporary, final_name(shard, w->shard_count, name));
	enum status s = take_turn(w, shard);
	if (!s)
		s = safetensors_finish(&w->shards[shard], elements);
	if (!s)
		s = rename_to(from, to);
	free(from);
	free(to);
	return s;
}

enum status weights_writer_finish(struct weights_writer *w, const int64_t *counts)
{
	enum status s = STATUS_OK;
	if (!w->folder)
		return safetensors_finish(&w->shards[0], counts[0]);
	for (int i = 0; i < w->shard_count && !s; i++)
		s = finish_shard(w, i, counts[i]);
	if (!s && w->shard_count > 1)
		s = write_index(w);
	return s ? s : new_folder_finish(&w->made);
}

void weights_writer_release(struct weights_writer *w)
{
	if (!w)
		return;
	for (int i = 0; i < w->shard_count; i++)
		safetensors_writer_release(&w->shards[i]);
	new_folder_release(&w->made);
	free(w->shards);
	free(w->places);
	free(w->temporary);
	free(w->path);
	*w = (struct weights_writer){0};
}
