#include "strategy/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "strategy/base/arena.h"
#include "strategy/base/output.h"

/* A pipe that stands in a folder. One of the shell's stands in none. */
static bool is_fifo(int file)
{
	enum { PIPES = 0x50495045 }; /* PIPEFS_MAGIC of linux/magic.h */
	struct stat info;
	struct statfs system;
	return !fstat(file, &info) && S_ISFIFO(info.st_mode) && !fstatfs(file, &system) && system.f_type != PIPES;
}

static enum status cannot_open(const char *path, const char *setting, bool fifo)
{
	const char *name = status_words(setting);
	return fifo ? status_fail(STATUS_INPUT, "%s: '%.600s' is a FIFO, which nobody may ever write into; give a file",
	                          name, path)
	            : status_fail(STATUS_INPUT, "%s: cannot open '%.600s': %s", name, path, strerror(errno));
}

enum status file_open(int *file, const char *path, const char *setting)
{
	*file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int flags = *file < 0 ? -1 : fcntl(*file, F_GETFL);
	bool fifo = flags >= 0 && is_fifo(*file);
	if (flags >= 0 && !fifo && !fcntl(*file, F_SETFL, flags & ~O_NONBLOCK))
		return STATUS_OK;
	enum status s = cannot_open(path, setting, fifo);
	if (*file >= 0)
		close(*file);
	return s;
}

/* Errno says why not. */
static bool read_all(int file, size_t most, char **text, size_t *size)
{
	size_t capacity = 0;
	ssize_t got;
	do {
		*text = array_reserve(*text, *size + BUFSIZ, &capacity, 1);
		got = read(file, *text + *size, BUFSIZ);
		*size += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && *size <= most) || (got < 0 && errno == EINTR));
	return got >= 0;
}

enum status file_read(const char *path, const char *setting, size_t most, char **text, size_t *size)
{
	const char *name = status_words(setting);
	int file;
	*text = NULL;
	*size = 0;
	TRY(file_open(&file, path, setting));
	bool done = read_all(file, most, text, size);
	int error = errno;
	close(file);
	if (done && *size <= most)
		return STATUS_OK;
	free(*text);
	*text = NULL;
	return done ? status_fail(STATUS_INPUT, "%s: '%s' is larger than %zu MiB", name, path, most >> 20)
	            : status_fail(STATUS_INPUT, "%s: cannot read '%s': %s", name, path,
	                          error == EISDIR ? "it is a folder" : strerror(error));
}

static enum status cannot_write(const char *path, const char *setting)
{
	return status_fail(STATUS_RUN, "%s: cannot write '%.600s': %s", status_words(setting), path, strerror(errno));
}

/* A descriptor of its own, so that closing the stream leaves the output's for syncing. */
static enum status print_to(int descriptor, enum status (*write)(void *, FILE *), void *context, bool *failed)
{
	int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");
	*failed = !f;
	if (!f) {
		if (copy >= 0)
			close(copy);
		return STATUS_OK;
	}
	enum status s = write(context, f);
	*failed = fflush(f) || ferror(f);
	if (fclose(f))
		*failed = true;
	return s;
}

enum status file_write(const char *path, const char *setting, enum status (*write)(void *context, FILE *out),
                       void *context)
{
	struct output *o;
	bool failed;
	TRY(output_open(&o, path, setting));
	enum status s = print_to(output_descriptor(o), write, context, &failed);
	/* The writer's own line may say no more than that it could not write. */
	if (failed)
		s = cannot_write(path, setting);
	if (!s)
		s = output_finish(o);
	output_close(o);
	return s;
}

bool file_on_path(const char *program, char *out, size_t size)
{
	const char *path = getenv("PATH");
	while (path && *path) {
		size_t length = strcspn(path, ":");
		snprintf(out, size, "%.*s/%s", (int)length, path, program);
		if (length && !access(out, X_OK))
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

enum status file_make_folders(const char *path)
{
	char part[4096];
	snprintf(part, sizeof part, "%s", path);
	for (char *p = strchr(part + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		if (mkdir(part, 0777) && errno != EEXIST)
			return status_fail(STATUS_RUN, "%s: cannot make the directory: %s", part, strerror(errno));
		*p = '/';
	}
	return STATUS_OK;
}
