#include "real/data/token_file.h"

#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "real/data/file.h"
#include "real/data/token_header.h"
#include "real/data/token_map.h"
#include "strategy/base/keys.h"
#include "strategy/base/memory.h"
#include "strategy/base/path.h"

static const enum token_type types[] = {TOKEN_UINT16, TOKEN_UINT32, TOKEN_BYTES}; /* as in TOKEN_TYPE_WORDS */

enum token_type token_type_of(const char *word)
{
	int place = word ? word_find(TOKEN_TYPE_WORDS, word) : -1;
	return place < 0 ? TOKEN_FOUND_OUT : types[place];
}

const char *token_type_name(enum token_type type)
{
	return type == TOKEN_UINT16 ? "uint16" : type == TOKEN_UINT32 ? "uint32" : "bytes";
}

/* ---- ids ---- */

static uint16_t half_at(const unsigned char *ids, int64_t i)
{
	uint16_t n;
	memcpy(&n, ids + 2 * i, sizeof n);
	return le16toh(n);
}

static uint32_t whole_at(const unsigned char *ids, int64_t i)
{
	uint32_t n;
	memcpy(&n, ids + 4 * i, sizeof n);
	return le32toh(n);
}

static uint32_t id_at(const unsigned char *ids, enum token_type type, int64_t i)
{
	return type == TOKEN_UINT16 ? half_at(ids, i) : type == TOKEN_UINT32 ? whole_at(ids, i) : ids[i];
}

/* A loop for each type, so that the compiler makes vectors of it. */
static uint32_t highest(const unsigned char *ids, enum token_type type, int64_t first, int64_t end)
{
	uint32_t most = 0;
	if (type == TOKEN_UINT16)
		for (int64_t i = first; i < end; i++)
			most = half_at(ids, i) > most ? half_at(ids, i) : most;
	else if (type == TOKEN_UINT32)
		for (int64_t i = first; i < end; i++)
			most = whole_at(ids, i) > most ? whole_at(ids, i) : most;
	else
		for (int64_t i = first; i < end; i++)
			most = ids[i] > most ? ids[i] : most;
	return most;
}

static void widen(const unsigned char *ids, enum token_type type, int64_t first, int64_t count, int32_t *out)
{
	if (type == TOKEN_UINT16)
		for (int64_t i = 0; i < count; i++)
			out[i] = half_at(ids, first + i);
	else if (type == TOKEN_UINT32)
		for (int64_t i = 0; i < count; i++)
			out[i] = (int32_t)whole_at(ids, first + i);
	else
		for (int64_t i = 0; i < count; i++)
			out[i] = ids[first + i];
}

/* ---- the check against the vocabulary ---- */

static bool fits(const unsigned char *ids, enum token_type type, int64_t first, int64_t end, int64_t vocabulary)
{
	return first >= end || highest(ids, type, first, end) < vocabulary;
}

static enum status check_range(const struct token_file *f, int64_t first, int64_t end)
{
	if (fits(f->ids, f->type, first, end, f->vocabulary))
		return STATUS_OK;
	while (id_at(f->ids, f->type, first) < f->vocabulary)
		first++;
	return status_fail(STATUS_INPUT,
	                   "%s: id %" PRIu32 " at place %" PRId64 " (byte %" PRId64
	                   ") is beyond the model's vocabulary of %" PRId64
	                   "; read as %s, %s; make the file with the model's tokenizer, or give {model} the "
	                   "tokenizer's vocabulary%s",
	                   f->path, id_at(f->ids, f->type, first), first, f->ids_at + first * f->type, f->vocabulary,
	                   token_type_name(f->type), f->known_by,
	                   f->ids_at ? "" : status_words(", or give another {data_type}"));
}

/* How much is looked at on either end of a file: milliseconds. */
enum { END_BYTES = 8 << 20 };

struct ends {
	int64_t first_end, last_begin, count; /* [0, first_end) and [last_begin, count) */
};

