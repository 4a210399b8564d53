#include <string.h>

#include "real/tokenizer/character.h"
#include "real/tokenizer/steps.h"

void bytes_replace(struct bytes *text, const char *pattern, const char *content)
{
	struct bytes out = {0};
	size_t n = strlen(pattern), i = 0;
	while (i < text->size) {
		bool found = text->size - i >= n && !memcmp(text->at + i, pattern, n);
		bytes_add(&out, found ? content : text->at + i, found ? strlen(content) : 1);
		i += found ? n : 1;
	}
	bytes_release(text);
	*text = out;
}

/* Printable stand-ins become their bytes. A token with a character that stands for none is text as it is. So is one
 * that is no longer UTF-8, since a step before this one has made bytes of it. */
static void to_bytes(struct bytes *text)
{
	size_t size = 0;
	if (characters_valid(text->at, text->size) < text->size)
		return;
	for (size_t i = 0; i < text->size; i += character_bytes(text->at[i]))
		if (byte_of_character(character_code(text->at + i)) < 0)
			return;
	for (size_t i = 0, n; i < text->size; i += n) {
		n = character_bytes(text->at[i]);
		text->at[size++] = (char)byte_of_character(character_code(text->at + i));
	}
	text->size = size;
}

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) & 15 : -1;
}

/* <0x0A> becomes its byte. */
static void to_byte(struct bytes *text)
{
	if (text->size != 6 || memcmp(text->at, "<0x", 3) != 0 || text->at[5] != '>')
		return;
	int high = digit_of(text->at[3]), low = digit_of(text->at[4]);
	if (high < 0 || low < 0)
		return;
	text->at[0] = (char)(high << 4 | low);
	text->size = 1;
}

static bool begins_with(const struct bytes *text, size_t at, const char *content)
{
	size_t n = strlen(content);
	return text->size - at >= n && !memcmp(text->at + at, content, n);
}

static void strip(const struct decode_step *step, bool first, struct bytes *text)
{
	size_t n = strlen(step->content), begin = 0;
	for (int64_t i = 0; i < step->start && (first || !step->fused) && begins_with(text, begin, step->content); i++)
		begin += n;
	if (begin)
		memmove(text->at, text->at + begin, text->size - begin);
	text->size -= begin;
	for (int64_t i = 0; i < step->stop && text->size >= n && begins_with(text, text->size - n, step->content); i++)
		text->size -= n;
}

/* The space that was put before the text goes. */
static void from_metaspace(const struct decode_step *step, bool first, struct bytes *text)
{
	bytes_replace(text, step->pattern, " ");
	if (first && !step->keeps_first && begins_with(text, 0, " "))
		memmove(text->at, text->at + 1, --text->size);
}

static void join(bool first, struct bytes *text)
{
	struct bytes out = {0};
	bytes_add(&out, " ", first ? 0 : 1);
	bytes_add(&out, text->at, text->size);
	bytes_release(text);
	*text = out;
}

void decode_steps(const struct decode_step *steps, int count, bool first, struct bytes *text)
{
	for (int i = 0; i < count; i++) {
		const struct decode_step *step = &steps[i];
		if (step->kind == DECODE_BYTES)
			to_bytes(text);
		else if (step->kind == DECODE_REPLACE)
			bytes_replace(text, step->pattern, step->content);
		else if (step->kind == DECODE_FALLBACK)
			to_byte(text);
		else if (step->kind == DECODE_STRIP)
			strip(step, first, text);
		else if (step->kind == DECODE_METASPACE)
			from_metaspace(step, first, text);
		else if (step->kind == DECODE_JOIN)
			join(first, text);
	}
}
