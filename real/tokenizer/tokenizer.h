/* Text to token ids and back, as a tokenizer.json of Hugging Face's tokenizers says: GPT-2's, Llama's, Qwen's.
 *
 *     struct tokenizer t;
 *     enum status s = tokenizer_open(&t, "Qwen3-0.6B/tokenizer.json");
 *     struct token_list ids = {0};
 *     s = tokenizer_encode(&t, text, strlen(text), &ids);
 *     struct bytes out = {0};
 *     for (size_t i = 0; i < ids.count; i++)
 *             tokenizer_decode(&t, ids.list[i], i == 0, &out);
 *     token_list_release(&ids), bytes_release(&out), tokenizer_release(&t);
 *
 * A text goes through these, each of which the file may leave out:
 *
 *     added tokens      "<|endoftext|>" in the text is one token, whatever stands around it
 *     normalizer        NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Prepend, Replace, Sequence
 *     pre_tokenizer     ByteLevel, Split, Digits, Metaspace, Whitespace, WhitespaceSplit, Sequence: cuts into words
 *     model             BPE: a word's characters are merged pair by pair, of the lowest rank first; WordLevel: a word
 *                       is a token
 *     post_processor    TemplateProcessing, ByteLevel, Sequence: puts "<s>" before the ids
 *     decoder           ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, Sequence: ids to text; without one,
 *                       tokens have spaces between them
 *
 * Anything else, and every unknown key, is STATUS_INPUT with its place in the file: a text cut in another way would be
 * another prompt. Patterns are Oniguruma's there and PCRE2's here; what the two read differently
 * is refused (pattern.h).
 */
#ifndef SHARDLAB_TOKENIZER_H
#define SHARDLAB_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

/* Bytes that grow. A zeroed one is empty. */
struct bytes {
	char *at;
	size_t size, capacity;
};
void bytes_add(struct bytes *b, const char *more, size_t size);
void bytes_release(struct bytes *b); /* accepts NULL */

struct token_list {
	int32_t *list;
	size_t count, capacity;
};
void token_list_add(struct token_list *l, int32_t id);
void token_list_release(struct token_list *l); /* accepts NULL */

/* A zeroed one is released. */
struct tokenizer {
	char *path;
	struct tokenizer_parts *parts;
};

/* On failure t is released. A file that is not a tokenizer, or asks for what is not supported, is STATUS_INPUT. */
enum status tokenizer_open(struct tokenizer *t, const char *path);
void tokenizer_release(struct tokenizer *t); /* accepts NULL and a zeroed one */

/* One more than the largest id of a file, of any kind of tokenizer; 0: it names none. A file that is not JSON is
 * STATUS_INPUT. */
enum status tokenizer_count(const char *path, int64_t *size);

/* One more than the largest id. */
int64_t tokenizer_size(const struct tokenizer *t);
/* The id of a token by its whole text; -1: there is none. */
int32_t tokenizer_find(const struct tokenizer *t, const char *text);
bool tokenizer_has(const struct tokenizer *t, int32_t id);
bool tokenizer_is_special(const struct tokenizer *t, int32_t id);

/* Adds the ids to the list, with those that the file puts around a text. A text that is not UTF-8 is STATUS_INPUT. */
enum status tokenizer_encode(const struct tokenizer *t, const char *text, size_t size, struct token_list *ids);

/* Adds the bytes that a token stands for; a character may begin in one token and end in the next. first: of its text.
 * An id that stands for nothing adds nothing. */
void tokenizer_decode(const struct tokenizer *t, int32_t id, bool first, struct bytes *out);

#endif
