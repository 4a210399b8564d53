#include "strategy/strategies/variants.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/strategies/strategy.h"

enum family { FAMILY_NONE, FAMILY_MICRO, FAMILY_RANKS, FAMILY_FIRST_OWN };

struct list {
	const struct settings *given;
	struct variant *out;
	int count;
};

/* The batch is kept where micro-batches can make it up. */
static bool resolve(struct settings *s, const struct settings *given)
{
	s->accumulate = s->ranks == given->ranks ? 0 : given->accumulate;
	s->batch = s->ranks == given->ranks ? given->batch : 0;
	return settings_resolve(s, strategy_data_ranks(s)) == STATUS_OK;
}

/* Adds it unless the settings contradict each other. */
static void add(struct list *l, struct settings s, enum variant_effort effort, int family, const char *change)
{
	if (l->count == VARIANTS || !resolve(&s, l->given))
		return;
	struct variant *v = &l->out[l->count++];
	*v = (struct variant){.settings = s, .effort = effort, .family = family ? family : FAMILY_FIRST_OWN + l->count};
	snprintf(v->change, sizeof v->change, "%s", change);
}

static bool is_full(const struct settings *s)
{
	return !strncmp(s->checkpointing, "full", 4);
}

static struct settings with_checkpointing(struct settings s)
{
	snprintf(s.checkpointing, sizeof s.checkpointing, "full");
	return s;
}

static struct settings with_strategy(struct settings s, const char *strategy)
{
	snprintf(s.strategy, sizeof s.strategy, "%s", strategy);
	return s;
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

/* The same batch in more micro-batches; as it is where they do not make it up, which resolve() refuses. */
static struct settings with_micro_batch(struct settings s, int64_t micro)
{
	s.accumulate = s.accumulate * s.micro_batch / micro;
	s.micro_batch = micro;
	return s;
}

static int print_micro_batch(char *out, size_t size, const struct settings *s)
{
	return snprintf(out, size, "{micro_batch} %" PRId64 " {accumulate} %" PRId64, s->micro_batch, s->accumulate);
}

/* With what is offloaded already. */
static void print_offload(char *out, size_t size, const struct settings *s)
{
	char offload[OFFLOAD_TEXT];
	offload_print(&s->offload, offload, sizeof offload);
	snprintf(out, size, "{offload} %.60s", offload);
}

static void add_singles(struct list *l)
{
	const struct settings *given = l->given;
	char change[160];
	for (int64_t micro = given->micro_batch / 2; micro >= 1; micro /= 2) {
		struct settings s = with_micro_batch(*given, micro);
		print_micro_batch(change, sizeof change, &s);
		add(l, s, VARIANT_ONE, FAMILY_MICRO, change);
	}
	if (!strcmp(given->checkpointing, "none")) {
		struct settings s = *given;
		snprintf(s.checkpointing, sizeof s.checkpointing, "selective");
		add(l, s, VARIANT_ONE, 0, "{activation_checkpointing} selective");
	}
	if (!is_full(given))
		add(l, with_checkpointing(*given), VARIANT_ONE, 0, "{activation_checkpointing} full");
	for (int i = 0; strategy_at(i); i++) {
		snprintf(change, sizeof change, "{strategy} %s", strategy_at(i)->name);
		if (divides_more(given, strategy_at(i)))
			add(l, with_strategy(*given, strategy_at(i)->name), VARIANT_ONE, 0, change);
	}
	struct settings s = *given;
	s.offload.optimizer = true;
	print_offload(change, sizeof change, &s);
	if (!given->offload.optimizer)
		add(l, s, VARIANT_ONE, 0, change);
}

/* Everything sharded and made again, then in micro-batches of one sample, then out of the device's memory as well. */
static void add_combinations(struct list *l)
{
	const struct settings *given = l->given;
	bool shard = divides_more(given, &strategy_fsdp);
	struct settings s = with_checkpointing(shard ? with_strategy(*given, "fsdp") : *given);
	char change[160];
	int n = snprintf(change, sizeof change, "%s%s", shard ? "{strategy} fsdp " : "",
	                 is_full(given) ? "" : "{activation_checkpointing} full ");
	if (n)
		change[n - 1] = 0;
	add(l, s, VARIANT_MANY, 0, change);
	if (n)
		change[n - 1] = ' ';
	s.offload.optimizer = true;
	print_offload(change + n, sizeof change - (size_t)n, &s);
	add(l, s, VARIANT_MANY, 0, change);
	s = with_micro_batch(s, 1);
	n += print_micro_batch(change + n, sizeof change - (size_t)n, &s);
	change[n++] = ' ';
	print_offload(change + n, sizeof change - (size_t)n, &s);
	add(l, s, VARIANT_MANY, 0, change);
	s.offload.parameters = true;
	print_offload(change + n, sizeof change - (size_t)n, &s);
	add(l, s, VARIANT_MANY, 0, change);
}

static void add_ranks(struct list *l)
{
	char change[96];
	for (int64_t times = 2; times <= 64 && l->given->ranks > 1 && l->given->ranks < 1 << 20; times *= 2) {
		struct settings s = *l->given;
		s.ranks *= times;
		snprintf(change, sizeof change, "{ranks} %" PRId64 " {batch} %" PRId64, s.ranks, s.batch * times);
		add(l, s, VARIANT_RANKS, FAMILY_RANKS, change);
	}
}

int variants_of(const struct settings *given, struct variant out[VARIANTS])
{
	struct list l = {.given = given, .out = out};
	add_singles(&l);
	add_combinations(&l);
	add_ranks(&l);
	return l.count;
}
