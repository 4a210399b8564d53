#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "cli/command/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum status descriptor_free_stdout(const char *path, const char *setting, char out[PATH_OF_DESCRIPTOR])
{
	*out = 0;
	if (path_descriptor(path) != STDOUT_FILENO)
		return STATUS_OK;
	int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return status_fail(STATUS_INPUT, "%s: cannot write '%s': %s", status_words(setting), path,
		                   strerror(errno));
	path_of_descriptor(kept, out);
	return STATUS_OK;
}
