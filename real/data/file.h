/* Files of data, from the disk to checked bytes in memory. Between the parts of real/data; others want data.h.
 *
 *     data_file_read ──► data_file_unpack (gzip, when it is) ──► images: idx_parse
 *
 * Each part after the first works on memory alone, so that fuzz targets need no file.
 */
#ifndef SHARDLAB_DATA_FILE_H
#define SHARDLAB_DATA_FILE_H

#include "strategy/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes on the heap, owned by whoever has the struct. */
struct data_file {
	unsigned char *bytes;
	int64_t size;
};

/* The most that a file may hold, packed or unpacked: a small gzip file can unpack to anything. */
#define DATA_FILE_LIMIT (INT64_C(4) << 30)

/* Reads a whole regular file of at most `limit` bytes. `advice` ends the message when there is no such file. */
enum status data_file_read(struct data_file *f, const char *path, int64_t limit, const char *advice);

bool data_file_is_gzip(const unsigned char *bytes, int64_t size);

/* If the bytes are gzip (RFC 1952; one member or several, as dictzip writes them too), replaces them by what is in
 * them. Other bytes are left alone. On failure f is released. `name` is for messages. */
enum status data_file_unpack(struct data_file *f, const char *name, int64_t limit);

void data_file_release(struct data_file *f); /* accepts NULL and a zeroed one */

/* An IDX file of unsigned bytes: 0, 0, 8, number of dimensions, then each dimension as 32 bits, the highest byte first,
 * then the elements, the last dimension fastest (Y. LeCun's description of the MNIST files). */
struct idx {
	int64_t count;      /* the first dimension */
	int64_t item_bytes; /* the product of the others */
	const unsigned char *items;
};

/* The dimensions that the files have: labels are a list, images are rows and columns. */
enum idx_rank { IDX_LABELS = 1, IDX_IMAGES = 3 };

/* Checks that the file is all there and nothing is behind it. Points into `bytes`. */
enum status idx_parse(struct idx *x, const char *name, const unsigned char *bytes, int64_t size, enum idx_rank rank);

#endif
