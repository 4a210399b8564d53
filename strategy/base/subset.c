#include "strategy/base/subset.h"

#include <stdlib.h>

#include "strategy/base/arena.h"

void subset_init(struct subset *s, int n)
{
	*s = (struct subset){.words = array_make((size_t)n / SUBSET_WORD + 1, sizeof *s->words)};
}

void subset_release(struct subset *s)
{
	if (!s)
		return;
	free(s->words);
	*s = (struct subset){0};
}

void subset_add(struct subset *s, int number)
{
	struct subset_word *w = &s->words[number / SUBSET_WORD];
	if (!w->bits)
		w->before = s->count;
	w->bits |= UINT64_C(1) << number % SUBSET_WORD;
	s->count++;
}
