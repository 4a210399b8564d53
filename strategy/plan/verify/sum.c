#include "strategy/plan/verify/sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/plan/verify/verify.h"

void sums_release(struct sums *s)
{
	free(s->runs);
	free(s->list);
	free(s->table);
}

/* ---- equal sums have equal numbers ---- */

static uint64_t hash_runs(const struct run *runs, int count)
{
	uint64_t h = 1469598103934665603u;
	for (int i = 0; i < count; i++) {
		uint64_t words[3] = {(uint64_t)(unsigned)runs[i].begin << 32 | (unsigned)runs[i].end, runs[i].uses,
		                     runs[i].axes};
		for (int w = 0; w < 3; w++)
			h = (h ^ words[w] ^ words[w] >> 29) * UINT64_C(0x9e3779b97f4a7c15);
	}
	return h ^ h >> 32;
}

static bool equal_runs(const struct run *a, const struct run *b, int count)
{
	for (int i = 0; i < count; i++)
		if (a[i].begin != b[i].begin || a[i].end != b[i].end || a[i].uses != b[i].uses ||
		    a[i].axes != b[i].axes)
			return false;
	return true;
}

static void grow_table(struct sums *s)
{
	s->table_size = s->table_size ? 2 * s->table_size : 256;
	free(s->table);
	s->table = array_make(s->table_size, sizeof *s->table);
	memset(s->table, -1, s->table_size * sizeof *s->table);
	for (size_t i = 1; i < s->count; i++) {
		size_t at = s->list[i].hash & (s->table_size - 1);
		while (s->table[at] >= 0)
			at = (at + 1) & (s->table_size - 1);
		s->table[at] = (int)i;
	}
}

void sums_init(struct sums *s, const struct plan *p)
{
	*s = (struct sums){.plan = p};
	grow_table(s);
	s->list = array_reserve(s->list, 0, &s->capacity, sizeof *s->list);
	s->list[s->count++] = (struct sum){0};
}

/* A sum under construction: runs in order, added at the end of the array and made one where they can be. */
struct maker {
	struct sums *sums;
	size_t first;
};

static struct maker make(struct sums *s)
{
	return (struct maker){s, s->run_count};
}

static void append(struct maker *m, struct run r)
{
	struct sums *s = m->sums;
	if (r.begin >= r.end)
		return;
	if (s->run_count > m->first) {
		struct run *last = &s->runs[s->run_count - 1];
		if (last->end == r.begin && last->uses == r.uses && last->axes == r.axes) {
			last->end = r.end;
			return;
		}
	}
	s->runs = array_reserve(s->runs, s->run_count, &s->run_capacity, sizeof *s->runs);
	s->runs[s->run_count++] = r;
}

static int drop(struct maker *m, int why)
{
	m->sums->run_count = m->first;
	return why;
}

static int finish(struct maker *m)
{
	struct sums *s = m->sums;
	int count = (int)(s->run_count - m->first);
	if (!count)
		return 0;
	uint64_t h = hash_runs(s->runs + m->first, count);
	size_t at = h & (s->table_size - 1);
	for (; s->table[at] >= 0; at = (at + 1) & (s->table_size - 1)) {
		const struct sum *known = &s->list[s->table[at]];
		if (known->hash == h && known->count == count &&
		    equal_runs(s->runs + known->first, s->runs + m->first, count))
			return drop(m, s->table[at]);
	}
	s->list = array_reserve(s->list, s->count, &s->capacity, sizeof *s->list);
	s->list[s->count] = (struct sum){m->first, count, h};
	s->table[at] = (int)s->count++;
	int made = (int)s->count - 1;
	if (s->count * 2 > s->table_size)
		grow_table(s);
	return made;
}

/* ---- arithmetic ---- */

/* Run i of a sum, by value: the array may move while another sum is made. */
static struct run run_at(const struct sums *s, int sum, int i)
{
	return s->runs[s->list[sum].first + (size_t)i];
}

