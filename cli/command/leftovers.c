#define _GNU_SOURCE /* O_PATH */
#include "cli/command/leftovers.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

/* Where Open MPI keeps sessions. */
static const char *base_folder(void)
{
	static const char *const variables[] = {"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"};
	const char *base = NULL;
	for (size_t i = 0; !base && i < sizeof variables / sizeof variables[0]; i++)
		base = getenv(variables[i]);
	return base ? base : "/tmp";
}

/* "ompi.HOST.UID", where HOST is as mpirun has found it; *host: so many characters. */
static bool is_own_name(const char *name, size_t *host)
{
	char end[32];
	snprintf(end, sizeof end, ".%lu", (unsigned long)geteuid());
	size_t n = strlen(name), least = strlen("ompi.") + strlen(end);
	*host = n > least ? n - least : 0;
	return *host && !strncmp(name, "ompi.", 5) && !strcmp(name + n - strlen(end), end);
}

/* Each folder BASE/ompi.HOST.UID, in which are sessions pid.N; one that is left empty goes. */
static void each_own(void (*visit)(DIR *own, const char *host, size_t length, void *context), void *context)
{
	size_t host;
	DIR *d = opendir(base_folder());
	for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		DIR *own = is_own_name(e->d_name, &host) ? open_own(dirfd(d), e->d_name) : NULL;
		if (!own)
			continue;
		visit(own, e->d_name + strlen("ompi."), host, context);
		closedir(own);
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR); /* if it was the last session */
	}
	if (d)
		closedir(d);
}

static void remove_session(DIR *own, const char *host, size_t length, void *mpirun)
{
	char session[32];
	(void)host;
	(void)length;
	snprintf(session, sizeof session, "pid.%ld", (long)*(const pid_t *)mpirun);
	remove_tree(dirfd(own), session, 0);
}

static const unsigned long FAMILY = 0xffff0000; /* of a job's number: what mpirun's jobs have in common */

/* vader_segment.HOST.UID.JOB.RANK, of jobs whose number is `job` where `mask` has bits. */
static void remove_segments(unsigned long job, unsigned long mask)
{
	char middle[64];
	struct stat info;
	snprintf(middle, sizeof middle, ".%lu.", (unsigned long)geteuid());
	DIR *d = opendir("/dev/shm");
	for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		const char *at = strncmp(e->d_name, "vader_segment.", 14) ? NULL : strstr(e->d_name, middle);
		if (at && (strtoul(at + strlen(middle), NULL, 16) & mask) == job &&
		    !fstatat(dirfd(d), e->d_name, &info, AT_SYMLINK_NOFOLLOW) && info.st_uid == geteuid())
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

void leftovers_remove(pid_t mpirun, unsigned long job)
{
	each_own(remove_session, &mpirun);
	if (job)
		remove_segments(job, ~0UL);
}

/* ---- of an mpirun that somebody killed before ---- */

/* Its contact file reads:   378929152.0;tcp://192.0.2.2,10.0.0.2:44615;tcp6://…
 *                           31336                                                  */
struct contact {
	unsigned long job;
	struct sockaddr_in address;
	long process;
};

static bool read_address(const char *text, struct sockaddr_in *out)
{
	char host[64];
	unsigned port;
	const char *colon = strchr(text, ':');
	*out = (struct sockaddr_in){.sin_family = AF_INET};
	if (!colon || sscanf(text, "%63[0-9.]", host) != 1 || sscanf(colon, ":%5u", &port) != 1)
		return false;
	out->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

static bool read_contact(int session, struct contact *c)
{
	char text[512];
	int end = 0, file = openat(session, "contact.txt", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
	if (file >= 0)
		close(file);
	text[size > 0 ? size : 0] = '\0';
	const char *line = strchr(text, '\n');
	return line && sscanf(text, "%lu.0;tcp://%n", &c->job, &end) == 1 && end && c->job &&
	       sscanf(line, "%ld", &c->process) == 1 && read_address(text + end, &c->address);
}

/* It may live in a container whose processes are not to be seen from here: then its door is open. */
static bool is_dead(const struct contact *c)
{
	if (!kill((pid_t)c->process, 0) || errno != ESRCH)
		return false;
	int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = {.fd = door, .events = POLLOUT};
	int error = 0;
	socklen_t size = sizeof error;
	if (door >= 0 && connect(door, (const struct sockaddr *)&c->address, sizeof c->address))
		error = errno;
	if (error == EINPROGRESS && (poll(&p, 1, 200) != 1 || getsockopt(door, SOL_SOCKET, SO_ERROR, &error, &size)))
		error = 0;
	if (door >= 0)
		close(door);
	return error == ECONNREFUSED;
}

static bool maps(const char *process, const char *what)
{
	char path[64], *line = NULL;
	size_t size = 0;
	bool found = false;
	snprintf(path, sizeof path, "/proc/%.20s/maps", process);
	FILE *f = fopen(path, "r");
	while (f && !found && getline(&line, &size, f) > 0)
		found = strstr(line, what) != NULL;
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* A rank of it that still has its segment. */
static bool is_in_use(unsigned long job)
{
	char what[64];
	bool found = false;
	snprintf(what, sizeof what, ".%lu.%lx", (unsigned long)geteuid(), job >> 16);
	DIR *d = opendir("/proc");
	for (const struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d))
		found = *e->d_name >= '1' && *e->d_name <= '9' && maps(e->d_name, what);
	if (d)
		closedir(d);
	return found;
}

static void sweep_session(DIR *own, const char *name)
{
	struct contact c;
	long process;
	DIR *session = sscanf(name, "pid.%ld", &process) == 1 ? open_own(dirfd(own), name) : NULL;
	bool dead =
	        session && read_contact(dirfd(session), &c) && c.process == process && is_dead(&c) && !is_in_use(c.job);
	if (session)
		closedir(session);
	if (!dead)
		return;
	remove_segments(c.job & FAMILY, FAMILY);
	remove_tree(dirfd(own), name, 0);
}

static void sweep_own(DIR *own, const char *host, size_t length, void *context)
{
	char here[256] = "";
	(void)context;
	if (gethostname(here, sizeof here - 1) || strncmp(here, host, length) || (here[length] && here[length] != '.'))
		return; /* of another machine that has the same folder */
	for (const struct dirent *e = readdir(own); e; e = readdir(own))
		sweep_session(own, e->d_name);
}

void leftovers_sweep(void)
{
	each_own(sweep_own, NULL);
}
