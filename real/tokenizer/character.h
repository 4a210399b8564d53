/* Characters of UTF-8 as tokenizers look at them. */
#ifndef SHARDLAB_TOKENIZER_CHARACTER_H
#define SHARDLAB_TOKENIZER_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that begins with this byte, in a text that is UTF-8. */
static inline size_t character_bytes(char first)
{
	unsigned char c = (unsigned char)first;
	return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* The bytes at the beginning that are whole characters of UTF-8; then follow one that is none, or the end. */
size_t characters_valid(const char *text, size_t size);
/* Could these bytes be the beginning of a character whose rest is still to come? */
bool character_is_begun(const char *text, size_t size);
/* For bytes that are no whole character: how many of them one U+FFFD replaces (the Unicode Standard, 3.9: maximal
 * subparts). */
size_t character_broken(const char *text, size_t size);

uint32_t character_code(const char *at);
/* Writes it at `out` and returns its bytes. */
size_t character_write(uint32_t code, char out[4]);

/* The classes of regular expressions: Unicode's White_Space; \w. */
bool character_is_space(uint32_t code);
bool character_is_word(uint32_t code);

/* GPT-2's printable stand-ins: each byte is a character, those that print as they are, the others from U+0100 on
 * (bytes_to_unicode of its encoder.py). */
uint32_t character_of_byte(unsigned char byte);
int byte_of_character(uint32_t code); /* -1: it stands for none */

#endif
