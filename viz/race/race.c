#include "viz/race/race.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "strategy/collective/chunks.h"
#include "viz/scene/scene.h"

void race_release(struct race *r)
{
	for (int i = 0; i < r->count; i++)
		free(r->racer[i].ends);
	*r = (struct race){.ranks = 0};
}

/* ---- time ---- */

int race_rounds_over(const struct racer *one, int64_t now)
{
	int k = 0;
	while (k < one->rounds && one->ends[k] <= now)
		k++;
	return k;
}

int64_t race_next(const struct race *r, int64_t now)
{
	int64_t next = r->longest;
	for (int i = 0; i < r->count; i++) {
		int k = race_rounds_over(&r->racer[i], now);
		if (k < r->racer[i].rounds && r->racer[i].ends[k] < next)
			next = r->racer[i].ends[k];
	}
	return next > now ? next : now;
}

int64_t race_previous(const struct race *r, int64_t now)
{
	int64_t before = 0;
	for (int i = 0; i < r->count; i++) {
		int k = race_rounds_over(&r->racer[i], now - 1);
		if (k && r->racer[i].ends[k - 1] > before)
			before = r->racer[i].ends[k - 1];
	}
	return before;
}

/* ---- who is the fastest, by size or by ranks ---- */

static int fastest_at(const struct race *r, int point)
{
	int best = 0;
	for (int i = 1; i < r->count; i++)
		if (r->curve.ns[i][point] < r->curve.ns[best][point])
			best = i;
	return best;
}

/* Between two points both times are taken as straight lines over the bytes, as latency and bandwidth make them. */
static int64_t crossing_between(const struct race_curve *v, int a, int b, int point)
{
	double gap0 = (double)(v->ns[b][point] - v->ns[a][point]),
	       gap1 = (double)(v->ns[b][point + 1] - v->ns[a][point + 1]), width;
	if (v->over == RACE_OVER_RANKS)
		return v->at[point + 1];
	width = (double)(v->at[point + 1] - v->at[point]);
	double part = gap0 - gap1 > 0 ? gap0 / (gap0 - gap1) : 0;
	return v->at[point] + (int64_t)(width * part);
}

int race_crossings(const struct race *r, struct race_crossing out[RACE_POINTS])
{
	int count = 0;
	for (int i = 0; r->count && i + 1 < r->curve.points; i++) {
		int before = fastest_at(r, i), after = fastest_at(r, i + 1);
		if (before != after)
			out[count++] =
			        (struct race_crossing){crossing_between(&r->curve, before, after, i), before, after};
	}
	return count;
}

const char *race_point_word(char *out, const struct race_curve *v, int64_t at)
{
	if (v->over == RACE_OVER_RANKS)
		snprintf(out, WORD, tr("%lld ranks"), (long long)at);
	else
		bytes_word(out, at);
	return out;
}

/* Two ranks, say, make some algorithms the same: none of them is faster than the others. */
static bool ties_everywhere(const struct race *r, int a, int b)
{
	for (int i = 0; i < r->curve.points; i++)
		if (r->curve.ns[a][i] != r->curve.ns[b][i])
			return false;
	return true;
}

static void words_of_one_winner(char *out, const struct race *r)
{
	int best = fastest_at(r, 0), ties = 0;
	size_t at = (size_t)snprintf(out, RACE_WORDS, tr("On %lld ranks "), (long long)r->ranks);
	for (int i = 0; i < r->count && at < RACE_WORDS; i++)
		if (ties_everywhere(r, best, i))
			at += (size_t)snprintf(out + at, RACE_WORDS - at, ties++ ? tr(" and %s") : "%s",
			                       r->racer[i].name);
	if (at < RACE_WORDS)
		snprintf(out + at, RACE_WORDS - at, "%s",
		         tr(ties > 1 ? " are the fastest at every size." : " is the fastest at every size."));
}

static void words_of_sizes(char *out, const struct race *r)
{
	struct race_crossing all[RACE_POINTS];
	int n = race_crossings(r, all);
	char bytes[WORD];
	size_t at = 0;
	if (!n)
		words_of_one_winner(out, r);
	for (int i = 0; i < n && at < RACE_WORDS; i++)
		at += (size_t)snprintf(out + at, RACE_WORDS - at,
		                       i ? tr(", from there to %s %s") : tr("Fastest up to %s: %s"),
		                       bytes_word(bytes, all[i].at), r->racer[all[i].before].name);
	if (n && at < RACE_WORDS)
		snprintf(out + at, RACE_WORDS - at, tr("; above, %s."), r->racer[all[n - 1].after].name);
}

