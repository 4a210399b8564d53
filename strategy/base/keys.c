#include "strategy/base/keys.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"

enum { MOST_KEYS = 16 };

static int find_key(const struct keys *k, const char *name, size_t length)
{
	for (int i = 0; i < k->count; i++)
		if (strlen(k->list[i].name) == length && !strncmp(k->list[i].name, name, length))
			return i;
	return -1;
}

/* `values` is "yes|no", or has N among them for a whole number. */
static enum status check_value(const struct keys *k, const struct key *key, const char *value)
{
	char allowed[64], what[96];
	int64_t n;
	bool number = false;
	snprintf(allowed, sizeof allowed, "%s", key->values);
	for (char *save, *p = strtok_r(allowed, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
		if (!strcmp(p, "N"))
			number = true;
		else if (!strcmp(p, value))
			return STATUS_OK;
	}
	if (!number)
		return status_fail(STATUS_INPUT, "%s %s: %s is '%.40s'; possible: %s", k->option, k->name, key->name,
		                   value, key->values);
	snprintf(what, sizeof what, "%s %s: %s", k->option, k->name, key->name);
	return number_whole(value, what, 0, INT64_MAX, &n);
}

/* Walks the key=value pairs; with `key`, copies that one's value. */
static enum status walk(const struct keys *k, const char *pairs, const char *key, char *out, size_t size)
{
	bool given[MOST_KEYS] = {false};
	while (pairs && *pairs) {
		char value[64];
		size_t length = strcspn(pairs, ":");
		const char *equals = memchr(pairs, '=', length);
		if (!equals)
			return status_fail(STATUS_INPUT, "%s %s: '%.*s' is not key=value", k->option, k->name,
			                   (int)(length < 60 ? length : 60), pairs);
		int i = find_key(k, pairs, (size_t)(equals - pairs));
		if (i < 0)
			return status_fail(STATUS_INPUT, "%s %s: unknown key '%.*s'; see: {help} %s", k->option,
			                   k->name, (int)(equals - pairs < 60 ? equals - pairs : 60), pairs, k->help);
		if (given[i])
			return status_fail(STATUS_INPUT, "%s %s: %s is given twice", k->option, k->name,
			                   k->list[i].name);
		given[i] = true;
		snprintf(value, sizeof value, "%.*s", (int)(pairs + length - equals - 1), equals + 1);
		enum status s = check_value(k, &k->list[i], value);
		if (s)
			return s;
		if (key && !strcmp(k->list[i].name, key))
			snprintf(out, size, "%s", value);
		pairs += length + (pairs[length] == ':');
	}
	return STATUS_OK;
}

enum status keys_check(const struct keys *k, const char *pairs)
{
	return walk(k, pairs, NULL, NULL, 0);
}

void keys_value(const struct keys *k, const char *pairs, const char *key, char *out, size_t size)
{
	int i = find_key(k, key, strlen(key));
	snprintf(out, size, "%s", i < 0 ? "" : k->list[i].fallback);
	if (i >= 0)
		(void)walk(k, pairs, key, out, size);
}
