#define _GNU_SOURCE /* O_PATH */
#include "strategy/base/output.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "strategy/base/arena.h"
#include "strategy/base/path.h"

#define SUFFIX ".partial"

/* The temporary of a long name has its beginning alone, so that it is not too long itself. */
enum { NAME_KEPT = 200, NAME_TRIES = 1000 };

struct output {
	_Atomic(struct output *) next; /* of those that this process has open */
	char setting[64];
	char target[PATH_MAX];
	char temporary[PATH_MAX + NAME_MAX]; /* path, for others */
	char name[NAME_MAX + 1];             /* of the temporary, in its folder */
	int folder;                          /* -1: the target itself is written into */
	int descriptor;                      /* -1: closed */
	atomic_bool owns_temporary;
};

/* A signal handler reads the list, so it holds at every moment. */
static _Atomic(struct output *) opened;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static void list_add(struct output *o)
{
	pthread_mutex_lock(&list_lock);
	atomic_store(&o->next, atomic_load(&opened));
	atomic_store(&opened, o);
	pthread_mutex_unlock(&list_lock);
}

static void list_remove(const struct output *o)
{
	pthread_mutex_lock(&list_lock);
	_Atomic(struct output *) *at = &opened;
	while (atomic_load(at) && atomic_load(at) != o)
		at = &atomic_load(at)->next;
	if (atomic_load(at))
		atomic_store(at, atomic_load(&o->next));
	pthread_mutex_unlock(&list_lock);
}

void outputs_abandon(void)
{
	for (struct output *o = atomic_load(&opened); o; o = atomic_load(&o->next))
		if (atomic_exchange(&o->owns_temporary, false))
			unlinkat(o->folder, o->name, 0);
}

/* ---- where the target stands ---- */

static enum status cannot_write(const struct output *o, enum status s, const char *why)
{
	return status_fail(s, "%s: cannot write '%.600s': %s", o->setting, o->target, why);
}

static int open_folder(const char *path)
{
	char folder[PATH_MAX];
	size_t length = (size_t)(path_name(path) - path);
	snprintf(folder, sizeof folder, "%.*s", (int)length, path);
	return open(length ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A user who sends stdout to a file and names /dev/stdout wants it in that file, behind what stands there. */
static int standard_stream(const struct stat *target)
{
	struct stat stream;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &stream) && same_file(&stream, target))
			return fd;
	return -1;
}

/* The file that a link leads to, as the kernel has found it. */
static bool follow_link(struct output *o, int file)
{
	char proc[64], place[PATH_MAX];
	struct stat info;
	if (lstat(o->target, &info) || !S_ISLNK(info.st_mode))
		return true;
	snprintf(proc, sizeof proc, "/proc/self/fd/%d", file);
	ssize_t n = readlink(proc, place, sizeof place - 1);
	if (n <= 0)
		return false;
	place[n] = 0;
	memcpy(o->target, place, (size_t)n + 1);
	return true;
}

/* Nothing stands there, or a link to nothing: a link that someone planted would make a file of his choice. */
static enum status check_absent(const struct output *o)
{
	struct stat info;
	const char *name = path_name(o->target);
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return cannot_write(o, STATUS_INPUT, *o->target ? "it is a folder" : "the name is empty");
	if (!lstat(o->target, &info) && S_ISLNK(info.st_mode))
		return cannot_write(o, STATUS_INPUT, "it is a symbolic link to a file that is not there");
	return STATUS_OK;
}

static enum status write_into(struct output *o, int file)
{
	int flags = fcntl(file, F_GETFL);
	if (flags < 0 || fcntl(file, F_SETFL, flags & ~O_NONBLOCK)) {
		close(file);
		return cannot_write(o, STATUS_INPUT, strerror(errno));
	}
	fflush(stdout);           /* it may be the target, and what was printed comes first */
	signal(SIGPIPE, SIG_IGN); /* a reader that goes away is a write that fails, and is told */
	o->descriptor = file;
	return STATUS_OK;
}

