#include "cli/command/line_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy/base/arena.h"

static void give_lines(struct line_reader *r, bool at_end)
{
	size_t begin = 0;
	for (;;) {
		char *end = memchr(r->text + begin, '\n', r->length - begin);
		if (!end)
			break;
		*end = 0;
		r->on_line(r->context, r->text + begin);
		begin = (size_t)(end + 1 - r->text);
	}
	memmove(r->text, r->text + begin, r->length - begin);
	r->length -= begin;
	if (at_end && r->length) {
		r->text[r->length] = 0; /* array_reserve left room */
		r->on_line(r->context, r->text);
		r->length = 0;
	}
}

void line_reader_read(struct line_reader *r)
{
	enum { PIECE = 65536 };
	r->text = array_reserve(r->text, r->length + PIECE + 1, &r->capacity, 1);
	ssize_t n = read(r->fd, r->text + r->length, PIECE);
	if (n < 0 && errno == EINTR)
		return;
	if (n > 0)
		r->length += (size_t)n;
	give_lines(r, n <= 0);
	if (n <= 0) {
		close(r->fd);
		r->fd = -1;
	}
}

void line_reader_release(struct line_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	free(r->text);
	r->text = NULL;
}
