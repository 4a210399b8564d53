#include "strategy/strategy.h"

#include <string.h>

#include "strategy/base/number.h"
#include "strategy/step.h"

static const struct strategy *const strategies[] = {
#define X(name) &strategy_##name,
        STRATEGY_LIST(X)
#undef X
};

enum { STRATEGIES = sizeof strategies / sizeof strategies[0] };

const struct strategy *strategy_at(int i)
{
	return i >= 0 && i < STRATEGIES ? strategies[i] : NULL;
}

const struct strategy *strategy_find(const char *name)
{
	for (int i = 0; i < STRATEGIES; i++)
		if (!strcmp(strategies[i]->name, name))
			return strategies[i];
	return NULL;
}

static const struct strategy_key *find_key(const struct strategy *g, const char *name, size_t length)
{
	for (int i = 0; i < STRATEGY_KEYS && g->keys[i].name; i++)
		if (strlen(g->keys[i].name) == length && !strncmp(g->keys[i].name, name, length))
			return &g->keys[i];
	return NULL;
}

/* `values` is "yes|no", or has N among them for a whole number. */
static enum status check_value(const struct strategy *g, const struct strategy_key *k, const char *value)
{
	char allowed[64], what[96];
	int64_t n;
	bool number = false;
	strncpy(allowed, k->values, sizeof allowed - 1);
	allowed[sizeof allowed - 1] = 0;
	for (char *save, *p = strtok_r(allowed, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
		if (!strcmp(p, "N"))
			number = true;
		else if (!strcmp(p, value))
			return STATUS_OK;
	}
	if (!number)
		return status_fail(STATUS_INPUT, "--strategy %s: %s is '%.40s'; possible: %s", g->name, k->name, value,
		                   k->values);
	snprintf(what, sizeof what, "--strategy %s: %s", g->name, k->name);
	return number_whole(value, what, 0, INT64_MAX, &n);
}

/* Walks the key=value pairs of `text`; with `key`, stops at that one and copies its value. */
static enum status walk_keys(const struct strategy *g, const char *pairs, const char *key, char *out, size_t size)
{
	bool given[STRATEGY_KEYS] = {false};
	while (pairs && *pairs) {
		char value[64];
		size_t length = strcspn(pairs, ":");
		const char *equals = memchr(pairs, '=', length);
		if (!equals)
			return status_fail(STATUS_INPUT, "--strategy %s: '%.*s' is not key=value", g->name,
			                   (int)(length < 60 ? length : 60), pairs);
		const struct strategy_key *k = find_key(g, pairs, (size_t)(equals - pairs));
		if (!k)
			return status_fail(STATUS_INPUT,
			                   "--strategy %s: unknown key '%.*s'; see: shardlab help strategies", g->name,
			                   (int)(equals - pairs < 60 ? equals - pairs : 60), pairs);
		if (given[k - g->keys])
			return status_fail(STATUS_INPUT, "--strategy %s: %s is given twice", g->name, k->name);
		given[k - g->keys] = true;
		snprintf(value, sizeof value, "%.*s", (int)(pairs + length - equals - 1), equals + 1);
		enum status s = check_value(g, k, value);
		if (s)
			return s;
		if (key && !strcmp(k->name, key))
			snprintf(out, size, "%s", value);
		pairs += length + (pairs[length] == ':');
	}
	return STATUS_OK;
}

enum status strategy_parse(const char *text, const struct strategy **out)
{
	char name[32];
	size_t length = strcspn(text, ":");
	snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), text);
	const struct strategy *g = strategy_find(name);
	if (!g)
		return status_fail(
		        STATUS_INPUT,
		        "--strategy: unknown strategy '%s'; known: single, dp, ddp, zero1, zero2, zero3, fsdp, all",
		        name);
	*out = g;
	return walk_keys(g, text[length] ? text + length + 1 : NULL, NULL, NULL, 0);
}

int64_t strategy_data_ranks(const struct settings *settings)
{
	char name[32];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(settings->strategy, ":"), settings->strategy);
	const struct strategy *g = strategy_find(name);
	return g && g->same_samples ? 1 : settings->ranks;
}

const char *strategy_setting(const struct step *s, const char *key)
{
	const struct strategy_key *k = find_key(s->strategy, key, strlen(key));
	const char *pairs = strchr(s->settings->strategy, ':');
	if (!k)
		return "";
	char *value = arena_alloc(&s->b->plan->arena, 64);
	snprintf(value, 64, "%s", k->fallback);
	(void)walk_keys(s->strategy, pairs ? pairs + 1 : NULL, key, value, 64); /* strategy_parse has checked it */
	return value;
}
