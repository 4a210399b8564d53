#include "real/data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "real/rank/disk.h"
#include "strategy/base/number.h"

/* A file that unpacks to more times its size is no data, unless it is small. */
enum { RATIO_MOST = 200, SMALL = 64 << 20 };

void data_file_release(struct data_file *f)
{
	if (!f)
		return;
	free(f->bytes);
	*f = (struct data_file){0};
}

static enum status out_of_memory(const char *name, int64_t bytes)
{
	char size[32];
	number_format_bytes(size, sizeof size, bytes);
	return status_fail(STATUS_MEMORY, "%s: no memory for its %s", name, size);
}

/* `what` it is: "is", "unpacks to". */
static enum status too_large(const char *name, const char *what, int64_t limit)
{
	char size[32];
	number_format_bytes(size, sizeof size, limit);
	return status_fail(STATUS_INPUT, "%s: %s more than the %s that are supported", name, what, size);
}

static enum status read_open_file(struct data_file *f, int fd, const char *path, int64_t limit)
{
	struct stat info;
	if (fstat(fd, &info) != 0)
		return status_fail(STATUS_INPUT, "%s: %s", path, strerror(errno));
	if (S_ISDIR(info.st_mode))
		return status_fail(STATUS_INPUT, "%s: is a folder; name a file", path);
	/* Several ranks read the file, each from its beginning. A pipe would give each of them a part. */
	if (!S_ISREG(info.st_mode))
		return status_fail(STATUS_INPUT, "%s: not a regular file; write the data to a file first", path);
	if (info.st_size > limit)
		return too_large(path, "is", limit);

	int64_t size = info.st_size;
	f->bytes = malloc((size_t)size + 1);
	if (!f->bytes)
		return out_of_memory(path, size);
	int error = file_move(fd, false, 0, f->bytes, size);
	if (error)
		return status_fail(STATUS_INPUT, "%s: %s", path,
		                   error == FILE_ENDED ? "became shorter while it was read; try again"
		                                       : strerror(error));
	f->size = size;
	return STATUS_OK;
}

enum status data_file_read(struct data_file *f, const char *path, int64_t limit, const char *advice)
{
	*f = (struct data_file){0};
	/* Opening a pipe must not wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return status_fail(STATUS_INPUT, "%s: no such file; %s", path, advice);
	if (fd < 0)
		return status_fail(STATUS_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
	enum status s = read_open_file(f, fd, path, limit);
	close(fd);
	if (s)
		data_file_release(f);
	return s;
}

bool data_file_is_gzip(const unsigned char *bytes, int64_t size)
{
	return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Room for the unpacked bytes, from the size that gzip keeps in its last four bytes. It may lie or belong to the last
 * of several members, so it is a first guess, held below what deflate can reach (1032 times). */
static int64_t first_capacity(const struct data_file *packed, int64_t limit)
{
	enum { SMALLEST = 4096 };
	int64_t guess = 0;
	if (packed->size >= 4) {
		const unsigned char *end = packed->bytes + packed->size - 4;
		guess = (int64_t)end[0] | (int64_t)end[1] << 8 | (int64_t)end[2] << 16 | (int64_t)end[3] << 24;
	}
	if (guess / RATIO_MOST > packed->size)
		guess = packed->size * RATIO_MOST;
	if (guess < SMALLEST)
		guess = SMALLEST;
	return guess < limit ? guess : limit;
}

/* There is always one byte more than the capacity. A stream that needs it beyond `limit` is too long. */
static enum status grow(struct data_file *out, int64_t *capacity, int64_t limit, const char *name)
{
	if (out->size <= *capacity && out->bytes)
		return STATUS_OK;
	if (out->size > limit)
		return too_large(name, "unpacks to", limit);
	if (out->bytes)
		*capacity = *capacity < limit / 2 ? 2 * *capacity : limit;
	unsigned char *bytes = realloc(out->bytes, (size_t)*capacity + 1);
	if (!bytes)
		return out_of_memory(name, *capacity);
	out->bytes = bytes;
	return STATUS_OK;
}

/* Text is packed to a fifth, pictures to a tenth: what swells to hundreds of times is made to fill the memory. */
static enum status check_ratio(int64_t size, int64_t packed, const char *name)
{
	if (size < SMALL || size / RATIO_MOST < packed)
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "%s: unpacks to more than %d times its size; no data does, so unpack it yourself", name,
	                   RATIO_MOST);
}

/* zlib counts in unsigned int. */
static unsigned window(int64_t bytes)
{
	return bytes < INT_MAX ? (unsigned)bytes : INT_MAX;
}

static enum status inflate_all(z_stream *z, const struct data_file *packed, struct data_file *out, const char *name,
                               int64_t limit)
{
	int64_t used = 0, capacity = first_capacity(packed, limit);
	for (;;) {
		TRY(grow(out, &capacity, limit, name));
		unsigned room = window(capacity + 1 - out->size), given = window(packed->size - used);
		z->next_in = packed->bytes + used;
		z->avail_in = given;
		z->next_out = out->bytes + out->size;
		z->avail_out = room;
		int r = inflate(z, Z_NO_FLUSH);
		used += given - z->avail_in;
		out->size += room - z->avail_out;
		TRY(check_ratio(out->size, used, name));
		if (r == Z_MEM_ERROR)
			return out_of_memory(name, capacity);
		if (r == Z_STREAM_END) {
			if (used == packed->size && out->size <= limit)
				return STATUS_OK;
			if (used == packed->size)
				continue; /* grow() says that it is too long */
			if (!data_file_is_gzip(packed->bytes + used, packed->size - used))
				return status_fail(
				        STATUS_INPUT,
				        "%s: %lld bytes of trailing data behind the gzip data; download it again", name,
				        (long long)(packed->size - used));
			inflateReset(z);
		} else if (r != Z_OK && r != Z_BUF_ERROR) {
			return status_fail(STATUS_INPUT, "%s: corrupt gzip data near byte %lld (%s); download it again",
			                   name, (long long)used, z->msg ? z->msg : "needs a dictionary");
		} else if (used == packed->size && z->avail_out > 0) {
			return status_fail(
			        STATUS_INPUT,
			        "%s: truncated, the gzip data ends in the middle (after %lld bytes); download it again",
			        name, (long long)packed->size);
		}
	}
}

enum status data_file_unpack(struct data_file *f, const char *name, int64_t limit)
{
	if (!data_file_is_gzip(f->bytes, f->size))
		return STATUS_OK;
	enum { GZIP_WINDOW = 15 + 16 }; /* largest window; 16 asks zlib for gzip's header and checksum */
	struct data_file out = {0};
	z_stream z = {0};
	enum status s = STATUS_OK;
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		s = out_of_memory(name, f->size);
	else
		s = inflate_all(&z, f, &out, name, limit);
	inflateEnd(&z);
	data_file_release(f);
	if (s)
		data_file_release(&out);
	else
		*f = out;
	return s;
}