/* -1, with ENXIO: a FIFO whose reader does not come within some seconds. */
static int open_to_write(const char *path)
{
	enum { TRIES = 100 };
	const struct timespec pause = {0, 50 * 1000 * 1000};
	int file = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	for (int i = 0; i < TRIES && file < 0 && errno == ENXIO; i++) {
		nanosleep(&pause, NULL);
		file = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	return file;
}

static const char *why_not(int error)
{
	return error == EISDIR  ? "it is a folder"
	       : error == ENXIO ? "nobody reads it; start its reader first"
	                        : strerror(error);
}

/* Opened as a writer would, without truncation: so the kernel judges permissions and links. there: whether a regular
 * file is to be replaced, described by *info. */
static enum status look_at_target(struct output *o, struct stat *info, bool *there)
{
	int file = open_to_write(o->target);
	*there = false;
	if (file < 0 && errno == ENOENT)
		return check_absent(o);
	if (file < 0)
		return cannot_write(o, STATUS_INPUT, why_not(errno));
	if (fstat(file, info))
		memset(info, 0, sizeof *info);
	if (!S_ISREG(info->st_mode))
		return write_into(o, file);
	int stream = standard_stream(info);
	*there = stream < 0;
	bool found = stream >= 0 || follow_link(o, file);
	close(file);
	if (!found)
		return cannot_write(o, STATUS_INPUT, "where the link leads cannot be found out");
	return *there ? STATUS_OK : write_into(o, fcntl(stream, F_DUPFD_CLOEXEC, 0));
}

/* ---- temporaries ---- */

static void name_begin(char *out, size_t size, const char *target)
{
	snprintf(out, size, "%.*s.", NAME_KEPT, path_name(target));
}

static const char *skip_number(const char *p)
{
	const char *begin = p;
	while (isdigit((unsigned char)*p))
		p++;
	return p > begin ? p : NULL;
}

/* NAME.PID.N.partial */
static bool is_temporary(const char *entry, const char *begin)
{
	size_t length = strlen(begin);
	if (strncmp(entry, begin, length))
		return false;
	const char *p = skip_number(entry + length);
	p = p && *p == '.' ? skip_number(p + 1) : NULL;
	return p && !strcmp(p, SUFFIX);
}

/* The lock goes with its holder, however it ends. A file system without locks keeps what is left. */
static void remove_if_left(int folder, const char *entry)
{
	struct stat info;
	int file = openat(folder, entry, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file < 0)
		return;
	if (!fstat(file, &info) && S_ISREG(info.st_mode) && info.st_uid == geteuid() && !flock(file, LOCK_EX | LOCK_NB))
		unlinkat(folder, entry, 0);
	close(file);
}

static void sweep(int folder, const char *target)
{
	char begin[NAME_KEPT + 2];
	int listed = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = listed < 0 ? NULL : fdopendir(listed);
	if (!d) {
		if (listed >= 0)
			close(listed);
		return;
	}
	name_begin(begin, sizeof begin, target);
	for (const struct dirent *e = readdir(d); e; e = readdir(d))
		if (is_temporary(e->d_name, begin))
			remove_if_left(folder, e->d_name);
	closedir(d);
}

/* Between making a file and locking it, a sweep may take it away: then it has no name. */
static bool try_name(struct output *o, mode_t mode)
{
	struct stat info;
	o->descriptor = openat(o->folder, o->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (o->descriptor < 0)
		return false;
	atomic_store(&o->owns_temporary, true);
	if ((!flock(o->descriptor, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) &&
	    (fstat(o->descriptor, &info) || info.st_nlink))
		return true;
	atomic_store(&o->owns_temporary, false);
	close(o->descriptor);
	o->descriptor = -1;
	errno = EEXIST;
	return false;
}

static enum status make_temporary(struct output *o, mode_t mode)
{
	char begin[NAME_KEPT + 2];
	name_begin(begin, sizeof begin, o->target);
	for (int i = 0; i < NAME_TRIES; i++) {
		snprintf(o->name, sizeof o->name, "%s%ld.%d" SUFFIX, begin, (long)getpid(), i);
		if (try_name(o, mode))
			break;
		if (errno != EEXIST)
			break;
	}
	if (o->descriptor < 0)
		return cannot_write(o, STATUS_INPUT, strerror(errno));
	snprintf(o->temporary, sizeof o->temporary, "%.*s%s", (int)(path_name(o->target) - o->target), o->target,
	         o->name);
	return STATUS_OK;
}

/* The owner is root's to keep; others keep the group if they are in it. Without it nobody gains a permission. */
static enum status take_over(const struct output *o, const struct stat *old)
{
	struct stat own;
	mode_t mode = old->st_mode & 0777;
	if (fstat(o->descriptor, &own))
		return cannot_write(o, STATUS_INPUT, strerror(errno));
	if ((own.st_uid != old->st_uid || own.st_gid != old->st_gid) &&
	    fchown(o->descriptor, old->st_uid, old->st_gid) && fchown(o->descriptor, (uid_t)-1, old->st_gid))
		mode &= (mode_t)~070;
	return fchmod(o->descriptor, mode) ? cannot_write(o, STATUS_INPUT, strerror(errno)) : STATUS_OK;
}

static enum status open_beside(struct output *o, const struct stat *old, bool there)
{
	o->folder = open_folder(o->target);
	if (o->folder < 0)
		return cannot_write(o, STATUS_INPUT, strerror(errno));
	sweep(o->folder, o->target);
	list_add(o);
	enum status s = make_temporary(o, there ? 0600 : 0666);
	return s || !there ? s : take_over(o, old);
}

/* ---- the calls ---- */

static enum status make(struct output **out, const char *path, const char *setting)
{
	struct output *o = *out = array_make(1, sizeof *o);
	o->folder = o->descriptor = -1;
	snprintf(o->setting, sizeof o->setting, "%s", status_words(setting));
	if (strlen(path) < sizeof o->target) {
		memcpy(o->target, path, strlen(path) + 1);
		return STATUS_OK;
	}
	output_close(o);
	*out = NULL;
	return status_fail(STATUS_INPUT, "%s: the path is too long", status_words(setting));
}

enum status output_open(struct output **out, const char *path, const char *setting)
{
	struct stat info;
	bool there;
	enum status s = make(out, path, setting);
	struct output *o = *out;
	if (s || !o)
		return s;
	s = look_at_target(o, &info, &there);
	if (!s && o->descriptor < 0)
		s = open_beside(o, &info, there);
	if (s) {
		output_close(o);
		*out = NULL;
	}
	return s;
}

int output_descriptor(const struct output *o)
{
	return o->descriptor;
}

const char *output_temporary(const struct output *o)
{
	return o->folder >= 0 ? o->temporary : NULL;
}

static bool close_descriptor(struct output *o)
{
	int file = o->descriptor;
	o->descriptor = -1;
	return !close(file);
}

enum status output_finish(struct output *o)
{
	if (o->folder < 0)
		return close_descriptor(o) ? STATUS_OK : cannot_write(o, STATUS_RUN, strerror(errno));
	/* The data reaches the disk before the name does: a power failure leaves the old file or the new one. The lock
	 * is held until the name is given. */
	if (fsync(o->descriptor) || renameat(o->folder, o->name, o->folder, path_name(o->target)))
		return cannot_write(o, STATUS_RUN, strerror(errno));
	atomic_store(&o->owns_temporary, false);
	if (!close_descriptor(o))
		return cannot_write(o, STATUS_RUN, strerror(errno));
	/* Some file systems cannot sync a folder, and say EINVAL. */
	if (fsync(o->folder) && errno != EINVAL)
		return cannot_write(o, STATUS_RUN, strerror(errno));
	return STATUS_OK;
}

void output_close(struct output *o)
{
	if (!o)
		return;
	if (atomic_exchange(&o->owns_temporary, false))
		unlinkat(o->folder, o->name, 0);
	list_remove(o);
	if (o->descriptor >= 0)
		close(o->descriptor);
	if (o->folder >= 0)
		close(o->folder);
	free(o);
}

static enum status refuse_place(const char *path, const char *setting, int error)
{
	return status_fail(STATUS_INPUT, "%s: cannot write '%.600s': %s", status_words(setting), path, why_not(error));
}

/* It stays open as long as this process lives: closing it would be its end for the reader. */
static enum status check_fifo(const char *path, const char *setting)
{
	return open_to_write(path) < 0 ? refuse_place(path, setting, errno) : STATUS_OK;
}

bool output_is_special(const char *path)
{
	struct stat info;
	return !stat(path, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

enum status output_check(const char *path, const char *setting)
{
	struct stat info;
	struct output *o;
	if (!stat(path, &info) && S_ISFIFO(info.st_mode))
		return check_fifo(path, setting);
	if (output_is_special(path))
		return access(path, W_OK) ? refuse_place(path, setting, errno) : STATUS_OK;
	TRY(output_open(&o, path, setting));
	output_close(o);
	return STATUS_OK;
}

void output_sweep(const char *path)
{
	char target[PATH_MAX];
	const char *place = realpath(path, target) ? target : path;
	int folder = open_folder(place);
	if (folder < 0)
		return;
	sweep(folder, place);
	close(folder);
}
