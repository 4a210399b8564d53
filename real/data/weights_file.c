#include "real/data/weights_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/data/file.h"
#include "real/data/weights_index.h"
#include "strategy/base/memory.h"
#include "strategy/base/path.h"

#define ONE_FILE "model.safetensors"
#define INDEX "model.safetensors.index.json"
#define INDEX_ENDING ".safetensors.index.json"

/* An index of a million tensors has less. */
static const int64_t INDEX_LIMIT = INT64_C(256) << 20;

/* ---- the tensors of all files ---- */

static int by_name(const void *left, const void *right)
{
	const struct weights_tensor *a = left, *b = right;
	return strcmp(a->in->name, b->in->name);
}

static enum status check_once(const struct weights_file *w)
{
	for (int i = 1; i < w->count; i++)
		if (!strcmp(w->tensors[i - 1].in->name, w->tensors[i].in->name))
			return status_fail(STATUS_INPUT, "%s: tensor %s: is in %s and in %s", w->path,
			                   w->tensors[i].in->name, w->tensors[i - 1].file->path,
			                   w->tensors[i].file->path);
	return STATUS_OK;
}

static enum status collect(struct weights_file *w)
{
	size_t all = 0;
	for (int f = 0; f < w->file_count; f++)
		all += (size_t)w->files[f].count;
	w->tensors = array_make(all, sizeof *w->tensors);
	for (int f = 0; f < w->file_count; f++)
		for (int i = 0; i < w->files[f].count; i++)
			w->tensors[w->count++] = (struct weights_tensor){&w->files[f], &w->files[f].tensors[i]};
	qsort(w->tensors, (size_t)w->count, sizeof *w->tensors, by_name);
	return check_once(w);
}

static enum status open_one(struct weights_file *w, const char *path)
{
	w->files = array_make(1, sizeof *w->files);
	enum status s = safetensors_open(&w->files[0], path);
	w->file_count = s ? 0 : 1;
	return s ? s : collect(w);
}

/* ---- a folder ---- */

static enum status open_shards(struct weights_file *w, const struct weights_index *x, const char *index)
{
	enum { DESCRIPTORS_MOST = 64 };
	enum status s = STATUS_OK;
	w->files = array_make((size_t)x->file_count, sizeof *w->files);
	for (int f = 0; f < x->file_count && !s; f++) {
		char *path = path_beside(index, x->files[f]);
		if (!path_is_there(path))
			s = status_fail(STATUS_INPUT, "%s: shard %s is not there; download it too", index, x->files[f]);
		else
			s = safetensors_open(&w->files[f], path);
		if (!s && f >= DESCRIPTORS_MOST)
			safetensors_rest(&w->files[f]);
		w->file_count += !s;
		free(path);
	}
	return s;
}

static enum status wrong_shard(const char *index, const char *tensor, const char *shard)
{
	return status_fail(STATUS_INPUT,
	                   "%s: tensor %s: is not in %s; the index and its shards must be of one download", index,
	                   tensor, shard);
}

static enum status not_listed(const char *index, const struct weights_tensor *t)
{
	return status_fail(STATUS_INPUT,
	                   "%s: tensor %s: is in %s, but not listed; the index and its shards must be of one download",
	                   index, t->in->name, t->file->path);
}

/* The index and the shards list the same tensors, each in the same place. Both are in the order of names. */
static enum status check_listed(const struct weights_file *w, const struct weights_index *x, const char *index)
{
	int i = 0;
	for (int t = 0; t < w->count; t++) {
		int order = i < x->count ? strcmp(x->tensors[i].tensor, w->tensors[t].in->name) : 1;
		if (order > 0)
			return not_listed(index, &w->tensors[t]);
		if (order < 0 || w->tensors[t].file != &w->files[x->tensors[i].file])
			break;
		i++;
	}
	return i == x->count ? STATUS_OK : wrong_shard(index, x->tensors[i].tensor, x->files[x->tensors[i].file]);
}

static enum status check_total(const struct weights_file *w, const struct weights_index *x, const char *index)
{
	int64_t total = 0;
	for (int i = 0; i < w->count; i++)
		total += w->tensors[i].in->end - w->tensors[i].in->begin;
	if (x->total_bytes < 0 || x->total_bytes == total)
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "%s: metadata.total_size: %lld bytes, but the tensors of its shards have %lld; the index "
	                   "and its shards must be of one download",
	                   index, (long long)x->total_bytes, (long long)total);
}

