#include "strategy/strategies/variants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/strategies/strategy.h"

/* The batch is kept where micro-batches can make it up. */
static bool resolve(struct settings *s, const struct settings *given)
{
	s->accumulate = s->ranks == given->ranks ? 0 : given->accumulate;
	s->batch = s->ranks == given->ranks ? given->batch : 0;
	return settings_resolve(s, strategy_data_ranks(s)) == STATUS_OK;
}

static bool is_full(const struct settings *s)
{
	return !strncmp(s->checkpointing, "full", 4);
}

/* How many of parameters, gradients and optimizer state data-parallel ranks divide among them. */
static int divided(const struct strategy *g)
{
	return (g->parameters != PLACE_WHOLE) + (g->gradients != PLACE_WHOLE) + (g->optimizer != PLACE_WHOLE);
}

static bool divides_more(const struct settings *than, const struct strategy *g)
{
	const struct strategy *given;
	return than->ranks > 1 && strategy_parse(than->strategy, &given) == STATUS_OK && !given->mesh &&
	       divided(g) > divided(given);
}

/* ---- the grid ---- */

/* The specification with another value for its group_key. */
static void add_group(struct variant_grid *g, const char *key, int64_t ranks)
{
	size_t size = sizeof g->strategy[0], at = strcspn(g->given.strategy, ":"), n;
	if (g->strategies == VARIANT_STRATEGIES || strlen(g->given.strategy) + strlen(key) + 24 > size)
		return;
	char *out = g->strategy[g->strategies];
	n = (size_t)snprintf(out, size, "%.*s:%s=%" PRId64, (int)at, g->given.strategy, key, ranks);
	for (const char *pair = g->given.strategy + at; *pair; pair += at) {
		at = 1 + strcspn(pair + 1, ":");
		bool replaced = !strncmp(pair + 1, key, strlen(key)) && pair[1 + strlen(key)] == '=';
		if (!replaced)
			n += (size_t)snprintf(out + n, size - n, "%.*s", (int)at, pair);
	}
	g->strategies++;
}

/* Keys with which a strategy keeps more than it must: without them it takes less memory. */
static bool keeps_memory(const char *pair, size_t length)
{
	static const char *const keeping[] = {":reshard=no", ":units=model", ":sync=last", ":prefetch=two",
	                                      ":prefetch=all"};
	for (size_t i = 0; i < sizeof keeping / sizeof keeping[0]; i++)
		if (strlen(keeping[i]) == length && !strncmp(pair, keeping[i], length))
			return true;
	return false;
}

static void add_without_keeping(struct variant_grid *g)
{
	size_t size = sizeof g->strategy[0], at = strcspn(g->given.strategy, ":"), n;
	char *out = g->strategy[g->strategies];
	if (strlen(g->given.strategy) >= size)
		return;
	n = (size_t)snprintf(out, size, "%.*s", (int)at, g->given.strategy);
	for (const char *pair = g->given.strategy + at; *pair; pair += at) {
		at = 1 + strcspn(pair + 1, ":");
		if (!keeps_memory(pair, at))
			n += (size_t)snprintf(out + n, size - n, "%.*s", (int)at, pair);
	}
	g->strategies += strcmp(out, g->given.strategy) != 0;
}

/* Twice as many ranks for one copy of the model, four times as many, … all. */
static void add_groups(struct variant_grid *g)
{
	const struct strategy *given;
	if (strategy_parse(g->given.strategy, &given) || !given->group_key)
		return;
	int64_t ranks = g->given.ranks, shared = strategy_choices(given, g->given.strategy).shard;
	if (shared < 1)
		return;
	for (int64_t k = 2 * shared; k < ranks; k *= 2)
		if (ranks % k == 0)
			add_group(g, given->group_key, k);
	if (shared < ranks)
		add_group(g, given->group_key, ranks);
}

static void add_strategies(struct variant_grid *g)
{
	snprintf(g->strategy[g->strategies++], sizeof g->strategy[0], "%.63s", g->given.strategy);
	add_without_keeping(g);
	add_groups(g);
	for (int i = 0; strategy_at(i) && g->strategies < VARIANT_STRATEGIES; i++)
		if (divides_more(&g->given, strategy_at(i)))
			snprintf(g->strategy[g->strategies++], sizeof g->strategy[0], "%s", strategy_at(i)->name);
}

static void add_checkpointings(struct variant_grid *g)
{
	g->checkpointing[g->checkpointings++] = g->given.checkpointing;
	if (!strcmp(g->given.checkpointing, "none"))
		g->checkpointing[g->checkpointings++] = "selective";
	if (!is_full(&g->given))
		g->checkpointing[g->checkpointings++] = "full";
}

/* With what is offloaded already. */
static void add_offloads(struct variant_grid *g)
{
	struct offload o = g->given.offload;
	g->offload[g->offloads++] = o;
	if (!o.optimizer) {
		o.optimizer = true;
		g->offload[g->offloads++] = o;
	}
	if (!o.parameters) {
		o.parameters = true;
		g->offload[g->offloads++] = o;
	}
}

