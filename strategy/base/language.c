#include "strategy/base/language.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct sentence zh[] = {
#define ZH(english, translated) {english, translated},
#include "strategy/base/zh.def"
};

struct table {
	const char *language;
	const struct sentence *rows;
	size_t count;
};

static const struct table tables[] = {{"zh", zh, sizeof zh / sizeof zh[0]}};

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

void language_set(const char *name)
{
	chosen = find_table(name);
}

static const char *find_sentence(const struct table *t, const char *english)
{
	for (size_t i = 0; t && i < t->count; i++)
		if (!strcmp(t->rows[i].english, english))
			return t->rows[i].translated;
	return english;
}

const char *tr(const char *english)
{
	return find_sentence(chosen, english);
}

const char *tr_in(const char *language, const char *english)
{
	return find_sentence(find_table(language), english);
}

bool language_sentence(const char *language, size_t i, struct sentence *out)
{
	const struct table *t = find_table(language);
	if (!t || i >= t->count)
		return false;
	*out = t->rows[i];
	return true;
}
