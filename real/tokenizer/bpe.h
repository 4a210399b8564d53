/* Byte-pair encoding of one word (Sennrich, Haddow & Birch 2016, arXiv 1508.07909): its characters' tokens are merged
 * pair by pair, of the lowest rank first, of equal ranks the leftmost. Pairs wait in a heap and tokens are a linked
 * list, so a word of n characters takes n·log n steps.
 */
#ifndef SHARDLAB_TOKENIZER_BPE_H
#define SHARDLAB_TOKENIZER_BPE_H

#include <stdbool.h>

#include "real/tokenizer/tokenizer.h"
#include "real/tokenizer/vocabulary.h"

struct bpe {
	struct vocabulary vocabulary; /* without added tokens */
	struct merge_table merges;
	int32_t unknown;    /* the token of a character that has none; -1: it is left out */
	bool fuse_unknown;  /* one for several such characters that are neighbours */
	bool byte_fallback; /* such a character is the tokens of its bytes, <0xE2> … */
	bool whole_words;   /* a word that is a token is not merged together: ignore_merges */
	bool words_alone;   /* WordLevel: a word that is no token is the unknown one */
	int32_t of_byte[256];
};

/* Memory that words share. A zeroed one is released. */
struct bpe_scratch {
	struct symbol {
		int32_t token, previous, next; /* next -1: the last; token -1: merged into the one before */
	} * symbols;
	size_t count, capacity;
	struct waiting {
		int32_t rank, place, merged;
	} * heap;
	size_t waiting, heap_capacity;
};
void bpe_scratch_release(struct bpe_scratch *r);

void bpe_encode(const struct bpe *b, struct bpe_scratch *scratch, const char *word, size_t size,
                struct token_list *ids);

#endif
