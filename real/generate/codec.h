/* A model's text as token ids and back: a tokenizer.json, or for a vocabulary of 256 the bytes themselves. */
#ifndef SHARDLAB_GENERATE_CODEC_H
#define SHARDLAB_GENERATE_CODEC_H

#include "real/tokenizer/tokenizer.h"

enum { CODEC_BYTES = 256, CODEC_ENDS = 16 };

/* A zeroed one is released. */
struct codec {
	struct tokenizer tokenizer;
	bool is_bytes;
	int64_t tokens;           /* ids that may be written are below this */
	int32_t ends[CODEC_ENDS]; /* ids that end a text */
	int end_count;
};

/* path: a tokenizer.json; NULL: bytes, if the model has 256 classes. Which ids end a text is what
 * generation_config.json or config.json beside it says (eos_token_id), or tokenizer_config.json (eos_token), or else
 * the special tokens that commonly do; of bytes a 0, as tools/tokenize.py puts it behind each text.
 * These files must be JSON, with ids of the model. */
enum status codec_open(struct codec *c, const char *path, int64_t classes);
void codec_release(struct codec *c); /* accepts NULL and a zeroed one */

enum status codec_encode(const struct codec *c, const char *text, size_t size, struct token_list *ids);
/* Special tokens are nothing to read, and add nothing. */
void codec_decode(const struct codec *c, int32_t id, struct bytes *out);
bool codec_is_end(const struct codec *c, int32_t id);

/* Moves what is whole from `pending` to `out`: the beginning of a character waits for the rest, unless this is the
 * last. Bytes that belong to no character become U+FFFD. */
void codec_take_whole(struct bytes *pending, bool last, struct bytes *out);

#endif
