#include "strategy/strategies/choices.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/number.h"

/* Which value a key sets. */
static const struct {
	const char *key;
	size_t offset;
} fields[] = {
        {"algorithm", offsetof(struct choices, algorithm)}, {"broadcast", offsetof(struct choices, broadcast)},
        {"reduce", offsetof(struct choices, reduce)},       {"prefetch", offsetof(struct choices, prefetch)},
        {"live", offsetof(struct choices, live)},           {"reuse", offsetof(struct choices, reuse)},
        {"reshard", offsetof(struct choices, keep)},        {"sync", offsetof(struct choices, sync)},
        {"shard", offsetof(struct choices, shard)},         {"schedule", offsetof(struct choices, schedule)},
        {"sequence", offsetof(struct choices, sequence)},
};

static int64_t *field(struct choices *c, const char *key)
{
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (!strcmp(fields[i].key, key))
			return (int64_t *)((char *)c + fields[i].offset);
	abort(); /* a strategy has a key that nobody reads */
}

/* Which of "yes|no" it is. */
static int64_t word_of(const char *words, const char *value)
{
	size_t length = strlen(value);
	for (int64_t i = 0;; i++, words += strcspn(words, "|") + 1)
		if (!strncmp(words, value, length) && (words[length] == '|' || !words[length]))
			return i;
}

static bool has_number(const char *words)
{
	const char *n = strchr(words, 'N');
	return n && !n[1] && (n == words || n[-1] == '|');
}

struct choices choices_parse(const struct keys *keys, const char *pairs)
{
	struct choices c = {.prefetch = CHOICE_WORD, .live = CHOICE_WORD};
	for (int i = 0; i < keys->count; i++) {
		const struct key *key = &keys->list[i];
		char value[64];
		keys_value(keys, pairs, key->name, value, sizeof value);
		int64_t *out = field(&c, key->name);
		if (!has_number(key->values))
			*out = word_of(key->values, value);
		else if (!isdigit((unsigned char)value[0]) || number_whole(value, key->name, 0, INT64_MAX, out))
			*out = CHOICE_WORD;
	}
	return c;
}
