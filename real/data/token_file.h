/* A file of token ids, or of text, whose bytes are the ids.
 *
 *     struct token_file f;
 *     struct token_spec spec = {.vocabulary = 50257};
 *     enum status s = token_file_open(&f, "fineweb_val_000000.bin", &spec);
 *     if (!s)
 *             s = token_file_sample(&f, first, 1024, inputs, targets);
 *     token_file_release(&f);
 *
 * A sample has one id more than tokens: targets are the inputs one place further. Numbers are little-endian.
 *
 *     file                        how it is told             header                                        ids
 *     llm.c, modded-nanogpt       magic 20240520             256 int32: magic, version 1, count, zeros     uint16
 *     llm.c for Llama 3           magic 20240801             the same with version 7                       uint32
 *     NumPy (build-nanogpt)       \x93NUMPY                  .npy, one dimension, '<u2', '<u4' or '<i4'    as it says
 *     nanoGPT                     the name ends in .bin      none                                          see below
 *     text, plain or gzip         all else                   none                                          bytes
 *
 * (karpathy/llm.c: dev/data/data_common.py; karpathy/nanoGPT: data/openwebtext/prepare.py; numpy.lib.format.) Whoever
 * knows better says the type; a header that says another one is refused then.
 *
 * Without a header the vocabulary decides. Above 65,536 ids are uint32: uint16 cannot hold them all. Up to it they are
 * uint16, unless they would fit as uint32 too, every second uint16 being 0: that may be uint32, and is refused until
 * the type is given. Nothing else can be told from the bytes.
 *
 * The file is mapped, not read, and pages are given back after each use: neither this process's own nor its resident
 * memory grows with the file. A gzip file of text is unpacked onto the heap.
 *
 * An id beyond the vocabulary would be read past the end of a table. Opening looks at the first and the last 8 MiB, of
 * small files so at everything, and token_file_sample at each sample that is used: tens of gigabytes are not read only
 * to be checked.
 *
 * Errors: STATUS_INPUT with the file and the place; STATUS_MEMORY.
 */
#ifndef SHARDLAB_DATA_TOKEN_FILE_H
#define SHARDLAB_DATA_TOKEN_FILE_H

#include "strategy/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The bytes of an id. */
enum token_type { TOKEN_FOUND_OUT = 0, TOKEN_BYTES = 1, TOKEN_UINT16 = 2, TOKEN_UINT32 = 4 };
#define TOKEN_TYPE_WORDS "uint16|uint32|bytes"
/* The type of this name, which the caller has checked; NULL: the file decides. */
enum token_type token_type_of(const char *word);
const char *token_type_name(enum token_type type);

struct token_spec {
	int64_t vocabulary;   /* ids are below it; 2³¹ at most, since they become int32 */
	enum token_type type; /* the type that the user gives */
};

/* A file in memory: mapped, and nobody else's. */
struct token_map {
	const unsigned char *bytes;
	int64_t size;
	unsigned char *mapped; /* NULL: the file is empty */
	ino_t inode;
};

struct token_file {
	char *path;
	enum token_type type;
	bool is_text;         /* bytes, which nobody said */
	const char *known_by; /* "as the header says": how the type is known */
	int64_t count;
	int64_t vocabulary;
	int64_t largest;          /* id of those that were looked at */
	const unsigned char *ids; /* in what is mapped or held */
	int64_t ids_at;           /* where they begin in the file */
	struct token_map map;
	unsigned char *held; /* unpacked text */
	int64_t held_bytes;
};

enum status token_file_open(struct token_file *f, const char *path, const struct token_spec *spec);
void token_file_release(struct token_file *f); /* accepts NULL and a zeroed one */

/* The same for bytes in memory, which outlive f: header, type, count, and the check of the ids. `path` is for messages,
 * and its ending counts. */
enum status token_file_parse(struct token_file *f, const char *path, const unsigned char *bytes, int64_t size,
                             const struct token_spec *spec);

/* Ids [first, first + tokens) as inputs, and [first + 1, first + tokens + 1) as targets, all of which the file has.
 * Either may be NULL. Allocates nothing. Safe from several threads at once. An id beyond the vocabulary, or a file that
 * became shorter, is STATUS_INPUT. */
enum status token_file_sample(const struct token_file *f, int64_t first, int64_t tokens, int32_t *inputs,
                              int32_t *targets);

#endif
