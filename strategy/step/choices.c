#include "strategy/step/choices.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the value of a key is read. */
enum kind { NUMBER, WORD };

static const struct {
	const char *key;
	size_t offset;
	enum kind kind;
} rows[] = {
        {"prefetch", offsetof(struct choices, prefetch), NUMBER},
        {"live", offsetof(struct choices, live), NUMBER},
        {"reuse", offsetof(struct choices, reuse), NUMBER},
        {"pieces", offsetof(struct choices, pieces), NUMBER},
        {"shard", offsetof(struct choices, shard), NUMBER},
        {"secondary", offsetof(struct choices, secondary), NUMBER},
        {"reshard", offsetof(struct choices, keep), WORD},
        {"overlap", offsetof(struct choices, waits), WORD},
        {"reduce", offsetof(struct choices, all), WORD},
        {"backward", offsetof(struct choices, backward), WORD},
        {"sync", offsetof(struct choices, sync), WORD},
        {"schedule", offsetof(struct choices, schedule), WORD},
        {"units", offsetof(struct choices, whole), WORD},
        {"save", offsetof(struct choices, save), WORD},
        {"sequence", offsetof(struct choices, sequence), WORD},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* False: it is not a key that chooses algorithms. */
static bool set_algorithm(struct choices *c, const char *key, const char *name)
{
	bool all = !strcmp(key, "algorithm"), any = false;
	for (int o = 0; o < OPERATION_COUNT; o++)
		if (all || !strcmp(key, operation_name((enum operation)o)))
			any |= schedule_find((enum operation)o, name, &c->algorithm[o]);
	return any;
}

static void set(struct choices *c, const struct key *key, const struct key_value *value)
{
	char text[64];
	snprintf(text, sizeof text, "%.*s", (int)value->length, value->text);
	if (set_algorithm(c, key->name, text))
		return;
	for (int i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].key, key->name)) {
			int64_t *at = (int64_t *)(void *)((char *)c + rows[i].offset);
			int word = word_find(key->values, text);
			*at = rows[i].kind == NUMBER ? key_whole(value, CHOICE_WORD - word) : word;
			return;
		}
	abort(); /* a strategy has a key that no row reads */
}

struct choices choices_parse(const struct keys *keys, const char *pairs)
{
	struct key_value values[KEYS_MOST];
	struct choices c = {.prefetch = CHOICE_WORD, .live = CHOICE_WORD};
	for (int o = 0; o < OPERATION_COUNT; o++)
		c.algorithm[o] = schedule_first((enum operation)o);
	(void)keys_read(keys, pairs, values);
	for (int i = 0; i < keys->count; i++)
		set(&c, &keys->list[i], &values[i]);
	return c;
}

static int64_t number_at(const struct choices *c, int row)
{
	return *(const int64_t *)(const void *)((const char *)c + rows[row].offset);
}

bool choices_same(const struct choices *a, const struct choices *b)
{
	bool same = true;
	for (int o = 0; o < OPERATION_COUNT; o++)
		same &= a->algorithm[o] == b->algorithm[o];
	for (int i = 0; i < ROWS; i++)
		same &= number_at(a, i) == number_at(b, i);
	return same;
}