int sum_add(struct sums *s, int sum, int at, int use, int uses, unsigned axes)
{
	uint64_t every = (UINT64_C(1) << uses) - 1, bit = UINT64_C(1) << use;
	struct run mine = {at, at + 1, bit == every ? USES_EVERY : bit, axes};
	struct maker m = make(s);
	bool placed = false;
	for (int i = 0; i < s->list[sum].count; i++) {
		struct run r = run_at(s, sum, i);
		if (r.end <= at) {
			append(&m, r);
			continue;
		}
		if (r.begin <= at) {
			if (r.uses & bit || r.axes != axes)
				return drop(&m, SUM_TWICE);
			mine.uses = (r.uses | bit) == every ? USES_EVERY : r.uses | bit;
			append(&m, (struct run){r.begin, at, r.uses, r.axes});
		}
		if (!placed)
			append(&m, mine);
		placed = true;
		append(&m, (struct run){r.begin > at ? r.begin : at + 1, r.end, r.uses, r.axes});
	}
	if (!placed)
		append(&m, mine);
	return finish(&m);
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

int sum_merge(struct sums *s, int a, int b)
{
	struct maker m = make(s);
	int i = 0, k = 0, at = 0;
	while (i < s->list[a].count || k < s->list[b].count) {
		struct run none = {INT32_MAX, INT32_MAX, 0, 0};
		struct run ra = i < s->list[a].count ? run_at(s, a, i) : none,
		           rb = k < s->list[b].count ? run_at(s, b, k) : none;
		int from = smaller(ra.begin, rb.begin);
		at = at > from ? at : from;
		bool in_a = ra.begin <= at, in_b = rb.begin <= at;
		int end = smaller(in_a ? ra.end : ra.begin, in_b ? rb.end : rb.begin);
		if (in_a && in_b && (ra.uses & rb.uses))
			return drop(&m, SUM_TWICE);
		if (in_a && in_b)
			return drop(&m, SUM_PARTIAL);
		append(&m, (struct run){at, end, in_a ? ra.uses : rb.uses, in_a ? ra.axes : rb.axes});
		at = end;
		i += ra.end <= at;
		k += rb.end <= at;
	}
	return finish(&m);
}

/* One micro-batch over the roles of a group: what each holds of it (uses 0: nothing).
 *
 * Either it is its own along all of `axes`: then every role must have it, complete, and each of its members for itself.
 * Or it is added up along all of them already (as where `axes` are none): then one member of one role has it; or, where
 * roles serve the same samples, one member each has different uses of it. */
static int combine(const struct run *r, const struct addend *a, int count, unsigned axes, uint64_t every,
                   struct run *out)
{
	int own = 0, absent = 0;
	unsigned already = 0;
	*out = (struct run){.uses = 0};
	for (int i = 0; i < count; i++) {
		if (!r[i].uses) {
			absent++;
			continue;
		}
		if (r[i].uses != USES_EVERY && axes)
			return SUM_PARTIAL;
		bool mine = axes && !(r[i].axes & axes);
		if ((r[i].axes & axes) != (mine ? 0 : axes) || ((own || out->uses) && r[i].axes != already))
			return out->uses || own ? SUM_TWICE : SUM_MIXED;
		if (mine ? a[i].copies > 1 : a[i].members > 1 || (out->uses & r[i].uses))
			return SUM_TWICE;
		own += mine;
		already = r[i].axes;
		out->uses |= r[i].uses;
	}
	if (own && absent)
		return SUM_MIXED;
	if (every && out->uses == every)
		out->uses = USES_EVERY;
	out->axes = already | axes;
	return 0;
}

int sum_over_group(struct sums *s, const struct addend *addends, int count, unsigned axes, uint64_t every)
{
	struct maker m = make(s);
	int next[PLAN_ROLES] = {0}, at = 0;
	for (;;) {
		struct run here[PLAN_ROLES], out;
		int end = INT32_MAX;
		for (int i = 0; i < count; i++) {
			int sum = addends[i].sum;
			here[i] = (struct run){0};
			if (next[i] == s->list[sum].count)
				continue;
			struct run r = run_at(s, sum, next[i]);
			if (r.begin <= at)
				here[i] = r;
			end = smaller(end, r.begin <= at ? r.end : r.begin);
		}
		if (end == INT32_MAX)
			return finish(&m);
		int why = combine(here, addends, count, axes, every, &out);
		if (why)
			return drop(&m, why);
		if (out.uses)
			append(&m, (struct run){at, end, out.uses, out.axes});
		at = end;
		for (int i = 0; i < count; i++) {
			int sum = addends[i].sum;
			next[i] += next[i] < s->list[sum].count && run_at(s, sum, next[i]).end <= at;
		}
	}
}

bool sum_is_complete(const struct sums *s, int sum, int n, unsigned axes)
{
	if (s->list[sum].count != 1)
		return false;
	struct run r = run_at(s, sum, 0);
	return r.begin == 0 && r.end == n && r.uses == USES_EVERY && plan_along(s->plan, axes & ~r.axes) == 1;
}

/* " of all ranks", " of the ranks along shard", " of this rank alone" */
static const char *whose(const struct sums *s, unsigned axes, char *text, size_t size)
{
	unsigned data = plan_data_axes(s->plan);
	if (!(axes & data))
		return plan_along(s->plan, data) == 1 ? "" : " of this rank alone";
	if ((axes & data) == data)
		return " of all ranks";
	snprintf(text, size, " of the ranks along %s", s->plan->axes[__builtin_ctz(axes & data)].name);
	return text;
}

void sum_describe(const struct sums *s, int sum, char *out, size_t size)
{
	struct text t = {out, size, 0};
	char text[80];
	text_add(&t, s->list[sum].count ? "" : "nothing");
	for (int i = 0; i < s->list[sum].count; i++) {
		struct run r = run_at(s, sum, i);
		text_add(&t, "%s%d", i ? "; " : "", r.begin);
		if (r.end > r.begin + 1)
			text_add(&t, " to %d", r.end - 1);
		text_add(&t, "%s%s", r.uses == USES_EVERY ? "" : " in part", whose(s, r.axes, text, sizeof text));
	}
}