static enum status open_index(struct weights_file *w, const char *index)
{
	struct data_file f;
	struct weights_index x;
	TRY(data_file_read(&f, index, INDEX_LIMIT, "name a folder of weights"));
	enum status s = weights_index_parse(&x, index, (const char *)f.bytes, (size_t)f.size);
	data_file_release(&f);
	if (s)
		return s;
	s = open_shards(w, &x, index);
	if (!s)
		s = collect(w);
	if (!s)
		s = check_listed(w, &x, index);
	if (!s)
		s = check_total(w, &x, index);
	weights_index_release(&x);
	return s;
}

static enum status no_weights(const char *folder)
{
	if (path_folder_has(folder, "pytorch_model.bin") || path_folder_has(folder, "pytorch_model.bin.index.json"))
		return status_fail(
		        STATUS_INPUT,
		        "%s: holds pytorch_model.bin, which only PyTorch reads; convert it with transformers: "
		        "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)",
		        folder);
	return status_fail(STATUS_INPUT, "%s: holds neither " ONE_FILE " nor " INDEX, folder);
}

static enum status open_folder(struct weights_file *w)
{
	const char *folder = w->path;
	bool one = path_folder_has(folder, ONE_FILE);
	if (!one && !path_folder_has(folder, INDEX))
		return no_weights(folder);
	char *path = path_in_folder(folder, one ? ONE_FILE : INDEX);
	enum status s = one ? open_one(w, path) : open_index(w, path);
	free(path);
	return s;
}

/* ---- the whole ---- */

/* Files of weights that others read, and those that have none. */
static enum status check_kind(const char *path)
{
	static const char *const endings[] = {".bin", ".pt", ".pth", ".ckpt", ".gguf", ".npz", ".h5"};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (path_ends_in(path, endings[i]))
			return status_fail(STATUS_INPUT,
			                   "%s: *%s files are not read; convert it to .safetensors, as save_pretrained "
			                   "of transformers writes it",
			                   path, endings[i]);
	if (path_ends_in(path, ".json") && !path_ends_in(path, INDEX_ENDING))
		return status_fail(STATUS_INPUT, "%s: holds no weights; name the folder that it is in", path);
	return STATUS_OK;
}

static enum status open_path(struct weights_file *w)
{
	if (path_is_folder(w->path))
		return open_folder(w);
	TRY(check_kind(w->path));
	return path_ends_in(w->path, INDEX_ENDING) ? open_index(w, w->path) : open_one(w, w->path);
}

enum status weights_file_open(struct weights_file *w, const char *path)
{
	*w = (struct weights_file){.path = memory_text(path)};
	enum status s = open_path(w);
	if (s)
		weights_file_release(w);
	return s;
}

void weights_file_release(struct weights_file *w)
{
	if (!w)
		return;
	for (int f = 0; f < w->file_count; f++)
		safetensors_release(&w->files[f]);
	free(w->files);
	free(w->tensors);
	free(w->path);
	*w = (struct weights_file){0};
}

static const struct weights_tensor *find_exactly(const struct weights_file *w, const char *name)
{
	int low = 0, high = w->count;
	while (low < high) {
		int middle = low + (high - low) / 2, order = strcmp(w->tensors[middle].in->name, name);
		if (!order)
			return &w->tensors[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static const char *without_prefix(const char *name)
{
	static const char *const prefixes[] = {"transformer.", "model."};
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return NULL;
}

const struct weights_tensor *weights_file_find(const struct weights_file *w, const char *name)
{
	char longer[256];
	const struct weights_tensor *t = find_exactly(w, name);
	const char *bare = without_prefix(name);
	if (t || snprintf(longer, sizeof longer, "transformer.%s", name) >= (int)sizeof longer)
		return t;
	return bare ? find_exactly(w, bare) : find_exactly(w, longer);
}

enum status weights_file_read(const struct weights_tensor *t, int64_t first, int64_t count, float *out)
{
	return safetensors_read(t->file, t->in, first, count, out);
}
