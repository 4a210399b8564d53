#include "strategy/base/language.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct sentence zh[] = {
#define ZH(english, translated) {english, translated},
#include "strategy/base/zh.def"
};

/* Rows by the hash of their English: a picture looks up hundreds. */
enum { SLOTS = 4096 };
static_assert(sizeof zh / sizeof zh[0] < SLOTS / 2, "more slots, so that a look-up is short");

static uint16_t zh_slots[SLOTS]; /* a row's number + 1; 0: none */

struct table {
	const char *language, *fullwidth; /* fullwidth: its punctuation, which takes no space beside it */
	const struct sentence *rows;
	size_t count;
	uint16_t *slots;
};

static const struct table tables[] = {{"zh", "，。、：；？！（）《》「」“”", zh, sizeof zh / sizeof zh[0], zh_slots}};

static const struct table *chosen; /* NULL: English */

/* The language is the letters that the name begins with: "zh", "zh_CN", "zh-TW", "zh:en". */
static const struct table *find_table(const char *name)
{
	size_t length = strcspn(name, "_.-@:");
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		if (strlen(tables[i].language) == length && !strncmp(name, tables[i].language, length))
			return &tables[i];
	return NULL;
}

const char *language_of(const char *name)
{
	const struct table *t = find_table(name);
	return t ? t->language : "en";
}

const char *language_of_user(void)
{
	static const char *const variables[] = {"LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"};
	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
		const char *value = getenv(variables[i]);
		if (value && *value)
			return language_of(value);
	}
	return "en";
}

static size_t slot_of(const char *text)
{
	uint32_t hash = 2166136261U; /* FNV-1a */
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619U;
	return (hash ^ hash >> 16) % SLOTS;
}

static void fill_slots(const struct table *t)
{
	memset(t->slots, 0, SLOTS * sizeof *t->slots);
	for (size_t i = 0; i < t->count; i++) {
		size_t slot = slot_of(t->rows[i].english);
		while (t->slots[slot])
			slot = (slot + 1) % SLOTS;
		t->slots[slot] = (uint16_t)(i + 1);
	}
}

void language_set(const char *name)
{
	chosen = find_table(name);
	if (chosen)
		fill_slots(chosen);
}

const char *language_chosen(void)
{
	return chosen ? chosen->language : "en";
}

static const char *find_sentence(const struct table *t, const char *english)
{
	for (size_t i = 0; t && i < t->count; i++)
		if (!strcmp(t->rows[i].english, english))
			return t->rows[i].translated;
	return english;
}

static const char *find_chosen(const char *english)
{
	for (size_t slot = slot_of(english); chosen->slots[slot]; slot = (slot + 1) % SLOTS) {
		const struct sentence *row = &chosen->rows[chosen->slots[slot] - 1];
		if (!strcmp(row->english, english))
			return row->translated;
	}
	return english;
}

const char *tr(const char *english)
{
	return chosen ? find_chosen(english) : english;
}

const char *tr_in(const char *language, const char *english)
{
	return find_sentence(find_table(language), english);
}

const char *tr_name(const char *name, const char *const *keys)
{
	size_t n = strlen(name);
	for (; *keys; keys++)
		if (!strncmp(*keys, name, n) && !strcmp(*keys + n, ":"))
			return tr(*keys) == *keys ? name : tr(*keys);
	return name;
}

/* ---- spaces ---- */

enum script { SCRIPT_OTHER, SCRIPT_LATIN, SCRIPT_HAN, SCRIPT_FULLWIDTH };

static size_t bytes_of(unsigned char first)
{
	return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* The script of the character at `c`, of which `n` bytes are there. */
static enum script script_of(const struct table *t, const char *c, size_t n)
{
	unsigned char first = (unsigned char)*c;
	char one[5] = "";
	memcpy(one, c, n < sizeof one ? n : 0);
	if (first < 0x80)
		return isalnum(first) ? SCRIPT_LATIN : SCRIPT_OTHER;
	if (strstr(t->fullwidth, one))
		return SCRIPT_FULLWIDTH;
	return first >= 0xE4 && first <= 0xE9 ? SCRIPT_HAN : SCRIPT_OTHER; /* U+4000 to U+9FFF */
}

/* How many spaces stand between two characters, where so many were written. */
static int spaces_between(enum script before, enum script after, int written)
{
	if (before == SCRIPT_FULLWIDTH || after == SCRIPT_FULLWIDTH || (before == SCRIPT_HAN && after == SCRIPT_HAN))
		return 0;
	bool meet = (before == SCRIPT_HAN && after == SCRIPT_LATIN) || (before == SCRIPT_LATIN && after == SCRIPT_HAN);
	return meet && !written ? 1 : written;
}

/* The full-width sign for a comma, colon or semicolon before a space, where Han characters are beside it; NULL: it
 * stays. */
static const char *full_width(enum script before, const char *c)
{
	static const char *const signs[][2] = {{",", "，"}, {":", "："}, {";", "；"}};
	const char *next = c + 1 + strspn(c + 1, " ");
	enum script after = script_of(chosen, next, strnlen(next, bytes_of((unsigned char)*next)));
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (*c == *signs[i][0] && c[1] == ' ' && (before >= SCRIPT_HAN || after >= SCRIPT_HAN))
			return signs[i][1];
	return NULL;
}

void language_space(char *text, size_t size)
{
	char out[2048];
	size_t at = 0;
	int spaces = 0;
	enum script before = SCRIPT_OTHER;
	for (const char *c = text; chosen && *c;) {
		size_t n = strnlen(c, bytes_of((unsigned char)*c));
		const char *sign = full_width(before, c);
		enum script here = sign ? SCRIPT_FULLWIDTH : script_of(chosen, c, n);
		if (*c != ' ') {
			size_t length = sign ? strlen(sign) : n;
			spaces = spaces_between(before, here, spaces);
			if (at + (size_t)spaces + length >= sizeof out)
				return;
			memset(out + at, ' ', (size_t)spaces);
			memcpy(out + at + spaces, sign ? sign : c, length);
			at += (size_t)spaces + length;
			before = here;
		}
		spaces = *c == ' ' ? spaces + 1 : 0;
		c += n;
	}
	if (!chosen || at + (size_t)spaces >= sizeof out || at + (size_t)spaces >= size)
		return;
	memset(out + at, ' ', (size_t)spaces);
	memcpy(text, out, at + (size_t)spaces);
	text[at + (size_t)spaces] = 0;
}

bool language_sentence(const char *language, size_t i, struct sentence *out)
{
	const struct table *t = find_table(language);
	if (!t || i >= t->count)
		return false;
	*out = t->rows[i];
	return true;
}
