/* Fuzz target: an IDX file, packed or not, from its bytes to its items, every one of which is then read. */
#include "real/data/file.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const struct data_file *f, enum idx_rank rank)
{
	struct idx x;
	if (idx_parse(&x, "input", f->bytes, f->size, rank) != STATUS_OK)
		return;
	unsigned sum = 0;
	for (int64_t i = 0; i < x.count; i++)
		for (int64_t b = 0; b < x.item_bytes; b++)
			sum += x.items[i * x.item_bytes + b];
	if (x.items + x.count * x.item_bytes != f->bytes + f->size || sum > 255U * (unsigned)f->size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct data_file f = {.bytes = malloc(size + 1), .size = (int64_t)size};
	if (!f.bytes)
		return 0;
	memcpy(f.bytes, data, size);
	if (data_file_unpack(&f, "input", LIMIT) == STATUS_OK) {
		if (f.size > LIMIT && f.size != (int64_t)size)
			abort();
		parse(&f, IDX_IMAGES);
		parse(&f, IDX_LABELS);
	}
	data_file_release(&f);
	return 0;
}
