/* Weights as people keep them: one .safetensors file, or a folder as Hugging Face's save_pretrained writes it, with
 *
 *     model.safetensors                          one file, or else
 *     model.safetensors.index.json               the shards, and which of them holds which tensor (weights_index.h)
 *     model-00001-of-00002.safetensors, …
 *
 * Opening reads the headers of all files, and no weights. Then any range of any tensor can be read, so that a rank
 * reads the slices that it keeps and nothing else.
 *
 *     struct weights_file w;
 *     s = weights_file_open(&w, "Qwen3-0.6B");
 *     const struct weights_tensor *t = weights_file_find(&w, "model.norm.weight");     (NULL: there is none)
 *     s = weights_file_read(t, shard_first, shard_count, shard);
 *     weights_file_release(&w);
 *
 * Errors: STATUS_INPUT for what is missing, malformed or contradictory: a shard that is not there, a tensor that is not
 * in the shard that the index names, or in two, a total size that is another; STATUS_MEMORY.
 */
#ifndef SHARDLAB_WEIGHTS_FILE_H
#define SHARDLAB_WEIGHTS_FILE_H

#include "real/data/safetensors.h"

struct weights_tensor {
	const struct safetensors *file;
	const struct safetensors_tensor *in; /* its name, type and shape */
};

/* A zeroed one is released. Tensors are in the order of their names. */
struct weights_file {
	char *path;
	struct safetensors *files;
	int file_count;
	struct weights_tensor *tensors;
	int count;
};

/* path: a .safetensors file, an index, or a folder. On failure w is released. */
enum status weights_file_open(struct weights_file *w, const char *path);
void weights_file_release(struct weights_file *w); /* accepts NULL and a zeroed one */

/* A tensor by the name that it has in a file of the whole model. Files may have the bare model's names, without
 * "transformer." or "model." before them, or those names with "transformer.": GPT-2's come both ways. */
const struct weights_tensor *weights_file_find(const struct weights_file *w, const char *name);

/* Like safetensors_read. */
enum status weights_file_read(const struct weights_tensor *t, int64_t first, int64_t count, float *out);

#endif
