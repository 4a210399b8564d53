#include "real/data/file.h"

#include <stdbool.h>

enum { IDX_UNSIGNED_BYTE = 8 };

static uint32_t big_endian(const unsigned char *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

enum status idx_parse(struct idx *x, const char *name, const unsigned char *bytes, int64_t size, enum idx_rank rank)
{
	const char *what = rank == IDX_IMAGES ? "images" : "labels";
	int64_t header = 4 + 4 * (int64_t)rank;
	uint32_t magic = (uint32_t)IDX_UNSIGNED_BYTE << 8 | (uint32_t)rank;
	if (size < 4 || big_endian(bytes) != magic)
		return status_fail(STATUS_INPUT, "%s: not an IDX file of %s: it must begin with the bytes %08x (hex)",
		                   name, what, (unsigned)magic);
	if (size < header)
		return status_fail(STATUS_INPUT,
		                   "%s: truncated, %lld bytes where the header has %lld; download it again", name,
		                   (long long)size, (long long)header);

	int64_t count = big_endian(bytes + 4), item = 1, total = 0;
	bool too_large = false;
	for (int i = 1; i < (int)rank; i++)
		too_large |= __builtin_mul_overflow(item, (int64_t)big_endian(bytes + 4 + 4 * i), &item);
	if (!too_large && (count == 0 || item == 0))
		return status_fail(STATUS_INPUT, "%s: holds no %s (a dimension is 0)", name, what);
	too_large |= __builtin_mul_overflow(count, item, &total) || total > INT64_MAX - header;
	if (too_large || size < header + total)
		return status_fail(STATUS_INPUT,
		                   "%s: truncated, %lld bytes do not hold the %lld %s of its header; download it again",
		                   name, (long long)size, (long long)count, what);
	if (size > header + total)
		return status_fail(STATUS_INPUT, "%s: %lld bytes of trailing data behind %lld %s; download it again",
		                   name, (long long)(size - header - total), (long long)count, what);
	*x = (struct idx){.count = count, .item_bytes = item, .items = bytes + header};
	return STATUS_OK;
}
