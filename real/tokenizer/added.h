/* Tokens that are found in a text before anything else is done to it: the leftmost, of those that begin there the
 * longest. */
#ifndef SHARDLAB_TOKENIZER_ADDED_H
#define SHARDLAB_TOKENIZER_ADDED_H

#include "real/tokenizer/tokenizer.h"

struct added_token {
	const char *text;
	size_t size;
	int32_t id;
	bool single_word;                /* not within a word */
	bool takes_before, takes_behind; /* the white space there goes with it: lstrip, rstrip */
};

/* Ordered by first byte, the longest of each first. */
struct added_tokens {
	struct added_token *list;
	size_t count, capacity;
	size_t begin[257]; /* those with first byte b are [begin[b], begin[b + 1]) */
};

/* Once all are in the list. */
void added_tokens_sort(struct added_tokens *a);

/* A stretch of a text: a token, or text between tokens. */
struct stretch {
	size_t begin, end;
	int32_t id; /* -1: text */
};

/* The stretch that begins at `from`, which is before the text's end. */
struct stretch added_tokens_next(const struct added_tokens *a, const char *text, size_t size, size_t from);

#endif
