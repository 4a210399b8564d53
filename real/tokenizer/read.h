/* Reading a tokenizer.json: every key is asked for by name, so that one that nobody asks for is refused. */
#ifndef SHARDLAB_TOKENIZER_READ_H
#define SHARDLAB_TOKENIZER_READ_H

#include <jansson.h>

#include "real/tokenizer/parts.h"

struct reader {
	const char *path;
	struct tokenizer_parts *parts;
};

/* An object of the file, and its place for messages: "pre_tokenizer.pretokenizers[1]". */
struct part {
	const struct reader *reader;
	const json_t *object;
	const char *place;
};

/* "{tokenizer} FILE: PLACE: …" */
enum status part_fail(const struct part *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Refuses what is no object, and keys that are not among these words. */
enum status part_check(const struct part *p, const char *keys);
/* The value of a key, or what is assumed where there is none or null. Another type is STATUS_INPUT. */
enum status part_text(const struct part *p, const char *key, const char *otherwise, const char **out);
enum status part_flag(const struct part *p, const char *key, bool otherwise, bool *out);
enum status part_whole(const struct part *p, const char *key, int64_t otherwise, int64_t *out);
/* A text that is one of these words; its place among them. */
enum status part_word(const struct part *p, const char *key, const char *words, int *out);
/* The objects of a list, or the object itself under a key. */
struct part part_at(const struct part *p, const char *key);
struct part part_element(const struct part *p, size_t i);

/* A reader for each "type" of a part. */
struct part_reader {
	const char *type;
	enum status (*read)(const struct part *p);
};
/* null is nothing. A type that is not in the list is refused by its name. */
enum status part_read(const struct part *p, const struct part_reader *readers, size_t count);
/* The parts of a list, by the reader of one. */
enum status part_read_list(const struct part *p, const char *key, enum status (*read)(const struct part *p));

enum status tokenizer_read_normalizer(const struct part *p);
enum status tokenizer_read_pre_tokenizer(const struct part *p);
enum status tokenizer_read_decoder(const struct part *p);
enum status tokenizer_read_post_processor(const struct part *p);
enum status tokenizer_read_model(const struct part *p);
/* Behind the model, which has their ids. */
enum status tokenizer_read_added_tokens(const struct part *p);

#endif
