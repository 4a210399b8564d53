#include "strategy/base/merge.h"

#include <stdlib.h>

#include "strategy/base/arena.h"

/* The end of the sorted stretch that begins at `at`. */
static size_t run_end(const size_t *order, size_t at, size_t n, bool (*before)(const void *, size_t, size_t),
                      const void *things)
{
	size_t end = at + 1;
	while (end < n && !before(things, order[end], order[end - 1]))
		end++;
	return end;
}

size_t *merge_order(size_t n, bool (*before)(const void *things, size_t a, size_t b), const void *things)
{
	size_t *from = array_make(n + 1, sizeof *from), *to = array_make(n + 1, sizeof *to);
	size_t *ends = array_make(n + 1, sizeof *ends), runs = 0;
	for (size_t i = 0; i < n; i++)
		from[i] = i;
	for (size_t at = 0; at < n; at = ends[runs++])
		ends[runs] = run_end(from, at, n, before, things);
	while (runs > 1) {
		size_t merged = 0, begin = 0;
		for (size_t r = 0; r < runs; r += 2) {
			size_t middle = ends[r], end = r + 1 < runs ? ends[r + 1] : middle;
			for (size_t i = begin, j = middle, k = begin; k < end; k++) {
				bool right = i == middle || (j < end && before(things, from[j], from[i]));
				to[k] = right ? from[j++] : from[i++];
			}
			ends[merged++] = begin = end;
		}
		runs = merged;
		size_t *swap = from;
		from = to;
		to = swap;
	}
	free(to);
	free(ends);
	return from;
}