/* Writes one racer's numbers of ranks among those of the chart: "ring on 2–3, 6, 12–32 ranks". Returns the length. */
static size_t ranks_of_racer(char *out, size_t size, const struct race *r, int racer)
{
	const struct race_curve *v = &r->curve;
	size_t at = 0;
	for (int first = 0, last; first < v->points; first = last + 1) {
		last = first;
		if (fastest_at(r, first) != racer)
			continue;
		while (last + 1 < v->points && fastest_at(r, last + 1) == racer)
			last++;
		at += (size_t)snprintf(at < size ? out + at : NULL, at < size ? size - at : 0,
		                       last > first ? "%s%lld–%lld" : "%s%lld", at ? ", " : "", (long long)v->at[first],
		                       (long long)v->at[last]);
	}
	return at;
}

static void words_of_ranks(char *out, const struct race *r)
{
	char bytes[WORD], ranks[RACE_WORDS];
	size_t at = (size_t)snprintf(out, RACE_WORDS, tr("Fastest with %s:"), bytes_word(bytes, r->bytes));
	bool any = false;
	for (int i = 0; i < r->count && at < RACE_WORDS; i++) {
		if (!ranks_of_racer(ranks, sizeof ranks, r, i))
			continue;
		at += (size_t)snprintf(out + at, RACE_WORDS - at, tr("%s %s on %s%s"), any ? tr(";") : "",
		                       r->racer[i].name, ranks, any ? "" : tr(" ranks"));
		any = true;
	}
}

const char *race_words(char *out, const struct race *r)
{
	out[0] = 0;
	if (!r->count || !r->curve.points)
		return out;
	if (r->curve.over == RACE_OVER_RANKS)
		words_of_ranks(out, r);
	else
		words_of_sizes(out, r);
	return out;
}

/* ---- what ranks hold ---- */

static void carry_round(const struct schedule *s, int64_t round, const int64_t *cuts, int chunks, uint32_t *held,
                        uint32_t *old)
{
	memcpy(old, held, (size_t)(s->ranks * chunks) * sizeof *old);
	for (int64_t rank = 0; rank < s->ranks; rank++) {
		struct round r = schedule_round(s, rank, round);
		for (int k = 0; r.receive_from >= 0 && k < chunks; k++) {
			uint32_t came = old[r.receive_from * chunks + k], *has = &held[rank * chunks + k];
			if (cuts[k] >= r.receive_offset && cuts[k + 1] <= r.receive_offset + r.receive_count)
				*has = r.add ? *has | came : came;
		}
	}
}

static int ones(uint32_t bits)
{
	int n = 0;
	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

static void carry(const struct race *r, const struct racer *one, int rounds, const int64_t *cuts, int chunks,
                  uint32_t *held, uint32_t *old)
{
	bool sums = operation_row(r->operation)->adds;
	for (int64_t rank = 0; rank < r->ranks; rank++)
		for (int k = 0; k < chunks; k++)
			held[rank * chunks + k] = sums || rank == 0 ? 1U << rank : 0;
	for (int p = 0; p < one->parts; p++)
		for (int64_t k = 0; k < schedule_rounds(&one->part[p]) && rounds > 0; k++, rounds--)
			carry_round(&one->part[p], k, cuts, chunks, held, old);
}

void race_held_make(struct race_held *out, const struct race *r, const struct racer *one, int rounds)
{
	*out = (struct race_held){0};
	if (r->ranks > RACE_GRID)
		return;
	int chunks;
	int64_t *cuts = schedule_cuts(&one->part[0], &chunks);
	size_t cells = (size_t)r->ranks * (size_t)chunks;
	uint32_t *held = calloc(2 * cells, sizeof *held);
	out->part = calloc(cells, sizeof *out->part);
	if (!held || !out->part)
		memory_exhausted();
	out->chunks = chunks;
	carry(r, one, rounds, cuts, chunks, held, held + cells);
	for (size_t i = 0; i < cells; i++)
		out->part[i] = ones(held[i]) / (double)(operation_row(r->operation)->adds ? r->ranks : 1);
	free(held);
	free(cuts);
}

/* ---- in symbols ---- */

/* hop(x) is the time of a message of x bytes, latency + x / bandwidth, and launch the time to begin a collective. Both
 * are those of sim/cost.h inside one node. */
const char *race_time_form(char *out, const struct racer *one, int64_t ranks)
{
	const struct algorithm *a = schedule_row(one->part[0].algorithm);
	bool twice = one->parts == 2, uneven = a->time_uneven && (ranks & (ranks - 1));
	const char *time = uneven ? a->time_uneven : a->time;
	snprintf(out, RACE_FORM, "%slaunch + %s%s", twice ? "2 · (" : "", time ? time : tr("not told by its row"),
	         twice ? ")" : "");
	return out;
}

/* If all ranks send the same, the total is n times the closed form for one. */
const char *race_bytes_form(char *out, const struct racer *one)
{
	const struct algorithm *a = schedule_row(one->part[0].algorithm);
	const char *part = a->symmetric ? strstr(a->formula, "/n") : NULL;
	int until = part ? (int)(part - a->formula) : (int)strlen(a->formula);
	snprintf(out, RACE_FORM, tr("all ranks send %s%.*s%s"), one->parts == 2 ? "2 · " : "", until, a->formula,
	         part ? part + strlen("/n") : "");
	return out;
}
