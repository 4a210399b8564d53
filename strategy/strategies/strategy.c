#include "strategy/strategies/strategy.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/near.h"

static const struct strategy *const strategies[] = {
#define X(name) &strategy_##name,
        STRATEGY_LIST(X)
#undef X
};

static const struct strategy *const contrasts[] = {
#define X(name) &strategy_##name,
        CONTRAST_LIST(X)
#undef X
};
enum { CONTRASTS = sizeof contrasts / sizeof contrasts[0] };

enum { STRATEGIES = sizeof strategies / sizeof strategies[0] };

const struct strategy *strategy_at(int i)
{
	return i >= 0 && i < STRATEGIES ? strategies[i] : NULL;
}

const struct strategy *strategy_contrast_at(int i)
{
	return i >= 0 && i < CONTRASTS ? contrasts[i] : NULL;
}

const struct strategy *strategy_find(const char *name)
{
	for (int i = 0; i < STRATEGIES; i++)
		if (!strcmp(strategies[i]->name, name))
			return strategies[i];
	for (int i = 0; i < CONTRASTS; i++)
		if (!strcmp(contrasts[i]->name, name))
			return contrasts[i];
	return NULL;
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
	char meant[NEAR_WORDS];
	for (int i = 0; i < STRATEGIES; i++)
		near_consider(&near, strategies[i]->name);
	for (int i = 0; i < CONTRASTS; i++)
		near_consider(&near, contrasts[i]->name);
	return status_fail(STATUS_INPUT,
	                   "{strategy}: unknown strategy '%s'%s; known: "
#define X(name) #name ", "
	                   STRATEGY_LIST(X) CONTRAST_LIST(X)
#undef X
	                           "all (the first seven)",
	                   name, near_words(&near, meant, sizeof meant));
}

enum status strategy_parse(const char *text, const struct strategy **out)
{
	char name[32];
	size_t length = strcspn(text, ":");
	snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), text);
	const struct strategy *g = strategy_find(name);
	if (!g)
		return unknown_strategy(name);
	*out = g;
	struct keys keys = keys_of(g);
	return keys_check(&keys, text[length] ? text + length + 1 : NULL);
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
	snprintf(name, sizeof name, "%.*s", (int)strcspn(settings->strategy, ":"), settings->strategy);
	const struct strategy *g = strategy_find(name);
	return g && g->same_samples ? 1 : settings->ranks;
}
