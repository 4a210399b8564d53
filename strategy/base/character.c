#include "strategy/base/character.h"

#include <stddef.h>
#include <stdio.h>

unsigned character_next(const char **at)
{
	const unsigned char *c = (const unsigned char *)*at;
	int more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc0 ? 1 : 0;
	unsigned value = more ? *c & (0x3fu >> more) : *c;
	for (c++; more && (*c & 0xc0) == 0x80; more--, c++)
		value = value << 6 | (*c & 0x3f);
	*at = (const char *)c;
	return value;
}

bool character_is_wide(unsigned c)
{
	static const struct {
		unsigned first, last;
	} ranges[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
	              {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x20000, 0x3fffd}};
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

static bool is_among(unsigned c, const char *set)
{
	while (*set)
		if (character_next(&set) == c)
			return true;
	return false;
}

bool character_may_part(unsigned before, unsigned after)
{
	return (character_is_wide(before) || character_is_wide(after)) && !is_among(before, "（《【「“‘([") &&
	       !is_among(after, "，。、；：！？）》】」”’…—·,.;:!?)]%");
}

/* The bytes of the character at `at`; 0: it is none. */
static int length_of(const unsigned char *at)
{
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
	int n = *at < 0x80 ? 1 : *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
	for (int i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if (n > 1 && (*at < 0xc2 || *at > 0xf4))
		return 0;
	const char *text = (const char *)at;
	unsigned c = character_next(&text);
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

static bool is_control(unsigned c)
{
	return c < ' ' || (c >= 0x7f && c < 0xa0) || (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

void character_make_plain(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		const char *begin = from;
		int n = length_of((const unsigned char *)from);
		if (!n || is_control(character_next(&from))) {
			from = begin + (n ? n : 1);
			*to++ = '?';
			continue;
		}
		while (begin < from)
			*to++ = *begin++;
	}
	*to = 0;
}

const char *character_plain(const char *text)
{
	enum { COPIES = 4, BYTES = 4096 };
	static _Thread_local char copies[COPIES][BYTES];
	static _Thread_local int next;
	if (!text)
		return NULL;
	char *out = copies[next++ % COPIES];
	snprintf(out, BYTES, "%s", text);
	character_make_plain(out);
	return out;
}
