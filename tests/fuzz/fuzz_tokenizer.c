/* Fuzz target: a tokenizer.json, and behind the first byte 0xff a text. What opens must take the text, if that is UTF-8
 * and no pattern gives up on it, and make ids of its vocabulary that become text again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "real/tokenizer/tokenizer.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(enum status s)
{
	if (s != STATUS_INPUT || !status_message()[0] || strchr(status_message(), '\n'))
		abort();
}

static void check_text(const struct tokenizer *t, const char *text, size_t size)
{
	struct token_list ids = {0};
	struct bytes again = {0};
	enum status s = tokenizer_encode(t, text, size, &ids);
	if (s)
		check_line(s);
	for (size_t i = 0; i < ids.count; i++) {
		if (!tokenizer_has(t, ids.list[i]))
			abort();
		tokenizer_decode(t, ids.list[i], i == 0, &again);
	}
	token_list_release(&ids);
	bytes_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0xff, size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;
	int fd = memfd_create("input", MFD_CLOEXEC);
	char path[64];
	struct tokenizer t;
	if (fd < 0)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (length && write(fd, data, length) != (ssize_t)length)
		abort();
	enum status s = tokenizer_open(&t, path);
	if (s)
		check_line(s);
	else
		check_text(&t, end ? (const char *)end + 1 : "", end ? size - length - 1 : 0);
	tokenizer_release(&t);
	close(fd);
	return 0;
}
