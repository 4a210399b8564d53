/* The model, BPE, and the tokens that are added to its vocabulary. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/read.h"

/* ---- vocabulary ---- */

static enum status check_id(const struct part *p, const char *token, const json_t *id, int64_t *out)
{
	*out = json_integer_value(id);
	if (json_is_integer(id) && *out >= 0 && *out < VOCABULARY_MOST)
		return STATUS_OK;
	return part_fail(p, "'%.60s' needs an id, from 0 to %d", token, VOCABULARY_MOST - 1);
}

static enum status largest_id(const struct part *p, int64_t *size)
{
	json_t *object = (json_t *)(uintptr_t)p->object;
	int64_t id;
	*size = 0;
	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
		TRY(check_id(p, json_object_iter_key(at), json_object_iter_value(at), &id));
		*size = id >= *size ? id + 1 : *size;
	}
	return STATUS_OK;
}

static enum status read_vocabulary(const struct part *p, struct vocabulary *v)
{
	json_t *object = (json_t *)(uintptr_t)p->object;
	int64_t size;
	if (!json_is_object(object) || !json_object_size(object))
		return part_fail(p, "an object with the tokens' ids is needed");
	TRY(largest_id(p, &size));
	vocabulary_init(v, size, json_object_size(object));
	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
		const char *key = json_object_iter_key(at);
		int32_t id = (int32_t)json_integer_value(json_object_iter_value(at));
		if (v->tokens[id].text)
			return part_fail(p, "'%.40s' and '%.40s' have one id, %d", v->tokens[id].text, key, id);
		vocabulary_add(v, arena_copy(&p->reader->parts->arena, key), strlen(key), id);
	}
	return STATUS_OK;
}

/* ---- merges ---- */

struct two {
	const char *left, *right;
	size_t left_size, right_size;
};

/* "Ġ t", or ["Ġ", "t"] */
static enum status split_merge(const struct part *p, size_t i, struct two *out)
{
	const json_t *m = json_array_get(p->object, i), *left = json_array_get(m, 0), *right = json_array_get(m, 1);
	const char *text = json_string_value(m), *space = text ? strchr(text, ' ') : NULL;
	if (space && !strchr(space + 1, ' '))
		*out = (struct two){text, space + 1, (size_t)(space - text), strlen(space + 1)};
	else if (json_array_size(m) == 2 && json_is_string(left) && json_is_string(right))
		*out = (struct two){json_string_value(left), json_string_value(right), json_string_length(left),
		                    json_string_length(right)};
	else
		return part_fail(p, "entry %zu is not two tokens, as in \"t h\" or [\"t\", \"h\"]", i);
	return STATUS_OK;
}

static enum status find_token(const struct part *p, size_t i, const struct vocabulary *v, const char *text, size_t size,
                              int32_t *id)
{
	*id = vocabulary_find(v, text, size);
	if (*id >= 0)
		return STATUS_OK;
	return part_fail(p, "entry %zu: '%.*s' is not in the vocabulary", i, size < 60 ? (int)size : 60, text);
}

static enum status read_merge(const struct part *p, size_t i, struct bpe *b, struct bytes *joined)
{
	struct two t = {.left = ""};
	struct merge m = {.rank = (int32_t)i};
	TRY(split_merge(p, i, &t));
	TRY(find_token(p, i, &b->vocabulary, t.left, t.left_size, &m.left));
	TRY(find_token(p, i, &b->vocabulary, t.right, t.right_size, &m.right));
	joined->size = 0;
	bytes_add(joined, t.left, t.left_size);
	bytes_add(joined, t.right, t.right_size);
	TRY(find_token(p, i, &b->vocabulary, joined->size ? joined->at : "", joined->size, &m.merged));
	merge_table_put(&b->merges, m);
	return STATUS_OK;
}

static bool is_version(const json_t *merge)
{
	const char *text = json_string_value(merge);
	return text && !strncmp(text, "#version", 8);
}

