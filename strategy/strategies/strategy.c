#include "strategy/strategies/strategy.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/near.h"

static const struct strategy *const strategies[] = {
#define X(name) &strategy_##name,
        STRATEGY_LIST(X) CONTRAST_LIST(X)
#undef X
};
#define X(name) +1
enum { OF_ALL = STRATEGY_LIST(X), STRATEGIES = OF_ALL CONTRAST_LIST(X) };
#undef X

const struct strategy *strategy_at(int i)
{
	return i >= 0 && i < OF_ALL ? strategies[i] : NULL;
}

const struct strategy *strategy_contrast_at(int i)
{
	int own = 0;
	if (i < 0)
		return NULL;
	if (i < STRATEGIES - OF_ALL)
		return strategies[OF_ALL + i];
	while (own < i - (STRATEGIES - OF_ALL) && own_strategies[own])
		own++;
	return own_strategies[own];
}

/* The i-th of all strategies, those of `--strategy all` first; NULL past the last. */
static const struct strategy *any_at(int i)
{
	return i < OF_ALL ? strategies[i] : strategy_contrast_at(i - OF_ALL);
}

const struct strategy *strategy_find(const char *name)
{
	int i = 0;
	while (any_at(i) && strcmp(any_at(i)->name, name) != 0)
		i++;
	return any_at(i);
}

/* The strategy that a specification begins with, and the keys behind its name; NULL: none. */
static const struct strategy *read_name(const char *text, char name[32], const char **pairs)
{
	size_t length = strcspn(text, ":");
	snprintf(name, 32, "%.*s", (int)(length < 31 ? length : 31), text);
	*pairs = text[length] ? text + length + 1 : NULL;
	return strategy_find(name);
}

static struct keys keys_of(const struct strategy *g)
{
	struct keys keys = {.setting = "{strategy}", .name = g->name, .list = g->keys};
	while (keys.count < STRATEGY_KEYS && g->keys[keys.count].name)
		keys.count++;
	return keys;
}

static enum status unknown_strategy(const char *name)
{
	struct near near = {.typed = name};
	for (int i = 0; any_at(i); i++)
		near_consider(&near, any_at(i)->name);
	return near.name
	               ? status_fail(STATUS_INPUT, "{strategy}: unknown strategy '%s'%s; all names: {help} strategies",
	                             name, near_words(&near))
	               : status_fail(STATUS_INPUT,
	                             "{strategy}: unknown strategy '%s'; known: %s, all (the first seven)", name,
	                             near.known);
}

enum status strategy_parse(const char *text, const struct strategy **out)
{
	char name[32];
	const char *pairs;
	const struct strategy *g = read_name(text, name, &pairs);
	if (!g)
		return unknown_strategy(name);
	*out = g;
	struct keys keys = keys_of(g);
	return keys_check(&keys, pairs);
}

struct choices strategy_choices(const struct strategy *g, const char *text)
{
	struct keys keys = keys_of(g);
	const char *colon = strchr(text, ':');
	return choices_parse(&keys, colon ? colon + 1 : NULL);
}

int64_t strategy_data_ranks(const struct settings *settings)
{
	char name[32];
	const char *pairs;
	const struct strategy *g = read_name(settings->strategy, name, &pairs);
	return g && g->same_samples ? 1 : settings->ranks;
}
