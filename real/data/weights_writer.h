/* Writes weights: one .safetensors file, or a folder as Hugging Face's save_pretrained writes it (weights_file.h), with
 * as many shards as it takes to keep each below a size, and an index if they are several. A path that ends in
 * ".safetensors" is a file; so is a device or FIFO, into which the file is written in the end. Any other is a folder.
 *
 *     struct weights_writer w;
 *     s = weights_writer_create(&w, "saved", 5000000000);          (makes saved.4711.0.partial)
 *     s = weights_writer_declare(&w, "wte.weight", 2, (int64_t[]){256, 64});             (tensor 0)
 *     s = weights_writer_begin(&w);
 *     s = weights_writer_write(&w, 0, shard_first, shard_count, values);
 *     s = weights_writer_finish(&w, counts);                       (renames it to saved)
 *     weights_writer_release(&w);                                  (in every case)
 *
 * Several ranks write together, as they do with safetensors.h: rank 0 does as above and sends w.temporary to the
 * others, which call weights_writer_join with it, once rank 0 has begun, declare the same tensors, begin, write, leave,
 * and release. When all have left, rank 0 finishes with the sums of their weights_writer_counts.
 *
 * Until finish everything has a temporary name beside the final one, and release removes it. The file under the final
 * name is whole. A folder that is there already must be empty.
 *
 * Errors: as in safetensors.h.
 */
#ifndef SHARDLAB_WEIGHTS_WRITER_H
#define SHARDLAB_WEIGHTS_WRITER_H

#include "real/data/new_folder.h"
#include "real/data/safetensors.h"

/* A zeroed one is released. */
struct weights_writer {
	char *path;
	char *temporary; /* the unfinished file, or the folder that has the final one's files in it */
	bool folder;
	struct new_folder made; /* of the one that created it */
	int64_t shard_bytes;
	struct safetensors_writer *shards;
	int shard_count;
	int awake; /* the one of them that has a descriptor: they may be very many */
	size_t shard_capacity;
	struct weights_place {
		int shard, number;
	} * places; /* of each tensor */
	int count;
	size_t capacity;
};

bool weights_writer_takes_folder(const char *path);

/* shard_bytes: the most bytes of tensors in a shard; a tensor that has more is a shard of its own. */
enum status weights_writer_create(struct weights_writer *w, const char *path, int64_t shard_bytes);
enum status weights_writer_join(struct weights_writer *w, const char *path, const char *temporary, int64_t shard_bytes);
enum status weights_writer_declare(struct weights_writer *w, const char *name, int rank, const int64_t *shape);
enum status weights_writer_begin(struct weights_writer *w);
enum status weights_writer_write(struct weights_writer *w, int tensor, int64_t first, int64_t count,
                                 const float *values);
/* A writer that joined calls it after its last write: STATUS_RUN if its part did not reach the disk. */
enum status weights_writer_leave(struct weights_writer *w);
/* The elements that this writer has written to each shard: counts[shard_count]. */
void weights_writer_counts(const struct weights_writer *w, int64_t *counts);

/* Adds a file to the folder, after begin. */
enum status weights_writer_add(struct weights_writer *w, const char *name, const void *bytes, int64_t size);

/* counts: over all writers. */
enum status weights_writer_finish(struct weights_writer *w, const int64_t *counts);
void weights_writer_release(struct weights_writer *w); /* accepts NULL and a zeroed one */

#endif
