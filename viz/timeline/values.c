#include "viz/timeline/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "strategy/strategies/alone.h"

bool values_recorded(const struct timeline *s)
{
	return s && s->trace->value_count;
}

/* A digit from 1 to 9: of up to nine neighbouring ranks each has its own, and the sums of neighbouring chunks differ.
 */
static double example(const struct collective *c, int64_t member, int chunk)
{
	return (double)(1 + (2 + 2 * c->rank[member] + 4 * (int64_t)chunk) % 9);
}

/* An all-reduce alone that is a reduce and then a broadcast: this is the broadcast, which passes on the sum. */
static bool passes_on_sum(const struct timeline *s, const struct collective *c)
{
	return s && c != s->collectives && c->kind == OP_BROADCAST && plan_is_alone(s->plan);
}

static double sum_of_examples(const struct collective *c, int chunk)
{
	double sum = 0;
	for (int64_t member = 0; member < c->schedule.ranks; member++)
		sum += example(c, member, chunk);
	return sum;
}

double value_initially(const struct timeline *s, const struct collective *c, int64_t member, int chunk)
{
	if (!values_recorded(s))
		return passes_on_sum(s, c) ? sum_of_examples(c, chunk) : example(c, member, chunk);
	const struct trace_value *v = trace_value(s->trace, c->rank[member], c->ops[member], chunk);
	return v ? v->before : NAN;
}

/* The number that a place in the group contributes to a chunk; NAN: none. */
static double brought(const struct timeline *s, const struct collective *c, int64_t member, int chunk)
{
	return state_initially(c, member, chunk) ? value_initially(s, c, member, chunk) : NAN;
}

/* A run has all of its numbers or none, since a sum without one of its parts would be false. */
bool values_shown(const struct timeline *s, const struct collective *c)
{
	if (!c->shown || !c->rank || c->schedule.ranks > VALUES_RANKS)
		return false;
	for (int64_t member = 0; values_recorded(s) && member < c->schedule.ranks; member++)
		for (int i = 0; i < c->chunk_count; i++)
			if (state_initially(c, member, i) && isnan(value_initially(s, c, member, i)))
				return false;
	return true;
}

static double largest(const struct timeline *s, const struct collective *c)
{
	double most = 0;
	for (int64_t member = 0; member < c->schedule.ranks; member++)
		for (int i = 0; i < c->chunk_count; i++)
			most = fmax(most, fabs(brought(s, c, member, i)));
	return most;
}

/* An exponent of ten, a multiple of 3, so that the largest number of a collective, in all its groups, has one to three
 * digits before the point. */
static int value_power(const struct timeline *s, const struct collective *c)
{
	double most = 0;
	for (int i = 0; values_recorded(s) && i < s->collective_count; i++)
		if (s->collectives[i].family == c->family && values_shown(s, &s->collectives[i]))
			most = fmax(most, largest(s, &s->collectives[i]));
	return most > 0 && (most < 0.1 || most >= 1000) ? 3 * (int)floor(log10(most) / 3) : 0;
}

void values_init(struct values *v, const struct timeline *s, const struct collective *c)
{
	size_t n = (size_t)(c->schedule.ranks * c->chunk_count);
	*v = (struct values){.power = value_power(s, c), .members = c->schedule.ranks, .chunks = c->chunk_count};
	v->now = calloc(n + 1, sizeof *v->now);
	v->last = calloc(n + 1, sizeof *v->last);
	if (!v->now || !v->last)
		memory_exhausted();
	for (int64_t member = 0; member < v->members; member++)
		for (int i = 0; i < v->chunks; i++) {
			size_t k = (size_t)(member * v->chunks + i);
			v->now[k] = brought(s, c, member, i) * pow(10, -v->power);
			v->last[k] = (struct exchange){.had = NAN, .came = NAN, .has = v->now[k]};
		}
}

static double result_of(const struct exchange *x)
{
	return !x->adds ? x->came : x->maximum ? fmax(x->had, x->came) : x->had + x->came;
}

void values_carry(struct values *v, const struct collective *c, const struct event *message)
{
	int last, first = collective_chunks(c, message, &last);
	for (int i = first; i <= last; i++) {
		size_t to = (size_t)(message->to_member * v->chunks + i);
		struct exchange x = {.had = v->now[to],
		                     .came = v->now[message->member * v->chunks + i],
		                     .adds = message->add,
		                     .maximum = c->kind == OP_ALL_REDUCE_MAXIMUM};
		x.has = result_of(&x);
		v->last[to] = x;
		v->now[to] = x.has;
	}
}

void values_make(struct values *v, const struct state *st, const struct state_group *g)
{
	const struct timeline *s = st->timeline;
	const struct collective *c = &s->collectives[g->collective];
	values_init(v, s, c);
	for (size_t i = c->first_event; i < c->end_event && i < st->latest_end; i++)
		if (s->events[i].kind == EVENT_MESSAGE && s->events[i].collective == g->collective)
			values_carry(v, c, &s->events[i]);
}

void values_release(struct values *v)
{
	if (!v)
		return;
	free(v->now);
	free(v->last);
	*v = (struct values){0};
}

const struct exchange *values_exchange(const struct values *v, const struct collective *c, const struct event *message)
{
	int last, first = collective_chunks(c, message, &last);
	return &v->last[message->to_member * v->chunks + first];
}

/* ---- words ---- */

const char *power_word(char *out, int power)
{
	static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
	int size = abs(power);
	if (!power)
		*out = 0;
	else
		snprintf(out, POWER_WORD, " × 10%s%s%s", power < 0 ? "⁻" : "", size > 9 ? raised[size / 10 % 10] : "",
		         raised[size % 10]);
	return out;
}

/* Three digits; "1.23e-05" loses the zeros of its exponent. */
const char *value_word(char *out, double value)
{
	snprintf(out, VALUE_WORD, "%.3g", value);
	char *power = strchr(out, 'e');
	if (power) {
		char *to = power + 1, *from = to + (*to == '-' || *to == '+');
		to += *to == '-';
		from += strspn(from, "0");
		memmove(to, from, strlen(from) + 1);
	}
	return out;
}

const char *exchange_word(char *out, const struct exchange *x)
{
	char had[VALUE_WORD], came[VALUE_WORD], has[VALUE_WORD];
	bool less = x->adds && !x->maximum && x->came < 0;
	value_word(had, x->had);
	value_word(came, less ? -x->came : x->came);
	value_word(has, x->has);
	if (!x->adds)
		snprintf(out, EXCHANGE_WORD, "%s", has);
	else if (x->maximum)
		snprintf(out, EXCHANGE_WORD, tr("max(%s, %s) = %s"), had, came, has);
	else
		snprintf(out, EXCHANGE_WORD, "%s %s %s = %s", had, less ? "−" : "+", came, has);
	return out;
}
