#include "viz/draw/strings.h"

#include <stdlib.h>
#include <string.h>

void strings_release(struct strings *s)
{
	free(s->list);
	free(s->slots);
	free(s->bytes);
	*s = (struct strings){0};
}

bool array_grow(void **array, size_t *capacity, size_t count, size_t size)
{
	if (count < *capacity)
		return true;
	size_t more = *capacity < 256 ? 256 : *capacity * 2;
	void *larger = count < more && more < SIZE_MAX / size ? realloc(*array, more * size) : NULL;
	if (!larger)
		return false;
	*array = larger;
	*capacity = more;
	return true;
}

void strings_put(struct strings *s, char byte)
{
	if (array_grow((void **)&s->bytes, &s->byte_capacity, s->written, 1))
		s->bytes[s->written++] = byte;
	else
		s->failed = true;
}

void strings_put_all(struct strings *s, const char *text)
{
	while (*text)
		strings_put(s, *text++);
}

void strings_put_whole(struct strings *s, int64_t v)
{
	char digits[20];
	int n = 0;
	uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	do
		digits[n++] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (v < 0)
		strings_put(s, '-');
	while (n)
		strings_put(s, digits[--n]);
}

static bool grow_slots(struct strings *s)
{
	size_t count = s->slot_count ? 2 * s->slot_count : 4096;
	int *slots = calloc(count, sizeof *slots);
	if (!slots)
		return false;
	for (size_t i = 0; i < s->count; i++) {
		size_t slot = s->list[i].hash % count;
		while (slots[slot])
			slot = (slot + 1) % count;
		slots[slot] = (int)i + 1;
	}
	free(s->slots);
	s->slots = slots;
	s->slot_count = count;
	return true;
}

int strings_finish(struct strings *s)
{
	const char *text = s->bytes + s->length;
	size_t length = s->written - s->length;
	uint32_t hash = 2166136261U; /* FNV-1a */
	s->failed = s->failed || ((s->count + 1) * 2 > s->slot_count && !grow_slots(s));
	if (s->failed)
		return -1;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619U;
	size_t slot = hash % s->slot_count;
	for (; s->slots[slot]; slot = (slot + 1) % s->slot_count) {
		const struct string *k = &s->list[s->slots[slot] - 1];
		if (k->hash == hash && k->length == length && !memcmp(s->bytes + k->at, text, length))
			return s->slots[slot] - 1;
	}
	s->failed = !array_grow((void **)&s->list, &s->capacity, s->count, sizeof *s->list);
	if (s->failed)
		return -1;
	s->list[s->count] = (struct string){s->length, length, hash};
	s->length = s->written;
	s->slots[slot] = (int)++s->count;
	return (int)s->count - 1;
}

void strings_put_quoted(struct strings *s, const char *text, size_t length)
{
	static const char hex[] = "0123456789abcdef";
	strings_put(s, '"');
	for (const char *stop = text + length; text < stop; text++)
		if (strchr("\"\\<", *text) || (unsigned char)*text < ' ') {
			strings_put_all(s, "\\u00");
			strings_put(s, hex[*text >> 4 & 15]);
			strings_put(s, hex[*text & 15]);
		} else {
			strings_put(s, *text);
		}
	strings_put(s, '"');
}
