#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/tokenizer.h"

void bytes_add(struct bytes *b, const char *more, size_t size)
{
	if (!size)
		return;
	if (b->size + size > b->capacity) {
		size_t capacity = 2 * (b->size + size) + 64;
		char *grown = realloc(b->at, capacity);
		if (!grown)
			abort();
		b->at = grown;
		b->capacity = capacity;
	}
	memcpy(b->at + b->size, more, size);
	b->size += size;
}

void bytes_release(struct bytes *b)
{
	if (!b)
		return;
	free(b->at);
	*b = (struct bytes){0};
}

void token_list_add(struct token_list *l, int32_t id)
{
	*ARRAY_ADD(l->list, l->count, l->capacity) = id;
}

void token_list_release(struct token_list *l)
{
	if (!l)
		return;
	free(l->list);
	*l = (struct token_list){0};
}
