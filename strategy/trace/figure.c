#include "strategy/trace/figure.h"

#include <assert.h>

static bool comes_after(const struct figure *a, const struct figure *b)
{
	return a->group != b->group ? a->group > b->group : a->total && !b->total;
}

static void insert(struct figure_list *l, struct figure what)
{
	int at = l->count++;
	assert(at + 1 < (int)(sizeof l->figure / sizeof l->figure[0]));
	for (; at > 0 && comes_after(&l->figure[at - 1], &what); at--)
		l->figure[at] = l->figure[at - 1];
	l->figure[at] = what;
}

int64_t *figure_shown(const struct form *f, int64_t *v, struct figure where)
{
	struct figure_list *l = f->figures;
	if (!l || !where.name)
		return v;
	const char *report = (const char *)l->report, *role = (const char *)l->report->roles, *at = (const char *)v;
	where.whole_run = at < role || at >= role + sizeof l->report->roles;
	where.offset = (size_t)(at - (where.whole_run ? report : role));
	insert(l, where);
	return v;
}

int64_t figure_value(const struct figure *f, const struct report *r, int role)
{
	const char *base = f->whole_run ? (const char *)r : (const char *)&r->roles[role];
	const int64_t *at = (const int64_t *)(const void *)(base + f->offset);
	int64_t sum = 0;
	if (f->group == GROUP_TIGHTEST && !r->tightest.capacity_bytes)
		return -1;
	for (int k = 0; k == 0 || k < f->count; k++)
		sum += at[k];
	return sum;
}