static struct ends ends_of(int64_t count, enum token_type type)
{
	int64_t most = END_BYTES / type;
	bool whole = count <= 2 * most;
	return (struct ends){whole ? count : most, whole ? count : count - most, count};
}

static int64_t larger_in(const struct token_file *f, int64_t than, int64_t first, int64_t end)
{
	int64_t most = first < end ? highest(f->ids, f->type, first, end) : 0;
	return most > than ? most : than;
}

static enum status check_ends(struct token_file *f)
{
	struct ends e = ends_of(f->count, f->type);
	TRY(check_range(f, 0, e.first_end));
	TRY(check_range(f, e.last_begin, e.count));
	f->largest = larger_in(f, larger_in(f, 0, 0, e.first_end), e.last_begin, e.count);
	return STATUS_OK;
}

/* ---- files without a header ---- */

static bool could_be_uint32(const unsigned char *bytes, int64_t size, int64_t vocabulary)
{
	struct ends e = ends_of(size / TOKEN_UINT32, TOKEN_UINT32);
	return size % TOKEN_UINT32 == 0 && fits(bytes, TOKEN_UINT32, 0, e.first_end, vocabulary) &&
	       fits(bytes, TOKEN_UINT32, e.last_begin, e.count, vocabulary);
}

/* No text has bytes of zero, but for those in UTF-16, whose bytes a model would learn one by one. Packed, it may. */
static enum status check_text(const struct token_file *f)
{
	enum { LOOKED_AT = 1 << 16 };
	size_t size = (size_t)(f->count < LOOKED_AT ? f->count : LOOKED_AT);
	if (!f->is_text || data_file_is_gzip(f->ids, f->count) || !memchr(f->ids, 0, size))
		return STATUS_OK;
	if (f->held)
		return status_fail(STATUS_INPUT,
		                   "%s: unpacks to bytes of zero, so it is no text; unpack it: ids are in files that "
		                   "end in .bin or .npy",
		                   f->path);
	return status_fail(STATUS_INPUT,
	                   "%s: holds bytes of zero, so it is no text; ids are in files that end in .bin or .npy, and "
	                   "{data_type} says what others hold: uint16, uint32, or bytes to take it as it is",
	                   f->path);
}

/* Nothing tells the type of such a file. The caller has put uint16. */
static enum status find_type(struct token_file *f, const unsigned char *bytes, int64_t size)
{
	enum { UINT16_IDS = 1 << 16 };
	if (!path_ends_in(f->path, ".bin")) {
		f->type = TOKEN_BYTES;
		f->is_text = true;
		f->known_by = "as text is read";
	} else if (f->vocabulary > UINT16_IDS) {
		f->type = TOKEN_UINT32;
		f->known_by = "as the vocabulary needs it";
	} else if (size && could_be_uint32(bytes, size, f->vocabulary)) {
		return status_fail(STATUS_INPUT,
		                   "%s: every second number of 16 bits is 0, so that its ids may be uint16 or uint32; "
		                   "say which with {data_type}",
		                   f->path);
	} else {
		f->known_by = "as the vocabulary allows it";
	}
	return STATUS_OK;
}

static enum status read_raw(struct token_file *f, const unsigned char *bytes, int64_t size, enum token_type told)
{
	enum status s = STATUS_OK;
	f->type = told ? told : TOKEN_UINT16;
	f->known_by = "as you said";
	if (!told)
		s = find_type(f, bytes, size);
	else if (told != TOKEN_BYTES && path_ends_in(f->path, ".gz") && data_file_is_gzip(bytes, size))
		s = status_fail(STATUS_INPUT, "%s: is packed, and ids are read as they lie in a file; unpack it",
		                f->path);
	if (!s && size % f->type)
		s = status_fail(STATUS_INPUT,
		                "%s: %" PRId64
		                " bytes are no whole number of ids of %d bytes (%s, %s); it is truncated, "
		                "or {data_type} says what it holds",
		                f->path, size, (int)f->type, token_type_name(f->type), f->known_by);
	f->count = s ? 0 : size / f->type;
	return s;
}

