#include <string.h>
#include <unistd.h>

#include "cli/lesson/export/export.h"

enum status lesson_picture_path(const struct lesson *l, int line, const char *url, char *out, size_t size)
{
	const char *slash = strrchr(l->path, '/');
	int n = slash ? (int)(slash - l->path + 1) : 0;
	snprintf(out, size, "%.*s%s", n, l->path, url);
	if (access(out, R_OK))
		return lesson_fail(l, line, "the picture %.200s is missing; to draw it: make lessons-update", url);
	return STATUS_OK;
}
