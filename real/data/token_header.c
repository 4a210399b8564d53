#include "real/data/token_header.h"

#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Between header and end of the file there must be the ids, and nothing else. */
static enum status check_size(const struct token_header *h, const char *path, int64_t size)
{
	int64_t there = size - h->ids_at, needed = h->count * h->type;
	if (there < needed)
		return status_fail(STATUS_INPUT,
		                   "%s: truncated: its header promises %" PRId64 " ids, and there are %" PRId64
		                   "; make or download it again",
		                   path, h->count, there / h->type);
	if (there > needed)
		return status_fail(STATUS_INPUT,
		                   "%s: %" PRId64 " bytes of trailing data behind the %" PRId64
		                   " ids that its header promises; make or download it again",
		                   path, there - needed, h->count);
	return STATUS_OK;
}

/* ---- llm.c ---- */

enum { LLM_C_NUMBERS = 256, LLM_C_BYTES = 4 * LLM_C_NUMBERS };

static const struct magic {
	int32_t magic, version;
	enum token_type type;
	const char *otherwise; /* of files that hold no text to train on: what they hold */
} magics[] = {
        {20240520, 1, TOKEN_UINT16, NULL},
        {20240801, 7, TOKEN_UINT32, NULL},
        {20240522, 1, TOKEN_FOUND_OUT, "questions of an evaluation"},
        {20240326, 0, TOKEN_FOUND_OUT, "weights of GPT-2"},
        {20240327, 0, TOKEN_FOUND_OUT, "a state to debug with"},
        {20240328, 0, TOKEN_FOUND_OUT, "a tokenizer"},
        {20240803, 0, TOKEN_FOUND_OUT, "weights of Llama 3"},
};

static int32_t number_at(const unsigned char *bytes, int place)
{
	uint32_t n;
	memcpy(&n, bytes + 4 * place, sizeof n);
	return (int32_t)le32toh(n);
}

static const struct magic *find_magic(const unsigned char *bytes, int64_t size)
{
	for (size_t i = 0; size >= 4 && i < sizeof magics / sizeof *magics; i++)
		if (number_at(bytes, 0) == magics[i].magic)
			return &magics[i];
	return NULL;
}

static enum status read_llm_c(struct token_header *h, const struct magic *m, const char *path,
                              const unsigned char *bytes, int64_t size)
{
	if (m->otherwise)
		return status_fail(STATUS_INPUT,
		                   "%s: by its magic number a file of llm.c with %s; give one with tokens to train on",
		                   path, m->otherwise);
	if (size < LLM_C_BYTES)
		return status_fail(STATUS_INPUT,
		                   "%s: truncated: %" PRId64 " bytes, and llm.c's header alone has %d; make or "
		                   "download it again",
		                   path, size, LLM_C_BYTES);
	int32_t version = number_at(bytes, 1), count = number_at(bytes, 2);
	if (version != m->version)
		return status_fail(STATUS_INPUT,
		                   "%s: version %" PRId32 " in the header of llm.c, of which version %" PRId32
		                   " is read; make the file anew",
		                   path, version, m->version);
	if (count < 0)
		return status_fail(STATUS_INPUT, "%s: its header promises %" PRId32 " ids; make the file anew", path,
		                   count);
	*h = (struct token_header){.type = m->type, .ids_at = LLM_C_BYTES, .count = count};
	return check_size(h, path, size);
}

/* ---- NumPy ---- */

#define NPY_MAGIC "\x93NUMPY"
enum { NPY_MAGIC_BYTES = 6, NPY_HEADER_MOST = 4096 };

static bool is_npy(const unsigned char *bytes, int64_t size)
{
	return size >= NPY_MAGIC_BYTES && !memcmp(bytes, NPY_MAGIC, NPY_MAGIC_BYTES);
}

static enum status bad_npy(const char *path, const char *what)
{
	return status_fail(STATUS_INPUT,
	                   "%s: an array of NumPy %s; save one of uint16 or uint32 with one dimension, as in "
	                   "ids.astype('uint16')",
	                   path, what);
}

/* The value of 'key' in the header, which is a dictionary of Python; NULL: it has none. */
static const char *npy_value(const char *header, const char *key)
{
	const char *at = strstr(header, key);
	if (!at)
		return NULL;
	at += strlen(key);
	return at + strspn(at, " :");
}

static bool starts(const char *text, const char *with)
{
	return text && !strncmp(text, with, strlen(with));
}

static enum token_type npy_type(const char *descr)
{
	return starts(descr, "'<u2'")                             ? TOKEN_UINT16
	       : starts(descr, "'<u4'") || starts(descr, "'<i4'") ? TOKEN_UINT32
	                                                          : TOKEN_FOUND_OUT;
}

/* "(1000,)" */
static bool npy_count(const char *shape, int64_t *out)
{
	char *end;
	if (!starts(shape, "(") || shape[1] < '0' || shape[1] > '9')
		return false;
	long long n = strtoll(shape + 1, &end, 10);
	*out = n;
	return n < INT64_MAX / 8 && (!strncmp(end, ",)", 2));
}

/* Copies the dictionary, which ends with a newline, and says where the ids begin. */
static enum status npy_header(char *out, const char *path, const unsigned char *bytes, int64_t size, int64_t *ids_at)
{
	int64_t major = size > 6 ? bytes[6] : 0, prefix = major > 1 ? 12 : 10;
	if (size < prefix)
		return bad_npy(path, "whose header is truncated");
	if (major < 1 || major > 3)
		return bad_npy(path, "in a version of its format that is not known");
	int64_t length = bytes[8] | bytes[9] << 8;
	if (major > 1 && (bytes[10] || bytes[11]))
		length = INT64_MAX;
	if (length > NPY_HEADER_MOST)
		return bad_npy(path, "whose header is too long");
	if (size < prefix + length)
		return bad_npy(path, "whose header is truncated");
	memcpy(out, bytes + prefix, (size_t)length);
	out[length] = 0;
	*ids_at = prefix + length;
	return STATUS_OK;
}

static enum status read_npy(struct token_header *h, const char *path, const unsigned char *bytes, int64_t size)
{
	char header[NPY_HEADER_MOST + 1];
	int64_t ids_at = 0, count = 0;
	TRY(npy_header(header, path, bytes, size, &ids_at));
	enum token_type type = npy_type(npy_value(header, "'descr'"));
	if (!type)
		return bad_npy(path, "of another type than uint16, uint32 or int32 (little-endian)");
	if (!npy_count(npy_value(header, "'shape'"), &count))
		return bad_npy(path, "with several dimensions, or none");
	*h = (struct token_header){.type = type, .ids_at = ids_at, .count = count};
	return check_size(h, path, size);
}

/* ---- any ---- */

enum status token_header_read(struct token_header *h, const char *path, const unsigned char *bytes, int64_t size)
{
	const struct magic *m = find_magic(bytes, size);
	*h = (struct token_header){.type = TOKEN_FOUND_OUT};
	if (m)
		return read_llm_c(h, m, path, bytes, size);
	return is_npy(bytes, size) ? read_npy(h, path, bytes, size) : STATUS_OK;
}
