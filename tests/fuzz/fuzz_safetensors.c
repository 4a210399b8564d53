/* Fuzz target: a safetensors file. What opens must be free of holes, and every tensor of a readable type must read. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "real/data/safetensors.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_tensor(const struct safetensors *f, const struct safetensors_tensor *t)
{
	enum { ROOM = 5000 };
	float values[ROOM];
	for (int64_t first = 0; first < t->elements; first += ROOM) {
		int64_t count = t->elements - first < ROOM ? t->elements - first : ROOM;
		enum status s = safetensors_read(f, t, first, count, values);
		if ((s == STATUS_OK) != (t->dtype <= SAFETENSORS_BF16))
			abort();
		if (s)
			return;
	}
}

static void check_file(const char *path, int64_t size)
{
	struct safetensors f;
	if (safetensors_open(&f, path) != STATUS_OK) {
		if (!status_message()[0])
			abort();
		return;
	}
	int64_t end = 0;
	for (int i = 0; i < f.count; i++) {
		if (f.tensors[i].begin != end)
			abort();
		end = f.tensors[i].end;
		read_tensor(&f, &f.tensors[i]);
	}
	if (f.data_at + end != size)
		abort();
	safetensors_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (size && write(fd, data, size) != (ssize_t)size)
		abort();
	check_file(path, (int64_t)size);
	close(fd);
	return 0;
}
