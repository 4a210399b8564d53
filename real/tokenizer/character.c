#include "real/tokenizer/character.h"

#include <glib.h>

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The range of the second byte leaves out what is longer than need be, surrogates, and what lies beyond U+10FFFF. */
static bool is_second(unsigned char first, unsigned char second)
{
	unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	return second >= low && second <= high;
}

/* Bytes at `text` that a character could begin with, all of them at most. 0: none could. */
static size_t part(const char *text, size_t size)
{
	unsigned char first = (unsigned char)text[0];
	size_t want = character_bytes(text[0]), i = 1;
	if (first >= 0x80 && (first < 0xc2 || first > 0xf4))
		return 0;
	if (size > 1 && want > 1 && !is_second(first, (unsigned char)text[1]))
		return 1;
	while (i < want && i < size && continues(text[i]))
		i++;
	return i;
}

/* Bytes of the character at `text`, as far as they are there; *whole: all of them are. 0: it is none. */
static size_t begun(const char *text, size_t size, bool *whole)
{
	size_t i = part(text, size);
	*whole = i && i == character_bytes(text[0]);
	return *whole || i == size ? i : 0;
}

size_t characters_valid(const char *text, size_t size)
{
	size_t i = 0, n;
	bool whole;
	while (i < size && (n = begun(text + i, size - i, &whole)) > 0 && whole)
		i += n;
	return i;
}

bool character_is_begun(const char *text, size_t size)
{
	bool whole = false;
	return size > 0 && begun(text, size, &whole) == size && !whole;
}

size_t character_broken(const char *text, size_t size)
{
	size_t i = part(text, size);
	return i ? i : 1;
}

uint32_t character_code(const char *at)
{
	const unsigned char *c = (const unsigned char *)at;
	size_t n = character_bytes(*at);
	uint32_t code = n == 1 ? c[0] : c[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++)
		code = code << 6 | (c[i] & 0x3fU);
	return code;
}

size_t character_write(uint32_t code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(0xf00U >> n | code);
	return n;
}

bool character_is_space(uint32_t c)
{
	return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool character_is_word(uint32_t c)
{
	GUnicodeType type = g_unichar_type(c);
	return g_unichar_isalpha(c) || g_unichar_ismark(c) || type == G_UNICODE_DECIMAL_NUMBER ||
	       type == G_UNICODE_LETTER_NUMBER || type == G_UNICODE_CONNECT_PUNCTUATION || c == 0x200c || c == 0x200d;
}

/* Do these bytes print as they are, as Latin-1? */
static bool prints(unsigned c)
{
	return (c >= '!' && c <= '~') || (c >= 0xa1 && c != 0xad);
}

/* Bytes 0 … 0x20, 0x7f … 0xa0 and 0xad do not print, and become U+0100 … U+0143 in this order. */
enum { FIRST = 0x100, SECOND = FIRST + 0x21, THIRD = SECOND + 0x22 };

uint32_t character_of_byte(unsigned char byte)
{
	if (prints(byte))
		return byte;
	return byte <= 0x20 ? FIRST + (uint32_t)byte : byte <= 0xa0 ? SECOND + (uint32_t)byte - 0x7f : THIRD;
}

int byte_of_character(uint32_t code)
{
	if (code < FIRST)
		return prints(code) ? (int)code : -1;
	if (code < SECOND)
		return (int)code - FIRST;
	return code < THIRD ? (int)code - SECOND + 0x7f : code == THIRD ? 0xad : -1;
}
