#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/character.h"
#include "real/tokenizer/steps.h"

static bool is_ascii(const struct bytes *text)
{
	for (size_t i = 0; i < text->size; i++)
		if (text->at[i] & 0x80)
			return false;
	return true;
}

/* glib's function ends at a zero byte, which a text may hold. */
static void to_form(struct bytes *text, GNormalizeMode mode)
{
	struct bytes out = {0};
	if (is_ascii(text))
		return;
	for (size_t i = 0, n; i < text->size; i += n + 1) {
		n = strnlen(text->at + i, text->size - i);
		char *made = g_utf8_normalize(text->at + i, (gssize)n, mode);
		if (!made)
			abort(); /* the text is UTF-8 */
		bytes_add(&out, made, strlen(made));
		if (i + n < text->size)
			bytes_add(&out, "", 1);
		g_free(made);
	}
	bytes_release(text);
	*text = out;
}

static void prepend(struct bytes *text, const char *content)
{
	struct bytes out = {0};
	if (!text->size)
		return;
	bytes_add(&out, content, strlen(content));
	bytes_add(&out, text->at, text->size);
	bytes_release(text);
	*text = out;
}

static enum status replace(struct bytes *text, const struct pattern *p, const char *content)
{
	struct bytes out = {0};
	size_t from = 0, begin, end;
	enum status s;
	while (!(s = pattern_find(p, text->at, text->size, from, &begin, &end)) && end) {
		bytes_add(&out, text->at + from, begin - from);
		bytes_add(&out, content, strlen(content));
		from = end;
	}
	if (s) {
		bytes_release(&out);
		return s;
	}
	bytes_add(&out, text->at + from, text->size - from);
	bytes_release(text);
	*text = out;
	return STATUS_OK;
}

/* Each character for itself, as Rust's char::to_lowercase. One becomes two: İ is i and a dot above. */
static size_t write_lower(uint32_t code, char out[8])
{
	enum { CAPITAL_I_WITH_DOT = 0x130, DOT_ABOVE = 0x307 };
	if (code != CAPITAL_I_WITH_DOT)
		return character_write(g_unichar_tolower(code), out);
	out[0] = 'i';
	return 1 + character_write(DOT_ABOVE, out + 1);
}

static size_t write_without_accent(uint32_t code, char out[8])
{
	return g_unichar_ismark(code) ? 0 : character_write(code, out);
}

static void map_characters(struct bytes *text, size_t (*write)(uint32_t code, char out[8]))
{
	struct bytes out = {0};
	for (size_t i = 0; i < text->size; i += character_bytes(text->at[i])) {
		char written[8];
		bytes_add(&out, written, write(character_code(text->at + i), written));
	}
	bytes_release(text);
	*text = out;
}

static enum status normalize_by(const struct normal_step *step, struct bytes *text)
{
	static const GNormalizeMode modes[] = {[NORMAL_NFC] = G_NORMALIZE_NFC,
	                                       [NORMAL_NFD] = G_NORMALIZE_NFD,
	                                       [NORMAL_NFKC] = G_NORMALIZE_NFKC,
	                                       [NORMAL_NFKD] = G_NORMALIZE_NFKD};
	if (step->kind == NORMAL_PREPEND)
		prepend(text, step->content);
	else if (step->kind == NORMAL_REPLACE)
		return replace(text, &step->pattern, step->content);
	else if (step->kind == NORMAL_LOWERCASE)
		map_characters(text, write_lower);
	else if (step->kind == NORMAL_STRIP_ACCENTS)
		map_characters(text, write_without_accent);
	else
		to_form(text, modes[step->kind]);
	return STATUS_OK;
}

enum status normalize(const struct normal_step *steps, int count, struct bytes *text)
{
	for (int i = 0; i < count; i++)
		TRY(normalize_by(&steps[i], text));
	return STATUS_OK;
}
