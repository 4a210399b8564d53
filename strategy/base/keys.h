/* Keys behind a name, and the words that a value may be: `zero3:prefetch=0:reuse=1000`, `gpt:layers=12,width=768`,
 * `full:number_checkpoints=4`. A table says which keys there are; parsing, defaults and help come from it.
 *
 *     static const struct key list[] = {{"reshard", "yes|no", "yes", "free a unit after its forward pass"}};
 *     struct keys keys = {"{strategy}", "fsdp", list, 1};
 *     struct key_value value[1];
 *     enum status s = keys_read(&keys, "reshard=no", value);
 *     … key_is(&value[0], "no") …
 */
#ifndef SHARDLAB_KEYS_H
#define SHARDLAB_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/base/status.h"

enum { KEYS_MOST = 32 };

struct key {
	const char *name;
	const char *values; /* "yes|no", with N for a whole number, P for a probability below 1 or R for a number above
	                       0; "": any text */
	const char *fallback;
	const char *help;
};

struct keys {
	const char *setting, *name; /* for messages: "{strategy}", "zero3" */
	const struct key *list;
	int count;
	const char *separators; /* the characters that end a pair; NULL: a colon */
	int64_t low, high;      /* of its whole numbers; both 0: from 0 on */
};

/* A value: a piece of the pairs or of the table, which must outlive it. */
struct key_value {
	const char *text;
	size_t length;
	bool given; /* not the fallback */
};

/* Reads key=value:…, or NULL for none, into one value for each key of the table. An unknown key, one that comes twice,
 * or an impossible value, is STATUS_INPUT with a line that names it. */
enum status keys_read(const struct keys *k, const char *pairs, struct key_value *values);
/* Makes the same checks without reading the values. */
enum status keys_check(const struct keys *k, const char *pairs);

bool key_is(const struct key_value *v, const char *word);
int64_t key_whole(const struct key_value *v, int64_t otherwise); /* of a value that has been checked and is a number */
/* The place of the value among the words of "a|b|c"; `otherwise` if there is none. */
int key_word(const struct key_value *v, const char *words, int otherwise);
double key_real(const struct key_value *v);

/* The place of `text` among the words of "a|b|c"; -1 if it is none of them. */
int word_find(const char *words, const char *text);
/* Copies a word by its place; -1: "". */
void word_at(const char *words, int place, char *out, size_t size);
/* " (did you mean fp16?)": those of the words that somebody probably meant (near.h); "": none is near. */
enum { WORD_NEAR = 128 };
void word_near(const char *words, const char *text, char out[WORD_NEAR]);
/* Like word_find, but an unknown word is STATUS_INPUT: "WHERE: 'fp8' is not one of: fp32, bf16". */
enum status word_parse(const char *words, const char *where, const char *text, int *place);

#endif