static enum status read_merges(const struct part *p, struct bpe *b)
{
	struct bytes joined = {0};
	enum status s = STATUS_OK;
	if (!json_is_array(p->object))
		return part_fail(p, "a list is needed");
	merge_table_init(&b->merges, json_array_size(p->object));
	for (size_t i = 0; i < json_array_size(p->object) && !s; i++)
		if (!is_version(json_array_get(p->object, i)))
			s = read_merge(p, i, b, &joined);
	bytes_release(&joined);
	return s;
}

/* ---- the rest of the model ---- */

static enum status must_be_empty(const struct part *p, const char *key)
{
	const char *text;
	enum status s = part_text(p, key, "", &text);
	return s || !*text ? s : part_fail(p, "%s '%.20s' is not supported", key, text);
}

static enum status read_unknown(const struct part *p, struct bpe *b)
{
	const char *text;
	enum status s = part_text(p, "unk_token", "", &text);
	b->unknown = !s && *text ? vocabulary_find(&b->vocabulary, text, strlen(text)) : -1;
	return s || !*text || b->unknown >= 0 ? s : part_fail(p, "unk_token '%.40s' is not in the vocabulary", text);
}

static void find_bytes(struct bpe *b)
{
	for (int i = 0; i < 256; i++) {
		char text[8];
		snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
		b->of_byte[i] = vocabulary_find(&b->vocabulary, text, 6);
	}
}

static enum status read_flags(const struct part *p, struct bpe *b)
{
	const json_t *dropout = json_object_get(p->object, "dropout");
	TRY(part_flag(p, "fuse_unk", false, &b->fuse_unknown));
	TRY(part_flag(p, "byte_fallback", false, &b->byte_fallback));
	TRY(part_flag(p, "ignore_merges", false, &b->whole_words));
	TRY(must_be_empty(p, "continuing_subword_prefix"));
	TRY(must_be_empty(p, "end_of_word_suffix"));
	if (dropout && !json_is_null(dropout) && json_number_value(dropout) != 0)
		return part_fail(p, "dropout is not supported; write null");
	return STATUS_OK;
}

static enum status read_bpe(const struct part *p)
{
	struct bpe *b = &p->reader->parts->bpe;
	struct part vocabulary = part_at(p, "vocab"), merges = part_at(p, "merges");
	TRY(part_check(p, "type dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk "
	                  "byte_fallback ignore_merges vocab merges"));
	TRY(read_flags(p, b));
	TRY(read_vocabulary(&vocabulary, &b->vocabulary));
	TRY(read_unknown(p, b));
	TRY(read_merges(&merges, b));
	find_bytes(b);
	return STATUS_OK;
}

static enum status read_word_level(const struct part *p)
{
	struct bpe *b = &p->reader->parts->bpe;
	struct part vocabulary = part_at(p, "vocab");
	enum status s = part_check(p, "type vocab unk_token");
	if (!s)
		s = read_vocabulary(&vocabulary, &b->vocabulary);
	if (!s)
		s = read_unknown(p, b);
	if (!s && b->unknown < 0)
		s = part_fail(p, "unk_token: a WordLevel needs a token for words that it does not know");
	b->whole_words = b->words_alone = true;
	return s;
}

/* GPT-2's own file is older than "type". */
enum status tokenizer_read_model(const struct part *p)
{
	static const struct part_reader readers[] = {{"BPE", read_bpe}, {"WordLevel", read_word_level}};
	if (!json_is_object(p->object))
		return part_fail(p, "it is missing");
	if (!json_object_get(p->object, "type") && json_object_get(p->object, "merges"))
		return read_bpe(p);
	return part_read(p, readers, sizeof readers / sizeof *readers);
}

/* ---- added tokens ---- */

