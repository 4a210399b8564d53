#define _GNU_SOURCE /* madvise */
#include "real/data/token_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status check_regular(const char *path, const struct stat *info)
{
	if (S_ISDIR(info->st_mode))
		return status_fail(STATUS_INPUT, "%s: is a folder; name a file", path);
	/* Several ranks read the file, each from its beginning. A pipe would give each of them a part. */
	if (!S_ISREG(info->st_mode))
		return status_fail(STATUS_INPUT, "%s: not a regular file; write the data to a file first", path);
	return STATUS_OK;
}

static enum status map_open_file(struct token_map *m, int file, const char *path)
{
	struct stat info;
	if (fstat(file, &info) != 0)
		return status_fail(STATUS_INPUT, "%s: %s", path, strerror(errno));
	enum status s = check_regular(path, &info);
	*m = (struct token_map){.bytes = (const unsigned char *)"", .size = info.st_size, .inode = info.st_ino};
	if (s || !m->size)
		return s;
	void *at = mmap(NULL, (size_t)m->size, PROT_READ, MAP_SHARED, file, 0);
	if (at == MAP_FAILED)
		return status_fail(STATUS_INPUT, "%s: cannot be mapped: %s", path, strerror(errno));
	m->mapped = at;
	m->bytes = at;
	/* Samples begin at random places: what lies behind one is not read ahead, but by
	 * token_map_ahead. */
	(void)madvise(m->mapped, (size_t)m->size, MADV_RANDOM);
	return STATUS_OK;
}

enum status token_map_open(struct token_map *m, const char *path)
{
	*m = (struct token_map){.size = 0};
	/* Opening a pipe must not wait for its writer. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0 && errno == ENOENT)
		return status_fail(STATUS_INPUT, "%s: no such file", path);
	if (file < 0)
		return status_fail(STATUS_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
	enum status s = map_open_file(m, file, path);
	close(file);
	return s;
}

void token_map_release(struct token_map *m)
{
	if (m->mapped)
		munmap(m->mapped, (size_t)m->size);
	*m = (struct token_map){.size = 0};
}

/* Another file that took this one's name changes nothing: the mapping keeps the old one. */
enum status token_map_check(const struct token_map *m, const char *path)
{
	struct stat now;
	if (!m->mapped || stat(path, &now) != 0 || now.st_ino != m->inode || now.st_size >= m->size)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "%s: became shorter while it was read: %lld bytes, and %lld before", path,
	                   (long long)now.st_size, (long long)m->size);
}

/* The system maps more than the pages that were asked for, but stays within so much, aligned. */
enum { AROUND = 2 << 20 };

/* Clipped to the mapping. */
static void advise(const struct token_map *m, uintptr_t first, uintptr_t last, int advice)
{
	uintptr_t whole = (uintptr_t)m->mapped;
	if (first < whole)
		first = whole;
	if (last > whole + (uintptr_t)m->size)
		last = whole + (uintptr_t)m->size;
	(void)madvise(m->mapped + (first - whole), last - first, advice);
}

void token_map_rest(const struct token_map *m, const void *begin, int64_t bytes)
{
	uintptr_t first = (uintptr_t)begin / AROUND * AROUND;
	uintptr_t last = ((uintptr_t)begin + (uintptr_t)bytes + AROUND - 1) / AROUND * AROUND;
	if (m->mapped)
		advise(m, first, last, MADV_DONTNEED);
}

enum { LEAST_IN_A_ROW = 64 << 10, PAGE = 4096 };

/* Asked for once in each AROUND. */
void token_map_ahead(const struct token_map *m, const void *begin, int64_t bytes)
{
	uintptr_t at = (uintptr_t)begin;
	if (m->mapped && bytes >= LEAST_IN_A_ROW)
		advise(m, at / PAGE * PAGE, at + (uintptr_t)bytes + (at % AROUND < (uintptr_t)bytes ? AROUND : 0),
		       MADV_WILLNEED);
}
