#include "cli/lesson/directive.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"

/* Cuts off the next word, which ends at a space or, in quotes, at the closing quotation mark; \" is a quotation mark
 * inside. NULL: there is no word, or the quotes do not close. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t\n"), *out = word, *p = word;
	bool quoted = false;
	if (!*word)
		return NULL;
	for (; *p && (quoted || !strchr(" \t\n", *p)); p++) {
		if (*p == '\\' && p[1] == '"')
			*out++ = *++p;
		else if (*p == '"')
			quoted = !quoted;
		else
			*out++ = *p;
	}
	if (quoted)
		return NULL;
	*at = *p ? p + 1 : p;
	*out = 0;
	return word;
}

static enum status add_word(struct directive *d, const struct lesson *l, char *word)
{
	char *equals = strchr(word, '=');
	if (d->count == DIRECTIVE_WORDS)
		return lesson_fail(l, d->line, "%s: more than %d words", d->name, DIRECTIVE_WORDS);
	/* An option may have settings in its value; a word that begins with = has no name. */
	if (equals == word)
		return lesson_fail(l, d->line, "%s: '%.40s' has no name before =", d->name, word);
	if (equals)
		*equals = 0;
	d->word[d->count] = word;
	d->value[d->count++] = equals ? equals + 1 : NULL;
	return STATUS_OK;
}

/* "name:" and a space or the end; other comments are no directives. */
static char *cut_name(struct directive *d)
{
	char *at = d->text + strspn(d->text, " \t\n"), *name = at;
	while (islower((unsigned char)*at) || *at == '-')
		at++;
	if (*at != ':' || at == name || !strchr(" \t\n", at[1]))
		return NULL;
	*at = 0;
	d->name = name;
	return at + 1;
}

enum status directive_read(struct directive *d, const struct lesson *l, const char *comment, int line)
{
	const char *begin = comment + 4, *end = strstr(comment, "-->");
	*d = (struct directive){.name = "", .line = line};
	if (!end || end < begin)
		return lesson_fail(l, line, "a comment begins here and does not end with -->");
	if (end[3 + strspn(end + 3, " \t\n")])
		return lesson_fail(l, line,
		                   "text follows --> in the same block: leave an empty line between, or none of it");
	if (end - begin >= DIRECTIVE_SIZE)
		return lesson_fail(l, line, "this comment is longer than %d bytes", DIRECTIVE_SIZE);
	memcpy(d->text, begin, (size_t)(end - begin));
	char *at = cut_name(d), *word;
	if (!at)
		return STATUS_OK;
	while ((word = next_word(&at)))
		TRY(add_word(d, l, word));
	return at[strspn(at, " \t\n")] ? lesson_fail(l, line, "%s: a quotation mark is missing", d->name) : STATUS_OK;
}

enum status directive_check_keys(const struct directive *d, const struct lesson *l, const char *keys)
{
	char key[64];
	for (int i = 0; i < d->count; i++) {
		snprintf(key, sizeof key, " %.60s ", d->word[i]);
		if (d->value[i] && !strstr(keys, key))
			return lesson_fail(l, d->line, "%s: unknown key '%.40s'; there are:%.100s", d->name, d->word[i],
			                   keys);
	}
	return STATUS_OK;
}

/* The place of the i-th word without a value; count: there are not so many. */
static int place_of(const struct directive *d, int i)
{
	int at = 0;
	for (; at < d->count; at++)
		if (!d->value[at] && i-- == 0)
			break;
	return at;
}

const char *directive_word(const struct directive *d, int i)
{
	int at = place_of(d, i);
	return at < d->count ? d->word[at] : "";
}

const char *directive_value(const struct directive *d, const char *key)
{
	for (int i = 0; i < d->count; i++)
		if (d->value[i] && !strcmp(d->word[i], key))
			return d->value[i];
	return "";
}

const char *directive_rest(const struct directive *d, struct arena *a, int i)
{
	const char *out = "";
	for (int at = place_of(d, i); at < d->count; at = place_of(d, ++i))
		out = arena_print(a, "%s%s%s", out, *out ? " " : "", d->word[at]);
	return out;
}

const char *directive_options(const struct directive *d, struct arena *a, const char *but)
{
	const char *out = "";
	for (int i = 0; i < d->count; i++) {
		if (!strcmp(d->word[i], but))
			continue;
		out = arena_print(a, "%s%s--%s", out, *out ? " " : "", d->word[i]);
		if (d->value[i])
			out = arena_print(a, "%s '%s'", out, d->value[i]);
	}
	return out;
}

enum status directive_real(const struct directive *d, const struct lesson *l, const char *key, double low, double high,
                           double *out)
{
	const char *value = directive_value(d, key);
	if (*value && number_real(value, key, low, high, out))
		return lesson_fail(l, d->line, "%s: %s", d->name, status_message());
	return STATUS_OK;
}
