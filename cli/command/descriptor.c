#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "cli/command/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *behind(const char *path, const char *folder)
{
	return strncmp(path, folder, strlen(folder)) != 0 ? NULL : path + strlen(folder);
}

int descriptor_of(const char *path)
{
	int fd = -1, end = 0;
	const char *number = behind(path, "/dev/fd/");
	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	number = number ? number : behind(path, "/proc/self/fd/");
	return number && sscanf(number, "%9d%n", &fd, &end) == 1 && !number[end] ? fd : -1;
}

enum status descriptor_free_stdout(const char *path, const char *setting, char out[DESCRIPTOR_PATH])
{
	*out = 0;
	if (descriptor_of(path) != STDOUT_FILENO)
		return STATUS_OK;
	int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return status_fail(STATUS_INPUT, "%s: cannot write '%s': %s", status_words(setting), path,
		                   strerror(errno));
	snprintf(out, DESCRIPTOR_PATH, "/proc/%ld/fd/%d", (long)getpid(), kept);
	return STATUS_OK;
}
