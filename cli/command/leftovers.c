#define _GNU_SOURCE /* O_PATH */
#include "cli/command/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MOST = 16 };

/* The folder `name` in `at`, which is this user's and no link; NULL: there is none. */
static DIR *open_own(int at, const char *name)
{
	struct stat info;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 || fstat(fd, &info) || info.st_uid != geteuid() ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	return d;
}

static void remove_tree(int at, const char *name, int depth)
{
	DIR *d = depth < DEPTH_MOST ? open_own(at, name) : NULL;
	for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0))
			remove_tree(dirfd(d), e->d_name, depth + 1);
	}
	if (d)
		closedir(d);
	unlinkat(at, name, AT_REMOVEDIR);
}

/* BASE/ompi.HOST.UID/pid.N, where HOST is as mpirun has found it. */
static void remove_session(const char *base, pid_t mpirun)
{
	char end[32], session[32];
	snprintf(end, sizeof end, ".%lu", (unsigned long)geteuid());
	snprintf(session, sizeof session, "pid.%ld", (long)mpirun);
	DIR *d = opendir(base);
	for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		size_t n = strlen(e->d_name);
		if (strncmp(e->d_name, "ompi.", 5) || n < strlen(end) || strcmp(e->d_name + n - strlen(end), end))
			continue;
		DIR *own = open_own(dirfd(d), e->d_name);
		if (!own)
			continue;
		remove_tree(dirfd(own), session, 0);
		closedir(own);
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR); /* if it was the last session */
	}
	if (d)
		closedir(d);
}

/* vader_segment.HOST.UID.JOB.RANK */
static void remove_segments(unsigned long job)
{
	char middle[64];
	struct stat info;
	snprintf(middle, sizeof middle, ".%lu.%lx.", (unsigned long)geteuid(), job);
	DIR *d = opendir("/dev/shm");
	for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
		if (!strncmp(e->d_name, "vader_segment.", 14) && strstr(e->d_name, middle) &&
		    !fstatat(dirfd(d), e->d_name, &info, AT_SYMLINK_NOFOLLOW) && info.st_uid == geteuid())
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

void leftovers_remove(pid_t mpirun, unsigned long job)
{
	static const char *const variables[] = {"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"};
	const char *base = NULL;
	for (size_t i = 0; !base && i < sizeof variables / sizeof variables[0]; i++)
		base = getenv(variables[i]);
	remove_session(base ? base : "/tmp", mpirun);
	if (job)
		remove_segments(job);
}
