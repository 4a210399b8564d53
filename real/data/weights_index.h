/* model.safetensors.index.json: which shard of a folder holds which tensor, as Hugging Face's save_pretrained writes
 * it.
 *
 *     {"metadata": {"total_size": 988097824},
 *      "weight_map": {"model.embed_tokens.weight": "model-00001-of-00002.safetensors", …}}
 *
 * Reading works on memory alone. Errors are STATUS_INPUT with file, line and column, or with the tensor's name.
 *
 *     struct weights_index x;
 *     s = weights_index_parse(&x, "model.safetensors.index.json", text, size);
 *     … x.files[x.tensors[0].file] …
 *     weights_index_release(&x);
 */
#ifndef SHARDLAB_WEIGHTS_INDEX_H
#define SHARDLAB_WEIGHTS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

/* The largest published models have some hundred shards. */
enum { WEIGHTS_SHARDS_MOST = 4096 };

struct weights_entry {
	const char *tensor;
	int file;
};

/* Owns its texts. Tensors are in the order of their names, files in that in which they are first named. */
struct weights_index {
	struct arena arena;
	struct weights_entry *tensors;
	int count, capacity;
	const char **files; /* paths inside the folder: none leads out of it */
	int file_count, file_capacity;
	int64_t total_bytes; /* metadata.total_size; -1: not given */
};

/* `name`: of the file, for messages. On failure x is released. */
enum status weights_index_parse(struct weights_index *x, const char *name, const char *text, size_t size);
void weights_index_release(struct weights_index *x); /* accepts NULL and a zeroed one */

#endif
