#include "real/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/character.h"
#include "real/tokenizer/parts.h"
#include "strategy/base/memory.h"

/* ---- opening ---- */

enum status tokenizer_open(struct tokenizer *t, const char *path)
{
	*t = (struct tokenizer){.path = memory_text(path), .parts = array_make(1, sizeof *t->parts)};
	enum status s = tokenizer_read(t->parts, path);
	if (s)
		tokenizer_release(t);
	return s;
}

static void release_steps(struct tokenizer_parts *p)
{
	for (int i = 0; i < p->normal_count; i++)
		pattern_release(&p->normal[i].pattern);
	for (int i = 0; i < p->cut_count; i++)
		pattern_release(&p->cuts[i].pattern);
}

void tokenizer_release(struct tokenizer *t)
{
	struct tokenizer_parts *p = t ? t->parts : NULL;
	if (p) {
		release_steps(p);
		vocabulary_release(&p->all);
		vocabulary_release(&p->bpe.vocabulary);
		merge_table_release(&p->bpe.merges);
		free(p->raw.list);
		free(p->normalized.list);
		free(p->special);
		token_list_release(&p->before);
		token_list_release(&p->after);
		arena_release(&p->arena);
		free(p);
	}
	if (t) {
		free(t->path);
		*t = (struct tokenizer){0};
	}
}

int64_t tokenizer_size(const struct tokenizer *t)
{
	return t->parts->all.size;
}

int32_t tokenizer_find(const struct tokenizer *t, const char *text)
{
	return vocabulary_find(&t->parts->all, text, strlen(text));
}

bool tokenizer_has(const struct tokenizer *t, int32_t id)
{
	return id >= 0 && id < t->parts->all.size && t->parts->all.tokens[id].text;
}

bool tokenizer_is_special(const struct tokenizer *t, int32_t id)
{
	return id >= 0 && id < t->parts->all.size && t->parts->special[id];
}

/* ---- encoding ---- */

/* Encoding works with these, beside the parts. */
struct encoding {
	const struct tokenizer_parts *parts;
	struct bytes text; /* of a stretch, normalized */
	struct pieces now, next;
	struct bpe_scratch scratch;
	struct token_list *ids;
};

/* Text that holds no added token. */
static enum status encode_words(struct encoding *e, const char *text, size_t size, bool first)
{
	const struct tokenizer_parts *p = e->parts;
	pieces_clear(&e->now);
	bytes_add(&e->now.text, text, size);
	pieces_end(&e->now);
	enum status s = cut(p->cuts, p->cut_count, first, &e->now, &e->next);
	for (size_t i = 0, begin = 0; i < e->now.count && !s; begin = e->now.ends[i++])
		bpe_encode(&p->bpe, &e->scratch, e->now.text.at + begin, e->now.ends[i] - begin, e->ids);
	return s;
}

/* Text between the tokens that are found before the normalizer. */
static enum status encode_stretch(struct encoding *e, const char *text, size_t size, bool first)
{
	const struct tokenizer_parts *p = e->parts;
	e->text.size = 0;
	bytes_add(&e->text, text, size);
	enum status s = normalize(p->normal, p->normal_count, &e->text);
	for (size_t at = 0; at < e->text.size && !s;) {
		struct stretch one = added_tokens_next(&p->normalized, e->text.at, e->text.size, at);
		if (one.id >= 0)
			token_list_add(e->ids, one.id);
		else
			s = encode_words(e, e->text.at + one.begin, one.end - one.begin, first && !one.begin);
		at = one.end;
	}
	return s;
}

static enum status encode_text(struct encoding *e, const char *text, size_t size)
{
	enum status s = STATUS_OK;
	for (size_t at = 0; at < size && !s;) {
		struct stretch one = added_tokens_next(&e->parts->raw, text, size, at);
		if (one.id >= 0)
			token_list_add(e->ids, one.id);
		else
			s = encode_stretch(e, text + one.begin, one.end - one.begin, !one.begin);
		at = one.end;
	}
	return s;
}

static void add_all(struct token_list *ids, const struct token_list *more)
{
	for (size_t i = 0; i < more->count; i++)
		token_list_add(ids, more->list[i]);
}

enum status tokenizer_encode(const struct tokenizer *t, const char *text, size_t size, struct token_list *ids)
{
	struct encoding e = {.parts = t->parts, .ids = ids};
	size_t valid = characters_valid(text, size);
	if (valid < size)
		return status_fail(STATUS_INPUT, "the text is not UTF-8 at byte %zu; a tokenizer takes nothing else",
		                   valid);
	if (size > INT32_MAX / 16)
		return status_fail(STATUS_INPUT, "a text of %zu bytes is too long to be one", size);
	add_all(ids, &t->parts->before);
	enum status s = encode_text(&e, text, size);
	add_all(ids, &t->parts->after);
	bytes_release(&e.text);
	pieces_release(&e.now);
	pieces_release(&e.next);
	bpe_scratch_release(&e.scratch);
	return s;
}

/* ---- decoding ---- */

void tokenizer_decode(const struct tokenizer *t, int32_t id, bool first, struct bytes *out)
{
	const struct tokenizer_parts *p = t->parts;
	struct bytes text = {0};
	if (!tokenizer_has(t, id))
		return;
	bytes_add(&text, p->all.tokens[id].text, p->all.tokens[id].size);
	decode_steps(p->decode, p->decode_count, first, &text);
	bytes_add(out, text.at, text.size);
	bytes_release(&text);
}
