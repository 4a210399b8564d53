/* The file of --hosts: reading it, and placing ranks. Starts nothing, so that a parser's fuzz target needs no MPI. */
#include "cli/command/hosts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/reach.h"
#include "strategy/base/file.h"

/* ---- reading ---- */

struct reader {
	const char *file, *line; /* the line at hand */
	const char *at, *end;    /* the rest of the line */
	int64_t number;
};

static enum status __attribute__((format(printf, 3, 4)))
refuse(const struct reader *r, const char *at, const char *format, ...)
{
	char what[96];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return status_fail(STATUS_INPUT, "%s:%" PRId64 ":%td: %s", r->file, r->number, at - r->line + 1, what);
}

/* The next word of the line; empty at its end. */
static size_t next_word(struct reader *r, const char **word)
{
	while (r->at < r->end && isspace((unsigned char)*r->at))
		r->at++;
	*word = r->at;
	while (r->at < r->end && !isspace((unsigned char)*r->at))
		r->at++;
	return (size_t)(r->at - *word);
}

/* A name that mpirun's --host accepts and that ssh does not take for an option. */
static bool is_name(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)word[i]) && (!i || !strchr("._-", word[i])))
			return false;
	return length > 0 && length < 256;
}

static enum status read_slots(const struct reader *r, const char *word, size_t length, int64_t *slots)
{
	static const char key[] = "slots=";
	char digits[16], *end;
	size_t n = sizeof key - 1;
	if (length <= n || strncmp(word, key, n) != 0 || length - n >= sizeof digits)
		return refuse(r, word, "after a host's name stands nothing or slots=N");
	snprintf(digits, sizeof digits, "%.*s", (int)(length - n), word + n);
	long long value = isdigit((unsigned char)*digits) ? strtoll(digits, &end, 10) : 0;
	if (value < 1 || value > HOST_SLOTS_MOST || *end)
		return refuse(r, word + n, "slots is a whole number from 1 to %d", HOST_SLOTS_MOST);
	*slots = value;
	return STATUS_OK;
}

static bool is_known(const struct hosts *h, const char *word, size_t length)
{
	for (size_t i = 0; i < h->count; i++)
		if (strlen(h->list[i].name) == length && !memcmp(h->list[i].name, word, length))
			return true;
	return false;
}

static enum status read_line(struct hosts *h, struct reader *r)
{
	const char *name, *word;
	int64_t slots = 1;
	size_t length = next_word(r, &name), more;
	if (!length)
		return STATUS_OK;
	if (!is_name(name, length))
		return refuse(r, name, "a host is a name or an address, of letters, digits and . _ -");
	if (is_known(h, name, length))
		return refuse(r, name, "this host was named before; say slots=N once");
	if (h->count == HOSTS_MOST)
		return refuse(r, name, "more than %d hosts", HOSTS_MOST);
	more = next_word(r, &word);
	TRY(more ? read_slots(r, word, more, &slots) : STATUS_OK);
	if (next_word(r, &word))
		return refuse(r, word, "a line has a host and its slots, and no more");
	*ARRAY_ADD(h->list, h->count, h->capacity) =
	        (struct host){arena_print(&h->arena, "%.*s", (int)length, name), slots};
	return STATUS_OK;
}

enum status hosts_parse(struct hosts *h, const char *text, size_t size, const char *file)
{
	struct reader r = {.file = file};
	enum status s = STATUS_OK;
	*h = (struct hosts){.list = NULL};
	for (const char *next, *end = text + size; text < end && !s; text = next) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;
		const char *comment = memchr(text, '#', (size_t)(stop - text));
		next = newline ? newline + 1 : end;
		r.line = r.at = text;
		r.end = comment ? comment : stop;
		r.number++;
		s = read_line(h, &r);
	}
	if (!s && !h->count)
		s = status_fail(STATUS_INPUT, "%s: there is no host in it; a line is: node1 slots=2", file);
	if (s)
		hosts_release(h);
	return s;
}

static enum status leave_out_gone(struct hosts *h, const char *path)
{
	size_t kept = 0;
	for (size_t i = 0; i < h->count; i++)
		if (!reach_is_gone(h->list[i].name))
			h->list[kept++] = h->list[i];
	h->count = kept;
	if (kept)
		return STATUS_OK;
	hosts_release(h);
	return status_fail(STATUS_RUN, "%s: none of the hosts answers", path);
}

enum status hosts_read_all(struct hosts *h, const char *path)
{
	enum { MOST = 1 << 24 };
	char *text;
	size_t size;
	*h = (struct hosts){.list = NULL};
	TRY(file_read(path, "{hosts}", MOST, &text, &size));
	enum status s = hosts_parse(h, text, size, path);
	free(text);
	return s;
}

enum status hosts_read(struct hosts *h, const char *path)
{
	enum status s = hosts_read_all(h, path);
	return s ? s : leave_out_gone(h, path);
}

void hosts_release(struct hosts *h)
{
	free(h->list);
	arena_release(&h->arena);
	*h = (struct hosts){.list = NULL};
}

/* ---- placing ---- */

int64_t hosts_slots(const struct hosts *h)
{
	int64_t sum = 0;
	for (size_t i = 0; i < h->count; i++)
		sum += h->list[i].slots;
	return sum;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

enum status hosts_place(const struct hosts *h, int64_t ranks, int64_t *hosts, int64_t *each)
{
	int64_t left = ranks;
	*hosts = 0;
	*each = smaller(ranks, h->count ? h->list[0].slots : 0);
	if (ranks > hosts_slots(h))
		return status_fail(STATUS_INPUT,
		                   "{ranks} %" PRId64 ": the hosts have slots for %" PRId64
		                   "; use fewer, or say slots=N behind their names",
		                   ranks, hosts_slots(h));
	for (size_t i = 0; i < h->count && left; i++, ++*hosts) {
		int64_t here = smaller(left, h->list[i].slots);
		left -= here;
		if (here > *each || (here < *each && left))
			return status_fail(STATUS_INPUT,
			                   "{hosts}: of %" PRId64 " ranks %s would have %" PRId64 " and %s %" PRId64
			                   "; give each host as many slots, but the last, which may have fewer",
			                   ranks, h->list[0].name, *each, h->list[i].name, here);
	}
	return STATUS_OK;
}

const char *hosts_list(struct hosts *h)
{
	size_t bytes = 1;
	for (size_t i = 0; i < h->count; i++)
		bytes += strlen(h->list[i].name) + 8;
	char *list = arena_alloc(&h->arena, bytes), *at = list;
	for (size_t i = 0; i < h->count; i++)
		at += sprintf(at, "%s%s:%" PRId64, i ? "," : "", h->list[i].name, h->list[i].slots);
	return list;
}

bool hosts_is_here(const char *name)
{
	char own[256] = "";
	return !gethostname(own, sizeof own - 1) && !strcmp(own, name);
}

const char *hosts_name(const struct hosts *h, int64_t rank)
{
	for (size_t i = 0; i < h->count; i++) {
		if (rank < h->list[i].slots)
			return h->list[i].name;
		rank -= h->list[i].slots;
	}
	return "";
}
