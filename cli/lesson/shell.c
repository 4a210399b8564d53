#define _GNU_SOURCE /* nftw, pipe2 */
#include "cli/lesson/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strategy/base/arena.h"
#include "strategy/base/clock.h"
#include "strategy/base/path.h"

enum { MOST_SECONDS = 300, MOST_OUTPUT = 4 << 20 };

/* ---- the folder ---- */

static enum status fail(const char *what, const char *path)
{
	return status_fail(STATUS_RUN, "lesson: cannot %s %.200s: %s", what, path, strerror(errno));
}

static enum status link_to(const struct place *p, const char *target, const char *name)
{
	char path[sizeof p->folder + 32];
	snprintf(path, sizeof path, "%s/%s", p->folder, name);
	return symlink(target, path) ? fail("make", path) : STATUS_OK;
}

static enum status make_folder(const struct place *p, const char *name)
{
	char path[sizeof p->folder + 32];
	snprintf(path, sizeof path, "%s/%s", p->folder, name);
	return mkdir(path, 0700) ? fail("make", path) : STATUS_OK;
}

enum status place_open(struct place *p, const char *lessons)
{
	char program[PATH_OF_PROGRAM], *folder = realpath(lessons, NULL);
	const char *root = getenv("TMPDIR"), *path = getenv("PATH");
	*p = (struct place){0};
	if (!folder || !path_of_program(program)) {
		free(folder);
		return fail("find", lessons);
	}
	snprintf(p->folder, sizeof p->folder, "%.200s/shardlab-lesson.XXXXXX", root && *root ? root : "/tmp");
	if (!mkdtemp(p->folder)) {
		p->folder[0] = 0;
		free(folder);
		return fail("make a folder in", root && *root ? root : "/tmp");
	}
	if (asprintf(&p->path, "%s/.bin:%s", p->folder, path ? path : "/usr/bin:/bin") < 0)
		abort();
	enum status s = make_folder(p, ".bin");
	s = s ? s : link_to(p, program, ".bin/shardlab");
	s = s ? s : link_to(p, folder, "lessons");
	s = s ? s : link_to(p, "lessons/../tools", "tools");
	free(folder);
	if (s)
		place_close(p);
	return s;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void place_close(struct place *p)
{
	if (!p)
		return;
	if (*p->folder)
		nftw(p->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(p->path);
	*p = (struct place){0};
}

/* ---- a command ---- */

/* In the child. */
static _Noreturn void become(const struct place *p, const char *command)
{
	setenv("PATH", p->path, 1);
	if (chdir(p->folder))
		_exit(126);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* Nothing of this machine's, no terminal, no colours, and a group of processes of its own. */
static void shut_off(const struct place *p, int out)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	setpgid(0, 0);
	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(126);
	setenv("XDG_CACHE_HOME", p->folder, 1);
	setenv("XDG_CONFIG_HOME", p->folder, 1);
	setenv("XDG_STATE_HOME", p->folder, 1);
	setenv("SHARDLAB_CONFIG", "local.yaml", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("LANGUAGE");
	setenv("NO_COLOR", "1", 1);
	unsetenv("COLUMNS");
}

/* Reads to the end; false: it takes too long, or is too much. */
static bool read_all(int in, char **output)
{
	size_t at = 0, capacity = 0;
	int64_t end = clock_ns() / 1000000 + MOST_SECONDS * 1000;
	char *text = NULL;
	ssize_t n = 1;
	while (n > 0 && at < MOST_OUTPUT) {
		struct pollfd one = {.fd = in, .events = POLLIN};
		int64_t left = end - clock_ns() / 1000000;
		if (left <= 0 || poll(&one, 1, (int)left) <= 0)
			break;
		text = array_reserve(text, at + 1024, &capacity, 1);
		n = read(in, text + at, 1024);
		at += n > 0 ? (size_t)n : 0;
	}
	text = array_reserve(text, at, &capacity, 1);
	text[at] = 0;
	*output = text;
	return n == 0;
}

enum status place_run(const struct place *p, const char *command, char **output, int *exit_status)
{
	int ends[2], status = 0;
	*output = NULL;
	if (pipe2(ends, O_CLOEXEC))
		return fail("start", command);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		shut_off(p, ends[1]);
		become(p, command);
	}
	close(ends[1]);
	bool whole = child > 0 && read_all(ends[0], output);
	close(ends[0]);
	if (child > 0 && !whole)
		kill(-child, SIGKILL);
	if (child < 0 || waitpid(child, &status, 0) < 0 || !whole) {
		free(*output);
		*output = NULL;
		return status_fail(STATUS_RUN, "'%.120s' did not end within %d s, or printed too much", command,
		                   MOST_SECONDS);
	}
	*exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return STATUS_OK;
}

enum status place_try(const struct place *p, const char *command, bool *succeeds)
{
	char *printed;
	int exit_status = 0;
	enum status s = place_run(p, command, &printed, &exit_status);
	*succeeds = !s && exit_status == 0;
	free(printed);
	return s;
}

enum status place_show(const struct place *p, const char *command, int *exit_status)
{
	int status = 0;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		become(p, command);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return fail("start", command);
	*exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return STATUS_OK;
}
