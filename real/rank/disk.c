#include "real/rank/disk.h"
#include "strategy/base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct disk {
	int file;
	int64_t most;      /* bytes at a time */
	char folder[1024]; /* for messages */
};

enum { MOST_AT_ONCE = 1 << 30 }; /* Linux moves at most 2^31 - 4096 bytes a call */

int disk_reserve(int file, int64_t bytes)
{
	int error = EINTR;
	while (error == EINTR)
		error = posix_fallocate(file, 0, bytes);
	return error;
}

enum status disk_open(struct disk **out, const char *folder, int64_t bytes)
{
	char path[1100];
	*out = NULL;
	if (!folder || !*folder)
		return status_fail(STATUS_INPUT, "the plan keeps buffers on disk; {offload_folder} PATH says where");
	int n = snprintf(path, sizeof path, "%s/shardlab.XXXXXX", folder);
	if (n < 0 || n >= (int)sizeof path - 32)
		return status_fail(STATUS_INPUT, "{offload_folder}: the path is too long");
	struct disk *d = array_make(1, sizeof *d);
	d->most = INT64_MAX;
	snprintf(d->folder, sizeof d->folder, "%s", folder);
	d->file = mkstemp(path);
	if (d->file < 0) {
		free(d);
		return status_fail(STATUS_INPUT, "{offload_folder}: cannot write in '%s': %s", folder, strerror(errno));
	}
	unlink(path);
	int error = bytes > 0 ? disk_reserve(d->file, bytes) : 0;
	if (error) {
		disk_close(d);
		return status_fail(STATUS_INPUT,
		                   "{offload_folder}: '%s' has no room for %lld bytes: %s; name another folder, or use "
		                   "more ranks",
		                   folder, (long long)bytes, strerror(error));
	}
	*out = d;
	return STATUS_OK;
}

void disk_close(struct disk *d)
{
	if (!d)
		return;
	close(d->file);
	free(d);
}

static ssize_t move_some(int file, bool writes, int64_t place, void *memory, size_t most)
{
	if (place == FILE_STANDS)
		return writes ? write(file, memory, most) : read(file, memory, most);
	return writes ? pwrite(file, memory, most, place) : pread(file, memory, most, place);
}

int file_move(int file, bool writes, int64_t place, void *memory, int64_t bytes)
{
	char *at = memory;
	while (bytes > 0) {
		size_t most = (size_t)(bytes < MOST_AT_ONCE ? bytes : MOST_AT_ONCE);
		ssize_t n = move_some(file, writes, place, at, most);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : FILE_ENDED;
		at += n;
		place += place == FILE_STANDS ? 0 : n;
		bytes -= n;
	}
	return 0;
}

void disk_ask(struct disk *d, int64_t most)
{
	d->most = most;
}

static int move_in_parts(struct disk *d, bool writes, int64_t place, char *memory, int64_t bytes)
{
	int error = 0;
	for (int64_t at = 0, n; at < bytes && !error; at += n) {
		n = bytes - at < d->most ? bytes - at : d->most;
		error = file_move(d->file, writes, place + at, memory + at, n);
	}
	return error;
}

enum status disk_read(struct disk *d, int64_t offset, void *to, int64_t count)
{
	int error = move_in_parts(d, false, offset, to, count);
	return error ? status_fail(STATUS_RUN, "{offload_folder}: cannot read in '%s': %s", d->folder,
	                           error == FILE_ENDED ? "the file ends" : strerror(error))
	             : STATUS_OK;
}

enum status disk_write(struct disk *d, int64_t offset, const void *from, int64_t count)
{
	int error = move_in_parts(d, true, offset, (char *)(uintptr_t)from, count);
	return error ? status_fail(STATUS_RUN, "{offload_folder}: cannot write in '%s': %s", d->folder,
	                           error == FILE_ENDED ? "nothing is taken" : strerror(error))
	             : STATUS_OK;
}