static void add_micros(struct variant_grid *g)
{
	int64_t samples = g->given.micro_batch * g->given.accumulate;
	for (int64_t micro = g->given.micro_batch; micro >= 1 && g->micros < VARIANT_MICROS; micro /= 2)
		if (samples % micro == 0)
			g->micro[g->micros++] = micro;
}

void variant_grid_make(struct variant_grid *g, const struct settings *given)
{
	*g = (struct variant_grid){.given = *given};
	add_strategies(g);
	add_checkpointings(g);
	add_offloads(g);
	add_micros(g);
}

/* ---- one of them ---- */

/* Appends to the text. */
static void say(struct variant *v, const char *option, const char *value)
{
	size_t n = strlen(v->change);
	snprintf(v->change + n, sizeof v->change - n, "%s%s %.60s", n ? " " : "", option, value);
}

static void say_number(struct variant *v, const char *option, int64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, value);
	say(v, option, text);
}

/* The change names every setting that differs, as its option. */
bool variant_at(const struct variant_grid *g, const struct variant_place *place, struct variant *out)
{
	struct settings *s = &out->settings;
	char offload[OFFLOAD_TEXT];
	*out = (struct variant){.settings = g->given};
	if (place->strategy) {
		snprintf(s->strategy, sizeof s->strategy, "%s", g->strategy[place->strategy]);
		say(out, "{strategy}", s->strategy);
	}
	if (place->checkpointing) {
		snprintf(s->checkpointing, sizeof s->checkpointing, "%s", g->checkpointing[place->checkpointing]);
		say(out, "{activation_checkpointing}", s->checkpointing);
	}
	if (place->micro) {
		s->micro_batch = g->micro[place->micro];
		s->accumulate = g->given.accumulate * g->given.micro_batch / s->micro_batch;
		say_number(out, "{micro_batch}", s->micro_batch);
		say_number(out, "{accumulate}", s->accumulate);
	}
	if (place->offload) {
		s->offload = g->offload[place->offload];
		offload_print(&s->offload, offload, sizeof offload);
		say(out, "{offload}", offload);
	}
	return resolve(s, &g->given);
}

bool variant_of_ranks(const struct settings *given, int doublings, struct variant *out)
{
	int64_t times = INT64_C(1) << doublings;
	*out = (struct variant){.settings = *given};
	out->settings.ranks *= times;
	if (given->ranks < 2 || given->ranks >= 1 << 20 || !resolve(&out->settings, given))
		return false;
	say_number(out, "{ranks}", out->settings.ranks);
	say_number(out, "{batch}", out->settings.batch);
	return true;
}

bool variant_divides_more(const struct settings *than, const char *strategy)
{
	const struct strategy *g;
	return strategy_parse(strategy, &g) == STATUS_OK && !g->mesh && divides_more(than, g);
}

static int offloaded(const struct settings *s)
{
	return s->offload.optimizer + s->offload.parameters + s->offload.activations;
}

/* How much is computed again. */
static int again(const struct settings *s)
{
	return !strcmp(s->checkpointing, "none") ? 0 : !strcmp(s->checkpointing, "selective") ? 1 : 2;
}

static int stages_apart(const struct settings *a, const struct settings *b)
{
	const struct strategy *x, *y;
	if (!strcmp(a->strategy, b->strategy))
		return 0;
	if (strategy_parse(a->strategy, &x) || strategy_parse(b->strategy, &y) || divided(x) == divided(y))
		return 1;
	return abs(divided(x) - divided(y));
}

int variant_distance(const struct settings *a, const struct settings *b)
{
	enum { MICRO = 1, AGAIN = 2, STRATEGY = 8, OFFLOAD = 32, PRECISION = 128 };
	return MICRO * (a->micro_batch != b->micro_batch) + AGAIN * abs(again(a) - again(b)) +
	       STRATEGY * stages_apart(a, b) + OFFLOAD * abs(offloaded(a) - offloaded(b)) +
	       PRECISION * (a->precision != b->precision);
}

/* ---- one setting ---- */

enum family { FAMILY_MICRO, FAMILY_RANKS, FAMILY_FIRST_OWN };

struct list {
	struct variant_grid grid;
	struct variant *out;
	int count;
};

static void add(struct list *l, int family, struct variant_place place)
{
	if (l->count < VARIANTS && variant_at(&l->grid, &place, &l->out[l->count]))
		l->out[l->count++].family = family;
}

int variants_of(const struct settings *given, struct variant out[VARIANTS])
{
	struct list l = {.out = out};
	int own = FAMILY_FIRST_OWN;
	variant_grid_make(&l.grid, given);
	for (int i = 1; i < l.grid.micros; i++)
		add(&l, FAMILY_MICRO, (struct variant_place){.micro = i});
	for (int i = 1; i < l.grid.checkpointings; i++)
		add(&l, own++, (struct variant_place){.checkpointing = i});
	for (int i = 1; i < l.grid.strategies; i++)
		add(&l, own++, (struct variant_place){.strategy = i});
	if (l.grid.offloads > 1 && !given->offload.optimizer)
		add(&l, own++, (struct variant_place){.offload = 1});
	for (int i = 1; i <= VARIANT_RANKS; i++)
		if (l.count < VARIANTS && variant_of_ranks(given, i, &out[l.count]))
			out[l.count++].family = FAMILY_RANKS;
	return l.count;
}
