#include "real/generate/codec.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/character.h"
#include "real/tokenizer/json_file.h"
#include "strategy/base/path.h"

/* ---- where a text ends ---- */

/* An id that the model does not have would never come, and the text never end. */
static enum status add_end(struct codec *c, const json_t *id, const char *path, int64_t classes)
{
	json_int_t number = json_integer_value(id);
	if (!json_is_integer(id))
		return status_fail(STATUS_INPUT, "%s: eos_token_id: neither an id nor a list of ids", path);
	if (number < 0 || number >= classes)
		return status_fail(STATUS_INPUT,
		                   "%s: eos_token_id: %lld is no id of the model, whose vocabulary has %lld; write the "
		                   "token that ends a text, or null",
		                   path, (long long)number, (long long)classes);
	if (c->end_count == CODEC_ENDS)
		return status_fail(STATUS_INPUT, "%s: eos_token_id: more than %d ids", path, CODEC_ENDS);
	c->ends[c->end_count++] = (int32_t)number;
	return STATUS_OK;
}

/* "eos_token_id": 2, or [128001, 128009] */
static enum status add_ends(struct codec *c, const json_t *ends, const char *path, int64_t classes)
{
	enum status s = STATUS_OK;
	if (!ends || json_is_null(ends))
		return s;
	if (!json_is_array(ends))
		return add_end(c, ends, path, classes);
	for (size_t i = 0; i < json_array_size(ends) && !s; i++)
		s = add_end(c, json_array_get(ends, i), path, classes);
	return s;
}

/* "eos_token": "</s>", or {"content": "</s>", …} */
static enum status add_token(struct codec *c, const json_t *token, const char *path, int64_t classes)
{
	const char *text = json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
	int32_t id = text ? tokenizer_find(&c->tokenizer, text) : -1;
	(void)classes;
	if (!token || json_is_null(token))
		return STATUS_OK;
	if (id < 0)
		return status_fail(STATUS_INPUT, "%s: eos_token: no token of the tokenizer", path);
	c->ends[c->end_count++] = id;
	return STATUS_OK;
}

/* The files that say what ends a text, the first one first. */
static const struct ends_file {
	const char *name, *key;
	enum status (*add)(struct codec *c, const json_t *value, const char *path, int64_t classes);
} ends_files[] = {
        {"generation_config.json", "eos_token_id", add_ends},
        {"config.json", "eos_token_id", add_ends},
        {"tokenizer_config.json", "eos_token", add_token},
};

/* The file may be missing. */
static enum status read_ends(struct codec *c, const struct ends_file *f, const char *path, int64_t classes)
{
	json_t *file = NULL;
	if (c->end_count || !path_is_there(path))
		return STATUS_OK;
	enum status s = json_file_read_object(path, &file);
	if (!s)
		s = f->add(c, json_object_get(file, f->key), path, classes);
	json_decref(file);
	return s;
}

/* tools/tokenize.py goes by the same files and the same list. */
static void guess_ends(struct codec *c)
{
	static const char *const known[] = {"<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|im_end|>",
	                                    "</s>",          "<eos>",           "<|eos|>"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		int32_t id = tokenizer_find(&c->tokenizer, known[i]);
		if (id >= 0 && tokenizer_is_special(&c->tokenizer, id))
			c->ends[c->end_count++] = id;
	}
}

/* tokenizer: its file, beside which others may be. */
static enum status find_ends(struct codec *c, const char *tokenizer, int64_t classes)
{
	enum status s = STATUS_OK;
	for (size_t i = 0; i < sizeof ends_files / sizeof *ends_files && !s; i++) {
		char *path = path_beside(tokenizer, ends_files[i].name);
		s = read_ends(c, &ends_files[i], path, classes);
		free(path);
	}
	if (!s && !c->end_count)
		guess_ends(c);
	return s;
}

bool codec_is_end(const struct codec *c, int32_t id)
{
	for (int i = 0; i < c->end_count; i++)
		if (c->ends[i] == id)
			return true;
	return false;
}

/* ---- opening ---- */

static enum status open_tokenizer(struct codec *c, const char *path, int64_t classes)
{
	TRY(tokenizer_open(&c->tokenizer, path));
	c->tokens = tokenizer_size(&c->tokenizer);
	enum status s =
	        c->tokens <= classes
	                ? find_ends(c, path, classes)
	                : status_fail(
	                          STATUS_INPUT,
	                          "{tokenizer} %s: has ids up to %lld, and the model a vocabulary of %lld; it belongs "
	                          "to another model",
	                          path, (long long)c->tokens - 1, (long long)classes);
	if (s)
		codec_release(c);
	return s;
}

enum status codec_open(struct codec *c, const char *path, int64_t classes)
{
	*c = (struct codec){.tokens = CODEC_BYTES};
	if (path)
		return open_tokenizer(c, path, classes);
	c->is_bytes = true;
	c->ends[c->end_count++] = 0;
	if (classes == CODEC_BYTES)
		return STATUS_OK;
	return status_fail(
	        STATUS_INPUT,
	        "a vocabulary of %lld tokens needs a tokenizer: give {tokenizer} tokenizer.json, or a folder "
	        "that holds one as {init} (256 would be bytes)",
	        (long long)classes);
}

void codec_release(struct codec *c)
{
	if (!c)
		return;
	tokenizer_release(&c->tokenizer);
	*c = (struct codec){0};
}

/* ---- both ways ---- */

enum status codec_encode(const struct codec *c, const char *text, size_t size, struct token_list *ids)
{
	if (!c->is_bytes)
		return tokenizer_encode(&c->tokenizer, text, size, ids);
	for (size_t i = 0; i < size; i++)
		token_list_add(ids, (unsigned char)text[i]);
	return STATUS_OK;
}

void codec_decode(const struct codec *c, int32_t id, struct bytes *out)
{
	char byte = (char)id;
	if (c->is_bytes)
		bytes_add(out, &byte, 1);
	else if (!tokenizer_is_special(&c->tokenizer, id))
		tokenizer_decode(&c->tokenizer, id, false, out);
}

void codec_take_whole(struct bytes *pending, bool last, struct bytes *out)
{
	size_t done = 0;
	while (done < pending->size) {
		size_t whole = characters_valid(pending->at + done, pending->size - done);
		bytes_add(out, pending->at + done, whole);
		done += whole;
		if (done == pending->size || (!last && character_is_begun(pending->at + done, pending->size - done)))
			break;
		bytes_add(out, "\xef\xbf\xbd", 3);
		done += character_broken(pending->at + done, pending->size - done);
	}
	if (done)
		memmove(pending->at, pending->at + done, pending->size - done);
	pending->size -= done;
}