static enum status read_added(const struct part *p)
{
	struct tokenizer_parts *parts = p->reader->parts;
	struct added_token t = {.id = -1};
	bool normalized, special;
	int64_t id;
	const char *text;
	TRY(part_check(p, "id content single_word lstrip rstrip normalized special"));
	TRY(part_text(p, "content", NULL, &text));
	TRY(check_id(p, text, json_object_get(p->object, "id"), &id));
	TRY(part_flag(p, "single_word", false, &t.single_word));
	TRY(part_flag(p, "lstrip", false, &t.takes_before));
	TRY(part_flag(p, "rstrip", false, &t.takes_behind));
	TRY(part_flag(p, "special", false, &special));
	TRY(part_flag(p, "normalized", !special, &normalized));
	if (!*text)
		return STATUS_OK;
	int32_t known = vocabulary_find(&parts->all, text, strlen(text));
	if (known >= 0 ? known != id : parts->all.tokens[id].text != NULL)
		return part_fail(p, "'%.40s' has id %lld, and in the vocabulary %s", text, (long long)id,
		                 known >= 0 ? "it has another" : "another token has that");
	if (known < 0)
		vocabulary_add(&parts->all, text, strlen(text), (int32_t)id);
	parts->special[id] |= special;
	t.text = text;
	t.size = strlen(text);
	t.id = (int32_t)id;
	struct added_tokens *list = normalized ? &parts->normalized : &parts->raw;
	*ARRAY_ADD(list->list, list->count, list->capacity) = t;
	return STATUS_OK;
}

/* One more than the largest id of vocabulary and list. */
static int64_t size_with(const struct part *p, int64_t size)
{
	for (size_t i = 0; i < json_array_size(p->object); i++) {
		int64_t id = json_integer_value(json_object_get(json_array_get(p->object, i), "id"));
		if (id >= size && id < VOCABULARY_MOST)
			size = id + 1;
	}
	return size;
}

static void copy_vocabulary(struct vocabulary *to, const struct vocabulary *from, int64_t size, size_t more)
{
	size_t count = more;
	for (int64_t i = 0; i < from->size; i++)
		count += from->tokens[i].text != NULL;
	vocabulary_init(to, size, count);
	for (int64_t i = 0; i < from->size; i++)
		if (from->tokens[i].text)
			vocabulary_add(to, from->tokens[i].text, from->tokens[i].size, (int32_t)i);
}

/* Tokens that are looked for behind the normalizer go through it themselves. */
static enum status normalize_tokens(const struct part *p)
{
	struct tokenizer_parts *parts = p->reader->parts;
	struct added_tokens *a = &parts->normalized;
	enum status s = STATUS_OK;
	size_t kept = 0;
	for (size_t i = 0; i < a->count && !s; i++) {
		struct added_token t = a->list[i];
		struct bytes text = {0};
		bytes_add(&text, t.text, t.size);
		s = normalize(parts->normal, parts->normal_count, &text);
		t.size = text.size;
		t.text = memcpy(arena_alloc(&parts->arena, text.size + 1), text.size ? text.at : "", text.size);
		if (t.size)
			a->list[kept++] = t;
		bytes_release(&text);
	}
	a->count = kept;
	return s;
}

enum status tokenizer_read_added_tokens(const struct part *p)
{
	struct tokenizer_parts *parts = p->reader->parts;
	enum status s = STATUS_OK;
	if (p->object && !json_is_null(p->object) && !json_is_array(p->object))
		return part_fail(p, "a list is needed");
	int64_t size = size_with(p, parts->bpe.vocabulary.size);
	copy_vocabulary(&parts->all, &parts->bpe.vocabulary, size, json_array_size(p->object));
	parts->special = array_make((size_t)size, sizeof *parts->special);
	for (size_t i = 0; i < json_array_size(p->object) && !s; i++) {
		struct part one = part_element(p, i);
		s = read_added(&one);
	}
	if (!s)
		s = normalize_tokens(p);
	added_tokens_sort(&parts->raw);
	added_tokens_sort(&parts->normalized);
	return s;
}
