#include "strategy/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy/base/arena.h"
#include "strategy/base/output.h"

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
	enum status s = output_open(&o, path, setting);
	if (s)
		return s;
	s = print_to(output_descriptor(o), write, context, &failed);
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
