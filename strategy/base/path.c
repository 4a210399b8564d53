#include "strategy/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "strategy/base/memory.h"

const char *path_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

bool path_ends_in(const char *path, const char *ending)
{
	size_t length = path ? strlen(path) : 0, tail = strlen(ending);
	return length > tail && !strcmp(path + length - tail, ending);
}

bool path_ends_in_any(const char *path, const char *const *endings)
{
	while (*endings && !path_ends_in(path, *endings))
		endings++;
	return *endings;
}

bool path_is_there(const char *path)
{
	struct stat info;
	return path && !stat(path, &info);
}

bool path_is_folder(const char *path)
{
	struct stat info;
	return path && !stat(path, &info) && S_ISDIR(info.st_mode);
}

bool path_folder_has(const char *folder, const char *name)
{
	char *path = folder ? path_in_folder(folder, name) : NULL;
	bool there = path_is_there(path);
	free(path);
	return there;
}

/* The first `length` bytes of `head`, then `between`, then `name`. */
static char *join(const char *head, size_t length, const char *between, const char *name)
{
	size_t bytes = length + strlen(between) + strlen(name) + 1;
	char *path = memory_take(bytes);
	snprintf(path, bytes, "%.*s%s%s", (int)length, head, between, name);
	return path;
}

char *path_in_folder(const char *folder, const char *name)
{
	size_t length = strlen(folder);
	return join(folder, length, length && folder[length - 1] != '/' ? "/" : "", name);
}

char *path_beside(const char *file, const char *name)
{
	return join(file, (size_t)(path_name(file) - file), "", name);
}
