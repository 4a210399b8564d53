#include "strategy/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int descriptor_in(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	int fd = -1, end = 0;
	if (strncmp(path, folder, length) != 0)
		return -1;
	return sscanf(path + length, "%9d%n", &fd, &end) == 1 && !path[length + (size_t)end] ? fd : -1;
}

int path_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	int fd = !strcmp(path, "/dev/stdout") ? STDOUT_FILENO : !strcmp(path, "/dev/stderr") ? STDERR_FILENO : -1;
	for (size_t i = 0; i < sizeof folders / sizeof *folders && fd < 0; i++)
		fd = descriptor_in(path, folders[i]);
	return fd;
}

bool path_is_descriptor(const char *path)
{
	int process, fd, end = 0;
	return path_descriptor(path) >= 0 ||
	       (sscanf(path, "/proc/%9d/fd/%9d%n", &process, &fd, &end) == 2 && !path[end]);
}

const char *path_of_descriptor(int fd, char out[PATH_OF_DESCRIPTOR])
{
	snprintf(out, PATH_OF_DESCRIPTOR, "/proc/%ld/fd/%d", (long)getpid(), fd);
	return out;
}

bool path_of_program(char out[PATH_OF_PROGRAM])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_OF_PROGRAM - 1);
	out[n < 0 ? 0 : n] = 0;
	return n > 0;
}

const char *path_of_program_folder(char out[PATH_OF_PROGRAM])
{
	char *slash = path_of_program(out) ? strrchr(out, '/') : NULL;
	if (slash)
		slash[slash == out] = 0;
	return out;
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

bool path_is_yaml(const char *text)
{
	const char *dot = strrchr(text, '.');
	return strchr(text, '/') || (dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml")));
}
