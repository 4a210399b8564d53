#include "strategy/base/status.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/character.h"

enum { MESSAGE_BYTES = 1024, WORDS_BYTES = 256, WORDS = 4 };

static _Thread_local char message[MESSAGE_BYTES];
static void (*speller)(const char *name, char *out, size_t size); /* set once, before there are threads */

/* ---- names in braces ---- */

void status_spell(void (*spell)(const char *name, char *out, size_t size))
{
	speller = spell;
}

/* The length of the name when `text` begins with one in braces; else 0. */
static size_t marked(const char *text)
{
	size_t n = *text == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;
	return n && text[n + 1] == '}' ? n : 0;
}

static void spell_names(char *out, size_t size, const char *text)
{
	size_t n = 0;
	while (*text && n + 1 < size) {
		char name[48];
		size_t length = marked(text);
		if (!length) {
			out[n++] = *text++;
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)length, text + 1);
		if (speller)
			speller(name, out + n, size - n);
		else
			snprintf(out + n, size - n, "%s", name);
		n += strlen(out + n);
		text += length + 2;
	}
	out[n] = 0;
}

void status_format(char *out, size_t size, const char *format, va_list args)
{
	char spelled[MESSAGE_BYTES];
	spell_names(spelled, sizeof spelled, format);
	vsnprintf(out, size, spelled, args);
}

const char *status_words(const char *text)
{
	static _Thread_local char words[WORDS][WORDS_BYTES];
	static _Thread_local int next;
	char *out = words[next++ % WORDS];
	spell_names(out, WORDS_BYTES, text);
	return out;
}

/* ---- the message ---- */

enum status status_fail(enum status status, const char *format, ...)
{
	WITH_ARGS(format, status_format(message, sizeof message, format, args));
	character_make_plain(message);
	return status;
}

enum status status_prefix(enum status status, const char *format, ...)
{
	char old[MESSAGE_BYTES];
	char context[MESSAGE_BYTES];
	memcpy(old, message, sizeof old);
	WITH_ARGS(format, status_format(context, sizeof context, format, args));
	int n = snprintf(message, sizeof message, "%s: ", context);
	if (n > 0 && n < MESSAGE_BYTES)
		snprintf(message + n, sizeof message - (size_t)n, "%s", old);
	character_make_plain(message);
	return status;
}

const char *status_message(void)
{
	return message;
}

static const struct {
	const char *name;
	int code;
} rows[] = {
#define X(name, value, code, meaning) [-(value)] = {#name, code},
        STATUS_LIST(X)
#undef X
};

const char *status_name(enum status status)
{
	return rows[-status].name;
}

int status_exit_code(enum status status)
{
	return rows[-status].code;
}
