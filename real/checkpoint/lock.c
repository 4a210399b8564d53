#include "real/checkpoint/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "strategy/base/clock.h"
#include "strategy/base/path.h"

/* Ranks whose launcher was killed are gone after as much. */
static const int64_t WAIT_NS = INT64_C(12) * 1000 * 1000 * 1000;
static const struct timespec PAUSE = {0, 50 * 1000 * 1000};
enum { HOST = 64, WORDS = 128 };

/* ---- who has it ---- */

static void host_of(char out[HOST])
{
	if (gethostname(out, HOST))
		snprintf(out, HOST, "?");
	out[HOST - 1] = '\0';
}

/* "4711 on node1" */
static void write_who(int file)
{
	char host[HOST], words[WORDS];
	host_of(host);
	int length = snprintf(words, sizeof words, "%ld on %s\n", (long)getpid(), host);
	if (ftruncate(file, 0) || pwrite(file, words, (size_t)length, 0) != length)
		return; /* on a full disk it says nothing, and locks as well */
}

static void read_who(int file, char out[WORDS])
{
	ssize_t length = pread(file, out, WORDS - 1, 0);
	out[length > 0 ? length : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* A process of this machine that lives: no use to wait for it. */
static bool lives_here(const char *who)
{
	char host[HOST], there[HOST];
	long process;
	host_of(host);
	return sscanf(who, "%ld on %63s", &process, there) == 2 && !strcmp(host, there) && process > 0 &&
	       (!kill((pid_t)process, 0) || errno == EPERM);
}

/* ---- taking it ---- */

enum outcome { TAKEN, HELD, AGAIN, NO_LOCKS };

/* Between opening and locking the file its holder may have removed it: then it has no name. */
static enum outcome try_once(struct checkpoint_lock *l, char who[WORDS])
{
	struct stat info;
	int file = open(l->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (file < 0)
		return NO_LOCKS;
	enum outcome o = !flock(file, LOCK_EX | LOCK_NB) ? TAKEN : errno == EWOULDBLOCK ? HELD : NO_LOCKS;
	if (o == TAKEN && !fstat(file, &info) && !info.st_nlink)
		o = AGAIN;
	if (o == HELD)
		read_who(file, who);
	if (o == TAKEN && file > 0)
		l->file = file;
	else
		close(file);
	return o;
}

static enum status refuse(const char *folder, const char *who)
{
	return status_fail(
	        STATUS_INPUT,
	        "{checkpoint} %.200s: another run writes there%s%.100s; wait for its end, or choose another folder",
	        folder, *who ? ", process " : "", who);
}

enum status checkpoint_lock_take(struct checkpoint_lock *l, const char *folder, const volatile int *stop)
{
	int64_t begun = clock_ns();
	char who[WORDS] = "";
	*l = (struct checkpoint_lock){.path = path_in_folder(folder, CHECKPOINT_LOCK)};
	enum outcome o = try_once(l, who);
	while (o == AGAIN || (o == HELD && !lives_here(who) && !*stop && clock_ns() - begun < WAIT_NS)) {
		nanosleep(&PAUSE, NULL);
		o = try_once(l, who);
	}
	if (o == TAKEN)
		write_who(l->file);
	else
		checkpoint_lock_release(l);
	return o == HELD ? refuse(folder, who) : STATUS_OK;
}

/* Its name goes while nobody else can have it. */
void checkpoint_lock_release(struct checkpoint_lock *l)
{
	if (!l)
		return;
	if (l->file) {
		unlink(l->path);
		close(l->file);
	}
	free(l->path);
	*l = (struct checkpoint_lock){0};
}
