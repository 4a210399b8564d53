#include "strategy/base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strategy/base/arena.h"

enum status file_read(const char *path, const char *setting, size_t most, char **text, size_t *size)
{
	const char *name = status_words(setting);
	size_t capacity = 0, n = 0, got;
	char *bytes = NULL;
	FILE *f = fopen(path, "rb");
	*text = NULL;
	if (!f)
		return status_fail(STATUS_INPUT, "%s: cannot open '%s': %s", name, path, strerror(errno));
	do {
		bytes = array_reserve(bytes, n + BUFSIZ, &capacity, 1);
		got = fread(bytes + n, 1, BUFSIZ, f);
		n += got;
	} while (got && n <= most);
	bool failed = ferror(f);
	fclose(f);
	*text = bytes;
	*size = n;
	if (!failed && n <= most)
		return STATUS_OK;
	free(bytes);
	*text = NULL;
	return failed ? status_fail(STATUS_INPUT, "%s: cannot read '%s': is it a folder?", name, path)
	              : status_fail(STATUS_INPUT, "%s: '%s' is larger than %zu MiB", name, path, most >> 20);
}

static enum status temporary_name(const char *path, const char *setting, char *out, size_t size)
{
	struct stat there;
	int n = snprintf(out, size, "%s.%d.tmp", path, (int)getpid());
	if (n < 0 || (size_t)n >= size)
		return status_fail(STATUS_INPUT, "%s: the path is too long", status_words(setting));
	if (!stat(path, &there) && S_ISDIR(there.st_mode))
		return status_fail(STATUS_INPUT, "%s: cannot write '%s': it is a folder", status_words(setting), path);
	return STATUS_OK;
}

static enum status cannot_write(const char *path, const char *setting, enum status s)
{
	return status_fail(s, "%s: cannot write '%s': %s", status_words(setting), path, strerror(errno));
}

static enum status write_nothing(void *context, FILE *out)
{
	(void)context;
	(void)out;
	return STATUS_OK;
}

static enum status write_beside(const char *path, const char *setting, enum status (*write)(void *, FILE *),
                                void *context, bool keep)
{
	char temporary[4096];
	enum status s = temporary_name(path, setting, temporary, sizeof temporary);
	if (s)
		return s;
	/* Exclusively: a link that stands there is not followed. A process of that number may have left one behind. */
	unlink(temporary);
	FILE *f = fopen(temporary, "wx");
	if (!f)
		return cannot_write(path, setting, STATUS_INPUT);
	s = write(context, f);
	bool failed = fflush(f) || ferror(f) || (keep && !s && fsync(fileno(f)));
	failed |= fclose(f) != 0;
	if (!s && (failed || (keep && rename(temporary, path))))
		s = cannot_write(path, setting, STATUS_RUN);
	if (s || !keep)
		unlink(temporary);
	return s;
}

enum status file_write(const char *path, const char *setting, enum status (*write)(void *context, FILE *out),
                       void *context)
{
	return write_beside(path, setting, write, context, true);
}

enum status file_check_writable(const char *path, const char *setting)
{
	return write_beside(path, setting, write_nothing, NULL, false);
}
