/* Token texts by id, ids by text, and merges by pair: tables with open addressing, filled once. */
#ifndef SHARDLAB_TOKENIZER_VOCABULARY_H
#define SHARDLAB_TOKENIZER_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

/* Ids are below this: a file could else make the tables as large as it likes. */
enum { VOCABULARY_MOST = 1 << 22 };

struct token_text {
	const char *text; /* NULL: there is no token of this id */
	size_t size;
};

struct vocabulary {
	struct token_text *tokens; /* by id */
	int64_t size;              /* one more than the largest id */
	int32_t *slots;            /* id + 1; 0: free */
	size_t slot_count;         /* a power of two */
};

/* For ids below `size`, and at most as many texts as `count`. */
void vocabulary_init(struct vocabulary *v, int64_t size, size_t count);
void vocabulary_release(struct vocabulary *v);
/* The text stays the caller's, must live as long, and is not in it yet. */
void vocabulary_add(struct vocabulary *v, const char *text, size_t size, int32_t id);
int32_t vocabulary_find(const struct vocabulary *v, const char *text, size_t size); /* -1: there is none */

struct merge {
	int32_t left, right, rank, merged;
};

struct merge_table {
	struct merge *slots; /* left -1: free */
	size_t slot_count;
};

void merge_table_init(struct merge_table *t, size_t count);
void merge_table_release(struct merge_table *t);
/* A pair that is there already gets the new rank. */
void merge_table_put(struct merge_table *t, struct merge m);
const struct merge *merge_table_find(const struct merge_table *t, int32_t left, int32_t right); /* NULL: none */

#endif
