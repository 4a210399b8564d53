#include "tests/support/gif.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"

static int byte_of(struct gif *g)
{
	ck_assert(g->at < g->end);
	return *g->at++;
}

static int short_of(struct gif *g)
{
	int low = byte_of(g);
	return low | byte_of(g) << 8;
}

/* LZW, as a reader does it: written from the specification, not from the encoder. */
static void decode(struct gif *g, int x0, int y0, int width, int height)
{
	static unsigned char data[1 << 22], last[4096], text[4097];
	static int prefix[4096];
	size_t size = 0, bit = 0;
	int code_size = byte_of(g), clear = 1 << code_size, bits = code_size + 1, next = clear + 2, old = -1, first = 0;
	ck_assert_int_eq(code_size, 8);
	for (int n; (n = byte_of(g)) > 0;) {
		ck_assert(g->end - g->at >= n && size + (size_t)n <= sizeof data);
		memcpy(data + size, g->at, (size_t)n);
		g->at += n;
		size += (size_t)n;
	}
	for (long done = 0;;) {
		int code = 0;
		for (int i = 0; i < bits; i++, bit++) {
			ck_assert_uint_lt(bit / 8, size);
			code |= (data[bit / 8] >> (bit % 8) & 1) << i;
		}
		if (code == clear) {
			bits = code_size + 1;
			next = clear + 2;
			old = -1;
			continue;
		}
		if (code == clear + 1) {
			ck_assert_int_eq(done, (long)width * height);
			return;
		}
		int n = 0, c = code;
		ck_assert(code < next || (code == next && old >= 0));
		if (code == next) {
			text[n++] = (unsigned char)first;
			c = old;
		}
		for (; c >= clear; c = prefix[c])
			text[n++] = last[c];
		text[n++] = (unsigned char)c;
		first = c;
		while (n > 0) {
			ck_assert_int_lt(done, (long)width * height);
			g->indices[(y0 + done / width) * g->width + x0 + done % width] = text[--n];
			done++;
		}
		if (old >= 0 && next < 4096) {
			prefix[next] = old;
			last[next++] = (unsigned char)first;
			if (next == 1 << bits && bits < 12)
				bits++;
		}
		old = code;
	}
}

bool gif_next(struct gif *g, int *delay)
{
	for (;;) {
		int what = byte_of(g);
		if (what == 0x3B) {
			ck_assert(g->at == g->end);
			return false;
		}
		if (what == 0x21) {
			int kind = byte_of(g);
			if (kind == 0xF9)
				*delay = g->at[2] | g->at[3] << 8;
			for (int n; (n = byte_of(g)) > 0;)
				g->at += n;
			continue;
		}
		ck_assert_int_eq(what, 0x2C);
		int x = short_of(g), y = short_of(g), width = short_of(g), height = short_of(g);
		ck_assert_int_eq(byte_of(g), 0);
		ck_assert(x + width <= g->width && y + height <= g->height);
		decode(g, x, y, width, height);
		return true;
	}
}

void gif_open(struct gif *g, const void *bytes, size_t length)
{
	*g = (struct gif){.at = bytes, .end = (const unsigned char *)bytes + length};
	ck_assert(length > 13 + sizeof g->palette && !memcmp(bytes, "GIF89a", 6));
	g->at += 6;
	g->width = short_of(g);
	g->height = short_of(g);
	g->at += 3;
	memcpy(g->palette, g->at, sizeof g->palette);
	g->at += sizeof g->palette;
	g->indices = calloc((size_t)g->width, (size_t)g->height);
	ck_assert_ptr_nonnull(g->indices);
}

void gif_release(struct gif *g)
{
	free(g->indices);
	*g = (struct gif){0};
}
