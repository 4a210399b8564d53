#include "strategy/recipe/reading.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

int reading_column(const struct reading *r)
{
	return (int)(r->at - r->line_begin) + 1;
}

enum status reading_fail(const struct reading *r, const char *format, ...)
{
	char text[256];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	return status_fail(STATUS_INPUT, "%s:%d:%d: %s", r->f->where, r->line, reading_column(r), text);
}

int reading_peek(const struct reading *r, int ahead)
{
	return r->end - r->at > ahead ? (unsigned char)r->at[ahead] : -1;
}

void reading_step(struct reading *r)
{
	if (*r->at++ == '\n') {
		r->line++;
		r->line_begin = r->at;
	}
}

size_t reading_digits(const char *p)
{
	return strspn(p, "0123456789");
}

enum status reading_add(struct reading *r, struct tree *parent, const char *key, struct tree **out)
{
	*out = tree_add(r->f, r->arena, parent, key);
	return *out ? STATUS_OK : reading_fail(r, "more than %d values; a configuration has fewer", TREE_VALUES);
}

void reading_put(struct reading_text *t, unsigned c)
{
	if (c < 0x80) {
		t->at[t->length++] = (char)c;
	} else if (c < 0x800) {
		t->at[t->length++] = (char)(0xc0 | c >> 6);
		t->at[t->length++] = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		t->at[t->length++] = (char)(0xe0 | c >> 12);
		t->at[t->length++] = (char)(0x80 | (c >> 6 & 63));
		t->at[t->length++] = (char)(0x80 | (c & 63));
	} else {
		t->at[t->length++] = (char)(0xf0 | c >> 18);
		t->at[t->length++] = (char)(0x80 | (c >> 12 & 63));
		t->at[t->length++] = (char)(0x80 | (c >> 6 & 63));
		t->at[t->length++] = (char)(0x80 | (c & 63));
	}
}

bool reading_hexadecimal(struct reading *r, int count, unsigned *out)
{
	*out = 0;
	for (int i = 0; i < count; i++) {
		static const char digits[] = "0123456789abcdef";
		int c = reading_peek(r, i);
		const char *digit = c > 0 ? strchr(digits, c | (c >= 'A' ? 0x20 : 0)) : NULL;
		if (!digit)
			return false;
		*out = *out * 16 + (unsigned)(digit - digits);
	}
	r->at += count;
	return true;
}

static enum status check_text(struct reading r)
{
	while (r.at < r.end) {
		const char *line_end = memchr(r.at, '\n', (size_t)(r.end - r.at));
		size_t length = (size_t)((line_end ? line_end : r.end) - r.at);
		json_t *line = json_stringn(r.at, length);
		bool fine = line && !memchr(r.at, 0, length);
		json_decref(line);
		if (!fine)
			return reading_fail(&r, line ? "a zero byte; this is no text" : "not UTF-8");
		r.at += length;
		if (r.at < r.end)
			reading_step(&r);
	}
	return STATUS_OK;
}

enum status reading_open(struct reading *r, struct arena *a, const char *text, size_t size, struct tree_file *f)
{
	*r = (struct reading){.arena = a, .f = f, .at = text, .end = text + size, .line_begin = text, .line = 1};
	if (size > TREE_BYTES)
		return reading_fail(r, "larger than 1 MiB; a configuration is a page");
	return check_text(*r);
}
