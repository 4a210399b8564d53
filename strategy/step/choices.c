#include "strategy/step/choices.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the value of a key is read. */
enum kind { NUMBER, WORD, ALGORITHM };

static const struct {
	const char *key;
	size_t offset;
	enum kind kind;
	enum operation operation; /* of an algorithm */
} rows[] = {
        {"algorithm", offsetof(struct choices, all_reduce), ALGORITHM, OPERATION_ALL_REDUCE},
        {"broadcast", offsetof(struct choices, broadcast), ALGORITHM, OPERATION_BROADCAST},
        {"reduce", offsetof(struct choices, reduce), ALGORITHM, OPERATION_REDUCE},
        {"prefetch", offsetof(struct choices, prefetch), NUMBER, 0},
        {"live", offsetof(struct choices, live), NUMBER, 0},
        {"reuse", offsetof(struct choices, reuse), NUMBER, 0},
        {"shard", offsetof(struct choices, shard), NUMBER, 0},
        {"reshard", offsetof(struct choices, keep), WORD, 0},
        {"sync", offsetof(struct choices, sync), WORD, 0},
        {"schedule", offsetof(struct choices, schedule), WORD, 0},
        {"sequence", offsetof(struct choices, sequence), WORD, 0},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void set(struct choices *c, const struct key *key, const struct key_value *value)
{
	char text[64];
	snprintf(text, sizeof text, "%.*s", (int)value->length, value->text);
	for (int i = 0; i < ROWS; i++) {
		char *at = (char *)c + rows[i].offset;
		if (strcmp(rows[i].key, key->name) != 0)
			continue;
		if (rows[i].kind == ALGORITHM)
			(void)schedule_find(rows[i].operation, text, (enum schedule_algorithm *)(void *)at);
		else
			*(int64_t *)(void *)at =
			        rows[i].kind == NUMBER ? key_whole(value, CHOICE_WORD) : word_find(key->values, text);
		return;
	}
	abort(); /* a strategy has a key that no row reads */
}

struct choices choices_parse(const struct keys *keys, const char *pairs)
{
	struct key_value values[KEYS_MOST];
	struct choices c = {.all_reduce = schedule_first(OPERATION_ALL_REDUCE),
	                    .broadcast = schedule_first(OPERATION_BROADCAST),
	                    .reduce = schedule_first(OPERATION_REDUCE),
	                    .prefetch = CHOICE_WORD,
	                    .live = CHOICE_WORD};
	(void)keys_read(keys, pairs, values);
	for (int i = 0; i < keys->count; i++)
		set(&c, &keys->list[i], &values[i]);
	return c;
}
