#include "cli/command/reach.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "strategy/base/clock.h"

/* The kernel repeats a request after one second and after three: a host that comes back in between is asked anew. */
enum { ASKED_AT_ONCE = 4 };
#define ASK_EVERY_NS INT64_C(1000000000)
#define SETTLE_NS (2 * ASK_EVERY_NS)

struct watched {
	char name[256];
	struct sockaddr_storage address;
	socklen_t length;
	int fd[ASKED_AT_ONCE]; /* the oldest at `next`; -1: none */
	int next;
	int64_t asked_ns;   /* last */
	int64_t missing_ns; /* since when nothing was answered; 0: the last was */
	bool known;         /* it has answered once, or there is no route */
	bool gone;
};

static struct watched list[REACH_MOST];
static int count;

/* ---- asking one ---- */

static void forget(struct watched *w)
{
	for (int i = 0; i < ASKED_AT_ONCE; i++) {
		if (w->fd[i] >= 0)
			close(w->fd[i]);
		w->fd[i] = -1;
	}
}

static void take_answer(struct watched *w, int i, int error)
{
	if (!error || error == ECONNREFUSED) {
		forget(w);
		w->missing_ns = 0;
		w->known = true;
		return;
	}
	close(w->fd[i]);
	w->fd[i] = -1;
	w->known |= error == EHOSTUNREACH || error == ENETUNREACH;
}

static void ask(struct watched *w)
{
	int i = w->next;
	w->next = (i + 1) % ASKED_AT_ONCE;
	w->asked_ns = clock_ns();
	if (w->fd[i] >= 0)
		close(w->fd[i]);
	w->fd[i] = socket(w->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (w->fd[i] < 0)
		return;
	w->missing_ns = w->missing_ns ? w->missing_ns : w->asked_ns;
	int error = connect(w->fd[i], (struct sockaddr *)&w->address, w->length) ? errno : 0;
	if (error != EINPROGRESS)
		take_answer(w, i, error);
}

static void take_answers(struct watched *w)
{
	for (int i = 0; i < ASKED_AT_ONCE; i++) {
		struct pollfd p = {.fd = w->fd[i], .events = POLLOUT};
		int error = 0;
		socklen_t size = sizeof error;
		if (w->fd[i] >= 0 && poll(&p, 1, 0) > 0 && !getsockopt(w->fd[i], SOL_SOCKET, SO_ERROR, &error, &size))
			take_answer(w, i, error);
	}
}

static void look_at(struct watched *w)
{
	take_answers(w);
	if (clock_ns() - w->asked_ns >= ASK_EVERY_NS)
		ask(w);
}

static int64_t missed_ns(const struct watched *w)
{
	return w->known && w->missing_ns ? clock_ns() - w->missing_ns : 0;
}

static bool is_missing(const struct watched *w, int64_t limit_ns)
{
	return w->known && w->missing_ns && missed_ns(w) >= limit_ns;
}

/* ---- all ---- */

static struct watched *find(const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

static void watch(const char *name)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found;
	struct watched *w = &list[count];
	if (count == REACH_MOST || find(name) || hosts_is_here(name) || getaddrinfo(name, "22", &wanted, &found) != 0)
		return;
	*w = (struct watched){.length = found->ai_addrlen, .fd = {-1, -1, -1, -1}};
	snprintf(w->name, sizeof w->name, "%s", name);
	memcpy(&w->address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	count++;
	ask(w);
}

void reach_watch(const struct hosts *h)
{
	for (size_t i = 0; i < h->count; i++)
		watch(h->list[i].name);
}

void reach_look(void)
{
	for (int i = 0; i < count; i++)
		look_at(&list[i]);
}

void reach_rest(void)
{
	for (int i = 0; i < count; i++) {
		take_answers(&list[i]);
		if (!list[i].known) /* whether it answers at all is still to be seen */
			continue;
		forget(&list[i]);
		list[i].missing_ns = 0;
	}
}

int64_t reach_missed_ns(const char *name)
{
	const struct watched *w = find(name);
	return w ? missed_ns(w) : 0;
}

bool reach_is_awaited(const char *name)
{
	const struct watched *w = find(name);
	return w && w->known && w->missing_ns;
}

const char *reach_missing(const struct hosts *h, int64_t limit_ns)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct watched *w = find(h->list[i].name);
		if (w && is_missing(w, limit_ns))
			return w->name;
	}
	return NULL;
}

void reach_expect(const struct hosts *h)
{
	for (size_t i = 0; i < h->count; i++) {
		struct watched *w = find(h->list[i].name);
		if (w)
			w->known = true;
	}
}

/* Has each answered since `begun`, or had its time? */
static bool is_settled(int64_t begun)
{
	for (int i = 0; i < count; i++) {
		const struct watched *w = &list[i];
		bool answered = w->asked_ns >= begun && !w->missing_ns;
		if (w->known && !answered && !is_missing(w, SETTLE_NS))
			return false;
	}
	return true;
}

bool reach_settle(void)
{
	const struct timespec pause = {0, 50 * 1000 * 1000};
	int64_t begun = clock_ns();
	bool changed = false;
	for (int i = 0; i < count; i++)
		if (!list[i].missing_ns)
			ask(&list[i]);
	for (reach_look(); !is_settled(begun); reach_look())
		nanosleep(&pause, NULL);
	for (int i = 0; i < count; i++) {
		bool gone = is_missing(&list[i], SETTLE_NS);
		changed |= gone != list[i].gone;
		list[i].gone = gone;
	}
	return changed;
}

bool reach_is_gone(const char *name)
{
	const struct watched *w = find(name);
	return w && w->gone;
}

void reach_list_gone(char *out, size_t size)
{
	size_t n = 0;
	*out = 0;
	for (int i = 0; i < count && n < size; i++)
		if (list[i].gone)
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", list[i].name);
}
