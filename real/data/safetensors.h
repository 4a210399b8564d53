/* Weights in the safetensors format, which PyTorch and Hugging Face read and write and which holds nothing to execute.
 *
 *     8 bytes      n, the length of the header, lowest byte first
 *     n bytes      JSON: {"name": {"dtype": "F32", "shape": [256, 64], "data_offsets": [begin, end]}, …,
 *                         "__metadata__": {"format": "pt"}}, filled up with spaces
 *     the rest     the tensors, row-major, lowest byte first, without holes; offsets count from here
 *
 * Reading: open checks the whole header against the file, then any range of elements of any tensor can be read, so that
 * a rank reads its own shard and nothing else.
 *
 *     struct safetensors file;
 *     s = safetensors_open(&file, "model.safetensors");
 *     const struct safetensors_tensor *t = safetensors_find(&file, "wte.weight");     (NULL: there is none)
 *     s = safetensors_read(&file, t, shard_first, shard_count, shard);
 *     safetensors_release(&file);
 *
 * Writing: declare every tensor, begin, write ranges in any order, finish. Until finish the file has a temporary name
 * beside the final one, and release removes it. A file under the final name is therefore always whole.
 *
 *     struct safetensors_writer w;
 *     s = safetensors_create(&w, "model.safetensors");
 *     s = safetensors_declare(&w, "wte.weight", 2, (int64_t[]){256, 64});             (tensor 0)
 *     s = safetensors_begin(&w);
 *     s = safetensors_write(&w, 0, shard_first, shard_count, shard);
 *     s = safetensors_finish(&w, w.elements_written);
 *     safetensors_writer_release(&w);                                                 (in every case)
 *
 * Several ranks write one file: rank 0 does as above and sends w.temporary to the others, which call
 * safetensors_join with that name instead of create, declare the same tensors, begin, write, leave, and release. They
 * may join once rank 0 has begun. When all have left, rank 0 finishes with the sum of their elements_written.
 *
 * Errors: STATUS_INPUT for a malformed file and for a place that cannot be written to, with the names of file and
 * tensor; STATUS_RUN when writing fails later; STATUS_MEMORY.
 */
#ifndef SHARDLAB_SAFETENSORS_H
#define SHARDLAB_SAFETENSORS_H

#include "strategy/base/output.h"
#include "strategy/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* name in the file, bytes of an element, whether it can be read as fp32 here */
#define SAFETENSORS_DTYPE_LIST(X)                                                                                      \
	X(F32, 4, true)                                                                                                \
	X(F16, 2, true)                                                                                                \
	X(BF16, 2, true)                                                                                               \
	X(F64, 8, false)                                                                                               \
	X(I64, 8, false)                                                                                               \
	X(U64, 8, false)                                                                                               \
	X(I32, 4, false)                                                                                               \
	X(U32, 4, false)                                                                                               \
	X(I16, 2, false)                                                                                               \
	X(U16, 2, false)                                                                                               \
	X(I8, 1, false)                                                                                                \
	X(U8, 1, false)                                                                                                \
	X(BOOL, 1, false)                                                                                              \
	X(F8_E5M2, 1, false)                                                                                           \
	X(F8_E4M3, 1, false)

enum safetensors_dtype {
#define X(name, bytes, readable) SAFETENSORS_##name,
	SAFETENSORS_DTYPE_LIST(X)
#undef X
};

enum { SAFETENSORS_RANK_LIMIT = 8, SAFETENSORS_TENSORS_MOST = 200000 };

struct safetensors_tensor {
	char *name;
	enum safetensors_dtype dtype;
	int rank; /* of the shape; 0 is a scalar */
	int64_t shape[SAFETENSORS_RANK_LIMIT];
	int64_t elements;
	int64_t begin, end; /* bytes, from the beginning of the data */
};

/* An open file. Tensors are in the order in which their data lies. A zeroed one is released. */
struct safetensors {
	char *path;
	bool is_open; /* else it rests */
	int descriptor;
	dev_t device;
	ino_t inode;
	int64_t data_at; /* where in the file the data begins */
	int count;
	struct safetensors_tensor *tensors;
};

enum status safetensors_open(struct safetensors *f, const char *path); /* on failure f is released */
void safetensors_release(struct safetensors *f);                       /* accepts NULL and a zeroed one */
/* One of very many gives its descriptor back. A read opens the file for itself then; one that was replaced in the
 * meantime is STATUS_INPUT. */
void safetensors_rest(struct safetensors *f);

/* NULL if there is none of that name; the caller writes the message. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *f, const char *name);

/* Elements [first, first + count) in row-major order, as fp32: F32 as it is, F16 and BF16 converted without loss; the
 * other types are an error. The range lies in the tensor. Safe from several threads at once. */
enum status safetensors_read(const struct safetensors *f, const struct safetensors_tensor *t, int64_t first,
                             int64_t count, float *out);

/* A file being written, all in F32. A zeroed one is released. */
struct safetensors_writer {
	char *path, *temporary;
	struct output *output; /* of the one that created it; NULL: it has a descriptor */
	bool is_stream;        /* path is a device or FIFO, into which the finished file is written */
	bool is_first;         /* it made the file, writes the header and finishes */
	bool is_open;          /* the descriptor */
	bool rests;            /* it is opened again by what writes next */
	int descriptor;
	int64_t data_at, data_bytes;
	int64_t elements_written; /* by this writer: the sum of the counts of its writes */
	int count;
	size_t capacity;
	struct safetensors_tensor *tensors;
};

/* Makes the temporary file, so that a folder that cannot be written to is found before training. */
enum status safetensors_create(struct safetensors_writer *w, const char *path);
/* The same under this name from the beginning, in a folder that is itself temporary. */
enum status safetensors_create_at(struct safetensors_writer *w, const char *path);
/* A writer for the temporary file that another one made. */
enum status safetensors_join(struct safetensors_writer *w, const char *temporary);
/* Tensors are numbered from 0 in the order of these calls. Names are UTF-8, and each comes once. */
enum status safetensors_declare(struct safetensors_writer *w, const char *name, int rank, const int64_t *shape);
/* Settles the layout; the one that created the file writes the header and reserves the disk space. */
enum status safetensors_begin(struct safetensors_writer *w);
enum status safetensors_write(struct safetensors_writer *w, int tensor, int64_t first, int64_t count,
                              const float *values);
/* One of many gives its descriptor back until it writes or leaves. */
enum status safetensors_writer_rest(struct safetensors_writer *w);
/* A writer that joined calls it after its last write: STATUS_RUN if its part did not reach the disk. */
enum status safetensors_leave(struct safetensors_writer *w);
/* Gives the file its name, if `elements_written`, over all writers, is what was declared: otherwise a range is missing,
 * or came twice, and it is STATUS_RUN. */
enum status safetensors_finish(struct safetensors_writer *w, int64_t elements_written);
void safetensors_writer_release(struct safetensors_writer *w); /* accepts NULL and a zeroed one */

#endif