/* ---- any file ---- */

static enum status take_header(struct token_file *f, const struct token_header *h, enum token_type told)
{
	if (told && told != h->type)
		return status_fail(STATUS_INPUT, "%s: its header says %s, and {data_type} %s; leave {data_type} out",
		                   f->path, token_type_name(h->type), token_type_name(told));
	f->type = h->type;
	f->known_by = "as the header says";
	f->count = h->count;
	f->ids_at = h->ids_at;
	return STATUS_OK;
}

static enum status parse(struct token_file *f, const unsigned char *bytes, int64_t size, const struct token_spec *spec)
{
	struct token_header h = {.type = TOKEN_FOUND_OUT};
	enum status s = spec->type == TOKEN_BYTES ? STATUS_OK : token_header_read(&h, f->path, bytes, size);
	if (!s)
		s = h.type ? take_header(f, &h, spec->type) : read_raw(f, bytes, size, spec->type);
	f->ids = bytes + f->ids_at;
	return s ? s : check_text(f);
}

/* All but the check of the ids. */
static enum status begin(struct token_file *f, const char *path, const unsigned char *bytes, int64_t size,
                         const struct token_spec *spec)
{
	if (spec->vocabulary > (int64_t)INT32_MAX + 1)
		abort();
	*f = (struct token_file){.path = memory_text(path), .vocabulary = spec->vocabulary};
	return parse(f, bytes, size, spec);
}

enum status token_file_parse(struct token_file *f, const char *path, const unsigned char *bytes, int64_t size,
                             const struct token_spec *spec)
{
	enum status s = begin(f, path, bytes, size, spec);
	if (!s)
		s = check_ends(f);
	if (s)
		token_file_release(f);
	return s;
}

/* Text may be packed. A file of ids whose first two happen to look like gzip is none. */
static enum status unpack_text(struct token_file *f)
{
	struct data_file text = {.size = 0};
	if (f->type != TOKEN_BYTES || !data_file_is_gzip(f->ids, f->count))
		return STATUS_OK;
	token_map_release(&f->map);
	enum status s = data_file_read(&text, f->path, DATA_FILE_LIMIT, "give a text file, plain or gzip");
	if (!s)
		s = data_file_unpack(&text, f->path, DATA_FILE_LIMIT);
	if (s) {
		data_file_release(&text);
		return s;
	}
	f->ids = f->held = text.bytes;
	f->count = f->held_bytes = text.size;
	return check_text(f);
}

enum status token_file_open(struct token_file *f, const char *path, const struct token_spec *spec)
{
	struct token_map map;
	*f = (struct token_file){.count = 0};
	enum status s = token_map_open(&map, path);
	if (!s)
		s = begin(f, path, map.bytes, map.size, spec);
	f->map = map;
	if (!s)
		s = unpack_text(f);
	if (!s)
		s = check_ends(f);
	if (!s)
		token_map_rest(&f->map, f->map.bytes, f->map.size);
	if (s)
		token_file_release(f);
	return s;
}

void token_file_release(struct token_file *f)
{
	if (!f)
		return;
	token_map_release(&f->map);
	free(f->held);
	free(f->path);
	*f = (struct token_file){.count = 0};
}

/* ---- samples ---- */

enum status token_file_sample(const struct token_file *f, int64_t first, int64_t tokens, int32_t *inputs,
                              int32_t *targets)
{
	TRY(token_map_check(&f->map, f->path));
	TRY(check_range(f, first, first + tokens + 1));
	token_map_ahead(&f->map, f->ids + first * f->type, (tokens + 1) * f->type);
	if (inputs)
		widen(f->ids, f->type, first, tokens, inputs);
	if (targets)
		widen(f->ids, f->type, first + 1, tokens, targets);
	token_map_rest(&f->map, f->ids + first * f->type, (tokens + 1) * f->type);
	return STATUS_OK;
}
