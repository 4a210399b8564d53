#include "real/tokenizer/vocabulary.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mix64.h"
#include "strategy/base/arena.h"

/* At most half of the slots are in use. */
static size_t slots_for(size_t count)
{
	size_t slots = 16;
	while (slots < 2 * count)
		slots *= 2;
	return slots;
}

/* FNV-1a, and a mix for the lower bits */
static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t h = 0xcbf29ce484222325;
	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3;
	return mix64(h);
}

void vocabulary_init(struct vocabulary *v, int64_t size, size_t count)
{
	v->slot_count = slots_for(count);
	v->slots = array_make(v->slot_count, sizeof *v->slots);
	v->size = size;
	v->tokens = array_make((size_t)size, sizeof *v->tokens);
}

void vocabulary_release(struct vocabulary *v)
{
	free(v->slots);
	free(v->tokens);
	*v = (struct vocabulary){0};
}

static bool is_token(const struct token_text *t, const char *text, size_t size)
{
	return t->size == size && !memcmp(t->text, text, size);
}

/* The slot that has the text, or would have it. */
static size_t slot_of(const struct vocabulary *v, const char *text, size_t size)
{
	size_t i = hash_of(text, size) & (v->slot_count - 1);
	while (v->slots[i] && !is_token(&v->tokens[v->slots[i] - 1], text, size))
		i = (i + 1) & (v->slot_count - 1);
	return i;
}

void vocabulary_add(struct vocabulary *v, const char *text, size_t size, int32_t id)
{
	v->tokens[id] = (struct token_text){text, size};
	v->slots[slot_of(v, text, size)] = id + 1;
}

int32_t vocabulary_find(const struct vocabulary *v, const char *text, size_t size)
{
	return v->slots[slot_of(v, text, size)] - 1;
}

/* ---- merges ---- */

void merge_table_init(struct merge_table *t, size_t count)
{
	t->slot_count = slots_for(count);
	t->slots = array_make(t->slot_count, sizeof *t->slots);
	for (size_t i = 0; i < t->slot_count; i++)
		t->slots[i].left = -1;
}

void merge_table_release(struct merge_table *t)
{
	free(t->slots);
	*t = (struct merge_table){0};
}

static struct merge *merge_slot(const struct merge_table *t, int32_t left, int32_t right)
{
	size_t i = mix64((uint64_t)(uint32_t)left << 32 | (uint32_t)right) & (t->slot_count - 1);
	while (t->slots[i].left >= 0 && (t->slots[i].left != left || t->slots[i].right != right))
		i = (i + 1) & (t->slot_count - 1);
	return &t->slots[i];
}

void merge_table_put(struct merge_table *t, struct merge m)
{
	*merge_slot(t, m.left, m.right) = m;
}

const struct merge *merge_table_find(const struct merge_table *t, int32_t left, int32_t right)
{
	const struct merge *m = merge_slot(t, left, right);
	return m->left < 0 ? NULL : m;
}
