#include "cli/lesson/export/embed.h"

#include <stdlib.h>
#include <zlib.h>

#include "strategy/base/file.h"

enum { MOST_PICTURE = 64 << 20 };

static void embed_bytes(const void *bytes, size_t size, FILE *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *b = bytes;
	for (size_t i = 0; i < size; i += 3) {
		size_t n = size - i < 3 ? size - i : 3;
		unsigned v = (unsigned)b[i] << 16 | (n > 1 ? (unsigned)b[i + 1] << 8 : 0) | (n > 2 ? b[i + 2] : 0U);
		fputc(digits[v >> 18], out);
		fputc(digits[v >> 12 & 63], out);
		fputc(n > 1 ? digits[v >> 6 & 63] : '=', out);
		fputc(n > 2 ? digits[v & 63] : '=', out);
	}
}

enum status embed_packed(const char *text, size_t length, FILE *out)
{
	uLongf size = compressBound(length);
	Bytef *packed = malloc(size);
	if (!packed || compress2(packed, &size, (const Bytef *)text, length, Z_BEST_COMPRESSION) != Z_OK) {
		free(packed);
		return status_fail(STATUS_MEMORY, "no memory for the page");
	}
	embed_bytes(packed, size, out);
	free(packed);
	return STATUS_OK;
}

enum status embed_png(const char *path, FILE *out)
{
	char *bytes;
	size_t size;
	TRY(file_read(path, "picture", MOST_PICTURE, &bytes, &size));
	fputs("data:image/png;base64,", out);
	embed_bytes(bytes, size, out);
	free(bytes);
	return STATUS_OK;
}
