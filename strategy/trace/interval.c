#include "strategy/trace/interval.h"

#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/compare.h"
#include "strategy/base/search.h"

void intervals_add(struct intervals *v, int64_t begin, int64_t end)
{
	v->list = array_reserve(v->list, v->count, &v->capacity, sizeof *v->list);
	v->list[v->count++] = (struct interval){begin, end};
}

static int by_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return x->begin != y->begin ? compare(x->begin, y->begin) : compare(x->end, y->end);
}

void intervals_unite(struct intervals *v)
{
	size_t kept = 0;
	if (v->count)
		qsort(v->list, v->count, sizeof *v->list, by_begin);
	for (size_t i = 0; i < v->count; i++) {
		const struct interval next = v->list[i];
		if (kept && next.begin <= v->list[kept - 1].end) {
			if (next.end > v->list[kept - 1].end)
				v->list[kept - 1].end = next.end;
		} else {
			v->list[kept++] = next;
		}
	}
	v->count = kept;
}

int64_t intervals_length(const struct intervals *v)
{
	int64_t sum = 0;
	for (size_t i = 0; i < v->count; i++)
		sum += v->list[i].end - v->list[i].begin;
	return sum;
}

int64_t intervals_within(const struct intervals *v, int64_t begin, int64_t end)
{
	int64_t sum = 0;
	size_t first = v->count ? FIRST_PAST(v->list, end, 0, v->count, begin) : 0;
	for (size_t i = first; i < v->count && v->list[i].begin < end; i++) {
		int64_t from = v->list[i].begin > begin ? v->list[i].begin : begin;
		int64_t to = v->list[i].end < end ? v->list[i].end : end;
		sum += to > from ? to - from : 0;
	}
	return sum;
}

int64_t intervals_common(const struct intervals *a, const struct intervals *b)
{
	int64_t sum = 0;
	for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
		const struct interval *x = &a->list[i], *y = &b->list[j];
		int64_t begin = x->begin > y->begin ? x->begin : y->begin;
		int64_t end = x->end < y->end ? x->end : y->end;
		if (end > begin)
			sum += end - begin;
		if (x->end < y->end)
			i++;
		else
			j++;
	}
	return sum;
}
