#include "real/tokenizer/bpe.h"

#include <stdlib.h>

#include "real/tokenizer/character.h"

void bpe_scratch_release(struct bpe_scratch *r)
{
	free(r->symbols);
	free(r->heap);
	*r = (struct bpe_scratch){0};
}

/* ---- the heap: the lowest rank, of equal ranks the leftmost ---- */

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;
}

static void heap_push(struct bpe_scratch *r, struct waiting w)
{
	ARRAY_ADD(r->heap, r->waiting, r->heap_capacity);
	size_t i = r->waiting - 1;
	for (size_t up; i > 0 && is_before(&w, &r->heap[up = (i - 1) / 2]); i = up)
		r->heap[i] = r->heap[up];
	r->heap[i] = w;
}

static struct waiting heap_pop(struct bpe_scratch *r)
{
	struct waiting first = r->heap[0], last = r->heap[--r->waiting];
	size_t i = 0;
	for (size_t down; (down = 2 * i + 1) < r->waiting; i = down) {
		down += down + 1 < r->waiting && is_before(&r->heap[down + 1], &r->heap[down]);
		if (!is_before(&r->heap[down], &last))
			break;
		r->heap[i] = r->heap[down];
	}
	r->heap[i] = last;
	return first;
}

/* ---- symbols ---- */

static void add_symbol(struct bpe_scratch *r, int32_t token)
{
	int32_t place = (int32_t)r->count;
	*ARRAY_ADD(r->symbols, r->count, r->capacity) = (struct symbol){token, place - 1, -1};
	if (place)
		r->symbols[place - 1].next = place;
}

static bool has_bytes(const struct bpe *b, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (b->of_byte[(unsigned char)text[i]] < 0)
			return false;
	return b->byte_fallback;
}

/* A character that is no token. *was: the last symbol stands for one of these. */
static void add_unknown(const struct bpe *b, struct bpe_scratch *r, const char *text, size_t size, bool *was)
{
	if (has_bytes(b, text, size)) {
		for (size_t i = 0; i < size; i++)
			add_symbol(r, b->of_byte[(unsigned char)text[i]]);
		*was = false;
	} else if (b->unknown >= 0) {
		if (!*was || !b->fuse_unknown)
			add_symbol(r, b->unknown);
		*was = true;
	}
}

static void add_characters(const struct bpe *b, struct bpe_scratch *r, const char *word, size_t size)
{
	bool unknown = false;
	for (size_t i = 0, n; i < size; i += n) {
		n = character_bytes(word[i]);
		int32_t token = vocabulary_find(&b->vocabulary, word + i, n);
		if (token >= 0) {
			add_symbol(r, token);
			unknown = false;
		} else {
			add_unknown(b, r, word + i, n, &unknown);
		}
	}
}

/* The symbol and the one behind it wait, if they merge. */
static void consider(const struct bpe *b, struct bpe_scratch *r, int32_t place)
{
	const struct symbol *s = place < 0 ? NULL : &r->symbols[place];
	const struct merge *m =
	        s && s->next >= 0 ? merge_table_find(&b->merges, s->token, r->symbols[s->next].token) : NULL;
	if (m)
		heap_push(r, (struct waiting){m->rank, place, m->merged});
}

/* A pair that waited may have been merged with another in the meantime. */
static bool still_holds(const struct bpe *b, const struct bpe_scratch *r, const struct waiting *w)
{
	const struct symbol *s = &r->symbols[w->place];
	if (s->token < 0 || s->next < 0)
		return false;
	const struct merge *m = merge_table_find(&b->merges, s->token, r->symbols[s->next].token);
	return m && m->merged == w->merged;
}

static void merge(struct bpe_scratch *r, const struct waiting *w)
{
	struct symbol *s = &r->symbols[w->place], *right = &r->symbols[s->next];
	s->token = w->merged;
	s->next = right->next;
	right->token = -1;
	if (s->next >= 0)
		r->symbols[s->next].previous = w->place;
}

void bpe_encode(const struct bpe *b, struct bpe_scratch *scratch, const char *word, size_t size, struct token_list *ids)
{
	int32_t whole = b->whole_words ? vocabulary_find(&b->vocabulary, word, size) : -1;
	if (whole >= 0 || b->words_alone) {
		token_list_add(ids, whole >= 0 ? whole : b->unknown);
		return;
	}
	scratch->count = scratch->waiting = 0;
	add_characters(b, scratch, word, size);
	for (size_t i = 0; i + 1 < scratch->count; i++)
		consider(b, scratch, (int32_t)i);
	while (scratch->waiting) {
		struct waiting w = heap_pop(scratch);
		if (!still_holds(b, scratch, &w))
			continue;
		merge(scratch, &w);
		consider(b, scratch, scratch->symbols[w.place].previous);
		consider(b, scratch, w.place);
	}
	for (int32_t i = scratch->count ? 0 : -1; i >= 0; i = scratch->symbols[i].next)
		token_list_add(ids, scratch->symbols[i].token);
}
