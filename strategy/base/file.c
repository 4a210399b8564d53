#include "strategy/base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
