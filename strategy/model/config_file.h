/* A config.json while it is read: its keys with their types, and the keys of the specification that come of them.
 *
 *     static const struct config_row rows[] = {
 *             {"hidden_size", NULL, ROW_WHOLE, "width", {"4096"}, NULL, NULL},
 *             {"hidden_act", NULL, ROW_MUST, NULL, {"silu"}, "silu|swish", "the gate of the MLP is SwiGLU's"}};
 *     enum status s = config_rows(c, rows, 2, 0);      // width=…, or a line that says what is wrong
 */
#ifndef SHARDLAB_CONFIG_FILE_H
#define SHARDLAB_CONFIG_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

enum { CONFIG_PAIRS = 32, CONFIG_TYPES = 4 };

struct config {
	struct arena *arena;
	const char *where;           /* for messages: "Qwen2.5-7B/config.json" */
	const json_t *file, *object; /* the whole; what describes the text's model: that, or its text_config */
	const char *inside;          /* "", or "text_config." */
	const char *type;            /* model_type */
	struct config_pair {
		const char *key, *value;
	} pairs[CONFIG_PAIRS]; /* of the specification */
	int pair_count;
};

enum config_kind {
	ROW_WHOLE,         /* a number of at least 1 */
	ROW_WHOLE_OR_NULL, /* null, or absent without a default: the specification does not have it */
	ROW_REAL,          /* above 0 */
	ROW_FLAG,          /* yes or no */
	ROW_WORD,          /* one of the words, "theirs=ours|…"; left out where it is the default */
	ROW_MUST,          /* one of the words, or the block is another one; null is the default */
};

struct config_row {
	const char *key, *alias; /* "attn_config.alibi": inside another object; alias: another name of the key, or NULL
	                          */
	enum config_kind kind;
	const char *to;                     /* the key of the specification */
	const char *fallback[CONFIG_TYPES]; /* transformers' own, for each type of the family; NULL: the type has no
	                                       such key; "": it has none by default */
	const char *words, *why;
};

/* Reads the rows of a type into pairs. */
enum status config_rows(struct config *c, const struct config_row *rows, int count, int type);

/* The value of a key; NULL: it is not there. */
const json_t *config_find(const struct config *c, const char *key);
bool config_given(const struct config *c, const char *key); /* it is there, and not null */

/* STATUS_INPUT with a line "WHERE: KEY: …". */
enum status config_fail(const struct config *c, const char *key, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Each leaves *out alone when the key is not there or null. */
enum status config_whole(const struct config *c, const char *key, int64_t *out); /* at least 1 */
enum status config_real(const struct config *c, const char *key, double *out);   /* above 0 */
enum status config_flag(const struct config *c, const char *key, bool *out);
enum status config_text(const struct config *c, const char *key, const char **out);

/* A value as a message shows it: on one line, no longer than a few words. */
const char *config_shown(const struct config *c, const json_t *value);

/* Adds a key to the specification, or replaces it. */
void config_set(struct config *c, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *config_pair(const struct config *c, const char *key); /* NULL: it has none */
int64_t config_pair_whole(const struct config *c, const char *key);

/* A family: the types of files that it reads. */
struct config_family {
	const char *types[CONFIG_TYPES]; /* model_type */
	const char *base[CONFIG_TYPES];  /* the beginning of their specification */
	const char *presets;             /* presets of these specifications begin with one of a|b */
	const struct config_row *rows;
	int count;
	enum status (*finish)(struct config *c, int type); /* does what the rows cannot express */
};
extern const struct config_family config_gpt2, config_mpt, config_opt, config_llama;

/* rope_parameters, or rope_scaling and rope_theta, of a model whose context has been read. */
enum status config_rope(struct config *c);

/* Refuses a file by what it holds: quantized weights, an adapter, a head of another task, experts. */
enum status config_check_file(const struct config *c);
/* Refuses a type that no family reads, with what differs. */
enum status config_refuse_type(const struct config *c);
/* Says what differs in such a type. NULL: unknown. */
const char *config_differs(const char *type);
/* The type of a text_config that does not say it, by the type of the file around it; NULL: unknown. */
const char *config_text_type(const char *outer);

#endif
